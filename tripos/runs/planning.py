"""The plan of a run: items, calls and cost before any call, the difference it detects, and the cheapest design.

All differences are of two models, tested at a level of 5 % with a power of 80 %. Variances come from earlier runs in
the store, or else are the worst case that the scale allows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from tripos.runs.compilation import CompiledSpec
from tripos.runs.preparation import RunWarning, binding_warnings, damage_warning
from tripos.runs.records import find_store
from tripos.runs.selection import RunRequest, bind_roles, names_any_model, select_cases
from tripos.settings.config import Config
from tripos.settings.options import LIMIT, PlanParameters
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.text_format import usd
from tripos_compiler.errors import TriposError
from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.contexts import Clustering
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.scored_values import ScoredStep, element_name, scored_inputs, scored_values_of
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
from tripos_runtime.datasets.cases import Case, CaseSource, PlannedStepCalls, planned_steps
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.forecast.estimates import EstimateSpan
from tripos_warehouse.measures.study_design import (
    LabelGain,
    LabelVariance,
    MeasureComponents,
    call_costs,
    find_label_gains,
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
from tripos_warehouse.statistics.variance import CORRELATION, DifferenceComponents, NotEstimable
from tripos_warehouse.tables.values import count_range
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import all_runs, get_selected

if TYPE_CHECKING:
    from tripos.runs.early_stopping import EarlyStoppingForecast
    from tripos_runtime.drivers.prepared import PreparedRun
    from tripos_runtime.forecast.prompts import PromptPreview
    from tripos_runtime.forecast.run_forecast import BatchForecast, Forecast
    from tripos_runtime.program.binding import RoleBinding


WORST = 0.25
"""The maximum variance on a scale of length 1, (1 / 2)²: half of the values at either end (Popoviciu, 1935)."""
UNEVEN_SHARE = 0.8
"""The plan reports uneven weights if the effective number of items is below this share of the number."""
MOST_SIZES = 4
"""The maximum number of cell sizes to list. With more, only the smallest and the largest are shown."""
GRADER_DIMENSIONS = frozenset({"evaluator", "pair"})
"""Dimensions whose values all items share."""


# Detectable differences
@dataclass(frozen=True)
class FigureDesign:
    """The weights of planned items in a mean, and the dimensions of its cells."""

    mean: MeanDesign
    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    """For each independent item, the number of scored elements, or else the number of items in its cluster."""
    of_elements: bool

    def cell(self, place: int) -> str:
        """Return the name of a cell, such as `subject: a`. For cells with the same items, return what they have in
        common."""
        labels: Sequence[Any] = self.mean.labels[place]
        values = {dim: {label[at] for label in labels} for at, dim in enumerate(self.dims)}
        own = [(dim, next(iter(value))) for dim, value in values.items() if len(value) == 1]
        return ", ".join(f"{dim.rpartition('.')[2]}: {'none' if value is None else value}" for dim, value in own)


@dataclass(frozen=True)
class Detection:
    """The least detectable difference in the first headline: at a level of 5 % with a power of 80 %, for the maximum
    variance on its scale.

    `same_items` and `different_items` are shares of the scale, or `None` if no test detects anything.
    """

    measure: str | None
    """The name of the measure; `None` if no headline is a mean of scores, in which case all items of the benchmark
    count equally."""
    items: int
    """The number of independent items: of clusters, if items were drawn together."""
    clustered: bool
    design: FigureDesign | None = field(default=None, repr=False)
    """The weights of items; `None` if all weigh the same."""
    within: tuple[str, int] | None = None
    """Of several scenarios, the one with the fewest independent items, and their number."""

    def least(self, variance: float = 1.0, learned: int | None = None) -> float:
        """Return the least difference for this variance of an item's difference, estimated from `learned` items."""
        if self.design is None:
            return least_difference(variance / self.items, self.items - 1, learned)
        return math.sqrt(variance) * self.design.mean.least(learned)

    @property
    def effective_items(self) -> float:
        """The number of equally weighted items with the same standard error."""
        return self.items if self.design is None else self.design.mean.effective

    @property
    def df(self) -> float:
        """The degrees of freedom of the standard error."""
        return self.items - 1 if self.design is None else self.design.mean.df

    @property
    def same_items(self) -> float | None:
        """The least difference of two models on the same items, with a correlation of 0.5 between their scores."""
        return self._share(CORRELATION)

    @property
    def different_items(self) -> float | None:
        """The least difference of two models on different items."""
        return self._share(0.0)

    def _share(self, correlation: float) -> float | None:
        found = self.least(paired_variance(WORST, WORST, correlation))
        return None if math.isinf(found) else found

    @property
    def sentences(self) -> list[str]:
        """The sentences on detectable differences, and on the cost of unevenness if it is high.

        >>> print(Detection("quality", 198, False).sentences[0])  # doctest: +NORMALIZE_WHITESPACE
        198 items: a test detects a difference of 10 % of the scale of `quality` between two models on the same items,
        and of 14 % on different items (80 % power, worst case).
        """
        if self.design is not None and self.design.mean.single:
            return self.unevenness
        counted = "cluster" if self.clustered else "item"
        same, different = _percent(self.same_items), _percent(self.different_items)
        scale = "a scale" if self.measure is None else f"the scale of `{self.measure}`"
        text = (
            f"{self.items:,} {counted}{'s' if self.items > 1 else ''}: a test detects a difference of {same} of"
            f" {scale} between two models on the same items, and of {different} on different items (80 % power, worst"
            " case)."
        )
        if self.within is None:
            return [text, *self.unevenness]
        name, items = self.within
        least = _percent(least_difference(paired_variance(WORST, WORST, CORRELATION) / items, items - 1))
        return [text, f"Within `{name}`, with {items:,}: {least}.", *self.unevenness]

    @property
    def unevenness(self) -> list[str]:
        """The sentence on the cost of uneven cells, items or clusters; none if it is low."""
        design = self.design
        if design is None:
            return []
        counted = "cluster" if self.clustered else "item"
        if design.mean.single:
            cell, cells = design.cell(design.mean.single[0]), len(design.mean.single)
            if not cell:
                return [f"No test tells two models apart in `{self.measure}`: it has one {counted}."]
            if cells == 1:
                return [f"No test tells two models apart in `{self.measure}`: its cell `{cell}` has one {counted}."]
            named = f"No test tells two models apart in `{self.measure}`"
            return [f"{named}: {cells:,} of its cells have one {counted}, as `{cell}` has."]
        if design.mean.effective >= UNEVEN_SHARE * self.items:
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
        """Return the differences for JSON. `cells` have their items and share of the variance."""
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
    return count_range(sizes) if len(sizes) > MOST_SIZES else ", ".join(f"{size:,}" for size in sorted(sizes))


