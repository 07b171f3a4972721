"""How a measure of any kind differs between two results: taken again and again by its own SQL, without some items.

The shared items are dealt into groups. With the difference D of both sides over all of them, and D(g) over those
outside of group g, the variance of D is (G - 1) / G times the sum of (D(g) - mean of D(g))², with G - 1 degrees of
freedom (the jackknife that deletes groups: Shao and Wu 1989; with a group for each item, Quenouille's and Tukey's).
An item leaves both sides at once, so the difficulty of items cancels out, as in a mean of paired differences. What
grows with the items, as a sum does, is brought back to the size of the whole before (`degree`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import duckdb

from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.figure_walk import aggregates
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.intervals import ALIKE, ROUNDING, bounded, with_t
from tripos_warehouse.views import dimension_label

GROWING = frozenset(("sum", "count"))
"""Aggregates of values that are twice as large where there are twice as many items."""


def degree(plan: Plan, figure: Figure) -> int | None:
    """With which power of the number of items a figure grows: 0 of a mean, 1 of a sum, 0 again of a sum by a count.
    None where it adds what grows with the items to what does not, such as `sum(x) + 5`."""
    return _degree({measure.name: measure.figure for measure in plan.measures}, figure)


def _degree(measures: Mapping[str, Figure], figure: Figure) -> int | None:
    match figure:
        case Constant():
            return 0
        case Measured(measure=name):
            return _degree(measures, measures[name])
        case Aggregate(of=Aggregate() as inner):
            return 0 if figure.function == "count" else _degree(measures, inner)  # it counts cells, which stay
        case Aggregate():
            return int(figure.function in GROWING)
        case Formula(operator=operator, values=values):
            found = [_degree(measures, value) for value in values]
            known = [each for each in found if each is not None]
            if len(known) < len(found):
                return None
            match operator:
                case "*":
                    return sum(known)
                case "/":
                    return known[0] - known[1]
            return known[0] if len(set(known)) == 1 else None


MOST_GROUPS = 20
"""With more, the error is known little better, and each costs every measure twice."""
JUMPING = frozenset(("median", "min", "max"))
"""What jumps from one value to the next as items leave, of which the jackknife gives no error."""
VIEWS = ("scores", "columns")
"""The views that the SQL of measures reads."""
KEPT = "items kept"
JUMPS = "it jumps from value to value: no interval"
GROWS_IN_PART = "only a part of it grows with the items: no interval"

Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Half:
    """A side: a connection that shows its run, the schema there, and the models, each in the place of its pair."""

    connection: duckdb.DuckDBPyConnection
    schema: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class Remeasured:
    """A value of a measure on both sides, in the cell that `labels` name, and how they differ (`b` less `a`)."""

    labels: tuple[str, ...]
    a: float
    b: float
    difference: StatisticResult


@dataclass(frozen=True)
class _Value:
    value: float
    n: int
    items: int


Values = dict[tuple[Cell, str], _Value]


def remeasure(
    one: Half, two: Half, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> list[Remeasured]:
    """Return the values of a measure over the shared `items`, a row for each cell in which all models of both sides
    have one; none where its SQL cannot be asked of a side. `n` of a difference are the scores behind the smaller value.

    Without an interval there is a reason: a single item, differences that are all alike, a median, a sum to which
    something that does not grow is added, or a cell that some items carry alone.
    """
    halves = [one] if one.connection is two.connection else [one, two]
    groups = _groups(items, seed)
    power = degree(plan, measure.figure)
    reason = JUMPS if _jumps(plan, measure) else GROWS_IN_PART if power is None else None
    try:
        with _narrowed(halves, items) as leave_out:
            all_a, all_b = _sides(one, two, plan, measure)
            whole = _differences(one, two, all_a, all_b)
            without = []
            for group in groups if whole and len(groups) > 1 and reason is None else ():
                leave_out(group)
                some_a, some_b = (
                    _grown(some, every, power or 0)
                    for some, every in zip(_sides(one, two, plan, measure), (all_a, all_b), strict=True)
                )
                without.append(_differences(one, two, some_a, some_b))
    except StoreError:
        return []
    found = []
    for cell, (a, b) in whole.items():
        base = StatisticResult(b.value - a.value, n=min(a.n, b.n), clusters=min(a.items, b.items))
        labels = tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True))
        found.append(Remeasured(labels, a.value, b.value, _with_error(base, cell, without, reason, _ends(measure))))
    return found


def remeasure_pairs(
    half: Half, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> dict[tuple[str, str], StatisticResult]:
    """Return how every two models of `half` differ (first less second) in a measure that goes by nothing, over `items`,
    as `remeasure_cells` does of one that goes by something."""
    found = remeasure_cells(half, plan, measure, items, seed)
    return {(first, second): difference for (_, first, second), difference in found.items()}


def remeasure_cells(
    half: Half, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> dict[tuple[Cell, str, str], StatisticResult]:
    """Return how every two models of `half` differ (first less second) in each cell of a measure, over `items`, which
    all of them should have. Two that lack a value, or all where its SQL cannot be asked, are not in it.

    Reasons are those of `remeasure`; but where all groups of items differ by the same, that has a p-value: turned round
    at random (Fisher 1935), all G groups would agree with chance 2^(1 - G).
    """
    groups, power = _groups(items, seed), degree(plan, measure.figure)
    reason = JUMPS if _jumps(plan, measure) else GROWS_IN_PART if power is None else None
    without: list[Values] = []
    try:
        with _narrowed([half], items) as leave_out:
            whole = _values(half, plan, measure)
            for group in groups if len(groups) > 1 and reason is None else ():
                leave_out(group)
                without.append(_grown(_values(half, plan, measure), whole, power or 0))
    except StoreError:
        return {}
    found = {}
    for cell in dict.fromkeys(cell for cell, _ in whole):
        for first, second in combinations(half.models, 2):
            ends = (cell, second), (cell, first)
            if any(key not in whole for key in ends):
                continue
            b, a = (whole[key] for key in ends)
            base = StatisticResult(a.value - b.value, n=min(a.n, b.n), clusters=min(a.items, b.items))
            rest = [
                {cell: (each[ends[0]], each[ends[1]])} if all(key in each for key in ends) else {} for each in without
            ]
            told = _with_error(base, cell, rest, reason, _ends(measure))
            if told.reason == ALIKE and abs(base.value or 0.0) > ROUNDING:
                told = replace(told, p=2.0 ** (1 - len(groups)))
            found[cell, first, second] = told
    return found


def _with_error(
    base: StatisticResult,
    cell: Cell,
    without: Sequence[Mapping[Cell, tuple[_Value, _Value]]],
    reason: str | None,
    ends: tuple[float, float] | None,
) -> StatisticResult:
    if reason is not None:
        return base.without_interval(reason)
    if not without:
        return base.without_interval("one item says nothing about the error")
    if any(cell not in each for each in without):
        return base.without_interval("without some items it has no value: no interval")
    differences = [b.value - a.value for a, b in (each[cell] for each in without)]
    many = len(differences)
    mean = sum(differences) / many
    error = math.sqrt((many - 1) / many * sum((each - mean) ** 2 for each in differences))
    if error <= ROUNDING:
        return base.without_interval(ALIKE)
    return with_t(base, error, many - 1) if ends is None else bounded(base, error, many - 1, ends, null=0.0)


def _ends(measure: Measure) -> tuple[float, float] | None:
    """Between which ends two values of a measure can differ, where it has bounds."""
    if measure.low is None or measure.high is None:
        return None
    return measure.low - measure.high, measure.high - measure.low


def _groups(items: Sequence[str], seed: int) -> list[list[str]]:
    """Return the items, dealt into groups of one size or nearly so; the same ones for the same seed."""
    order = sorted(items)
    random.Random(seed).shuffle(order)
    return [order[place::MOST_GROUPS] for place in range(min(MOST_GROUPS, len(order)))]


def _sides(one: Half, two: Half, plan: Plan, measure: Measure) -> tuple[Values, Values]:
    """Return what a measure comes to on either side, by cell and model."""
    a = _values(one, plan, measure)
    return a, a if one.connection is two.connection else _values(two, plan, measure)


def _grown(values: Values, whole: Values, power: int) -> Values:
    """Return values of some items, as those of all items would be if these were like them."""
    if power == 0:
        return values
    return {
        key: replace(each, value=each.value * (whole[key].items / each.items) ** power)
        for key, each in values.items()
        if key in whole and each.items
    }


def _differences(one: Half, two: Half, a: Values, b: Values) -> dict[Cell, tuple[_Value, _Value]]:
    """By cell, the mean over models of what a measure comes to on either side."""
    found = {}
    for cell in dict.fromkeys(cell for cell, _ in b):
        before, after = [a.get((cell, model)) for model in one.models], [b.get((cell, model)) for model in two.models]
        if all(before) and all(after):
            found[cell] = (_mean(before), _mean(after))
    return found


def _values(half: Half, plan: Plan, measure: Measure) -> Values:
    rows = evaluate(half.connection, plan, measure).rows
    return {(row.by, row.model): _Value(row.value, row.n, row.items) for row in rows if row.value is not None}


def _mean(values: Sequence[_Value | None]) -> _Value:
    there = [each for each in values if each is not None]
    value = sum(each.value for each in there) / len(there)
    return _Value(value, sum(each.n for each in there), max(each.items for each in there))


@contextmanager
def _narrowed(halves: Sequence[Half], items: Sequence[str]) -> Iterator[Any]:
    """Show of every side the given items only, and gives what takes a group of them away, in place of the one before;
    at the end all is as it was."""
    for half in halves:
        _keep(half, items)

    def leave_out(group: Sequence[str]) -> None:
        gone = set(group)
        for half in halves:
            _keep(half, [item for item in items if item not in gone])

    try:
        for half in halves:
            for view in VIEWS:
                name = f"{sql.name(half.schema)}.{sql.name(view)}"
                half.connection.execute(f"alter view {name} rename to {sql.name(f'{view} of all items')}")
                every = f"{sql.name(half.schema)}.{sql.name(f'{view} of all items')}"
                half.connection.execute(
                    f"create view {name} as from {every} as every semi join main.{sql.name(KEPT)} as kept"
                    " on kept.item_id = every.item_id"
                )
        yield leave_out
    finally:
        for half in halves:
            for view in VIEWS:
                every = f"{sql.name(half.schema)}.{sql.name(f'{view} of all items')}"
                half.connection.execute(f"drop view if exists {sql.name(half.schema)}.{sql.name(view)}")
                half.connection.execute(f"alter view {every} rename to {sql.name(view)}")


def _keep(half: Half, items: Sequence[str]) -> None:
    statement = f"create or replace table main.{sql.name(KEPT)} as select unnest(?::varchar[]) as item_id"
    half.connection.execute(statement, [list(items)])


def _jumps(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure is made of something that jumps."""
    return any(each.function in JUMPING for each in aggregates(plan, measure.figure))
