"""Units of work: a unit is one case answered by one model in one treatment, with the names of all its results.

A result's name depends on everything that determines it, so results of equal name are shared by treatments and runs. A
pair holds the units of two compared models for one case, whose replies a judge compares."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from tripos_compiler.language.aggregates import PEOPLE
from tripos_compiler.language.evaluation import INDEX_PREFIX, Unavailable, elements
from tripos_compiler.language.references import names_in
from tripos_compiler.language.rendering import ends_conversation
from tripos_compiler.library.types import Dialogue
from tripos_compiler.plan import (
    Ask,
    Column,
    Compare,
    Converse,
    Grade,
    JudgedStep,
    Loop,
    Plan,
    Retrieve,
    SampleList,
    Scenario,
    Score,
    Scorer,
    Treatment,
    Verdict,
)
from tripos_compiler.plan.outcomes import OK, RETRIED_NEXT_RUN, UNDEFINED
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import (
    Row,
    comparison_id,
    condition_id,
    conversation_id,
    judgement_id,
    sample_id,
    score_id,
    turn_id,
)
from tripos_runtime.datasets.cases import Case
from tripos_runtime.models.embeddings import versioned_name
from tripos_runtime.program.binding import RoleBinding, generators_of_inputs
from tripos_runtime.program.values import StepValues

Places = tuple[int, ...]
"""The position of an element in its list, after the positions of the enclosing elements."""


class StepCall(NamedTuple):
    """One model call of a unit or of a pair: the table and the name of its result, its role and its model. `part_of` is
    the name of the conversation of a turn, else empty."""

    table: str
    name: str
    role: str
    model: str
    step: Ask | Converse | JudgedStep
    part_of: str = ""
    number: int = 0
    """The number of the reply if a judge is asked several times, from 0."""
    element: Places | None = None
    """The position of the list element that a judge is asked about, if any."""

    @property
    def element_name(self) -> str | None:
        """The position of the element in the form of rows; see `element_name`."""
        return None if self.element is None else element_name(self.element)

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of each row that is kept of the call."""
        return kept_results(self.table, self.name, self.step)


def kept_results(table: str, name: str, step: Ask | Converse | JudgedStep) -> Iterator[tuple[str, str]]:
    """Yield the table and the name of each row that is kept of a result: its own row, and the row that records that the
    step's condition held."""
    yield table, name
    if step.condition:
        yield "conditions", condition_id(name, step.condition)


def element_name(places: Places) -> str:
    """Return the position of an element in the form of rows.

    >>> element_name((4,)), element_name((0, 2))
    ('4', '0.2')
    """
    return ".".join(map(str, places))


def places_of(step: Verdict, names: Mapping[str, Any], yielded: AbstractSet[str]) -> list[Places]:
    """Return the possible positions of the elements that a verdict is about. For a list in a row, these are the
    positions of its elements; for a list in a reply, of a step in `yielded`, as many as the loop allows. A unit without
    an item has the single position `()`."""
    return [()] if not names else list(_places(step.loops, names, yielded))


def _places(loops: Sequence[Loop], names: Mapping[str, Any], yielded: AbstractSet[str]) -> Iterator[Places]:
    if not loops:
        yield ()
        return
    loop, rest = loops[0], loops[1:]
    if not names_in(loop.of).isdisjoint(yielded):
        for place in range(loop.most or 0):
            yield from ((place, *inner) for inner in _places(rest, names, {*yielded, loop.alias}))
        return
    try:
        for element_names in elements(loop, names):
            place = element_names[INDEX_PREFIX + loop.alias]
            yield from ((place, *inner) for inner in _places(rest, element_names, yielded))
    except Unavailable:
        return


def last_asked_step(name: str, asks: Mapping[str, Ask], unasked: Container[str]) -> str:
    """Return the step `name`; if it was not asked, the last step before it that was asked, in the chat that it
    continues or among the steps for the elements of a list."""
    while name in unasked and (earlier := asks[name].before) in asks:
        name = str(earlier)
    return name


SAID, LIMIT = "said", "limit"
"""How a conversation ended without an error: by a text of `until`, or at the limit of turns."""


