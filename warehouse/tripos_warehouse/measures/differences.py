"""Differences of figures between two results, or between two models of one result.

A measure of any kind is computed by its own SQL again and again, without some of the items (a delete-group jackknife).
The shared items are divided into groups; items of a cluster are in one group. In each cell only the G groups with items
of that cell count. With the difference D of both sides over all of them, and D(g) over those outside of group g, the
variance of D is (G − 1) / G times the sum of (D(g) − mean of D(g))² (Shao and Wu 1989; with a group per cluster,
Quenouille and Tukey). If few groups carry the error, such as those with the items of a small cell, it is no better
known than from that few: with K the square of the sum of squares over the sum of fourth powers, which is about (G + 2)
/ 3 for similar groups, there are 3 K − 4 degrees of freedom, and at most G − 1. An item leaves both sides at once, so
the difficulty of items cancels, as in a mean of paired differences. A figure that grows with the items, such as a sum,
is first scaled back to the size of the whole (`degree`).

A mean of scores is compared score by score, as `tripos compare` does, for many models at once. Scores are read once, as
numbers, and paired by scenario, item, metric, scorer, arms and evaluator; samples are averaged first.

A measure that people correct has a difference with its own λ: people's difference on the replies that they graded, plus
what the judge's difference adds. How well a judge's differences follow those of people is another question than how
well its grades do, since effects of an item on both models cancel. So λ is estimated for the difference
(`corrected_figure`), and not for either model.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from math import fsum
from statistics import fmean
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tripos_compiler.language.aggregates import declared_aggregate, is_of_all_models
from tripos_compiler.language.figures import aggregates_of, measures_of
from tripos_compiler.language.scored_values import mean_in
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Plan, named
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.evaluation import CorrectedInputs, evaluate, read_corrected_inputs
from tripos_warehouse.measures.figure_sql import BY_CHANCE, CUT_OFF, ROOT_OF_ZERO, sql_of
from tripos_warehouse.measures.figures import (
    clamp_of,
    degree,
    has_transform,
    is_over_formula,
    slices_of_sum,
)
from tripos_warehouse.measures.products import pooled_mean
from tripos_warehouse.measures.query import NODES, path_of
from tripos_warehouse.measures.random_facets import faceted_differences
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.resampling import join_texts
from tripos_warehouse.query.results import run_query
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import (
    NO_SPREAD,
    ROUNDING,
    bounded,
    mean_of_cells,
    sign_flip_p,
    with_t_interval,
    with_test,
)
from tripos_warehouse.statistics.prediction_powered import InfluencedEstimate
from tripos_warehouse.statistics.result import Floats
from tripos_warehouse.views.benchmark_views import axis_columns, clusters_of, counts_in_figures
from tripos_warehouse.views.derived import score_sums_by
from tripos_warehouse.views.dimensions import LANGUAGE, arm_columns, dimension_label
from tripos_warehouse.views.runs import RunRecord

Cell = tuple[Any, ...]
InputsByCell = dict[tuple[Cell, str], CorrectedInputs]


def corrected_inputs(connection: Connection, plan: Plan, measure: Measure) -> InputsByCell:
    """Return the correction inputs of each cell and model of a corrected measure, if they exist. Raises `StoreError` if
    the SQL fails."""
    inputses: InputsByCell = {}
    for each in run_query(connection, sql_of(plan, measure)).to_pylist():
        three, _ = read_corrected_inputs(each)
        if three is not None:
            inputses[tuple(each[name] for name in measure.by), str(each["model"])] = three
    return inputses


def corrected_difference(
    first: Sequence[CorrectedInputs], second: Sequence[CorrectedInputs], ends: tuple[float, float] | None
) -> tuple[Estimate, float]:
    """Return how far the mean of `second` is above that of `first`, with a test against 0, and λ.

    `n` is the number of graded replies of the side with fewer of them, and the degrees of freedom are those of the side
    with fewer graded items.
    """
    names = {
        name: place for place, name in enumerate(sorted({name for each in (*first, *second) for name in each.names}))
    }
    parts = [(each, -1 / len(first)) for each in first] + [(each, 1 / len(second)) for each in second]
    graded = np.zeros(len(names), dtype=bool)
    sums = [np.zeros(len(names)) for _ in range(3)]
    values = [0.0, 0.0, 0.0]
    for three, share in parts:
        at = np.array([names[name] for name in three.names], dtype=np.intp)
        graded[at] |= three.graded
        for kind, figure in enumerate((three.judge, three.judge_labelled, three.people)):
            sums[kind][at] += share * figure.influences
            values[kind] += share * figure.value
    counts = [sum(each.n for each in side) for side in (first, second)]
    inputses = [each for each, _ in parts]
    judge, on_graded, people = map(InfluencedEstimate, values, sums)
    inputs = CorrectedInputs(
        judge,
        on_graded,
        people,
        graded,
        tuple(names),
        n=min(counts),
        df=min(min(each.df, each.items - 1) for each in inputses),
        units=min(each.units for each in inputses),
    )
    result, power = inputs.corrected(ends, null=0.0)
    shows_none = result.standard_error is not None and result.standard_error <= ROUNDING
    if result.reason == NO_SPREAD or shows_none:
        # All graded items have the same sign: the probability of that under random signs (Fisher 1935).
        differs = abs(result.value or 0.0) > ROUNDING
        result = with_test(result, min(1.0, 2.0 ** (1 - inputs.items)) if differs else 1.0)
    return result, power


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
class ModelSide:
    """One side: a connection that shows its run, the schema there, and its models, each at the position of its
    counterpart."""

    connection: Connection
    schema: str
    models: tuple[str, ...]


@dataclass(frozen=True)
class JackknifedDifference:
    """The value of a measure on both sides, in the cell named by `labels`, and their difference (`b` less `a`)."""

    labels: tuple[str, ...]
    a: float
    b: float
    difference: Estimate
    farthest: float | None = None
    """The largest difference of a group of items, in either direction, if the groups show one."""


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


def jackknife_difference(
    one: ModelSide, two: ModelSide, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> list[JackknifedDifference]:
    """Return the values of a measure over the shared `items`, one row per cell in which all models of both sides have a
    value; no rows if a side cannot run its SQL. `n` of a difference is the number of scores behind the smaller value.

    If there is no interval, there is a reason: a single item, differences that are all alike, a median, a sum plus a
    constant, or a cell that depends on few items alone. The p-value is that of all sign flips of groups if at most 12
    of them differ (`sign_flip_p`), otherwise that of Student's t; it is below 0.05 if and only if the interval excludes
    0.
    """
    if measure.corrected:
        return _remeasure_corrected(one, two, plan, measure, items)
    if measure.random:
        return _remeasure_faceted(one, two, plan, measure, items)
    groups, power = _groups(items, clusters_of(two.connection, plan), seed), degree(plan, measure.figure)
    parts = list(aggregates_of(measure.figure, measures_of(plan)))
    bent, several = any(map(is_over_formula, parts)), len(parts) > 1  # for one, pairs of items show the difference
    reason = CHANGES_IN_STEPS if _is_discontinuous(plan, measure) else MIXED_DEGREE if power is None else None
    wanted = range(len(groups)) if len(groups) > 1 and reason is None else range(0)
    try:
        all_a, without_a = _values_by_group(one, plan, measure, groups, wanted, power or 0)
        same = one.connection is two.connection and one.models == two.models
        all_b, without_b = (
            (all_a, without_a) if same else _values_by_group(two, plan, measure, groups, wanted, power or 0)
        )
    except StoreError:
        return []
    whole = _differences(one, two, all_a, all_b)
    without = [_differences(one, two, a, b) for a, b in zip(without_a, without_b, strict=True)]
    differences = []
    for cell, (a, b) in whole.items():
        rest = _of_groups_in(cell, (a, b), without)
        base = Estimate(b.value - a.value, n=min(a.n, b.n), clusters=min(a.items, b.items))
        labels = tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True))
        why = reason or _clamp_reason(measure, a, b)
        still = _bounds_alike(plan, measure, cell, base)
        unseen = math.hypot(a.unseen, b.unseen) if several else 0.0
        difference = _with_error(base, cell, rest, why, _ends(measure), bent, still, unseen)
        differences.append(JackknifedDifference(labels, a.value, b.value, difference, _farthest(base, cell, rest)))
    return differences


def jackknife_pair_differences(
    half: ModelSide, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> dict[tuple[str, str], Estimate]:
    """Return how every two models of `half` differ (first less second) in a measure without dimensions, over `items`.
    See `jackknife_model_differences`."""
    estimates = jackknife_model_differences(half, plan, measure, items, seed)
    return {(first, second): difference for (_, first, second), difference in estimates.items()}


def jackknife_model_differences(
    half: ModelSide, plan: Plan, measure: Measure, items: Sequence[str], seed: int = 0
) -> dict[tuple[Cell, str, str], Estimate]:
    """Return how every two models of `half` differ (first less second) in each cell of a measure, over `items`, which
    all of them should have. A pair is missing if a value is missing, and all are if the SQL cannot be run. Reasons are
    those of `jackknife_difference`."""
    if measure.corrected:
        return _remeasure_corrected_cells(half, plan, measure, items)
    if measure.random:
        return _remeasure_faceted_cells(half, plan, measure, items)
    groups, power = _groups(items, clusters_of(half.connection, plan), seed), degree(plan, measure.figure)
    parts = list(aggregates_of(measure.figure, measures_of(plan)))
    bent, several = any(map(is_over_formula, parts)), len(parts) > 1  # for one, pairs of items show the difference
    reason = CHANGES_IN_STEPS if _is_discontinuous(plan, measure) else MIXED_DEGREE if power is None else None
    wanted = range(len(groups)) if len(groups) > 1 and reason is None else range(0)
    try:
        values, without = _values_by_group(half, plan, measure, groups, wanted, power or 0)
    except StoreError:
        return {}
    estimates = {}
    for cell in dict.fromkeys(cell for cell, _ in values):
        for first, second in combinations(half.models, 2):
            ends = (cell, second), (cell, first)
            if any(key not in values for key in ends):
                continue
            b, a = (values[key] for key in ends)
            base = Estimate(a.value - b.value, n=min(a.n, b.n), clusters=min(a.items, b.items))
            both = [
                {cell: (each[ends[0]], each[ends[1]])} if all(key in each for key in ends) else {} for each in without
            ]
            rest = _of_groups_in(cell, (values[ends[0]], values[ends[1]]), both)
            why = reason or _clamp_reason(measure, a, b)
            still = _bounds_alike(plan, measure, cell, base)
            unseen = math.hypot(a.unseen, b.unseen) if several else 0.0
            estimates[cell, first, second] = _with_error(base, cell, rest, why, _ends(measure), bent, still, unseen)
    return estimates


def _remeasure_corrected(
    one: ModelSide, two: ModelSide, plan: Plan, measure: Measure, items: Sequence[str]
) -> list[JackknifedDifference]:
    """Return the same for a measure that people correct: its differences have their own error and λ."""
    try:
        before = _corrected_inputs_over(one, plan, measure, items)
        after = before if one.connection is two.connection and one.models == two.models else None
        after = _corrected_inputs_over(two, plan, measure, items) if after is None else after
    except StoreError:
        return []
    differences = []
    for cell in dict.fromkeys(cell for cell, _ in after):
        keys = [(before, [(cell, model) for model in one.models]), (after, [(cell, model) for model in two.models])]
        if not all(key in threes for threes, wanted in keys for key in wanted):
            continue
        a, b = ([threes[key] for key in wanted] for threes, wanted in keys)
        difference, _ = corrected_difference(a, b, _ends(measure))
        before_it, after_it = (fmean(inputs.corrected(None)[0].value or 0.0 for inputs in side) for side in (a, b))
        labels = tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True))
        differences.append(JackknifedDifference(labels, before_it, after_it, difference))
    return differences


def _remeasure_corrected_cells(
    half: ModelSide, plan: Plan, measure: Measure, items: Sequence[str]
) -> dict[tuple[Cell, str, str], Estimate]:
    try:
        threes = _corrected_inputs_over(half, plan, measure, items)
    except StoreError:
        return {}
    return {
        (cell, first, second): corrected_difference([threes[cell, second]], [threes[cell, first]], _ends(measure))[0]
        for cell in dict.fromkeys(cell for cell, _ in threes)
        for first, second in combinations(half.models, 2)
        if (cell, first) in threes and (cell, second) in threes
    }


def _remeasure_faceted(
    one: ModelSide, two: ModelSide, plan: Plan, measure: Measure, items: Sequence[str]
) -> list[JackknifedDifference]:
    """Return the same for a measure with random facets, whose scores are paired one by one."""
    connections = one.connection, two.connection
    try:
        [differences] = faceted_differences(connections, plan, measure, items, [(one.models, two.models)])
    except StoreError:
        return []
    return [
        JackknifedDifference(
            tuple(dimension_label(plan, name, value) for name, value in zip(measure.by, cell, strict=True)),
            difference.a,
            difference.b,
            difference.difference,
        )
        for cell, difference in differences.items()
    ]


def _remeasure_faceted_cells(
    half: ModelSide, plan: Plan, measure: Measure, items: Sequence[str]
) -> dict[tuple[Cell, str, str], Estimate]:
    pairs = list(combinations(half.models, 2))
    sides = [((second,), (first,)) for first, second in pairs]
    try:
        differenceses = faceted_differences((half.connection, half.connection), plan, measure, items, sides)
    except StoreError:
        return {}
    return {
        (cell, first, second): difference.difference
        for (first, second), cells in zip(pairs, differenceses, strict=True)
        for cell, difference in cells.items()
    }


def _corrected_inputs_over(half: ModelSide, plan: Plan, measure: Measure, items: Sequence[str]) -> InputsByCell:
    """Return the correction inputs of each cell and model, over some items only."""
    with _fold_views(half, plan, measure, [items]) as (leave_out, _):
        leave_out([ALL_GROUPS])
        return corrected_inputs(half.connection, plan, measure)


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

    `bent`: the figure is nonlinear, so it is biased, the more the fewer items there are; the jackknife shows by how
    much (Quenouille 1956). `still`: items that are all alike bound it. `unseen` is the part of the error that leaving
    out groups does not show, from cells whose items are all alike.
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
    figure, ends = measure.figure, _ends(measure)
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


def _ends(measure: Measure) -> tuple[float, float] | None:
    """Return the ends between which two values of a measure can differ, if it has bounds."""
    if measure.low is None or measure.high is None:
        return None
    return measure.low - measure.high, measure.high - measure.low


def _groups(items: Sequence[str], clusters: Mapping[str, str], seed: int) -> list[list[str]]:
    """Return the items in groups with about the same number of clusters, the same for the same seed. Items of a cluster
    are in one group."""
    members = defaultdict[str, list[str]](list)
    for item in sorted(items):
        members[clusters.get(item, item)].append(item)
    order = sorted(members)
    random.Random(seed).shuffle(order)
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


def _differences(one: ModelSide, two: ModelSide, a: Values, b: Values) -> dict[Cell, tuple[_Value, _Value]]:
    """Return, by cell, the mean over models of a measure on either side."""
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


def _values_by_group(
    half: ModelSide, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]], wanted: Sequence[int], power: float
) -> tuple[Values, list[Values]]:
    """Return a measure over the items of all groups, and without each of the `wanted` groups, by cell and model."""
    values_by_group: dict[int, Values] = {number: {} for number in (ALL_GROUPS, *wanted)}
    with _fold_views(half, plan, measure, groups) as (leave_out, at_once):
        numbers = list(values_by_group)
        for start in range(0, len(numbers), at_once):
            some = numbers[start : start + at_once]
            leave_out(some)
            for number, rows in _values_without(half, plan, measure, some).items():
                values_by_group[number] |= rows
    whole = values_by_group.pop(ALL_GROUPS)
    return whole, [_scaled_to_whole(values, whole, power) for values in values_by_group.values()]


LeaveOut = Callable[[Sequence[int]], None]


def _values_without(half: ModelSide, plan: Plan, measure: Measure, some: Sequence[int]) -> dict[int, Values]:
    """Return a measure without these groups, one of them or several side by side, by group."""
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
def _fold_views(
    half: ModelSide, plan: Plan, measure: Measure, groups: Sequence[Sequence[str]]
) -> Iterator[tuple[LeaveOut, int]]:
    """Yield a function that leaves groups of items out of the views, and the number of groups that it takes at once; at
    the end the views are as before.

    Everything that the measure reads is copied once. To leave out several groups at once, the copy has each model once
    per group under different names, which the SQL of a measure keeps separate. If the measure pools or compares models,
    groups are left out one after another.
    """
    connection, schema, text = half.connection, sql.name(half.schema), sql_of(plan, measure)
    words = set(re.findall(r"\w+", text))
    parts = aggregates_of(measure.figure, measures_of(plan))
    together = "comparisons" in words or any(map(is_of_all_models, parts))
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
    """Return the name of the copy of a view in which each item has a group."""
    return sql.name(f"{view} dealt")


def _is_discontinuous(plan: Plan, measure: Measure) -> bool:
    """Return true if a measure contains an aggregate that changes in steps as items leave, so that the jackknife gives
    no error."""
    parts = aggregates_of(measure.figure, measures_of(plan))
    return any(declared_aggregate(part.function).single_value for part in parts)


BATCH = 2**17
OF_SCORE = ("scenario", "item_id", "metric", "scorer", "evaluator")
"""The columns that identify a score of a model, besides the arms."""


class ModelsOfRun(Protocol):
    """A run that a connection shows, and some of its models."""

    @property
    def connection(self) -> Connection:
        """The connection."""

    @property
    def run(self) -> RunRecord:
        """The run."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models."""