def independent_items(items: Mapping[str, int], clusterings: Sequence[Clustering]) -> dict[str, int]:
    """Return the number of independent items of each scenario: of clusters, if items were drawn together."""
    known = {name: clustering for clustering in clusterings for name in clustering.scenarios}
    return {
        name: round(count * known[name].clusters / known[name].items) if name in known else count
        for name, count in items.items()
    }


def headline_detection(plan: Plan, source: CaseSource, selection: Selection) -> Detection | None:
    """Return the least detectable difference of the selected items in the first headline; `None` without items."""
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
    """Return the least detectable difference in a measure, for these numbers of items by scenario; `None` without
    items."""
    inner = None if measure is None else _mean_of(plan, measure.figure)
    names = set(items)
    if inner is not None:
        names &= {
            scenario.name for scored in scored_inputs(scored_values_of(plan), inner) for scenario in scored.scenarios
        }
    independent = independent_items(items, clusterings)
    counts = {name: count for name, count in independent.items() if count and name in names}
    if not counts:
        return None
    design = None if measure is None else figure_design(plan, source, selection, measure)
    fewest = min(counts, key=lambda name: counts[name])
    return Detection(
        None if inner is None or measure is None else measure.name,
        sum(counts.values()) if design is None else design.mean.units,
        any(name in clustering.scenarios for clustering in clusterings for name in counts),
        design,
        (fewest, counts[fewest]) if len(counts) > 1 else None,
    )


