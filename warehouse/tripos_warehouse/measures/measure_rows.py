"""The values of a measure: a row for each model and cell.

Runs that looked at their models after every item, and may have stopped at what they saw: the differences that may
be told of them are those of their confidence sequences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from tripos_compiler.plan import Measure
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.result import StatisticResult
from tripos_warehouse.views.runs import RunRecord

CLOSE = 1e-9
"""Means that are closer than this are equal: rounding makes such differences."""
SEQUENCE = "sequence"
"""The method of an interval that a confidence sequence gives."""
STOPPED_EARLY = "stopped early: intervals are those of confidence sequences, which hold whenever a run stops"
"""The sentence about intervals of such a run."""
TOO_FAR_APART = "values of a run that stopped early exaggerate how far apart its models are; differences make up for it"
"""The sentence about the values of models, each by itself, and about their differences."""
INTERRUPTED = "stopped before it was settled: intervals and p-values hold unless what it showed was why it was stopped"
"""The sentence about a run that a budget or a person stopped before, which has no sequences."""
UNFOLLOWED = "the run stopped when it was settled, and no sequence follows this"
OF_TWO_RUNS = "a run stopped when it was settled, and no sequence follows a difference of two runs"
"""Reasons why there is no interval, and of a difference no size and no p-value."""


def followed_difference(
    run: RunRecord,
    measure: str,
    first: str,
    second: str,
    by: Mapping[str, str | None] | None = None,
    mean: float | None = None,
) -> StatisticResult | None:
    """Return how far `first` is above `second` in a measure by the sequence of their differences, in the cell `by` of
    one that goes by something: the estimate, the 95 % interval and the p-value, all of which hold whenever a run stops,
    and the items. `None` if the run followed no such sequence, or none with this `mean`, if that is given."""
    for each in run.settled_figures:
        if each["kind"] != "comparison" or each["name"] != measure or (each.get("by") or {}) != (by or {}):
            continue
        pair = each["model"], each["other"]
        if pair in ((first, second), (second, first)):
            sign = 1 if pair == (first, second) else -1
            own = each["mean"]
            if mean is None or (own is not None and math.isclose(sign * own, mean, rel_tol=CLOSE, abs_tol=CLOSE)):
                return _result(each, sign)
    return None


def mean_of_run(run: RunRecord, model: str, found: StatisticResult) -> StatisticResult:
    """Return the mean of some scores of a model as a run tells it: if the model did not see all items, without an error
    and an interval, as no sequence follows it."""
    if model not in run.stopped_models:
        return found
    return replace(found.without_interval(found.reason or UNFOLLOWED), standard_error=None)


def text_of(value: Any) -> str | None:
    """Return the value of a dimension as the figures of a run have it."""
    return None if value is None else str(value)


def _result(followed: Mapping[str, Any], sign: int) -> StatisticResult:
    items = followed["items"]
    if followed["value"] is None:
        return StatisticResult.undefined("no item has a value of both models", n=items)
    low, high = sorted(sign * followed[name] for name in ("low", "high"))
    value, p = sign * followed["value"], followed["p_alone"]
    return StatisticResult(value, None, low, high, p=p, n=items, clusters=items)


OF_CORRECTED = ("judged", "judged_low", "judged_high", "power")
"""The columns that only rows of a measure have that people correct: the judge's figure with its interval, and λ."""


OF_TRIES = ("tried_items", "all_items")
"""The columns that only rows of a chance of several tries have."""


@dataclass(frozen=True)
class UnreadScores:
    """Scores of a figure that have no value: how many, and what the figure would be if each counted `as_what`. The
    figure is None if nothing bounds it; then calls without an answer may be among them."""

    count: int
    figure: float | None = None
    as_what: str = "wrong"


OF_UNREAD = {"unread": "int64", "if_wrong": "float64"}
"""The columns that only rows of a headline measure have some of whose scores could not be read, with their types."""


