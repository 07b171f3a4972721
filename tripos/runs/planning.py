"""The plan of a run: its items, its model calls, and their cost, before any call is made.

The design of a run that costs least: what the store teaches about the noise of a measure, and what calls cost.

Prices of designs: of both models' replies to an item, of each judge, and of labels by people.

The least difference of two models that a run detects, with the cells, items and clusters that its data have.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from tripos.errors import Failure
from tripos.runs.compilation import CompiledSpec
from tripos.runs.preparation import RunWarning, damage_warning, family_warning, settings_warning, sight_warning
from tripos.runs.records import find_store
from tripos.runs.selection import Choices, chosen_binding, has_models, select_cases
from tripos.settings.config import Config
from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.diagnostics.text_format import usd
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.language.contexts import Clustering
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.scored_values import ScoredStep, element_name, scored_by, scored_values_of
from tripos_compiler.plan import (
    Aggregate,
    Ask,
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
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.cases import Case, CaseSource, Planned, planned_steps
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.estimates import EstimateSpan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.study_design import (
    GradedItems,
    MeasureComponents,
    MoreLabels,
    call_costs,
    find_more_labels,
    label_components,
    measure_components,
    scored_step,
)
from tripos_warehouse.report.leaderboard import headlines
from tripos_warehouse.statistics.power import (
    MOST_ITEMS,
    Design,
    Levers,
    MeanDesign,
    Prices,
    Space,
    cheapest,
    least_difference,
    mean_design,
    paired_variance,
    sharpest,
)
from tripos_warehouse.statistics.variance import CORRELATION as VARIANCE_CORRELATION, DifferenceComponents, Unknown
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import all_runs, get_selected

if TYPE_CHECKING:
    from tripos.runs.early_stopping import SettlingForecast
    from tripos_runtime.drivers.prepared import PreparedRun
    from tripos_runtime.forecast.prompts import PromptPreview
    from tripos_runtime.forecast.run_forecast import BatchForecast, Forecast
    from tripos_runtime.program.binding import RoleBinding


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
        return self._share(VARIANCE_CORRELATION)

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
        least = _percent(least_difference(paired_variance(WORST, WORST, VARIANCE_CORRELATION) / items, items - 1))
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


@dataclass(frozen=True)
class RunPlan:
    """The items and model calls of a run. `calls`, `tokens_in`, `tokens_out` and `cost_usd` have `low`, `expected` and
    `high`: a run never makes more calls than `calls.high`."""

    plan: Plan
    source: CaseSource
    selection: Selection
    items: Mapping[str, int]
    """The number of items of every scenario that is run."""
    slots: Mapping[str, int]
    """The number of rows of every data set that models write, at the most."""
    roles: Mapping[str, int]
    """The number of models of every role."""
    steps: tuple[Planned, ...]
    """The calls of every step: `place` is its scenario or data set, and `least` to `most` bound its calls."""
    prepared: PreparedRun | None = None
    forecast: Forecast | None = None
    """The forecast from the store and the prices; `None` where no models are named."""
    warnings: tuple[RunWarning, ...] = ()
    batches: BatchForecast | None = None
    """The batches, level by level, if models are asked in these."""
    settling: SettlingForecast | None = None
    """How far a run goes that stops when it is settled, by earlier runs."""
    clusterings: tuple[Clustering, ...] = ()
    """What its items are clustered by, where some were drawn together."""

    @property
    def independent(self) -> dict[str, int]:
        """The number of independent items of every scenario: clusters, where items were drawn together."""
        return independent_items(self.items, self.clusterings)

    @cached_property
    def detection(self) -> Detection | None:
        """The least difference that the run detects in its first headline, with the cells, items and clusters that its
        data have; `None` without an item."""
        return self.detection_of(next(iter(headlines(self.plan)), None))

    def detection_of(self, measure: Measure | None) -> Detection | None:
        """Return the least difference that the run detects in a measure."""
        return find_detection(self.plan, self.source, self.selection, measure, self.items, self.clusterings)

    @property
    def calls(self) -> EstimateSpan:
        """The calls that the run makes; those that the store has are not made again."""
        if self.forecast is not None:
            return self.forecast.total.calls
        least, expected, most = (sum(getattr(each, name) for each in self.steps) for name in ("least", "calls", "most"))
        return EstimateSpan(least, expected, most)

    @property
    def reused(self) -> int:
        """The calls that the store has already."""
        return 0 if self.forecast is None else self.forecast.reused

    @property
    def tokens_in(self) -> EstimateSpan | None:
        """The tokens that are sent; `None` where no models are named."""
        return None if self.forecast is None else self.forecast.total.tokens_in

    @property
    def tokens_out(self) -> EstimateSpan | None:
        """The tokens that are received; `None` where no models are named."""
        return None if self.forecast is None else self.forecast.total.tokens_out

    @property
    def cost_usd(self) -> EstimateSpan | None:
        """The cost in USD; `None` where no models are named, or the price of one is not known: see `unpriced`."""
        return None if self.forecast is None else self.forecast.total.cost_usd

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is not known."""
        return () if self.forecast is None else self.forecast.unpriced

    def prompts(self, items: int = 1) -> Sequence[PromptPreview]:
        """Return what models would be sent, whole, for the first items of each scenario; parts that replies will fill
        stand in ⟨⟩. No store is read and nothing is asked. Raises `Failure`."""
        binding = None if self.prepared is None else self.prepared.binding
        return _prompts(self.plan, self.source, self.selection, binding, items)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values: what `tripos run --dry-run --json` prints, where models are named."""
        if self.forecast is None or self.prepared is None:
            calls = [_step(each) for each in self.steps]
            return {"items": dict(self.items), **self._design(), "calls": calls}
        from tripos.runs.forecast import forecast_values

        withheld = self.source.withheld_counts(self.selection)
        told = {**forecast_values(self.forecast, self.prepared.budget, self.batches), "items_withheld": dict(withheld)}
        told |= self._design()
        return told if self.settling is None else {**told, "settling": self.settling.to_json()}

    def _design(self) -> dict[str, Any]:
        clusters = {"clusters": [each.to_json() for each in self.clusterings]} if self.clusterings else {}
        return {**clusters, "detects": None if self.detection is None else self.detection.to_json()}

    def __repr__(self) -> str:
        benchmark, calls, cost = self.plan.benchmark, self.calls, self.cost_usd
        told = f"{sum(self.items.values()):,} items, {calls.low:,.0f} to {calls.high:,.0f} calls"
        if self.forecast is not None:
            told += ", cost unknown" if cost is None else f", {usd(cost.low)} to {usd(cost.high)} USD"
        return f"<RunPlan of {benchmark.name} {benchmark.version}: {told}>"


def plan_run(
    spec: CompiledSpec, choices: Choices, config: Config, warn: Callable[[RunWarning | None], None]
) -> RunPlan:
    """Plan a run; of one model in each role where nothing names models. `warn` is told the warnings about the models.
    Raises `Failure`."""
    plan = spec.plan
    if not has_models(choices, config):
        source, selection = select_cases(spec, choices)
        try:
            roles, items, slots = _ones(plan), source.counts(selection), source.slot_counts(selection)
        except DataError as error:
            raise Failure("E0307", error.message, error.help) from error
        steps = tuple(planned_steps(selection.under(plan), items, roles, slots))
        told = RunPlan(plan, source, selection, items, slots, roles, steps, clusterings=source.clusterings(selection))
        return _with_settling(told, config)
    from tripos.runs.forecast import foresee_batches, foresee_run
    from tripos.runs.preparation import prepare
    from tripos_runtime.forecast.run_forecast import planned

    prepared = prepare(spec, choices, config, approved=False)
    warn(family_warning(prepared))
    warn(settings_warning(prepared))
    warn(sight_warning(prepared))
    source, selection = prepared.source, prepared.selection
    items, slots = source.counts(selection), source.slot_counts(selection)  # before rows that are kept are gone through
    clusterings = source.clusterings(selection)
    found = foresee_run(prepared, config, lambda error: warn(damage_warning(error)))
    roles = {role: len(names) for role, names in prepared.binding.models.items()}
    steps = tuple(planned(found, selection.under(plan)))
    batches = foresee_batches(found, prepared, config)
    told = RunPlan(
        plan, source, selection, items, slots, roles, steps, prepared, found, batches=batches, clusterings=clusterings
    )
    return _with_settling(told, config)


def _with_settling(found: RunPlan, config: Config) -> RunPlan:
    if found.selection.until is None:
        return found
    from tripos.runs.early_stopping import SettlingForecast, foresee_settling

    prepared = found.prepared
    asked = () if prepared is None else prepared.binding.of(prepared.binding.compared)
    whole = SettlingForecast(sum(found.items.values()), calls=found.calls, cost_usd=found.cost_usd)
    settling = foresee_settling(found.source, found.selection, asked, whole, config.store)
    return replace(found, settling=settling)


@dataclass(frozen=True)
class RunPreview:
    """What models would be sent for the first items of each scenario."""

    prompts: Sequence[PromptPreview]
    unasked: Sequence[Case]
    """The items for which nothing is sent."""
    without: Sequence[str]
    """The scenarios that have no item to show."""


def preview_run(spec: CompiledSpec, choices: Choices, config: Config, items: int) -> RunPreview:
    """Return what models would be sent for the first items of each scenario, without a forecast. Raises `Failure`."""
    source, selection = select_cases(spec, choices)
    binding = None
    if has_models(choices, config):
        binding, _ = chosen_binding(choices, spec.path, config, spec.plan, spec.compilation.releases)
    unasked: list[Case] = []
    found = _prompts(spec.plan, source, selection, binding, items, unasked)
    looked_at = {*(each.scenario for each in found), *(each.scenario.name for each in unasked)}
    without = tuple(each.name for each in selection.chosen(spec.plan) if each.name not in looked_at)
    return RunPreview(found, tuple(unasked), without)


def _prompts(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding | None,
    items: int,
    unasked: list[Case] | None = None,
) -> Sequence[PromptPreview]:
    from tripos_runtime.forecast.prompts import preview_prompts, stand_ins

    try:
        known = binding or stand_ins(plan)
        seen: list[Case] = [] if unasked is None else unasked
        return list(preview_prompts(plan, source, selection, known, items, seen.append))
    except DataError as error:
        raise Failure("E0307", error.message, error.help) from error


def _ones(plan: Plan) -> dict[str, int]:
    """Return one model for every role."""
    return {role.name: 1 for role in plan.roles}


def _step(step: Planned) -> dict[str, Any]:
    return {"place": step.place, "step": step.step, "role": step.role, "at_least": step.least, "at_most": step.most}


@dataclass(frozen=True)
class Places:
    """Where the calls of a measure are made: scenarios, the roles of judges, and the judges; `units` are all samples of
    all items, and `costs` what kept calls cost."""

    scenarios: tuple[str, ...]
    roles: tuple[str, ...]
    panel: tuple[str, ...]
    units: int
    costs: Mapping[str, float]
    rows: float = 1.0
    """How many items there are for each that is independent: more than one where a cluster has several."""


def design_prices(
    found: RunPlan, config: Config, wanted: str, must: bool, label_price: float | None, places: Places
) -> tuple[str, Prices]:
    """Return what costs are counted in, and the prices of both models' replies to an item, of each judge, and of a
    person who grades these replies.

    Raises `Failure` R0404 where a price is not known, and USD `must` be what costs are counted in.
    """
    if wanted == "USD":
        by_usd = _usd(found, places)
        label = None if label_price is None else 2 * label_price
        if by_usd is not None and (by_usd.replies or sum(by_usd.judgements) or label):
            return "USD", replace(by_usd, batch=_batch_share(found, config), labels=label)
        if label is not None:
            who = ", ".join(found.unpriced) or "these models"
            told = f"a label costs money, and no price is known of {who}"
            raise Failure("R0404", told, "write its price into tripos.toml, or leave out `--label-price`")
        if must:
            who = ", ".join(found.unpriced) or "these models"
            hint = "write its price into tripos.toml, or give a number of calls: --spend 1000calls"
            raise Failure("R0404", f"no price is known of {who}", hint)
    return "calls", _calls(found, places)


def _usd(found: RunPlan, places: Places) -> Prices | None:
    """Return prices from the forecast: the cost of a call at each place, times its calls, by item and sample. Of calls
    that are all kept it is what they cost."""
    forecast = found.forecast
    if forecast is None or found.prepared is None:
        return None
    models = max(1, len(found.prepared.binding.models[found.prepared.binding.compared]))
    replies, judged = 0.0, dict.fromkeys(places.panel, 0.0)
    for where, line in forecast.lines.items():
        calls = line.reused + line.most
        if where.scenario not in places.scenarios or not calls:
            continue
        estimate = forecast.estimates.get(where)
        each = places.costs.get(where.model)
        if estimate is not None and estimate.calls.expected:
            each = None if estimate.cost_usd is None else estimate.cost_usd.expected / estimate.calls.expected
        if each is None:
            return None
        if where.role in places.roles and where.model in judged:
            judged[where.model] += each * calls
        else:
            replies += each * calls
    share = 2 / models / places.units
    return Prices(replies * share, tuple(judged[name] * share for name in places.panel))


def _calls(found: RunPlan, places: Places) -> Prices:
    """Return prices in calls: of a reply the steps that ask for it, and one of a judge; for each item of a cluster."""
    asked = {(each.place, each.step) for each in found.steps if each.place in places.scenarios}
    judged = {(each.place, each.step) for each in found.steps if each.role in places.roles}
    each = 2.0 * places.rows
    return Prices(each * max(1, len({step for _, step in asked - judged})), tuple(each for _ in places.panel))


def _batch_share(found: RunPlan, config: Config) -> float | None:
    """Return what models cost in a batch, as a share; `None` where one takes none, or the run is asked in batches."""
    from tripos.runs.forecast import known_prices
    from tripos_runtime.models.batches import takes_batches

    if found.prepared is None or found.prepared.wiring.batch:
        return None
    live, batched = (known_prices(found.prepared.binding, config, batch=batch) for batch in (False, True))
    paid = [name for name, price in live.items() if price is not None and (price.input_usd or price.output_usd)]
    if not paid or not all(map(takes_batches, paid)):
        return None
    shares = []
    for name in paid:
        whole, less = live[name], batched[name]
        if whole is None or less is None:
            return None
        shares.append((less.input_usd + less.output_usd) / (whole.input_usd + whole.output_usd))
    return max(shares)


CORRELATION = 0.5


@dataclass(frozen=True)
class DesignQuestion:
    """The question: a difference to `detect`, in the unit of the measure, or an amount to `spend` of `unit`."""

    detect: float | None = None
    spend: float | None = None
    unit: str = "USD"
    measure: str | None = None
    label_price: float | None = None
    """The price in USD of a reply that a person grades; `None` where nobody is to be asked."""


@dataclass(frozen=True)
class LabelledDesign:
    """A design, and why it is in the list."""

    label: str
    design: Design
    judges: tuple[str, ...]
    """Who judges in it."""


@dataclass(frozen=True)
class DesignPlan:
    """The designs that answer a question, the best first, and what they rest on."""

    wanted: DesignQuestion
    measure: Measure
    learned: MeasureComponents | None
    """What the store teaches; `None` where the worst case is taken."""
    unknown: str | None
    """Why the store teaches nothing."""
    parts: DifferenceComponents
    unit: str
    """What costs are counted in: `USD`, or `calls` where a price is not known or nothing costs anything."""
    prices: Prices
    designs: tuple[LabelledDesign, ...]
    beyond: int | None
    """The items of the cheapest design, where there are not as many and none reaches the difference."""
    others: tuple[str, ...]
    """The models and judges of the plan that the store has no scores of or by, so that it speaks of others."""
    per_item: float
    """What an item costs as it is planned, so that a pilot has a price."""
    labels: GradedItems | None = None
    """What people's grades in the store teach, where labels have a price."""
    no_labels: str | None = None
    """Why labels are in no design, though they have a price."""
    clusterings: tuple[Clustering, ...] = ()
    """What items are clustered by, where some were drawn together: `items` of a design are clusters then."""
    detection: Detection | None = None
    """How the measure weighs the items that are planned."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        parts = self.parts
        return {
            "format": "tripos.design/1",
            "measure": self.measure.name,
            "detect": self.wanted.detect,
            "spend": self.wanted.spend,
            "unit": self.unit,
            "power": 0.8,
            "level": 0.05,
            "components": {
                "learned_from": None
                if self.learned is None
                else {
                    "items": self.learned.items,
                    "models": list(self.learned.models),
                    "judges": list(self.learned.judges),
                },
                "unknown": self.unknown,
                **{name: getattr(parts, name) for name in ("items", "samples", "judges", "gradings", "repeats")},
                "panel": parts.panel,
                "correlation": parts.correlation(*parts.observed) if self.learned is not None else CORRELATION,
                "known": sorted(parts.known),
            },
            "prices": {
                "replies": self.prices.replies,
                "judgements": list(self.prices.judgements),
                "batch": self.prices.batch,
                "labels": self.prices.labels,
            },
            "labels": None
            if self.labels is None
            else {
                "items": self.labels.items,
                "people": self.labels.parts.people,
                "with_judges": self.labels.parts.items,
            },
            "not_learned_from": list(self.others),
            **({"clusters": [each.to_json() for each in self.clusterings]} if self.clusterings else {}),
            "items_beyond": self.beyond,
            "effective_items": None if self.detection is None else self.detection.effective_items,
            "designs": [
                {
                    "label": each.label,
                    "items": each.design.items,
                    "samples": each.design.levers.samples,
                    "judges": list(each.judges),
                    "repeats": each.design.levers.repeats,
                    "labels": each.design.labels,
                    "batch": each.design.levers.batch,
                    "cost": each.design.cost,
                    "detects": each.design.detects if math.isfinite(each.design.detects) else None,
                    "reaches": each.design.reaches,
                }
                for each in self.designs
            ],
        }


@dataclass(frozen=True)
class Learned:
    """The lessons of a store about a measure."""

    measure: Measure | None
    """`None` where no measure comes to one value for each model."""
    components: MeasureComponents | Unknown
    costs: Mapping[str, float] = field(default_factory=dict)
    """What a kept call of a model cost on average, in USD."""
    labels: GradedItems | Unknown = field(default_factory=lambda: Unknown("nobody graded anything"))
    """What people's grades teach."""