def figure_design(plan: Plan, source: CaseSource, selection: Selection, measure: Measure) -> FigureDesign | None:
    """Return the weights of the selected items in a measure; `None` if it is not a mean of scores, if all items weigh
    the same, or if its rows are not generated yet."""
    inner = _mean_of(plan, measure.figure)
    if inner is None:
        return None
    [scored, *_] = scored_inputs(scored_values_of(plan), inner)
    chosen = {scenario.name for scenario in selection.chosen(plan)}
    scenarios = [scenario for scenario in scored.scenarios if scenario.name in chosen]
    arms = {arm.name for arm in plan.arms}
    dims = tuple(dim for dim in inner.by if dim not in GRADER_DIMENSIONS)
    clustered = any(scenario.name in source.clusters.scenarios for scenario in scenarios)
    if len(scenarios) == 1 and not clustered and not scored.scores_elements and arms.issuperset(dims):
        return None
    if not scenarios or any(source.is_ungenerated(scenario) for scenario in scenarios) or any(map(_is_nodes, dims)):
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
    """Return the mean over rows that a figure is, or that is inside its mean over cells; `None` for any other
    figure."""
    match figure:
        case Measured(measure=name, slice=fixed) if not fixed:
            return _mean_of(plan, named(plan.measures, name).figure)
        case Aggregate(of=None) if _is_mean(figure):
            return figure if not figure.across else None
        case Aggregate(of=Aggregate(of=None) as inner) if _is_mean(figure) and _is_mean(inner) and not figure.by:
            return inner if not inner.across else None
    return None


def _is_mean(figure: Aggregate) -> bool:
    return declared_aggregate(figure.function).mean_of == "rows"


def _is_nodes(dim: str) -> bool:
    return dim.endswith(".nodes")


@dataclass(frozen=True)
class _Rows:
    """The rows that a mean will have for a case."""

    plan: Plan
    scored: ScoredStep
    dims: tuple[str, ...]
    weighted: bool
    """True if metrics are weighted."""

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
        """Return the number of scored elements of the case; 1 if the reply itself is scored."""
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
                return next((axis_value.group for axis_value in axis.values if axis_value.name == value), None)
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
    """Return true if the data alone determine that a score has no row for the case."""
    when = getattr(step, "when", None)
    if when is None:
        return False
    try:
        return not evaluate(when, case.names)
    except (Unavailable, LookupError):  # depends on a reply, or on a Python function, which is not loaded yet
        return False


def _elements(step: Step, case: Case) -> Iterator[Any]:
    """Yield the elements that are scored separately; one if they depend on a reply."""
    value = step.value if isinstance(step, Score | Column) and step.element is not None else None
    if not isinstance(value, Each):
        yield None
        return
    try:
        elements = evaluate(Each(loop=value.loop, value=Ref(path=(value.loop.alias,))), case.names)
    except (Unavailable, LookupError):  # as above
        elements = [None]
    yield from elements


