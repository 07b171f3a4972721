"""How every two models differ in a mean of scores, paired score by score: what `tripos compare` does, of many models.

Scores are read once, as numbers, and paired by scenario, item, metric, scorer, arms and evaluator; samples are averaged
first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tripos_compiler.language.figures import mean_in
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Plan, named
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.measures.differences.jackknife import Half
from tripos_warehouse.measures.products import pooled_mean
from tripos_warehouse.measures.sql import NODES, path_of
from tripos_warehouse.query import Connection, join_texts
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views import LANGUAGE, RunRecord, are_counted, arm_columns, axis_columns, sums_with

BATCH = 2**17
OF_SCORE = ("scenario", "item_id", "metric", "scorer", "evaluator")
"""The columns, beside arms, that tell a score of a model from its others."""


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


def items_beside_numbers(*sides: ModelsOfRun, alone: bool = False) -> set[str]:
    """Return the items on which models of every side were compared with others, or of whose replies judges chose a
    name that stands for no number. `alone` says that there are no numbers: then also those of which measures look at
    something."""
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
    """The mean that a measure is of scores, maybe in cells; `None` of any other, of one that people correct or that has
    random facets, and of scores of elements, which two replies have in different numbers."""
    figure = measure.figure
    if measure.corrected or measure.random or not isinstance(figure, Aggregate):
        return None
    inner = mean_in(figure)
    means = inner is not None and len(inner.values) == 1 and not inner.of_condition and not inner.elements
    return inner if means else None


def paired_mean_of(plan: Plan, measure: Measure) -> Aggregate | None:
    """The same if scores without a value are left out, so that what both sides have can be paired, and if its cells
    follow from columns of the scores, or from fields of rows that a mean is taken over; groups of axes and nodes of
    paths are neither."""
    mean = mean_of(measure) if measure.missing == "skip" else None
    fields = mean is not None and any("." in name for name in measure.by)
    return None if mean is None or fields or not _are_read(plan, mean.by) else mean


def paired_cells_of(plan: Plan, measure: Measure) -> Aggregate | None:
    """Return the mean of scores that a measure has a row for in each cell, if its cells go by fields of rows and can be
    paired; None of any other."""
    mean = mean_of(measure) if measure.missing == "skip" else None
    fields = mean is not None and mean == measure.figure and any("." in name for name in measure.by)
    return mean if mean is not None and fields and mean.by == measure.by and _are_read(plan, mean.by) else None


@dataclass(frozen=True)
class SumOfMeans:
    """A figure that adds up means of the same scores in several cells, each times a number."""

    mean: Aggregate
    """The mean of a cell."""
    by: tuple[str, ...]
    """The dimensions that tell cells apart."""
    times: Mapping[tuple[str, ...], float] | float
    """The number of each cell, by its values of these; or that of the mean of all cells that there are."""
    constant: float
    """A number that is added to them."""

    def times_of(self, cells: Collection[tuple[str, ...]]) -> Mapping[tuple[str, ...], float] | None:
        """Return the number of each cell, of those in which there are pairs; None if one of them has none."""
        if isinstance(self.times, float):
            return dict.fromkeys(cells, self.times / len(cells)) if cells else None
        return self.times if set(self.times) <= set(cells) else None


def paired_sum_of(plan: Plan, measure: Measure) -> SumOfMeans | None:
    """Return the sum that a measure is of means of cells that can be paired, such as `(m[kind: a] + m[kind: b]) / 2`,
    or of one mean of all scores or all cells and numbers, such as `1 - mean(m)`; None of any other."""
    if measure.by or measure.corrected or measure.missing != "skip" or isinstance(measure.figure, Aggregate):
        return None
    terms = _terms(plan, measure.figure, {})
    if terms is None or not terms[1]:
        return None
    constant, parts = terms
    [first, *others] = [mean for _, mean, _ in parts]
    alike = all((each.values, each.scenario) == (first.values, first.scenario) for each in others)
    names = {first.by if fixed is None else tuple(sorted(fixed)) for _, _, fixed in parts}
    if not alike or len(names) > 1 or len({fixed is None for _, _, fixed in parts}) > 1:
        return None
    if any(each.by != first.by for each, (_, _, fixed) in zip(others, parts[1:], strict=True) if fixed is None):
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
"""A number, and means, each with the number that it is taken times: of the cell that a slice fixes, or where this is
None of all cells."""


def _terms(plan: Plan, figure: Figure, fixed: dict[str, str]) -> _Terms | None:
    """Return a figure as a sum of means in the slice `fixed`; None if it is no such sum."""
    figure = pooled_mean(plan, figure, "skip") or figure
    match figure:
        case Constant(value=value):
            return float(value), []
        case Measured(measure=name, slice=within):
            known = named(plan.measures, name)
            plain = known.missing == "skip" and not known.corrected
            return _terms(plan, known.figure, {**fixed, **within}) if plain else None
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
    half: Half,
    plan: Plan,
    measure: Measure,
    weights: Mapping[str, Mapping[str, float]],
    spans: Mapping[str, float],
) -> dict[tuple[str, str], StatisticResult] | None:
    """Return how every two models of `half` differ (first less second) over the scores that both have, and None of a
    measure that is no mean of scores, or whose cells follow from no column of them.

    `weights` are those of metrics by scenario, and `spans` how far apart two values of a score can be.
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
    found = {}
    for first, second in combinations(half.models, 2):
        one, two = places[first], places[second]
        _, left, right = np.intersect1d(scores.key[one], scores.key[two], True, return_indices=True)
        one, two = one[left], two[right]
        apart = scores.sample[one] != scores.sample[two]  # one and the same reply tells nobody apart
        one, two = one[apart], two[apart]
        times = None
        if found_sum is not None:
            times = scores.times_of(one, cells, found_sum)
            kept = np.isin(scores.cell[one], list(times))
            one, two = one[kept], two[kept]
        if len(one):
            found[first, second] = mean_of_cells(
                scores.value[one] - scores.value[two],
                scores.coded["cluster_id"].codes[one],
                scores.cell[one],
                weight[one],
                times=times,
                ends=None if span is None else (-span, span),
            )
    return found


