"""Elements of a list that a person labels, one at a time: the choice of a judge about each is a score of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tripos_compiler.language import names_in
from tripos_compiler.plan import Score, Verdict, digest
from tripos_runtime.drivers import Human
from tripos_runtime.program import BoundTreatment, Unit, element_name

Places = tuple[int, ...]


@dataclass(frozen=True)
class LabelledElement:
    """An element of a reply that a role labels: `step` asks about it, and `score` is what its label is kept as."""

    score: Score
    step: Verdict
    places: Places
    value: str
    """The element, as JSON."""

    @property
    def place(self) -> str:
        """Its place in the list, as rows of scores have it."""
        return element_name(self.places)

    def score_id(self, evaluator: str, sample_id: str, binding: str, round: int | None) -> str:
        """Return what its score by a person is called."""
        return digest(["element score", self.score.fingerprint, evaluator, sample_id, binding, self.place, round])

    def judgement_id(self, unit: Unit, evaluator: str, sample_id: str, binding: str, round: int | None) -> str:
        """Return what the judgement of a person is called: in the first round as that of a model in the role."""
        if round is None:
            calls = (each for each in unit.calls if each.step is self.step and each.element == self.places)
            return next(each.name for each in calls if each.model == evaluator)
        about = evaluator, round, sample_id, binding, self.place
        return digest(["imported judgement", self.step.judgement, *about])


def labels_of(bound: BoundTreatment, role: str) -> list[tuple[Score, Verdict]]:
    """Return the scores of a treatment that are a role's choice about each element of one list, and nothing else."""
    found = []
    for score in bound.treatment.steps:
        if not isinstance(score, Score) or score.judge is None or score.when is not None or score.earlier:
            continue
        for step in bound.treatment.steps:
            asked = isinstance(step, Verdict) and step.scorer == score.judge and step.name in names_in(score.value)
            if asked and isinstance(step, Verdict) and len(step.loops) == 1 and bound.role_of(step) == role:
                found.append((score, step))
    return found


def elements_of(human: Human, unit: Unit, score: Score, step: Verdict) -> Iterator[LabelledElement]:
    """Yield the elements that a judge would be asked about, in their order. Raises `LookupError` where they follow from
    what is not in a store."""
    alias = step.loops[0].alias
    for places, names in human.names_of_elements(unit, step).items():
        yield LabelledElement(score, step, places, orjson.dumps(names[alias], default=str).decode())


def names_of(human: Human, unit: Unit, element: LabelledElement) -> Mapping[str, Any] | None:
    """Return the names that a judge's question about an element is made from; None where it would not be asked."""
    return human.names_of_elements(unit, element.step).get(element.places)