@dataclass(frozen=True)
class MeasureRow:
    """One value of a measure, for one model and one value of each dimension.

    `interval_low` and `interval_high` bound the 95 % interval. `items` are the independent rows behind the
    value, `n` the scores that count, `total` those that should, of all that was asked; `coverage` is `n / total`, and
    `None` of a run that did not come to its end: how many scores it should have is more than was asked.
    """

    model: str
    by: tuple[Any, ...]
    value: float | None
    standard_error: float | None
    interval_low: float | None
    interval_high: float | None
    items: int
    n: int
    total: int
    coverage: float | None
    half_width: float | None
    """How far the interval reaches on its longer side; of a `t`, as it would without an end of the scale."""
    method: str | None = None
    """How the interval was found: `exact`, `logit`, `log`, `t`, `jackknife`, `bootstrap`, `cut`, `corrected`
    or `generalized`."""
    reason: str | None = None
    """Why there is no value, or no interval."""
    judged: MeasureRow | None = None
    """Of a measure that people correct: the figure of the judge alone, whose interval speaks of the judge. The items
    and `n` of the corrected row are those that people graded."""
    power: float | None = None
    """Of such a measure λ: how far the judge was followed, from 0."""
    unread: UnreadScores | None = None
    """Of a headline measure: the scores whose reply could not be read, where there are any."""

    unseen: float = 0.0
    """The part of the standard error that cells hide whose items are all alike."""
    tried: tuple[int, int] | None = None
    """Of a chance of several tries: how many items have enough samples with a value, and of how many."""

    @property
    def beside(self) -> dict[str, float | None]:
        """Return the columns `OF_CORRECTED` of a corrected row; none of another."""
        if self.judged is None:
            return {}
        own = self.judged
        values = (own.value, own.interval_low, own.interval_high, self.power)
        return dict(zip(OF_CORRECTED, values, strict=True))

    @property
    def numbers(self) -> dict[str, Any]:
        """The value with its error, interval and counts, as JSON has them."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "low": self.interval_low,
            "high": self.interval_high,
            "items": self.items,
            "n": self.n,
            "total": self.total,
            "coverage": self.coverage,
            "method": self.method,
            "reason": self.reason,
            **({} if self.tried is None else dict(zip(OF_TRIES, self.tried, strict=True))),
            **self.beside,
            **({} if self.unread is None else {"unread": self.unread.count, "if_wrong": self.unread.figure}),
        }


@dataclass(frozen=True)
class MeasureTable:
    """A measure's values: rows in plan order of their dimensions, and within those by model."""

    measure: Measure
    rows: tuple[MeasureRow, ...]
    error: str | None = None
    """What the database refused its SQL with, where it did; then there are no rows."""

    def without_coverage(self) -> MeasureTable:
        """Return the values as those of a run that did not come to its end, which cover nobody knows how much."""
        rows = (replace(row, judged=row.judged and replace(row.judged, coverage=None)) for row in self.rows)
        return replace(self, rows=tuple(replace(row, coverage=None) for row in rows))

    @property
    def of_judge(self) -> MeasureTable:
        """Return the figures of the judge alone, of a measure that people correct."""
        own = self.measure.model_copy(update={"corrected": False})
        return MeasureTable(own, tuple(row.judged for row in self.rows if row.judged is not None))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat mapping a row: `measure`, `model`, the dimensions by name, then the numbers."""
        return [
            {
                "measure": self.measure.name,
                "model": row.model,
                **dict(zip(self.measure.by, row.by, strict=True)),
                **row.numbers,
            }
            for row in self.rows
        ]


ROUNDING = 1e-9


def as_told(
    run: RunRecord, table: MeasureTable, *, by_people: bool = False, kind: Literal["measure", "expect"] = "measure"
) -> MeasureTable:
    """Return the values of a measure or of the figure of an expectation as those of a run: without coverage where it
    did not come to all its items, and with the intervals of its sequences where it stopped once it was settled. No
    sequence follows those `by_people`."""
    if not run.ended:
        return table.without_coverage()
    if run.settled is None or not run.stopped_early:
        return table
    early = run.stopped_models
    followed = () if by_people else run.settled_figures
    kept = [each for each in followed if each["kind"] == kind and each["name"] == table.measure.name]
    found = {(each["model"], tuple(each["by"].get(name) for name in table.measure.by)): each for each in kept}
    rows = (
        _row(row, found.get((row.model, tuple(map(text_of, row.by))))) if row.model in early else row
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
        return replace(bare, reason=row.reason or UNFOLLOWED)
    if row.value is None:
        return bare
    low, high, mean = followed["low"], followed["high"], followed["value"]
    if mean is None or abs(row.value - mean) > ROUNDING * max(1.0, abs(mean)):
        told = "the value is no mean of the items as the run read them: scores differ in number or came later"
        return replace(bare, reason=told)
    half = max(row.value - low, high - row.value)
    return replace(bare, interval_low=low, interval_high=high, half_width=half, method=SEQUENCE, reason=None)
