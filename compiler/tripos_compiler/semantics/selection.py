"""A plan under some values of its arms: the treatments and calls that `--only ARM=VALUE` leaves."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tripos_compiler.plan import CallCount, Plan, Scenario

Only = Mapping[str, Collection[str]]
"""The values that are selected, by the name of an arm; other names are ignored."""


def under(plan: Plan, only: Only) -> Plan:
    """The plan with the treatments that are selected, and their calls. A scenario without the arm stays whole; the
    fingerprints of steps, and so what is known of them, do not change."""
    chosen = {arm.name: frozenset(only[arm.name]) for arm in plan.arms if arm.name in only}
    if not chosen:
        return plan
    scenarios = tuple(scenario_under(scenario, chosen) for scenario in plan.scenarios)
    calls = tuple(found for count in plan.calls if (found := _calls_under(count, chosen)) is not None)
    return plan.model_copy(update={"scenarios": scenarios, "calls": calls})


def scenario_under(scenario: Scenario, only: Only) -> Scenario:
    """The scenario with the treatments that are selected."""
    if not any(arm in only for arm in scenario.arms):
        return scenario
    kept = tuple(treatment for treatment in scenario.treatments if _selected(treatment.arms, only))
    fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
    return Scenario.model_construct(**{**fields, "treatments": kept})


def left_out_of(plan: Plan, only: Only) -> str | None:
    """The values of arms that are left out, in words, such as `tone warm; lesson none`; None where all are there."""
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
