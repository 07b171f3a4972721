"""The texts of a list that are nearest to another text."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tripos_compiler.semantics.library.likeness import bm25_score
from tripos_compiler.semantics.library.terms import terms_of


def nearest(text: str, texts: Sequence[str], count: int) -> list[str]:
    """The texts of a list that are nearest to a text, the nearest first.

    By BM25 over the list, as [`retrieve`](retrieve.md) ranks by `bm25(text, …)` over its source: of equal ones first
    the one that comes first, and none that has no term of the text. It is what a prompt takes from a collection where
    no `retrieve` can stand, as in a data set that a role writes: `nearest(leaf(point), passage.text, 3)`.

    >>> nearest("fractions", ["Circles are round.", "Fractions are parts.", "Adding fractions"], 3)
    ['Adding fractions', 'Fractions are parts.']
    """
    collection = _collection(tuple(texts))
    wanted = terms_of(text)
    values = [collection.value(wanted, place) for place in range(len(texts))]
    best = heapq.nsmallest(max(0, count), range(len(texts)), key=lambda place: (-values[place], place))
    return [texts[place] for place in best if values[place] > 0]


@dataclass(frozen=True)
class _Collection:
    documents: tuple[list[str], ...]
    having: Counter[str]
    average: float

    def value(self, wanted: Sequence[str], place: int) -> float:
        return bm25_score(wanted, self.documents[place], self._rarity, self.average or None)

    def _rarity(self, term: str) -> float:
        many, own = len(self.documents), self.having[term]
        return math.log(1 + (many - own + 0.5) / (own + 0.5))


@lru_cache(maxsize=4)
def _collection(texts: tuple[str, ...]) -> _Collection:
    documents = tuple(terms_of(text) for text in texts)
    having = Counter(term for document in documents for term in set(document))
    return _Collection(documents, having, sum(map(len, documents)) / max(1, len(documents)))