def learned_components(
    plan: Plan, store_path: str, wanted: str | None = None, models: Sequence[str] = (), labelled: bool = False
) -> Learned:
    """Return a measure of a plan, and the components of a difference in it that the latest state of a store has.

    Without a name it is the first headline. With `labelled`, those of people's grades are taken too, and of a measure
    that people correct the judges' own. Raises `Failure` S0602 for a measure that the plan has not.
    """
    measure = _measure(plan, wanted)
    if measure is None:
        return Learned(None, Unknown("no measure comes to one value for each model"))
    if scored_step(plan, measure) is None:
        return Learned(measure, Unknown(f"`{measure.name}` is no mean of scores"))
    try:
        store = find_store(store_path)
        if store is None:
            return Learned(measure, Unknown("there is no store yet"))
        with connect(store) as connection:
            runs = [run for run in all_runs(connection) if run.benchmark == plan.benchmark.name]
            if not runs:
                return Learned(measure, Unknown("the store has no run of this benchmark"))
            kept = get_selected(connection, max(runs, key=lambda run: (run.started_at, run.run_id)))
            same = next((each for each in kept.measures if each.name == measure.name), None)
            if same is None or same.figure != measure.figure:
                return Learned(measure, Unknown(f"the last run had another measure `{measure.name}`"))
            every = {model for run in runs for model in run.models}
            own = tuple(model for model in models if model in every)
            judged = same.model_copy(update={"corrected": False}) if labelled else same
            found = measure_components(connection, kept, judged, own if len(own) > 1 else ())
            costs = call_costs(connection, kept)
            if not labelled:
                return Learned(measure, found, costs)
            return Learned(measure, found, costs, label_components(connection, kept, judged, own))
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def expected_labels(plan: Plan, store_path: str) -> list[MoreLabels]:
    """Return what more labels would bring to the headlines of a plan that people correct, as the latest state of a
    store has them; nothing where nobody graded."""
    if not any(measure.corrected for measure in headlines(plan)):
        return []
    try:
        store = find_store(store_path)
        if store is None:
            return []
        with connect(store) as connection:
            runs = [run for run in all_runs(connection) if run.benchmark == plan.benchmark.name]
            if not runs:
                return []
            kept = get_selected(connection, max(runs, key=lambda run: (run.started_at, run.run_id)))
            same = [each for each in headlines(kept) if each in plan.measures]
            return [more for measure in same for more in find_more_labels(connection, kept, measure)]
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def design_run(found: RunPlan, config: Config, wanted: DesignQuestion) -> DesignPlan:
    """Return the designs that detect a difference for least, or that are sharpest for a sum of money.

    Costs are those of two models on every item, as `found` foresees them. Raises `Failure`: S0602 for a measure that is
    not there, R0404 where money is to be spent and a price is not known, R0202 where nothing can be said.
    """
    models = () if found.prepared is None else found.prepared.binding.models[found.prepared.binding.compared]
    known = learned_components(found.plan, config.store, wanted.measure, models, wanted.label_price is not None)
    measure, learned = known.measure, known.components
    if measure is None or isinstance(learned, Unknown):
        reason = learned.reason if isinstance(learned, Unknown) else None
        if measure is None or measure.low is None or measure.high is None:
            message = f"nothing says how much scores vary: {reason}, and the scale has no ends"
            raise Failure("R0202", message, "run 20 items first, and ask again: tripos run … --limit 20")
    scored = scored_step(found.plan, measure)
    scenarios = found.plan.scenarios if scored is None else scored.scenarios
    samples = max(
        (step.samples for each in scenarios for step in each.steps if isinstance(step, Ask) and _is_of(step, scored)),
        default=1,
    )
    roles = () if scored is None else scored.judges
    panel = _panel(found, roles, learned)
    detection = found.detection_of(measure)
    items = 1 if detection is None else detection.items
    design = None if detection is None or detection.design is None else detection.design.mean
    times = 1.0 if design is None else items * design.variance
    if isinstance(learned, Unknown):
        parts = _worst(measure, samples, max(1, len(panel))).scaled(times)
    else:
        parts = learned.planned(times)
    names = tuple(each.name for each in scenarios)
    rows = sum(found.items.get(name, 0) for name in names) / (
        sum(found.independent.get(name, 0) for name in names) or 1
    )
    places = Places(names, tuple(roles), panel, items * samples, known.costs, max(1.0, rows))
    unit, prices = design_prices(found, config, wanted.unit, wanted.spend is not None, wanted.label_price, places)
    labels = None if isinstance(known.labels, Unknown) or prices.labels is None else known.labels
    space = Space(
        parts,
        prices,
        None if labels is None else labels.parts,
        most_items=max(2, items),
        planned=design,
        only_labelled=labels is not None and bool(measure.corrected),
    )
    beyond = None
    if wanted.spend is not None:
        ranked = sharpest(space, wanted.spend)
    else:
        assert wanted.detect is not None
        ranked = cheapest(space, wanted.detect)
        if not ranked[0].reaches:
            free = cheapest(replace(space, most_items=MOST_ITEMS), wanted.detect)[0]
            beyond = free.items if free.reaches else None
    now = Levers(
        samples if "samples" in parts.known else parts.observed[0],
        max(1, len(panel)) if "judges" in parts.known or isinstance(learned, Unknown) else parts.observed[1],
        parts.observed[2],
        labels is not None and space.only_labelled,
    )
    planned = space.design(now, max(2, items), labels.items if labels is not None and now.labels else 0)
    designs = _labelled(ranked, planned, panel)
    return DesignPlan(
        wanted,
        measure,
        None if isinstance(learned, Unknown) else learned,
        learned.reason if isinstance(learned, Unknown) else None,
        parts,
        unit,
        prices,
        designs,
        beyond,
        () if isinstance(learned, Unknown) else _others((*models, *panel), learned),
        space.per_item(now),
        labels,
        None if wanted.label_price is None or not isinstance(known.labels, Unknown) else known.labels.reason,
        found.clusterings,
        detection,
    )


