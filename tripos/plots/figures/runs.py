"""Several runs beside each other: a headline in each of them, with intervals, the oldest first.

A line joins the values of a model as long as they mean the same. It is broken where `tripos history` breaks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tripos.plots.marks import estimates
from tripos.plots.picture import AnyChart, Picture, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import Style
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import Board, history_of
from tripos_warehouse.store import Store


def runs_picture(store: Store, sources: Sequence[PictureSource], wanted: Sequence[str] = ()) -> Picture:
    """Return the picture of a measure over runs of one benchmark, of `wanted` models or of all. Raises `StoreError`
    S0621 where no run has a value, or where runs are of several benchmarks."""
    last = sources[-1]
    names = sorted({source.run.benchmark for source in sources})
    if len(names) > 1:
        raise nothing_to_draw(f"the runs are of {len(names)} benchmarks, {', '.join(names)}", "name runs of one")
    measure = last.options.measure or last.board().measure.name
    found = [(source.run, board) for source in sources if (board := _board(source, measure)) is not None]
    segments = _segments(store, names[0], measure)
    rows = tuple(
        {
            "run": run.run_id,
            "model": each.model,
            "segment": segments.get((run.run_id, each.model)),
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
    told = [words["changed"].format(run=run) for run in _breaks(rows)]
    told += [words["ended"].format(run=run.run_id, status=run.status) for run, _ in found if not run.ended]
    told += [words["valueless"].format(runs=", ".join(without))] if without else []
    lower = (words["lower"],) if found[-1][1].measure.lower_is_better else ()

    def draws(width: float, style: Style) -> AnyChart:
        return estimates(rows, width, style, y="run", title=named, order=shown, models=models, joined="segment")

    cautions = dict.fromkeys(note for source in sources for note in (*source.stopped, *source.caution))
    notes = (words["interval"], *lower, *told, *cautions)
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


def _segments(store: Store, benchmark: str, measure: str) -> dict[tuple[str, str], int]:
    """Return the line that the value of a run belongs to, by the run and the model; a run that did not come to its end
    has none."""
    history = history_of(store, measure, benchmark)
    return {
        (point.run.run_id, line.model): point.segment
        for line in history.lines
        for point in line.points
        if point.segment is not None
    }


def _breaks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the runs at which the line of a model is broken, in order."""
    before: dict[str, int] = {}
    found: dict[str, None] = {}
    for row in rows:
        if (segment := row["segment"]) is not None:
            if before.get(row["model"], segment) != segment:
                found[row["run"]] = None
            before[row["model"]] = segment
    return list(found)
