"""A unit: one case answered by one model, with everything that its steps need and yield."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Ask, Grade, Plan, Score
from tripos_compiler.semantics.evaluate import Missing, Unavailable, evaluate
from tripos_runtime.binding import Binding
from tripos_runtime.cases import Case
from tripos_runtime.ledger import judgement_id, sample_id, score_id
from tripos_runtime.plugins import FUNCTION_ERROR

FAILED = "provider_error"
"""The status of a call without an answer."""
AGAIN = frozenset({FAILED, FUNCTION_ERROR})
"""What is tried again by a later run."""


@dataclass(frozen=True)
class Unit:
    """`model` fills the compared role; `number` counts the samples from 0."""

    case: Case
    model: str
    number: int
    binding: Binding

    def model_of(self, ask: Ask) -> str:
        """The model that answers a step of this unit."""
        return self.model if ask.role == self.binding.compared else self.binding.of(ask.role)[0]

    def number_of(self, ask: Ask) -> int:
        """Which sample of a step this unit uses; a step asked once serves every sample."""
        return self.number % ask.samples

    def sample_of(self, ask: Ask) -> str:
        """The name of the reply that answers a step, which depends on the replies that the step builds on."""
        upstream = self.samples_of(ask.needs)
        return sample_id(ask.fingerprint, self.case.item_id, self.model_of(ask), self.number_of(ask), upstream)

    def samples_of(self, needs: Sequence[str]) -> list[str]:
        """The names of the replies to several steps."""
        return [self.sample_of(self.case.scenario.ask(name)) for name in needs]

    def judgement_of(self, grade: Grade, evaluator: str) -> str:
        """The name of a judge's reply."""
        return judgement_id(grade.judgement, self.samples_of(grade.needs), evaluator)

    def scores_of(self, step: Score | Grade, evaluator: str | None) -> dict[str, str]:
        """The names of the scores that a step gives, by metric."""
        samples = self.samples_of(step.needs)
        titles = (step.metrics or (step.name,)) if isinstance(step, Grade) else (step.name,)
        return {title: score_id(step.fingerprint, samples, title, evaluator) for title in titles}

    def evaluators(self, grade: Grade, plan: Plan) -> tuple[str, ...]:
        """The models that judge a step."""
        return self.binding.of(plan.scorer(grade.scorer).role)

    def calls(self, plan: Plan) -> Iterator[tuple[str, str, str]]:
        """Every model call of the unit: its table, its name in the store, and its role."""
        for step in self.case.scenario.steps:
            if isinstance(step, Ask):
                yield "samples", self.sample_of(step), step.role
            elif isinstance(step, Grade):
                role = plan.scorer(step.scorer).role
                for evaluator in self.evaluators(step, plan):
                    yield "judgements", self.judgement_of(step, evaluator), role

    def scores(self, plan: Plan) -> Iterator[str]:
        """The name of every score of the unit."""
        for step in self.case.scenario.steps:
            if isinstance(step, Score):
                yield from self.scores_of(step, None).values()
            elif isinstance(step, Grade):
                for evaluator in self.evaluators(step, plan):
                    yield from self.scores_of(step, evaluator).values()


@dataclass
class Names:
    """The names that a unit's expressions see, growing step by step."""

    values: dict[str, Any]

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

    def holds(self, step: Ask | Score | Grade) -> str | None:
        """None where the step's condition holds, else the status of what is not done."""
        if step.when is None:
            return None
        try:
            return None if evaluate(step.when, self.values) else "not_applicable"
        except Unavailable as reason:
            return reason.status
