"""A unit: one case answered by one model in one treatment, with everything that its steps need and yield.

Model calls of a program, with name and caller, and the conversations that some of them are turns of.

A pair: the replies of two compared models to one case, side by side, for a judge to say which is better.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from tripos_compiler.language.aggregates import PEOPLE
from tripos_compiler.language.evaluation import PLACE, Unavailable, elements
from tripos_compiler.language.references import names_in
from tripos_compiler.language.rendering import ends_conversation
from tripos_compiler.plan import (
    Ask,
    Column,
    Compare,
    Converse,
    Grade,
    Judging,
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
from tripos_runtime.models.embeddings import encoder_id
from tripos_runtime.program.binding import RoleBinding, made_by
from tripos_runtime.program.values import Names

Places = tuple[int, ...]
"""The place of an element in its list, after those of the elements that the list is of."""


class StepCall(NamedTuple):
    """One model call of a unit or of a pair: the table that keeps it, its name there, and who makes it. A turn is
    `part_of` a conversation."""

    table: str
    name: str
    role: str
    model: str
    step: Ask | Converse | Judging
    part_of: str = ""
    number: int = 0
    """Which of the replies of a judge that is asked several times it is, from 0."""
    element: Places | None = None
    """About which element of a list a judge is asked: its place, after those of the lists that it stands in."""

    @property
    def element_name(self) -> str | None:
        """Return the places of the element as rows have them: `4`, or `0.2` of a list in a list."""
        return None if self.element is None else element_name(self.element)

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of what is kept of it."""
        return kept_results(self.table, self.name, self.step)


def kept_results(table: str, name: str, step: Ask | Converse | Judging) -> Iterator[tuple[str, str]]:
    """Yield the table and the name of what is kept of a result: its row, and that the condition of its step held."""
    yield table, name
    if step.condition:
        yield "conditions", condition_id(name, step.condition)


def element_name(places: Places) -> str:
    """Return the places of an element as rows have them.

    >>> element_name((4,)), element_name((0, 2))
    ('4', '0.2')
    """
    return ".".join(map(str, places))


def places_of(step: Verdict, names: Mapping[str, Any], yielded: AbstractSet[str]) -> list[Places]:
    """Return where there may be elements: in a list that stands in a row where it has some, and in one that a reply
    says, whose names are `yielded`, as far as its loop goes. A unit of no item has none."""
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
            place = inside[PLACE + loop.alias]
            yield from ((place, *inner) for inner in _places(rest, inside, yielded))
    except Unavailable:
        return


def last_asked(name: str, asks: Mapping[str, Ask], unasked: Container[str]) -> str:
    """Return a step, or where it was not asked the last one before it of the chat that it continues, or of those for
    the elements of a list."""
    while name in unasked and (earlier := asks[name].before) in asks:
        name = str(earlier)
    return name


SAID, LIMIT = "said", "limit"
"""The ends of a conversation that nothing went wrong with."""


@dataclass(frozen=True, eq=False)
class Conversation:
    """The `number`-th conversation of a step about a row, counted from 0. `models` are by role."""

    step: Converse
    name: str
    number: int
    models: Mapping[str, str]

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """The names of all turns that there may be."""
        return tuple(turn_id(self.name, number) for number in range(1, self.step.limit + 1))

    def speaker(self, number: int) -> str:
        """Return the role that says turn `number`, counted from 1."""
        return speaker_of(self.step, number)


def speaker_of(step: Converse, number: int) -> str:
    """Return the role that says turn `number`, counted from 1."""
    first, second = step.speakers[0].role, step.speakers[1].role
    other = second if step.opens == first else first
    return step.opens if number % 2 else other


def calls_of(talk: Conversation) -> Iterator[StepCall]:
    """A call for every turn that there may be."""
    for number, name in enumerate(talk.turns, 1):
        role = talk.speaker(number)
        yield StepCall("turns", name, role, talk.models[role], talk.step, talk.name)


def most_turns(step: Converse) -> Iterator[tuple[str, int]]:
    """Each role with the turns that it has at most."""
    yield speaker_of(step, 1), (step.limit + 1) // 2
    yield speaker_of(step, 2), step.limit // 2


