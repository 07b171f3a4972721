"""Expectations of a spec, checked for every compared model and cell; and baselines that models should beat.

A figure beats a baseline if its whole interval is better: a value that is better by chance shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tripos_compiler.plan import Expectation, Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.evaluation import evaluate_or_error
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, with_sequential_intervals
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.runs import RunRecord

CLOSE = 1e-9
"""Figures closer than this are equal; the difference is rounding."""
NOTHING_SCORED = "nothing was scored"


@dataclass(frozen=True)
class ExpectationOutcome:
    """An expectation for one row of its figure: whether it holds, and by how much.

    `margin` is the distance of the value, or of the compared end of its interval, from the expected number, below 0 on
    the wrong side. It is None without a value or an interval; then the expectation does not hold. It does not hold
    either if too few of the scores have a value: then `covered` is false.
    """

    row: MeasureRow
    held: bool
    margin: float | None
    covered: bool = True

    @property
    def scored_row(self) -> MeasureRow:
        """The row whose scores count: for a figure that people correct, that of the judge, who scored all replies."""
        return self.row.judged or self.row


@dataclass(frozen=True)
class CheckedExpectation:
    """An expectation with its outcomes, in the order of a measure's rows."""

    expectation: Expectation
    outcomes: tuple[ExpectationOutcome, ...]
    failed: bool = False
    """True if the database refused its SQL, so that there is no value."""

    @property
    def held(self) -> bool:
        """True if it holds for every model in every cell. An expectation without outcomes does not hold."""
        return bool(self.outcomes) and all(outcome.held for outcome in self.outcomes)

    @property
    def scores(self) -> tuple[int, int]:
        """The number of scores with a value, and of those that should have one."""
        counted = [outcome.scored_row for outcome in self.outcomes]
        return sum(row.n for row in counted), sum(row.total for row in counted)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
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
                    **outcome.row.to_json("value", "low", "high"),
                    "margin": outcome.margin,
                    "n": outcome.scored_row.n,
                    "total": outcome.scored_row.total,
                    "covered": outcome.covered,
                    "reason": outcome.row.reason,
                }
                for outcome in self.outcomes
            ],
        }


def check_expectation(
    connection: Connection, plan: Plan, expectation: Expectation, run: RunRecord
) -> CheckedExpectation:
    """Return the outcomes of an expectation for the models of a run. If the run stopped as soon as it was settled, the
    intervals are those of its confidence sequences. An expectation without scores, or whose SQL fails, does not
    hold."""
    models = run.models
    table = with_sequential_intervals(
        run, evaluate_or_error(connection, plan, expectation_measure(expectation)), kind="expect"
    )
    rows = [row for row in table.rows if row.model in models]
    with_rows = {row.model for row in rows}
    no_cell = tuple([None] * len(expectation.by))
    reason = NOTHING_SCORED if table.error is None else table.error
    rows += [MeasureRow(None, reason, model=model, by=no_cell) for model in models if model not in with_rows]
    return CheckedExpectation(expectation, tuple(outcome_of(expectation, row) for row in rows), table.error is not None)


def expectation_measure(expectation: Expectation) -> Measure:
    """Return the figure of an expectation as a measure, named by the text of the expectation."""
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
    """Return the outcome of an expectation for one row of its figure."""
    compared = {None: row.value, "lower": row.low, "upper": row.high}[expectation.end]
    if row.value is None or compared is None:
        return ExpectationOutcome(row, False, None)
    is_met, margin = holds(expectation.operator, compared, expectation.value)
    counted = row.judged or row
    covered = counted.n >= expectation.least_coverage * counted.total - CLOSE
    return ExpectationOutcome(row, is_met and covered, margin, covered)


def holds(operator: str, value: float, number: float) -> tuple[bool, float]:
    """Return whether a comparison of a value with a number holds, and by how much the value is on the right side,
    below 0 on the wrong side.

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
"""The prefix of the names of baselines."""


class BelowBaseline(NamedTuple):
    """A row that is not better than the best baseline in the same cell of its measure: its interval reaches the
    baseline, or without an interval the value is no better."""

    measure: str
    row: MeasureRow
    baseline: str
    baseline_value: float

    def to_json(self, dimensions: Sequence[str]) -> dict[str, Any]:
        """Return it as JSON values; `dimensions` are those of the measure."""
        return {
            "measure": self.measure,
            **dict(zip(dimensions, self.row.by, strict=True)),
            **self.row.to_json("model", "value", "low", "high"),
            "baseline": self.baseline,
            "baseline_value": self.baseline_value,
        }


def is_baseline(model: str) -> bool:
    """Return true if a model is a baseline, by its name.

    >>> is_baseline("baseline/constant:0"), is_baseline("openai/gpt-4o")
    (True, False)
    """
    return model.startswith(BASELINE)


def below_baseline(table: MeasureTable) -> tuple[BelowBaseline, ...]:
    """Return the rows that are not better than the best baseline of their cell, since their 95 % interval reaches it.

    Higher is better unless the measure says that lower is better, also for a measure without a direction.
    """
    cells: dict[tuple[Any, ...], list[MeasureRow]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(row)
    lower = table.lower_is_better
    below = {by: models_below_baseline(rows, lower_is_better=lower) for by, rows in cells.items()}
    return tuple(
        BelowBaseline(table.measure.name, row, *baseline)
        for row in table.rows
        if (baseline := below[row.by].get(row.model)) is not None and row.value is not None
    )


def models_below_baseline(rows: Iterable[MeasureRow], *, lower_is_better: bool = False) -> dict[str, tuple[str, float]]:
    """Return the models that are not better than the best baseline of a cell, with the name and the value of that
    baseline.

    >>> ends = {"baseline/echo": (0.5, 0.3, 0.7), "a": (0.8, 0.6, 0.9), "b": (0.6, 0.4, 0.8)}
    >>> rows = [MeasureRow(value, low=low, high=high, model=name) for name, (value, low, high) in ends.items()]
    >>> models_below_baseline(rows)
    {'b': ('baseline/echo', 0.5)}
    """
    rows, sign = list(rows), -1.0 if lower_is_better else 1.0
    baselines = [(sign * row.value, row.model) for row in rows if is_baseline(row.model) and row.value is not None]
    if not baselines:
        return {}
    best, name = max(baselines, key=lambda pair: pair[0])
    below = {}
    for row in rows:
        worst = row.high if lower_is_better else row.low
        worst = row.value if worst is None else worst
        if worst is not None and not is_baseline(row.model) and sign * worst <= best:
            below[row.model] = name, sign * best
    return below
