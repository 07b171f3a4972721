"""How every two models differ in a mean of scores, paired score by score: what `tripos compare` does, of many models.

Scores are read once, as numbers, and paired by scenario, item, metric, scorer, arms and evaluator; samples are averaged
first.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tripos_compiler.plan import Aggregate, Measure, Plan
from tripos_warehouse import sql
from tripos_warehouse.measures.differences.jackknife import Half
from tripos_warehouse.query import Connection
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views import LANGUAGE, RunRecord, are_counted, arm_columns, axis_columns

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


def compared_items(*sides: ModelsOfRun) -> set[str]:
    """Return the items on which models of every side were compared with others."""
    found = []
    for side in sides:
        models = sql.texts(side.models)
        query = f"""select distinct item_id from {sql.name(side.run.benchmark)}.comparisons
          where value is not null and (first_model in {models} or second_model in {models})"""
        found.append({item for (item,) in side.connection.execute(query).fetchall()})
    return set.intersection(*found)


def mean_of(measure: Measure) -> Aggregate | None:
    """The mean that a measure is of scores, maybe in cells; `None` of any other, of one that people correct, and of
    scores of elements, which two replies have in different numbers."""
    figure = measure.figure
    if measure.corrected or not isinstance(figure, Aggregate):
        return None
    inner = figure.of or figure
    means = figure.function == inner.function == "mean" and inner.of is None and len(inner.values) == 1
    means = means and not inner.of_condition and not inner.elements
    return inner if means else None


def paired_mean_of(measure: Measure) -> Aggregate | None:
    """The same where scores without a value are left out, so that what both sides have can be paired, and where its
    cells follow from columns of the scores: fields of rows and groups of axes are none."""
    mean = mean_of(measure) if measure.missing == "skip" else None
    return None if mean is None or any("." in name for name in mean.by) else mean


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
    mean = paired_mean_of(measure)
    if mean is None:
        return None
    arms = arm_columns(plan)
    cells = ["evaluator" if name == "judge" else name for name in mean.by]
    if not set(cells) <= {*OF_SCORE, *arms, "dimension", LANGUAGE, *axis_columns(plan)}:
        return None
    scores = half.connection.sql(_query(half, plan, mean, [*OF_SCORE, *arms], cells)).to_arrow_table()
    columns = {name: scores.column(name).to_numpy() for name in ("key", "item", "cell", "value", "its sample")}
    model, scenario, metric = (_coded(scores.column(name)) for name in ("model", "scenario", "metric"))
    weight = np.ones(scores.num_rows)
    if "metric" not in mean.by:
        of_kind = [[weights.get(one, {}).get(other, 1.0) for other in metric.names] for one in scenario.names]
        weight = np.array(of_kind).reshape(len(scenario.names), len(metric.names))[scenario.codes, metric.codes]
    known = [spans.get(name) for name in metric.names]
    span = max((each for each in known if each is not None), default=None) if None not in known else None
    places = {name: np.flatnonzero(model.codes == code) for code, name in enumerate(model.names)}
    places |= {name: np.array([], int) for name in half.models if name not in places}
    found = {}
    for first, second in combinations(half.models, 2):
        one, two = places[first], places[second]
        _, left, right = np.intersect1d(columns["key"][one], columns["key"][two], True, return_indices=True)
        one, two = one[left], two[right]
        apart = columns["its sample"][one] != columns["its sample"][two]  # one and the same reply tells nobody apart
        one, two = one[apart], two[apart]
        if len(one):
            found[first, second] = mean_of_cells(
                columns["value"][one] - columns["value"][two],
                columns["item"][one],
                columns["cell"][one],
                weight[one],
                ends=None if span is None else (-span, span),
            )
    return found


class _Coded(NamedTuple):
    """A column of few names: a number for each row, and the names by number."""

    codes: NDArray[np.int64]
    names: list[str]


def _coded(column: pa.ChunkedArray[Any]) -> _Coded:
    one = column.combine_chunks().dictionary_encode("encode")
    return _Coded(one.indices.to_numpy().astype(np.int64), one.dictionary.to_pylist())


def _query(half: Half, plan: Plan, mean: Aggregate, keys: list[str], cells: list[str]) -> str:
    """Return the SQL of the scores: a row for each of a model, with numbers for its key, its item and its cell.

    The conditions are one `case`: as several, DuckDB takes the scores for fewer than the items, and holds all of them.
    """
    names = sql.texts(mean.values)
    there = "" if mean.scenario is None else f"and scenario = {sql.text(mean.scenario)}"
    key, cell = (", ".join(map(sql.name, columns)) for columns in (keys, cells))
    every = ", ".join(dict.fromkeys(map(sql.name, [*keys, *cells])))
    return f"""with given as (
      select model, {every}, avg(value) as value, hash(min(sample_id)) as "its sample"
      from {sql.name(half.schema)}.scores
      where case when value is not null and model in {sql.texts(half.models)} and {are_counted(plan)}
        and (scorer in {names} or metric::varchar in {names}) {there} then true else false end
      group by all)
    select model, scenario::varchar as scenario, metric::varchar as metric, value, "its sample",
      dense_rank() over (order by {key}) as key, dense_rank() over (order by item_id) as item,
      {f"dense_rank() over (order by {cell})" if cells else "0"} as cell
    from given"""
