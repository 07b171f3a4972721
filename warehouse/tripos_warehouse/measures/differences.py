"""Differences of measures between two sides (`sides.Side`), or between two models of one side.

This module alone chooses the estimator of a difference:

- A mean of scores, or a sum of such means, is compared score by score (`paired_scores`).
- A measure that people correct is compared by a prediction-powered difference (`statistics.prediction_powered`). Its λ
  is estimated for the difference, not for either model: effects of an item on both models cancel in a difference, so
  judge and people correlate differently in differences than in grades.
- A measure with random facets is compared score by score, with a standard error over its facets (`random_facets`).
- Any other measure is compared by the jackknife over items (`jackknife`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import Any, Protocol, TypeVar

import numpy as np

from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.evaluation import CorrectedInputs, InputsByCell, corrected_inputs, evaluate
from tripos_warehouse.measures.jackknife import Jackknife, over_items
from tripos_warehouse.measures.paired_scores import (
    PairedScores,
    paired_differences,
    paired_figure,
    read_scores,
)
from tripos_warehouse.measures.products import same_value, weighted_form
from tripos_warehouse.measures.random_facets import FacetedMeans
from tripos_warehouse.measures.sides import (
    Cell,
    CellDifference,
    Side,
    comparable_items,
    difference_ends,
    shared_items,
)
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import NO_SPREAD, ROUNDING, with_test
from tripos_warehouse.statistics.prediction_powered import InfluencedEstimate

Data = TypeVar("Data")
ModelDifferences = dict[tuple[Cell, str, str], Estimate]
"""The difference of two models (first minus second), by cell and names of the models."""


class Estimator(Protocol[Data]):
    """An estimator of differences of models over a set of items."""

    def read(self, side: Side) -> Data:
        """Return the data of the models of a side. Raises `StoreError` if the SQL fails."""

    def differences(self, a: Data, b: Data, one: Sequence[str], two: Sequence[str]) -> list[CellDifference]:
        """Return the difference of the mean of models `two` of `b` minus the mean of models `one` of `a`, in each cell
        in which all of them have a value."""


def _estimator(side: Side, measure: Measure, items: Collection[str]) -> Estimator[Any]:
    """Return the estimator for a measure that is not compared score by score from `paired_scores`."""
    if measure.corrected:
        return CorrectedMeans(side.plan, measure, sorted(items))
    if measure.random:
        return FacetedMeans(side.plan, measure, frozenset(items))
    return Jackknife.over(side, measure, sorted(items))


def measure_differences(
    a: Side, b: Side, measure: Measure, *, items: Collection[str] | None = None, pairs: PairedScores | None = None
) -> list[CellDifference]:
    """Return the values of a measure on both sides and their difference, `b` minus `a`, in each cell in which all
    models of both sides have a value; empty if the SQL of a side fails.

    `items` are the items to compare, by default those of both sides. `pairs` are the paired scores of both sides, if
    the caller has already read them. The measure is one of the plan of `b`.
    """
    plan = b.plan
    if (figure := paired_figure(plan, measure)) is not None:
        if pairs is None:
            pairs = read_scores(a, b, figure.by, mean=figure.mean).pairs(a.models, b.models)
        differences = paired_differences(plan, measure, figure, pairs, items)
        if differences or figure.times is None:
            return differences
    items = shared_items([a, b], measure) if items is None else items
    if (weighted := _weighted_side([a, b], measure)) is not None:
        plan, measure = weighted
        a, b = (replace(side, plan=plan) for side in (a, b))
    estimator = _estimator(b, measure, items)
    try:
        before = estimator.read(a)
        after = before if a.connection is b.connection and a.models == b.models else estimator.read(b)
    except StoreError:
        return []
    span = None if measure.low is None or measure.high is None else measure.high - measure.low
    without_name = {"name": "", "until": None, "lower_is_better": False, "higher_is_better": False}
    content = measure.model_copy(update=without_name).model_dump_json()
    return [
        replace(difference, span=span, identity=(content, difference.cell))
        for difference in estimator.differences(before, after, a.models, b.models)
    ]


def model_differences(
    side: Side,
    measure: Measure,
    *,
    models: Collection[tuple[str, str]] | None = None,
    items: Collection[str] | None = None,
) -> ModelDifferences:
    """Return the difference of two models of a side (first minus second) in each cell of a measure, for the pairs in
    `models`, by default all pairs, with the estimators of `measure_differences`.

    A pair is missing if one of its models has no value; pairs are also missing if the SQL fails. `items` are the items
    to compare, by default those that both models of a pair have.
    """
    plan, pairs = side.plan, list(combinations(side.models, 2) if models is None else models)
    if not pairs:
        return {}
    estimates: ModelDifferences = {}
    if (figure := paired_figure(plan, measure)) is not None:
        table = read_scores(side, side, figure.by, mean=figure.mean)
        for first, second in pairs:
            scores = table.pairs([second], [first])
            for difference in paired_differences(plan, measure, figure, scores, items):
                estimates[difference.cell, first, second] = difference.difference
        if figure.times is None:
            return estimates
        pairs = [pair for pair in pairs if ((), *pair) not in estimates]
    shared_pairs = _by_shared_items(side, measure, pairs, items)
    if (weighted := _weighted_side([side], measure)) is not None:
        side, measure = replace(side, plan=weighted[0]), weighted[1]
    for shared, model_pairs in shared_pairs.items():
        pair_side = replace(side, models=tuple(sorted({model for pair in model_pairs for model in pair})))
        estimator = _estimator(side, measure, shared)
        try:
            data = estimator.read(pair_side)
        except StoreError:
            continue
        for first, second in model_pairs:
            for difference in estimator.differences(data, data, [second], [first]):
                estimates[difference.cell, first, second] = difference.difference
    return estimates


def _weighted_side(sides: Sequence[Side], measure: Measure) -> tuple[Plan, Measure] | None:
    """Return the weighted form of a measure (`weighted_form`) if it has one with the same values on all sides, and its
    plan."""
    weighted = weighted_form(sides[-1].plan, measure)
    if weighted is None:
        return None
    for side in sides:
        forms = ((side.plan, measure), weighted)
        try:
            plain, other = (
                {(row.model, row.by): row.value for row in evaluate(side.connection, *form, values_only=True).rows}
                for form in forms
            )
        except StoreError:
            return None
        if plain.keys() != other.keys() or not all(same_value(value, other[cell]) for cell, value in plain.items()):
            return None
    return weighted


def _by_shared_items(
    side: Side, measure: Measure, models: Sequence[tuple[str, str]], items: Collection[str] | None
) -> Mapping[frozenset[str], list[tuple[str, str]]]:
    """Return the pairs of models by the items to compare: `items`, by default those that both models have. So pairs
    with equal items share their data."""
    if items is not None or not models:
        return {frozenset(items or ()): list(models)} if models else {}
    items_of = comparable_items(side, measure)
    by_items = defaultdict[frozenset[str], list[tuple[str, str]]](list)
    for first, second in models:
        first_items, second_items = (items_of.get(model, frozenset()) for model in (first, second))
        by_items[first_items if first_items is second_items else first_items & second_items].append((first, second))
    return by_items


# Measures that people correct


@dataclass(frozen=True)
class CorrectedMeans:
    """The estimator of differences in a measure that people correct, over a set of items."""

    plan: Plan
    measure: Measure
    items: Sequence[str]

    def read(self, side: Side) -> InputsByCell:
        """Return the correction inputs of each cell and model. Raises `StoreError` if the SQL fails."""
        with over_items(side, self.plan, self.measure, self.items):
            return corrected_inputs(side.connection, self.plan, self.measure)

    def differences(
        self, a: InputsByCell, b: InputsByCell, one: Sequence[str], two: Sequence[str]
    ) -> list[CellDifference]:
        """Return the corrected difference in each cell in which all models have correction inputs."""
        ends, differences = difference_ends(self.measure), []
        for cell in dict.fromkeys(cell for cell, _ in b):
            before, after = [a.get((cell, model)) for model in one], [b.get((cell, model)) for model in two]
            first, second = ([inputs for inputs in side if inputs is not None] for side in (before, after))
            if (len(first), len(second)) != (len(before), len(after)):
                continue
            difference, _ = corrected_difference(first, second, ends)
            value_a, value_b = (
                fmean(inputs.corrected(None)[0].value or 0.0 for inputs in side) for side in (first, second)
            )
            differences.append(CellDifference(cell, value_a, value_b, difference))
        return differences


def corrected_difference(
    first: Sequence[CorrectedInputs], second: Sequence[CorrectedInputs], ends: tuple[float, float] | None
) -> tuple[Estimate, float]:
    """Return the corrected difference of the mean of `second` minus that of `first`, with a test against 0, and its λ.

    Influences are summed by item, so that an item's effects on both sides cancel. `n` is the number of graded replies
    of the side with fewer of them, and the degrees of freedom are those of the side with fewer graded items.
    """
    names = sorted({name for inputs in (*first, *second) for name in inputs.names})
    index = {name: place for place, name in enumerate(names)}
    weighted = [(inputs, -1 / len(first)) for inputs in first] + [(inputs, 1 / len(second)) for inputs in second]
    graded = np.zeros(len(index), dtype=bool)
    influences = [np.zeros(len(index)) for _ in range(3)]
    values = [0.0, 0.0, 0.0]
    for model_inputs, weight in weighted:
        places = np.array([index[name] for name in model_inputs.names], dtype=np.intp)
        graded[places] |= model_inputs.graded
        estimates = (model_inputs.judge, model_inputs.judge_labelled, model_inputs.people)
        for kind, estimate in enumerate(estimates):
            influences[kind][places] += weight * estimate.influences
            values[kind] += weight * estimate.value
    counts = [sum(inputs.n for inputs in side) for side in (first, second)]
    all_inputs = [inputs for inputs, _ in weighted]
    judge, judge_labelled, people = map(InfluencedEstimate, values, influences)
    inputs = CorrectedInputs(
        judge,
        judge_labelled,
        people,
        graded,
        tuple(index),
        n=min(counts),
        df=min(min(model_inputs.df, model_inputs.items - 1) for model_inputs in all_inputs),
        units=min(model_inputs.units for model_inputs in all_inputs),
    )
    result, power = inputs.corrected(ends, null=0.0)
    has_no_error = result.standard_error is not None and result.standard_error <= ROUNDING
    if result.reason == NO_SPREAD or has_no_error:
        # All graded items have the same difference: the p-value is that of the sign-flip test (Fisher 1935).
        differs = abs(result.value or 0.0) > ROUNDING
        result = with_test(result, min(1.0, 2.0 ** (1 - inputs.items)) if differs else 1.0)
    return result, power