def ends(step: Converse, role: str, text: str) -> bool:
    """Return true if a turn of `role` ends the conversation."""
    return any(until.role == role and ends_conversation(text, until.text) for until in step.until)


AND, THEN = " + ", " then "
"""What stands between the names of models in that of a cascade."""


@dataclass(frozen=True, eq=False)
class BoundTreatment:
    """A treatment with its roles filled: what of a unit's names depends on neither its case nor its model."""

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
        """The model that embeds for every retrieving step, none where nobody does."""
        steps = [step for step in self.treatment.steps if isinstance(step, Retrieve)]
        return {step.name: () if step.using is None else self.binding.of(step.using) for step in steps}

    @cached_property
    def found_by(self) -> dict[str, tuple[str, ...]]:
        """Return what names the result of every retrieving step beside its fingerprint and the row: the model that
        embeds, and who made what it looks through."""
        steps = [step for step in self.treatment.steps if isinstance(step, Retrieve)]
        by = self.binding.identity_of
        embedding = {name: tuple(encoder_id(by(model)) for model in models) for name, models in self.retrieved.items()}
        return {step.name: (*embedding[step.name], *self.makers[step.fingerprint]) for step in steps}

    @cached_property
    def makers(self) -> dict[str, tuple[str, ...]]:
        """Return what names the result of every step beside its fingerprint and what it builds on: who made the data
        sets that it looks into. By fingerprint."""
        steps = self.treatment.steps
        return {step.fingerprint: made_by(self.plan, step, self.binding.answering) for step in steps}

    @cached_property
    def judged_makers(self) -> dict[str, tuple[str, ...]]:
        """Return who made the data sets that the arguments of every judge look into, by fingerprint of the step."""
        judging = (step for step in self.treatment.steps if isinstance(step, Judging))
        asked = {step.fingerprint: step.model_copy(update={"when": None, "earlier": None}) for step in judging}
        return {name: made_by(self.plan, step, self.binding.answering) for name, step in asked.items()}

    @cached_property
    def columns(self) -> frozenset[str]:
        """The fingerprints of what measures look at, which is kept like scores and is none."""
        return frozenset(step.fingerprint for step in self.treatment.steps if isinstance(step, Column))

    @cached_property
    def compares(self) -> tuple[Compare, ...]:
        """The steps that compare what two models replied."""
        return tuple(step for step in self.treatment.steps if isinstance(step, Compare))

    @cached_property
    def samples(self) -> int:
        """Return how many times a row is gone through for each model."""
        return max((step.samples for step in self._sampled), default=1)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The samples of a row in the order in which they are asked for: those after one conversation next to each
        other, since a provider keeps the beginning of what it was just sent."""
        counts = [step.repeat for step in self.talks.values()]
        return tuple(sorted(range(self.samples), key=lambda number: [number % count for count in counts]))

    @property
    def _sampled(self) -> tuple[Ask | Converse, ...]:
        return tuple(step for step in self.treatment.steps if isinstance(step, Ask | Converse))

    @cached_property
    def side_by_side(self) -> int:
        """Return how many calls a row has under way at once for each model, where nothing else waits for it: the turns
        of a conversation come one after another, and everything else after them."""
        return min((step.samples for step in self.talks.values()), default=self.samples)

    @cached_property
    def evaluators(self) -> dict[str, tuple[str, ...]]:
        """The models that judge each grade and verdict."""
        grades = [step for step in self.treatment.steps if isinstance(step, Grade | Verdict)]
        return {step.fingerprint: self.binding.of(self.role_of(step)) for step in grades}

    @cached_property
    def scorers(self) -> dict[str, Scorer]:
        """The scorers that ask a role, by name."""
        return {scorer.name: scorer for scorer in self.plan.scorers}

    @cached_property
    def yielded(self) -> frozenset[str]:
        """The names of all steps, whose values no row has."""
        return frozenset(step.name for step in self.treatment.steps)

    def repeats(self, step: Judging, evaluator: str) -> range:
        """Return the numbers of the replies that a judge gives; a person is asked once."""
        return range(1 if evaluator.startswith(PEOPLE) else self.scorers[step.scorer].samples)

    @cached_property
    def before(self) -> dict[str, tuple[int, ...]]:
        """Return how often the steps that an ask builds on are done: samples after the same of each are sent the
        same."""
        steps = {step.name: step for step in self._sampled}
        return {
            name: tuple(sorted({steps[need].samples for need in ask.needs if need in steps} - {1}))
            for name, ask in self.asks.items()
        }

    def pattern(self, model: str, number: int) -> Unit:
        """Return the unit of no item: the names of its results are the bindings of the results of every item's."""
        if (model, number) not in self._patterns:
            case = Case(self.scenario, "", {}, {}, None, {})
            self._patterns[model, number] = Unit(case, self, model, number)
        return self._patterns[model, number]

    @cached_property
    def _patterns(self) -> dict[tuple[str, int], Unit]:
        return {}

    @cached_property
    def bindings(self) -> dict[tuple[str, str, str, int, int | str | None], str]:
        """The bindings that were asked for so far: every item has the same."""
        return {}

    def told_by(self, step: Converse) -> str:
        """Return the role that a conversation stands for: the compared one where it takes part, or else who opens."""
        roles = [speaker.role for speaker in step.speakers]
        return self.binding.compared if self.binding.compared in roles else step.opens

    def role_of(self, step: Ask | Converse | Judging) -> str:
        """Return who makes the calls of a step; of a conversation whom it stands for."""
        if isinstance(step, Converse):
            return self.told_by(step)
        return step.role if isinstance(step, Ask) else self.scorers[step.scorer].role

    def model_of(self, ask: Ask, compared: str) -> str:
        """Return the model that answers a step where `compared` fills the compared role."""
        return self.filling(ask.role, compared)

    def filling(self, role: str, compared: str) -> str:
        """Return the model that fills a role where `compared` fills the compared one."""
        return compared if role == self.binding.compared else next(iter(self.binding.of(role)), "")