# The plan
@dataclass(frozen=True)
class RunPlan:
    """The items and model calls of a run. `calls`, `tokens_in`, `tokens_out` and `cost_usd` have `low`, `expected` and
    `high`. A run never makes more calls than `calls.high`."""

    plan: Plan
    source: CaseSource
    selection: Selection
    items: Mapping[str, int]
    """The number of items of every scenario in the run."""
    slots: Mapping[str, int]
    """The maximum number of rows of every generated data set."""
    roles: Mapping[str, int]
    """The number of models of every role."""
    steps: tuple[PlannedStepCalls, ...]
    """The calls of every step: `place` is its scenario or data set; `least` and `most` bound its calls."""
    prepared: PreparedRun | None = None
    forecast: Forecast | None = None
    """The forecast from the store and the prices; `None` without models."""
    warnings: tuple[RunWarning, ...] = ()
    batches: BatchForecast | None = None
    """The batches by level, for a run in batches."""
    settling: EarlyStoppingForecast | None = None
    """For a run with early stopping, the forecast of its items from earlier runs."""
    clusterings: tuple[Clustering, ...] = ()
    """The clusters of its items, if some were drawn together."""

    @property
    def independent(self) -> dict[str, int]:
        """The number of independent items of every scenario: of clusters, if items were drawn together."""
        return independent_items(self.items, self.clusterings)

    @cached_property
    def detection(self) -> Detection | None:
        """The least detectable difference in the first headline, accounting for cells and clusters; `None` without
        items."""
        return self.detection_of(next(iter(headlines(self.plan)), None))

    def detection_of(self, measure: Measure | None) -> Detection | None:
        """Return the least difference in a measure that the run detects."""
        return find_detection(self.plan, self.source, self.selection, measure, self.items, self.clusterings)

    @property
    def calls(self) -> EstimateSpan:
        """The calls of the run, without those whose results are in the store."""
        if self.forecast is not None:
            return self.forecast.total.calls
        least, expected, most = (sum(getattr(step, name) for step in self.steps) for name in ("least", "calls", "most"))
        return EstimateSpan(least, expected, most)

    @property
    def reused(self) -> int:
        """The number of calls whose results are in the store."""
        return 0 if self.forecast is None else self.forecast.reused

    @property
    def tokens_in(self) -> EstimateSpan | None:
        """The input tokens; `None` without models."""
        return None if self.forecast is None else self.forecast.total.tokens_in

    @property
    def tokens_out(self) -> EstimateSpan | None:
        """The output tokens; `None` without models."""
        return None if self.forecast is None else self.forecast.total.tokens_out

    @property
    def cost_usd(self) -> EstimateSpan | None:
        """The cost in USD; `None` without models, or if the price of one is unknown (see `unpriced`)."""
        return None if self.forecast is None else self.forecast.total.cost_usd

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is unknown."""
        return () if self.forecast is None else self.forecast.unpriced

    def prompts(self, items: int = 1) -> Sequence[PromptPreview]:
        """Return the whole prompts for the first items of each scenario, with ⟨⟩ in place of parts that replies will
        fill. No store is read, and no call is made. Raises `TriposError`."""
        binding = None if self.prepared is None else self.prepared.binding
        return _prompts(self.plan, self.source, self.selection, binding, items)

    def to_json(self) -> dict[str, Any]:
        """Return the plan for JSON: with models, the output of `tripos run --dry-run --json`."""
        if self.forecast is None or self.prepared is None:
            calls = [_step(step) for step in self.steps]
            return {"items": dict(self.items), **self._design(), "calls": calls}
        from tripos.runs.forecast import forecast_values

        withheld = self.source.withheld_counts(self.selection)
        told = {**forecast_values(self.forecast, self.prepared.budget, self.batches), "items_withheld": dict(withheld)}
        told |= self._design()
        return told if self.settling is None else {**told, "settling": self.settling.to_json()}

    def _design(self) -> dict[str, Any]:
        clusters = {"clusters": [clustering.to_json() for clustering in self.clusterings]} if self.clusterings else {}
        return {**clusters, "detects": None if self.detection is None else self.detection.to_json()}

    def __repr__(self) -> str:
        benchmark, calls, cost = self.plan.benchmark, self.calls, self.cost_usd
        text = f"{sum(self.items.values()):,} items, {calls.low:,.0f} to {calls.high:,.0f} calls"
        if self.forecast is not None:
            text += ", cost unknown" if cost is None else f", {usd(cost.low)} to {usd(cost.high)} USD"
        return f"<RunPlan of {benchmark.name} {benchmark.version}: {text}>"


def plan_run(spec: CompiledSpec, choices: RunRequest, config: Config, warn: Callable[[RunWarning], None]) -> RunPlan:
    """Plan a run; without models, for one model in each role. `warn` receives the warnings about the models. Raises
    `TriposError`."""
    plan = spec.plan
    if not names_any_model(choices, config):
        source, selection = select_cases(spec, choices)
        roles, items, slots = _one_model_each(plan), source.counts(selection), source.slot_counts(selection)
        steps = tuple(planned_steps(selection.under(plan), items, roles, slots))
        told = RunPlan(plan, source, selection, items, slots, roles, steps, clusterings=source.clusterings(selection))
        return _with_settling(told, config)
    from tripos.runs.forecast import forecast_batches, forecast_run
    from tripos.runs.preparation import prepare
    from tripos_runtime.forecast.run_forecast import planned

    prepared = prepare(spec, choices, config, approved=False)
    for warning in binding_warnings(prepared):
        warn(warning)
    source, selection = prepared.source, prepared.selection
    items, slots = source.counts(selection), source.slot_counts(selection)  # before the store is read
    clusterings = source.clusterings(selection)
    run_plan = forecast_run(prepared, config, lambda error: warn(damage_warning(error)))
    roles = {role: len(names) for role, names in prepared.binding.models.items()}
    steps = tuple(planned(run_plan, selection.under(plan)))
    batches = forecast_batches(run_plan, prepared, config)
    told = RunPlan(
        plan,
        source,
        selection,
        items,
        slots,
        roles,
        steps,
        prepared,
        run_plan,
        batches=batches,
        clusterings=clusterings,
    )
    return _with_settling(told, config)


def _with_settling(found: RunPlan, config: Config) -> RunPlan:
    if found.selection.until is None:
        return found
    from tripos.runs.early_stopping import EarlyStoppingForecast, forecast_early_stopping

    prepared = found.prepared
    asked = () if prepared is None else prepared.binding.of(prepared.binding.compared)
    forecast = EarlyStoppingForecast(sum(found.items.values()), calls=found.calls, cost_usd=found.cost_usd)
    settling = forecast_early_stopping(found.source, found.selection, asked, forecast, config.store)
    return replace(found, settling=settling)


@dataclass(frozen=True)
class RunPreview:
    """The prompts of the first items of each scenario."""

    prompts: Sequence[PromptPreview]
    unasked: Sequence[Case]
    """Items for which nothing is sent."""
    without: Sequence[str]
    """Scenarios without an item to show."""


def preview_run(spec: CompiledSpec, choices: RunRequest, config: Config, items: int) -> RunPreview:
    """Return the prompts of the first items of each scenario, without a forecast. Raises `TriposError`."""
    source, selection = select_cases(spec, choices)
    binding = None
    if names_any_model(choices, config):
        releases = spec.compilation.releases
        binding = bind_roles(choices, spec.path, config, spec.plan, releases, spec.folders.trust).binding
    unasked: list[Case] = []
    previews = _prompts(spec.plan, source, selection, binding, items, unasked)
    looked_at = {*(preview.scenario for preview in previews), *(case_.scenario.name for case_ in unasked)}
    without = tuple(scenario.name for scenario in selection.chosen(spec.plan) if scenario.name not in looked_at)
    return RunPreview(previews, tuple(unasked), without)


def _prompts(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: RoleBinding | None,
    items: int,
    unasked: list[Case] | None = None,
) -> Sequence[PromptPreview]:
    from tripos_runtime.forecast.prompts import placeholder_models, preview_prompts

    role_binding = binding or placeholder_models(plan)
    cases: list[Case] = [] if unasked is None else unasked
    return list(preview_prompts(plan, source, selection, role_binding, items, cases.append))


def _one_model_each(plan: Plan) -> dict[str, int]:
    """Return one model for every role."""
    return {role.name: 1 for role in plan.roles}


def _step(step: PlannedStepCalls) -> dict[str, Any]:
    return {"place": step.place, "step": step.step, "role": step.role, "at_least": step.least, "at_most": step.most}


# Prices of designs
@dataclass(frozen=True)
class MeasureCalls:
    """The places of a measure's calls: scenarios, judge roles and judges. `units` is the number of samples of all
    items; `costs` is the cost of stored calls by model."""

    scenarios: tuple[str, ...]
    roles: tuple[str, ...]
    panel: tuple[str, ...]
    units: int
    costs: Mapping[str, float]
    rows: float = 1.0
    """The number of items per independent item; above 1 if a cluster has several."""


def design_prices(
    run_plan: RunPlan, config: Config, unit: str, must: bool, label_price: float | None, places: MeasureCalls
) -> tuple[str, Prices]:
    """Return the unit of costs, and the prices per item: of both models' replies, of each judge, and of a person who
    grades both replies.

    Raises `TriposError` R0404 if a price is unknown and costs must be in USD: with `must` or a label price.
    """
    if unit == "USD":
        by_usd = _usd(run_plan, places)
        label = None if label_price is None else 2 * label_price
        if by_usd is not None and (by_usd.replies or sum(by_usd.judgements) or label):
            return "USD", replace(by_usd, batch=_batch_share(run_plan, config), labels=label)
        if label is not None:
            who = ", ".join(run_plan.unpriced) or "these models"
            text = f"a label costs money, and no price is known of {who}"
            raise TriposError(
                "R0404", text, f"write its price into tripos.toml, or leave out `{PlanParameters.label_price}`"
            )
        if must:
            who = ", ".join(run_plan.unpriced) or "these models"
            hint = f"write its price into tripos.toml, or give a number of calls: {PlanParameters.spend} 1000calls"
            raise TriposError("R0404", f"no price is known of {who}", hint)
    return "calls", _calls(run_plan, places)


def _usd(run_plan: RunPlan, places: MeasureCalls) -> Prices | None:
    """Return prices from the forecast: the cost of a call at each place times the number of calls, per item and sample.
    If all calls are stored, their actual cost is used."""
    forecast = run_plan.forecast
    if forecast is None or run_plan.prepared is None:
        return None
    models = max(1, len(run_plan.prepared.binding.models[run_plan.prepared.binding.compared]))
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


def _calls(run_plan: RunPlan, places: MeasureCalls) -> Prices:
    """Return prices in calls, per independent item: the number of steps for a reply, and one for a judge."""
    asked = {(step.place, step.step) for step in run_plan.steps if step.place in places.scenarios}
    judged = {(step.place, step.step) for step in run_plan.steps if step.role in places.roles}
    each = 2.0 * places.rows
    return Prices(each * max(1, len({step for _, step in asked - judged})), tuple(each for _ in places.panel))


def _batch_share(run_plan: RunPlan, config: Config) -> float | None:
    """Return the batch price as a share of the live price; `None` if some model has no batches, or the run already uses
    batches."""
    from tripos.runs.forecast import known_prices
    from tripos_runtime.models.batches import takes_batches

    if run_plan.prepared is None or run_plan.prepared.wiring.batch:
        return None
    live, batched = (known_prices(run_plan.prepared.binding, config, batch=batch) for batch in (False, True))
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


# Designs
@dataclass(frozen=True)
class DesignQuestion:
    """The question for a design: a difference to `detect`, in the unit of the measure, or an amount to `spend`, in
    `unit`."""

    detect: float | None = None
    spend: float | None = None
    unit: str = "USD"
    measure: str | None = None
    label_price: float | None = None
    """The price in USD of a human grade for one reply; `None` for designs without human grades."""


@dataclass(frozen=True)
class LabelledDesign:
    """A design, and the reason why it is listed."""

    label: str
    design: Design
    judges: tuple[str, ...]
    """The judges in it."""


@dataclass(frozen=True)
class DesignPlan:
    """The designs that answer a question, best first, and their basis."""

    question: DesignQuestion
    measure: Measure
    learned: MeasureComponents | None
    """The estimates from the store; `None` if the worst case is assumed."""
    unknown: str | None
    """The reason why the store has no estimates."""
    parts: DifferenceComponents
    unit: str
    """The unit of costs: `USD`, or `calls` if a price is unknown or nothing costs anything."""
    prices: Prices
    designs: tuple[LabelledDesign, ...]
    beyond: int | None
    """The number of items of the cheapest sufficient design, if the available items do not suffice."""
    alternatives: tuple[str, ...]
    """Models and judges of the plan without scores in the store, so that estimates come from others."""
    per_item: float
    """The cost of an item as planned, for the price of a pilot."""
    labels: LabelVariance | None = None
    """The estimates from human grades in the store, if labels have a price."""
    no_labels: str | None = None
    """The reason why no design has labels, although they have a price."""
    clusterings: tuple[Clustering, ...] = ()
    """The clusters of items, if some were drawn together. The `items` of a design are then clusters."""
    detection: Detection | None = None
    """The weights of the planned items in the measure."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer for JSON."""
        parts = self.parts
        return {
            "format": "tripos.design/1",
            "measure": self.measure.name,
            "detect": self.question.detect,
            "spend": self.question.spend,
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
                "known": sorted(parts.separated),
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
            "not_learned_from": list(self.alternatives),
            **({"clusters": [clustering.to_json() for clustering in self.clusterings]} if self.clusterings else {}),
            "items_beyond": self.beyond,
            "effective_items": None if self.detection is None else self.detection.effective_items,
            "designs": [
                {
                    "label": design.label,
                    "items": design.design.items,
                    "samples": design.design.levers.samples,
                    "judges": list(design.judges),
                    "repeats": design.design.levers.repeats,
                    "labels": design.design.labels,
                    "batch": design.design.levers.batch,
                    "cost": design.design.cost,
                    "detects": design.design.detects if math.isfinite(design.design.detects) else None,
                    "reaches": design.design.reaches,
                }
                for design in self.designs
            ],
        }


