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
from tripos_compiler.plan.outcomes import RETRIED_NEXT_RUN
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
    """One model call of a unit or of a pair: the table and the name of its result, its role and its model. A turn is
    `part_of` a conversation."""

    table: str
    name: str
    role: str
    model: str
    step: Ask | Converse | JudgedStep
    part_of: str = ""
    number: int = 0
    """The number of the reply if a judge is asked several times, from 0."""
    element: Places | None = None
    """The element of a list that a judge is asked about: its position, after those of the enclosing lists."""

    @property
    def element_name(self) -> str | None:
        """The position of the element as rows have it: `4`, or `0.2` for a list in a list."""
        return None if self.element is None else element_name(self.element)

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """Yield the table and the name of each row that is kept of the call."""
        return kept_results(self.table, self.name, self.step)


def kept_results(table: str, name: str, step: Ask | Converse | JudgedStep) -> Iterator[tuple[str, str]]:
    """Yield the table and the name of each row that is kept of a result: its own row, and the row that says that the
    step's condition held."""
    yield table, name
    if step.condition:
        yield "conditions", condition_id(name, step.condition)


def element_name(places: Places) -> str:
    """Return the position of an element as rows have it.

    >>> element_name((4,)), element_name((0, 2))
    ('4', '0.2')
    """
    return ".".join(map(str, places))


def places_of(step: Verdict, names: Mapping[str, Any], yielded: AbstractSet[str]) -> list[Places]:
    """Return the possible positions of elements. A list in a row has those of its elements; a list in a reply, whose
    steps are in `yielded`, has as many as its loop allows. A unit without an item has none."""
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
        for inside in elements(loop, names):
            place = inside[INDEX_PREFIX + loop.alias]
            yield from ((place, *inner) for inner in _places(rest, inside, yielded))
    except Unavailable:
        return


def last_asked_step(name: str, asks: Mapping[str, Ask], unasked: Container[str]) -> str:
    """Return the step `name`; if it was not asked, the last step before it that was asked, in the chat that it
    continues or among the steps for the elements of a list."""
    while name in unasked and (earlier := asks[name].before) in asks:
        name = str(earlier)
    return name


SAID, LIMIT = "said", "limit"
"""The statuses of conversations that ended without an error."""


@dataclass(frozen=True, eq=False)
class Conversation:
    """The `number`-th conversation of a step about a row, counted from 0. `models` are by role."""

    step: Converse
    name: str
    number: int
    models: Mapping[str, str]

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """The names of all possible turns."""
        return tuple(turn_id(self.name, number) for number in range(1, self.step.limit + 1))

    def speaker(self, number: int) -> str:
        """Return the role that speaks turn `number`, counted from 1."""
        return speaker_of(self.step, number)


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
"""The separator between the names of models in the name of a cascade."""


