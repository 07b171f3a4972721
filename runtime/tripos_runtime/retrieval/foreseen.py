"""Which texts a run would have embedded, and which vectors are there: for the forecast, without asking anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tripos_compiler.plan import Retrieve
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_runtime.retrieval.choosing import Chooser
from tripos_runtime.retrieval.encoding import TABLE, vector_id
from tripos_runtime.statuses import AGAIN
from tripos_runtime.units import Names


class Statuses(Protocol):
    """Who knows what is kept."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]: ...


@dataclass(frozen=True)
class Texts:
    """What one row needs of an embedding model: how many vectors are there, or will be for an earlier row, and the
    texts that are asked for."""

    there: int
    asked: tuple[str, ...]


@dataclass
class ForeseenVectors:
    """Goes through rows and remembers whose texts it has met: each is embedded once."""

    kept: Statuses
    identities: Mapping[str, str] = field(default_factory=dict)
    _met: set[str] = field(default_factory=set)
    _sources: set[str] = field(default_factory=set)

    def of(self, step: Retrieve, model: str, names: Names, chooser: Chooser) -> Texts:
        """What a row needs: its own text, and of the first row that looks through a source those of its elements."""
        wanted: list[str] = []
        try:
            collection = chooser.collection(step, names.values)
            for measure in chooser.parted(step).measures:
                if measure.kind == "similarity":
                    wanted.append(evaluate(measure.query, names.values))
                    source = f"{model} {id(collection)} {measure.text.model_dump_json()}"
                    if source not in self._sources:
                        self._sources.add(source)
                        wanted += [text for text in collection.texts(measure.text, names.values) if text is not None]
        except Unavailable:
            return Texts(0, ())
        ids = {vector_id(self.identities.get(model, model), text): text for text in wanted}
        new = [name for name in ids if name not in self._met]
        statuses = self.kept.statuses(TABLE, new)
        self._met.update(new)
        asked = [name for name, status in zip(new, statuses, strict=True) if status is None or status in AGAIN]
        return Texts(len(ids) - len(asked), tuple(ids[name] for name in asked))