@dataclass(frozen=True)
class StoreEstimates:
    """The estimates for a measure from a store."""

    measure: Measure | None
    """The measure; `None` if no measure has one value for each model."""
    components: MeasureComponents | NotEstimable
    costs: Mapping[str, float] = field(default_factory=dict)
    """The mean cost in USD of a stored call, by model."""
    labels: LabelVariance | NotEstimable = field(default_factory=lambda: NotEstimable("nobody graded anything"))
    """The estimates from human grades."""


def learned_components(
    plan: Plan, store_path: str, name: str | None = None, models: Sequence[str] = (), labelled: bool = False
) -> StoreEstimates:
    """Return a measure of a plan, and its variance components as estimated from the latest results in the store.

    The default measure is the first headline. With `labelled`, components of human grades are estimated too; for a
    measure that human grades correct, those of the judges are then estimated without the correction. Raises
    `TriposError` S0602 if the plan has no such measure.
    """
    measure = _measure(plan, name)
    if measure is None:
        return StoreEstimates(None, NotEstimable("no measure comes to one value for each model"))
    if scored_step(plan, measure) is None:
        return StoreEstimates(measure, NotEstimable(f"`{measure.name}` is no mean of scores"))
    store = find_store(store_path)
    if store is None:
        return StoreEstimates(measure, NotEstimable("there is no store yet"))
    with connect(store) as connection:
        runs = [run for run in all_runs(connection) if run.benchmark == plan.benchmark.name]
        if not runs:
            return StoreEstimates(measure, NotEstimable("the store has no run of this benchmark"))
        stored_plan = get_selected(connection, max(runs, key=lambda run: (run.started_at, run.run_id)))
        same = next((each for each in stored_plan.measures if each.name == measure.name), None)
        if same is None or same.figure != measure.figure:
            return StoreEstimates(measure, NotEstimable(f"the last run had another measure `{measure.name}`"))
        every = {model for run in runs for model in run.models}
        own = tuple(model for model in models if model in every)
        judged = same.model_copy(update={"corrected": False}) if labelled else same
        components = measure_components(connection, stored_plan, judged, own if len(own) > 1 else ())
        costs = call_costs(connection, stored_plan)
        if not labelled:
            return StoreEstimates(measure, components, costs)
        return StoreEstimates(measure, components, costs, label_components(connection, stored_plan, judged, own))