@dataclass(frozen=True, eq=False)
class BoundTreatment:
    """A treatment with models in its roles: the part of a unit's names that depends on neither its case nor its
    model."""

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
        """What names the result of every retrieving step, apart from its fingerprint and the row: the embedding model,
        and the makers of the data sets that it searches."""
        steps = [step for step in self.treatment.steps if isinstance(step, Retrieve)]
        by = self.binding.identity_of
        embedding = {
            name: tuple(versioned_name(by(model)) for model in models) for name, models in self.retrieved.items()
        }
        return {step.name: (*embedding[step.name], *self.makers[step.fingerprint]) for step in steps}

    @cached_property
    def makers(self) -> dict[str, tuple[str, ...]]:
        """What names the result of every step, apart from its fingerprint and its inputs: the makers of the data sets
        that it reads. By fingerprint."""
        steps = self.treatment.steps
        return {step.fingerprint: generators_of_inputs(self.plan, step, self.binding.answering) for step in steps}

    @cached_property
    def judged_makers(self) -> dict[str, tuple[str, ...]]:
        """The makers of the data sets that the arguments of every judge read, by fingerprint of the step."""
        judging = (step for step in self.treatment.steps if isinstance(step, JudgedStep))
        asked = {step.fingerprint: step.model_copy(update={"when": None, "earlier": None}) for step in judging}
        return {name: generators_of_inputs(self.plan, step, self.binding.answering) for name, step in asked.items()}

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
        """How often the inputs of an ask are sampled. Samples with the same inputs send the same prompt."""
        steps = {step.name: step for step in self._sampled}
        return {
            name: tuple(sorted({steps[need].samples for need in ask.needs if need in steps} - {1}))
            for name, ask in self.asks.items()
        }

    def pattern(self, model: str, number: int) -> Unit:
        """Return the unit without an item. The names of its results are the bindings of the results of every item."""
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
    """One case in one treatment, with `model` in the compared role, as sample `number` (from 0). The names of all
    results are computed at construction."""

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
        """The asks that needed no call."""
        self.verdicts: dict[str, list[str]] = {}
        """The names of the judgements that every verdict combines."""
        self.calls: list[StepCall] = []
        """Every model call, in the order of the steps."""
        self.scores: dict[tuple[str, str | None], dict[str, str]] = {}
        """The names of the scores by fingerprint of the step and evaluator, each by metric. Several steps may share a
        name."""
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
        asked = [(role, judge, number) for judge in self.judges(step) for number in self.bound.repeats(step, judge)]
        asked += [(then, each, 0) for then, each in self.stronger(step)]
        for by, evaluator, number in asked:
            name = judgement_id(step.judgement, judged, self._by(evaluator), number)
            self.calls.append(StepCall("judgements", name, by, evaluator, step, number=number))
        for evaluator in self.evaluators(step):
            names = {title: score_id(step.fingerprint, samples, title, self._by(evaluator)) for title in titles}
            self.scores[step.fingerprint, evaluator] = names

    def _sample(self, ask: Ask, model: str, number: int) -> str:
        """Return the name of a reply, which depends on the replies that its step builds on. A step that is asked once
        serves every sample of a later step."""
        by, number = self._by(model), number % ask.samples
        return sample_id(ask.fingerprint, self.case.item_id, by, number, self._built_on(ask))

    def _by(self, model: str) -> str:
        identity_of = self.bound.binding.identity_of
        if THEN not in model:
            return identity_of(model)
        return THEN.join(AND.join(map(identity_of, side.split(AND))) for side in model.split(THEN))

    def _name_talk(self, step: Converse) -> None:
        models = {speaker.role: self.bound.model_in_role(speaker.role, self.model) for speaker in step.speakers}
        number, upstream = self.number % step.samples, self._built_on(step)
        by = {role: self._by(model) for role, model in models.items()}
        name = conversation_id(step.fingerprint, self.case.item_id, by, number, upstream)
        self.samples[step.name] = name
        self.talks[step.name] = Conversation(step, name, number, models)

    def _name_samples(self, step: SampleList) -> None:
        ask = self.bound.asks[step.of]
        answers = self.bound.model_of(ask, self.model)
        names = self.listed[step.name] = [self._sample(ask, answers, number) for number in range(ask.samples)]
        self.calls += [StepCall("samples", name, ask.role, answers, ask) for name in names]

    def _name_verdict(self, step: Verdict) -> None:
        about = self._judged_on(step)
        role, names = self.bound.role_of(step), self.verdicts.setdefault(step.name, [])
        places = places_of(step, self.case.names, self.bound.step_names) if step.loops else []
        for evaluator in self.evaluators(step):
            by = self._by(evaluator)
            for number in self.bound.repeats(step, evaluator):
                # Results that build on verdicts about elements are named by the list, unlike any element.
                names.append(judgement_id(step.judgement, about, by, number))
                if not step.loops:
                    self.calls.append(StepCall("judgements", names[-1], role, evaluator, step, number=number))
                for place in places:
                    # A unit without an item has no elements: the name is the binding of all verdicts.
                    name = judgement_id(step.judgement, about, by, number, element_name(place) or None)
                    call = StepCall("judgements", name, role, evaluator, step, number=number, element=place)
                    self.calls.append(call)

    def _built_on(self, step: Ask | Converse | Score | Column | JudgedStep) -> list[str]:
        """Return the parts that name the result of a step: its inputs, and the makers of the data sets that it
        reads."""
        return [*self.upstream(step.needs), *self.bound.makers[step.fingerprint]]

    def _judged_on(self, step: Grade | Verdict) -> list[str]:
        """Return the parts that name a judge's reply: the inputs of its arguments, and the makers of the data sets that
        they read. The same call has one reply, whatever the conditions of the scores that use it."""
        # A result that builds on no reply depends on the row alone, so all compared models share it.
        replied = any(name not in self.bound.retrieved for name in step.judged)
        return [*([] if replied else [self.case.item_id]), *self._shown_media(step)]

    def _shown_media(self, step: Grade | Verdict) -> list[str]:
        return [*self.upstream(step.judged), *self.bound.judged_makers[step.fingerprint]]

    def upstream(self, needs: Sequence[str]) -> list[str]:
        """Return the names of the replies and judgements that these steps yield, and the other parts that name their
        results."""
        found: list[str] = []
        for name in needs:
            if name in self.bound.retrieved:
                found += self.bound.retrieval_sources[name]
            elif name in self.listed:
                found += self.listed[name]
            else:
                found += self.verdicts[name] if name in self.verdicts else [self.samples[name]]
        return found

    @property
    def pattern(self) -> Unit:
        """The unit without an item, whose names are the bindings of this unit's results."""
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
            by = None if evaluator is None else self._by(evaluator)
            known = self.bound.bindings[key] = score_id(step.fingerprint, self.pattern._built_on(step), "", by)
        return known

    def imported_binding(self, step: Grade | Verdict) -> str:
        """Return the binding of judgements that are imported for a step, whoever gave them."""
        return judgement_id(step.judgement, self.pattern._shown_media(step), "")

    def last_reply(self, needs: Sequence[str]) -> str | None:
        """Return the name of the last reply that these steps yield; None if there is none."""
        asks = [last_asked_step(name, self.bound.asks, self.unasked) for name in self.samples if name in needs]
        listed = [names[0] for name, names in self.listed.items() if name in needs]
        return self.samples[asks[-1]] if asks else listed[-1] if listed else None

    def about(self, step: Score | Column | Grade | Compare) -> str:
        """Return the name of the reply that a score is about: the first of all samples of an ask, or the last of a
        chat."""
        listed, name = self.listed.get(f"{step.of}.samples"), last_asked_step(step.of, self.bound.asks, self.unasked)
        return self.samples[name] if listed is None or step.of in step.needs else listed[0]

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """Yield the table and the name of every result of the unit."""
        for call in self.calls:
            yield from call.results
        for talk in self.talks.values():
            yield from kept_results("samples", talk.name, talk.step)
        for names in self.scores.values():
            for name in names.values():
                yield "scores", name

    def all_samples(self, ask: Ask) -> list[tuple[int, str]]:
        """Return every sample of a step that gets the same prompt as this one, with its name."""
        before, model = self.bound.before[ask.name], self.bound.model_of(ask, self.model)
        own = self.number % ask.samples
        same = {own, *(n for n in range(ask.samples) if all(n % each == self.number % each for each in before))}
        return [(number, self._sample(ask, model, number)) for number in sorted(same)]

    def evaluators(self, step: JudgedStep) -> tuple[str, ...]:
        """Return the evaluators of a grade or a verdict: its judges, or one name for a whole cascade."""
        judges, stronger = self.judges(step), self.stronger(step)
        return (f"{AND.join(judges)}{THEN}{AND.join(each for _, each in stronger)}",) if stronger else judges

    def stronger(self, step: JudgedStep) -> list[tuple[str, str]]:
        """Return the models that a cascade asks if its first judges disagree, each with its role. A person needs no
        second opinion."""
        then = self.bound.scorers[step.scorer].then
        if then is None or any(judge.startswith(PEOPLE) for judge in self.judges(step)):
            return []
        return [(then, model) for model in self.bound.binding.of(then)]

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
        """Return the name of a judge's reply, the first of several or another."""
        if isinstance(step, Verdict) and step.loops:
            among = [(by, repeat) for by in self.evaluators(step) for repeat in self.bound.repeats(step, by)]
            return self.verdicts[step.name][among.index((evaluator, number))]
        calls = (call for call in self.calls if call.step is step and call.number == number)
        return next(call.name for call in calls if call.model == evaluator)

    def judged(self, call: StepCall) -> str:
        """Return the name of this unit's judgement that corresponds to a call of another item's unit."""
        return self.judgement(call.step, call.model, call.number)  # type: ignore[arg-type]


