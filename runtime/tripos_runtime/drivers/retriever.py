"""How near by their vectors the elements are that a step looks through: the vectors of a collection are asked for when
the first row needs them."""

from __future__ import annotations

import asyncio
from dataclasses import field

from tripos_compiler.language import Unavailable, evaluate
from tripos_compiler.plan import Retrieve, written
from tripos_compiler.source import dataclass
from tripos_runtime.asking import Lane
from tripos_runtime.program import Names
from tripos_runtime.retrieval import (
    Chooser,
    Collection,
    Encoder,
    NoVector,
    SimilarityCall,
    Values,
    VectorIndex,
    index_of,
)


@dataclass
class Retriever:
    """Asks for the vectors of one run."""

    chooser: Chooser
    encoder: Encoder
    _making: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def values(self, step: Retrieve, model: str, lane: Lane, names: Names) -> dict[int, Values] | Unavailable:
        """Return how near the elements are, by the number of the measure; or why a value or a vector is not there."""
        values: dict[int, Values] = {}
        try:
            collection = self.chooser.collection(step, names.values)
            for number, measure in enumerate(self.chooser.parted(step).measures):
                if measure.kind == "similarity":
                    query = evaluate(measure.query, names.values)
                    (asked,) = await self.encoder.vectors(model, [query], lane)
                    index = await self._index(collection, measure, model, lane, names)
                    values[number] = index.near(asked)
        except Unavailable as reason:
            return reason
        except NoVector as reason:
            return Unavailable(step.name, reason.status)
        return values

    async def _index(
        self, collection: Collection, measure: SimilarityCall, model: str, lane: Lane, names: Names
    ) -> VectorIndex:
        """Return the vectors of the elements."""
        key = f"{model} {written(measure.text).model_dump_json()}"
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in collection.vectors:
                texts = collection.texts(measure.text, names.values)
                told = list(dict.fromkeys(text for text in texts if text is not None))
                by_text = dict(zip(told, await self.encoder.vectors(model, told, lane), strict=True))
                collection.vectors[key] = index_of(texts, by_text)
        return collection.vectors[key]
