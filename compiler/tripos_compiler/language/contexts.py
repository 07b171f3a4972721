"""Contexts: the allowed combinations (cells) of axes, the selection of treatments, and steps that share replies.

Cells are counted without listing what need not be listed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from tripos_compiler.language.evaluation import evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.plan import (
    Ask,
    Axis,
    AxisValue,
    CallCount,
    Converse,
    DeclaredSettings,
    Judging,
    Plan,
    Scenario,
    Step,
    Verdict,
)
from tripos_compiler.source import dataclass

Only = Mapping[str, Collection[str]]
"""The values that are selected, by the name of an arm; other names are ignored."""


def select_treatments(plan: Plan, only: Only) -> Plan:
    """Return the plan with the treatments that are selected, and their calls. A scenario without the arm stays whole;
    the fingerprints of steps, and so what is known of them, do not change."""
    chosen = {arm.name: frozenset(only[arm.name]) for arm in plan.arms if arm.name in only}
    if not chosen:
        return plan
    scenarios = tuple(scenario_under(scenario, chosen) for scenario in plan.scenarios)
    calls = tuple(found for count in plan.calls if (found := _calls_under(count, chosen)) is not None)
    return plan.model_copy(update={"scenarios": scenarios, "calls": calls})


def scenario_under(scenario: Scenario, only: Only) -> Scenario:
    """Return the scenario with the treatments that are selected."""
    if not any(arm in only for arm in scenario.arms):
        return scenario
    kept = tuple(treatment for treatment in scenario.treatments if _selected(treatment.arms, only))
    fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
    return Scenario.model_construct(**{**fields, "treatments": kept})


def left_out_arm_values(plan: Plan, only: Only) -> str | None:
    """Return the values of arms that are left out, in words, such as `tone warm; lesson none`; None where all are
    there."""
    told = []
    for arm in (each for each in plan.arms if each.name in only):
        values = [value.name for value in arm.values if value.name not in only[arm.name]]
        told += [f"{arm.name} {', '.join(values)}"] if values else []
    return "; ".join(told) or None


def _calls_under(count: CallCount, only: Only) -> CallCount | None:
    kept = tuple(arms for arms in count.arms if _selected(arms, only))
    if count.arms and not kept:
        return None
    return count if len(kept) == len(count.arms) else count.model_copy(update={"arms": kept})


def _selected(arms: Mapping[str, str], only: Only) -> bool:
    return all(arms[arm] in values for arm, values in only.items() if arm in arms)


@dataclass(frozen=True)
class Sharing:
    """Steps of one treatment that have one reply, and why."""

    steps: tuple[str, ...]
    why: str

    @property
    def shown(self) -> str:
        """In a line, for people.

        >>> Sharing(("a", "b"), "same text at temperature 0").shown
        '`a`, `b` share replies: same text at temperature 0'
        """
        return f"{', '.join(f'`{each}`' for each in self.steps)} share replies: {self.why}"


def steps_sharing_replies(plan: Plan, scenario: Scenario) -> list[Sharing]:
    """Return every group of steps that share replies, in the order of the steps."""
    found: dict[Sharing, None] = {}
    for treatment in scenario.treatments:
        alike: dict[str, dict[str, Step]] = {}
        for step in treatment.steps:
            if isinstance(step, Ask | Converse | Judging):
                name = step.judgement if isinstance(step, Judging) else step.fingerprint
                role = plan.scorer(step.scorer).role if isinstance(step, Judging) else ""
                alike.setdefault(f"{name} {role}", {})[_called(step)] = step
        for steps in alike.values():
            if len(steps) > 1:
                found[Sharing(tuple(steps), _why(next(iter(steps.values()))))] = None
    return list(found)


def _called(step: Step) -> str:
    return f"{step.scorer}(…)" if isinstance(step, Verdict) else step.name


def _why(step: Step) -> str:
    if isinstance(step, Judging):
        return f"the same call of `{step.scorer}`"
    assert isinstance(step, Ask | Converse)
    return _fixed(step.settings if isinstance(step, Ask) else step.speakers[0].settings)


def _fixed(settings: DeclaredSettings) -> str:
    """Return what leaves nothing to chance."""
    if settings.temperature == 0:
        return "same text at temperature 0"
    seeds = " or ".join(str(each) for each in settings.values("seed") if each is not None)
    return f"same text with seed {seeds}" if seeds else "same text with top_k 1"


def broken_guard(cell: Mapping[str, str], axes: Sequence[Axis]) -> Axis | None:
    """Return the first axis whose value is not allowed in the cell, or None."""
    return next((axis for axis in axes if not _guard_holds(_value(axis, cell[axis.name]), cell)), None)


def allowed_cells(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    """Yield every allowed cell, the last axis varying fastest."""
    names = [axis.name for axis in axes]
    for values in product(*(axis.values for axis in axes)):
        cell = {name: value.name for name, value in zip(names, values, strict=True)}
        if all(_guard_holds(value, cell) for value in values):
            yield cell


def count_cells(axes: Sequence[Axis]) -> int:
    """Return how many cells are allowed. Axes that no guard ties together are multiplied, not listed."""
    return _counted(_Same(axes))


def axes_in_guards(axis: Axis) -> frozenset[str]:
    """Return the axes that the guards of this one look at."""
    return _looked_at(_Same([axis]))


class _Same(tuple[Axis, ...]):
    """Axes as a key: two are equal where they have the same objects, which are frozen, and slow to compare by all that
    they hold. Most scenarios of a benchmark have contexts in common."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and [*map(id, self)] == [*map(id, other)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