def items_without_scores(*sides: ModelsOfRun, alone: bool = False) -> set[str]:
    """Return the items without numeric scores: on which models of every side were compared with others, or of whose
    replies judges chose a name that has no number. `alone`: there are no numbers at all; then also the items that a
    measure reads."""
    compared, chosen, looked_at = list[set[str]](), list[set[str]](), list[set[str]]()
    for side in sides:
        models, schema = sql.texts(side.models), sql.name(side.run.benchmark)
        of_pairs = f"""select distinct item_id from {schema}.comparisons
          where value is not null and (first_model in {models} or second_model in {models})"""
        of_names = f"""select distinct item_id from {schema}.scores
          where value is null and choice is not null and model in {models}"""
        of_columns = f"""select distinct item_id from {schema}.columns
          where {"true" if alone else "false"} and coalesce(value::varchar, given) is not null and model in {models}"""
        for query, items in ((of_pairs, compared), (of_names, chosen), (of_columns, looked_at)):
            items.append({item for (item,) in side.connection.execute(query).fetchall()})
    return set.union(*(set.intersection(*items) for items in (compared, chosen, looked_at)))


def mean_of(measure: Measure) -> Aggregate | None:
    """Return the mean of scores, possibly of cells, that a measure is. None for any other measure, for one that people
    correct or that has random facets, and for scores of elements, since two replies have different elements."""
    figure = measure.figure
    if measure.corrected or measure.random or not isinstance(figure, Aggregate):
        return None
    inner = mean_in(figure)
    means = inner is not None and len(inner.values) == 1 and not inner.of_condition and not inner.elements
    return inner if means else None


