"""The least difference of two models that a run detects, with the cells, items and clusters that its data have."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from tripos_compiler.language import Clustering, Unavailable, evaluate
from tripos_compiler.language.figures import AGGREGATES, ScoredStep, element_name, scored_by, scored_values_of
from tripos_compiler.plan import (
    Aggregate,
    Column,
    Each,
    Figure,
    Grade,
    Measure,
    Measured,
    Plan,
    Ref,
    Score,
    Step,
    Treatment,
    named,
)
from tripos_compiler.source import DataError
from tripos_runtime.datasets import Case, CaseSource, Selection
from tripos_warehouse.report import headlines
from tripos_warehouse.statistics.design import CORRELATION, MeanDesign, least_difference, mean_design, paired_variance

WORST = 0.25
"""The greatest variance on a scale of length 1, (1 / 2)²: half of the values at either end (Popoviciu, 1935)."""
NOTABLE = 0.8
"""Where the items are worth less than this share of as many that weigh alike, the plan says so."""
MOST_SIZES = 4
"""The sizes of so many cells are listed; of more, the least and the greatest."""
OF_GRADERS = frozenset({"evaluator", "pair"})
"""Dimensions that all items have alike."""


@dataclass(frozen=True)
class FigureDesign:
    """How a mean weighs the items that it is planned over, and the dimensions of its cells."""

    mean: MeanDesign
    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    """Of each independent item the elements that are scored, or else the items of a cluster."""
    of_elements: bool

    def cell(self, place: int) -> str:
        """Return the name of a cell: `subject: a`. Of cells with the same items it has what they have in common."""
        labels: Sequence[Any] = self.mean.labels[place]
        values = {dim: {label[at] for label in labels} for at, dim in enumerate(self.dims)}
        own = [(dim, next(iter(found))) for dim, found in values.items() if len(found) == 1]
        return ", ".join(f"{dim.rpartition('.')[2]}: {'none' if value is None else value}" for dim, value in own)


@dataclass(frozen=True)
class Detection:
    """The least difference in the first headline that a test at 5 % detects with a power of 80 %, for the worst
    variance that its scale allows. `same_items` and `different_items` are shares of the scale; `None` where no test
    detects anything."""

    measure: str | None
    """`None` where no headline is a mean of scores: then all items of the benchmark are counted alike."""
    items: int
    """The independent ones: clusters, where items were drawn together."""
    clustered: bool
    design: FigureDesign | None = field(default=None, repr=False)
    """`None` where all items weigh alike."""
    within: tuple[str, int] | None = None
    """The scenario with the fewest independent items, of several."""

    def least(self, variance: float = 1.0, learned: int | None = None) -> float:
        """Return the least difference if that of an item has this variance, which `learned` items taught."""
        if self.design is None:
            return least_difference(variance / self.items, self.items - 1, learned)
        return math.sqrt(variance) * self.design.mean.least(learned)

    @property
    def effective_items(self) -> float:
        """The items that would be as sure if they weighed alike."""
        return self.items if self.design is None else self.design.mean.effective

    @property
    def df(self) -> float:
        """The degrees of freedom of the error."""
        return self.items - 1 if self.design is None else self.design.mean.df

    @property
    def same_items(self) -> float | None:
        """The least difference of two models on the same items, whose scores correlate by 0.5."""
        return self._share(CORRELATION)

    @property
    def different_items(self) -> float | None:
        """The least difference of two models with items of their own."""
        return self._share(0.0)

    def _share(self, correlation: float) -> float | None:
        found = self.least(paired_variance(WORST, WORST, correlation))
        return None if math.isinf(found) else found

    @property
    def sentences(self) -> list[str]:
        """The differences that are detected, and the cost of unevenness if it is high.

        >>> print(Detection("quality", 198, False).sentences[0])  # doctest: +NORMALIZE_WHITESPACE
        198 items: a test detects a difference of 10 % of the scale of `quality` between two models on the same items,
        and of 14 % on different items (80 % power, worst case).
        """
        if self.design is not None and self.design.mean.single:
            return self.unevenness
        counted = "cluster" if self.clustered else "item"
        same, different = _percent(self.same_items), _percent(self.different_items)
        scale = "a scale" if self.measure is None else f"the scale of `{self.measure}`"
        told = (
            f"{self.items:,} {counted}{'s' if self.items > 1 else ''}: a test detects a difference of {same} of"
            f" {scale} between two models on the same items, and of {different} on different items (80 % power, worst"
            " case)."
        )
        if self.within is None:
            return [told, *self.unevenness]
        name, items = self.within
        least = _percent(least_difference(paired_variance(WORST, WORST, CORRELATION) / items, items - 1))
        return [told, f"Within `{name}`, with {items:,}: {least}.", *self.unevenness]

    @property
    def unevenness(self) -> list[str]:
        """The sentence on what uneven cells, items or clusters cost; none where they cost little."""
        design = self.design
        if design is None:
            return []
        counted = "cluster" if self.clustered else "item"
        if design.mean.single:
            cell, cells = design.cell(design.mean.single[0]), len(design.mean.single)
            if cells == 1:
                return [f"No test tells two models apart in `{self.measure}`: its cell `{cell}` has one {counted}."]
            named = f"No test tells two models apart in `{self.measure}`"
            return [f"{named}: {cells:,} of its cells have one {counted}, as `{cell}` has."]
        if design.mean.effective >= NOTABLE * self.items:
            return []
        worth = _number(design.mean.effective)
        if not design.dims:
            least, most = min(design.sizes), max(design.sizes)
            if least == most:
                return [f"Rows weigh unequally: the mean is as sure as that of {worth} that count alike would be."]
            sized = f"{least:,} to {most:,}"
            if design.of_elements:
                held = "Clusters" if self.clustered else "Items"
                return [f"{held} of {sized} elements: the mean is as sure as that of {worth} of one size would be."]
            return [f"Clusters of {sized} items: the mean is as sure as that of {worth} of one size would be."]
        sizes = _listed([len(cell.weights) for cell in design.mean.cells])
        share = max(design.mean.shares)
        heavy = design.mean.shares.index(share)
        if share <= 0.5:
            return [f"Cells of {sizes} {counted}s: their mean is as sure as that of {worth} that count alike would be."]
        return [
            f"Cells of {sizes} {counted}s: their mean is as sure as that of {worth} that count alike would be, and"
            f" {100 * share:.0f} % of its variance comes from `{design.cell(heavy)}`."
        ]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values; `cells` with the units of each and its share of the variance."""
        design = self.design
        cells = [] if design is None or not design.dims else enumerate(design.mean.cells)
        return {
            "measure": self.measure,
            "power": 0.8,
            "level": 0.05,
            "items": self.items,
            "clustered": self.clustered,
            "effective_items": self.effective_items,
            "degrees_of_freedom": self.df,
            "same_items": self.same_items,
            "different_items": self.different_items,
            "cells": [
                {"cell": design.cell(at), "items": len(cell.weights), "share_of_variance": design.mean.shares[at]}
                for at, cell in cells
                if design is not None
            ],
        }


