"""How a measure of any kind differs between two results: taken again and again by its own SQL, without some items.

The shared items, those of a cluster together, are dealt into groups. For each cell, only the G groups count that have
items of it. With the difference D of both sides over all of them, and D(g) over those outside of group g, the variance
of D is (G - 1) / G times the sum of (D(g) - mean of D(g))² (the jackknife that deletes groups: Shao and Wu 1989; with a
group for each cluster, Quenouille's and Tukey's). Where a few groups carry the error, as those with the items of a
small cell do, it is known as badly as from so few: with K the square of the sum of squares over the sum of fourth
powers, which is about (G + 2) / 3 of alike groups, there are 3 K - 4 degrees of freedom, and G - 1 at most.
An item leaves both sides at once, so the difficulty of items cancels out, as in a mean of paired differences. What
grows with the items, as a sum does, is brought back to the size of the whole before (`degree`).
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from tripos_compiler.plan import Aggregate, Measure, Plan
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.differences.corrected_pairs import Threes, corrected_difference, three_by_cell
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.figure_walk import (
    MEANS,
    aggregates,
    cut_of,
    degree,
    has_curve,
    of_formula,
    slices_of_sum,
)
from tripos_warehouse.measures.random_facets import faceted_differences
from tripos_warehouse.measures.sql import BY_CHANCE, CUT_OFF, ROOT_OF_ZERO, sql_of
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics import Floats, StatisticResult
from tripos_warehouse.statistics.intervals import ALIKE, ROUNDING, bounded, flipped_p, with_t, with_test
from tripos_warehouse.views import clusters_of, dimension_label

MOST_GROUPS = 20
"""With more, the error is known little better, and each costs every measure twice."""
JUMPING = frozenset(("median", "min", "max"))
"""What jumps from one value to the next as items leave, of which the jackknife gives no error."""
VIEWS = ("scores", "columns", "comparisons")
"""The views that the SQL of measures reads, and that have rows of one item each, and of one model or, of comparisons,
two."""
KNOWN = 1e6
"""The degrees of freedom of an error that no data show."""
DEALT = "items dealt"
WHOLE = -1
"""The number that leaves out no group."""
MOST_ROWS = 400_000
"""Rows that one query reads: as many groups are left out side by side as have room in them."""
JUMPS = "it jumps from value to value: no interval"
CUT = "a number in `min` or `max` cuts a value off: no interval"
MOST_MOVED = 0.25
"""How far chance may move a difference, in errors: an interval of 95 % then holds the truth 94.3 % of the time."""
UNKNOWN = frozenset((CUT_OFF, ROOT_OF_ZERO))
"""Reasons for which the jackknife gives no error either."""
GROWS_IN_PART = "only a part of it grows with the items: no interval"

Cell = tuple[Any, ...]


@dataclass(frozen=True)
class Half:
    """A side: a connection that shows its run, the schema there, and the models, each in the place of its pair."""

    connection: Connection
    schema: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class Remeasured:
    """A value of a measure on both sides, in the cell that `labels` name, and how they differ (`b` less `a`)."""

    labels: tuple[str, ...]
    a: float
    b: float
    difference: StatisticResult
    farthest: float | None = None
    """The largest difference of a group of items, in either direction, if the groups show one."""


@dataclass(frozen=True)
class _Value:
    value: float
    n: int
    items: int
    why: str | None = None
    """Why its error is unknown however many items there are."""
    unseen: float = 0.0
    """The part of its error that no group shows: that of cells whose items are all alike."""


Values = dict[tuple[Cell, str], _Value]


def remeasure(
    one: Half, two: Half, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> list[Remeasured]:
    """Return the values of a measure over the shared `items`, a row for each cell in which all models of both sides
    have one; none where its SQL cannot be asked of a side. `n` of a difference are the scores behind the smaller value.

    Without an interval there is a reason: a single item, differences that are all alike, a median, a sum to which
    something that does not grow is added, or a cell that some items carry alone. The p-value is that of all ways of
    turning groups round if no more than 12 of them differ (`flipped_p`), else that of Student's t; it is below 0.05 if
    and only if the interval excludes 0.
    """
    if measure.corrected:
        return _remeasure_corrected(one, two, plan, measure, items)
    if measure.random:
        return _remeasure_faceted(one, two, plan, measure, items)
    groups, power = _groups(items, clusters_of(two.connection, plan), seed), degree(plan, measure.figure)
    bent = any(map(of_formula, aggregates(plan, measure.figure)))
    several = len(list(aggregates(plan, measure.figure))) > 1  # of one, pairs of items show what differs
    reason = JUMPS if _jumps(plan, measure) else GROWS_IN_PART if power is None else None
    wanted = range(len(groups)) if len(groups) > 1 and reason is None else range(0)
    try:
        all_a, without_a = _dealt_values(one, plan, measure, groups, wanted, power or 0)
        same = one.connection is two.connection and one.models == two.models
        all_b, without_b = (all_a, without_a) if same else _dealt_values(two, plan, measure, groups, wanted, power or 0)
    except StoreError:
        return []
    whole = _differences(one, two, all_a, all_b)
    without = [_differences(one, two, a, b) for a, b in zip(without_a, without_b, strict=True)]
    found = []
    for cell, (a, b) in whole.items():
        rest = _of_groups_in(cell, (a, b), without)
        base = StatisticResult(b.value - a.value, n=min(a.n, b.n), clusters=min(a.items, b.items))
        labels = tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True))
        why = reason or _cut_off(measure, a, b)
        still = _bounds_alike(plan, measure, cell, base)
        unseen = math.hypot(a.unseen, b.unseen) if several else 0.0
        difference = _with_error(base, cell, rest, why, _ends(measure), bent, still, unseen)
        found.append(Remeasured(labels, a.value, b.value, difference, _farthest(base, cell, rest)))
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
    all of them should have. Two that lack a value, or all where its SQL cannot be asked, are not in it. Reasons are
    those of `remeasure`.
    """
    if measure.corrected:
        return _remeasure_corrected_cells(half, plan, measure, items)
    if measure.random:
        return _remeasure_faceted_cells(half, plan, measure, items)
    groups, power = _groups(items, clusters_of(half.connection, plan), seed), degree(plan, measure.figure)
    bent = any(map(of_formula, aggregates(plan, measure.figure)))
    several = len(list(aggregates(plan, measure.figure))) > 1  # of one, pairs of items show what differs
    reason = JUMPS if _jumps(plan, measure) else GROWS_IN_PART if power is None else None
    wanted = range(len(groups)) if len(groups) > 1 and reason is None else range(0)
    try:
        whole, without = _dealt_values(half, plan, measure, groups, wanted, power or 0)
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
            both = [
                {cell: (each[ends[0]], each[ends[1]])} if all(key in each for key in ends) else {} for each in without
            ]
            rest = _of_groups_in(cell, (whole[ends[0]], whole[ends[1]]), both)
            why = reason or _cut_off(measure, a, b)
            still = _bounds_alike(plan, measure, cell, base)
            unseen = math.hypot(a.unseen, b.unseen) if several else 0.0
            found[cell, first, second] = _with_error(base, cell, rest, why, _ends(measure), bent, still, unseen)
    return found


