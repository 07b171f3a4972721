"""Judges that would grade their own: the model that they are, or another of its family."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.language import families_in_name
from tripos_compiler.plan import Compare, Grade, Plan, Verdict
from tripos_compiler.source import dataclass
from tripos_runtime.roles.binding import RoleBinding


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


def kin(plan: Plan, binding: RoleBinding) -> list[Kinship]:
    """Return every judge that would grade a compared model of its own family, in the order of the roles."""
    found: list[Kinship] = []
    for role in _judges(plan, several=len(binding.of(binding.compared)) > 1):
        for judge in binding.models.get(role, ()):
            found += _of(role, judge, binding.of(binding.compared))
    return found


def _judges(plan: Plan, *, several: bool) -> list[str]:
    """Return the roles that judge replies; those that compare models only where there are several."""
    scorers = {scorer.name: scorer for scorer in plan.scorers}
    used = [
        step.scorer
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Grade | Verdict) or (isinstance(step, Compare) and several)
    ]
    return list(dict.fromkeys(role for name in used for role in scorers[name].roles))


def _of(role: str, judge: str, models: Sequence[str]) -> list[Kinship]:
    own = families_in_name(judge)
    return [
        Kinship(role, judge, model, ", ".join(sorted(own & families_in_name(model))) or judge)
        for model in models
        if judge == model or own & families_in_name(model)
    ]


__all__ = ["Kinship", "families_in_name", "kin"]