FindRows = Callable[[str, Collection[str]], Mapping[str, Row]]
"""A function that returns the rows of a ledger's table by name."""


class Pair:
    """The replies of `first` and `second`, in this order, as one step compares them.

    Both units have the same case and treatment, and sample n of one meets sample n of the other. The names of all
    results are computed at construction."""

    __slots__ = ("bound", "calls", "case", "comparisons", "first", "number", "second", "step")

    talks: ClassVar[Mapping[str, Conversation]] = {}
    """Always empty: a pair holds no conversations, its units do."""

    def __init__(self, step: Compare, first: Unit, second: Unit) -> None:
        self.case, self.bound, self.number = first.case, first.bound, first.number
        self.step, self.first, self.second = step, first, second
        role = self.bound.role_of(step)
        judges = self.bound.binding.of(role)
        samples, judged = self._built_on(), self._judged_on()
        by = self.bound.binding.identity_of
        self.calls = [
            StepCall(
                "judgements",
                judgement_id(step.judgement, judged, by(judge), number),
                role,
                judge,
                step,
                number=number,
            )
            for judge in judges
            for number in self.bound.repeats(step, judge)
        ]
        """The calls of every judge."""
        self.comparisons = {judge: comparison_id(step.fingerprint, samples, by(judge)) for judge in judges}
        """The names of the outcomes by judge."""

    def _built_on(self) -> list[str]:
        """Return the parts that name the outcomes: the replies of both sides, and the makers of the data sets that the
        step reads."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.needs)]
        return [*samples, *self.bound.makers[self.step.fingerprint]]

    def _judged_on(self) -> list[str]:
        """Return the parts that name a judge's reply: those of the outcome that its arguments use."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.judged)]
        return [*samples, *self.bound.judged_makers[self.step.fingerprint]]

    @property
    def sides(self) -> tuple[Unit, Unit]:
        """Both units, in this order."""
        return self.first, self.second

    @property
    def imported_binding(self) -> str:
        """The binding of outcomes that are imported for the step, whoever gave them."""
        return judgement_id(self.step.judgement, self.pattern._judged_on(), "")

    @property
    def pattern(self) -> Pair:
        """The pair without an item, whose names are the bindings of this pair's results."""
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
        """Yield the table and the name of every result of the pair."""
        for call in self.calls:
            yield from call.results
        for name in self.comparisons.values():
            yield "comparisons", name

    def names(self, first: StepValues, second: StepValues) -> StepValues:
        """Return the names that expressions see: those of each side below `first` and `second`. Names that both sides
        share are those of the case."""
        names = StepValues(first.values)
        names.set_reply_value("first", first.values)
        names.set_reply_value("second", second.values)
        return names