def expected_labels(plan: Plan, store_path: str) -> list[LabelGain]:
    """Return the benefit of more labels for the headlines that human grades correct, from the latest results in the
    store; none without human grades."""
    if not any(measure.corrected for measure in headlines(plan)):
        return []
    store = find_store(store_path)
    if store is None:
        return []
    with connect(store) as connection:
        runs = [run for run in all_runs(connection) if run.benchmark == plan.benchmark.name]
        if not runs:
            return []
        stored_plan = get_selected(connection, max(runs, key=lambda run: (run.started_at, run.run_id)))
        same = [headline for headline in headlines(stored_plan) if headline in plan.measures]
        return [more for measure in same for more in find_label_gains(connection, stored_plan, measure)]


def design_run(run_plan: RunPlan, config: Config, question: DesignQuestion) -> DesignPlan:
    """Return the cheapest designs that detect a difference, or the most precise ones for an amount.

    Costs are those of two models on every item, from the forecast in `run_plan`. Raises `TriposError` S0602 for an
    unknown measure, R0404 if an amount of money is given and a price is unknown, R0202 if nothing is known about the
    variance.
    """
    models = () if run_plan.prepared is None else run_plan.prepared.binding.models[run_plan.prepared.binding.compared]
    estimates = learned_components(
        run_plan.plan, config.store, question.measure, models, question.label_price is not None
    )
    measure, learned = estimates.measure, estimates.components
    if measure is None or isinstance(learned, NotEstimable):
        reason = learned.reason if isinstance(learned, NotEstimable) else None
        if measure is None or measure.low is None or measure.high is None:
            message = f"nothing says how much scores vary: {reason}, and the scale has no ends"
            raise TriposError("R0202", message, f"run 20 items first, and ask again: tripos run … {LIMIT} 20")
    scored = scored_step(run_plan.plan, measure)
    scenarios = run_plan.plan.scenarios if scored is None else scored.scenarios
    samples = max(
        (
            step.samples
            for scenario in scenarios
            for step in scenario.steps
            if isinstance(step, Ask) and _is_of(step, scored)
        ),
        default=1,
    )
    roles = () if scored is None else scored.judges
    panel = _panel(run_plan, roles, learned)
    detection = run_plan.detection_of(measure)
    items = 1 if detection is None else detection.items
    design = None if detection is None or detection.design is None else detection.design.mean
    times = 1.0 if design is None else items * design.variance
    if isinstance(learned, NotEstimable):
        parts = _worst(measure, samples, max(1, len(panel))).scaled(times)
    else:
        parts = learned.planned(times)
    names = tuple(scenario.name for scenario in scenarios)
    rows = sum(run_plan.items.get(name, 0) for name in names) / (
        sum(run_plan.independent.get(name, 0) for name in names) or 1
    )
    places = MeasureCalls(names, tuple(roles), panel, items * samples, estimates.costs, max(1.0, rows))
    unit, prices = design_prices(
        run_plan, config, question.unit, question.spend is not None, question.label_price, places
    )
    labels = None if isinstance(estimates.labels, NotEstimable) or prices.labels is None else estimates.labels
    space = Space(
        parts,
        prices,
        None if labels is None else labels.parts,
        most_items=max(2, items),
        planned=design,
        only_labelled=labels is not None and bool(measure.corrected),
    )
    beyond = None
    if question.spend is not None:
        ranked = sharpest(space, question.spend)
    else:
        assert question.detect is not None
        ranked = cheapest(space, question.detect)
        if not ranked[0].reaches:
            free = cheapest(replace(space, most_items=MOST_ITEMS), question.detect)[0]
            beyond = free.items if free.reaches else None
    now = Levers(
        samples if "samples" in parts.separated else parts.observed[0],
        max(1, len(panel)) if "judges" in parts.separated or isinstance(learned, NotEstimable) else parts.observed[1],
        parts.observed[2],
        labels is not None and space.only_labelled,
    )
    planned = space.design(now, max(2, items), labels.items if labels is not None and now.labels else 0)
    if question.detect is not None:
        planned = replace(planned, reaches=planned.detects <= question.detect)
    designs = _labelled(ranked, planned, panel)
    return DesignPlan(
        question,
        measure,
        None if isinstance(learned, NotEstimable) else learned,
        learned.reason if isinstance(learned, NotEstimable) else None,
        parts,
        unit,
        prices,
        designs,
        beyond,
        () if isinstance(learned, NotEstimable) else _others((*models, *panel), learned),
        space.per_item(now),
        labels,
        None
        if question.label_price is None or not isinstance(estimates.labels, NotEstimable)
        else estimates.labels.reason,
        run_plan.clusterings,
        detection,
    )


