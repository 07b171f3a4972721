"""The reasons for calls: which inputs changed since earlier runs of the same benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import ValidationError

from tripos_compiler.language.plan_diff import renamed_from, reply_changes
from tripos_compiler.plan import Ask, Converse, JudgedStep, Plan, Scenario
from tripos_runtime.forecast.sizes import ForecastCall
from tripos_runtime.program.units import StepCall


@dataclass(frozen=True)
class Earlier:
    """An earlier run. `complete`: it finished and left out no item by choice."""

    run_id: str
    plan_text: str
    """The plan as JSON, possibly of a format that this version cannot read; empty if it was not loaded."""
    fingerprints: frozenset[str]
    roles: Mapping[str, tuple[str, ...]]
    scenarios: frozenset[str]
    """The scenarios of the run."""
    complete: bool = True
    identities: Mapping[str, str] = field(default_factory=dict)
    """The identity behind the name of a model, if the name does not determine it."""

    @property
    def plan(self) -> Plan | None:
        """The plan; `None` if this version cannot read it."""
        return _read(self.plan_text)


@lru_cache(maxsize=16)
def _read(text: str) -> Plan | None:
    """Return the plan; runs of one plan share it."""
    try:
        return Plan.model_validate_json(text)
    except ValidationError:
        return None


@dataclass(frozen=True)
class Usage:
    """The usage of one model's replies to one step: means and quantiles in tokens, over `replies` of them. Repaired
    replies count with both calls."""

    replies: int
    tokens_in: float | None
    out_low: float
    """The 10th percentile of a reply's tokens."""
    out_mean: float
    out_high: float
    """The 95th percentile."""


Place = tuple[str, str, str]
"""The table, the scenario, and the step or scorer of a usage."""


@dataclass(frozen=True)
class History:
    """The earlier runs of a benchmark, newest first; their items by scenario; the usage of replies by place and model;
    and the tokens per prompt character by model."""

    earlier: tuple[Earlier, ...] = ()
    items: Mapping[str, frozenset[str]] = field(default_factory=dict)
    usage: Mapping[Place, Mapping[str, Usage]] = field(default_factory=dict)
    density: Mapping[str, float] = field(default_factory=dict)

    def usage_of(self, place: Place, model: str) -> tuple[Usage | None, Literal["kept", "other", "guess"]]:
        """Return the usage of a step by that model, else by other models. Mock models say nothing about others."""
        by_model = self.usage.get(place, {})
        own = by_model.get(model)
        if own is not None:
            return own, "kept"
        mock = model.startswith("mock/")
        usages = [usage for name, usage in by_model.items() if mock or not name.startswith("mock/")]
        count = sum(usage.replies for usage in usages)
        if not count:
            return None, "guess"
        told = [usage for usage in usages if usage.tokens_in is not None]
        weight = sum(usage.replies for usage in told)
        mean_in = sum((usage.tokens_in or 0) * usage.replies for usage in told) / weight if weight else None
        mean_out = sum(usage.out_mean * usage.replies for usage in usages) / count
        low, high = min(usage.out_low for usage in usages), max(usage.out_high for usage in usages)
        return Usage(count, mean_in, low, mean_out, high), "other"


NO_HISTORY = History()
"""The history of a benchmark that was never run."""


MOST_PLANS = 8
"""The largest number of earlier plans that are read, newest first."""

Kind = Literal[
    "never",
    "failed",
    "step_new",
    "step_changed",
    "renamed",
    "unknown",
    "version",
    "builds_on",
    "model",
    "endpoint",
    "samples",
    "items",
    "rest",
    "rows",
    "on_rows",
]


class Cause(NamedTuple):
    """A reason: its kind, and the detail for its text."""

    kind: Kind
    detail: str = ""


@dataclass(frozen=True)
class Reason:
    """A reason for `calls` calls, in words, with the steps that make them as `(scenario, step)`, and the number of
    affected items among all."""

    kind: Kind
    text: str
    calls: int
    places: tuple[tuple[str, str], ...]
    items: int | None = None
    of_items: int | None = None


@dataclass
class _ReasonCounts:
    calls: int = 0
    places: dict[tuple[str, str], None] = field(default_factory=dict)
    items: Counter[str] = field(default_factory=Counter)
    last_item: dict[str, str] = field(default_factory=dict)

    def add(self, scenario: str, step: str, item: str, times: int) -> None:
        self.calls += times
        self.places[scenario, step] = None
        if self.last_item.get(scenario) != item:  # calls of one case are consecutive
            self.last_item[scenario] = item
            self.items[scenario] += 1


