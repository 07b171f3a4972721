"""A unit: one case answered by one model in one treatment, with everything that its steps need and yield."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from tripos_compiler.language import PEOPLE
from tripos_compiler.plan import (
    Ask,
    Column,
    Compare,
    Converse,
    Grade,
    Judging,
    Plan,
    Retrieve,
    SampleList,
    Scenario,
    Score,
    Scorer,
    Treatment,
    Verdict,
)
from tripos_compiler.source import dataclass
from tripos_runtime.asking import conversation_id, judgement_id, sample_id, score_id
from tripos_runtime.datasets import Case
from tripos_runtime.models import encoder_id
from tripos_runtime.program.calls import Conversation, StepCall, element_name, kept_results, last_asked, places_of
from tripos_runtime.roles import RoleBinding, made_by

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