def _measure(plan: Plan, wanted: str | None) -> Measure | None:
    if wanted is None:
        return next(iter(headlines(plan)), None)
    measures = {measure.name: measure for measure in plan.measures}
    if wanted not in measures:
        hint = suggest(wanted, tuple(measures), f"its measures are {', '.join(measures)}")
        raise TriposError("S0602", f"`{plan.benchmark.name}` has no measure `{wanted}`", hint)
    return measures[wanted]


def _is_of(step: Ask, scored: Any) -> bool:
    return scored is None or step.name in scored.of


def _panel(found: RunPlan, roles: Sequence[str], learned: MeasureComponents | NotEstimable) -> tuple[str, ...]:
    """Return the judges of the run; without models, those of earlier runs."""
    if found.prepared is not None:
        return tuple(model for role in roles for model in found.prepared.binding.models.get(role, ()))
    return () if isinstance(learned, NotEstimable) else learned.judges


def _others(names: Sequence[str], learned: MeasureComponents) -> tuple[str, ...]:
    known = {*learned.models, *learned.judges}
    return tuple(dict.fromkeys(name for name in names if name not in known))


def _worst(measure: Measure, samples: int, judges: int) -> DifferenceComponents:
    """Return the components if nothing is known: the maximum variance, all of it between items."""
    assert measure.low is not None
    assert measure.high is not None
    largest = ((measure.high - measure.low) / 2) ** 2
    variance = paired_variance(largest, largest, CORRELATION)
    return DifferenceComponents(variance, separated=frozenset(), observed=(samples, judges, 1))