def paired_mean_of(plan: Plan, measure: Measure) -> Aggregate | None:
    """Return the mean that a measure is if its scores can be paired: scores without a value are left out, and its cells
    follow from columns of the scores, or from fields of rows; groups of axes and nodes of paths are neither."""
    mean = mean_of(measure) if measure.missing == "skip" else None
    fields = mean is not None and any("." in name for name in measure.by)
    return None if mean is None or fields or not _are_read(plan, mean.by) else mean


def paired_cells_of(plan: Plan, measure: Measure) -> Aggregate | None:
    """Return the mean of scores that a measure has in each cell, if the cells go by fields of rows and the scores can
    be paired; None for any other measure."""
    mean = mean_of(measure) if measure.missing == "skip" else None
    fields = mean is not None and mean == measure.figure and any("." in name for name in measure.by)
    return mean if mean is not None and fields and mean.by == measure.by and _are_read(plan, mean.by) else None


@dataclass(frozen=True)
class SumOfMeans:
    """A weighted sum of means of the same scores in several cells."""

    mean: Aggregate
    """The mean of a cell."""
    by: tuple[str, ...]
    """The dimensions that distinguish cells."""
    times: Mapping[tuple[str, ...], float] | float
    """The coefficient of each cell, by its values of `by`; or that of the mean of all cells."""
    constant: float
    """A number that is added."""

    def times_of(self, cells: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], float] | None:
        """Return the coefficient of each cell that has pairs; None if a cell of the sum has none."""
        if isinstance(self.times, float):
            return dict.fromkeys(cells, self.times / len(cells)) if cells else None
        return self.times if set(self.times) <= set(cells) else None


