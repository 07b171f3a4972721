"""The kinds of pictures, and how each is made of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tripos.plots.figures.calibration import calibration_picture
from tripos.plots.figures.cost import cost_picture
from tripos.plots.figures.gain import gain_picture
from tripos.plots.figures.heatmap import heatmap_picture
from tripos.plots.figures.judges import judges_picture
from tripos.plots.figures.leaderboard import leaderboard_picture
from tripos.plots.figures.power import power_picture
from tripos.plots.figures.radar import radar_picture
from tripos.plots.figures.runs import runs_picture
from tripos.plots.picture import Picture, nothing_to_draw
from tripos.plots.sources import PictureSource, PlotOptions, opened, opened_several
from tripos_warehouse.store import Store


@dataclass(frozen=True)
class PictureKind:
    """A kind of picture. Without a run, one that is `whole` shows all models of the benchmark, and any other the last
    run. One that is `of_several` shows several runs: all of the benchmark where none is named."""

    help: str
    make: Callable[[PictureSource], Picture] | None = None
    whole: bool = False
    of_several: Callable[[Store, Sequence[PictureSource], Sequence[str]], Picture] | None = None


KINDS: Mapping[str, PictureKind] = {
    "leaderboard": PictureKind("every model with its interval, the best first", leaderboard_picture, whole=True),
    "runs": PictureKind("a headline in several runs, the oldest first", of_several=runs_picture),
    "heatmap": PictureKind("mean scores by scenario and metric", heatmap_picture),
    "radar": PictureKind("a measure by metric around a circle", radar_picture),
    "gain": PictureKind("gains of arms over the arm that they start from", gain_picture),
    "judges": PictureKind("grades of judges beside those of people", judges_picture),
    "calibration": PictureKind("means of people by the grades of judges", calibration_picture),
    "power": PictureKind("the power to find a difference, by the number of items", power_picture),
    "cost": PictureKind("cost against score", cost_picture, whole=True),
}


def make_picture(
    kind: str, store: Store, run: str | Sequence[str] | None = None, options: PlotOptions | None = None
) -> Picture:
    """Return a picture of `KINDS` of a run, of several, or of what the store has. Raises `StoreError` as `connect_run`
    does, S0602 for a measure and S0614 for a model that there is not, and S0621 where nothing is to be drawn."""
    chosen, wanted = KINDS[kind], options or PlotOptions()
    names = [] if run is None else [run] if isinstance(run, str) else list(run)
    if chosen.of_several is not None:
        with opened_several(store, names, wanted) as sources:
            return chosen.of_several(store, sources, wanted.models)
    assert chosen.make is not None
    if len(names) > 1:
        raise nothing_to_draw(f"`{kind}` shows one run", "for several: tripos plot runs RUN RUN")
    with opened(store, names[0] if names else None, wanted, whole=chosen.whole) as source:
        return chosen.make(source)