def _labelled(ranked: Sequence[Design], planned: Design, panel: Sequence[str]) -> tuple[LabelledDesign, ...]:
    """Return the best design, the design as planned, and the best designs that share a property with either."""
    if not ranked:
        return ()
    best, now = ranked[0], planned.levers
    kinds: list[tuple[str, Sequence[Design]]] = [
        ("best", ranked),
        ("whole panel", [design for design in ranked if design.levers.judges == now.judges]),
        ("one judge", [design for design in ranked if design.levers.judges == 1]),
        ("one sample", [design for design in ranked if design.levers.samples == 1]),
        ("as many samples", [design for design in ranked if design.levers.samples == now.samples]),
        ("more samples", [design for design in ranked if design.levers.samples > best.levers.samples]),
        ("more judges", [design for design in ranked if design.levers.judges > best.levers.judges]),
        ("asked live", [design for design in ranked if not design.levers.batch]),
        ("judges alone", [design for design in ranked if not design.levers.labels]),
        ("with labels", [design for design in ranked if design.levers.labels]),
        ("one mark a judge", [design for design in ranked if design.levers.repeats == 1]),
    ]
    listed: dict[Levers, LabelledDesign] = {}
    for label, candidates in kinds:
        if candidates and candidates[0].levers not in listed:
            listed[candidates[0].levers] = _of_panel(label, candidates[0], panel)
    first, *designs = listed.values()
    return (first, _of_panel("as planned", planned, panel), *designs)


def _of_panel(label: str, design: Design, panel: Sequence[str]) -> LabelledDesign:
    return LabelledDesign(label, design, tuple(panel[place] for place in design.panel if place < len(panel)))
