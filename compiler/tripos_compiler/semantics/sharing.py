"""Which steps of a scenario share their replies, since they send the same and nothing is left to chance."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.plan import Ask, Converse, Judging, Plan, Scenario, Settings, Step, Verdict


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


def sharing(plan: Plan, scenario: Scenario) -> list[Sharing]:
    """Every group of steps that share replies, in the order of the steps."""
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
                found[Sharing(tuple(steps), _why(plan, next(iter(steps.values()))))] = None
    return list(found)


def _called(step: Step) -> str:
    return f"{step.scorer}(…)" if isinstance(step, Verdict) else step.name


def _why(plan: Plan, step: Step) -> str:
    if isinstance(step, Judging):
        scorer = plan.scorer(step.scorer)
        return f"the same call of `{step.scorer}`" if scorer.reward else _fixed(scorer.settings, step.scorer)
    assert isinstance(step, Ask | Converse)
    return _fixed(step.settings if isinstance(step, Ask) else step.speakers[0].settings)


def _fixed(settings: Settings, scorer: str = "") -> str:
    """What leaves nothing to chance; what does is shared by calls that are one value."""
    if settings.drawn:
        return f"the same call of `{scorer}`"
    if settings.temperature == 0:
        return "same text at temperature 0"
    return f"same text with seed {settings.seed}" if settings.seed is not None else "same text with top_k 1"
