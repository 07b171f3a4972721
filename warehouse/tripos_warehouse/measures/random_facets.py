"""Intervals that generalise to other judges and prompts: measures with random facets, and their differences.

The value of such a measure is that of the plain mean. Its interval starts from that over items. Single scores are read,
and the mean is computed again with the judges, or the values of an arm, as units in place of items: the error over
these is added (`generalized`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tripos_compiler.plan import Aggregate, Measure, Measured, Plan, named
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.measures.figure_sql import keys_of_scores, scores_sql
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.measures.sides import Cell, CellDifference, Side, difference_ends
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import query_rows
from tripos_warehouse.statistics.arrays import Floats, Ints
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import ROUNDING, SINGLE_ITEM_CELL, generalized, mean_of_cells

Key = tuple[Any, ...]


@dataclass(frozen=True)
class FacetedScores:
    """The scores of one model, or differences of two, in one cell of a measure: values and weights, with codes for the
    cluster of items, the inner cell, and the level of each random facet."""

    values: Floats
    weights: Floats
    clusters: Ints
    cells: Ints
    levels: Mapping[str, Ints]

    def mean(self, units: Ints, ends: tuple[float, float] | None = None) -> Estimate:
        """Return the mean with its error over units. `units` has the code of the unit of each score."""
        return mean_of_cells(self.values, units, self.cells, self.weights, ends=ends, paired=False)

    def facets(self, plan: Plan) -> list[Estimate]:
        """Return the mean with its error over the levels of each facet, or the reason why there is none."""
        return [_facet(plan, self.mean(levels), name) for name, levels in self.levels.items()]


def _facet(plan: Plan, mean: Estimate, name: str) -> Estimate:
    """Return the mean over the levels of a facet. If it has no error, the reason says so in terms of judges or of the
    arm `name`."""
    judges = any(role.name == name for role in plan.roles)
    if mean.clusters is not None and mean.clusters < 2:
        one = "one judge shows nothing of judges like it"
        return mean.without_interval(one if judges else f"one value of `{name}` shows nothing of others like it")
    if mean.reason == SINGLE_ITEM_CELL:
        one = "a part of it has one judge, and one shows nothing of judges like it"
        arm = f"a part of it has one value of `{name}`, and one shows nothing of others like it"
        return mean.without_interval(one if judges else arm)
    if mean.standard_error is None or mean.standard_error <= ROUNDING:
        alike = "judges do not differ: nothing shows how far others would"
        arm = f"the values of `{name}` do not differ: nothing shows how far others would"
        return mean.without_interval(alike if judges else arm)
    return mean


def generalized_rows(
    connection: Connection, plan: Plan, measure: Measure, by_people: bool, rows: Sequence[MeasureRow]
) -> list[MeasureRow]:
    """Return the rows of a measure with random facets, with intervals over items replaced by intervals over items and
    facets. Raises `StoreError` if the SQL of its scores fails."""
    by_cell = _by_cell(_read(connection, plan, measure, by_people), _facet_columns(plan, measure))
    return [_row(plan, measure, row, by_cell.get((row.by, row.model))) for row in rows]


def _row(plan: Plan, measure: Measure, row: MeasureRow, scores: FacetedScores | None) -> MeasureRow:
    """Return a row with its interval over items replaced by that over items and facets."""
    if row.value is None or scores is None:
        return row
    wide = generalized(row, scores.facets(plan), ends=_ends(measure))
    if wide.low is None or wide.high is None:
        return row.without_interval(wide.reason)
    bare = replace(row, standard_error=wide.standard_error, method="generalized", reason=None)
    return replace(bare, low=wide.low, high=wide.high)


@dataclass(frozen=True)
class FacetedMeans:
    """The comparison of a measure with random facets over the scores that two sides have for some items.

    Scores are paired by item, judge, prompt, metric and everything else that distinguishes scores; the samples of a
    reply, and the models of a side, are averaged first.
    """

    plan: Plan
    measure: Measure
    items: frozenset[str]

    def read(self, side: Side) -> ScoresByModel:
        """Return the scores of each model by key. Raises `StoreError` if the SQL fails."""
        rows = _read(side.connection, self.plan, self.measure, False)
        return _scores_by_key(rows, self.plan, self.measure, self.items)

    def differences(
        self, a: ScoresByModel, b: ScoresByModel, one: Sequence[str], two: Sequence[str]
    ) -> list[CellDifference]:
        """Return the means of both sides and their difference, with its error over items and facets, in each cell."""
        before, after = ([scores.get(model, {}) for model in models] for scores, models in ((a, one), (b, two)))
        by_cell: dict[Cell, list[Key]] = {}
        for key in sorted(set.intersection(*(set(scores) for scores in (*before, *after))), key=repr):
            by_cell.setdefault(after[0][key].cell, []).append(key)
        return [self._difference(cell, keys, before, after) for cell, keys in by_cell.items()]

    def _difference(
        self, cell: Cell, keys: Sequence[Key], before: Sequence[ScoresByKey], after: Sequence[ScoresByKey]
    ) -> CellDifference:
        def scores_of(values: Sequence[float]) -> FacetedScores:
            keyed = [after[0][key] for key in keys]
            return _faceted(
                [
                    (value, score.weight, score.cluster, score.inner, score.levels)
                    for value, score in zip(values, keyed, strict=True)
                ]
            )

        ends = difference_ends(self.measure)
        a, b = ([sum(scores[key].mean for scores in side) / len(side) for key in keys] for side in (before, after))
        scores = scores_of([second - first for first, second in zip(a, b, strict=True)])
        difference = generalized(scores.mean(scores.clusters, ends), scores.facets(self.plan), ends=ends, null=0.0)
        mean_a, mean_b = ((side.mean(side.clusters).value or 0.0) for side in (scores_of(a), scores_of(b)))
        return CellDifference(cell, mean_a, mean_b, difference)


Rows = list[dict[str, Any]]


def _read(connection: Connection, plan: Plan, measure: Measure, by_people: bool) -> Rows:
    """Return the rows of `scores_sql`: the single scores of a measure."""
    return query_rows(connection, scores_sql(plan, *_mean_of(plan, measure), by_people))[1]


def _mean_of(plan: Plan, measure: Measure) -> tuple[Measure, Aggregate]:
    """Return the measure that is a mean, possibly under another name, and the mean of scores in it."""
    if isinstance(measure.figure, Measured):
        renamed = named(plan.measures, measure.figure.measure)
        measure = renamed.model_copy(update={"by": measure.by, "random": measure.random})
    figure = measure.figure
    assert isinstance(figure, Aggregate)
    inner = figure if figure.of is None else figure.of
    assert isinstance(inner, Aggregate)
    return measure, inner


def _facet_columns(plan: Plan, measure: Measure) -> Callable[[Mapping[str, Any]], tuple[Cell, Cell, dict[str, Any]]]:
    """Return a function that splits a row of scores into its cell, its inner cell, and its level of each random
    facet."""
    roles = {role.name for role in plan.roles}
    columns = {name: "evaluator" if name in roles else name for name in measure.random}
    inner = _mean_of(plan, measure)[1].by

    def split(row: Mapping[str, Any]) -> tuple[Cell, Cell, dict[str, Any]]:
        levels = {name: row[column] for name, column in columns.items()}
        return tuple(row[name] for name in measure.by), tuple(row[name] for name in inner), levels

    return split


def _by_cell(
    rows: Rows, split: Callable[[Mapping[str, Any]], tuple[Cell, Cell, dict[str, Any]]]
) -> dict[tuple[Cell, str], FacetedScores]:
    """Return the scores of each cell and model."""
    by_cell: dict[tuple[Cell, str], list[tuple[float, float, str, Cell, dict[str, Any]]]] = {}
    for row in rows:
        cell, inner, levels = split(row)
        score = (row["value"], row["its weight"], row["cluster_id"], inner, levels)
        by_cell.setdefault((cell, row["model"]), []).append(score)
    return {key: _faceted(scores) for key, scores in by_cell.items()}


def _faceted(scores: Sequence[tuple[float, float, str, Cell, dict[str, Any]]]) -> FacetedScores:
    """Return scores as arrays. A score is its value, its weight, the cluster of its item, its inner cell, and its level
    of each facet."""
    # In a fixed order, so that the last bits of sums do not depend on how rows are stored.
    scores = sorted(scores, key=lambda score: (score[2], repr(score[3]), repr(score[4]), score[0], score[1]))
    return FacetedScores(
        np.array([value for value, *_ in scores], dtype=np.float64),
        np.array([weight for _, weight, *_ in scores], dtype=np.float64),
        _numbered([cluster for _, _, cluster, *_ in scores]),
        _numbered([inner for *_, inner, _ in scores]),
        {name: _numbered([levels[name] for *_, levels in scores]) for name in scores[0][-1]},
    )


def _numbered(names: Sequence[Any]) -> Ints:
    """Return codes of names, in the order of their first occurrence."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


