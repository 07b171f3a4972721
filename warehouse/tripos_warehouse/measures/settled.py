"""Values of a measure as a run tells them: of one that did not come to its end, or that stopped when it was settled.

An interval for a fixed number of items does not hold where the figures decided how many there are. In its place stands
that of the confidence sequence which the run followed: it says, with 95 % at all numbers of items together, which value
all items of the run would have given. A model that was asked about all items has its ordinary interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable
from tripos_warehouse.views import RunRecord

ROUNDING = 1e-9
METHOD = "sequence"
"""The method of an interval that a confidence sequence gives."""


def as_told(run: RunRecord, table: MeasureTable, *, by_people: bool = False) -> MeasureTable:
    """Return the values of a measure as those of a run: without coverage where it did not come to all its items, and
    with the intervals of its sequences where it stopped once it was settled. No sequence follows those `by_people`."""
    if not run.ended:
        return table.without_coverage()
    if run.settled is None or not run.stopped_early:
        return table
    early = {model for model, items in run.settled["models"].items() if items < run.settled["of"]}
    followed = () if by_people else run.settled_figures
    kept = [each for each in followed if each["kind"] == "measure" and each["name"] == table.measure.name]
    found = {(each["model"], tuple(each["by"].get(name) for name in table.measure.by)): each for each in kept}
    rows = (
        _row(row, found.get((row.model, tuple(map(_text, row.by))))) if row.model in early else row
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _row(row: MeasureRow, followed: Mapping[str, Any] | None) -> MeasureRow:
    bare = replace(
        row,
        standard_error=None,
        interval_low=None,
        interval_high=None,
        half_width=None,
        method=None,
        coverage=None,
    )
    if followed is None:
        return replace(bare, reason=row.reason or "the run stopped when it was settled, and no sequence follows this")
    if row.value is None:
        return bare
    low, high, mean = followed["low"], followed["high"], followed["value"]
    if mean is None or abs(row.value - mean) > ROUNDING * max(1.0, abs(mean)):
        told = "the value is no mean of the items as the run read them: scores differ in number or came later"
        return replace(bare, reason=told)
    half = max(row.value - low, high - row.value)
    return replace(bare, interval_low=low, interval_high=high, half_width=half, method=METHOD, reason=None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
