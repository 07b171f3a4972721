"""The models for roles: reward models those of scorers that give `reward`, and models that write text the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_compiler.plan import Plan
from tripos_runtime.models.mocks import is_baseline
from tripos_runtime.models.reward import is_reward

REWARD_HINT = "give one: --role {}=reward/PATH, one on a server, or `mock/reward` to try it out"


def reward_roles(plan: Plan) -> frozenset[str]:
    """Return the roles that give rewards."""
    return frozenset(scorer.role for scorer in plan.scorers if scorer.reward)


def misfilled_reward(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Code, message and hint of the first role whose models are not of its kind; None where all are."""
    giving = reward_roles(plan)
    writing = {scorer.role for scorer in plan.scorers if not scorer.reward} | (
        {step.role for scenario in plan.scenarios for step in scenario.steps if step.step == "ask"}
    )
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    for role, names in models.items():
        for name in names:
            if role in giving and not is_reward(name):
                message = f"the role `{role}` takes a reward model, and `{name}` writes text"
                return "R0231", message, REWARD_HINT.format(role)
            if role != compared and is_baseline(name):
                message = f"`{name}` is a baseline, and the role `{role}` is not compared"
                return "R0236", message, f"give it as a model: --model {name}"
            if role in writing and is_reward(name):
                message = f"`{name}` is a reward model, and the role `{role}` writes text"
                return "R0232", message, f"give another: --role {role}=PROVIDER/MODEL"
    return None