def _remeasure_corrected(one: Half, two: Half, plan: Plan, measure: Measure, items: Sequence[str]) -> list[Remeasured]:
    """Return the same of a measure that people correct: its differences have an error of their own, and a λ."""
    try:
        before = _threes(one, plan, measure, items)
        after = before if one.connection is two.connection and one.models == two.models else None
        after = _threes(two, plan, measure, items) if after is None else after
    except StoreError:
        return []
    found = []
    for cell in dict.fromkeys(cell for cell, _ in after):
        keys = [(before, [(cell, model) for model in one.models]), (after, [(cell, model) for model in two.models])]
        if not all(key in threes for threes, wanted in keys for key in wanted):
            continue
        a, b = ([threes[key] for key in wanted] for threes, wanted in keys)
        difference, _ = corrected_difference(a, b, _ends(measure))
        before_it, after_it = (fmean(each.corrected(None)[0].value or 0.0 for each in side) for side in (a, b))
        labels = tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True))
        found.append(Remeasured(labels, before_it, after_it, difference))
    return found


def _remeasure_corrected_cells(
    half: Half, plan: Plan, measure: Measure, items: Sequence[str]
) -> dict[tuple[Cell, str, str], StatisticResult]:
    try:
        threes = _threes(half, plan, measure, items)
    except StoreError:
        return {}
    return {
        (cell, first, second): corrected_difference([threes[cell, second]], [threes[cell, first]], _ends(measure))[0]
        for cell in dict.fromkeys(cell for cell, _ in threes)
        for first, second in combinations(half.models, 2)
        if (cell, first) in threes and (cell, second) in threes
    }


