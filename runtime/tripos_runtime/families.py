"""Families of models: who trained them, as far as a name says it. Judges favour their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tripos_compiler.plan import Compare, Grade, Plan, Verdict
from tripos_runtime.binding import Binding

FAMILIES = {
    "gpt": r"gpt|chatgpt|davinci|o[1345](?:-|$)",
    "claude": r"claude",
    "gemini": r"gemini|gemma|palm",
    "llama": r"llama|vicuna|alpaca",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "mistral": r"mistral|mixtral|codestral|ministral|magistral|pixtral",
    "glm": r"glm",
    "grok": r"grok",
    "command": r"command-|c4ai|aya",
    "phi": r"phi-?\d",
    "kimi": r"kimi|moonshot",
    "doubao": r"doubao|seed-",
    "ernie": r"ernie",
    "hunyuan": r"hunyuan",
    "yi": r"yi-",
    "internlm": r"internlm",
    "nova": r"nova-",
    "granite": r"granite",
    "smollm": r"smollm",
}
"""Family to what the names of its models contain, from the start of a word on."""


@dataclass(frozen=True)
class Kinship:
    """A judge that grades replies of its own family, or its own."""

    role: str
    judge: str
    model: str
    family: str

    @property
    def shown(self) -> str:
        """In a line, for people."""
        if self.judge == self.model:
            return f"{self.role} {self.judge} grades its own replies"
        return f"{self.role} {self.judge} grades {self.model}: both are of the {self.family} family"


def families(model: str) -> frozenset[str]:
    """The families that a model's name shows; a distilled model has two, a model of no known name none.

    >>> sorted(families("openrouter/deepseek/deepseek-r1-distill-qwen-32b"))
    ['deepseek', 'qwen']
    >>> families("azure/prod-7")
    frozenset()
    """
    name = model.casefold()
    return frozenset(family for family, pattern in FAMILIES.items() if re.search(rf"(?<![a-z0-9])(?:{pattern})", name))


def kin(plan: Plan, binding: Binding) -> list[Kinship]:
    """Every judge that would grade a compared model of its own family, in the order of the roles."""
    found: list[Kinship] = []
    for role in _judges(plan, several=len(binding.of(binding.compared)) > 1):
        for judge in binding.models.get(role, ()):
            found += _of(role, judge, binding.of(binding.compared))
    return found


def _judges(plan: Plan, *, several: bool) -> list[str]:
    """The roles that judge replies; those that compare models only where there are several."""
    scorers = {scorer.name: scorer for scorer in plan.scorers}
    used = [
        step.scorer
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Grade | Verdict) or (isinstance(step, Compare) and several)
    ]
    return list(dict.fromkeys(scorers[name].role for name in used))


def _of(role: str, judge: str, models: Sequence[str]) -> list[Kinship]:
    own = families(judge)
    return [
        Kinship(role, judge, model, ", ".join(sorted(own & families(model))) or judge)
        for model in models
        if judge == model or own & families(model)
    ]
