"""Expectations: whether each figure that a spec expects is what it should be, for every compared model and cell.

Floors: what trivial baselines get, and the figures of models that do not clear it.

A figure clears a floor where the whole of its interval lies beyond it: a point that lies above by chance shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tripos_compiler.plan import Expectation, Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.evaluation import evaluate_or_tell
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, as_told
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord

CLOSE = 1e-9
"""Figures that are closer than this are equal: rounding makes such differences."""
NOT_TAKEN = MeasureRow(
    model="",
    by=(),
    value=None,
    standard_error=None,
    interval_low=None,
    interval_high=None,
    items=0,
    n=0,
    total=0,
    coverage=None,
    half_width=None,
    reason="nothing was scored",
)


@dataclass(frozen=True)
class ExpectationOutcome:
    """One figure that was expected: its value, whether that held, and by how much it, or the end of its interval that
    is compared, is on the right side of the number (below 0 where it is on the wrong one); None where there is no value
    or no interval, which does not hold. Nor does one that stands on too few of its scores: it is not `covered`."""

    row: MeasureRow
    held: bool
    margin: float | None
    covered: bool = True

    @property
    def counted(self) -> MeasureRow:
        """The row whose scores count: of a figure that people correct that of the judge, who scored all of them."""
        return self.row.judged or self.row


@dataclass(frozen=True)
class CheckedExpectation:
    """An expectation with its outcomes, in the order of a measure's rows."""

    expectation: Expectation
    outcomes: tuple[ExpectationOutcome, ...]
    failed: bool = False
    """Whether the database refused its SQL, so that there is no value."""

    @property
    def held(self) -> bool:
        """True if it held for every model, in every cell. What was taken of nobody does not hold."""
        return bool(self.outcomes) and all(outcome.held for outcome in self.outcomes)

    @property
    def scores(self) -> tuple[int, int]:
        """The number of scores that it stands on, and of how many that should have a value."""
        counted = [outcome.counted for outcome in self.outcomes]
        return sum(row.n for row in counted), sum(row.total for row in counted)

    def to_json(self) -> dict[str, Any]:
        """Return the gate as JSON values."""
        expected = self.expectation
        return {
            "expect": expected.shown,
            "operator": expected.operator,
            "number": expected.value,
            "end": expected.end,
            "difference": expected.difference,
            "by": list(expected.by),
            "least_coverage": expected.least_coverage,
            "held": self.held,
            "outcomes": [
                {
                    "model": outcome.row.model,
                    **dict(zip(expected.by, outcome.row.by, strict=True)),
                    "held": outcome.held,
                    "value": outcome.row.value,
                    "low": outcome.row.interval_low,
                    "high": outcome.row.interval_high,
                    "margin": outcome.margin,
                    "n": outcome.counted.n,
                    "total": outcome.counted.total,
                    "covered": outcome.covered,
                    "reason": outcome.row.reason,
                }
                for outcome in self.outcomes
            ],
        }


def expected(connection: Connection, plan: Plan, expectation: Expectation, run: RunRecord) -> CheckedExpectation:
    """Return whether an expectation holds for the models of a run, with the intervals of its sequences if it stopped
    once it was settled. One that nothing was scored for, or whose SQL fails, has an outcome that does not hold."""
    models = run.models
    table = as_told(run, evaluate_or_tell(connection, plan, as_measure(expectation)), kind="expect")
    rows = [row for row in table.rows if row.model in models]
    found = {row.model for row in rows}
    nothing = tuple([None] * len(expectation.by))
    reason = NOT_TAKEN.reason if table.error is None else table.error
    rows += [replace(NOT_TAKEN, model=model, by=nothing, reason=reason) for model in models if model not in found]
    return CheckedExpectation(expectation, tuple(outcome_of(expectation, row) for row in rows), table.error is not None)


def as_measure(expectation: Expectation) -> Measure:
    """Return the figure of an expectation, as a measure under the words of the expectation."""
    return Measure(
        name=expectation.shown,
        scenario=None,
        by=expectation.by,
        low=expectation.low,
        high=expectation.high,
        corrected=expectation.corrected,
        random=expectation.random,
        figure=expectation.figure,
    )


