"""The needs that a program yields, what it is sent for each, and the results that it leaves on the way.

A program is a generator that neither asks, waits nor reads a store. It yields a need, or a list of programs that go on
side by side, and is sent an `Answer`, or `Unavailable` with the status that says why there is none: `PENDING` where
there may be one later. What it comes to, it appends to `out`, from where whoever drives it takes it before every need
and at the end. It counts nothing: what a driver counts follows from needs and results.

The prompts of the steps of a unit, made on demand: a kept answer needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

from tripos_compiler.language.evaluation import PLACE, Missing, Unavailable, elements, evaluate
from tripos_compiler.library.types import Dialogue
from tripos_compiler.plan import Ask, Column, Converse, Grade, Judging, Loop, Plan, Retrieve, Score
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, PENDING
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.functions.external import ExternalScorer
from tripos_runtime.asking.functions.protocol import ScorerRequest
from tripos_runtime.asking.judging import Said
from tripos_runtime.asking.plan_questions import Questions
from tripos_runtime.asking.prompts import PromptPlaceholders, ask_messages, grade_messages, shorter
from tripos_runtime.asking.questions import PreparedQuestion
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.models.base import Message
from tripos_runtime.program.retrieval import Chooser
from tripos_runtime.program.units import Conversation, Places, StepCall, Unit
from tripos_runtime.program.values import Names, RuledOut, can_be, has_namesakes

Sent = tuple[Message, ...]


class Prompt(Protocol):
    """The prompt of a step, made on demand."""

    @property
    def left_out(self) -> int:
        """Return how many turns of a dialogue are not shown."""
        ...

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """Return the messages. Raises `Unavailable` where they need what an earlier step did not yield; `placeholders`
        stand for what is pending."""
        ...

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """Return the messages where leaving out so many turns of a dialogue was not enough, and how many are left out
        then; None where no more can be."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyNeed:
    """A reply is needed: to a step, or as a turn of a conversation. `number` says which of several samples it is. It is
    not `certain` that it is needed where the step hangs on a reply that is pending. Sent: `Answer | Unavailable`."""

    call: StepCall
    prompt: Prompt
    question: PreparedQuestion
    number: int = 0
    certain: bool = True
    talk: Conversation | None = None
    """The conversation that it is a turn of."""


@dataclass(frozen=True, slots=True)
class HeldConversation:
    """A conversation is needed, whose `program` yields its turns; `systems` raises `Unavailable` where a speaker cannot
    be told what it is to be told. Units that have one in common hold it once. Sent: as for `ReplyNeed`."""

    talk: Conversation
    systems: Callable[[], Mapping[str, str]]
    program: Callable[[], Program]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Nearness:
    """It is needed how near by their vectors the elements are that a step looks through, by the number of the measure.
    Sent: the values or `Unavailable`."""

    step: Retrieve
    unit: Unit
    names: Names
    key: tuple[str, ...]
    """The fingerprint of the step and what it builds on: the values are the same under the same."""
    certain: bool = True


@dataclass(frozen=True, slots=True)
class ProgramValue:
    """A score needs what a scorer says that is a program. Sent: the value or `Unavailable`."""

    scorer: ExternalScorer
    request: ScorerRequest


Need = ReplyNeed | HeldConversation | Nearness | ProgramValue
Got = Any
"""An `Answer`, the values of a `Nearness`, that of a program, the results of programs side by side, or
`Unavailable`."""
Program = Generator["Need | list[Program]", Got, Any]


class Unasked(NamedTuple):
    """A call is not made."""

    call: StepCall
    against: Unavailable


class Unheld(NamedTuple):
    """A conversation is not held."""

    talk: Conversation
    against: Unavailable


class Unfound(NamedTuple):
    """A step finds nothing, for the reason that its status says."""

    step: Retrieve
    status: str


