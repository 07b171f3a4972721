"""The worst case of a figure: its value if every unreadable reply counted as wrong.

A figure leaves out scores without a value. So a model looks better than it is if it gives unreadable replies to hard
items. The figure is computed again over the same rows, and each score whose reply could not be read counts as the worst
value of its range: the lowest if the figure improves with the score, otherwise the highest. If a figure both improves
and worsens with a score, as a gain does, or the range has no such end, only the number of scores without a value is
known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.figures import leaves_of, measures_of
from tripos_compiler.language.scored_values import scored_inputs, scored_values_of
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.directions import is_lower_better, signed_leaves
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, UnreadScores
from tripos_warehouse.measures.query import End, worst_value
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import query_rows


def with_unread(connection: Connection, plan: Plan, table: MeasureTable) -> MeasureTable:
    """Return the values of a measure, each with its `unread` scores if some scores have no value. Figures that are
    corrected by grades of people, and figures that count a missing score as zero, are unchanged."""
    measure = table.measure
    incomplete = [row for row in table.rows if row.n < row.total]
    if not incomplete or measure.corrected or measure.missing == "zero":
        return table
    ends = worst_ends(plan, measure)
    if ends is None:
        rows = [
            replace(row, unread=UnreadScores(row.total - row.n)) if row in incomplete else row for row in table.rows
        ]
    else:
        cells = _worst_cells(connection, plan, measure, ends)
        rows = [_row_with_unread(measure, row, cells, ends) for row in table.rows]
    return replace(table, rows=tuple(rows))


def _row_with_unread(
    measure: Measure, row: MeasureRow, cells: Mapping[object, tuple[float | None, int]], ends: Ends
) -> MeasureRow:
    """Return a value of a measure with its unread scores, from the worst cells; unchanged if it has none."""
    value, n = cells.get((row.model, tuple(map(str, row.by))), (None, row.n))
    if n <= row.n:
        return row
    worst_is_wrong = measure.low == 0 and measure.high == 1 and set(ends.values()) == {"low"}
    return replace(row, unread=UnreadScores(n - row.n, value, "wrong" if worst_is_wrong else "the worst value"))


def _worst_cells(
    connection: Connection, plan: Plan, measure: Measure, ends: Ends
) -> dict[object, tuple[float | None, int]]:
    """Return the value and the number of scores of every cell, by model and `by`, if each unreadable reply has the
    score at the worst end."""
    _, rows = query_rows(connection, sql_of(plan, measure, unread=tuple(sorted(ends.items()))))
    return {
        (str(row["model"]), tuple(str(row[name]) for name in measure.by)): (
            _finite_number(row["value"]),
            int(row["n"] or 0),
        )
        for row in rows
    }


def _finite_number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and in_bounds(value) else None


Ends = Mapping[str, End]
"""The end of the range of each score that is worst for a figure, by the score's name."""


def worst_ends(plan: Plan, measure: Measure) -> Ends | None:
    """Return the worst end of every score of a measure; None if a score has none, or if each end is the worst one in
    some part of the figure."""
    measures = measures_of(plan)
    both_signs = {True, False}
    signs_by_score: dict[str, set[bool]] = {}
    for figure, sign in signed_leaves(plan, measure.figure, not is_lower_better(plan, measure)):
        if sign is None:
            return None
        signs_by_score.setdefault(figure.values[0], set()).add(sign)
    if not signs_by_score or any(signs == both_signs for signs in signs_by_score.values()):
        return None
    ends: dict[str, End] = {name: "low" if True in signs else "high" for name, signs in signs_by_score.items()}
    values = scored_values_of(plan)
    for figure in leaves_of(measure.figure, measures):
        end, scored = ends[figure.values[0]], scored_inputs(values, figure)
        if not scored or scored[0].kind == "compare":
            return None
        if declared_aggregate(figure.function).unread == "unequal":
            if end != "low":
                return None
        elif worst_value(plan, figure, scored[0], end) is None:
            return None
    return ends
