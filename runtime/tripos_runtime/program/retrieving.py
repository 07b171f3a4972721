"""The step that retrieves: what a unit's row finds in the source, put among the names that its expressions see.

It is done once a row, for all the models and treatments that have it. Only vectors are asked for and kept: what the
step yields follows from them, the row and the source, which its fingerprint and the name of the embedding model say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tripos_compiler.language.evaluation import Missing, Unavailable, evaluate
from tripos_compiler.plan import Retrieve
from tripos_runtime.models.vectors import Vector
from tripos_runtime.retrieval.choosing import Chooser
from tripos_runtime.retrieval.collection import Collection
from tripos_runtime.retrieval.encoding import Encoder, NoVector
from tripos_runtime.retrieval.indexes import Values, VectorIndex
from tripos_runtime.retrieval.measures import Measure

if TYPE_CHECKING:
    from tripos_runtime.asking.asking import Lane
    from tripos_runtime.program.case_cache import Shared
    from tripos_runtime.program.stepping import Stepper
    from tripos_runtime.program.units import Names, Unit


@dataclass
class Retriever:
    """Retrieves for one run."""

    chooser: Chooser
    encoder: Encoder
    _making: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def find(self, unit: Unit, step: Retrieve, names: Names) -> Any:
        """What a step finds whose condition holds; `Missing` where a value or a vector is not there."""
        if step.using is None:
            return found(self.chooser, unit, step, names)
        (model,) = unit.wiring.retrieved[step.name]
        lane = (step.using, unit.case.scenario.name)
        values: dict[int, Values] = {}
        try:
            collection = self.chooser.collection(step, names.values)
            for number, measure in enumerate(self.chooser.parted(step).measures):
                if measure.kind == "similarity":
                    query = evaluate(measure.query, names.values)
                    (asked,) = await self.encoder.vectors(model, [query], lane)
                    index = await self._index(collection, measure, model, lane, names)
                    values[number] = index.near(asked)
            return self.chooser.chosen(step, names.values, unit.case.fields, values)
        except Unavailable as reason:
            return Missing(step.name, reason.status, reason.reason)
        except NoVector as reason:
            return Missing(step.name, reason.status)

    async def _index(
        self, collection: Collection, measure: Measure, model: str, lane: Lane, names: Names
    ) -> VectorIndex:
        """The vectors of the elements, asked for when the first row needs them."""
        key = f"{model} {measure.text.model_dump_json()}"
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in collection.vectors:
                texts = collection.texts(measure.text, names.values)
                told = list(dict.fromkeys(text for text in texts if text is not None))
                by_text = dict(zip(told, await self.encoder.vectors(model, told, lane), strict=True))
                collection.vectors[key] = index_of(texts, by_text)
        return collection.vectors[key]


def index_of(texts: Sequence[str | None], by_text: Mapping[str, Vector]) -> VectorIndex:
    """The vectors of some texts, of length 0 where there is none."""
    length = len(next(iter(by_text.values()), ()))
    rows = [np.zeros(length, np.float32) if text is None else by_text[text] for text in texts]
    return VectorIndex.of(np.asarray(rows, np.float32).reshape(len(rows), length))


async def retrieve(stepper: Stepper, unit: Unit, step: Retrieve, names: Names, shared: Shared) -> None:
    """Puts what a step finds among the names. Its condition is no part of its fingerprint."""
    against = names.against(step)
    if against is not None:
        stepper.lacks(against.status)
        names.found(step, Missing(step.name, against.status, against.reason))
        return
    key = (step.fingerprint, *unit.upstream([*step.needs, step.name]))
    if key not in shared.retrieved:
        finding = asyncio.ensure_future(stepper.retriever.find(unit, step, names))
        shared.retrieved[key] = finding
    outcome = await asyncio.shield(shared.retrieved[key])
    if isinstance(outcome, Missing):
        stepper.lacks(outcome.status)
    names.found(step, outcome)


def found(chooser: Chooser, unit: Unit, step: Retrieve, names: Names, values: Mapping[int, Values] = {}) -> Any:
    """What a step finds by these similarities, or else without embeddings, whoever should embed; `Missing` where its
    condition rules it out or a value is not there."""
    against = names.against(step)
    if against is not None:
        return Missing(step.name, against.status, against.reason)
    try:
        return chooser.chosen(step, names.values, unit.case.fields, values)
    except Unavailable as reason:
        return Missing(step.name, reason.status, reason.reason)