def paired_sum_of(plan: Plan, measure: Measure) -> SumOfMeans | None:
    """Return the sum of means of cells that a measure is, if they can be paired, such as `(m[kind: a] + m[kind: b]) /
    2`, or of one mean and numbers, such as `1 - mean(m)`; None for any other measure."""
    if measure.by or measure.corrected or measure.missing != "skip" or isinstance(measure.figure, Aggregate):
        return None
    terms = _terms(plan, measure.figure, {})
    if terms is None or not terms[1]:
        return None
    constant, parts = terms
    [first, *aggregates] = [mean for _, mean, _ in parts]
    alike = all((other.values, other.scenario) == (first.values, first.scenario) for other in aggregates)
    names = {first.by if fixed is None else tuple(sorted(fixed)) for _, _, fixed in parts}
    if not alike or len(names) > 1 or len({fixed is None for _, _, fixed in parts}) > 1:
        return None
    if any(other.by != first.by for other, (_, _, fixed) in zip(aggregates, parts[1:], strict=True) if fixed is None):
        return None
    by = names.pop()
    if not _are_read(plan, by):
        return None
    if parts[0][2] is None:
        whole = fsum(number for number, _, _ in parts)
        return SumOfMeans(first, by, whole, constant) if whole else None
    times: dict[tuple[str, ...], float] = {}
    for number, _, fixed in parts:
        cell = tuple((fixed or {})[name] for name in by)
        times[cell] = times.get(cell, 0.0) + number
    there = {cell: number for cell, number in times.items() if number}
    return SumOfMeans(first, by, there, constant) if there else None


