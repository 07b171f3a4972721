"""Scores that two sides share, and differences of means over them.

A pair is two scores of one item in the same scenario, arms and metric, by the same scorer and evaluator; samples are
averaged first. Scores are read once, as numbers and codes, for any number of models.

A measure is compared score by score if it is a mean of scores, a mean of means of cells, or a weighted sum of means of
the same scores (`paired_figure`). So a difference has one interval, however its figure is written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tripos_compiler.language.intervals import score_ranges
from tripos_compiler.language.scored_values import mean_in, scored_values_of
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Plan, named
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.measures.products import pooled_mean
from tripos_warehouse.measures.query import NODES, path_of, weights_of
from tripos_warehouse.measures.sides import Cell, CellDifference, Side
from tripos_warehouse.query.resampling import join_texts
from tripos_warehouse.statistics.arrays import Floats, Ints
from tripos_warehouse.statistics.intervals import SINGLE_CLUSTER, SINGLE_ITEM, mean_of_cells
from tripos_warehouse.views.benchmark_views import axis_columns, counts_in_figures
from tripos_warehouse.views.derived import score_sums_by
from tripos_warehouse.views.dimensions import LANGUAGE, arm_columns, dimension_place

# Which measures are compared score by score


@dataclass(frozen=True)
class SumOfMeans:
    """A weighted sum of means of the same scores in several cells, or the mean of the means of all cells."""

    mean: Aggregate
    """The mean of a cell."""
    by: tuple[str, ...]
    """The dimensions that distinguish cells."""
    times: Mapping[tuple[str, ...], float] | float | None = None
    """The coefficient of each cell, by its values of `by`; or one coefficient of the mean of all cells; None for the
    mean of all cells itself."""
    constant: float = 0.0
    """A number that is added."""

    def times_of(self, cells: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], float]:
        """Return the coefficient of each cell that has pairs; empty if a cell of the sum has none."""
        if isinstance(self.times, float):
            return dict.fromkeys(cells, self.times / len(cells)) if cells else {}
        times = self.times or {}
        return times if set(times) <= set(cells) else {}


def mean_of(measure: Measure) -> Aggregate | None:
    """Return the mean of scores in a measure that is one, or that is a mean of its cells. None for any other measure,
    for one that people correct or that has random facets, and for scores of elements, since two replies have different
    elements."""
    figure = measure.figure
    if measure.corrected or measure.random or not isinstance(figure, Aggregate):
        return None
    inner = mean_in(figure)
    is_plain = inner is not None and len(inner.values) == 1 and not inner.of_condition and not inner.elements
    return inner if is_plain else None


def paired_figure(plan: Plan, measure: Measure) -> SumOfMeans | None:
    """Return a measure as a sum of means, if it is one and its scores can be paired; otherwise None. Examples are
    `mean(m)`, `(m[kind: a] + m[kind: b]) / 2` and `1 - mean(m)`.

    Scores can be paired if those without a value are left out, and if cells go by columns of the scores or by fields of
    items; groups of axes and nodes of paths are neither. Values of a column, as of `mean(words(reply.text))`, are no
    scores.
    """
    if measure.missing != "skip" or measure.corrected:
        return None
    mean = mean_of(measure)
    figure = SumOfMeans(mean, mean.by) if mean is not None else _sum_in(plan, measure)
    if figure is None or not set(measure.by) <= set(figure.by) or not _are_readable(plan, figure.by):
        return None
    values = scored_values_of(plan)
    return figure if all(values.named(name, figure.mean.scenario).stored for name in figure.mean.values) else None


def _sum_in(plan: Plan, measure: Measure) -> SumOfMeans | None:
    """Return a measure without dimensions as a weighted sum of means of the same scores; None if it is no such sum."""
    if measure.by or isinstance(measure.figure, Aggregate):
        return None
    terms = _terms(plan, measure.figure, {})
    if terms is None or not terms[1]:
        return None
    constant, parts = terms
    [first, *aggregates] = [mean for _, mean, _ in parts]
    same_scores = all((other.values, other.scenario) == (first.values, first.scenario) for other in aggregates)
    names = {first.by if fixed is None else tuple(sorted(fixed)) for _, _, fixed in parts}
    if not same_scores or len(names) > 1 or len({fixed is None for _, _, fixed in parts}) > 1:
        return None
    if any(other.by != first.by for other, (_, _, fixed) in zip(aggregates, parts[1:], strict=True) if fixed is None):
        return None
    by = names.pop()
    if parts[0][2] is None:
        coefficient = fsum(number for number, _, _ in parts)
        return SumOfMeans(first, by, coefficient, constant) if coefficient else None
    times: dict[tuple[str, ...], float] = {}
    for number, _, fixed in parts:
        cell = tuple((fixed or {})[name] for name in by)
        times[cell] = times.get(cell, 0.0) + number
    nonzero = {cell: number for cell, number in times.items() if number}
    return SumOfMeans(first, by, nonzero, constant) if nonzero else None


_Terms = tuple[float, list[tuple[float, Aggregate, dict[str, str] | None]]]
"""A sum of a number and of terms: a coefficient, a mean, and the values that a slice fixes, or None for the mean of all
cells."""


def _terms(plan: Plan, figure: Figure, fixed: dict[str, str]) -> _Terms | None:
    """Return a figure as a sum of means in the slice `fixed`; None if it is no such sum."""
    figure = pooled_mean(plan, figure, "skip") or figure
    match figure:
        case Constant(value=value):
            return float(value), []
        case Measured(measure=name, slice=own_slice):
            measure = named(plan.measures, name)
            is_plain = measure.missing == "skip" and not measure.corrected
            return _terms(plan, measure.figure, {**fixed, **own_slice}) if is_plain else None
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
    """Return the result of an operator on one or two sums; None if it is not a sum of means."""
    first, last = parts[0], parts[-1]
    match operator:
        case "negate":
            return _scaled(first, -1.0)
        case "+" | "-":
            other = last if operator == "+" else _scaled(last, -1.0)
            return first[0] + other[0], [*first[1], *other[1]]
        case "*" if not first[1] or not last[1]:
            return _scaled(last, first[0]) if not first[1] else _scaled(first, last[0])
        case "/" if not last[1] and last[0]:
            return _scaled(first, 1 / last[0])
    return None


def _scaled(part: _Terms, times: float) -> _Terms:
    return part[0] * times, [(number * times, mean, fixed) for number, mean, fixed in part[1]]


KEYS = ("scenario", "item_id", "metric", "scorer", "evaluator")
"""The columns that identify a score of a model, besides the arms."""


def _are_readable(plan: Plan, names: Sequence[str]) -> bool:
    """Return true if all dimensions are columns of the scores, or plain fields of their items."""
    axes = {axis.name for axis in plan.axes}
    columns = {*KEYS, *arm_columns(plan), "dimension", LANGUAGE, *axis_columns(plan)}
    return all(
        name.partition(".")[0] not in axes and not name.endswith(NODES) if "." in name else name in columns
        for name in names
    )


def scale_lengths(plan: Plan) -> dict[str, float]:
    """Return the length of the scale of each score whose scale has two ends, by name."""
    lengths = {
        metric.name: float(metric.ends[1] - metric.ends[0]) for metric in plan.metrics if metric.ends is not None
    }
    return lengths | {
        name: high - low for name, (low, high) in score_ranges(plan).items() if low < high < low + math.inf
    }


# Pairs


class Coded(NamedTuple):
    """A column of few distinct names: a code per row, and the names by code, in ascending order."""

    codes: Ints
    names: list[str | None]

    def take(self, rows: Ints | NDArray[np.bool_]) -> Coded:
        """Return the column of some rows."""
        return Coded(self.codes[rows], self.names)

    def isin(self, names: Collection[str | None]) -> NDArray[np.bool_]:
        """Return the mask of the rows with one of some names."""
        chosen: NDArray[np.bool_] = np.isin(self.codes, [code for code, name in enumerate(self.names) if name in names])
        return chosen

    @property
    def distinct(self) -> list[str | None]:
        """The distinct names of the rows, in ascending order."""
        return [self.names[code] for code in np.unique(self.codes)]


@dataclass(frozen=True)
class PairedScores:
    """Scores that two sides share, as columns of one length, in the order of their keys."""

    a: Floats
    b: Floats
    columns: Mapping[str, Coded]
    weight: Floats
    """The weight of the metric of each pair in its scenario and scorer."""
    place: Ints
    """The position of each pair among all shared pairs."""
    lengths: Mapping[str, float]
    """The lengths of the scales of scores, if they have ends."""
    only_a: int = 0
    """The number of scores that `b` lacks."""
    only_b: int = 0
    """The number of scores that `a` lacks."""
    same: int = 0
    """The number of scores of replies that both models share, since neither wrote them; they are not pairs."""

    def __len__(self) -> int:
        return len(self.a)

    def where(self, mask: NDArray[np.bool_]) -> PairedScores:
        """Return some of the pairs."""
        if mask.all():
            return self
        columns = {name: column.take(mask) for name, column in self.columns.items()}
        return PairedScores(self.a[mask], self.b[mask], columns, self.weight[mask], self.place[mask], self.lengths)

    def cells(self, names: Sequence[str]) -> tuple[Ints, list[Cell]]:
        """Return the code of the cell of each pair by these columns, and the cells by code."""
        return _cells([self.columns[name] for name in names], len(self))


@dataclass(frozen=True)
class ScoreTable:
    """The mean scores of the models of one or two sides, a row for each side, model and key, in this order. `key` has
    the code of the key, `sample` a hash that identifies the reply, and `side` the number of the side."""

    value: Floats
    key: Ints
    sample: NDArray[np.uint64]
    side: Ints
    columns: Mapping[str, Coded]
    weight: Floats
    lengths: Mapping[str, float]

    @cached_property
    def _rows(self) -> dict[tuple[int, str | None], Ints]:
        model = self.columns["model"]
        return {
            (side, name): np.flatnonzero((self.side == side) & (model.codes == code))
            for side in range(int(self.side.max(initial=0)) + 1)
            for code, name in enumerate(model.names)
        }

    def pairs(self, one: Sequence[str], two: Sequence[str]) -> PairedScores:
        """Return the scores that the models `one` of the first side share with their counterparts `two` of the last
        side."""
        rows_a, rows_b, slots, only_a, only_b, same = [], [], [], 0, 0, 0
        last = int(self.side.max(initial=0))
        for slot, (first, second) in enumerate(zip(one, two, strict=True)):
            own, other = (self._rows.get(key, np.empty(0, np.int64)) for key in ((0, first), (last, second)))
            _, left, right = np.intersect1d(self.key[own], self.key[other], True, return_indices=True)
            only_a, only_b = only_a + len(own) - len(left), only_b + len(other) - len(right)
            own, other = own[left], other[right]
            # A reply that two models share does not distinguish them.
            differs = (self.sample[own] != self.sample[other]) | (first == second)
            same += int((~differs).sum())
            rows_a.append(own[differs])
            rows_b.append(other[differs])
            slots.append(np.full(int(differs.sum()), slot))
        a, b = np.concatenate(rows_a), np.concatenate(rows_b)
        if len(one) > 1:
            order = np.lexsort((np.concatenate(slots), self.key[b]))
            a, b = a[order], b[order]
        columns = {name: column.take(b) for name, column in self.columns.items()}
        place = np.arange(len(a))
        return PairedScores(
            self.value[a], self.value[b], columns, self.weight[b], place, self.lengths, only_a, only_b, same
        )


def paired_scores(a: Side, b: Side, *, by_judge: bool = True) -> PairedScores:
    """Return all scores that two sides share. With `by_judge` a pair is two scores by the same evaluator; without it,
    two means over evaluators."""
    places = ["dimension", LANGUAGE, *axis_columns(b.plan), *_fields_of_figures(b.plan)]
    return read_scores(a, b, places, by_judge=by_judge).pairs(a.models, b.models)


def _fields_of_figures(plan: Plan) -> list[str]:
    """Return the fields of items that cells of paired means go by."""
    figures = (paired_figure(plan, measure) for measure in plan.measures)
    return list(dict.fromkeys(name for figure in figures if figure is not None for name in figure.by if "." in name))


def read_scores(
    a: Side, b: Side, places: Sequence[str], *, by_judge: bool = True, mean: Aggregate | None = None
) -> ScoreTable:
    """Return the scores of the models of two sides, with the columns `places` of the second side; with `mean`, only the
    scores that it reads. Two sides with one connection and one plan are read at once."""
    arms = [arm for arm in arm_columns(b.plan) if arm in arm_columns(a.plan)]
    keys = [*KEYS[:-1], *arms, *(KEYS[-1:] if by_judge else ())]
    if a.connection is b.connection and a.plan is b.plan:
        sides = [replace(b, models=tuple(dict.fromkeys((*a.models, *b.models))))]
    else:
        sides = [a, b]
    names = list(dict.fromkeys(["model", *keys, *places, "cluster_id"]))
    batches = [
        (number, batch.filter(batch.column("it counts")))
        for number, side in enumerate(sides)
        for batch in side.connection.sql(
            _query(side, names, names if side is sides[-1] else ["model", *keys], mean)
        ).to_arrow_reader(_BATCH)
    ]
    return _score_table(b.plan, batches, names, keys)


_BATCH = 2**17
"""The number of rows of a batch."""


def _score_table(
    plan: Plan, batches: Sequence[tuple[int, Any]], names: Sequence[str], keys: Sequence[str]
) -> ScoreTable:
    """Return the table of batches of rows, each with the number of its side; rows with one model and key are merged."""
    import pyarrow.compute as pc

    columns = {}
    for name in names:
        texts = join_texts([batch.column(name).dictionary_encode() for _, batch in batches])
        names_in_order = pc.sort_indices(texts.names)
        place = np.empty(len(texts.names), np.int64)
        place[names_in_order.to_numpy()] = np.arange(len(texts.names))
        columns[name] = Coded(place[texts.codes], texts.names.take(names_in_order).to_pylist())
    total, n, sample = (
        np.concatenate([batch.column(name).to_numpy(zero_copy_only=False) for _, batch in batches] or [np.empty(0)])
        for name in ("its total", "its n", "its sample")
    )
    side = np.repeat([number for number, _ in batches], [batch.num_rows for _, batch in batches]).astype(np.int64)
    key = _numbered([columns[name] for name in keys], len(total))
    order = np.lexsort((total, key, columns["model"].codes, side))  # a fixed order of summation
    first = np.ones(len(order), bool)
    identity = (key[order], columns["model"].codes[order], side[order])
    first[1:] = np.logical_or.reduce([codes[1:] != codes[:-1] for codes in identity])
    starts, rows = np.flatnonzero(first), order[first]
    if len(starts):
        total, n = (np.add.reduceat(column[order], starts) for column in (total, n))
        sample = np.minimum.reduceat(sample[order], starts)
    columns = {name: column.take(rows) for name, column in columns.items()}
    return ScoreTable(
        total / n,
        key[rows],
        sample.astype(np.uint64),
        side[rows],
        columns,
        _weights(plan, columns, len(rows)),
        scale_lengths(plan),
    )


def _weights(plan: Plan, columns: Mapping[str, Coded], rows: int) -> Floats:
    """Return the weight of each score: that of its metric in its scenario and scorer."""
    codes, kinds = _cells([columns[name] for name in ("scorer", "scenario", "metric")], rows)
    values, of_kind = scored_values_of(plan), []
    for scorer, scenario, metric in kinds:
        scored = values.scorer(scorer, scenario)
        of_kind.append(1.0 if scored is None else weights_of(scored).get(scenario, {}).get(metric, 1.0))
    return np.array(of_kind)[codes]


def _cells(columns: Sequence[Coded], rows: int) -> tuple[Ints, list[Cell]]:
    """Return the code of the cell of each row by these columns, and the cells by code."""
    _, first, codes = np.unique(_numbered(columns, rows), return_index=True, return_inverse=True)
    return codes, [tuple(column.names[column.codes[row]] for column in columns) for row in first]


def _numbered(columns: Sequence[Coded], rows: int) -> Ints:
    """Return a code for each row, equal if the columns are equal, in the order of the columns."""
    number = np.zeros(rows, np.int64)
    for column in columns:
        if len(column.names) > 1:
            number = np.unique(number, return_inverse=True)[1] if number.any() else number
            number = number * len(column.names) + column.codes
    return number


def _query(side: Side, names: Sequence[str], read: Sequence[str], mean: Aggregate | None) -> str:
    """Return the SQL of the scores of a side: their sum, their number and a hash of their replies, for each combination
    of the columns `names`. Columns that are not in `read` are NULL.

    The conditions are one `case`, or for sums a column: otherwise DuckDB estimates fewer rows than items, and keeps all
    of them in memory.
    """
    selected = ", ".join(f"{sql.name(name) if name in read else 'NULL'}::varchar as {sql.name(name)}" for name in names)
    chosen = f"model in {sql.texts(side.models)} and {counts_in_figures(side.plan)}"
    if mean is not None:
        values = sql.texts(mean.values)
        in_scenario = "" if mean.scenario is None else f" and scenario = {sql.text(mean.scenario)}"
        chosen = f"{chosen} and (scorer in {values} or metric::varchar in {values}){in_scenario}"
    fields = [name for name in read if "." in name]
    if not fields and (sums := score_sums_by(side.connection, side.plan, read)) is not None:
        return f"""select {selected}, "its total", "its n", "its sample",
      coalesce("its n" > 0 and "is score" and {chosen}, false) as "it counts"
    from {sums}"""
    return f"""select {selected}, sum(value order by value) as "its total", count(*) as "its n",
      min(hash(sample_id)) as "its sample", true as "it counts"
    from {_with_fields(side.schema, fields)}
    where case when value is not null and {chosen} then true else false end
    group by all"""


def _with_fields(schema: str, fields: Sequence[str]) -> str:
    """Return the SQL of the scores of a benchmark, with a column for each of `fields` of their items."""
    scores = f"{schema}.scores"
    if not fields:
        return scores
    read = ", ".join(f"fields ->> {sql.text(path_of(name))} as {sql.name(name)}" for name in fields)
    return f"""(select * from {scores}
      left join (select scenario, item_id, {read} from {schema}.items) using (scenario, item_id))"""


# Differences of means


def mean_difference(
    pairs: PairedScores, *, weighted: bool, cell: Ints | None = None, times: Mapping[int, float] | None = None
) -> CellDifference:
    """Return the mean of each side over pairs, of which there is at least one, and the difference of these means. With
    `cell`, the code of the cell of each pair, it is the mean of the means of cells, or with `times` their sum with
    these coefficients. If `weighted`, metrics have their weights."""
    clusters, weight = pairs.columns["cluster_id"].codes, pairs.weight if weighted else np.ones(len(pairs))
    a, b = (_mean(side, weight, cell, times) for side in (pairs.a, pairs.b))
    spans = [pairs.lengths.get(name or "") for name in pairs.columns["metric"].distinct]
    span = None if None in spans else max(length for length in spans if length is not None)
    ends = None if span is None else (-span, span)
    difference = mean_of_cells(pairs.b - pairs.a, clusters, cell, weight, times=times, ends=ends)
    if difference.reason == SINGLE_ITEM and len(pairs.columns["item_id"].distinct) > 1:
        difference = difference.without_interval(SINGLE_CLUSTER)
    farthest = float(np.abs(pairs.b - pairs.a).max()) * (1.0 if times is None else sum(map(abs, times.values())))
    return CellDifference((), a, b, difference, farthest, span, _identity(pairs, cell, weight))


def _mean(values: Floats, weight: Floats, cell: Ints | None, times: Mapping[int, float] | None) -> float:
    """Return the value of `mean_of_cells`, without its error."""
    if cell is None:
        return float(np.average(values, weights=weight))
    totals = np.bincount(cell, weight)
    cells = np.flatnonzero(totals)
    means = np.bincount(cell, weight * values)[cells] / totals[cells]
    return float(
        means.mean() if times is None else sum(times[int(code)] * mean for code, mean in zip(cells, means, strict=True))
    )


def _identity(pairs: PairedScores, cell: Ints | None, weight: Floats) -> Hashable:
    """Return a key that is equal for two means of cells of the same pairs, with the same relative weights and the same
    pairs in each cell."""
    shared = b""
    if cell is not None and np.ptp(cell):
        _, first, codes = np.unique(cell, return_index=True, return_inverse=True)
        shared = np.argsort(np.argsort(first))[codes].tobytes()
    return pairs.place.tobytes(), (weight / weight.max()).tobytes(), shared


def paired_differences(
    plan: Plan, measure: Measure, figure: SumOfMeans, pairs: PairedScores, items: Collection[str] | None = None
) -> list[CellDifference]:
    """Return the difference of two sides in each cell of a measure that is the sum of means `figure`, over all pairs or
    those of `items`. A cell without pairs has none, nor has a sum with a term without pairs. The result is empty if
    pairs lack a column of the cells, as `evaluator` in pairs of means over evaluators."""
    mean, columns = figure.mean, pairs.columns
    if not set(figure.by) <= set(columns):
        return []
    mask = columns["scorer"].isin(mean.values) | columns["metric"].isin(mean.values)
    if mean.scenario is not None:
        mask &= columns["scenario"].isin([mean.scenario])
    if items is not None:
        mask &= columns["item_id"].isin(items)
    pairs = pairs.where(mask)
    # A mean of one metric has no weights, although metrics may weigh differently in scenarios.
    weighted = "metric" not in figure.by and scored_values_of(plan).scorer(mean.values[0], mean.scenario) is not None
    outer, cells = pairs.cells(measure.by)
    places = [dimension_place(plan, name) for name in measure.by]
    by_cell = {
        cell: _cell_difference(measure, figure, pairs.where(outer == code), weighted) for code, cell in enumerate(cells)
    }
    differences = [replace(difference, cell=cell) for cell, difference in by_cell.items() if difference is not None]
    differences.sort(
        key=lambda difference: [place(value) for place, value in zip(places, difference.cell, strict=True)]
    )
    return differences


def _cell_difference(
    measure: Measure, figure: SumOfMeans, pairs: PairedScores, weighted: bool
) -> CellDifference | None:
    """Return the difference of two sides over the pairs of one cell of a measure; None if a term of a sum has no
    pairs."""
    cell, keys = pairs.cells(figure.by)
    if figure.times is None:
        return mean_difference(pairs, weighted=weighted, cell=cell if figure.by else None)
    codes = {tuple(map(str, key)): code for code, key in enumerate(keys)}
    times = {codes[key]: number for key, number in figure.times_of(codes).items()}
    if not times:
        return None
    chosen = np.isin(cell, list(times))
    difference = mean_difference(pairs.where(chosen), weighted=weighted, cell=cell[chosen], times=times)
    span = None if measure.low is None or measure.high is None else measure.high - measure.low
    a, b = difference.a + figure.constant, difference.b + figure.constant
    return replace(difference, a=a, b=b, span=span)