def _percent(share: float | None) -> str:
    return "100 % or more" if share is None or share >= 1 else f"{100 * share:.0f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _listed(sizes: Sequence[int]) -> str:
    told = [f"{size:,}" for size in sorted(sizes)]
    return f"{told[0]}–{told[-1]}" if len(told) > MOST_SIZES else ", ".join(told)


def independent_items(items: Mapping[str, int], clusterings: Sequence[Clustering]) -> dict[str, int]:
    """Return the number of independent items of every scenario: clusters, where items were drawn together."""
    known = {name: each for each in clusterings for name in each.scenarios}
    return {
        name: round(count * known[name].clusters / known[name].items) if name in known else count
        for name, count in items.items()
    }


def headline_detection(plan: Plan, source: CaseSource, selection: Selection) -> Detection | None:
    """Return what a run over the chosen items detects in its first headline; `None` without any."""
    measure = next(iter(headlines(plan)), None)
    return find_detection(plan, source, selection, measure, source.counts(selection), source.clusterings(selection))


def find_detection(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    measure: Measure | None,
    items: Mapping[str, int],
    clusterings: Sequence[Clustering],
) -> Detection | None:
    """Return what a run detects in a measure, over so many items of each scenario; `None` without any."""
    inner = None if measure is None else _mean_of(plan, measure.figure)
    names = set(items)
    if inner is not None:
        names &= {each.name for scored in scored_by(scored_values_of(plan), inner) for each in scored.scenarios}
    independent = independent_items(items, clusterings)
    counts = {name: count for name, count in independent.items() if count and name in names}
    if not counts:
        return None
    design = None if measure is None else figure_design(plan, source, selection, measure)
    fewest = min(counts, key=lambda name: counts[name])
    return Detection(
        None if inner is None or measure is None else measure.name,
        sum(counts.values()) if design is None else design.mean.units,
        any(name in each.scenarios for each in clusterings for name in counts),
        design,
        (fewest, counts[fewest]) if len(counts) > 1 else None,
    )


def figure_design(plan: Plan, source: CaseSource, selection: Selection, measure: Measure) -> FigureDesign | None:
    """Return how a measure weighs the chosen items; `None` where it is no mean of scores, where all weigh alike, and
    where its rows are yet to be made."""
    inner = _mean_of(plan, measure.figure)
    if inner is None:
        return None
    [scored, *_] = scored_by(scored_values_of(plan), inner)
    chosen = {scenario.name for scenario in selection.chosen(plan)}
    scenarios = [scenario for scenario in scored.scenarios if scenario.name in chosen]
    arms = {arm.name for arm in plan.arms}
    dims = tuple(dim for dim in inner.by if dim not in OF_GRADERS)
    clustered = any(scenario.name in source.clusters.scenarios for scenario in scenarios)
    if len(scenarios) == 1 and not clustered and not scored.scores_elements and arms.issuperset(dims):
        return None
    if not scenarios or any(source.is_unmade(scenario) for scenario in scenarios) or any(map(_is_nodes, dims)):
        return None
    rows = _Rows(plan, scored, dims, "metric" not in dims)
    units: list[str] = []
    cells: list[tuple[Any, ...]] = []
    weights: list[float] = []
    sizes: Counter[str] = Counter()
    try:
        for case in source.cases_of(scenarios, selection):
            unit = source.cluster(case) or case.item_id
            for cell, weight in rows.of(case).items():
                units.append(unit)
                cells.append(cell)
                weights.append(weight)
            sizes[unit] += rows.size(case)
    except DataError:
        return None
    if not units:
        return None
    sized = tuple(size for size in sizes.values() if size)
    return FigureDesign(mean_design(units, cells, weights), dims, sized, scored.scores_elements)


