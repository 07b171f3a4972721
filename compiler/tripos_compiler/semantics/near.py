"""Near-duplicate texts: found by MinHash, confirmed by the overlap of their runs of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from tripos_compiler.semantics.near_index import RunIndex

K = TypeVar("K", bound=Hashable)

RUN = 3
"""Characters in a run. Runs of characters, and not words, since Chinese has no spaces between its words."""

ALIKE = 0.7
"""The overlap from which two texts count as one: a changed name or number in two sentences stays above it, a text that
was written anew falls far below."""

_FEW = 256
"""With so few texts each is compared with each, which takes less time than to load what finds candidates among many."""


def runs_of(text: str) -> frozenset[str]:
    """The runs of `RUN` characters of a text: its letters and digits of any script, without regard to case, width,
    spaces and punctuation. A shorter text is one run.

    >>> sorted(runs_of("Ann, 12"))
    ['ann', 'n12', 'nn1']
    >>> runs_of("Ａnn 12!") == runs_of("ann12")
    True
    """
    return _runs(what_counts(text))


def what_counts(text: str) -> str:
    """A text's letters and digits of any script, without regard to case and width.

    >>> what_counts("What's ２ + 2?"), what_counts("什么是 函数？")
    ('whats22', '什么是函数')
    """
    plain = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return plain.translate(_COUNTS)


class _Counts(dict[int, int | None]):
    """Characters that count, by themselves, and None for those that do not; looked up once each."""

    def __missing__(self, code: int) -> int | None:
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else None
        return self[code]


_COUNTS = _Counts()


def _runs(kept: str) -> frozenset[str]:
    if len(kept) <= RUN:
        return frozenset((kept,)) if kept else frozenset()
    return frozenset(kept[i : i + RUN] for i in range(len(kept) - RUN + 1))


def overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """The Jaccard index of two sets of runs, from 0 to 1: what they share of what either has; 0 without any.

    >>> overlap(runs_of("abcde"), runs_of("abcdf"))
    0.5
    """
    either = len(one | two)
    return len(one & two) / either if either else 0.0


class NearTexts(Generic[K]):
    """Texts that others are compared with, each under a key.

    `alike` is the least overlap, above 0 and at most 1, at which a text is taken for another. Texts are added and
    looked up in any order. Every answer is confirmed by the true overlap, so MinHash (Broder 1997), which is asked
    where there are more than `few`, can only miss a text: with `ALIKE` one in 6,000 at the very edge, and where `alike`
    is 0.8 one in 20,000. With `few` 0 it is always asked: then which two texts are alike does not depend on the others.

    >>> kept = NearTexts[str]()
    >>> kept.add("a", "Ann has 12 apples and gives 5 of them to Ben. How many are left?")
    >>> kept.find("Ann has 12 apples, and gives 5 of them to Tom. How many are left?")
    ('a', 0.803921568627451)
    >>> kept.find("Which planet is nearest to the sun?") is None
    True
    """

    def __init__(self, alike: float = ALIKE, *, few: int = _FEW) -> None:
        self.alike, self.few = alike, few
        self._keys: set[K] = set()
        self._same: dict[str, K] = {}
        """What counts in the texts that are compared, with the first key of each, in order."""
        self._few: dict[K, frozenset[str]] = {}
        self._many: list[K] = []
        self._index: RunIndex | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: K, text: str) -> None:
        """Keeps a text under a key that is not there yet. A text without a letter or digit is like no other."""
        if key in self._keys:
            raise KeyError(key)
        self._keys.add(key)
        kept = what_counts(text)
        if not kept or kept in self._same:
            return
        self._same[kept] = key
        if self._index is None and len(self._few) < self.few:
            self._few[key] = _runs(kept)
            return
        if self._index is None:
            self._index = RunIndex(self.alike)
            for each in self._same:
                self._index.add(each)
            self._many = list(self._same.values())
            self._few.clear()
            return
        self._index.add(kept)
        self._many.append(key)

    def find(self, text: str) -> tuple[K, float] | None:
        """The key of the most similar of the texts that are alike, and their overlap; the first added of several."""
        return max(self.all_like(text), key=lambda found: found[1], default=None)

    def all_like(self, text: str) -> Iterator[tuple[K, float]]:
        """The keys of the texts that are alike, in the order in which they were added, and the overlap of each. Of
        texts that are the same but for case, spaces and punctuation the first stands for all."""
        kept = what_counts(text)
        if not kept:
            return
        if self._index is not None:
            yield from ((self._many[place], shared) for place, shared in self._index.like(kept))
            return
        runs = _runs(kept)
        for key, theirs in self._few.items():
            few, many = sorted((len(runs), len(theirs)))
            if few / many < self.alike:
                continue  # they share too little, whatever they hold
            shared = overlap(runs, theirs)
            if shared >= self.alike:
                yield key, shared
