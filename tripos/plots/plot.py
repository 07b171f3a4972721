"""The kinds of pictures, and `plot` with its options, as on the command line and in Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

from tripos.plots.cells import gain_picture, heatmap_picture, radar_picture
from tripos.plots.chart import Drawing, draw, missing_font, write_drawing
from tripos.plots.judges import calibration_picture, judges_picture
from tripos.plots.models import cost_picture, leaderboard_picture, power_picture, runs_picture
from tripos.plots.picture import (
    SIZES,
    Picture,
    PictureSource,
    PlotOptions,
    nothing_to_draw,
    open_source,
    open_sources,
)
from tripos.settings.option import length_pt
from tripos.settings.options import PlotKind
from tripos_compiler.diagnostics.i18n import reader_language
from tripos_warehouse.store.store import Store


@dataclass(frozen=True)
class PictureKind:
    """A kind of picture. By default it shows the latest run, or with `whole_benchmark` all models of the benchmark.
    With `of_several` it shows several runs, by default all of the benchmark."""

    help: str
    make: Callable[[PictureSource], Picture] | None = None
    whole_benchmark: bool = False
    of_several: Callable[[Store, Sequence[PictureSource], Sequence[str]], Picture] | None = None


KINDS: Mapping[str, PictureKind] = {
    "leaderboard": PictureKind(
        "every model with its interval, the best first", leaderboard_picture, whole_benchmark=True
    ),
    "runs": PictureKind("a headline in several runs, the oldest first", of_several=runs_picture),
    "heatmap": PictureKind("mean scores by scenario and metric", heatmap_picture),
    "radar": PictureKind("a measure by metric around a circle", radar_picture),
    "gain": PictureKind("gains of arms over the arm that they start from", gain_picture),
    "judges": PictureKind("grades of judges beside those of people", judges_picture),
    "calibration": PictureKind("means of people by the grades of judges", calibration_picture),
    "power": PictureKind("the power to find a difference, by the number of items", power_picture),
    "cost": PictureKind("cost against score", cost_picture, whole_benchmark=True),
}


def make_picture(
    kind: str, store: Store, run: str | Sequence[str] | None = None, options: PlotOptions | None = None
) -> Picture:
    """Return a picture of `KINDS`, of one run, several runs, or the store. Raises `StoreError` as `connect_run` does,
    S0602 for an unknown measure, S0614 for an unknown model, and S0621 if there is nothing to draw."""
    chosen, plot_options = KINDS[kind], options or PlotOptions()
    names = [] if run is None else [run] if isinstance(run, str) else list(run)
    if chosen.of_several is not None:
        with open_sources(store, names, plot_options) as sources:
            return chosen.of_several(store, sources, plot_options.models)
    assert chosen.make is not None
    if len(names) > 1:
        raise nothing_to_draw(f"`{kind}` shows one run", "for several: tripos plot runs RUN RUN")
    with open_source(store, names[0] if names else None, plot_options, whole=chosen.whole_benchmark) as source:
        return chosen.make(source)


NO_FONT = "S0623"


class FontWarning(UserWarning):
    """Warning that no installed font draws some labels of a picture."""


class PlotChoices(TypedDict, total=False):
    """The keywords of `plot`, which are the options of `tripos plot`; `size` is `--for`."""

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
    """Draw a picture, and write it to `out` if given. Raises `StoreError` as `make_picture`, `draw` and `write_drawing`
    do, `ValueError` for an unknown kind, size or length, and `TypeError` for an unknown keyword."""
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
    if (text := missing_font(drawing)) is not None:
        warnings.warn(f"{NO_FONT}: {text}", FontWarning, stacklevel=3)
    if (out := choices.get("out")) is not None:
        write_drawing(drawing, Path(out))
    return drawing
