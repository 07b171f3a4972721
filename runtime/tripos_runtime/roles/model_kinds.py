"""The kinds of models for roles: embedding models for roles that embed, reward models for scorers that give `reward`,
and models that write text for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_compiler.plan import Plan, Retrieve, Scenario
from tripos_runtime.errors import CodedError
from tripos_runtime.models import LOCAL, MOCK, embeds, writes
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


HINT = f"give one: --role {{}}={LOCAL}, one that litellm knows, or `{MOCK}` to try it out"


def embedding_roles(scenarios: Sequence[Scenario]) -> frozenset[str]:
    """Return the roles that embed texts in these scenarios.

    A step's treatments have the roles that the step has, so it is enough to look at the steps as they are written.
    """
    steps = (step for scenario in scenarios for step in scenario.steps)
    return frozenset(step.using for step in steps if isinstance(step, Retrieve) and step.using is not None)


class NoEmbedding(CodedError):
    """A role that embeds has no model of its own."""

    def __init__(self, role: str) -> None:
        super().__init__("R0255", f"no embedding model fills the role `{role}`", HINT.format(role))


def check_embedding(scenarios: Sequence[Scenario], models: Mapping[str, Sequence[str]]) -> None:
    """Raise `NoEmbedding` for the first role that embeds in these scenarios and that no model fills."""
    for role in sorted(embedding_roles(scenarios)):
        if not models.get(role):
            raise NoEmbedding(role)


def misfilled_embedding(plan: Plan, models: Mapping[str, Sequence[str]]) -> tuple[str, str, str] | None:
    """Code, message and hint of the first role whose models are not of its kind; None where all are."""
    embedding = embedding_roles(plan.scenarios)
    embedders = {name for role in embedding for name in models.get(role, ())}
    for role in sorted(embedding):
        for name in models.get(role, ()):
            if writes(name) or is_reward(name):
                gives = "gives rewards" if is_reward(name) else "writes text"
                return "R0256", f"the role `{role}` embeds texts, and `{name}` {gives}", HINT.format(role)
    for role, names in models.items():
        for name in names:
            if role not in embedding and (embeds(name) or name in embedders):
                message = f"`{name}` embeds texts, and the role `{role}` is asked for others"
                return "R0256", message, f"give another: --role {role}=PROVIDER/MODEL"
    return None
