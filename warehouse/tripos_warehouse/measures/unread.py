"""A figure as it would be if unreadable replies counted as wrong.

Scores without a value are left out of a figure, so a model whose hard replies are unreadable looks better than it is.
The same figure is computed again over the same rows, with the worst value of their range for these scores: the lowest
if the figure rises with the score and higher is better, or if it falls with the score and lower is better; otherwise
the highest. If a score enters a figure with both signs, as in a gain, or a range has no such end, only the count is
known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.figures import leaves_of, measures_of
from tripos_compiler.language.scored_values import scored_inputs, scored_values_of
from tripos_compiler.library.ranges import CURVES
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Plan
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, UnreadScores
from tripos_warehouse.measures.query import End, worst_value
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import query_rows


def with_unread(connection: Connection, plan: Plan, table: MeasureTable) -> MeasureTable:
    """Return the values of a measure, with what they would be if unreadable replies counted as wrong, if a score has no
    value. Figures that people correct, and figures that count a missing score as zero, are unchanged."""
    measure = table.measure
    short = [row for row in table.rows if row.n < row.total]
    if not short or measure.corrected or measure.missing == "zero":
        return table
    ends = worst_ends(plan, measure)
    if ends is None:
        rows = [replace(row, unread=UnreadScores(row.total - row.n)) if row in short else row for row in table.rows]
    else:
        found = _evaluated(connection, plan, measure, ends)
        rows = [_with_unread(measure, row, found, ends) for row in table.rows]
    return replace(table, rows=tuple(rows))


def _with_unread(
    measure: Measure, row: MeasureRow, found: Mapping[object, tuple[float | None, int]], ends: Ends
) -> MeasureRow:
    value, n = found.get((row.model, tuple(map(str, row.by))), (None, row.n))
    if n <= row.n:
        return row
    wrong = measure.low == 0 and measure.high == 1 and set(ends.values()) == {"low"}
    return replace(row, unread=UnreadScores(n - row.n, value, "wrong" if wrong else "the worst value"))


def _evaluated(
    connection: Connection, plan: Plan, measure: Measure, ends: Ends
) -> dict[object, tuple[float | None, int]]:
    """Return the value and the number of scores of every cell, with these ends in place of unreadable scores."""
    _, rows = query_rows(connection, sql_of(plan, measure, unread=tuple(sorted(ends.items()))))
    return {
        (str(row["model"]), tuple(str(row[name]) for name in measure.by)): (_value(row["value"]), int(row["n"] or 0))
        for row in rows
    }


def _value(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and in_bounds(value) else None


Ends = Mapping[str, End]
"""The worst end of the range of each score, by name."""


def worst_ends(plan: Plan, measure: Measure) -> Ends | None:
    """Return the worst end of every score of a measure; None if a score has none, or is worst at either end."""
    measures = measures_of(plan)
    rises = {True, False}
    found: dict[str, set[bool]] = {}
    for figure, sign in _leaves(plan, measure.figure, not measure.lower_is_better):
        if sign is None:
            return None
        found.setdefault(figure.values[0], set()).add(sign)
    if not found or any(signs == rises for signs in found.values()):
        return None
    ends: dict[str, End] = {name: "low" if True in signs else "high" for name, signs in found.items()}
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


def _leaves(plan: Plan, figure: Figure, sign: bool | None) -> Iterator[tuple[Aggregate, bool | None]]:
    """Yield the aggregates of scores in a figure, each with whether a higher score is better for the figure; None if
    that is unknown."""
    match figure:
        case Aggregate(of=None):
            yield figure, sign
        case Aggregate(of=inner, function=function) if inner is not None:
            yield from _leaves(plan, inner, sign if declared_aggregate(function).rises else None)
        case Measured(measure=name):
            yield from _leaves(plan, next(measure.figure for measure in plan.measures if measure.name == name), sign)
        case Formula(values=values):
            for value, own in zip(values, _signs(figure, sign), strict=True):
                yield from _leaves(plan, value, own)


def _signs(figure: Formula, sign: bool | None) -> list[bool | None]:
    """Return for each part of a formula whether a higher value of it is better."""
    other = None if sign is None else not sign
    values = figure.values
    match figure.operator:
        case "+" | "min" | "max" | "harmonic_mean" | "overall":
            return [sign] * len(values)
        case "-":
            return [sign, other]
        case "negate":
            return [other]
        case "*" | "/":
            factors = [value.value for value in values if isinstance(value, Constant)]
            if len(factors) == 1 and (figure.operator == "*" or isinstance(values[1], Constant)):
                return [sign if factors[0] > 0 else other] * len(values)
            return [None] * len(values)
        case operator if operator in CURVES:
            return [sign]
    return [None] * len(values)
