"""Expectations: whether each figure that a spec expects is what it should be, for every compared model and cell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tripos_compiler.plan import Expectation, Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse.measures.evaluation import evaluate_or_tell
from tripos_warehouse.measures.measure_rows import MeasureRow, as_told
from tripos_warehouse.query import Connection
from tripos_warehouse.views import RunRecord

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
