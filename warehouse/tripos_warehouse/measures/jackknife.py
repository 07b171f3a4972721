"""The jackknife that deletes groups: the error of a difference of two sides in a measure of any kind.

The measure is computed by its own SQL again and again, without some of the items. The shared items are divided into
groups; items of a cluster are in one group. In each cell only the G groups with items of that cell count. With the
difference D of both sides over all of them, and D(g) over those outside of group g, the variance of D is (G − 1) / G
times the sum of (D(g) − mean of D(g))² (Shao and Wu 1989; with a group per cluster, Quenouille and Tukey). If few
groups carry the error, such as those with the items of a small cell, it is no better known than from that few: with K
the square of the sum of squares over the sum of fourth powers, which is about (G + 2) / 3 for similar groups, there are
3 K − 4 degrees of freedom, and at most G − 1. An item leaves both sides at once, so the difficulty of items cancels, as
in a mean of paired differences. A figure that grows with the items, such as a sum, is first scaled back to the size of
the whole (`degree`).
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tripos_compiler.language.aggregates import declared_aggregate, is_of_all_models
from tripos_compiler.language.figures import aggregates_of, measures_of
from tripos_compiler.plan import Aggregate, Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.figure_sql import BY_CHANCE, CUT_OFF, ROOT_OF_ZERO, sql_of
from tripos_warehouse.measures.figures import clamp_of, degree, has_transform, is_over_formula, slices_of_sum
from tripos_warehouse.measures.sides import Cell, CellDifference, Side, difference_ends
from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import (
    NO_SPREAD,
    ROUNDING,
    bounded,
    sign_flip_p,
    with_t_interval,
    with_test,
)
from tripos_warehouse.views.benchmark_views import clusters_of

MOST_GROUPS = 20
"""The most groups. More would hardly improve the error, and each computes every measure twice."""
VIEWS = ("scores", "columns", "comparisons")
"""The views that measures read. A row belongs to one item and one model, in comparisons to two models."""
EXACT_DF = 1e6
"""The degrees of freedom of an error that does not come from data."""
DEALT = "items dealt"
ALL_GROUPS = -1
"""The number of the group that leaves out nothing."""
MOST_ROWS = 400_000
"""The most rows that one query reads: as many groups are left out side by side as fit in."""
CHANGES_IN_STEPS = "it jumps from value to value: no interval"
CLAMPED = "a number in `min` or `max` cuts a value off: no interval"
MAX_BIAS = 0.25
"""The largest accepted bias of a difference, in standard errors: a 95 % interval then covers 94.3 % of the time."""
UNKNOWN = frozenset((CUT_OFF, ROOT_OF_ZERO))
"""Reasons for which the jackknife gives no error either."""
MIXED_DEGREE = "only a part of it grows with the items: no interval"


@dataclass(frozen=True)
class _Value:
    value: float
    n: int
    items: int
    why: str | None = None
    """Why its error is unknown, regardless of the number of items."""
    unseen: float = 0.0
    """The part of its error that no group shows: that of cells whose items are all alike."""


Values = dict[tuple[Cell, str], _Value]


@dataclass(frozen=True)
class Folds:
    """The values of a measure over all groups of items, and without each of them."""

    whole: Values
    without: list[Values]


@dataclass(frozen=True)
class Jackknife:
    """A measure of any kind over some items in `groups`.

    If a difference has no interval, there is a reason: a single item, differences that are all alike, a median, a sum
    plus a constant, or a cell that depends on few items alone. The p-value is that of all sign flips of groups if at
    most 12 of them differ (`sign_flip_p`), otherwise that of Student's t; it is below 0.05 if and only if the interval
    excludes 0.
    """

    plan: Plan
    measure: Measure
    groups: list[list[str]]

    @classmethod
    def over(cls, side: Side, measure: Measure, items: Sequence[str]) -> Jackknife:
        """Return the jackknife over some items in groups, by the clusters of a side."""
        return cls(side.plan, measure, _groups(items, clusters_of(side.connection, side.plan)))

    @property
    def _parts(self) -> list[Aggregate]:
        return list(aggregates_of(self.measure.figure, measures_of(self.plan)))

    @property
    def _reason(self) -> str | None:
        """Why the jackknife gives no error of the measure."""
        if any(declared_aggregate(part.function).single_value for part in self._parts):
            return CHANGES_IN_STEPS
        return MIXED_DEGREE if degree(self.plan, self.measure.figure) is None else None

    def read(self, side: Side) -> Folds:
        """Return the values of the models of a side. Raises `StoreError` if the SQL fails."""
        wanted = range(len(self.groups)) if len(self.groups) > 1 and self._reason is None else range(0)
        power = degree(self.plan, self.measure.figure) or 0
        return Folds(*_values_by_group(side, self.plan, self.measure, self.groups, wanted, power))

    def differences(self, a: Folds, b: Folds, one: Sequence[str], two: Sequence[str]) -> list[CellDifference]:
        """Return the difference of models `two` of `b` less their counterparts `one` of `a`, in each cell in which all
        of them have a value; `n` of a difference is the number of scores behind the smaller value."""
        plan, measure = self.plan, self.measure
        # For one aggregate, pairs of items show the difference.
        is_nonlinear, several = any(map(is_over_formula, self._parts)), len(self._parts) > 1
        without = [_both(one, two, *values) for values in zip(a.without, b.without, strict=True)]
        differences = []
        for cell, (before, after) in _both(one, two, a.whole, b.whole).items():
            rest = _of_groups_in(cell, (before, after), without)
            base = Estimate(
                after.value - before.value, n=min(before.n, after.n), clusters=min(before.items, after.items)
            )
            difference = _with_error(
                base,
                cell,
                rest,
                self._reason or _clamp_reason(measure, before, after),
                difference_ends(measure),
                is_nonlinear,
                _bounds_alike(plan, measure, cell, base),
                math.hypot(before.unseen, after.unseen) if several else 0.0,
            )
            farthest = _farthest(base, cell, rest)
            differences.append(CellDifference(cell, before.value, after.value, difference, farthest))
        return differences


def _of_groups_in(
    cell: Cell, whole: tuple[_Value, _Value], without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]
) -> Sequence[Mapping[Cell, tuple[_Value, _Value]]]:
    """Return the values without each group that has items of a cell. Leaving out any other group changes nothing, so it
    would count as a group that agrees exactly with the cell."""
    return [each for each in without if cell not in each or any(map(_is_changed, whole, each[cell]))]


def _is_changed(whole: _Value, rest: _Value) -> bool:
    same = (whole.items, whole.n) == (rest.items, rest.n)
    return not (same and math.isclose(whole.value, rest.value, rel_tol=ROUNDING, abs_tol=ROUNDING))


def _with_error(
    base: Estimate,
    cell: Cell,
    without: Sequence[Mapping[Cell, tuple[_Value, _Value]]],
    reason: str | None,
    ends: tuple[float, float] | None,
    is_nonlinear: bool,
    bounds_if_alike: bool,
    unseen: float,
) -> Estimate:
    """Return a difference with its error.

    `is_nonlinear`: the figure is biased, the more the fewer items there are; the jackknife shows by how much
    (Quenouille 1956). `bounds_if_alike`: items that are all alike bound it. `unseen` is the part of the error that
    leaving out groups does not show, from cells whose items are all alike.
    """
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
    if shares is None:  # Tukey's pseudo-values (1958), shifted to add up to the difference
        p = sign_flip_p(value / many + (many - 1) / many * moved)
    else:  # those of unequal groups, each weighted by its share (Busing, Meijer and van der Leeden 1999)
        p = sign_flip_p(value - (1 - shares) * differences)
    if error <= ROUNDING and unseen <= ROUNDING:
        within = bounded(base, 0.0, many - 1, ends) if bounds_if_alike and ends is not None else base
        result = within if within.low is not None else base.without_interval(NO_SPREAD)
        return with_test(result, 2.0 ** (1 - many) if p is None else p)
    if is_nonlinear and abs((many - 1) * (float(differences.mean()) - value)) > MAX_BIAS * error:
        return base.without_interval(BY_CHANCE)
    df = EXACT_DF
    if error > ROUNDING:
        carrying = squares**2 / float((moved**4).sum())
        df = min(many - 1.0, max(1.0, 3 * carrying - 4))
        # Only the part of the variance that groups show has limited degrees of freedom (Satterthwaite 1946).
        df = min(df * (1 + (unseen / error) ** 2) ** 2, EXACT_DF)
    error = math.hypot(error, unseen)
    result = with_t_interval(base, error, df) if ends is None else bounded(base, error, df, ends, null=0.0)
    # Sign flips of groups do not include the part of the error that no group shows.
    if p is None or (unseen > ROUNDING and result.p is not None):
        p = result.p if p is None else max(p, result.p or 0.0)
    return with_test(result, p)


def _shares(base: Estimate, cell: Cell, without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]) -> Floats | None:
    """Return the share of the items of a cell in each group; None if the shares do not add up to 1."""
    rest = np.array([min(value.items for value in each[cell]) for each in without], dtype=float)
    shares = 1 - rest / (base.clusters or 1)
    return None if np.any(shares <= 0) or abs(float(shares.sum()) - 1) > ROUNDING else shares


def _bounds_alike(plan: Plan, measure: Measure, cell: Cell, difference: Estimate) -> bool:
    """Return true if items that are all alike bound a difference between the ends of its scale: for a figure that
    averages over items; for others without curves, at an end of the scale."""
    figure, ends = measure.figure, difference_ends(measure)
    if ends is None or difference.value is None:
        return False
    if isinstance(figure, Aggregate) and not is_over_formula(figure):
        return declared_aggregate(figure.function).mean_of is not None
    slices = slices_of_sum(plan, figure)
    own = dict(zip(measure.by, cell, strict=True))
    if slices is not None:  # the difference to the base is 0 in the cell of the base, for any items
        return not any(str(own.get(name)) == value for each in slices for name, value in each.items())
    at_an_end = min(abs(difference.value - end) for end in ends) <= ROUNDING
    return at_an_end and not has_transform(plan, figure)


def _farthest(base: Estimate, cell: Cell, without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]) -> float | None:
    """Return the largest difference of a group: its pseudo-value G D − (G − 1) D(g) (Tukey 1958), where G is the number
    of items of all groups divided by that of this group."""
    if not without or any(cell not in each for each in without):
        return None
    whole, shares = base.value or 0.0, _shares(base, cell, without)
    times = 1 / shares if shares is not None else np.full(len(without), float(len(without)))
    differences = np.array([b.value - a.value for a, b in (each[cell] for each in without)])
    return float(np.abs(times * whole - (times - 1) * differences).max())


def _clamp_reason(measure: Measure, *values: _Value) -> str | None:
    """Return why the difference of two values has no error, if a number clamps one of them, or the error of one is
    unknown for a similar reason."""
    cut = clamp_of(measure.figure)
    if cut is not None and any(end == value.value for end in cut[1:] for value in values):
        return CLAMPED
    return next((value.why for value in values if value.why is not None), None)


def _groups(items: Sequence[str], clusters: Mapping[str, str]) -> list[list[str]]:
    """Return the items in groups with about the same number of clusters, always the same. Items of a cluster are in
    one group."""
    members = defaultdict[str, list[str]](list)
    for item in sorted(items):
        members[clusters.get(item, item)].append(item)
    order = sorted(members)
    random.Random(0).shuffle(order)
    dealt = (order[place::MOST_GROUPS] for place in range(min(MOST_GROUPS, len(order))))
    return [[item for cluster in group for item in members[cluster]] for group in dealt]


def _scaled_to_whole(values: Values, whole: Values, power: float) -> Values:
    """Return values of some items, scaled to the number of all items."""
    if power == 0:
        return values
    return {
        key: replace(value, value=value.value * (whole[key].items / value.items) ** power)
        for key, value in values.items()
        if key in whole and value.items
    }


def _both(one: Sequence[str], two: Sequence[str], a: Values, b: Values) -> dict[Cell, tuple[_Value, _Value]]:
    """Return, by cell, the mean over models of a measure on either side."""
    values = {}
    for cell in dict.fromkeys(cell for cell, _ in b):
        before, after = [a.get((cell, model)) for model in one], [b.get((cell, model)) for model in two]
        if all(before) and all(after):
            values[cell] = (_mean(before), _mean(after))
    return values


def _mean(values: Sequence[_Value | None]) -> _Value:
    there = [each for each in values if each is not None]
    value = sum(each.value for each in there) / len(there)
    why = next((each.why for each in there if each.why is not None), None)
    unseen = math.hypot(*(each.unseen for each in there)) / len(there)
    return _Value(value, sum(each.n for each in there), max(each.items for each in there), why, unseen)


def _values_by_group(
    side: Side, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]], wanted: Sequence[int], power: float
) -> tuple[Values, list[Values]]:
    """Return a measure over the items of all groups, and without each of the `wanted` groups, by cell and model."""
    values_by_group: dict[int, Values] = {number: {} for number in (ALL_GROUPS, *wanted)}
    with _fold_views(side, plan, measure, groups) as (leave_out, at_once):
        numbers = list(values_by_group)
        for start in range(0, len(numbers), at_once):
            some = numbers[start : start + at_once]
            leave_out(some)
            for number, rows in _values_without(side, plan, measure, some).items():
                values_by_group[number] |= rows
    whole = values_by_group.pop(ALL_GROUPS)
    return whole, [_scaled_to_whole(values, whole, power) for values in values_by_group.values()]


LeaveOut = Callable[[Sequence[int]], None]


def _values_without(side: Side, plan: Plan, measure: Measure, some: Sequence[int]) -> dict[int, Values]:
    """Return a measure without these groups, one of them or several side by side, by group."""
    apart = len(some) > 1
    found: dict[int, Values] = {number: {} for number in some}
    for row in evaluate(side.connection, plan, measure, values_only=True).rows:
        if row.value is not None:
            model, _, number = row.model.rpartition("\x1f") if apart else (row.model, "", some[0])
            why = row.reason if row.reason in UNKNOWN else None
            found[int(number)][row.by, model] = _Value(row.value, row.n, row.items, why, row.unseen)
    return found


@contextmanager
def over_items(side: Side, plan: Plan, measure: Measure, items: Sequence[str]) -> Iterator[None]:
    """Restrict the views of a side that a measure reads to some items; at the end they are as before."""
    with _fold_views(side, plan, measure, [items]) as (leave_out, _):
        leave_out([ALL_GROUPS])
        yield


@contextmanager
def _fold_views(
    side: Side, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]]
) -> Iterator[tuple[LeaveOut, int]]:
    """Yield a function that leaves groups of items out of the views, and the number of groups that it takes at once; at
    the end the views are as before.

    Everything that the measure reads is copied once. To leave out several groups at once, the copy has each model once
    per group under different names, which the SQL of a measure keeps separate. If the measure pools or compares models,
    groups are left out one after another.
    """
    connection, schema, text = side.connection, side.schema, sql_of(plan, measure)
    words = set(re.findall(r"\w+", text))
    parts = aggregates_of(measure.figure, measures_of(plan))
    together = "comparisons" in words or any(map(is_of_all_models, parts))
    models = "" if together else f"where every.model in ({', '.join(map(sql.text, side.models))})"
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
    """Return the name of the copy of a view in which each item has a group."""
    return sql.name(f"{view} dealt")