@dataclass(frozen=True, eq=False)
class Conversation:
    """Conversation `number` (from 0) of a step about a row. `models` are by role, of which `compared` is the compared
    one, if it takes part."""

    step: Converse
    name: str
    number: int
    models: Mapping[str, str]
    compared: str

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """The names of all possible turns."""
        return tuple(turn_id(self.name, number) for number in range(1, self.step.limit + 1))

    def speaker(self, number: int) -> str:
        """Return the role that speaks turn `number`, counted from 1."""
        return speaker_of(self.step, number)

    def outcome(self, turns: Dialogue, status: str) -> tuple[str, str]:
        """Return the status of a conversation that ended with `status`, and the reason if it is another one. Without a
        turn by the compared role there is nothing of it to grade, so such a conversation is `undefined`."""
        if status != OK or self.compared not in self.models or any(turn["speaker"] == self.compared for turn in turns):
            return status, ""
        return UNDEFINED, f"the conversation ended before `{self.compared}` had a turn"


def speaker_of(step: Converse, number: int) -> str:
    """Return the role that speaks turn `number`, counted from 1."""
    first, second = step.speakers[0].role, step.speakers[1].role
    other = second if step.opens == first else first
    return step.opens if number % 2 else other


def conversation_calls(talk: Conversation) -> Iterator[StepCall]:
    """Yield a call for every possible turn."""
    for number, name in enumerate(talk.turns, 1):
        role = talk.speaker(number)
        yield StepCall("turns", name, role, talk.models[role], talk.step, talk.name)


def most_turns(step: Converse) -> Iterator[tuple[str, int]]:
    """Yield each role with the largest number of turns that it may have."""
    yield speaker_of(step, 1), (step.limit + 1) // 2
    yield speaker_of(step, 2), step.limit // 2


def is_last_turn(step: Converse, role: str, text: str) -> bool:
    """Return true if this turn of `role` ends the conversation."""
    return any(until.role == role and ends_conversation(text, until.text) for until in step.until)


AND, THEN = " + ", " then "
"""The separators in the name of a cascade: between models that judge together, and before the stronger models."""


