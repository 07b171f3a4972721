"""Rows that are too near to others: to accepted rows in what must be `unique`, and to texts that they must be
`distinct` from, which nobody who makes them is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.language import evaluate, without_reveal
from tripos_compiler.language.contamination import NearTexts, letters_and_digits
from tripos_compiler.plan import Data, Distinct, Made, digest
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import Rejection, Sources


@dataclass
class Others:
    """The texts that rows of a data set must be distinct from, read when they are first compared with."""

    made: Made
    sources: Sources
    _texts: dict[int, NearTexts[int]] = field(default_factory=dict)

    def rejection(self, number: int, names: Mapping[str, Any]) -> Rejection | None:
        """Return why a row is rejected by the `distinct` of that number, counted from 1, if it is. `names` is what
        expressions see of it. Raises `Unavailable` where there is nothing to compare."""
        distinct = self.made.distinct[number - 1]
        near = self._near(number).find(evaluate(distinct.value, names))
        if near is None:
            return None
        place, similarity = near
        told = {"number": number, **self._named(distinct, place), "similarity": round(similarity, 3)}
        return Rejection("too_near", told)

    def _near(self, number: int) -> NearTexts[int]:
        if number not in self._texts:
            distinct = self.made.distinct[number - 1]
            texts = self._texts[number] = NearTexts(distinct.above)
            for place, text in enumerate(evaluate(distinct.others, self.sources.names)):
                if isinstance(text, str):
                    texts.add(place, text)
        return self._texts[number]

    def _named(self, distinct: Distinct, place: int) -> Mapping[str, Any]:
        """Return the item that a text is of, where it is a column's."""
        others = without_reveal(distinct.others)
        return {"of": self.sources.rows[others.dataset][place].item_id} if isinstance(others, Data) else {}


NEAR = 0.8
"""From this overlap on (`near_duplicates.overlap`) texts are near-duplicates."""


@dataclass(frozen=True)
class Repeat:
    """A repetition of a value: the place of the slot of the other one, and how similar the two are, 1 where equal."""

    place: int
    similarity: float


@dataclass
class AcceptedValues:
    """The accepted values of one `unique` in one cell of the context.

    >>> pool = AcceptedValues()
    >>> pool.add(0, "What is the capital of France, and why is it so?")
    >>> pool.repeats("what is the capital of France - and why is it so")
    Repeat(place=0, similarity=1.0)
    >>> pool.repeats("What is the capital of France, and why was it so?").place
    0
    >>> pool.repeats("Name the capital of Italy.") is None
    True
    """

    exact: dict[str, int] = field(default_factory=dict)
    texts: NearTexts[int] = field(default_factory=lambda: NearTexts(NEAR, few=0))

    def repeats(self, value: Any) -> Repeat | None:
        """Return the accepted value that this one repeats, the most similar, and of equally similar ones the first."""
        place = self.exact.get(_name(value))
        if place is not None:
            return Repeat(place, 1.0)
        near = self.texts.find(value) if isinstance(value, str) else None
        return Repeat(*near) if near is not None else None

    def add(self, place: int, value: Any) -> None:
        """Take an accepted value."""
        self.exact[_name(value)] = place
        if isinstance(value, str):
            self.texts.add(place, value)


def _name(value: Any) -> str:
    """Return what equal values have in common: of a text what counts in it, where anything does."""
    return digest(["text", letters_and_digits(value) or value] if isinstance(value, str) else ["value", value])