class Talked(NamedTuple):
    """The result of a conversation: how it ended, the turns, and the columns of what each of them took."""

    talk: Conversation
    told: Callable[[], Mapping[str, str]]
    turns: Dialogue
    taken: Sequence[Mapping[str, Any]]
    status: str
    ended: str
    error: str | None

    @property
    def last(self) -> str:
        """Return who spoke last, or would have."""
        return self.talk.speaker(len(self.taken))


class Scored(NamedTuple):
    """The scores of a step: value and status by title; of a judge that chooses among names the value is one of them.
    `judgement` is the reply that they are read from, `given` a value of a column that is no number, and `reason` says
    why there is none."""

    step: Score | Column | Grade
    judgement: str | None
    evaluator: str | None
    values: Mapping[str, tuple[Said | None, str]]
    given: str | None = None
    reason: str | None = None
    elements: str | None = None
    """Where each element of a list is scored, the elements; `given` are their scores then."""


class Compared(NamedTuple):
    """The outcome of a comparison by one judge, whose call that was; without a `judgement` it was not made."""

    call: StepCall
    judgement: str | None
    value: Said | None
    status: str
    reason: str | None = None


Result = Unasked | Unheld | Unfound | Talked | Scored | Compared


@cache
def pending(step: str) -> Unavailable:
    """Say that there is no reply to a step yet."""
    return Unavailable(step, PENDING)


def is_pending(reason: Unavailable) -> bool:
    """Return true if a value is only not there yet."""
    return reason.status == PENDING


def holds(step: Ask | Converse | Retrieve | Judging, names: Names) -> tuple[Unavailable | None, bool]:
    """Return why a step is not done, if so; and whether it is certain that it is, which no reply that is pending
    decides."""
    against = names.against(step)
    if against is None or not is_pending(against):
        return against, True
    if step.when is None or can_be(True, step.when, names.values):
        return None, False
    return RuledOut(step.name, NOT_APPLICABLE, f"the condition of `{step.name}` does not hold"), True


@dataclass(frozen=True)
class ListElement:
    """An element that a judge is asked about, with the names that expressions see beside it. It is not certain that
    there is one where a reply is pending that says so."""

    places: Places
    names: Mapping[str, Any]
    certain: bool


def elements_in(loops: Sequence[Loop], names: Mapping[str, Any], certain: bool = True) -> Iterator[ListElement]:
    """Yield the elements that a judge is asked about, in their order. Raises `Unavailable` where it cannot be told
    which there are, but for a pending reply: then those that there may be."""
    if not loops:
        yield ListElement(tuple(names[PLACE + loop] for loop in names.get(LOOPS, ())), dict(names), certain)
        return
    loop, rest = loops[0], loops[1:]
    for inside, sure in _seen(loop, names):
        inside[LOOPS] = (*names.get(LOOPS, ()), loop.alias)
        holds = sure
        if loop.where is not None:
            try:
                if not evaluate(loop.where, inside):
                    continue
            except Unavailable as reason:
                if not is_pending(reason):
                    raise
                if not can_be(True, loop.where, inside):
                    continue
                holds = False
        yield from elements_in(rest, inside, certain and holds)


LOOPS = "@loops"
"""The name of the loops that an element stands in, from the outermost to the innermost."""


def _seen(loop: Loop, names: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the names beside each element; of a list that is pending so many elements as there may be."""
    try:
        for inside in elements(loop, names):
            yield inside, True
    except Unavailable as reason:
        if not is_pending(reason):
            raise
        for place in range(loop.most or 0):
            yield {**names, loop.alias: Missing(reason.step, PENDING), PLACE + loop.alias: place}, False


def drive(program: Program, meet: Callable[[Need], Got], take: Callable[[], None]) -> Any:
    """Return the result of a program whose needs are met at once, one after the other. `take` takes what it has left in
    `out` before every need and at the end."""
    got: Got = None
    try:
        while True:
            need = program.send(got)
            take()
            got = [drive(each, meet, take) for each in need] if isinstance(need, list) else meet(need)
    except StopIteration as end:
        take()
        return end.value


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