@dataclass(frozen=True, eq=False)
class BoundTreatment:
    """A treatment with models in its roles, and the parts of result names that depend on neither the case nor the
    compared model."""

    scenario: Scenario
    treatment: Treatment
    plan: Plan
    binding: RoleBinding

    @cached_property
    def asks(self) -> dict[str, Ask]:
        """The asks by name."""
        return {step.name: step for step in self.treatment.steps if isinstance(step, Ask)}

    @cached_property
    def talks(self) -> dict[str, Converse]:
        """The conversations by name."""
        return {step.name: step for step in self.treatment.steps if isinstance(step, Converse)}

    @cached_property
    def retrieved(self) -> dict[str, tuple[str, ...]]:
        """The embedding model of every retrieving step; none for retrieval without embeddings."""
        steps = [step for step in self.treatment.steps if isinstance(step, Retrieve)]
        return {step.name: () if step.using is None else self.binding.of(step.using) for step in steps}

    @cached_property
    def retrieval_sources(self) -> dict[str, tuple[str, ...]]:
        """The parts of the name of a retrieving step's result besides its fingerprint and the row: the embedding model,
        and the makers of the data sets that it searches. By the name of the step."""
        steps = [step for step in self.treatment.steps if isinstance(step, Retrieve)]
        by = self.binding.identity_of
        embedding = {
            name: tuple(versioned_name(by(model)) for model in models) for name, models in self.retrieved.items()
        }
        return {step.name: (*embedding[step.name], *self.makers[step.fingerprint]) for step in steps}

    @cached_property
    def makers(self) -> dict[str, tuple[str, ...]]:
        """The models that generate the data sets that a step reads, which are part of the name of its result. By the
        fingerprint of the step."""
        steps = self.treatment.steps
        return {step.fingerprint: generators_of_inputs(self.plan, step, self.binding.answering) for step in steps}

    @cached_property
    def judged_makers(self) -> dict[str, tuple[str, ...]]:
        """The models that generate the data sets that a judge's arguments read, without those that only its conditions
        read. By the fingerprint of the step."""
        judging = (step for step in self.treatment.steps if isinstance(step, JudgedStep))
        steps = {step.fingerprint: step.model_copy(update={"when": None, "earlier": None}) for step in judging}
        return {name: generators_of_inputs(self.plan, step, self.binding.answering) for name, step in steps.items()}

    @cached_property
    def columns(self) -> frozenset[str]:
        """The fingerprints of the columns that measures read. They are kept in the table of scores, but are not
        scores."""
        return frozenset(step.fingerprint for step in self.treatment.steps if isinstance(step, Column))

    @cached_property
    def compares(self) -> tuple[Compare, ...]:
        """The steps that compare the replies of two models."""
        return tuple(step for step in self.treatment.steps if isinstance(step, Compare))

    @cached_property
    def samples(self) -> int:
        """The number of times that a row is answered by each model."""
        return max((step.samples for step in self._sampled), default=1)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The samples of a row in the order in which they are asked. Samples after the same conversation are
        neighbours, since a provider caches the beginning of a recent prompt."""
        counts = [step.repeat for step in self.talks.values()]
        return tuple(sorted(range(self.samples), key=lambda number: [number % count for count in counts]))

    @property
    def _sampled(self) -> tuple[Ask | Converse, ...]:
        return tuple(step for step in self.treatment.steps if isinstance(step, Ask | Converse))

    @cached_property
    def concurrent_calls(self) -> int:
        """The number of calls of a row that each model has in flight at once if nothing else delays it. The turns of a
        conversation are sequential, and all later steps wait for them."""
        return min((step.samples for step in self.talks.values()), default=self.samples)

    @cached_property
    def evaluators(self) -> dict[str, tuple[str, ...]]:
        """The judging models of each grade and verdict."""
        grades = [step for step in self.treatment.steps if isinstance(step, Grade | Verdict)]
        return {step.fingerprint: self.binding.of(self.role_of(step)) for step in grades}

    @cached_property
    def scorers(self) -> dict[str, Scorer]:
        """The scorers that ask a role, by name."""
        return {scorer.name: scorer for scorer in self.plan.scorers}

    @cached_property
    def step_names(self) -> frozenset[str]:
        """The names of all steps, whose values are not in the row."""
        return frozenset(step.name for step in self.treatment.steps)

    def repeats(self, step: JudgedStep, evaluator: str) -> range:
        """Return the numbers of the replies that a judge gives. A person is asked only once."""
        return range(1 if evaluator.startswith(PEOPLE) else self.scorers[step.scorer].samples)

    @cached_property
    def before(self) -> dict[str, tuple[int, ...]]:
        """The numbers of samples of the inputs of each ask, by its name. Samples whose inputs are the same send the
        same prompt."""
        steps = {step.name: step for step in self._sampled}
        return {
            name: tuple(sorted({steps[need].samples for need in ask.needs if need in steps} - {1}))
            for name, ask in self.asks.items()
        }

    def pattern(self, model: str, number: int) -> Unit:
        """Return the unit of an empty case. The names of its results are the bindings of the results of all items."""
        if (model, number) not in self._patterns:
            case = Case(self.scenario, "", {}, {}, None, {})
            self._patterns[model, number] = Unit(case, self, model, number)
        return self._patterns[model, number]

    @cached_property
    def _patterns(self) -> dict[tuple[str, int], Unit]:
        return {}

    @cached_property
    def bindings(self) -> dict[tuple[str, str, str, int, int | str | None], str]:
        """The bindings computed so far; they are the same for every item."""
        return {}

    def conversation_role(self, step: Converse) -> str:
        """Return the role that a conversation counts for: the compared role if it takes part, else the role that
        opens."""
        roles = [speaker.role for speaker in step.speakers]
        return self.binding.compared if self.binding.compared in roles else step.opens

    def role_of(self, step: Ask | Converse | JudgedStep) -> str:
        """Return the role that makes the calls of a step; for a conversation, the role that it counts for."""
        if isinstance(step, Converse):
            return self.conversation_role(step)
        return step.role if isinstance(step, Ask) else self.scorers[step.scorer].role

    def model_of(self, ask: Ask, compared: str) -> str:
        """Return the model that answers a step if `compared` fills the compared role."""
        return self.model_in_role(ask.role, compared)

    def model_in_role(self, role: str, compared: str) -> str:
        """Return the model that fills a role if `compared` fills the compared role."""
        return compared if role == self.binding.compared else next(iter(self.binding.of(role)), "")


class Unit:
    """One case in one treatment, with `model` in the compared role, as sample `number` (from 0). The constructor
    computes the names of all results."""

    __slots__ = (
        *("bound", "calls", "case", "listed", "model", "number", "samples", "scores", "talks", "unasked", "verdicts"),
    )

    def __init__(self, case: Case, bound: BoundTreatment, model: str, number: int) -> None:
        self.case = case
        self.bound = bound
        self.model = model
        self.number = number
        self.samples: dict[str, str] = {}
        """The name of the reply to every ask and of every conversation."""
        self.listed: dict[str, list[str]] = {}
        """The names of the replies in every list of samples."""
        self.talks: dict[str, Conversation] = {}
        self.unasked: tuple[str, ...] = ()
        """The names of the asks that were skipped."""
        self.verdicts: dict[str, list[str]] = {}
        """The names of the judgements that each verdict combines."""
        self.calls: list[StepCall] = []
        """Every model call, in the order of the steps."""
        self.scores: dict[tuple[str, str | None], dict[str, str]] = {}
        """The names of the scores, by fingerprint of the step and evaluator, and then by metric. The key has the
        fingerprint since several steps may share a name."""
        for step in bound.treatment.steps:
            match step:
                case Ask():
                    answers = bound.model_of(step, model)
                    name = self.samples[step.name] = self._sample(step, answers, number)
                    self.calls.append(StepCall("samples", name, step.role, answers, step))
                case Converse():
                    self._name_talk(step)
                case SampleList():
                    self._name_samples(step)
                case Grade():
                    self._name_grade(step)
                case Verdict():
                    self._name_verdict(step)
                case Score() | Column():
                    names = {step.name: score_id(step.fingerprint, self._built_on(step), step.name, None)}
                    self.scores[step.fingerprint, None] = names

    def _name_grade(self, step: Grade) -> None:
        role, samples, judged = self.bound.role_of(step), self._built_on(step), self._judged_on(step)
        titles = step.metrics or (step.name,)
        judges = [(role, judge, number) for judge in self.judges(step) for number in self.bound.repeats(step, judge)]
        judges += [(stronger_role, model, 0) for stronger_role, model in self.stronger(step)]
        for judge_role, evaluator, number in judges:
            name = judgement_id(step.judgement, judged, self._identity(evaluator), number)
            self.calls.append(StepCall("judgements", name, judge_role, evaluator, step, number=number))
        for evaluator in self.evaluators(step):
            names = {title: score_id(step.fingerprint, samples, title, self._identity(evaluator)) for title in titles}
            self.scores[step.fingerprint, evaluator] = names

    def _sample(self, ask: Ask, model: str, number: int) -> str:
        """Return the name of a reply, which depends on the replies that its step builds on. If the step has fewer
        samples than the treatment, later samples of the unit reuse its replies."""
        identity, number = self._identity(model), number % ask.samples
        return sample_id(ask.fingerprint, self.case.item_id, identity, number, self._built_on(ask))

    def _identity(self, model: str) -> str:
        """Return the identity of a model or of a cascade."""
        identity_of = self.bound.binding.identity_of
        if THEN not in model:
            return identity_of(model)
        return THEN.join(AND.join(map(identity_of, side.split(AND))) for side in model.split(THEN))

    def _name_talk(self, step: Converse) -> None:
        models = {speaker.role: self.bound.model_in_role(speaker.role, self.model) for speaker in step.speakers}
        number, upstream = self.number % step.samples, self._built_on(step)
        identities = {role: self._identity(model) for role, model in models.items()}
        name = conversation_id(step.fingerprint, self.case.item_id, identities, number, upstream)
        self.samples[step.name] = name
        self.talks[step.name] = Conversation(step, name, number, models, self.bound.binding.compared)

    def _name_samples(self, step: SampleList) -> None:
        ask = self.bound.asks[step.of]
        answers = self.bound.model_of(ask, self.model)
        names = self.listed[step.name] = [self._sample(ask, answers, number) for number in range(ask.samples)]
        self.calls += [StepCall("samples", name, ask.role, answers, ask) for name in names]

    def _name_verdict(self, step: Verdict) -> None:
        judged = self._judged_on(step)
        role, names = self.bound.role_of(step), self.verdicts.setdefault(step.name, [])
        places = places_of(step, self.case.names, self.bound.step_names) if step.loops else []
        for evaluator in self.evaluators(step):
            identity = self._identity(evaluator)
            for number in self.bound.repeats(step, evaluator):
                # With loops, this is the name of no judgement. It stands for all of them in the names of results that
                # build on the verdicts.
                names.append(judgement_id(step.judgement, judged, identity, number))
                if not step.loops:
                    self.calls.append(StepCall("judgements", names[-1], role, evaluator, step, number=number))
                for place in places:
                    # In the unit of an empty case the place is empty: the name is the binding of all elements.
                    name = judgement_id(step.judgement, judged, identity, number, element_name(place) or None)
                    call = StepCall("judgements", name, role, evaluator, step, number=number, element=place)
                    self.calls.append(call)

    def _built_on(self, step: Ask | Converse | Score | Column | JudgedStep) -> list[str]:
        """Return the parts of the name of a step's result: its inputs, and the models that generate the data sets that
        it reads."""
        return [*self.upstream(step.needs), *self.bound.makers[step.fingerprint]]

    def _judged_on(self, step: Grade | Verdict) -> list[str]:
        """Return the parts of the name of a judge's reply: the inputs of its arguments, and the models that generate
        the data sets that these read. The conditions of the step are not among them, so that a call has one reply
        whatever the conditions of the scores that use it."""
        # A judgement that builds on no reply depends only on the row, and all compared models share it.
        has_reply = any(name not in self.bound.retrieved for name in step.judged)
        return [*([] if has_reply else [self.case.item_id]), *self._judged_inputs(step)]

    def _judged_inputs(self, step: Grade | Verdict) -> list[str]:
        return [*self.upstream(step.judged), *self.bound.judged_makers[step.fingerprint]]

    def upstream(self, needs: Sequence[str]) -> list[str]:
        """Return the parts that these steps add to the names of results that build on them: the names of their replies
        and judgements, and for a retrieving step its sources."""
        parts: list[str] = []
        for name in needs:
            if name in self.bound.retrieved:
                parts += self.bound.retrieval_sources[name]
            elif name in self.listed:
                parts += self.listed[name]
            else:
                parts += self.verdicts[name] if name in self.verdicts else [self.samples[name]]
        return parts

    @property
    def pattern(self) -> Unit:
        """The unit of an empty case, whose names are the bindings of this unit's results."""
        return self.bound.pattern(self.model, self.number)

    def sample_binding(self, ask: Ask, number: int) -> str:
        """Return the binding of sample `number` of a step after the replies that this unit builds on."""
        key = (ask.name, ask.fingerprint, self.model, self.number, number)
        if (known := self.bound.bindings.get(key)) is None:
            known = self.pattern._sample(ask, self.bound.model_of(ask, self.model), number)
            self.bound.bindings[key] = known
        return known

    def score_binding(self, step: Score | Column | Grade, evaluator: str | None) -> str:
        """Return the binding of the scores of a step by that evaluator."""
        key = (step.name, step.fingerprint, self.model, self.number, evaluator)
        if (known := self.bound.bindings.get(key)) is None:
            identity = None if evaluator is None else self._identity(evaluator)
            known = self.bound.bindings[key] = score_id(step.fingerprint, self.pattern._built_on(step), "", identity)
        return known

    def imported_binding(self, step: Grade | Verdict) -> str:
        """Return the binding of judgements that are imported for a step, of all judges."""
        return judgement_id(step.judgement, self.pattern._judged_inputs(step), "")

    def last_reply(self, needs: Sequence[str]) -> str | None:
        """Return the name of the last reply that these steps yield; None if there is none."""
        asks = [last_asked_step(name, self.bound.asks, self.unasked) for name in self.samples if name in needs]
        listed = [names[0] for name, names in self.listed.items() if name in needs]
        return self.samples[asks[-1]] if asks else listed[-1] if listed else None

    def about(self, step: Score | Column | Grade | Compare) -> str:
        """Return the name of the reply that a score is about. In a chat it is the last reply. If the score is about all
        samples of an ask, it is the first of them."""
        listed, name = self.listed.get(f"{step.of}.samples"), last_asked_step(step.of, self.bound.asks, self.unasked)
        return self.samples[name] if listed is None or step.of in step.needs else listed[0]

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of every result of the unit."""
        for call in self.calls:
            yield from call.results
        for talk in self.talks.values():
            yield from kept_results("samples", talk.name, talk.step)
        for names in self.scores.values():
            for name in names.values():
                yield "scores", name

    def all_samples(self, ask: Ask) -> list[tuple[int, str]]:
        """Return the number and the name of every sample of a step with the same prompt as the sample of this unit."""
        before, model = self.bound.before[ask.name], self.bound.model_of(ask, self.model)

        def has_same_inputs(number: int) -> bool:
            return all(number % count == self.number % count for count in before)

        numbers = {self.number % ask.samples, *filter(has_same_inputs, range(ask.samples))}
        return [(number, self._sample(ask, model, number)) for number in sorted(numbers)]

    def evaluators(self, step: JudgedStep) -> tuple[str, ...]:
        """Return the evaluators of a grade or a verdict: its judges, or one name for a whole cascade."""
        judges, stronger = self.judges(step), self.stronger(step)
        return (f"{AND.join(judges)}{THEN}{AND.join(each for _, each in stronger)}",) if stronger else judges

    def stronger(self, step: JudgedStep) -> list[tuple[str, str]]:
        """Return the role and the name of each model that a cascade asks if its first judges disagree. There is none if
        a person is among the first judges."""
        role = self.bound.scorers[step.scorer].then
        if role is None or any(judge.startswith(PEOPLE) for judge in self.judges(step)):
            return []
        return [(role, model) for model in self.bound.binding.of(role)]

    def judges(self, step: JudgedStep) -> tuple[str, ...]:
        """Return the models that judge a grade first, or that give a verdict. If the compared role judges, each of its
        models judges only itself."""
        if self.bound.role_of(step) == self.bound.binding.compared:
            return (self.model,)
        return self.bound.evaluators[step.fingerprint]

    def scored(self, step: Score | Column | Grade) -> str:
        """Return the model that a score is about: the compared model if it took part, else the author of the reply."""
        asks, talks, compared = self.bound.asks, self.bound.talks, self.bound.binding.compared
        if any(asks[name].role == compared for name in step.needs if name in asks):
            return self.model
        if any(self.bound.conversation_role(talks[name]) == compared for name in step.needs if name in talks):
            return self.model
        if step.of in talks:
            return self.bound.model_in_role(self.bound.conversation_role(talks[step.of]), self.model)
        return self.bound.model_of(asks[step.of], self.model)

    def judged_by(self, step: Score | Column | Grade) -> list[str] | None:
        """Return the judges inside the expression of a score, sorted by name; None if there are none."""
        if not self.verdicts or not any(name in self.verdicts for name in step.needs):
            return None
        judging = (call for call in self.calls if isinstance(call.step, Verdict) and call.step.name in step.needs)
        return sorted({call.model for call in judging})

    def judgement(self, step: JudgedStep, evaluator: str, number: int = 0) -> str:
        """Return the name of reply `number` of a judge; for a verdict on elements, the name that stands for all of
        them."""
        if isinstance(step, Verdict) and step.loops:
            replies = [(judge, repeat) for judge in self.evaluators(step) for repeat in self.bound.repeats(step, judge)]
            return self.verdicts[step.name][replies.index((evaluator, number))]
        calls = (call for call in self.calls if call.step is step and call.number == number)
        return next(call.name for call in calls if call.model == evaluator)

    def judged(self, call: StepCall) -> str:
        """Return the name of this unit's judgement that corresponds to a call of another item's unit."""
        return self.judgement(call.step, call.model, call.number)  # type: ignore[arg-type]


FindRows = Callable[[str, Collection[str]], Mapping[str, Row]]
"""A function that returns the rows of a ledger's table by name."""