def _measure(plan: Plan, wanted: str | None) -> Measure | None:
    if wanted is None:
        return next(iter(headlines(plan)), None)
    known = {measure.name: measure for measure in plan.measures}
    if wanted not in known:
        close = nearest(wanted, tuple(known))
        hint = f"did you mean `{close}`?" if close else f"its measures are {', '.join(known)}"
        raise Failure("S0602", f"`{plan.benchmark.name}` has no measure `{wanted}`", hint)
    return known[wanted]


def _is_of(step: Ask, scored: Any) -> bool:
    return scored is None or step.name in scored.of


def _panel(found: RunPlan, roles: Sequence[str], learned: MeasureComponents | Unknown) -> tuple[str, ...]:
    """Return the judges of the run; where no models are named, those that judged before."""
    if found.prepared is not None:
        return tuple(model for role in roles for model in found.prepared.binding.models.get(role, ()))
    return () if isinstance(learned, Unknown) else learned.judges


def _others(names: Sequence[str], learned: MeasureComponents) -> tuple[str, ...]:
    known = {*learned.models, *learned.judges}
    return tuple(dict.fromkeys(name for name in names if name not in known))


def _worst(measure: Measure, samples: int, judges: int) -> DifferenceComponents:
    """Return the components that `tripos plan` takes where nothing is known: all of the worst variance, in items."""
    assert measure.low is not None
    assert measure.high is not None
    largest = ((measure.high - measure.low) / 2) ** 2
    variance = paired_variance(largest, largest, CORRELATION)
    return DifferenceComponents(variance, known=frozenset(), observed=(samples, judges, 1))


