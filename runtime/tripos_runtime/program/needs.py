"""The needs that a program yields, what it is sent for each, and the results that it leaves on the way.

A program is a generator that neither asks, waits nor reads a store. It yields a need, or a list of programs that go on
side by side, and is sent an `Answer`, or `Unavailable` with the status that says why there is none: `PENDING` where
there may be one later. What it comes to, it appends to `out`, from where whoever drives it takes it before every need
and at the end. It counts nothing: what a driver counts follows from needs and results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

from tripos_compiler.language import PLACE, Missing, Unavailable, elements, evaluate
from tripos_compiler.language.library import Dialogue
from tripos_compiler.plan import (
    Ask,
    Column,
    Converse,
    Grade,
    Judging,
    Loop,
    Retrieve,
    Score,
)
from tripos_compiler.source import dataclass
from tripos_runtime.asking import NOT_APPLICABLE, PENDING, PreparedQuestion, PromptPlaceholders, Said
from tripos_runtime.asking.functions import ExternalScorer, ScorerRequest
from tripos_runtime.models import Message
from tripos_runtime.program.calls import Conversation, Places, StepCall
from tripos_runtime.program.names import Names, RuledOut, can_be
from tripos_runtime.program.units import Unit

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
