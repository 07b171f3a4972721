"""Choices of a picture by name: the options of `tripos plot`, and the keywords of `plot` in Python."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

from tripos.plots.drawing import Drawing, draw
from tripos.plots.figures import KINDS, make_picture
from tripos.plots.output import why_no_font, write_drawing
from tripos.plots.sources import PlotOptions
from tripos.plots.theme import SIZES, length_pt
from tripos_compiler.diagnostics import reader_language
from tripos_warehouse.store import Store

PlotKind = Literal["leaderboard", "runs", "heatmap", "radar", "gain", "judges", "calibration", "power", "cost"]

NO_FONT = "S0623"


class FontWarning(UserWarning):
    """No font of this machine draws some labels of a picture."""


class PlotChoices(TypedDict, total=False):
    """The keywords of `plot`: the options of `tripos plot`, under their names. `size` is that of `--for`."""

    measure: str | None
    models: str | Sequence[str]
    against: str | None
    metric: str | None
    cost: Literal["usd", "tokens", "seconds"] | None
    size: Literal["column", "page", "slide"]
    width: str | float | None
    font: str | None
    font_size: float | None
    language: str | None
    bare: bool
    out: str | Path | None


def plot(store: Store, kind: PlotKind, run: str | Sequence[str] | None, choices: PlotChoices) -> Drawing:
    """Draw a picture, and write it to `out`, if that is given. Raises `StoreError` as `make_picture`, `draw` and
    `write_drawing` do, `ValueError` for a kind, a size or a length that there is not, and `TypeError` for a choice that
    there is not."""
    unknown = sorted(set(choices) - set(PlotChoices.__annotations__))
    if unknown:
        raise TypeError(f"plot takes no `{unknown[0]}`; it takes {', '.join(PlotChoices.__annotations__)}")
    if kind not in KINDS:
        raise ValueError(f"there is no picture `{kind}`; choose from {', '.join(KINDS)}")
    size = choices.get("size", "page")
    if size not in SIZES:
        raise ValueError(f"there is no size `{size}`; choose from {', '.join(SIZES)}")
    models = choices.get("models", ())
    language = choices.get("language") or reader_language()
    options = PlotOptions(
        language=language,
        measure=choices.get("measure"),
        models=(models,) if isinstance(models, str) else tuple(models),
        against=choices.get("against"),
        metric=choices.get("metric"),
        cost=choices.get("cost") or "usd",
    )
    width = choices.get("width")
    style = SIZES[size].with_changes(
        width=length_pt(width) if isinstance(width, str) else width,
        size=choices.get("font_size"),
        font=choices.get("font"),
        language=language,
        bare=choices.get("bare") or None,
    )
    drawing = draw(make_picture(kind, store, run, options), style)
    if (told := why_no_font(drawing)) is not None:
        warnings.warn(f"{NO_FONT}: {told}", FontWarning, stacklevel=3)
    if (out := choices.get("out")) is not None:
        write_drawing(drawing, Path(out))
    return drawing