_Terms = tuple[float, list[tuple[float, Aggregate, dict[str, str] | None]]]
"""A number, and means with their coefficients, each in the cell that a slice fixes, or if this is None in all cells."""


def _terms(plan: Plan, figure: Figure, fixed: dict[str, str]) -> _Terms | None:
    """Return a figure as a sum of means in the slice `fixed`; None if it is no such sum."""
    figure = pooled_mean(plan, figure, "skip") or figure
    match figure:
        case Constant(value=value):
            return float(value), []
        case Measured(measure=name, slice=within):
            measure = named(plan.measures, name)
            plain = measure.missing == "skip" and not measure.corrected
            return _terms(plan, measure.figure, {**fixed, **within}) if plain else None
        case Aggregate():
            inner = mean_in(figure)
            if inner is None or len(inner.values) != 1 or inner.of_condition or inner.elements:
                return None
            if inner is figure:
                return 0.0, [(1.0, figure, fixed)]
            return None if fixed or figure.by else (0.0, [(1.0, inner, None)])
        case Formula(operator="+" | "-" | "*" | "/" | "negate" as operator, values=values):
            parts = [_terms(plan, value, fixed) for value in values]
            known_parts = [part for part in parts if part is not None]
            return _combined(operator, known_parts) if len(known_parts) == len(parts) else None
    return None