class Unit:
    """`model` fills the compared role; `number` counts the samples from 0. Names are made once, when it is."""

    __slots__ = (
        *("bound", "calls", "case", "listed", "model", "number", "samples", "scores", "talks", "unasked", "verdicts"),
    )

    def __init__(self, case: Case, bound: BoundTreatment, model: str, number: int) -> None:
        self.case = case
        self.bound = bound
        self.model = model
        self.number = number
        self.samples: dict[str, str] = {}
        """The name of the reply to every ask, and of every conversation."""
        self.listed: dict[str, list[str]] = {}
        """The names of the replies in every list of samples."""
        self.talks: dict[str, Conversation] = {}
        self.unasked: tuple[str, ...] = ()
        """The asks that were gone through without a call."""
        self.verdicts: dict[str, list[str]] = {}
        """The names of the judgements that every verdict is taken from."""
        self.calls: list[StepCall] = []
        """Every model call, in the order of the steps."""
        self.scores: dict[tuple[str, str | None], dict[str, str]] = {}
        """The names of the scores by fingerprint of the step and evaluator, each by metric: steps may share a name."""
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
        asked = [(role, each, number) for each in self.judges(step) for number in self.bound.repeats(step, each)]
        asked += [(then, each, 0) for then, each in self.stronger(step)]
        for by, evaluator, number in asked:
            name = judgement_id(step.judgement, judged, self._by(evaluator), number)
            self.calls.append(StepCall("judgements", name, by, evaluator, step, number=number))
        for evaluator in self.evaluators(step):
            names = {title: score_id(step.fingerprint, samples, title, self._by(evaluator)) for title in titles}
            self.scores[step.fingerprint, evaluator] = names

    def _sample(self, ask: Ask, model: str, number: int) -> str:
        """Return the name of a reply, which depends on the replies that the step builds on. A step asked once serves
        every sample of a later one."""
        by, number = self._by(model), number % ask.samples
        return sample_id(ask.fingerprint, self.case.item_id, by, number, self._built_on(ask))

    def _by(self, model: str) -> str:
        identity_of = self.bound.binding.identity_of
        if THEN not in model:
            return identity_of(model)
        return THEN.join(AND.join(map(identity_of, side.split(AND))) for side in model.split(THEN))

    def _name_talk(self, step: Converse) -> None:
        models = {speaker.role: self.bound.filling(speaker.role, self.model) for speaker in step.speakers}
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
        places = places_of(step, self.case.names, self.bound.yielded) if step.loops else []
        for evaluator in self.evaluators(step):
            by = self._by(evaluator)
            for number in self.bound.repeats(step, evaluator):
                # What builds on verdicts about elements is named by the list, which has a name that no element has.
                names.append(judgement_id(step.judgement, about, by, number))
                if not step.loops:
                    self.calls.append(StepCall("judgements", names[-1], role, evaluator, step, number=number))
                for place in places:
                    # A unit of no item has no element: its name is the binding of the verdicts on all of them.
                    name = judgement_id(step.judgement, about, by, number, element_name(place) or None)
                    call = StepCall("judgements", name, role, evaluator, step, number=number, element=place)
                    self.calls.append(call)

    def _built_on(self, step: Ask | Converse | Score | Column | Judging) -> list[str]:
        """Return what names the result of a step: what it builds on, and who made what it looks into."""
        return [*self.upstream(step.needs), *self.bound.makers[step.fingerprint]]

    def _judged_on(self, step: Grade | Verdict) -> list[str]:
        """Return what names the reply of a judge: what its arguments build on, and who made what they look into. The
        same call has one reply, whatever the conditions of the scores that use it."""
        # What builds on no reply is about the row alone, and the same for every model that is compared on it.
        replied = any(name not in self.bound.retrieved for name in step.judged)
        return [*([] if replied else [self.case.item_id]), *self._shown(step)]

    def _shown(self, step: Grade | Verdict) -> list[str]:
        return [*self.upstream(step.judged), *self.bound.judged_makers[step.fingerprint]]

    def upstream(self, needs: Sequence[str]) -> list[str]:
        """Return the names of the replies and judgements that these steps yield, and what else names what they do."""
        found: list[str] = []
        for name in needs:
            if name in self.bound.retrieved:
                found += self.bound.found_by[name]
            elif name in self.listed:
                found += self.listed[name]
            else:
                found += self.verdicts[name] if name in self.verdicts else [self.samples[name]]
        return found

    @property
    def pattern(self) -> Unit:
        """The unit of no item, whose names are the bindings of what this one yields."""
        return self.bound.pattern(self.model, self.number)

    def sample_binding(self, ask: Ask, number: int) -> str:
        """Return the binding of the reply that is sample `number` of a step after the replies that this unit builds
        on."""
        key = (ask.name, ask.fingerprint, self.model, self.number, number)
        if (known := self.bound.bindings.get(key)) is None:
            known = self.pattern._sample(ask, self.bound.model_of(ask, self.model), number)
            self.bound.bindings[key] = known
        return known

    def score_binding(self, step: Score | Column | Grade, evaluator: str | None) -> str:
        """Return the binding of the scores of a step, by that evaluator."""
        key = (step.name, step.fingerprint, self.model, self.number, evaluator)
        if (known := self.bound.bindings.get(key)) is None:
            by = None if evaluator is None else self._by(evaluator)
            known = self.bound.bindings[key] = score_id(step.fingerprint, self.pattern._built_on(step), "", by)
        return known

    def given_binding(self, step: Grade | Verdict) -> str:
        """Return the binding of what is said outside the run in the place of a step's judge, whoever says it."""
        return judgement_id(step.judgement, self.pattern._shown(step), "")

    def last_reply(self, needs: Sequence[str]) -> str | None:
        """Return the name of the last reply among what these steps yield; None where there is none."""
        asks = [last_asked(name, self.bound.asks, self.unasked) for name in self.samples if name in needs]
        listed = [names[0] for name, names in self.listed.items() if name in needs]
        return self.samples[asks[-1]] if asks else listed[-1] if listed else None

    def about(self, step: Score | Column | Grade | Compare) -> str:
        """Return the name of the reply that a score is about: of all samples of an ask the first one, of a chat the
        last."""
        listed, name = self.listed.get(f"{step.of}.samples"), last_asked(step.of, self.bound.asks, self.unasked)
        return self.samples[name] if listed is None or step.of in step.needs else listed[0]

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of everything that it yields."""
        for call in self.calls:
            yield from call.results
        for talk in self.talks.values():
            yield from kept_results("samples", talk.name, talk.step)
        for names in self.scores.values():
            for name in names.values():
                yield "scores", name

    def all_samples(self, ask: Ask) -> list[tuple[int, str]]:
        """Return every sample of a step that is sent what this one is sent, with its name."""
        before, model = self.bound.before[ask.name], self.bound.model_of(ask, self.model)
        own = self.number % ask.samples
        same = {own, *(n for n in range(ask.samples) if all(n % each == self.number % each for each in before))}
        return [(number, self._sample(ask, model, number)) for number in sorted(same)]

    def evaluators(self, step: Judging) -> tuple[str, ...]:
        """Return who gives the scores of a grade, or a verdict: its judges, or all of a cascade under one name."""
        judges, stronger = self.judges(step), self.stronger(step)
        return (f"{AND.join(judges)}{THEN}{AND.join(each for _, each in stronger)}",) if stronger else judges

    def stronger(self, step: Judging) -> list[tuple[str, str]]:
        """Return the models that a cascade asks where its first judges are unsure, each with its role. A person is sure
        by himself."""
        then = self.bound.scorers[step.scorer].then
        if then is None or any(each.startswith(PEOPLE) for each in self.judges(step)):
            return []
        return [(then, model) for model in self.bound.binding.of(then)]

    def judges(self, step: Judging) -> tuple[str, ...]:
        """Return the models that judge a grade first, or give a verdict. Where the compared role does, each of its
        models judges for itself alone."""
        if self.bound.role_of(step) == self.bound.binding.compared:
            return (self.model,)
        return self.bound.evaluators[step.fingerprint]

    def scored(self, step: Score | Column | Grade) -> str:
        """Return the model that a score is about: the compared one where that took part, or else the one whose reply it
        is."""
        asks, talks, compared = self.bound.asks, self.bound.talks, self.bound.binding.compared
        if any(asks[name].role == compared for name in step.needs if name in asks):
            return self.model
        if any(self.bound.told_by(talks[name]) == compared for name in step.needs if name in talks):
            return self.model
        if step.of in talks:
            return self.bound.filling(self.bound.told_by(talks[step.of]), self.model)
        return self.bound.model_of(asks[step.of], self.model)

    def judged_by(self, step: Score | Column | Grade) -> list[str] | None:
        """Return who judges inside what a score is taken of, in order of name; None where nobody does."""
        if not self.verdicts or not any(name in self.verdicts for name in step.needs):
            return None
        judging = (call for call in self.calls if isinstance(call.step, Verdict) and call.step.name in step.needs)
        return sorted({call.model for call in judging})

    def judgement(self, step: Judging, evaluator: str, number: int = 0) -> str:
        """Return the name of a judge's reply, the first of several or another."""
        if isinstance(step, Verdict) and step.loops:
            among = [(by, each) for by in self.evaluators(step) for each in self.bound.repeats(step, by)]
            return self.verdicts[step.name][among.index((evaluator, number))]
        calls = (call for call in self.calls if call.step is step and call.number == number)
        return next(call.name for call in calls if call.model == evaluator)

    def judged(self, call: StepCall) -> str:
        """Return the name of the judge's reply that a call of another item's unit stands for."""
        return self.judgement(call.step, call.model, call.number)  # type: ignore[arg-type]


