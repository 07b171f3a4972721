"""How long the replies to each step, scorer and speaker may be, as a plan says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from tripos_compiler.plan import Ask, Converse, Judging, Plan, Scenario


class ReplyLength(NamedTuple):
    """The most tokens of a reply of a role to a step or scorer; `None` if the plan sets no bound."""

    where: str
    role: str
    max_tokens: int | None


def reply_lengths(plan: Plan, scenarios: Sequence[Scenario], made: Collection[str] = ()) -> Iterator[ReplyLength]:
    """Yield the bound of each step, speaker and scorer that writes replies in these scenarios, or for these data sets
    that are to be made. Of settings that depend on the row the widest one counts."""
    steps = [step for scenario in scenarios for step in scenario.steps]
    for step in steps:
        if isinstance(step, Ask) and step.options is None:
            yield ReplyLength(step.name, step.role, step.settings.widest.max_tokens)
        elif isinstance(step, Converse):
            for speaker in step.speakers:
                yield ReplyLength(step.name, speaker.role, speaker.settings.widest.max_tokens)
    judging = {step.scorer for step in steps if isinstance(step, Judging)}
    for scorer in plan.scorers:
        if scorer.name in judging and scorer.source != "similarity":
            for role in scorer.roles:
                yield ReplyLength(scorer.name, role, scorer.settings.widest.max_tokens)
    for each in plan.made:
        for ask in each.asks if each.name in made else ():
            yield ReplyLength(each.name, ask.role, ask.settings.widest.max_tokens)