def _remeasure_faceted(one: Half, two: Half, plan: Plan, measure: Measure, items: Sequence[str]) -> list[Remeasured]:
    """Return the same of a measure with random facets, whose scores are paired one by one."""
    connections = one.connection, two.connection
    try:
        [found] = faceted_differences(connections, plan, measure, items, [(one.models, two.models)])
    except StoreError:
        return []
    return [
        Remeasured(
            tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True)),
            each.a,
            each.b,
            each.difference,
        )
        for cell, each in found.items()
    ]


def _remeasure_faceted_cells(
    half: Half, plan: Plan, measure: Measure, items: Sequence[str]
) -> dict[tuple[Cell, str, str], StatisticResult]:
    pairs = list(combinations(half.models, 2))
    sides = [((second,), (first,)) for first, second in pairs]
    try:
        found = faceted_differences((half.connection, half.connection), plan, measure, items, sides)
    except StoreError:
        return {}
    return {
        (cell, first, second): each.difference
        for (first, second), cells in zip(pairs, found, strict=True)
        for cell, each in cells.items()
    }


def _threes(half: Half, plan: Plan, measure: Measure, items: Sequence[str]) -> Threes:
    """Return the three figures of each cell and model over some items alone."""
    with _dealt(half, plan, measure, [items]) as (leave_out, _):
        leave_out([WHOLE])
        return three_by_cell(half.connection, plan, measure)


def _of_groups_in(
    cell: Cell, whole: tuple[_Value, _Value], without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]
) -> Sequence[Mapping[Cell, tuple[_Value, _Value]]]:
    """Return what is left without each group that has items of a cell. The others change nothing when they leave, and
    would pass for groups that all say what the cell says."""
    return [each for each in without if cell not in each or any(map(_is_moved, whole, each[cell]))]


def _is_moved(whole: _Value, rest: _Value) -> bool:
    same = (whole.items, whole.n) == (rest.items, rest.n)
    return not (same and math.isclose(whole.value, rest.value, rel_tol=ROUNDING, abs_tol=ROUNDING))


def _with_error(
    base: StatisticResult,
    cell: Cell,
    without: Sequence[Mapping[Cell, tuple[_Value, _Value]]],
    reason: str | None,
    ends: tuple[float, float] | None,
    bent: bool,
    still: bool,
    unseen: float,
) -> StatisticResult:
    """Return a difference with its error. `bent`: chance alone may move what it is made of, the more so the fewer items
    there are; the jackknife shows by how much (Quenouille 1956). `still`: items that are all alike bound it. `unseen`
    is the part of the error that leaving out groups does not show, since items of a cell are all alike."""
    if reason is not None:
        return base.without_interval(reason)
    if not without:
        return base.without_interval("one item says nothing about the error")
    if any(cell not in each for each in without):
        return base.without_interval("without some items it has no value: no interval")
    differences = np.array([b.value - a.value for a, b in (each[cell] for each in without)])
    many = len(differences)
    moved = differences.mean() - differences
    squares = float((moved**2).sum())
    error = math.sqrt((many - 1) / many * squares)
    value = base.value or 0.0
    shares = _shares(base, cell, without)
    if shares is None:  # the pseudo-values of Tukey (1958), moved to add up to the difference
        p = flipped_p(value / many + (many - 1) / many * moved)
    else:  # those of groups of any size, each times its share (Busing, Meijer and van der Leeden 1999)
        p = flipped_p(value - (1 - shares) * differences)
    if error <= ROUNDING and unseen <= ROUNDING:
        within = bounded(base, 0.0, many - 1, ends) if still and ends is not None else base
        told = within if within.low is not None else base.without_interval(ALIKE)
        return with_test(told, 2.0 ** (1 - many) if p is None else p)
    if bent and abs((many - 1) * (float(differences.mean()) - value)) > MOST_MOVED * error:
        return base.without_interval(BY_CHANCE)
    df = KNOWN
    if error > ROUNDING:
        carrying = squares**2 / float((moved**4).sum())
        df = min(many - 1.0, max(1.0, 3 * carrying - 4))
        # Degrees of freedom are lacking for what groups show alone (Satterthwaite 1946).
        df = min(df * (1 + (unseen / error) ** 2) ** 2, KNOWN)
    error = math.hypot(error, unseen)
    told = with_t(base, error, df) if ends is None else bounded(base, error, df, ends, null=0.0)
    # Groups turned round know nothing of what is not seen.
    if p is None or (unseen > ROUNDING and told.p is not None):
        p = told.p if p is None else max(p, told.p or 0.0)
    return with_test(told, p)


