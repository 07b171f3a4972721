"""The values of a report that are significantly better than those of all other models."""

from __future__ import annotations

from typing import Any

from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.measure_rows import UNFOLLOWED, MeasureRow, MeasureTable, followed_difference, text_of
from tripos_warehouse.measures.sides import Side, items_by_model
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.comparison import has_direction
from tripos_warehouse.report.leaderboard import LEVEL, comparable_models, p_value
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.tables import BestValue
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.multiple_tests import holm
from tripos_warehouse.views.runs import RunRecord


def best_values(connection: Connection, report: Report) -> frozenset[BestValue]:
    """Return the best value of every cell in which it differs significantly from those of all other models, at 5 %
    after Holm's correction over the pairs and cells of its measure. Two models are compared over the items that both
    have, as in `leaderboard`. A measure without a direction has no best values."""
    return frozenset(
        (table.measure.name, cell, model)
        for table in report.measures
        if len({row.model for row in table.rows}) > 1
        and has_direction(report.plan, table.measure)
        and not is_pooled(table.measure.figure, measures_of(report.plan))
        for cell, model in _best(connection, report.plan, report.run, table)
    )


def _best(connection: Connection, plan: Plan, run: RunRecord, table: MeasureTable) -> list[tuple[tuple[Any, ...], str]]:
    """Return the cells of a measure with a best value, each with its model."""
    measure = table.measure
    side = Side(connection, plan, tuple(dict.fromkeys(row.model for row in table.rows)))
    models = comparable_models(side, items_by_model(connection, plan, measure), {})
    differences = model_differences(side, measure, models=models)
    tested = [_as_followed(run, table, *key, difference) for key, difference in differences.items()]
    corrected = holm([p_value(estimate) for estimate in tested])
    different = {
        (tuple(map(text_of, cell)), frozenset((first, second)))
        for (cell, first, second), p in zip(differences, corrected, strict=True)
        if p is not None and p < LEVEL
    }
    cells: dict[tuple[Any, ...], list[MeasureRow]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(row)
    best_cells = []
    for cell, rows in cells.items():
        sign = -1.0 if measure.lower_is_better else 1.0
        with_value = [row for row in rows if row.value is not None]
        if len(with_value) < 2:
            continue
        best = max(with_value, key=lambda row: sign * (row.value or 0.0))
        texts = tuple(map(text_of, cell))
        if all((texts, frozenset((best.model, row.model))) in different for row in with_value if row is not best):
            best_cells.append((cell, best.model))
    return best_cells


def _as_followed(
    run: RunRecord, table: MeasureTable, cell: tuple[Any, ...], first: str, second: str, difference: Estimate
) -> Estimate:
    """Return the difference of two models from the confidence sequence of the run, if it has one that belongs to the
    values in the table. Otherwise return `difference`, without a test if a model did not see all items."""
    texts = tuple(map(text_of, cell))
    values = {row.model: row.value for row in table.rows if tuple(map(text_of, row.by)) == texts}
    one, two = values.get(first), values.get(second)
    by = dict(zip(table.measure.by, texts, strict=True))
    if one is not None and two is not None:
        sequence = followed_difference(run, table.measure.name, first, second, by, one - two)
        if sequence is not None:
            return sequence
    return Estimate.undefined(UNFOLLOWED) if run.stopped_models & {first, second} else difference
