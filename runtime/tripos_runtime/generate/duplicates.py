"""Finds rows that repeat another one: in what must be unique, word for word or nearly so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tripos_compiler.language.contamination import NearTexts, letters_and_digits
from tripos_compiler.plan import digest

NEAR = 0.8
"""From this overlap on (`near_duplicates.overlap`) texts are near-duplicates."""


@dataclass(frozen=True)
class Repeat:
    """A repetition of a value: the place of the slot of the other one, and how similar the two are, 1 where equal."""

    place: int
    similarity: float


@dataclass
class Pool:
    """The accepted values of one `unique` in one cell of the context.

    >>> pool = Pool()
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
