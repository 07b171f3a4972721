"""The values of a measure: one row per model and cell.

A run that stops as soon as it is settled tests its models after every item. Its intervals and differences come from
confidence sequences, which hold at any stopping time; an interval for a fixed number of items would not. A figure is
*followed* if the run has such a sequence of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, replace
from typing import Any, Literal, NamedTuple

from tripos_compiler.plan import Measure
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.values import Kind
from tripos_warehouse.views.runs import RunRecord

CLOSE = 1e-9
"""Means that are closer than this are equal up to rounding."""
SEQUENCE = "sequence"
"""The method of an interval from a confidence sequence."""
STOPPED_EARLY = "stopped early: intervals are those of confidence sequences, which hold whenever a run stops"
"""The note about the intervals of a run that stopped as soon as it was settled."""
EXAGGERATED_DIFFERENCES = (
    "values of a run that stopped early exaggerate how far apart its models are; differences make up for it"
)
"""The note about the values of single models in such a run, and about their differences."""
INTERRUPTED = "stopped before it was settled: intervals and p-values hold unless what it showed was why it was stopped"
"""The note about a run that was ended by a budget or a person before it was settled; it has no sequences."""
UNFOLLOWED = "the run stopped when it was settled, and no sequence follows this"
TWO_RUNS_UNFOLLOWED = "a run stopped when it was settled, and no sequence follows a difference of two runs"
"""The reasons for a missing interval, or for a difference without a value and a p-value."""


def followed_difference(
    run: RunRecord,
    measure: str,
    first: str,
    second: str,
    by: Mapping[str, str | None] | None = None,
    mean: float | None = None,
) -> Estimate | None:
    """Return how far `first` is above `second` in a measure, from the confidence sequence of their differences: the
    estimate, the 95 % interval, the p-value and the number of items.

    All of them hold at any stopping time. `by` is the cell of a measure with dimensions. `None` if the run followed no
    such sequence, or none with the given `mean`.
    """
    for figure in run.settled_figures:
        if figure["kind"] != "comparison" or figure["name"] != measure or (figure.get("by") or {}) != (by or {}):
            continue
        pair = figure["model"], figure["other"]
        if pair in ((first, second), (second, first)):
            sign = 1 if pair == (first, second) else -1
            own = figure["mean"]
            if mean is None or (own is not None and math.isclose(sign * own, mean, rel_tol=CLOSE, abs_tol=CLOSE)):
                return _result(figure, sign)
    return None


def mean_of_run(run: RunRecord, model: str, mean: Estimate) -> Estimate:
    """Return the mean of some scores of a model as its run reports it: without an error and an interval if the model
    did not see all items, since no sequence follows this mean."""
    if model not in run.stopped_models:
        return mean
    return replace(mean.without_interval(mean.reason or UNFOLLOWED), standard_error=None)


def text_of(value: Any) -> str | None:
    """Return the value of a dimension as text, as the figures of a run store it."""
    return None if value is None else str(value)


def _result(followed: Mapping[str, Any], sign: int) -> Estimate:
    """Return the difference in the record of a confidence sequence, multiplied by `sign`."""
    items = followed["items"]
    if followed["value"] is None:
        return Estimate.undefined("no item has a value of both models", n=items)
    low, high = sorted(sign * followed[name] for name in ("low", "high"))
    value, p = sign * followed["value"], followed["p_alone"]
    return Estimate(value, None, low, high, p=p, n=items, clusters=items)


CORRECTION_COLUMNS = ("judged", "judged_low", "judged_high", "power")
"""The columns of a measure that people correct: the judge's figure with its interval, and λ."""


TRY_COLUMNS = ("tried_items", "all_items")
"""The columns of a chance of several tries (pass@k)."""


@dataclass(frozen=True)
class UnreadScores:
    """The scores of a figure that have no value: their `count`, and the value of the figure if each of them counted
    `as_what`. `figure` is None if there is no worst value; then `count` includes calls without an answer."""

    count: int
    figure: float | None = None
    as_what: str = "wrong"


UNREAD_COLUMNS = {"unread": "int64", "if_wrong": "float64"}
"""The columns of a headline measure with unreadable replies, with their types."""


class RowColumn(NamedTuple):
    """A column of the rows of a measure: a property of `MeasureRow`, with its type in Arrow and its kind in tables.

    Tables show the columns with `is_count` after the value.
    """

    key: str
    type: str
    kind: Kind = "number"
    is_count: bool = False

    def of(self, row: MeasureRow) -> Any:
        """Return its value in a row."""
        return getattr(row, self.key)


ROW_COLUMNS = (
    RowColumn("value", "float64"),
    RowColumn("standard_error", "float64"),
    RowColumn("low", "float64"),
    RowColumn("high", "float64"),
    RowColumn("items", "int64", "count", is_count=True),
    RowColumn("n", "int64", "count", is_count=True),
    RowColumn("total", "int64", "count"),
    RowColumn("coverage", "float64", "share", is_count=True),
    RowColumn("method", "string", "text"),
    RowColumn("reason", "string", "text"),
)
"""The columns of a row. All of them are in the JSON, the CSV and the Arrow table of a report; those with `is_count` are
also in its tables for the terminal and for papers."""