def _labelled(ranked: Sequence[Design], planned: Design, panel: Sequence[str]) -> tuple[LabelledDesign, ...]:
    """Return the best design, the one that is planned, and the best of those that keep something of it."""
    if not ranked:
        return ()
    best, now = ranked[0], planned.levers
    kinds: list[tuple[str, Sequence[Design]]] = [
        ("best", ranked),
        ("whole panel", [each for each in ranked if each.levers.judges == now.judges]),
        ("one judge", [each for each in ranked if each.levers.judges == 1]),
        ("one sample", [each for each in ranked if each.levers.samples == 1]),
        ("as many samples", [each for each in ranked if each.levers.samples == now.samples]),
        ("more samples", [each for each in ranked if each.levers.samples > best.levers.samples]),
        ("more judges", [each for each in ranked if each.levers.judges > best.levers.judges]),
        ("asked live", [each for each in ranked if not each.levers.batch]),
        ("judges alone", [each for each in ranked if not each.levers.labels]),
        ("with labels", [each for each in ranked if each.levers.labels]),
        ("one mark a judge", [each for each in ranked if each.levers.repeats == 1]),
    ]
    found: dict[Levers, LabelledDesign] = {}
    for label, those in kinds:
        if those and those[0].levers not in found:
            found[those[0].levers] = _of_panel(label, those[0], panel)
    first, *others = found.values()
    return (first, _of_panel("as planned", planned, panel), *others)


def _of_panel(label: str, design: Design, panel: Sequence[str]) -> LabelledDesign:
    return LabelledDesign(label, design, tuple(panel[place] for place in design.panel if place < len(panel)))