def _combined(operator: str, parts: Sequence[_Terms]) -> _Terms | None:
    first, last = parts[0], parts[-1]
    match operator:
        case "negate":
            return _stretched(first, -1.0)
        case "+" | "-":
            other = last if operator == "+" else _stretched(last, -1.0)
            return first[0] + other[0], [*first[1], *other[1]]
        case "*" if not first[1] or not last[1]:
            return _stretched(last, first[0]) if not first[1] else _stretched(first, last[0])
        case "/" if not last[1] and last[0]:
            return _stretched(first, 1 / last[0])
    return None


def _stretched(part: _Terms, times: float) -> _Terms:
    return part[0] * times, [(number * times, mean, fixed) for number, mean, fixed in part[1]]


def _are_read(plan: Plan, names: Sequence[str]) -> bool:
    """Return true if dimensions are columns of the scores, or plain fields of their rows."""
    axes = {axis.name for axis in plan.axes}
    return not any("." in name and (name.endswith(NODES) or name.partition(".")[0] in axes) for name in names)


def fields_of_pairs(plan: Plan) -> list[str]:
    """Return the fields of rows that cells of paired means go by."""
    means = (
        paired_mean_of(plan, measure) or paired_cells_of(plan, measure) or paired_sum_of(plan, measure)
        for measure in plan.measures
    )
    return list(dict.fromkeys(name for mean in means if mean is not None for name in mean.by if "." in name))