def outcome_of(expectation: Expectation, row: MeasureRow) -> ExpectationOutcome:
    """Return whether a row of its figure is what an expectation asks for."""
    compared = {None: row.value, "lower": row.interval_low, "upper": row.interval_high}[expectation.end]
    if row.value is None or compared is None:
        return ExpectationOutcome(row, False, None)
    held, margin = holds(expectation.operator, compared, expectation.value)
    counted = row.judged or row
    covered = counted.n >= expectation.least_coverage * counted.total - CLOSE
    return ExpectationOutcome(row, held and covered, margin, covered)


def holds(operator: str, value: float, number: float) -> tuple[bool, float]:
    """Return whether a value stands so to a number, and by how much it is on the right side of it.

    >>> holds(">=", 0.75, 0.5), holds("<", 0.75, 0.5), holds(">=", 0.1 + 0.2, 0.3)[0]
    ((True, 0.25), (False, -0.25), True)
    """
    equal = math.isclose(value, number, rel_tol=CLOSE, abs_tol=CLOSE)
    above = value - number
    match operator:
        case ">=":
            return equal or above > 0, above
        case ">":
            return not equal and above > 0, above
        case "<=":
            return equal or above < 0, -above
        case "<":
            return not equal and above < 0, -above
        case "==":
            return equal, -abs(above)
    return not equal, abs(above)


BASELINE = "baseline/"
"""What the names of baselines begin with."""


class Placed(NamedTuple):
    """A figure of a model, with the ends of its interval where it has one."""

    model: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Matched:
    """A figure of a model that does not clear the best baseline in the same cell of a measure: an end of its interval
    lies no better, or where it has none the figure itself."""

    measure: str
    by: tuple[Any, ...]
    model: str
    value: float
    low: float | None
    high: float | None
    baseline: str
    baseline_value: float

    def to_json(self, dimensions: Sequence[str]) -> dict[str, Any]:
        """As JSON values; `dimensions` are the names of `by`."""
        return {
            "measure": self.measure,
            **dict(zip(dimensions, self.by, strict=True)),
            "model": self.model,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "baseline": self.baseline,
            "baseline_value": self.baseline_value,
        }


def is_baseline(model: str) -> bool:
    """Return true if a model is a baseline, by its name.

    >>> is_baseline("baseline/constant:0"), is_baseline("openai/gpt-4o")
    (True, False)
    """
    return model.startswith(BASELINE)


def matched(table: MeasureTable) -> tuple[Matched, ...]:
    """Return every figure of a measure that does not clear the best baseline in its cell: it is to be higher, or lower
    where the measure says that lower is better. Of one that says nothing it is for the reader to know whether high is
    good."""
    cells: dict[tuple[Any, ...], list[Placed]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(Placed(row.model, row.value, row.interval_low, row.interval_high))
    lower = table.measure.lower_is_better
    floors = {by: not_clear(rows, lower_is_better=lower) for by, rows in cells.items()}
    return tuple(
        Matched(table.measure.name, row.by, row.model, row.value, row.interval_low, row.interval_high, *floor)
        for row in table.rows
        if (floor := floors[row.by].get(row.model)) is not None and row.value is not None
    )


def not_clear(rows: Iterable[Placed], *, lower_is_better: bool = False) -> dict[str, tuple[str, float]]:
    """Return the models that do not clear the best baseline of a cell, with its name and what it gets.

    >>> rows = [Placed("baseline/echo", 0.5, 0.3, 0.7), Placed("a", 0.8, 0.6, 0.9), Placed("b", 0.6, 0.4, 0.8)]
    >>> not_clear(rows)
    {'b': ('baseline/echo', 0.5)}
    """
    rows, sign = list(rows), -1.0 if lower_is_better else 1.0
    free = [(sign * row.value, row.model) for row in rows if is_baseline(row.model) and row.value is not None]
    if not free:
        return {}
    best, floor = max(free, key=lambda pair: pair[0])
    found = {}
    for row in rows:
        near = row.high if lower_is_better else row.low
        near = row.value if near is None else near
        if near is not None and not is_baseline(row.model) and sign * near <= best:
            found[row.model] = floor, sign * best
    return found
