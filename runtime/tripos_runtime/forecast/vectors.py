"""The texts that a run would have embedded, and the vectors that are there: for the forecast, which asks nobody."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tripos_compiler.language import Unavailable, evaluate
from tripos_compiler.language.library import json
from tripos_compiler.plan import Retrieve, written
from tripos_runtime.asking import AGAIN, NO_OTHERS, OK, PENDING, OtherReplies, TakenCounts
from tripos_runtime.datasets import Case
from tripos_runtime.forecast.sizes import Size
from tripos_runtime.models import Vector, from_text
from tripos_runtime.program import Names
from tripos_runtime.retrieval import TABLE, Chooser, Values, VectorIndex, index_of, vector_id, vectors_of_others


class Statuses(Protocol):
    """A reader of kept results."""

    def statuses(self, table: str, ids: Sequence[str]) -> list[str | None]: ...

    def rows(self, table: str, ids: Collection[str]) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass(frozen=True)
class Texts:
    """The needs of one row of an embedding model: how many vectors are there that no row before it needed, the texts
    that are asked for, by the names of their vectors, and how many texts are not known yet. `again` are the names of
    those that a row before it needed."""

    there: int = 0
    asked: Mapping[str, str] = field(default_factory=dict)
    waiting: int = 0
    again: tuple[str, ...] = ()


@dataclass
class ForeseenVectors:
    """Goes through rows and remembers whose texts it has met: each is embedded once."""

    kept: Statuses
    identities: Mapping[str, str] = field(default_factory=dict)
    others: OtherReplies = NO_OTHERS
    """Other stores, whose vectors are taken over."""
    taken: TakenCounts = field(default_factory=TakenCounts)
    """Counts those."""
    _met: set[str] = field(default_factory=set)
    _sources: dict[str, int] = field(default_factory=dict)
    _indexes: dict[str, VectorIndex | None] = field(default_factory=dict)

    def values(self, step: Retrieve, model: str, names: Names, chooser: Chooser) -> dict[int, Values] | None:
        """Return how near the elements are to what a row is like, by the number of the measure; none where a vector is
        yet to be asked for. Raises `Unavailable` where it needs what an earlier step did not yield."""
        found: dict[int, Values] = {}
        collection = chooser.collection(step, names.values)
        for number, measure in enumerate(chooser.parted(step).measures):
            if measure.kind != "similarity":
                continue
            source = f"{model} {id(collection)} {written(measure.text).model_dump_json()}"
            if source not in self._indexes:
                self._indexes[source] = self._index(model, collection.texts(measure.text, names.values))
            index = self._indexes[source]
            asked = self._vectors(model, [evaluate(measure.query, names.values)])
            if index is None or asked is None:
                return None
            found[number] = index.near(next(iter(asked.values())))
        return found

    def _index(self, model: str, texts: Sequence[str | None]) -> VectorIndex | None:
        told = list(dict.fromkeys(text for text in texts if text is not None))
        by_text = self._vectors(model, told)
        return None if by_text is None else index_of(texts, by_text)

    def _vectors(self, model: str, texts: Sequence[str]) -> dict[str, Vector] | None:
        ids = {vector_id(self.identities.get(model, model), text): text for text in texts}
        statuses = dict(zip(ids, self.kept.statuses(TABLE, list(ids)), strict=True))
        elsewhere = vectors_of_others(self.others, [name for name in ids if _is_open(statuses[name])])
        if any(status != OK and name not in elsewhere for name, status in statuses.items()):
            return None
        rows = self.kept.rows(TABLE, [name for name in ids if name not in elsewhere])
        return {
            text: elsewhere[name][2] if name in elsewhere else from_text(rows[name]["vector"])
            for name, text in ids.items()
        }

    def of(self, step: Retrieve, model: str, names: Names, chooser: Chooser, surety: int) -> Texts:
        """Return what a row needs: its own text, and of the first row that looks through a source those of its
        elements. The greater `surety`, the surer is that it is done."""
        wanted: list[str] = []
        waiting = 0
        try:
            collection = chooser.collection(step, names.values)
        except Unavailable as reason:
            return Texts(waiting=step.top if reason.status == PENDING else 0)
        for measure in chooser.parted(step).measures:
            if measure.kind != "similarity":
                continue
            try:
                wanted.append(evaluate(measure.query, names.values))
            except Unavailable as reason:
                if reason.status != PENDING:
                    return Texts()
                waiting += 1
            source = f"{model} {id(collection)} {written(measure.text).model_dump_json()}"
            if self._sources.get(source, -1) < surety:  # also where it was less sure so far that they are needed
                self._sources[source] = surety
                wanted += [text for text in collection.texts(measure.text, names.values) if text is not None]
        ids = {vector_id(self.identities.get(model, model), text): text for text in wanted}
        new = [name for name in ids if name not in self._met]
        again = tuple(name for name in ids if name in self._met)
        statuses = self.kept.statuses(TABLE, new)
        self._met.update(new)
        open_ = [name for name, status in zip(new, statuses, strict=True) if _is_open(status)]
        elsewhere = vectors_of_others(self.others, open_)
        for row, found_in, _ in elsewhere.values():
            self.taken.add(found_in.place, row)
        asked = [name for name in open_ if name not in elsewhere]
        return Texts(len(new) - len(asked), {name: ids[name] for name in asked}, waiting, again)


def _is_open(status: str | None) -> bool:
    """Return true if a vector is asked for that has this status."""
    return status is None or status in AGAIN


def nearest(step: Retrieve, names: Mapping[str, Any], case: Case, chooser: Chooser) -> Size:
    """Return the size of what a step finds by vectors that are not there: as much as letters find, at the most the
    longest of what it looks through. Raises `Unavailable` where that needs a reply."""
    seen = chooser.chosen(step, names, case.fields)
    size = Size.of(json(seen))
    elements = chooser.collection(step, names).elements
    most = step.top * max((_most(Size.of(json(each))) for each in elements), default=0)
    included = sum(_most(Size.of(json(evaluate(expr, names)))) for expr in step.include)
    return size + Size(waits=frozenset(((step.name, False),)), most=most + included)


def _most(size: Size) -> int:
    """As many characters of an alphabet as hold as much."""
    return size.narrow + 4 * size.wide