def _mean_of(plan: Plan, figure: Figure) -> Aggregate | None:
    """Return the mean of rows that a figure is, or that it is the mean of the cells of; `None` of any other."""
    match figure:
        case Measured(measure=name, slice=fixed) if not fixed:
            return _mean_of(plan, named(plan.measures, name).figure)
        case Aggregate(of=None) if _is_mean(figure):
            return figure if not figure.across else None
        case Aggregate(of=Aggregate(of=None) as inner) if _is_mean(figure) and _is_mean(inner) and not figure.by:
            return inner if not inner.across else None
    return None


def _is_mean(figure: Aggregate) -> bool:
    found = AGGREGATES.get(figure.function)
    return found is not None and found.of_rows


def _is_nodes(dim: str) -> bool:
    return dim.endswith(".nodes")


@dataclass(frozen=True)
class _Rows:
    """Reads from a case the rows that a mean will have of it."""

    plan: Plan
    scored: ScoredStep
    dims: tuple[str, ...]
    weighted: bool
    """True if metrics count with their weights."""

    def of(self, case: Case) -> dict[tuple[Any, ...], float]:
        """Return the weight of the case in each cell."""
        found: defaultdict[tuple[Any, ...], float] = defaultdict(float)
        own = {step.fingerprint for step in self.scored.steps}
        for treatment in case.scenario.treatments:
            for step in treatment.steps:
                if step.fingerprint in own and not _ruled_out(step, case):
                    samples = _samples(treatment, step)
                    for (metric, weight), element in product(self._metrics(step), _elements(step, case)):
                        at = tuple(self._value(dim, case, treatment, metric, element) for dim in self.dims)
                        found[at] += samples * weight
        return found

    def size(self, case: Case) -> int:
        """Return how many elements of the case are scored; 1 where a reply is."""
        own = {step.fingerprint for step in self.scored.steps}
        steps = [step for step in case.scenario.steps if step.fingerprint in own]
        return max((sum(1 for _ in _elements(step, case)) for step in steps if not _ruled_out(step, case)), default=0)

    def _metrics(self, step: Step) -> list[tuple[str, float]]:
        if not isinstance(step, Grade) or not step.metrics:
            return [(step.name, 1.0)]
        weights = step.weights if self.weighted and step.weights else (1.0,) * len(step.metrics)
        every = list(zip(step.metrics, weights, strict=True))
        return every if self.scored.kind == "scorer" else [(self.scored.name, 1.0)]

    def _value(self, dim: str, case: Case, treatment: Treatment, metric: str, element: Any) -> Any:
        head, *path = dim.split(".")
        axis = next((axis for axis in self.plan.axes if axis.name == head), None)
        match dim:
            case "scenario":
                return case.scenario.name
            case "metric":
                return metric
            case "dimension":
                return next((each.dimension for each in self.plan.metrics if each.name == metric), None)
            case _ if dim in treatment.arms:
                return treatment.arms[dim]
            case _ if axis is not None:
                value = case.context.get(head)
                if not path:
                    return value
                return next((each.group for each in axis.values if each.name == value), None)
        names = {element_name(step) for step in self.scored.steps}
        return _at(element if head in names else case.fields, path)


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _samples(treatment: Treatment, step: Step) -> int:
    of = getattr(step, "of", None)
    return next((each.samples for each in treatment.steps if each.name == of and hasattr(each, "samples")), 1)


def _ruled_out(step: Step, case: Case) -> bool:
    """Return true if the data alone say that a score has no row of the case."""
    when = getattr(step, "when", None)
    if when is None:
        return False
    try:
        return not evaluate(when, case.names)
    except (Unavailable, LookupError):  # a reply decides, or a function in Python, which is not loaded yet
        return False


def _elements(step: Step, case: Case) -> Iterator[Any]:
    """Yield the elements that are scored, each on its own; one where a reply says which they are."""
    value = step.value if isinstance(step, Score | Column) and step.element is not None else None
    if not isinstance(value, Each):
        yield None
        return
    try:
        elements = evaluate(Each(loop=value.loop, value=Ref(path=(value.loop.alias,))), case.names)
    except (Unavailable, LookupError):  # as above
        elements = [None]
    yield from elements
