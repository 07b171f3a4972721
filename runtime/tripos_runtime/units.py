"""A unit: one case answered by one model, with everything that its steps need and yield."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.plan import Ask, Grade, Let, Plan, Scenario, Score
from tripos_compiler.semantics.evaluate import Missing, Unavailable, evaluate
from tripos_runtime.binding import Binding
from tripos_runtime.cases import Case
from tripos_runtime.ledger import judgement_id, sample_id, score_id

FAILED = "provider_error"
"""The one status that is tried again by a later run."""


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
        return self.number if self.number < ask.samples else 0

    def sample_of(self, ask: Ask) -> str:
        """The name of the reply that answers a step. A step that uses the compared model's replies has that model in
        its name."""
        model = self.model_of(ask)
        if ask.needs and ask.role != self.binding.compared:
            model = f"{model} after {self.model}"
        return sample_id(ask.fingerprint, self.case.item_id, model, self.number_of(ask))

    def judgements(self, grade: Grade, plan: Plan) -> Iterator[tuple[str, str]]:
        """Every judge of a step and the name of its judgement."""
        sample = self.sample_of(ask_of(self.case.scenario, grade.of))
        for evaluator in self.binding.of(plan.scorer(grade.scorer).role):
            yield evaluator, judgement_id(grade.fingerprint, sample, evaluator)

    def score_of(self, score: Score) -> str:
        """The name of a score that an expression gives."""
        sample = self.sample_of(ask_of(self.case.scenario, score.of))
        return score_id(score.fingerprint, sample, score.name, None)

    def call_names(self, plan: Plan) -> Iterator[tuple[str, str, str]]:
        """Every model call of the unit: its table, its name in the store, and its role."""
        for step in self.case.scenario.steps:
            if isinstance(step, Ask):
                yield "samples", self.sample_of(step), step.role
            elif isinstance(step, Grade):
                for _, name in self.judgements(step, plan):
                    yield "judgements", name, plan.scorer(step.scorer).role


def ask_of(scenario: Scenario, name: str) -> Ask:
    """The ask of that name. Raises `KeyError` where there is none."""
    for step in scenario.steps:
        if isinstance(step, Ask) and step.name == name:
            return step
    raise KeyError(name)


@dataclass
class Names:
    """The names that a unit's expressions see, growing step by step."""

    values: dict[str, Any]
    statuses: dict[str, str] = field(default_factory=dict)

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
        self.statuses[ask.name] = status

    def skipped(self, ask: Ask) -> None:
        """Adds a step whose condition did not hold."""
        self.values[ask.name] = Missing(ask.name, "not_applicable")
        self.statuses[ask.name] = "not_applicable"

    def let(self, step: Let) -> None:
        """Adds a named value."""
        try:
            self.values[step.name] = evaluate(step.value, self.values)
        except Unavailable as reason:
            self.values[step.name] = Missing(step.name, reason.status)

    def holds(self, step: Ask | Score | Grade) -> str | None:
        """None where the step's condition holds, else the status of what is not done."""
        if step.when is None:
            return None
        try:
            return None if evaluate(step.when, self.values) else "not_applicable"
        except Unavailable as reason:
            return reason.status
