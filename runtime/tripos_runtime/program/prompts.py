"""The prompts of the steps of a unit, made on demand: a kept answer needs none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar

from tripos_compiler.language import Unavailable
from tripos_compiler.plan import Ask, Judging, Plan
from tripos_compiler.source import dataclass
from tripos_runtime.asking import (
    NOT_APPLICABLE,
    PreparedQuestion,
    PromptPlaceholders,
    Questions,
    ask_messages,
    grade_messages,
    shorter,
)
from tripos_runtime.datasets import Case, Sources
from tripos_runtime.program.names import RuledOut, has_namesakes
from tripos_runtime.program.needs import Sent, is_pending
from tripos_runtime.retrieval import Chooser


@dataclass
class World:
    """The inputs of the programs of a plan: the plan, its data, and the indexes of what is looked through."""

    plan: Plan
    sources: Sources
    chooser: Chooser = field(default_factory=Chooser)

    @cached_property
    def questions(self) -> Questions:
        """Return what the steps ask."""
        return Questions(self.plan, tuple(self.sources.axes.values()))


@dataclass(frozen=True, slots=True)
class AskPrompt:
    """The prompt of an ask. `names` are those that its expressions see."""

    world: World
    step: Ask
    question: PreparedQuestion
    case: Case
    names: Mapping[str, Any]
    earlier: AskPrompt | None = None
    """The prompt of the ask that is continued."""
    left_out: ClassVar[int] = 0

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """As `Prompt.messages`."""
        before = None if self.earlier is None else self.earlier.messages(placeholders)
        return ask_messages(
            self.step,
            self.question,
            self.case,
            self.names,
            self.world.sources,
            placeholders=placeholders,
            earlier=before,
        )

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """As `Prompt.shorter`; None where no conversation is continued: of an ask's chat nothing is left out."""
        if self.step.continues is None or self.earlier is not None:
            return None
        return shorter(self.step, self.question, self.case, self.names, self.world.sources, left_out)


def prompt_of(world: World, step: Ask, asks: Mapping[str, Ask], case: Case, names: Mapping[str, Any]) -> AskPrompt:
    """Return the prompt of one of the `asks` of a treatment, after that of the ask that it continues."""
    question, before = world.questions.of(step, case.language, names), asks.get(step.continues or "")
    earlier = None if before is None else prompt_of(world, before, asks, case, names)
    return AskPrompt(world, step, question, case, names, earlier)


@dataclass(slots=True)
class JudgePrompt:
    """The prompt of those who judge, made once for all of them."""

    world: World
    step: Judging
    question: PreparedQuestion
    case: Case
    names: Mapping[str, Any]
    left_out: ClassVar[int] = 0
    _made: Sent | Unavailable | None = None

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """As `Prompt.messages`."""
        if placeholders is not None:
            return self._messages(placeholders)
        if self._made is None:
            try:
                self._made = self._messages()
            except Unavailable as reason:
                self._made = reason
        if isinstance(self._made, Unavailable):
            raise self._made
        return self._made

    def _messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        metrics = self.world.questions.metrics(self.step)
        return grade_messages(
            self.step, self.question, self.case, self.names, self.world.sources, metrics, placeholders
        )

    def because_of_item(self, against: Unavailable | None) -> Unavailable | None:
        """Return why nothing is judged, `against` as far as is known. Where a reply is why a condition has no value,
        and the item alone is why a judge could not be asked, it is the item, as of a score that is computed."""
        if against is None or is_pending(against) or against.status == NOT_APPLICABLE or has_namesakes(self.step):
            return against
        try:
            self.messages()
        except Unavailable as reason:
            if reason.status == NOT_APPLICABLE:
                return RuledOut(self.step.name, NOT_APPLICABLE, reason.reason)
        return against

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """None: a judge is shown all of it."""
        return None
