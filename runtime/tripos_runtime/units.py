"""A unit: one case answered by one model in one treatment, with everything that its steps need and yield."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tripos_compiler.plan import Ask, Column, Grade, Plan, Scenario, Score, Treatment, Verdict
from tripos_compiler.semantics.evaluate import Missing, Unavailable, evaluate
from tripos_runtime.binding import Binding
from tripos_runtime.cases import Case
from tripos_runtime.ledger import judgement_id, sample_id, score_id


class Call(NamedTuple):
    """One model call of a unit: the table that keeps it, its name there, and who makes it."""

    table: str
    name: str
    role: str
    model: str
    step: Ask | Grade | Verdict


@dataclass(frozen=True)
class Wiring:
    """A treatment with its roles filled: what of a unit's names depends on neither its case nor its model."""

    scenario: Scenario
    treatment: Treatment
    plan: Plan
    binding: Binding

    @cached_property
    def asks(self) -> dict[str, Ask]:
        """The asks by name."""
        return {step.name: step for step in self.treatment.steps if isinstance(step, Ask)}

    @cached_property
    def samples(self) -> int:
        """How many times a row is gone through for each model."""
        return max((ask.samples for ask in self.asks.values()), default=1)

    @cached_property
    def evaluators(self) -> dict[str, tuple[str, ...]]:
        """The models that judge each grade and verdict."""
        grades = [step for step in self.treatment.steps if isinstance(step, Grade | Verdict)]
        return {step.fingerprint: self.binding.of(self.role_of(step)) for step in grades}

    @cached_property
    def alone(self) -> dict[str, bool]:
        """Whether every sample of an ask is sent the same, since nothing before it is sampled."""
        return {
            name: all(self.asks[need].samples == 1 for need in ask.needs if need in self.asks)
            for name, ask in self.asks.items()
        }

    def role_of(self, step: Ask | Grade | Verdict) -> str:
        """Who makes the calls of a step."""
        return step.role if isinstance(step, Ask) else self.plan.scorer(step.scorer).role

    def model_of(self, ask: Ask, compared: str) -> str:
        """The model that answers a step where `compared` fills the compared role."""
        return compared if ask.role == self.binding.compared else self.binding.of(ask.role)[0]


class Unit:
    """`model` fills the compared role; `number` counts the samples from 0. Names are made once, when it is."""

    __slots__ = ("calls", "case", "model", "number", "samples", "scores", "verdicts", "wiring")

    def __init__(self, case: Case, wiring: Wiring, model: str, number: int) -> None:
        self.case = case
        self.wiring = wiring
        self.model = model
        self.number = number
        self.samples: dict[str, str] = {}
        """The name of the reply to every ask."""
        self.verdicts: dict[str, list[str]] = {}
        """The names of the judgements that every verdict is taken from."""
        self.calls: list[Call] = []
        """Every model call, in the order of the steps."""
        self.scores: dict[tuple[str, str | None], dict[str, str]] = {}
        """The names of the scores by fingerprint of the step and evaluator, each by metric: steps may share a name."""
        for step in wiring.treatment.steps:
            match step:
                case Ask():
                    answers = wiring.model_of(step, model)
                    name = self.samples[step.name] = self._sample(step, answers, number)
                    self.calls.append(Call("samples", name, step.role, answers, step))
                case Grade():
                    self._name_grade(step)
                case Verdict():
                    self._name_verdict(step)
                case Score() | Column():
                    names = {step.name: score_id(step.fingerprint, self.upstream(step.needs), step.name, None)}
                    self.scores[step.fingerprint, None] = names

    def _name_grade(self, step: Grade) -> None:
        role, samples = self.wiring.role_of(step), self.upstream(step.needs)
        titles = step.metrics or (step.name,)
        for evaluator in self.evaluators(step):
            self.calls.append(
                Call("judgements", judgement_id(step.judgement, samples, evaluator), role, evaluator, step)
            )
            names = {title: score_id(step.fingerprint, samples, title, evaluator) for title in titles}
            self.scores[step.fingerprint, evaluator] = names

    def _sample(self, ask: Ask, model: str, number: int) -> str:
        """The name of a reply, which depends on the replies that the step builds on. A step asked once serves every
        sample of a later one."""
        return sample_id(ask.fingerprint, self.case.item_id, model, number % ask.samples, self.upstream(ask.needs))

    def _name_verdict(self, step: Verdict) -> None:
        # What builds on no reply is about the row alone, and the same for every model that is compared on it.
        about = self.upstream(step.needs) or [self.case.item_id]
        role, names = self.wiring.role_of(step), self.verdicts.setdefault(step.name, [])
        for evaluator in self.evaluators(step):
            names.append(judgement_id(step.judgement, about, evaluator))
            self.calls.append(Call("judgements", names[-1], role, evaluator, step))

    def upstream(self, needs: Sequence[str]) -> list[str]:
        """The names of the replies and judgements that these steps yield."""
        found: list[str] = []
        for name in needs:
            found += self.verdicts[name] if name in self.verdicts else [self.samples[name]]
        return found

    def last_reply(self, needs: Sequence[str]) -> str | None:
        """The name of the last reply among what these steps yield; None where there is none."""
        asks = [name for name in self.wiring.asks if name in needs]
        return self.samples[asks[-1]] if asks else None

    def all_samples(self, ask: Ask) -> list[tuple[int, str]]:
        """Every sample of a step that is sent what this one is sent, with its name."""
        if ask.samples == 1 or not self.wiring.alone[ask.name]:
            return [(self.number % ask.samples, self.samples[ask.name])]
        model = self.wiring.model_of(ask, self.model)
        return [(number, self._sample(ask, model, number)) for number in range(ask.samples)]

    def evaluators(self, step: Grade | Verdict) -> tuple[str, ...]:
        """The models that judge a grade, or give a verdict. Where the compared role does, each of its models judges for
        itself alone."""
        if self.wiring.role_of(step) == self.wiring.binding.compared:
            return (self.model,)
        return self.wiring.evaluators[step.fingerprint]

    def scored(self, step: Score | Column | Grade) -> str:
        """The model that a score is about: the compared one where that took part, or else the one whose reply it is."""
        asks = self.wiring.asks
        if any(asks[name].role == self.wiring.binding.compared for name in step.needs if name in asks):
            return self.model
        return self.wiring.model_of(asks[step.of], self.model)

    def judgement(self, step: Grade, evaluator: str) -> str:
        """The name of a judge's reply."""
        return next(call.name for call in self.calls if call.step is step and call.model == evaluator)


class Names:
    """The names that a unit's expressions see, growing step by step."""

    __slots__ = ("values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)

    def answered(self, ask: Ask, text: str | None, value: Any, status: str, prompt: str) -> None:
        """Adds a reply. What it did not yield is `Missing`, with the reply's status."""
        missing = Missing(ask.name, status)
        fields: dict[str, Any] = {"prompt": prompt, "text": missing if text is None else text}
        if ask.returns is not None:
            if ask.returns.kind == "record":
                read: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
                fields |= {name: read.get(name, missing) for name in ask.returns.fields}
            else:
                fields["value"] = missing if value is None else value
        self.values[ask.name] = fields

    def skipped(self, ask: Ask, status: str) -> None:
        """Adds a step that was not asked, and why."""
        self.values[ask.name] = Missing(ask.name, status)

    def holds(self, step: Ask | Score | Column | Grade | Verdict) -> str | None:
        """None where the step's condition holds, else the status of what is not done."""
        if step.when is None:
            return None
        try:
            return None if evaluate(step.when, self.values) else "not_applicable"
        except Unavailable as reason:
            return reason.status
