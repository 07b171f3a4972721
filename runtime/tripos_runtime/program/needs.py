"""The needs that a program yields, the answers that it is sent, and the events that it emits.

A program is a generator without I/O: it calls no model, does not wait, and reads no store. It yields a need, or a list
of programs to run side by side. It is sent an `Answer`, or `Unavailable` with a status that says why there is none
(`PENDING` if there may be one later). It appends its events to `out`; the driver takes them before every need and at
the end. A program counts nothing: the driver counts needs and events.

Prompts are made on demand, since a kept answer needs none."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

from tripos_compiler.language.evaluation import INDEX_PREFIX, MissingValue, Unavailable, elements, evaluate
from tripos_compiler.library.types import Dialogue
from tripos_compiler.plan import Ask, Column, Converse, Grade, JudgedStep, Loop, Plan, Retrieve, Score
from tripos_compiler.plan.outcomes import NOT_APPLICABLE, PENDING
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.functions.external import ExternalScorer
from tripos_runtime.asking.functions.protocol import ScorerRequest
from tripos_runtime.asking.judging import ScoreValue
from tripos_runtime.asking.plan_questions import Questions
from tripos_runtime.asking.prompts import PromptPlaceholders, ask_messages, grade_messages, shorter_messages
from tripos_runtime.asking.questions import Question
from tripos_runtime.asking.replies import Sent
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.sources import Sources
from tripos_runtime.program.retrieval import Chooser
from tripos_runtime.program.units import Conversation, Places, StepCall, Unit
from tripos_runtime.program.values import ConditionFalse, StepValues, can_be, has_namesakes


class Prompt(Protocol):
    """The prompt of a step, made on demand."""

    @property
    def left_out(self) -> int:
        """The number of turns of a dialogue that are left out."""
        ...

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """Return the messages. Raises `Unavailable` if they need a value that an earlier step did not yield.
        `placeholders` replace pending replies."""
        ...

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """Return the messages with more than `left_out` turns of a dialogue left out, preceded by the number of those
        turns; None if no more can be left out."""
        ...


@dataclass(frozen=True, slots=True)
class ReplyNeed:
    """A reply is needed, for a step or as a turn of a conversation.

    `number` is the number of the sample. `certain` is false if a pending reply decides whether this reply is needed.
    The program is sent `Answer | Unavailable`."""

    call: StepCall
    prompt: Prompt
    question: Question
    number: int = 0
    certain: bool = True
    talk: Conversation | None = None
    """The conversation that the reply is a turn of."""


@dataclass(frozen=True, slots=True)
class ConversationNeed:
    """A conversation is needed; `program` asks for its turns. Calling `systems` raises `Unavailable` if a speaker's
    system message has no value. A conversation that units share takes place once. The program is sent
    `Answer | Unavailable`."""

    talk: Conversation
    systems: Callable[[], Mapping[str, str]]
    program: Callable[[], Program]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class SimilarityNeed:
    """The similarities between a query and the elements that a step searches are needed, by embeddings. The program is
    sent these values by the number of the measure, or `Unavailable`."""

    step: Retrieve
    unit: Unit
    names: StepValues
    key: tuple[str, ...]
    """The fingerprint of the step and its inputs. Equal keys have equal values."""
    certain: bool = True


@dataclass(frozen=True, slots=True)
class ScorerNeed:
    """The value of an external scorer is needed. The program is sent the value, or `Unavailable`."""

    scorer: ExternalScorer
    request: ScorerRequest


Need = ReplyNeed | ConversationNeed | SimilarityNeed | ScorerNeed
Answered = Any
"""What a program is sent: an `Answer`, similarities, a scorer's value, the results of programs that ran side by side,
or `Unavailable`."""
Program = Generator["Need | list[Program]", Answered, Any]


class CallSkipped(NamedTuple):
    """Event: a call is skipped."""

    call: StepCall
    against: Unavailable


class ConversationSkipped(NamedTuple):
    """Event: a conversation is skipped."""

    talk: Conversation
    against: Unavailable


class RetrievalEmpty(NamedTuple):
    """Event: a step retrieves nothing; `status` says why."""

    step: Retrieve
    status: str


class ConversationEnded(NamedTuple):
    """Event: a conversation ended."""

    talk: Conversation
    systems: Callable[[], Mapping[str, str]]
    """Returns the system messages by role."""
    turns: Dialogue
    turn_usage: Sequence[Mapping[str, Any]]
    """The columns of each turn, of a failed one too."""
    status: str
    ended: str
    """How it ended: `said`, `limit`, `context_exceeded`, or the status of a failure."""
    error: str | None

    @property
    def last(self) -> str:
        """The role of the last turn, which may have failed."""
        return self.talk.speaker(len(self.turn_usage))


class ScoreResult(NamedTuple):
    """Event: the scores of a step, as value and status by title, which is a metric or the name of the step. The value
    of a judge that chooses among names is a name.

    `judgement` is the name of the reply that the scores are read from, if any; `label` is a value that is not a number,
    as JSON; `reason` says why there is no value."""

    step: Score | Column | Grade
    judgement: str | None
    evaluator: str | None
    values: Mapping[str, tuple[ScoreValue | None, str]]
    label: str | None = None
    reason: str | None = None
    elements: str | None = None
    """If each element of a list is scored: the elements, as JSON. `label` then has their scores, in the same order."""


class ComparisonResult(NamedTuple):
    """Event: the outcome of a comparison by one judge, with the judge's call. `judgement` is the name of the judge's
    reply; None if the call was skipped."""

    call: StepCall
    judgement: str | None
    value: ScoreValue | None
    status: str
    reason: str | None = None


ProgramEvent = CallSkipped | ConversationSkipped | RetrievalEmpty | ConversationEnded | ScoreResult | ComparisonResult


@cache
def pending(step: str) -> Unavailable:
    """Return the reason for a step that has no reply yet."""
    return Unavailable(step, PENDING)


def is_pending(reason: Unavailable) -> bool:
    """Return true if a value is missing only because a reply is pending."""
    return reason.status == PENDING


def step_condition(step: Ask | Converse | Retrieve | JudgedStep, names: StepValues) -> tuple[Unavailable | None, bool]:
    """Return the reason why a step is skipped, or None, and whether this is certain: no pending reply can change it."""
    against = names.against(step)
    if against is None or not is_pending(against):
        return against, True
    if step.when is None or can_be(True, step.when, names.values):
        return None, False
    return ConditionFalse(step.name, NOT_APPLICABLE, f"the condition of `{step.name}` does not hold"), True


@dataclass(frozen=True)
class ListElement:
    """An element that a judge is asked about, with the values for its expressions. `certain` is false if a pending
    reply decides whether the element exists."""

    places: Places
    names: Mapping[str, Any]
    certain: bool


def elements_in(loops: Sequence[Loop], names: Mapping[str, Any], certain: bool = True) -> Iterator[ListElement]:
    """Yield the elements that a judge is asked about, in their order. If a reply is pending, yield those that are
    possible. Raises `Unavailable` if the elements cannot be determined for another reason."""
    if not loops:
        yield ListElement(tuple(names[INDEX_PREFIX + loop] for loop in names.get(LOOPS, ())), dict(names), certain)
        return
    loop, rest = loops[0], loops[1:]
    for element_names, exists in _element_names(loop, names):
        element_names[LOOPS] = (*names.get(LOOPS, ()), loop.alias)
        is_certain = exists
        if loop.where is not None:
            try:
                if not evaluate(loop.where, element_names):
                    continue
            except Unavailable as reason:
                if not is_pending(reason):
                    raise
                if not can_be(True, loop.where, element_names):
                    continue
                is_certain = False
        yield from elements_in(rest, element_names, certain and is_certain)


LOOPS = "@loops"
"""The key of the names of an element's loops, from the outermost to the innermost."""


