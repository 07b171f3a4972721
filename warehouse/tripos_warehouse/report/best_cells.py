"""Values of a run that are better than those of all other models beyond error: what a table prints in bold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures import Half, MeasureRow, MeasureTable, remeasure_cells
from tripos_warehouse.query import Connection
from tripos_warehouse.report.board_facts import items_by_model
from tripos_warehouse.report.comparison import graded_scores, mean_of
from tripos_warehouse.report.pivot_table import is_pooled
from tripos_warehouse.report.ranking import LEAST_ITEMS, LEVEL
from tripos_warehouse.statistics import holm

BestValue = tuple[str, tuple[Any, ...], str]
"""A measure by its name, a cell of it, and the model that is best there."""


def best_values(connection: Connection, plan: Plan, tables: Sequence[MeasureTable]) -> frozenset[BestValue]:
    """Return the best value of every cell that differs from those of all other models there, at 5 % after Holm over the
    pairs and cells of its measure. Two models are compared over the items that all have, as `leaderboard` does. A
    measure of which nobody said which direction is good has none."""
    return frozenset(
        (table.measure.name, cell, model)
        for table in tables
        if len({row.model for row in table.rows}) > 1 and _has_direction(plan, table.measure)
        for cell, model in _best(connection, plan, table)
    )


def _has_direction(plan: Plan, measure: Measure) -> bool:
    """Return true if it is known whether a higher value is a better one."""
    if is_pooled(plan, measure.figure):
        return False
    if measure.lower_is_better or measure.name in plan.benchmark.headline:
        return True
    mean = mean_of(measure)
    return mean is not None and set(mean.values) <= graded_scores(plan)


def _best(connection: Connection, plan: Plan, table: MeasureTable) -> list[tuple[tuple[Any, ...], str]]:
    measure = table.measure
    of_model = items_by_model(connection, plan, measure)
    models = tuple(dict.fromkeys(row.model for row in table.rows if row.model in of_model))
    if len(models) < 2:
        return []
    shared = frozenset.intersection(*(of_model[model] for model in models))
    if len(shared) < LEAST_ITEMS:
        return []
    half = Half(connection, plan.benchmark.name, models)
    differences = remeasure_cells(half, plan, measure, sorted(shared))
    corrected = holm([each.p if (each.clusters or 0) >= LEAST_ITEMS else None for each in differences.values()])
    apart = {
        (cell, frozenset((first, second)))
        for (cell, first, second), p in zip(differences, corrected, strict=True)
        if p is not None and p < LEVEL
    }
    cells: dict[tuple[Any, ...], list[MeasureRow]] = {}
    for row in table.rows:
        cells.setdefault(row.by, []).append(row)
    found = []
    for cell, rows in cells.items():
        sign = -1.0 if measure.lower_is_better else 1.0
        there = [row for row in rows if row.value is not None]
        if len(there) < 2:
            continue
        best = max(there, key=lambda row: sign * (row.value or 0.0))
        if all((cell, frozenset((best.model, row.model))) in apart for row in there if row is not best):
            found.append((cell, best.model))
    return found