def with_fields(schema: str, fields: Sequence[str]) -> str:
    """Return the SQL of the scores of a benchmark, with a column for each of some fields of their rows."""
    scores = f"{sql.name(schema)}.scores"
    if not fields:
        return scores
    read = ", ".join(f"fields ->> {sql.text(path_of(name))} as {sql.name(name)}" for name in fields)
    return f"""(select * from {scores}
      left join (select scenario, item_id, {read} from {sql.name(schema)}.items) using (scenario, item_id))"""


def paired_means(
    half: ModelSide,
    plan: Plan,
    measure: Measure,
    weights: Mapping[str, Mapping[str, float]],
    spans: Mapping[str, float],
) -> dict[tuple[str, str], Estimate] | None:
    """Return how every two models of `half` differ (first less second) over the scores that both have; None for a
    measure that is no mean of scores, or whose cells follow from no column of the scores.

    `weights` are those of metrics by scenario, and `spans` the lengths of the scales of scores.
    """
    found_sum = paired_sum_of(plan, measure)
    mean = paired_mean_of(plan, measure) if found_sum is None else found_sum.mean
    if mean is None:
        return None
    by = mean.by if found_sum is None else found_sum.by
    arms = arm_columns(plan)
    cells = ["evaluator" if name == "judge" else name for name in by]
    fields = [name for name in cells if "." in name]
    if not set(cells) <= {*OF_SCORE, *arms, "dimension", LANGUAGE, *axis_columns(plan), *fields}:
        return None
    scores = _read(half, plan, mean, [*OF_SCORE, *arms], cells)
    model, scenario, metric = (scores.coded[name] for name in ("model", "scenario", "metric"))
    weight = np.ones(len(scores.value))
    if "metric" not in by:
        of_kind = [
            [weights.get(one or "", {}).get(other or "", 1.0) for other in metric.names] for one in scenario.names
        ]
        weight = np.array(of_kind).reshape(len(scenario.names), len(metric.names))[scenario.codes, metric.codes]
    known = [spans.get(name or "") for name in metric.names]
    span = max((each for each in known if each is not None), default=None) if None not in known else None
    places = {name: np.flatnonzero(model.codes == code) for code, name in enumerate(model.names)}
    places |= {name: np.array([], int) for name in half.models if name not in places}
    estimates = {}
    for first, second in combinations(half.models, 2):
        one, two = places[first], places[second]
        _, left, right = np.intersect1d(scores.key[one], scores.key[two], True, return_indices=True)
        one, two = one[left], two[right]
        apart = scores.sample[one] != scores.sample[two]  # a reply that both models share distinguishes nothing
        one, two = one[apart], two[apart]
        times = None
        if found_sum is not None:
            times = scores.times_of(one, cells, found_sum)
            kept = np.isin(scores.cell[one], list(times))
            one, two = one[kept], two[kept]
        if len(one):
            estimates[first, second] = mean_of_cells(
                scores.value[one] - scores.value[two],
                scores.coded["cluster_id"].codes[one],
                scores.cell[one],
                weight[one],
                times=times,
                ends=None if span is None else (-span, span),
            )
    return estimates


class _Coded(NamedTuple):
    """A column of few distinct names: a code per row, and the names by code."""

    codes: NDArray[np.int64]
    names: list[str | None]


@dataclass(frozen=True)
class _Scores:
    """The mean score of a model per key, with codes of its key and cell, coded columns, and a hash that identifies the
    replies."""

    value: NDArray[np.float64]
    key: NDArray[np.int64]
    cell: NDArray[np.int64]
    sample: NDArray[np.uint64]
    coded: dict[str, _Coded]

    def times_of(self, rows: NDArray[np.int64], names: Sequence[str], whole: SumOfMeans) -> dict[int, float]:
        """Return the coefficient of each cell of some rows, by its code; empty if a cell of the sum has no rows."""
        keys: dict[tuple[str, ...], int] = {}
        for cell, place in zip(*np.unique(self.cell[rows], return_index=True), strict=True):
            of_names = (self.coded[name] for name in names)
            keys[tuple(str(of_name.names[of_name.codes[rows[place]]]) for of_name in of_names)] = int(cell)
        return {keys[key]: number for key, number in (whole.times_of(keys) or {}).items()}