def _element_names(loop: Loop, names: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the values for the expressions of each element, and whether the element certainly exists. A pending list
    yields as many elements as it may have."""
    try:
        for element_names in elements(loop, names):
            yield element_names, True
    except Unavailable as reason:
        if not is_pending(reason):
            raise
        for place in range(loop.most or 0):
            yield {**names, loop.alias: MissingValue(reason.step, PENDING), INDEX_PREFIX + loop.alias: place}, False


@dataclass
class PlanContext:
    """The inputs that all programs of a plan share: the plan, its data, and the retrieval indexes."""

    plan: Plan
    sources: Sources
    chooser: Chooser = field(default_factory=Chooser)

    @cached_property
    def questions(self) -> Questions:
        """The questions of the plan's steps."""
        return Questions(self.plan, tuple(self.sources.axes.values()))


@dataclass(frozen=True, slots=True)
class AskPrompt:
    """The prompt of an ask. `names` are the values for its expressions."""

    world: PlanContext
    step: Ask
    question: Question
    case: Case
    names: Mapping[str, Any]
    earlier: AskPrompt | None = None
    """The prompt of the ask that this one continues."""
    left_out: ClassVar[int] = 0

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """See `Prompt.messages`."""
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
        """See `Prompt.shorter`. Return None unless the ask continues a conversation."""
        if self.step.continues is None or self.earlier is not None:
            return None
        return shorter_messages(self.step, self.question, self.case, self.names, self.world.sources, left_out)


def prompt_of(
    world: PlanContext, step: Ask, asks: Mapping[str, Ask], case: Case, names: Mapping[str, Any]
) -> AskPrompt:
    """Return the prompt of one of the `asks` of a treatment, after the prompt of the ask that it continues."""
    question, before = world.questions.of(step, case.language, names), asks.get(step.continues or "")
    earlier = None if before is None else prompt_of(world, before, asks, case, names)
    return AskPrompt(world, step, question, case, names, earlier)


@dataclass(slots=True)
class JudgePrompt:
    """The prompt of a judged step, which is made once for all judges."""

    world: PlanContext
    step: JudgedStep
    question: Question
    case: Case
    names: Mapping[str, Any]
    left_out: ClassVar[int] = 0
    _prompt: Sent | Unavailable | None = None

    def messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        """See `Prompt.messages`."""
        if placeholders is not None:
            return self._messages(placeholders)
        if self._prompt is None:
            try:
                self._prompt = self._messages()
            except Unavailable as reason:
                self._prompt = reason
        if isinstance(self._prompt, Unavailable):
            raise self._prompt
        return self._prompt

    def _messages(self, placeholders: PromptPlaceholders | None = None) -> Sent:
        metrics = self.world.questions.metrics(self.step)
        return grade_messages(
            self.step, self.question, self.case, self.names, self.world.sources, metrics, placeholders
        )

    def because_of_item(self, against: Unavailable | None) -> Unavailable | None:
        """Return the reason why nothing is judged, given the reason from the condition, `against`. If the condition has
        no value because of a reply, but the prompt has none because of the item alone, the reason is the item, as for
        computed scores."""
        if against is None or is_pending(against) or against.status == NOT_APPLICABLE or has_namesakes(self.step):
            return against
        try:
            self.messages()
        except Unavailable as reason:
            if reason.status == NOT_APPLICABLE:
                return ConditionFalse(self.step.name, NOT_APPLICABLE, reason.reason)
        return against

    def shorter(self, left_out: int) -> tuple[int, Sent] | None:
        """Return None: nothing is left out for a judge."""
        return None