@lru_cache(maxsize=256)
def _counted(axes: _Same) -> int:
    return math.prod(_count(tied) for tied in _components(axes))


@lru_cache(maxsize=256)
def _looked_at(axes: _Same) -> frozenset[str]:
    guards = {id(value.guard): value.guard for axis in axes for value in axis.values if value.guard is not None}
    return frozenset(name for guard in guards.values() for name in names_in(guard))


def _count(axes: Sequence[Axis]) -> int:
    """Return how many cells of axes are allowed. Of values that no guard tells apart one is tried for all."""
    told_apart = {name for axis in axes for name in axes_in_guards(axis)}
    count = 0
    for picked in product(*(_alike(axis, axis.name in told_apart) for axis in axes)):
        cell = {axis.name: value.name for axis, (value, _) in zip(axes, picked, strict=True)}
        if all(_guard_holds(value, cell) for value, _ in picked):
            count += math.prod(number for _, number in picked)
    return count


def _alike(axis: Axis, told_apart: bool) -> list[tuple[AxisValue, int]]:
    """Return the values of an axis, or one for all that have the same guard, with how many they are."""
    if told_apart:
        return [(value, 1) for value in axis.values]
    numbers = Counter(id(value.guard) for value in axis.values)
    firsts = {id(value.guard): value for value in reversed(axis.values)}
    return [(value, numbers[guard]) for guard, value in firsts.items()]


def _guard_holds(value: AxisValue, cell: Mapping[str, str]) -> bool:
    return value.guard is None or bool(evaluate(value.guard, cell))


def _value(axis: Axis, name: str) -> AxisValue:
    return next(value for value in axis.values if value.name == name)


def _components(axes: Sequence[Axis]) -> list[list[Axis]]:
    groups: list[list[Axis]] = []
    for axis in axes:
        mine = {axis.name} | axes_in_guards(axis)
        tied = [group for group in groups if any(a.name in mine or axis.name in axes_in_guards(a) for a in group)]
        merged = [member for group in tied for member in group] + [axis]
        groups = [group for group in groups if group not in tied] + [merged]
    order = {axis.name: index for index, axis in enumerate(axes)}
    return [sorted(group, key=lambda axis: order[axis.name]) for group in groups]