def _shares(
    base: StatisticResult, cell: Cell, without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]
) -> Floats | None:
    """Return the share of the items of a cell that each group has; None if these do not add up to all of them."""
    rest = np.array([min(value.items for value in each[cell]) for each in without], dtype=float)
    shares = 1 - rest / (base.clusters or 1)
    return None if np.any(shares <= 0) or abs(float(shares.sum()) - 1) > ROUNDING else shares


def _bounds_alike(plan: Plan, measure: Measure, cell: Cell, difference: StatisticResult) -> bool:
    """Return true if items that are all alike bound a difference between the ends of its scale: of a figure to which
    each adds its own part, and at an end of the scale of others that no curve bends."""
    figure, ends = measure.figure, _ends(measure)
    if ends is None or difference.value is None:
        return False
    if isinstance(figure, Aggregate) and not of_formula(figure):
        return figure.function in MEANS
    slices = slices_of_sum(plan, figure)
    own = dict(zip(measure.by, cell, strict=True))
    if slices is not None:  # a value less its base is 0 in the base's own cell, whatever items are like
        return not any(str(own.get(name)) == value for each in slices for name, value in each.items())
    at_an_end = min(abs(difference.value - end) for end in ends) <= ROUNDING
    return at_an_end and not has_curve(plan, figure)


def _farthest(
    base: StatisticResult, cell: Cell, without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]
) -> float | None:
    """Return the largest difference of a group: its pseudo-value G D − (G − 1) D(g) (Tukey 1958), with the items of
    all groups by those of this one for G."""
    if not without or any(cell not in each for each in without):
        return None
    whole, shares = base.value or 0.0, _shares(base, cell, without)
    times = 1 / shares if shares is not None else np.full(len(without), float(len(without)))
    differences = np.array([b.value - a.value for a, b in (each[cell] for each in without)])
    return float(np.abs(times * whole - (times - 1) * differences).max())


def _cut_off(measure: Measure, *values: _Value) -> str | None:
    """Return why two values have no error of their difference, where a number in the measure cuts one of them off, or
    the error of one is unknown for another reason of the kind."""
    cut = cut_of(measure.figure)
    if cut is not None and any(end == each.value for end in cut[1:] for each in values):
        return CUT
    return next((each.why for each in values if each.why is not None), None)


def _ends(measure: Measure) -> tuple[float, float] | None:
    """Between which ends two values of a measure can differ, where it has bounds."""
    if measure.low is None or measure.high is None:
        return None
    return measure.low - measure.high, measure.high - measure.low


def _groups(items: Sequence[str], clusters: Mapping[str, str], seed: int) -> list[list[str]]:
    """Return the items, dealt into groups of one number of clusters or nearly so; the same ones for the same seed. The
    items of a cluster are in one group."""
    members = defaultdict[str, list[str]](list)
    for item in sorted(items):
        members[clusters.get(item, item)].append(item)
    order = sorted(members)
    random.Random(seed).shuffle(order)
    dealt = (order[place::MOST_GROUPS] for place in range(min(MOST_GROUPS, len(order))))
    return [[item for cluster in group for item in members[cluster]] for group in dealt]


def _grown(values: Values, whole: Values, power: float) -> Values:
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


def _mean(values: Sequence[_Value | None]) -> _Value:
    there = [each for each in values if each is not None]
    value = sum(each.value for each in there) / len(there)
    why = next((each.why for each in there if each.why is not None), None)
    unseen = math.hypot(*(each.unseen for each in there)) / len(there)
    return _Value(value, sum(each.n for each in there), max(each.items for each in there), why, unseen)


