"""The jackknife that deletes groups: the error of a difference of two sides in a measure of any kind.

The measure is computed by its own SQL again and again, without some of the items. The shared items are divided into
groups; items of a cluster are in one group. In each cell only the G groups with items of that cell count. With the
difference D of both sides over all of them, and D(g) over those outside of group g, the variance of D is (G − 1) / G
times the sum of (D(g) − mean of D(g))² (Shao and Wu 1989; with a group per cluster, Quenouille and Tukey). If most of
the error comes from few groups, such as those with the items of a small cell, it is known only as precisely as from so
few groups: with K the square of the sum of squares over the sum of fourth powers, which is about (G + 2) / 3 for
similar groups, there are 3 K − 4 degrees of freedom, and at most G − 1. An item is left out on both sides at once, so
the difficulty of items cancels, as in a mean of paired differences. A figure that grows with the number of items, such
as a sum, is first scaled to the number of all items (`degree`).
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
"""The most groups. More would hardly improve the error, and for each the measure is computed on both sides."""
VIEWS = ("scores", "columns", "comparisons")
"""The views that measures read. A row belongs to one item and one model, in comparisons to two models."""
EXACT_DF = 1e6
"""The degrees of freedom of an error that does not come from data."""
GROUPED_ITEMS = "groups of items"
"""The name of the table of the items with the number of their group."""
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
    """The value of a measure for a model in a cell, with the numbers of its scores and items."""

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
    """The values of a measure over all groups of items, and without each of the groups."""

    whole: Values
    without: list[Values]


@dataclass(frozen=True)
class Jackknife:
    """The estimator of differences in a measure of any kind, over items in `groups`.

    A difference without an interval has a reason: a single item, differences that are all alike, a median, a sum plus a
    constant, or a cell that has no value without some of the items. The p-value is that of all sign flips of groups if
    at most 12 of them differ (`sign_flip_p`), otherwise that of Student's t; it is below 0.05 if and only if the
    interval excludes 0.
    """

    plan: Plan
    measure: Measure
    groups: list[list[str]]

    @classmethod
    def over(cls, side: Side, measure: Measure, items: Sequence[str]) -> Jackknife:
        """Return the jackknife over items, divided into groups by the clusters of a side."""
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
        left_out = range(len(self.groups)) if len(self.groups) > 1 and self._reason is None else range(0)
        power = degree(self.plan, self.measure.figure) or 0
        return Folds(*_values_by_group(side, self.plan, self.measure, self.groups, left_out, power))

    def differences(self, a: Folds, b: Folds, one: Sequence[str], two: Sequence[str]) -> list[CellDifference]:
        """Return the difference of the mean of models `two` of `b` less the mean of models `one` of `a`, in each cell
        in which all of them have a value; `n` of a difference is the number of scores of the side with fewer."""
        plan, measure = self.plan, self.measure
        # For one aggregate, pairs of items show the difference.
        is_nonlinear, several = any(map(is_over_formula, self._parts)), len(self._parts) > 1
        without = [_both_means(one, two, *values) for values in zip(a.without, b.without, strict=True)]
        differences = []
        for cell, (before, after) in _both_means(one, two, a.whole, b.whole).items():
            rest = _without_groups_of(cell, (before, after), without)
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


def _without_groups_of(
    cell: Cell, whole: tuple[_Value, _Value], without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]
) -> Sequence[Mapping[Cell, tuple[_Value, _Value]]]:
    """Return the values without each group that has items of a cell. Leaving out any other group changes nothing, so it
    would count as a group that agrees exactly with the cell."""
    return [values for values in without if cell not in values or any(map(_is_changed, whole, values[cell]))]


def _is_changed(whole: _Value, rest: _Value) -> bool:
    """Return true if a value without a group differs from that over all groups."""
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
    """Return a difference with its error, from the values without each group.

    If `is_nonlinear`, the figure is biased, the more the fewer items there are; the jackknife shows by how much
    (Quenouille 1956). If `bounds_if_alike`, items that are all alike give an interval. `unseen` is the part of the
    error that leaving out groups does not show, from cells whose items are all alike.
    """
    if reason is not None:
        return base.without_interval(reason)
    if not without:
        return base.without_interval("one item says nothing about the error")
    if any(cell not in values for values in without):
        return base.without_interval("without some items it has no value: no interval")
    differences = np.array([b.value - a.value for a, b in (values[cell] for values in without)])
    groups = len(differences)
    deviations = differences.mean() - differences
    squares = float((deviations**2).sum())
    error = math.sqrt((groups - 1) / groups * squares)
    value = base.value or 0.0
    shares = _shares(base, cell, without)
    if shares is None:  # Tukey's pseudo-values (1958), shifted to add up to the difference
        p = sign_flip_p(value / groups + (groups - 1) / groups * deviations)
    else:  # those of unequal groups, each weighted by its share (Busing, Meijer and van der Leeden 1999)
        p = sign_flip_p(value - (1 - shares) * differences)
    if error <= ROUNDING and unseen <= ROUNDING:
        within = bounded(base, 0.0, groups - 1, ends) if bounds_if_alike and ends is not None else base
        result = within if within.low is not None else base.without_interval(NO_SPREAD)
        return with_test(result, 2.0 ** (1 - groups) if p is None else p)
    if is_nonlinear and abs((groups - 1) * (float(differences.mean()) - value)) > MAX_BIAS * error:
        return base.without_interval(BY_CHANCE)
    df = EXACT_DF
    if error > ROUNDING:
        effective = squares**2 / float((deviations**4).sum())
        df = min(groups - 1.0, max(1.0, 3 * effective - 4))
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
    rest = np.array([min(value.items for value in values[cell]) for values in without], dtype=float)
    shares = 1 - rest / (base.clusters or 1)
    return None if np.any(shares <= 0) or abs(float(shares.sum()) - 1) > ROUNDING else shares


def _bounds_alike(plan: Plan, measure: Measure, cell: Cell, difference: Estimate) -> bool:
    """Return true if items that are all alike give an interval of a difference between the ends of its scale: for a
    figure that averages over items; for others without curves, if the difference is at an end of the scale."""
    figure, ends = measure.figure, difference_ends(measure)
    if ends is None or difference.value is None:
        return False
    if isinstance(figure, Aggregate) and not is_over_formula(figure):
        return declared_aggregate(figure.function).mean_of is not None
    slices = slices_of_sum(plan, figure)
    cell_values = dict(zip(measure.by, cell, strict=True))
    if slices is not None:  # the difference to the base is 0 in the cell of the base, for any items
        return not any(str(cell_values.get(name)) == value for slice_ in slices for name, value in slice_.items())
    at_an_end = min(abs(difference.value - end) for end in ends) <= ROUNDING
    return at_an_end and not has_transform(plan, figure)


def _farthest(base: Estimate, cell: Cell, without: Sequence[Mapping[Cell, tuple[_Value, _Value]]]) -> float | None:
    """Return the largest absolute difference of a group: its pseudo-value G D − (G − 1) D(g) (Tukey 1958), where G is
    the number of items of all groups divided by that of this group. None if it is unknown."""
    if not without or any(cell not in values for values in without):
        return None
    difference, shares = base.value or 0.0, _shares(base, cell, without)
    ratios = 1 / shares if shares is not None else np.full(len(without), float(len(without)))
    differences = np.array([b.value - a.value for a, b in (values[cell] for values in without)])
    return float(np.abs(ratios * difference - (ratios - 1) * differences).max())


def _clamp_reason(measure: Measure, *values: _Value) -> str | None:
    """Return why the difference of two values has no error, if a number clamps one of them, or the error of one is
    unknown for a similar reason."""
    cut = clamp_of(measure.figure)
    if cut is not None and any(end == value.value for end in cut[1:] for value in values):
        return CLAMPED
    return next((value.why for value in values if value.why is not None), None)


def _groups(items: Sequence[str], clusters: Mapping[str, str]) -> list[list[str]]:
    """Return the items in groups with about the same number of clusters. Items of a cluster are in one group. The
    groups are drawn with a fixed seed, so they are always the same."""
    members = defaultdict[str, list[str]](list)
    for item in sorted(items):
        members[clusters.get(item, item)].append(item)
    order = sorted(members)
    random.Random(0).shuffle(order)
    groups = (order[place::MOST_GROUPS] for place in range(min(MOST_GROUPS, len(order))))
    return [[item for cluster in group for item in members[cluster]] for group in groups]


def _scaled(values: Values, whole: Values, power: float) -> Values:
    """Return values of some items, scaled to the number of all items. `power` is that of the number of items with which
    the figure grows."""
    if power == 0:
        return values
    return {
        key: replace(value, value=value.value * (whole[key].items / value.items) ** power)
        for key, value in values.items()
        if key in whole and value.items
    }


def _both_means(one: Sequence[str], two: Sequence[str], a: Values, b: Values) -> dict[Cell, tuple[_Value, _Value]]:
    """Return, by cell, the mean of a measure over the models `one` in `a`, and that over the models `two` in `b`."""
    values = {}
    for cell in dict.fromkeys(cell for cell, _ in b):
        before, after = [a.get((cell, model)) for model in one], [b.get((cell, model)) for model in two]
        if all(before) and all(after):
            values[cell] = (_mean(before), _mean(after))
    return values


def _mean(values: Sequence[_Value | None]) -> _Value:
    """Return the mean of the values of several models, of which none is None, with the sum of their numbers of scores
    and the largest number of items."""
    known = [value for value in values if value is not None]
    mean = sum(value.value for value in known) / len(known)
    why = next((value.why for value in known if value.why is not None), None)
    unseen = math.hypot(*(value.unseen for value in known)) / len(known)
    return _Value(mean, sum(value.n for value in known), max(value.items for value in known), why, unseen)


def _values_by_group(
    side: Side, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]], left_out: Sequence[int], power: float
) -> tuple[Values, list[Values]]:
    """Return a measure over the items of all groups, and without each of the groups with the numbers `left_out`, by
    cell and model."""
    values_by_group: dict[int, Values] = {number: {} for number in (ALL_GROUPS, *left_out)}
    with _fold_views(side, plan, measure, groups) as (leave_out, at_once):
        numbers = list(values_by_group)
        for start in range(0, len(numbers), at_once):
            batch = numbers[start : start + at_once]
            leave_out(batch)
            for number, rows in _values_without(side, plan, measure, batch).items():
                values_by_group[number] |= rows
    values_of_all = values_by_group.pop(ALL_GROUPS)
    return values_of_all, [_scaled(values, values_of_all, power) for values in values_by_group.values()]


LeaveOut = Callable[[Sequence[int]], None]
"""A function that leaves the groups with these numbers out of the views, each in its own copies of the models."""


def _values_without(side: Side, plan: Plan, measure: Measure, numbers: Sequence[int]) -> dict[int, Values]:
    """Return a measure without each of the groups with these numbers, which the views leave out, by group."""
    side_by_side = len(numbers) > 1
    by_group: dict[int, Values] = {number: {} for number in numbers}
    for row in evaluate(side.connection, plan, measure, values_only=True).rows:
        if row.value is not None:
            model, _, number = row.model.rpartition("\x1f") if side_by_side else (row.model, "", numbers[0])
            why = row.reason if row.reason in UNKNOWN else None
            by_group[int(number)][row.by, model] = _Value(row.value, row.n, row.items, why, row.unseen)
    return by_group


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

    The rows that the measure reads are copied once. To leave out several groups at once, the view has each model once
    per group, under different names, which the SQL of a measure keeps separate. If the measure pools or compares
    models, groups are left out one after another.
    """
    connection, schema, text = side.connection, side.schema, sql_of(plan, measure)
    words = set(re.findall(r"\w+", text))
    parts = aggregates_of(measure.figure, measures_of(plan))
    pools_models = "comparisons" in words or any(map(is_of_all_models, parts))
    models = "" if pools_models else f"where every.model in ({', '.join(map(sql.text, side.models))})"
    read = [view for view in VIEWS if view in words]
    grouped = f"main.{sql.name(GROUPED_ITEMS)}"
    items = [item for group in groups for item in group]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    create = (
        f"create or replace table {grouped} as select unnest(?::varchar[]) as item_id, unnest(?::integer[]) as number"
    )
    connection.execute(create, [items, numbers])
    most = 1
    for view in read:
        described = connection.execute(f"select * from {schema}.{view} limit 0").description or []
        names = [name for name, *_ in described if name in words or name in ("model", "item_id")]
        [(rows,)] = connection.execute(
            f"""create or replace table main.{_copy(view)} as
            select {", ".join(f"every.{sql.name(name)}" for name in names)}, grouped.number as "its group"
            from {schema}.{view} as every join {grouped} as grouped on grouped.item_id = every.item_id {models}"""
        ).fetchall()
        most = max(most, rows)

    def leave_out(batch: Sequence[int]) -> None:
        named = " replace (every.model || chr(31) || left_out.number as model)" if len(batch) > 1 else ""
        for view in read:
            connection.execute(
                f"""create or replace view {schema}.{view} as select every.* exclude ("its group"){named}
                from main.{_copy(view)} as every
                  join (select unnest({list(batch)}) as number) as left_out on every."its group" <> left_out.number"""
            )

    try:
        for view in read:
            connection.execute(f"alter view {schema}.{view} rename to {sql.name(f'{view} of all items')}")
        yield leave_out, 1 if pools_models else max(1, MOST_ROWS // most)
    finally:
        for view in read:
            connection.execute(f"drop view if exists {schema}.{view}")
            connection.execute(f"alter view {schema}.{sql.name(f'{view} of all items')} rename to {view}")
            connection.execute(f"drop table main.{_copy(view)}")
        connection.execute(f"drop table {grouped}")


def _copy(view: str) -> str:
    """Return the name of the copy of a view in which each item has a group."""
    return sql.name(f"{view} by group")
