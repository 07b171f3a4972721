"""`tripos plot`: a picture of results as SVG, PNG, PDF or Vega-Lite."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tripos.cli.arguments import listed_names
from tripos.cli.inputs import open_store
from tripos.failure import GOOD, Failure
from tripos.plots import SIZES, PlotOptions, Style, draw, make_picture, warn_of_fonts, write_drawing
from tripos.ui import show_text
from tripos_compiler.diagnostics import reader_language
from tripos_warehouse.errors import StoreError


def main(options: Namespace) -> int:
    """Draw a picture, write it to a file, and print its notes for a caption. Raises `Failure`."""
    wanted = PlotOptions(
        language=options.language or reader_language(),
        measure=options.measure,
        models=tuple(listed_names(options.models)),
        against=options.against,
        metric=options.metric,
        cost=options.cost or "usd",
    )
    _check(options)
    try:
        picture = make_picture(options.kind, open_store(options), options.run, wanted)
        drawing = draw(picture, _style(options))
        write_drawing(drawing, Path(options.out))
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    if (warning := warn_of_fonts(drawing)) is not None:
        show_text(f"warning[S0623]: {warning}", stderr=True)
        show_text("  = help: install one, such as Noto Sans CJK; SVG keeps its texts", stderr=True)
    show_text(f"{picture.title}\n" + "".join(f"  {note}\n" for note in picture.notes) + f"written to {options.out}")
    return GOOD


def _check(options: Namespace) -> None:
    """Raise `Failure` R0202 for an option of another kind of picture."""
    for name, kinds in (("against", ("judges",)), ("metric", ("judges",)), ("cost", ("cost",))):
        if getattr(options, name) is not None and options.kind not in kinds:
            message = f"`--{name}` has no use with `{options.kind}`"
            raise Failure("R0202", message, f"it is for {' and '.join(kinds)}")
    if options.measure is not None and options.kind in ("heatmap", "judges"):
        message = f"`--measure` has no use with `{options.kind}`"
        raise Failure("R0202", message, "it is for the other kinds of pictures")


def _style(options: Namespace) -> Style:
    """Return the style of the wanted size, with what was asked for beside it."""
    return SIZES[options.size].with_changes(
        width=options.width,
        size=options.font_size,
        font=options.font,
        language=options.language or reader_language(),
        bare=options.bare or None,
    )