def _dealt_values(
    half: Half, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]], wanted: Sequence[int], power: float
) -> tuple[Values, list[Values]]:
    """Return what a measure comes to over the items of all groups, and without each of the groups that are `wanted`, by
    cell and model."""
    found: dict[int, Values] = {number: {} for number in (WHOLE, *wanted)}
    with _dealt(half, plan, measure, groups) as (leave_out, at_once):
        numbers = list(found)
        for start in range(0, len(numbers), at_once):
            some = numbers[start : start + at_once]
            leave_out(some)
            for number, rows in _values_without(half, plan, measure, some).items():
                found[number] |= rows
    whole = found.pop(WHOLE)
    return whole, [_grown(values, whole, power) for values in found.values()]


LeaveOut = Callable[[Sequence[int]], None]


def _values_without(half: Half, plan: Plan, measure: Measure, some: Sequence[int]) -> dict[int, Values]:
    """Return what a measure comes to where these groups were left out, one of them or several side by side."""
    apart = len(some) > 1
    found: dict[int, Values] = {number: {} for number in some}
    query = sql_of(plan, measure)
    values = query.replace("tripos_statistic('python',", "tripos_statistic('python value',")
    for row in evaluate(half.connection, plan, measure, shared={query: values}).rows:
        if row.value is not None:
            model, _, number = row.model.rpartition("\x1f") if apart else (row.model, "", some[0])
            why = row.reason if row.reason in UNKNOWN else None
            found[int(number)][row.by, model] = _Value(row.value, row.n, row.items, why, row.unseen)
    return found


@contextmanager
def _dealt(half: Half, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]]) -> Iterator[tuple[LeaveOut, int]]:
    """Give what leaves groups of items out of the views, and how many groups at once; at the end all is as it was.

    What the measure reads is copied once. Without several groups at once, each model stands there once for each of
    them, as if it were as many models, which the SQL of a measure keeps apart. Where it does not, since it looks at all
    models together or compares them, groups are left out one after another.
    """
    connection, schema, text = half.connection, sql.name(half.schema), sql_of(plan, measure)
    words = set(re.findall(r"\w+", text))
    together = "comparisons" in words or any(each.of_all_models for each in aggregates(plan, measure.figure))
    models = "" if together else f"where every.model in ({', '.join(map(sql.text, half.models))})"
    read = [view for view in VIEWS if view in words]
    dealt = f"main.{sql.name(DEALT)}"
    items = [item for group in groups for item in group]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    made = f"create or replace table {dealt} as select unnest(?::varchar[]) as item_id, unnest(?::integer[]) as number"
    connection.execute(made, [items, numbers])
    most = 1
    for view in read:
        described = connection.execute(f"select * from {schema}.{view} limit 0").description or []
        names = [name for name, *_ in described if name in words or name in ("model", "item_id")]
        [(rows,)] = connection.execute(
            f"""create or replace table main.{_copy(view)} as
            select {", ".join(f"every.{sql.name(name)}" for name in names)}, dealt.number as "its group"
            from {schema}.{view} as every join {dealt} as dealt on dealt.item_id = every.item_id {models}"""
        ).fetchall()
        most = max(most, rows)

    def leave_out(some: Sequence[int]) -> None:
        apart = len(some) > 1
        for view in read:
            named = " replace (every.model || chr(31) || gone.number as model)" if apart else ""
            connection.execute(
                f"""create or replace view {schema}.{view} as select every.* exclude ("its group"){named}
                from main.{_copy(view)} as every
                  join (select unnest({list(some)}) as number) as gone on every."its group" <> gone.number"""
            )

    try:
        for view in read:
            connection.execute(f"alter view {schema}.{view} rename to {sql.name(f'{view} of all items')}")
        yield leave_out, 1 if together else max(1, MOST_ROWS // most)
    finally:
        for view in read:
            connection.execute(f"drop view if exists {schema}.{view}")
            connection.execute(f"alter view {schema}.{sql.name(f'{view} of all items')} rename to {view}")
            connection.execute(f"drop table main.{_copy(view)}")
        connection.execute(f"drop table {dealt}")


def _copy(view: str) -> str:
    """Return the name of the copy of a view, where each item has a group."""
    return sql.name(f"{view} dealt")


def _jumps(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure is made of something that jumps."""
    return any(each.function in JUMPING for each in aggregates(plan, measure.figure))