@dataclass(frozen=True)
class _KeyedScore:
    """A score, or the mean of several scores with one key."""

    cell: Cell
    inner: Cell
    levels: dict[str, Any]
    cluster: str
    weight: float
    values: list[float]

    @property
    def mean(self) -> float:
        return sum(sorted(self.values)) / len(self.values)


ScoresByKey = Mapping[Key, _KeyedScore]
ScoresByModel = Mapping[str, ScoresByKey]


def _scores_by_key(rows: Rows, plan: Plan, measure: Measure, items: Collection[str]) -> ScoresByModel:
    """Return the scores of each model for some items, by key."""
    split = _facet_columns(plan, measure)
    keys = keys_of_scores(plan, _mean_of(plan, measure)[1])
    selected = frozenset(items)
    by_model: dict[str, dict[Key, _KeyedScore]] = {}
    for row in rows:
        if row["item_id"] not in selected:
            continue
        cell, inner, levels = split(row)
        key = (cell, inner, row["item_id"], *(row[name] for name in keys))
        scores = by_model.setdefault(row["model"], {})
        if key not in scores:
            scores[key] = _KeyedScore(cell, inner, levels, row["cluster_id"], row["its weight"], [])
        scores[key].values.append(row["value"])
    return by_model


def _ends(measure: Measure) -> tuple[float, float] | None:
    """Return the ends of the scale of a measure, if both are known."""
    return None if measure.low is None or measure.high is None else (measure.low, measure.high)
