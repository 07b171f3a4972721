"""Tests of every two models of a report in each cell of a measure, and which values are better than those of all other
models beyond error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.differences import ModelDifferences, model_differences
from tripos_warehouse.measures.directions import better_direction
from tripos_warehouse.measures.measure_rows import UNFOLLOWED, MeasureRow, MeasureTable, followed_difference, text_of
from tripos_warehouse.measures.sides import Cell, Side, items_by_model
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.leaderboard import LEVEL, comparable_models, p_value
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import BestValue
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import negated
from tripos_warehouse.statistics.multiple_tests import holm
from tripos_warehouse.views.runs import RunRecord


def best_values(connection: Connection, report: Report) -> frozenset[BestValue]:
    """Return the best value of every cell in which it is significantly better than those of all other models, at 5 %
    after Holm's correction over the pairs and cells of its measure. Two models are compared over the items that both
    have, as in `leaderboard`, where the one with the worse value may be the better one. A measure without a direction
    has no best values."""
    return frozenset(
        (table.measure.name, cell, model)
        for table in report.measures
        if len({row.model for row in table.rows}) > 1
        and better_direction(report.plan, table.measure) is not None
        and not is_pooled(table.measure.figure, measures_of(report.plan))
        for cell, model in _best(connection, report.plan, report.run, table)
    )


def _best(connection: Connection, plan: Plan, run: RunRecord, table: MeasureTable) -> list[tuple[tuple[Any, ...], str]]:
    tests = model_tests(connection, plan, run, table)
    sign = -1.0 if table.lower_is_better else 1.0
    cells: dict[tuple[Any, ...], list[MeasureRow]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(row)
    best_cells = []
    for cell, rows in cells.items():
        measure_rows = [row for row in rows if row.value is not None]
        if len(measure_rows) < 2:
            continue
        best = max(measure_rows, key=lambda row: sign * (row.value or 0.0))
        if all(tests.shows_better(cell, best.model, row.model, sign) for row in measure_rows if row is not best):
            best_cells.append((cell, best.model))
    return best_cells


@dataclass(frozen=True)
class ModelTests:
    """The differences of models in every cell of a measure, and the p-values of those that can be tested, corrected by
    Holm over all of them."""

    differences: ModelDifferences
    """By cell, whose values are texts, and two models: the first minus the second."""
    p_values: Mapping[tuple[Cell, frozenset[str]], float]

    def difference(self, cell: Cell, first: str, second: str) -> Estimate | None:
        """Return how far a model is above another one in a cell; None if one of them has no value."""
        texts = tuple(map(text_of, cell))
        if (estimate := self.differences.get((texts, first, second))) is not None:
            return estimate
        estimate = self.differences.get((texts, second, first))
        return None if estimate is None else negated(estimate)

    def p_value(self, cell: Cell, first: str, second: str) -> float | None:
        """Return the corrected p-value of two models in a cell; None if nothing distinguishes them."""
        return self.p_values.get((tuple(map(text_of, cell)), frozenset((first, second))))

    def shows_better(self, cell: Cell, first: str, second: str, sign: float) -> bool:
        """Return true if the first model is significantly better; `sign` is -1 if lower is better."""
        p, difference = self.p_value(cell, first, second), self.difference(cell, first, second)
        return p is not None and p < LEVEL and difference is not None and sign * (difference.value or 0.0) > 0


def model_tests(
    connection: Connection, plan: Plan, run: RunRecord, table: MeasureTable, reference: str | None = None
) -> ModelTests:
    """Return the tests of every two models of a table, as boards and bold values have them. Two models that share too
    few items have no test, and no difference either unless one of them is the `reference`."""
    measure = table.measure
    side = Side(connection, plan, tuple(dict.fromkeys(row.model for row in table.rows)))
    tested = comparable_models(side, items_by_model(connection, plan, measure), {})
    known = set(map(frozenset, tested))
    shown = [(model, reference) for model in side.models if reference is not None and reference in side.models]
    shown = [pair for pair in shown if len({*pair}) == 2 and frozenset(pair) not in known]
    values = {(tuple(map(text_of, row.by)), row.model): row.value for row in table.rows}
    differences = {}
    for (cell, first, second), difference in model_differences(side, measure, models=[*tested, *shown]).items():
        texts = tuple(map(text_of, cell))
        pair = {model: values.get((texts, model)) for model in (first, second)}
        differences[texts, first, second] = _as_followed(run, measure, texts, pair, difference)
    keys = [(cell, first, second) for cell, first, second in differences if frozenset((first, second)) in known]
    corrected = holm([p_value(differences[key]) for key in keys])
    return ModelTests(
        differences,
        {
            (cell, frozenset((first, second))): p
            for (cell, first, second), p in zip(keys, corrected, strict=True)
            if p is not None
        },
    )


def _as_followed(
    run: RunRecord, measure: Measure, cell: Cell, values: Mapping[str, float | None], difference: Estimate
) -> Estimate:
    """Return the difference of two models, whose values in a cell are `values`, from the confidence sequence of the
    run, if it has one that belongs to these. Otherwise return `difference`, without a test if a model did not see all
    items."""
    (first, one), (second, two) = values.items()
    if one is not None and two is not None:
        by = dict(zip(measure.by, cell, strict=True))
        sequence = followed_difference(run, measure.name, first, second, by, one - two)
        if sequence is not None:
            return sequence
    return Estimate.undefined(UNFOLLOWED) if run.stopped_models & values.keys() else difference
