"""Chooses what a retrieving step yields: the elements of the greatest value for which its condition holds.

Elements of equal value stay in the order of the source. What is included is put among them in an order that says
nothing of which were: by a digest of the element and of what it was compared with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tripos_compiler.language import Unavailable, evaluate, paths_in
from tripos_compiler.language.library import ordered
from tripos_compiler.plan import Binary, Data, Expr, Ref, Retrieve, digest
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import SplitCondition, holds, split
from tripos_runtime.retrieval.collection import Collection, IndexStore
from tripos_runtime.retrieval.indexes import Values
from tripos_runtime.retrieval.measures import VALUE, SimilarityCall, measures_in, with_values

MOST_COLLECTIONS = 64
"""The number of sources that are kept at once: those that depend on the row are made anew for each."""


@dataclass(frozen=True)
class RetrievalPlan:
    """A step taken apart: its measures, what is computed from them, and its condition in parts."""

    measures: tuple[SimilarityCall, ...]
    value: Expr
    where: SplitCondition
    takes: tuple[Ref, ...]
    """The parts of the row, or of other steps, that its source depends on."""
    source: str
    """The rest of its source's name."""


@dataclass
class Chooser:
    """Looks through the sources of a plan's steps."""

    shelf: IndexStore | None = None
    _parted: dict[str, RetrievalPlan] = field(default_factory=dict)
    _collections: dict[str, Collection] = field(default_factory=dict)

    def parted(self, step: Retrieve) -> RetrievalPlan:
        """Return the step taken apart, once."""
        if step.fingerprint not in self._parted:
            measures = measures_in(step.by, step.alias)
            value = with_values(step.by, measures)
            takes = tuple(Ref(path=path) for path in sorted(paths_in(step.source)))
            source = digest([step.source.model_dump(mode="json"), step.alias])
            where = split(step.where, step.alias)
            self._parted[step.fingerprint] = RetrievalPlan(measures, value, where, takes, source)
        return self._parted[step.fingerprint]

    def collection(self, step: Retrieve, names: Mapping[str, Any]) -> Collection:
        """Return what a step looks through for a row. Raises `Unavailable` where that needs what an earlier step did
        not yield."""
        parted = self.parted(step)
        key = digest([parted.source, [evaluate(each, names) for each in parted.takes]])
        if key not in self._collections:
            if len(self._collections) >= MOST_COLLECTIONS:
                del self._collections[next(iter(self._collections))]
            elements = evaluate(step.source, names)
            self._collections[key] = Collection(ordered(elements), step.alias, self.shelf)
        return self._collections[key]

    def chosen(
        self,
        step: Retrieve,
        names: Mapping[str, Any],
        own: Mapping[str, Any],
        values: Mapping[int, Values] = {},
    ) -> list[Any]:
        """Return what a step yields for the row `own`. `values` are those of measures that were taken already, by their
        number. Elements among which others are put come in an order that follows from them and from what they are
        ranked by, so that it tells nothing else of the row. Raises `Unavailable` where it needs what an earlier step
        did not yield."""
        included = [element for expr in step.include for element in _each(evaluate(expr, names))]
        parted, collection = self.parted(step), self.collection(step, names)
        found: list[Any] = []
        if collection.elements:
            taken = [
                self._value(collection, each, number, names, values) for number, each in enumerate(parted.measures)
            ]
            ranked = _values(parted, collection, taken, names)
            own_row = own if isinstance(step.source, Data) and step.source.field is None else None
            for place in _in_order(ranked, _candidates(parted.where, collection, names), step.top):
                element = collection.elements[place]
                if own_row is not None and element == own_row:
                    continue
                seen = {**names, step.alias: element} if parted.where.rest else names
                if all(holds(part, seen) for part in parted.where.rest):
                    found.append(element)
                if len(found) == step.top:
                    break
        if not included:
            return found
        known = [*found]
        known += [each for number, each in enumerate(included) if each not in found and each not in included[:number]]
        asked = [evaluate(measure.query, names) for measure in parted.measures]
        return sorted(known, key=lambda element: digest([asked, step.name, element]))

    def _value(
        self,
        collection: Collection,
        measure: SimilarityCall,
        number: int,
        names: Mapping[str, Any],
        values: Mapping[int, Values],
    ) -> Values:
        if number in values:
            found = values[number].astype(np.float32, copy=True)
        else:
            query = evaluate(measure.query, names)
            found = collection.index(measure.kind, measure.text, names).values(query)
        absent = collection.absent(measure.text, names)
        if len(absent):
            found[absent] = np.nan
        return found


def _values(parted: RetrievalPlan, collection: Collection, taken: Sequence[Values], names: Mapping[str, Any]) -> Values:
    """Return the value of every element; not a number where it has none."""
    if isinstance(parted.value, Ref) and parted.value.path[0] == VALUE:
        return taken[0]
    found = np.full(len(collection.elements), np.nan, np.float32)
    seen = dict(names)
    for place, element in enumerate(collection.elements):
        seen[collection.alias] = element
        seen[VALUE] = {str(number): float(each[place]) for number, each in enumerate(taken)}
        try:
            found[place] = float(evaluate(parted.value, seen))
        except Unavailable as reason:
            if reason.step in names:
                raise
    return found


def _candidates(
    where: SplitCondition, collection: Collection, names: Mapping[str, Any]
) -> npt.NDArray[np.int64] | None:
    """Return the places of the elements for which every equality holds; None for all of them."""
    kept: npt.NDArray[np.int64] | None = None
    for same in where.same:
        value = evaluate(same.other, names)
        places = collection.places(same.element, value, names)
        if places is None:
            places = _compared(same.element, value, collection, names)
        own = np.asarray(places, np.int64)
        kept = own if kept is None else np.intersect1d(kept, own, assume_unique=True)
    return kept


def _compared(element: Expr, value: Any, collection: Collection, names: Mapping[str, Any]) -> list[int]:
    same = Binary(operator="==", left=element, right=Ref(path=(VALUE,)))
    seen = {**names, VALUE: value}
    found: list[int] = []
    for place, each in enumerate(collection.elements):
        seen[collection.alias] = each
        if holds(same, seen):
            found.append(place)
    return found


def _in_order(values: Values, places: npt.NDArray[np.int64] | None, top: int) -> Iterator[int]:
    """Yield the places from the greatest value down, those without one left out; a few at first, since few are
    wanted."""
    own = values if places is None else values[places]
    there = np.flatnonzero(~np.isnan(own))
    count = max(2 * top, 64)
    if count < len(there):
        nearest = np.partition(own[there], len(there) - count)[len(there) - count]
        first = there[own[there] >= nearest]
        yield from _sorted(own, first, places)
        there = there[own[there] < nearest]
    yield from _sorted(own, there, places)


def _sorted(values: Values, at: npt.NDArray[np.int64], places: npt.NDArray[np.int64] | None) -> Iterator[int]:
    order = at[np.argsort(-values[at], kind="stable")]
    yield from (order if places is None else places[order]).tolist()


def _each(value: Any) -> list[Any]:
    """Return what is included: each of a list, or the value itself."""
    if isinstance(value, list | tuple | set | frozenset):
        return ordered(value)
    return [value]
