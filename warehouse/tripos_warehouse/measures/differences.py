"""Differences of measures between two sides, or between two models of one side.

The choice of the estimator is made here, and nowhere else:

- A mean of scores, or a sum of such means, is compared score by score (`paired_scores`).
- A measure that people correct has a difference with its own λ: people's difference on the replies that they graded,
  plus what the judge's difference adds. How well a judge's differences follow those of people is another question than
  how well its grades do, since effects of an item on both models cancel. So λ is estimated for the difference, and not
  for either model.
- A measure with random facets is compared score by score, with the error over its facets (`random_facets`).
- Any other measure is computed again and again without some of the items (`jackknife`).
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
from tripos_warehouse.measures.evaluation import CorrectedInputs, InputsByCell, corrected_inputs
from tripos_warehouse.measures.jackknife import Jackknife, over_items
from tripos_warehouse.measures.paired_scores import (
    PairedScores,
    paired_differences,
    paired_figure,
    read_scores,
)
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
"""By cell and two models: how far the first is above the second."""


class Estimator(Protocol[Data]):
    """A way to compare models over some items."""

    def read(self, side: Side) -> Data:
        """Return the data of the models of a side. Raises `StoreError` if the SQL fails."""

    def differences(self, a: Data, b: Data, one: Sequence[str], two: Sequence[str]) -> list[CellDifference]:
        """Return the difference of models `two` of `b` less their counterparts `one` of `a`, in each cell in which all
        of them have a value."""


def _estimator(side: Side, measure: Measure, items: Collection[str]) -> Estimator[Any]:
    """Return how a measure is compared whose scores are not paired."""
    if measure.corrected:
        return CorrectedMeans(side.plan, measure, sorted(items))
    if measure.random:
        return FacetedMeans(side.plan, measure, frozenset(items))
    return Jackknife.over(side, measure, sorted(items))


def measure_differences(
    a: Side, b: Side, measure: Measure, *, items: Collection[str] | None = None, pairs: PairedScores | None = None
) -> list[CellDifference]:
    """Return the values of a measure of `b` on both sides, and how far `b` is above `a`, in each cell in which all
    models of both sides have a value; nothing if a side cannot run its SQL.

    They are over `items`, or those that both sides have; `pairs` are the paired scores of both sides if they are known.
    """
    plan = b.plan
    if (figure := paired_figure(plan, measure)) is not None:
        if pairs is None:
            pairs = read_scores(a, b, figure.by, mean=figure.mean).pairs(a.models, b.models)
        differences = paired_differences(plan, measure, figure, pairs, items)
        if differences or figure.times is None:
            return differences
    estimator = _estimator(b, measure, shared_items([a, b], measure) if items is None else items)
    try:
        before = estimator.read(a)
        after = before if a.connection is b.connection and a.models == b.models else estimator.read(b)
    except StoreError:
        return []
    span = None if measure.low is None or measure.high is None else measure.high - measure.low
    unnamed = {"name": "", "until": None, "lower_is_better": False, "higher_is_better": False}
    content = measure.model_copy(update=unnamed).model_dump_json()
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
    """Return how two models of a side differ (first less second) in each cell of a measure, for every two or those in
    `models`, as `measure_differences` has it. Two are missing if one of them has no value, and all are if the SQL
    cannot be run. Over `items`, or for every two those that both have."""
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
    for shared, compared in _by_shared_items(side, measure, pairs, items).items():
        own = replace(side, models=tuple(sorted({model for pair in compared for model in pair})))
        estimator = _estimator(side, measure, shared)
        try:
            data = estimator.read(own)
        except StoreError:
            continue
        for first, second in compared:
            for difference in estimator.differences(data, data, [second], [first]):
                estimates[difference.cell, first, second] = difference.difference
    return estimates


def _by_shared_items(
    side: Side, measure: Measure, models: Sequence[tuple[str, str]], items: Collection[str] | None
) -> Mapping[frozenset[str], list[tuple[str, str]]]:
    """Return every two models by the items that both have, so that those with the same items are compared at once."""
    if items is not None or not models:
        return {frozenset(items or ()): list(models)} if models else {}
    own = comparable_items(side, measure)
    by_items = defaultdict[frozenset[str], list[tuple[str, str]]](list)
    for first, second in models:
        one, two = (own.get(model, frozenset()) for model in (first, second))
        by_items[one if one is two else one & two].append((first, second))
    return by_items


# Measures that people correct


@dataclass(frozen=True)
class CorrectedMeans:
    """The comparison of a measure that people correct, over some items."""

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
        """Return the corrected difference in each cell in which all models have their inputs."""
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