@dataclass(frozen=True)
class MeasureRow(Estimate):
    """The estimate of a measure for one model and one value of each dimension.

    `items` is the number of independent items behind the value, `n` the number of scores with a value, and `total` the
    number of scores that should have one. `coverage` is `n / total`, and None for an unfinished run, which should have
    more scores than it has asked for. `method` is `exact`, `logit`, `log`, `t`, `jackknife`, `bootstrap`, `cut`,
    `corrected`, `generalized` or `sequence`.
    """

    _: KW_ONLY
    model: str
    by: tuple[Any, ...] = ()
    items: int = 0
    total: int = 0
    coverage: float | None = None
    judged: MeasureRow | None = None
    """For a measure that people correct: the figure of the judge alone, with an interval for the judge. `items` and `n`
    of the corrected row count what people graded."""
    power: float | None = None
    """For a measure that people correct: λ, the weight of the judge, 0 or more."""
    unread: UnreadScores | None = None
    """For a headline measure: the scores whose reply could not be read, if there are any."""

    unseen: float = 0.0
    """The part of the standard error that comes from cells whose items are all alike, and is not observed."""
    counted_items: tuple[int, int] | None = None
    """For a chance of several tries: the number of items with enough samples that have a value, and the number of all
    items."""

    @property
    def correction_columns(self) -> dict[str, float | None]:
        """Return the columns `CORRECTION_COLUMNS` of a corrected row; empty for any other row."""
        if self.judged is None:
            return {}
        row = self.judged
        values = (row.value, row.low, row.high, self.power)
        return dict(zip(CORRECTION_COLUMNS, values, strict=True))

    @property
    def numbers(self) -> dict[str, Any]:
        """Return the value with its error, interval and counts, as in JSON."""
        return {
            **self.to_json(*(row_column.key for row_column in ROW_COLUMNS)),
            **({} if self.counted_items is None else dict(zip(TRY_COLUMNS, self.counted_items, strict=True))),
            **self.correction_columns,
            **({} if self.unread is None else {"unread": self.unread.count, "if_wrong": self.unread.figure}),
        }


@dataclass(frozen=True)
class MeasureTable:
    """The values of a measure: rows in plan order of their dimensions, then by model."""

    measure: Measure
    rows: tuple[MeasureRow, ...]
    lower_is_better: bool
    error: str | None = None
    """The database's error if it refused the SQL of the measure; then there are no rows."""

    def without_coverage(self) -> MeasureTable:
        """Return the table with an unknown coverage, as for an unfinished run."""
        rows = (replace(row, judged=row.judged and replace(row.judged, coverage=None)) for row in self.rows)
        return replace(self, rows=tuple(replace(row, coverage=None) for row in rows))

    @property
    def judge_table(self) -> MeasureTable:
        """Return the figures of the judge alone, for a measure that people correct."""
        measure = self.measure.model_copy(update={"corrected": False})
        return replace(self, measure=measure, rows=tuple(row.judged for row in self.rows if row.judged is not None))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one flat mapping per row: `measure`, `model`, the dimensions by name, then the numbers."""
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
"""The relative difference of a value and the mean of its sequence that is due to rounding."""


def with_sequential_intervals(
    run: RunRecord, table: MeasureTable, *, by_people: bool = False, kind: Literal["measure", "expect"] = "measure"
) -> MeasureTable:
    """Return the values of a measure, or of the figure of an expectation, as far as the run supports them.

    If the run has not ended, the values have no coverage. If it stopped as soon as it was settled, the models that did
    not see all items have the intervals of its confidence sequences; no sequence follows values `by_people`.
    """
    if not run.ended:
        return table.without_coverage()
    if run.settled is None or not run.stopped_early:
        return table
    stopped = run.stopped_models
    figures = [
        figure
        for figure in (() if by_people else run.settled_figures)
        if figure["kind"] == kind and figure["name"] == table.measure.name
    ]
    followed = {
        (figure["model"], tuple(figure["by"].get(name) for name in table.measure.by)): figure for figure in figures
    }
    rows = (
        _row(row, followed.get((row.model, tuple(map(text_of, row.by))))) if row.model in stopped else row
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _row(row: MeasureRow, followed: Mapping[str, Any] | None) -> MeasureRow:
    """Return a row of a model that did not see all items, with the interval of the sequence that follows it, if one
    does."""
    bare = replace(row.without_interval(row.reason or UNFOLLOWED), standard_error=None, coverage=None)
    if followed is None or row.value is None:
        return bare
    low, high, mean = followed["low"], followed["high"], followed["value"]
    if mean is None or abs(row.value - mean) > ROUNDING * max(1.0, abs(mean)):
        text = "the value is no mean of the items as the run read them: scores differ in number or came later"
        return replace(bare, reason=text)
    return replace(bare, low=low, high=high, method=SEQUENCE, reason=None)
