"""The plan of a run: its items, its model calls, and their cost, before any call is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tripos.api.compilation import CompiledSpec
from tripos.api.planning.detection import Detection, find_detection, independent_items
from tripos.api.preparation import RunWarning, damage_warning, family_warning, settings_warning, sight_warning
from tripos.api.selection import Choices, chosen_binding, has_models, select_cases
from tripos.settings import Config
from tripos.ui import Failure
from tripos_compiler.diagnostics import usd
from tripos_compiler.language import Clustering
from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source import DataError
from tripos_runtime.datasets import Case, CaseSource, Planned, Selection, planned_steps
from tripos_runtime.forecast import EstimateSpan
from tripos_warehouse.report import headlines

if TYPE_CHECKING:
    from tripos.api.planning.settling import SettlingForecast
    from tripos_runtime.drivers import PreparedRun
    from tripos_runtime.forecast import BatchForecast, Forecast, PromptPreview
    from tripos_runtime.roles import RoleBinding


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
        from tripos.api.forecast import forecast_values

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
    from tripos.api.forecast import foresee_batches, foresee_run
    from tripos.api.preparation import prepare
    from tripos_runtime.forecast import planned

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
    from tripos.api.planning.settling import SettlingForecast, foresee_settling

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
    from tripos_runtime.forecast import preview_prompts, stand_ins

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