FindRows = Callable[[str, Collection[str]], Mapping[str, Row]]
"""Gives the rows of a table that a ledger has, by name."""


class Pair:
    """The replies of `first` and `second`, in this order, as one step compares them. Both are of one case and
    treatment, and the n-th of one meets the n-th of the other. Names are made once, when it is."""

    __slots__ = ("bound", "calls", "case", "comparisons", "first", "number", "second", "step")

    talks: ClassVar[Mapping[str, Conversation]] = {}
    """It holds no conversation: its sides did."""

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
        """The names of the outcomes, by judge."""

    def _built_on(self) -> list[str]:
        """Return what names the outcomes: the replies of both sides, and who made what the step looks into."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.needs)]
        return [*samples, *self.bound.makers[self.step.fingerprint]]

    def _judged_on(self) -> list[str]:
        """Return what names the reply of a judge: of the above what its arguments build on."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.judged)]
        return [*samples, *self.bound.judged_makers[self.step.fingerprint]]

    @property
    def sides(self) -> tuple[Unit, Unit]:
        """Both units, in this order."""
        return self.first, self.second

    @property
    def given_binding(self) -> str:
        """The binding of what is said outside the run in the place of the step's judge, whoever says it."""
        return judgement_id(self.step.judgement, self.pattern._judged_on(), "")

    @property
    def pattern(self) -> Pair:
        """The pair of no item, whose names are the bindings of what this one yields."""
        return Pair(self.step, self.first.pattern, self.second.pattern)

    def judged(self, call: StepCall) -> str:
        """Return the name of the judge's reply that a call of another item's pair stands for."""
        return next(each.name for each in self.calls if (each.model, each.number) == (call.model, call.number))

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of everything that it yields."""
        for call in self.calls:
            yield from call.results
        for name in self.comparisons.values():
            yield "comparisons", name

    def names(self, first: Names, second: Names) -> Names:
        """Return the names that expressions see: those of each side below `first` and `second`. What both have in
        common stands there as it does in the case."""
        names = Names(first.values)
        names.gave("first", first.values)
        names.gave("second", second.values)
        return names


class Split(NamedTuple):
    """The remaining and the kept part of a case. A unit is to be gone through where a pair with it is, for the judge is
    shown its reply."""

    todo: list[Unit]
    complete: list[Unit]
    pairs: list[Pair]
    paired: list[Pair]

    @property
    def open(self) -> list[Unit | Pair]:
        """All that is to be gone through."""
        return parts(self.todo, self.pairs)


def parts(units: Sequence[Unit], pairs: Sequence[Pair]) -> list[Unit | Pair]:
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
        for alike in sides.values()
        for step in alike[0].bound.compares
        for first, second in itertools.permutations(alike, 2)
    ]


def split(units: Sequence[Unit], pairs: Sequence[Pair], kept: Mapping[str, str]) -> Split:
    """Return the units and pairs of a case, those of which `kept` has every result apart from the others."""
    open_ = [pair for pair in pairs if not is_kept(pair, kept)]
    shown = {side for pair in open_ for side in (pair.first, pair.second)}
    todo = [unit for unit in units if unit in shown or not is_kept(unit, kept)]
    left = set(todo)
    return Split(
        todo,
        [unit for unit in units if unit not in left],
        open_,
        [pair for pair in pairs if is_kept(pair, kept)],
    )


def lasting(every: Iterable[Unit | Pair], statuses: Mapping[str, str], rows: FindRows) -> dict[str, str]:
    """Return the statuses of the results that need not be done again, by name: without those that a later run tries
    again. What builds on a reply that broke off, and that an earlier version took for an answer, is done again too."""
    kept = {name: status for name, status in statuses.items() if status not in RETRIED_NEXT_RUN}
    again = statuses.keys() - kept.keys()
    if not again:
        return kept
    every = [*every]
    if kept.keys().isdisjoint(_built_on(every, again)):
        return kept
    found = [each for table in ("samples", "judgements", "turns") for each in rows(table, again).items()]
    broken = {name for name, row in found if row["status"] not in RETRIED_NEXT_RUN}
    lost = _built_on(every, broken)
    return {name: status for name, status in kept.items() if name not in lost}


def _built_on(every: Iterable[Unit | Pair], replies: Collection[str]) -> set[str]:
    """Return the names of the results of units and pairs that build on some replies."""
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


def is_kept(part: Unit | Pair, kept: Mapping[str, str]) -> bool:
    """Return true if `kept` has every result of it."""
    return all(name in kept for _, name in part.results)
