"""Several runs beside each other: a headline in each of them, with intervals, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tripos.plots.marks import estimates
from tripos.plots.picture import AnyChart, Picture, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import Style
from tripos.view import same_meaning
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import Board
from tripos_warehouse.views import RunRecord


def runs_picture(sources: Sequence[PictureSource], wanted: Sequence[str] = ()) -> Picture:
    """Return the picture of a measure over runs of one benchmark, of `wanted` models or of all. Raises `StoreError`
    S0621 where no run has a value, or where runs are of several benchmarks."""
    last = sources[-1]
    names = sorted({source.run.benchmark for source in sources})
    if len(names) > 1:
        raise nothing_to_draw(f"the runs are of {len(names)} benchmarks, {', '.join(names)}", "name runs of one")
    measure = last.options.measure or last.board().measure.name
    found = [(source.run, board) for source in sources if (board := _board(source, measure)) is not None]
    rows = tuple(
        {
            "run": run.run_id,
            "model": each.model,
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "items": each.items,
            "n": each.n,
            "version": run.version,
        }
        for run, board in found
        for each in board.standings
        if not wanted or each.model in wanted
    )
    if not rows:
        raise nothing_to_draw(f"`{measure}` has no value in these runs", "choose another: --measure")
    words, named = last.words, last.title_of(last.measure(measure))
    models = tuple(wanted) or tuple(dict.fromkeys(str(row["model"]) for row in rows))
    shown = tuple(dict.fromkeys(str(row["run"]) for row in rows))
    without = [source.run.run_id for source in sources if source.run.run_id not in shown]
    told = [
        words["changed"].format(run=run) for run in _changes([run for run, _ in found if run.run_id in shown], last)
    ]
    told += [words["ended"].format(run=run.run_id, status=run.status) for run, _ in found if not run.ended]
    told += [words["valueless"].format(runs=", ".join(without))] if without else []
    lower = (words["lower"],) if found[-1][1].measure.lower_is_better else ()

    def draws(width: float, style: Style) -> AnyChart:
        return estimates(rows, width, style, y="run", title=named, order=shown, models=models)

    notes = (words["interval"], *lower, *told, *dict.fromkeys(note for source in sources for note in source.caution))
    return Picture("runs", f"{last.title}: {named}", rows, notes, draws)


def _board(source: PictureSource, measure: str) -> Board | None:
    """Return what a run comes to in a measure; None where it has no value."""
    try:
        board = replace(source, options=replace(source.options, measure=measure)).board()
    except StoreError as error:
        if error.code in ("S0602", "S0621"):
            return None
        raise
    return board if board.standings else None


def _changes(runs: Sequence[RunRecord], last: PictureSource) -> list[str]:
    """Return the runs at which scores began to mean something else than in the run before."""
    same = same_meaning(last.connection)
    return [run.run_id for before, run in pairwise(runs) if not same(before, run)]
