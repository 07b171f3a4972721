"""`tripos plot`: a picture of results as SVG, PNG, PDF or Vega-Lite."""

from __future__ import annotations

import warnings
from argparse import Namespace

from tripos.cli.arguments import listed_names
from tripos.cli.inputs import open_store
from tripos.plots import FontWarning, PlotChoices, plot
from tripos.ui import GOOD, Failure, show_diagnostic, show_message, show_text
from tripos_warehouse.errors import StoreError


def main(options: Namespace) -> int:
    """Draw a picture, write it to a file, and print its notes for a caption. Raises `Failure`."""
    _check(options)
    choices = PlotChoices(
        measure=options.measure,
        models=listed_names(options.models),
        against=options.against,
        metric=options.metric,
        cost=options.cost,
        size=options.size,
        width=options.width,
        font=options.font,
        font_size=options.font_size,
        language=options.language,
        bare=options.bare,
        out=options.out,
    )
    try:
        with warnings.catch_warnings(record=True, category=FontWarning) as told:
            warnings.simplefilter("always", FontWarning)
            picture = plot(open_store(options), options.kind, options.run, choices).picture
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    for each in told:
        code, _, message = str(each.message).partition(": ")
        show_diagnostic("warning", code, message, "install one, such as Noto Sans CJK; SVG keeps its texts")
    show_text("\n".join([picture.title, *(f"  {note}" for note in picture.notes)]))
    show_message(f"written to {options.out}")
    return GOOD


def _check(options: Namespace) -> None:
    """Raise `Failure` R0202 for an option of another kind of picture."""
    for name, kind in (("against", "judges"), ("metric", "judges"), ("cost", "cost")):
        if getattr(options, name) is not None and options.kind != kind:
            raise Failure("R0202", f"`--{name}` has no use with `{options.kind}`", f"it is for {kind}")
    if options.measure is not None and options.kind in ("heatmap", "judges"):
        message = f"`--measure` has no use with `{options.kind}`"
        raise Failure("R0202", message, "it is for the other kinds of pictures")