class _Coded(NamedTuple):
    """A column of few names: a number for each row, and the names by number."""

    codes: NDArray[np.int64]
    names: list[str | None]


@dataclass(frozen=True)
class _Scores:
    """The mean of a model's scores of every key, one after the other, with a number for its key and its cell, the
    columns of names, and what tells the replies apart."""

    value: NDArray[np.float64]
    key: NDArray[np.int64]
    cell: NDArray[np.int64]
    sample: NDArray[np.uint64]
    coded: dict[str, _Coded]

    def times_of(self, rows: NDArray[np.int64], names: Sequence[str], whole: SumOfMeans) -> dict[int, float]:
        """Return the number of each cell of some rows, by its own number, of those cells that have one; of none if one
        of the sum lacks rows."""
        keys: dict[tuple[str, ...], int] = {}
        for cell, place in zip(*np.unique(self.cell[rows], return_index=True), strict=True):
            of_names = (self.coded[name] for name in names)
            keys[tuple(str(each.names[each.codes[rows[place]]]) for each in of_names)] = int(cell)
        return {keys[key]: number for key, number in (whole.times_of(keys) or {}).items()}


def _read(half: Half, plan: Plan, mean: Aggregate, keys: list[str], cells: list[str]) -> _Scores:
    """Read the scores that are paired; those of one model and key that lie in several rows are put together."""
    import pyarrow.compute as pc

    read = half.connection.sql(_query(half, plan, mean, keys, cells)).to_arrow_reader(BATCH)
    names = [*dict.fromkeys(["model", *keys, *cells, "cluster_id"])]
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "its total", "its n", "its sample")}
    for each in read:
        batch = each.filter(each.column("it counts"))
        for name, some in parts.items():
            column = batch.column(name)
            some.append(column.dictionary_encode() if name in names else column.to_numpy(zero_copy_only=False))
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
    order = np.lexsort((total, key, coded["model"].codes))  # one order of sums, whatever that of the rows is
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
    """Return a number for each row, the same where the columns are."""
    number = np.zeros(rows, np.int64)
    for column in columns:
        if len(column.names) > 1:
            number = np.unique(number, return_inverse=True)[1] if number.any() else number
            number = number * len(column.names) + column.codes
    return number


def _query(half: Half, plan: Plan, mean: Aggregate, keys: list[str], cells: list[str]) -> str:
    """Return the SQL of the scores: their sum, their number and what tells their replies from others, for each model
    and key.

    The conditions are one `case`, or of sums a column: else DuckDB takes the rows for fewer than the items, and holds
    all of them.
    """
    names = sql.texts(mean.values)
    there = "" if mean.scenario is None else f"and scenario = {sql.text(mean.scenario)}"
    columns = dict.fromkeys(["model", *keys, *cells, "cluster_id"])
    every = ", ".join(f"{sql.name(name)}::varchar as {sql.name(name)}" for name in columns)
    chosen = f"""model in {sql.texts(half.models)} and {are_counted(plan)}
      and (scorer in {names} or metric::varchar in {names}) {there}"""
    fields = [name for name in cells if "." in name]
    if not fields and (sums := sums_with(half.connection, plan, columns)) is not None:
        return f"""select {every}, "its total", "its n", "its sample",
      coalesce("its n" > 0 and "is score" and {chosen}, false) as "it counts"
    from {sums}"""
    return f"""select {every}, sum(value order by value) as "its total", count(*) as "its n",
      min(hash(sample_id)) as "its sample", true as "it counts"
    from {with_fields(half.schema, fields)}
    where case when value is not null and {chosen} then true else false end
    group by all"""
