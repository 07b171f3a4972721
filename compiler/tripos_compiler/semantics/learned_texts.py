"""Texts of rows that are learned, held against texts of rows that are kept out of what is learned. Fields of two data
sets have names of their own, so texts are compared and not fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from tripos_compiler.plan import Pairing
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.near import what_counts
from tripos_compiler.semantics.near_copies import LONG, NearCopies

K = TypeVar("K")


class KeptOut(Generic[K]):
    """The texts of rows under keys. A text counts from `LONG` letters and digits on: a shorter one may be the same by
    accident.

    >>> kept = KeptOut[int]()
    >>> kept.add(1, {"talk": [{"speaker": "Ann", "text": "Why did you multiply the number of boxes by the crayons?"}]})
    >>> kept.find(["why did you multiply the number of boxes by the crayons"])
    1
    >>> kept.find(["Why?"])
    """

    def __init__(self) -> None:
        self._copies: NearCopies[int] = NearCopies()
        self._keys: list[K] = []
        self._texts: list[str] = []
        self._seen: set[str] = set()

    def add(self, key: K, values: Mapping[str, Any]) -> None:
        """Keeps the texts of a row."""
        for text in texts_of_row(values):
            if text not in self._seen:  # several rows may have one problem
                self._seen.add(text)
                self._copies.add(len(self._keys), text)
                self._keys.append(key)
                self._texts.append(text)

    def find(self, texts: Iterable[str]) -> K | None:
        """The key of the first row that has one of these texts, nearly word for word; None where none has."""
        found = self.text_of(texts)
        return None if found is None else found[0]

    def text_of(self, texts: Iterable[str]) -> tuple[K, str] | None:
        """The same, with the text that the row has."""
        for text in texts:
            if is_long(text) and (found := self._copies.like(text)):
                return self._keys[found[0]], self._texts[found[0]]
        return None


def is_long(text: str) -> bool:
    """Whether a text is so long that a copy of it is no accident."""
    return len(text) >= LONG and len(what_counts(text)) >= LONG


def texts_of_row(value: Any) -> Iterator[str]:
    """The long texts of a row, at any depth; of a dialogue the last turn, which is what a reply has to beat.

    >>> len(list(texts_of_row({"a": "x" * 40, "b": ["y" * 40, "short"], "c": {"d": "z" * 40}})))
    3
    """
    if isinstance(value, str):
        if is_long(value):
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_of_row(inner)
    elif isinstance(value, list | tuple):
        turns = bool(value) and all(isinstance(each, Mapping) and set(each) == {"speaker", "text"} for each in value)
        for inner in value[-1:] if turns else value:
            yield from texts_of_row(inner)


def learned_texts(pairing: Pairing, names: Mapping[str, Any]) -> list[str]:
    """What is learned of a row: the values that it is grouped by, and its replies; `names` has the row. What has no
    value is left out, and is reported where the export is made."""
    found: list[str] = []
    for group in pairing.groups:
        found += _texts(group, names)
    for reply in pairing.replies:
        try:
            each = [None] if reply.each is None else evaluate(reply.each, names)
            rows = [names if reply.each is None else {**names, str(reply.alias): one} for one in each]
            kept = [row for row in rows if reply.when is None or evaluate(reply.when, row)]
        except (Unavailable, LookupError):
            continue
        for row in kept:
            found += _texts(reply.text, row)
    return found


def _texts(expr: Any, names: Mapping[str, Any]) -> list[str]:
    try:
        value = evaluate(expr, names)
    except (Unavailable, LookupError):
        return []
    return [value] if isinstance(value, str) else []
