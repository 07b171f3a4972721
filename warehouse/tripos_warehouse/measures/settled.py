"""Values of a measure as a run tells them: of one that did not come to its end, or that stopped when it was settled.

An interval for a fixed number of items does not hold where the figures decided how many there are. In its place stands
that of the confidence sequence which the run followed: it says, with 95 % at all numbers of items together, which value
all items of the run would have given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable
from tripos_warehouse.views import RunRecord

METHOD = "sequence"
"""The method of an interval that a confidence sequence gives."""


def as_told(run: RunRecord, table: MeasureTable) -> MeasureTable:
    """Return the values of a measure as those of a run: without coverage where it did not come to all its items, and
    with the intervals of its sequences where it stopped once it was settled."""
    if run.ended and not run.stopped_early:
        return table
    table = table.without_coverage()
    if not run.stopped_early:
        return table
    kept = [each for each in run.settled_figures if each["kind"] == "measure" and each["name"] == table.measure.name]
    found = {(each["model"], tuple(each["by"].get(name) for name in table.measure.by)): each for each in kept}
    rows = (_row(row, found.get((row.model, tuple(map(_text, row.by))))) for row in table.rows)
    return replace(table, rows=tuple(rows))


def _row(row: MeasureRow, followed: Mapping[str, Any] | None) -> MeasureRow:
    bare = replace(row, standard_error=None, interval_low=None, interval_high=None, half_width=None, method=None)
    if followed is None:
        return replace(bare, reason=row.reason or "the run stopped when it was settled, and no sequence follows this")
    if row.value is None:
        return bare
    low, high = followed["low"], followed["high"]
    if not low - 1e-9 <= row.value <= high + 1e-9:
        return replace(bare, reason="items have different numbers of scores: the sequence is of the means of items")
    half = max(row.value - low, high - row.value)
    return replace(bare, interval_low=low, interval_high=high, half_width=half, method=METHOD, reason=None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