@dataclass(frozen=True)
class _StepHistory:
    """The history of a step: `cause` if no run did exactly this step, else who answered, and how often."""

    cause: Cause | None
    models: frozenset[str] = frozenset()
    answering: frozenset[str] = frozenset()
    """The identities that name the replies of those models."""
    samples: int = 0
    complete: bool = True


@dataclass
class Reasons:
    """Counts the reasons for calls. Only the counts are kept."""

    plan: Plan
    history: History
    _counts: dict[Cause, _ReasonCounts] = field(default_factory=dict)
    _before: dict[tuple[str, str, str, str], _StepHistory] = field(default_factory=dict)

    def add(self, seen: ForecastCall, failed: str | None, times: int = 1) -> None:
        """Add a call that would be made, and stands for the remaining ones of `times` samples; `failed` is the error
        code of its last failure."""
        case = seen.unit.case
        before = self._of(case.scenario, seen.unit.bound.treatment.arms, seen.call).samples
        causes: Counter[Cause] = Counter()
        if times == 1 or not 0 < before < getattr(seen.call.step, "samples", 0):
            causes[self.cause(seen, failed)] += times
        else:  # later samples may have another reason
            for number in range(seen.unit.number, seen.unit.number + times):
                causes[self.cause(seen, failed, number)] += 1
        for cause, calls in causes.items():
            self._counts.setdefault(cause, _ReasonCounts()).add(
                case.scenario.name, seen.call.step.name, case.item_id, calls
            )

    def note(self, cause: Cause, scenario: str, step: str, times: int = 1) -> None:
        """Add `times` calls with this cause."""
        self._counts.setdefault(cause, _ReasonCounts()).add(scenario, step, "", times)

    def cause(self, seen: ForecastCall, failed: str | None, number: int | None = None) -> Cause:
        """Return why a call is made, for its unit's sample or another. Of several reasons, the most informative one
        counts."""
        number = seen.unit.number if number is None else number
        call, case = seen.call, seen.unit.case
        scenario = case.scenario
        if failed is not None:
            return Cause("failed", failed)
        before = self._of(scenario, seen.unit.bound.treatment.arms, call)
        if before.cause is not None and before.cause.kind not in ("builds_on", "unknown", "version"):
            return before.cause
        if seen.awaits:
            return Cause("builds_on", next(iter(seen.awaits)))
        if before.cause is not None:
            return before.cause
        if call.model not in before.models:
            return Cause("model", f"{call.role} {call.model}")
        by = seen.unit.bound.binding.identity_of(call.model)
        if by not in before.answering:
            return Cause("endpoint", by)
        if isinstance(call.step, Ask | Converse) and number % call.step.samples >= before.samples:
            return Cause("samples", f"{before.samples} → {call.step.samples}")
        if case.item_id not in self.history.items.get(scenario.name, ()):
            return Cause("items", "" if before.complete else "left")
        return Cause("rest")

    def ranked(self, items: Mapping[str, int]) -> tuple[Reason, ...]:
        """Return every reason, the most frequent first; `items` are the numbers of cases of each scenario."""
        reasons = [self._reason(cause, count, items) for cause, count in self._counts.items()]
        return tuple(sorted(reasons, key=lambda reason: (-reason.calls, reason.text)))

    def _reason(self, cause: Cause, told: _ReasonCounts, items: Mapping[str, int]) -> Reason:
        places = tuple(told.places)
        if cause.kind == "items":
            some, every = sum(told.items.values()), sum(items[scenario] for scenario in told.items)
            what = "not run before" if cause.detail else "new or changed"
            return Reason("items", f"items {what}: {some:,} of {every:,}", told.calls, places, some, every)
        return Reason(cause.kind, self._text(cause), told.calls, places)

    def _text(self, cause: Cause) -> str:
        match cause.kind:
            case "never":
                return "never run"
            case "failed":
                return f"failed before ({cause.detail})"
            case "step_new":
                return f"{cause.detail} new"
            case "step_changed":
                alone = cause.detail.startswith(("rubric ", "metric"))
                return cause.detail if alone else f"step changed: {cause.detail}"
            case "renamed":
                return f"scenario renamed: `{cause.detail}` before"
            case "unknown":
                return f"unknown: this version cannot read the plan of run {cause.detail}"
            case "version":
                return "another version of Tripos: it computes or names this otherwise"
            case "builds_on":
                return f"builds on `{cause.detail}`, which is asked again"
            case "rows":
                return f"rows of `{cause.detail}` to be made"
            case "on_rows":
                return f"about rows of `{cause.detail}`, which are yet to be made"
            case "model":
                role, _, model = cause.detail.partition(" ")
                compared = any(each.name == role and each.kind == "compared" for each in self.plan.roles)
                return f"model new: {model}" if compared else f"{role} new: {model}"
            case "endpoint":
                return f"answered by another before: {cause.detail}"
            case "samples":
                return f"more samples: {cause.detail}"
        return "left out or not reached by the earlier runs"

    def _of(self, scenario: Scenario, arms: Mapping[str, str], call: StepCall) -> _StepHistory:
        key = (scenario.name, call.step.name, _print(call.step), call.role)
        if key not in self._before:
            self._before[key] = self._look(scenario, arms, call)
        return self._before[key]

    def _look(self, scenario: Scenario, arms: Mapping[str, str], call: StepCall) -> _StepHistory:
        step = call.step
        earlier = [each for each in self.history.earlier if scenario.name in each.scenarios]
        asked = _print(step)
        same = [each for each in earlier if asked in each.fingerprints]
        if same:
            return self._same(same, step, call.role)
        if not earlier:
            return _StepHistory(self._new_scenario(scenario))
        return _StepHistory(self._changed(earlier, scenario, arms, step))

    def _same(self, same: list[Earlier], step: Ask | Converse | JudgedStep, role: str) -> _StepHistory:
        models: set[str] = set()
        answering: set[str] = set()
        for earlier in same:
            by_role = earlier.roles.get(role)
            names = by_role if by_role is not None else [m for names in earlier.roles.values() for m in names]
            models.update(names)
            answering.update(earlier.identities.get(name, name) for name in names)
        samples = 0
        if isinstance(step, Ask | Converse):
            plans = [each.plan for each in _by_plan(same)]
            counts = [ask.samples for plan in plans if plan is not None for ask in _steps(plan, step.fingerprint)]
            samples = max(counts, default=step.samples)
        return _StepHistory(None, frozenset(models), frozenset(answering), samples, all(each.complete for each in same))

    def _new_scenario(self, scenario: Scenario) -> Cause:
        newest = next(iter(self.history.earlier), None)
        if newest is None or newest.plan is None:
            return Cause("never")
        was = renamed_from(scenario, newest.plan, self.plan)
        if was is not None:
            return Cause("renamed", was)
        return Cause("step_new", f"scenario `{scenario.name}`") if not _has(newest.plan, scenario) else Cause("never")

    def _changed(
        self, earlier: list[Earlier], scenario: Scenario, arms: Mapping[str, str], step: Ask | Converse | JudgedStep
    ) -> Cause:
        unread: str | None = None
        for each in _by_plan(earlier):
            plan = each.plan
            if plan is None:
                unread = unread or each.run_id
                continue
            before = _find(plan, scenario.name, arms, step.name)
            if before is None:
                continue
            found = reply_changes(before, step, plan, self.plan)
            if found:
                return Cause(
                    "step_changed", ", ".join(found[:3]) + (f" and {len(found) - 3} more" if found[3:] else "")
                )
            upon = [
                one.name
                for one in scenario.steps
                if one.name in step.needs and one.fingerprint not in plan.fingerprints
            ]
            return Cause("builds_on", upon[0]) if upon else Cause("version")
        if unread is not None:
            return Cause("unknown", unread)
        return Cause("step_new", f"step `{step.name}`")