class Pair:
    """The replies of `first` and `second`, in this order, as one step compares them.

    Both units have the same case and treatment, and the same sample number. The constructor computes the names of all
    results."""

    __slots__ = ("bound", "calls", "case", "comparisons", "first", "number", "second", "step")

    talks: ClassVar[Mapping[str, Conversation]] = {}
    """Always empty: the conversations belong to the units."""

    def __init__(self, step: Compare, first: Unit, second: Unit) -> None:
        self.case, self.bound, self.number = first.case, first.bound, first.number
        self.step, self.first, self.second = step, first, second
        role = self.bound.role_of(step)
        judges = self.bound.binding.of(role)
        samples, judged = self._built_on(), self._judged_on()
        identity_of = self.bound.binding.identity_of
        self.calls = [
            StepCall(
                "judgements",
                judgement_id(step.judgement, judged, identity_of(judge), number),
                role,
                judge,
                step,
                number=number,
            )
            for judge in judges
            for number in self.bound.repeats(step, judge)
        ]
        """The calls of every judge."""
        self.comparisons = {judge: comparison_id(step.fingerprint, samples, identity_of(judge)) for judge in judges}
        """The names of the outcomes, by judge."""

    def _built_on(self) -> list[str]:
        """Return the parts of the names of the outcomes: the replies of both sides, and the models that generate the
        data sets that the step reads."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.needs)]
        return [*samples, *self.bound.makers[self.step.fingerprint]]

    def _judged_on(self) -> list[str]:
        """Return the parts of the name of a judge's reply: as for an outcome, but only what its arguments use."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.judged)]
        return [*samples, *self.bound.judged_makers[self.step.fingerprint]]

    @property
    def sides(self) -> tuple[Unit, Unit]:
        """Both units, in this order."""
        return self.first, self.second

    @property
    def imported_binding(self) -> str:
        """The binding of outcomes that are imported for the step, of all judges."""
        return judgement_id(self.step.judgement, self.pattern._judged_on(), "")

    @property
    def pattern(self) -> Pair:
        """The pair of an empty case, whose names are the bindings of this pair's results."""
        return Pair(self.step, self.first.pattern, self.second.pattern)

    def judged(self, call: StepCall) -> str:
        """Return the name of this pair's judgement that corresponds to a call of another item's pair."""
        return next(
            step_call.name
            for step_call in self.calls
            if (step_call.model, step_call.number) == (call.model, call.number)
        )

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of every result of the pair."""
        for call in self.calls:
            yield from call.results
        for name in self.comparisons.values():
            yield "comparisons", name

    def names(self, first: StepValues, second: StepValues) -> StepValues:
        """Return the values for the expressions of the step, given those of both units: the names `first` and `second`
        have the values of each unit. The fields of the row, which are the same, are names of their own too."""
        names = StepValues(first.values)
        names.set_reply_value("first", first.values)
        names.set_reply_value("second", second.values)
        return names


class CaseSplit(NamedTuple):
    """The remaining and the complete units and pairs of a case. A complete unit is run again if one of its pairs
    remains, since the judge sees its reply."""

    todo: list[Unit]
    """The units to run."""
    complete: list[Unit]
    """The units with all results that are not run again."""
    pairs: list[Pair]
    """The pairs to run."""
    paired: list[Pair]
    """The pairs with all results."""

    @property
    def open(self) -> list[Unit | Pair]:
        """All units and pairs to run."""
        return units_and_pairs(self.todo, self.pairs)


def units_and_pairs(units: Sequence[Unit], pairs: Sequence[Pair]) -> list[Unit | Pair]:
    """Return units and pairs in one list."""
    return [*units, *pairs]


def pairs_of(units: Sequence[Unit]) -> list[Pair]:
    """Return every pair of the units of a case, in both orders."""
    sides: dict[tuple[int, int], list[Unit]] = {}
    for unit in units:
        if unit.bound.compares:
            sides.setdefault((id(unit.bound), unit.number), []).append(unit)
    return [
        Pair(step, first, second)
        for side in sides.values()
        for step in side[0].bound.compares
        for first, second in itertools.permutations(side, 2)
    ]


def split_case(units: Sequence[Unit], pairs: Sequence[Pair], kept: Mapping[str, str]) -> CaseSplit:
    """Split the units and pairs of a case into those whose results are all in `kept` and the others."""
    remaining = [pair for pair in pairs if not is_complete(pair, kept)]
    shown = {side for pair in remaining for side in (pair.first, pair.second)}
    todo = [unit for unit in units if unit in shown or not is_complete(unit, kept)]
    todo_set = set(todo)
    return CaseSplit(
        todo,
        [unit for unit in units if unit not in todo_set],
        remaining,
        [pair for pair in pairs if is_complete(pair, kept)],
    )


def result_names(parts: Iterable[Unit | Pair]) -> dict[str, dict[str, None]]:
    """Return the names of all results of units and pairs, by table, in order."""
    names: dict[str, dict[str, None]] = {}
    talks: dict[str, Conversation] = {}
    for part in parts:
        for table, name in part.results:
            names.setdefault(table, {})[name] = None
        talks |= {talk.name: talk for talk in part.talks.values()}
    for talk in talks.values():
        names.setdefault("turns", {}).update(dict.fromkeys(talk.turns))
    return names


def valid_statuses(parts: Iterable[Unit | Pair], statuses: Mapping[str, str], rows: FindRows) -> dict[str, str]:
    """Return the statuses of the results that stay valid, by name. Results that a later run retries are left out. So is
    everything that builds on a reply that is retried although its row has another status: other versions of Tripos
    accept replies that this one retries, such as truncated ones."""
    kept = {name: status for name, status in statuses.items() if status not in RETRIED_NEXT_RUN}
    retried = statuses.keys() - kept.keys()
    if not retried:
        return kept
    parts = [*parts]
    if kept.keys().isdisjoint(_results_from(parts, retried)):
        return kept
    retried_rows = [row for table in ("samples", "judgements", "turns") for row in rows(table, retried).items()]
    accepted = {name for name, row in retried_rows if row["status"] not in RETRIED_NEXT_RUN}
    invalid = _results_from(parts, accepted)
    return {name: status for name, status in kept.items() if name not in invalid}


def _results_from(parts: Iterable[Unit | Pair], replies: Collection[str]) -> set[str]:
    """Return the names of the results of units and pairs that build on these replies."""
    names: set[str] = set()
    for part in parts:
        if isinstance(part, Pair):
            if not (names | set(replies)).isdisjoint(part._built_on()):
                names.update(name for _, name in part.results)
            continue
        for talk in part.talks.values():
            place = next((place for place, name in enumerate(talk.turns) if name in replies), None)
            names.update(() if place is None else (talk.name, *talk.turns[place + 1 :]))
        for step in part.bound.treatment.steps:
            if isinstance(step, Retrieve | SampleList | Compare):
                continue
            if (names | set(replies)).isdisjoint(part.upstream(step.needs)):
                continue
            match step:
                case Ask():
                    names.add(part.samples[step.name])
                case Converse():
                    names.update((part.talks[step.name].name, *part.talks[step.name].turns))
                case Grade() | Verdict():
                    calls = (call.name for call in part.calls if call.step is step)
                    names.update((*part.verdicts.get(step.name, ()), *calls))
            scores = (each for (fingerprint, _), each in part.scores.items() if fingerprint == step.fingerprint)
            names.update(name for each in scores for name in each.values())
    return names


def is_complete(part: Unit | Pair, kept: Mapping[str, str]) -> bool:
    """Return true if `kept` has every result of a unit or a pair."""
    return all(name in kept for _, name in part.results)