class CaseSplit(NamedTuple):
    """The remaining and the finished units and pairs of a case. A unit is run again if one of its pairs needs it, since
    the judge sees its reply."""

    todo: list[Unit]
    complete: list[Unit]
    pairs: list[Pair]
    paired: list[Pair]

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
    open_ = [pair for pair in pairs if not is_complete(pair, kept)]
    shown = {side for pair in open_ for side in (pair.first, pair.second)}
    todo = [unit for unit in units if unit in shown or not is_complete(unit, kept)]
    left = set(todo)
    return CaseSplit(
        todo,
        [unit for unit in units if unit not in left],
        open_,
        [pair for pair in pairs if is_complete(pair, kept)],
    )


def result_names(every: Iterable[Unit | Pair]) -> dict[str, dict[str, None]]:
    """Return the names of all results of units and pairs, by table, in order."""
    wanted: dict[str, dict[str, None]] = {}
    talks: dict[str, Conversation] = {}
    for part in every:
        for table, name in part.results:
            wanted.setdefault(table, {})[name] = None
        talks |= {talk.name: talk for talk in part.talks.values()}
    for talk in talks.values():
        wanted.setdefault("turns", {}).update(dict.fromkeys(talk.turns))
    return wanted


def valid_statuses(every: Iterable[Unit | Pair], statuses: Mapping[str, str], rows: FindRows) -> dict[str, str]:
    """Return the statuses of the results that stay valid, by name. Results that a later run retries are left out, and
    so is everything built on a truncated reply that an earlier version took for an answer."""
    kept = {name: status for name, status in statuses.items() if status not in RETRIED_NEXT_RUN}
    again = statuses.keys() - kept.keys()
    if not again:
        return kept
    every = [*every]
    if kept.keys().isdisjoint(_built_on(every, again)):
        return kept
    found = [row for table in ("samples", "judgements", "turns") for row in rows(table, again).items()]
    broken = {name for name, row in found if row["status"] not in RETRIED_NEXT_RUN}
    lost = _built_on(every, broken)
    return {name: status for name, status in kept.items() if name not in lost}


def _built_on(every: Iterable[Unit | Pair], replies: Collection[str]) -> set[str]:
    """Return the names of the results of units and pairs that build on these replies."""
    found: set[str] = set()
    for part in every:
        if isinstance(part, Pair):
            if not (found | set(replies)).isdisjoint(part._built_on()):
                found.update(name for _, name in part.results)
            continue
        for talk in part.talks.values():
            place = next((place for place, name in enumerate(talk.turns) if name in replies), None)
            found.update(() if place is None else (talk.name, *talk.turns[place + 1 :]))
        for step in part.bound.treatment.steps:
            if isinstance(step, Retrieve | SampleList | Compare):
                continue
            if (found | set(replies)).isdisjoint(part.upstream(step.needs)):
                continue
            match step:
                case Ask():
                    found.add(part.samples[step.name])
                case Converse():
                    found.update((part.talks[step.name].name, *part.talks[step.name].turns))
                case Grade() | Verdict():
                    found.update((*part.verdicts.get(step.name, ()), *(c.name for c in part.calls if c.step is step)))
            scores = (names for (own, _), names in part.scores.items() if own == step.fingerprint)
            found.update(name for names in scores for name in names.values())
    return found


def is_complete(part: Unit | Pair, kept: Mapping[str, str]) -> bool:
    """Return true if `kept` has every result of a unit or a pair."""
    return all(name in kept for _, name in part.results)