def _by_plan(runs: list[Earlier]) -> list[Earlier]:
    """Return the newest run of each of the newest plans."""
    plans: dict[str, Earlier] = {}
    for run in runs:
        if run.plan_text:
            plans.setdefault(run.plan_text, run)
        if len(plans) == MOST_PLANS:
            break
    return list(plans.values())


def _print(step: Ask | Converse | JudgedStep) -> str:
    return step.fingerprint if isinstance(step, Ask | Converse) else step.judgement


def _steps(plan: Plan, fingerprint: str) -> list[Ask | Converse]:
    steps = (step for scenario in plan.scenarios for step in scenario.steps)
    return [step for step in steps if isinstance(step, Ask | Converse) and step.fingerprint == fingerprint]


def _has(plan: Plan, scenario: Scenario) -> bool:
    return any(each.name == scenario.name for each in plan.scenarios)


def _find(plan: Plan, scenario: str, arms: Mapping[str, str], name: str) -> Ask | Converse | JudgedStep | None:
    """Return the step of that name, in the same treatment if possible."""
    for each in plan.scenarios:
        if each.name == scenario:
            treatments = sorted(each.treatments, key=lambda one: one.arms != dict(arms))
            for treatment in treatments:
                for step in treatment.steps:
                    if step.name == name and isinstance(step, Ask | Converse | JudgedStep):
                        return step
    return None
