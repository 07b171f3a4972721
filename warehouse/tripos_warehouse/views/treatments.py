"""Shared results of a plan: the combinations of arms that they stand under, and whose baseline they are."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.plan import Ask, Column, Converse, Grade, Plan, Score, Treatment
from tripos_warehouse import sql


def arm_columns(plan: Plan) -> list[str]:
    """Return the columns of the arms, in plan order."""
    return [arm.name for arm in plan.arms]


def join_arms(plan: Plan, row: str) -> str:
    """Return the join that puts each arm's value beside the rows known as `row`, one for every combination that has the
    step; the combinations are known as `treatment`. Rows of a scenario without arms stay single, with NULL for every
    arm."""
    if not plan.arms:
        return ""
    arms = [arm.name for arm in plan.arms]
    found = {
        (fingerprint, *(treatment.arms.get(arm) for arm in arms)): None
        for scenario in plan.scenarios
        for treatment in scenario.treatments
        if treatment.arms
        for step in treatment.steps
        for fingerprint in (step.fingerprint, getattr(step, "judgement", step.fingerprint))
    }
    columns = ", ".join(["fingerprint", *map(sql.name, arms)])
    if not found:
        nothing = ", ".join(["NULL::varchar"] * (1 + len(arms)))
        values = f"select * from (values ({nothing})) as treatment ({columns}) where false"
    else:
        values = ", ".join(f"({', '.join(map(sql.optional_text, each))})" for each in found)
        values = f"select * from (values {values}) as treatment ({columns})"
    return f"\n        left join ({values}) as treatment on treatment.fingerprint = {row}.fingerprint"


@dataclass(frozen=True)
class Baselines:
    """The scores in which no compared model took part: their `fingerprints`; `alone` are the fingerprints, by scenario,
    of those whose scenario has no others."""

    fingerprints: tuple[str, ...]
    alone: dict[str, tuple[str, ...]]


def baselines(plan: Plan, compared: str) -> Baselines:
    """Return the baselines of a plan, where the role `compared` is the one that is compared."""
    found: dict[str, None] = {}
    alone: dict[str, tuple[str, ...]] = {}
    for scenario in plan.scenarios:
        own: dict[str, bool] = {}
        for treatment in scenario.treatments:
            own |= _about(treatment, compared)
        without = tuple(fingerprint for fingerprint, about in own.items() if not about)
        found |= dict.fromkeys(without)
        if len(without) == len(own) and without:
            alone[scenario.name] = without
    return Baselines(tuple(found), alone)


def shows_several_times(plan: Plan, compared: str) -> bool:
    """Return true if the views of a benchmark may show one result in several rows."""
    return bool(plan.arms) or bool(baselines(plan, compared).fingerprints)


def _about(treatment: Treatment, compared: str) -> dict[str, bool]:
    """Of every score's fingerprint, whether the score is about the compared models."""
    roles: dict[str, set[str]] = {}
    for step in treatment.steps:
        if isinstance(step, Ask):
            roles[step.name] = {step.role}
        elif isinstance(step, Converse):
            roles[step.name] = {speaker.role for speaker in step.speakers}
    scores = [step for step in treatment.steps if isinstance(step, Score | Column | Grade)]
    return {
        step.fingerprint: any(compared in roles.get(name, ()) for name in (*step.needs, step.of)) for step in scores
    }
