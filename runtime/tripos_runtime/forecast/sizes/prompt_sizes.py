"""The sizes of what is sent for steps, with the replies that are kept and without those that are yet to come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.language import Missing, Unavailable, evaluate
from tripos_compiler.language.library import json
from tripos_compiler.plan import Ask, Expr, Hole, Judging, Metric, Ref, Retrieve
from tripos_runtime.asking import PENDING, PreparedQuestion, chat_messages, continued, judged_messages, shot_messages
from tripos_runtime.datasets import Case
from tripos_runtime.forecast.sizes.sizes import NO_SIZE, Known, Outline, Size, is_waiting, sum_of
from tripos_runtime.forecast.sizes.talk_sizes import awaited, whole
from tripos_runtime.models import Message
from tripos_runtime.program import TurnPrompt, World, is_pending, said_to


@dataclass
class PromptSizes:
    """Measures what is sent. `world` has the rows and axes of the plan."""

    world: World
    _printed: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    """The names that a step in a language is sure to look up, as far as a glance shows."""

    def outline(self, step: Ask | Judging, names: Mapping[str, Any], case: Case, known: Known) -> Size:
        """Return the size of what is sent where that needs what is not there; `known` are the sizes of what is not
        there but can be told. Raises `Unavailable` where that needs what a kept reply did not yield."""
        measure = self._asked if isinstance(step, Ask) else self._judged
        return whole(measure(step, names, case, known), case.scenario)  # type: ignore[arg-type]

    def waits(self, step: Ask | Judging, names: Mapping[str, Any], case: Case) -> bool:
        """Return true if a glance shows that what is sent needs what is not there yet."""
        key = (step.fingerprint, case.language)
        if key not in self._printed:
            self._printed[key] = tuple(_printed(step, self.world.questions.of(step, case.language), case.language))
        found = (names.get(name) for name in self._printed[key])
        return any(isinstance(each, Missing) and each.status == PENDING for each in found)

    def _judged(self, step: Judging, names: Mapping[str, Any], case: Case, known: Known) -> Size:
        """Return the size of what a judge is sent but for what is not there yet. All arguments must be, printed or
        not."""
        seen, waits = {**self.world.sources.names}, NO_SIZE.waits
        outline = self._outline(names, case, known)
        for param, expr in step.args.items():
            try:
                seen[param] = evaluate(expr, names)
            except Unavailable as reason:
                if not is_pending(reason):
                    raise
                seen[param] = Missing(reason.step, PENDING)
                waits |= outline.expression(expr).waits
        inner = Outline(seen, case.language, self.world.sources.axes, known, step.args, names)
        question = self.world.questions.of(step, case.language)
        size = self._texts(question, inner, case, self.world.questions.metrics(step)) + Size(waits=waits)
        if question.chat is not None:
            size += self._said(lambda chat: judged_messages(evaluate(chat, seen)), question.chat, inner)
        return size

    def _asked(self, step: Ask, names: Mapping[str, Any], case: Case, known: Known) -> Size:
        """Return the size of what is sent for an ask but for what is not there yet."""
        outline, size = self._outline(names, case, known), NO_SIZE
        for shots in step.shots:  # in the order of `ask_messages`, since the first thing that is lacking is told
            try:
                size += Size.sent(shot_messages(shots, case, names, self.world.sources))
            except Unavailable as reason:
                if not is_pending(reason):
                    raise
                size += is_waiting(reason.step, f"worked examples from `{shots.dataset}`")
        if step.chat is not None:
            size += self._said(lambda chat: chat_messages(evaluate(chat, names), step.role), step.chat, outline)
        if step.continues is not None:
            talk = step.continues
            turns: Expr = Ref(path=(talk, "turns"))
            size += self._said(lambda _: continued(talk, step.role, names, case.language), turns, outline)
        return size + self._texts(self.world.questions.of(step, case.language), outline, case, ())

    def _said(self, say: Callable[[Expr], Sequence[Message]], expr: Expr, outline: Outline) -> Size:
        """Return the size of a dialogue, or of the replies that it will hold."""
        try:
            return Size.sent(say(expr))
        except Unavailable as reason:
            if not is_pending(reason):
                raise
            return outline.expression(expr)

    def _texts(self, question: PreparedQuestion, outline: Outline, case: Case, metrics: Sequence[Metric]) -> Size:
        texts = [each[case.language] for each in (question.system, question.prompt) if each is not None]
        size = sum_of(outline.template(template, metrics) for template in texts) + Size(messages=len(texts))
        if question.schema is not None:
            size += Size.of(question.note(case.language))
        return size

    def _outline(self, names: Mapping[str, Any], case: Case, known: Known) -> Outline:
        return Outline(names, case.language, self.world.sources.axes, known, {}, names)

    def turn(self, prompt: TurnPrompt, known: Known) -> Size:
        """Return the size of what is sent for a turn. Raises `Unavailable` where that needs what a kept reply did not
        yield."""
        step, role, case = prompt.talk.step, prompt.role, prompt.case
        size = Size()
        try:
            told = prompt.systems()
        except Unavailable as reason:
            if not is_pending(reason):
                raise
            told = {}
            outline = self._outline(prompt.names, case, known)
            for speaker in step.speakers:
                if speaker.system is not None:
                    own = outline.template(speaker.system[case.language])
                    size += own + Size(messages=1) if speaker.role == role else Size(waits=own.waits)
        size += Size.sent(said_to(role, told, prompt.turns, prompt.begun))
        size = whole(size, case.scenario)
        later = awaited(step, len(prompt.turns) + 1, prompt.number - 1)
        return size + Size(pending=later, messages=len(later))

    def nearest(self, step: Retrieve, names: Mapping[str, Any], case: Case) -> Size:
        """Return the size of what a step finds by vectors that are not there: as much as letters find, at the most the
        longest of what it looks through. Raises `Unavailable` where that needs a reply."""
        seen = self.world.chooser.chosen(step, names, case.fields)
        size = Size.of(json(seen))
        elements = self.world.chooser.collection(step, names).elements
        most = step.top * max((_most(Size.of(json(each))) for each in elements), default=0)
        included = sum(_most(Size.of(json(evaluate(expr, names)))) for expr in step.include)
        return size + Size(waits=frozenset(((step.name, False),)), most=most + included)


def _printed(step: Ask | Judging, question: PreparedQuestion, language: str) -> Iterator[str]:
    exprs = list(step.args.values()) if not isinstance(step, Ask) else []
    for texts in (question.system, question.prompt) if isinstance(step, Ask) else ():
        exprs += (part.expr for part in (texts[language].parts if texts is not None else ()) if isinstance(part, Hole))
    for expr in exprs:
        if isinstance(expr, Ref):
            yield expr.path[0]


def _most(size: Size) -> int:
    """As many characters of an alphabet as hold as much."""
    return size.narrow + 4 * size.wide