def _read(half: ModelSide, plan: Plan, mean: Aggregate, keys: list[str], cells: list[str]) -> _Scores:
    """Read the scores to pair; scores of one model and key in several rows are merged."""
    import pyarrow.compute as pc

    read = half.connection.sql(_query(half, plan, mean, keys, cells)).to_arrow_reader(BATCH)
    names = [*dict.fromkeys(["model", *keys, *cells, "cluster_id"])]
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "its total", "its n", "its sample")}
    for each in read:
        batch = each.filter(each.column("it counts"))
        for name, part in parts.items():
            column = batch.column(name)
            part.append(column.dictionary_encode() if name in names else column.to_numpy(zero_copy_only=False))
    coded = {}
    for name in names:
        texts = join_texts(parts.pop(name))
        names_in_order = pc.sort_indices(texts.names)
        place = np.empty(len(texts.names), np.int64)
        place[names_in_order.to_numpy()] = np.arange(len(texts.names))
        coded[name] = _Coded(place[texts.codes], texts.names.take(names_in_order).to_pylist())
    total, n, sample = (
        np.concatenate(parts.pop(name) or [np.empty(0)]) for name in ("its total", "its n", "its sample")
    )
    key, cell = (_numbered([coded[name] for name in some], len(total)) for some in (keys, cells))
    order = np.lexsort((total, key, coded["model"].codes))  # a fixed order of summation, independent of row order
    own, whose = key[order], coded["model"].codes[order]
    first = np.ones(len(order), bool)
    first[1:] = (own[1:] != own[:-1]) | (whose[1:] != whose[:-1])
    starts, places = np.flatnonzero(first), order[first]
    if not len(starts):
        return _Scores(total, key, cell, sample.astype(np.uint64), coded)
    value = np.add.reduceat(total[order], starts) / np.add.reduceat(n[order], starts)
    least = np.minimum.reduceat(sample[order], starts)
    coded = {name: _Coded(each.codes[places], each.names) for name, each in coded.items()}
    return _Scores(value, key[places], cell[places], least, coded)


def _numbered(columns: Sequence[_Coded], rows: int) -> NDArray[np.int64]:
    """Return a code for each row, equal if the columns are equal."""
    number = np.zeros(rows, np.int64)
    for column in columns:
        if len(column.names) > 1:
            number = np.unique(number, return_inverse=True)[1] if number.any() else number
            number = number * len(column.names) + column.codes
    return number


def _query(half: ModelSide, plan: Plan, mean: Aggregate, keys: list[str], cells: list[str]) -> str:
    """Return the SQL of the scores: their sum, their number and a hash of their replies, for each model and key.

    The conditions are one `case`, or for sums a column: otherwise DuckDB estimates fewer rows than items, and holds all
    of them in memory.
    """
    names = sql.texts(mean.values)
    there = "" if mean.scenario is None else f"and scenario = {sql.text(mean.scenario)}"
    columns = dict.fromkeys(["model", *keys, *cells, "cluster_id"])
    every = ", ".join(f"{sql.name(name)}::varchar as {sql.name(name)}" for name in columns)
    chosen = f"""model in {sql.texts(half.models)} and {counts_in_figures(plan)}
      and (scorer in {names} or metric::varchar in {names}) {there}"""
    fields = [name for name in cells if "." in name]
    if not fields and (sums := score_sums_by(half.connection, plan, columns)) is not None:
        return f"""select {every}, "its total", "its n", "its sample",
      coalesce("its n" > 0 and "is score" and {chosen}, false) as "it counts"
    from {sums}"""
    return f"""select {every}, sum(value order by value) as "its total", count(*) as "its n",
      min(hash(sample_id)) as "its sample", true as "it counts"
    from {with_fields(half.schema, fields)}
    where case when value is not null and {chosen} then true else false end
    group by all"""
