"""Near-duplicate texts: found by MinHash, confirmed by the overlap of their runs of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar
from zlib import crc32

K = TypeVar("K", bound=Hashable)

RUN = 3
"""Characters in a run. Runs of characters, and not words, since Chinese has no spaces between its words."""

ALIKE = 0.7
"""The overlap from which two texts count as one: a changed name or number in two sentences stays above it, a text that
was written anew falls far below."""

_HASHES = 128
_ASKED_BELOW = 0.1
"""MinHash estimates, so it is asked for what may be this much less alike, and the true overlap decides."""


def runs_of(text: str) -> frozenset[str]:
    """The runs of `RUN` characters of a text: its letters and digits of any script, without regard to case, width,
    spaces and punctuation. A shorter text is one run.

    >>> sorted(runs_of("Ann, 12"))
    ['ann', 'n12', 'nn1']
    >>> runs_of("Ａnn 12!") == runs_of("ann12")
    True
    """
    kept = "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if unicodedata.category(c)[0] in "LNM")
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
    looked up in any order; every answer is confirmed by the true overlap, so MinHash (Broder 1997) can only miss a
    text. With `ALIKE` it misses one in a hundred at the very edge, and one in 20,000 at an overlap of 0.8.

    >>> kept = NearTexts[str]()
    >>> kept.add("a", "Ann has 12 apples and gives 5 of them to Ben. How many are left?")
    >>> kept.find("Ann has 12 apples, and gives 5 of them to Tom. How many are left?")
    ('a', 0.803921568627451)
    >>> kept.find("Which planet is nearest to the sun?") is None
    True
    """

    def __init__(self, alike: float = ALIKE) -> None:
        from datasketch import MinHash, MinHashLSH

        self.alike = alike
        self._empty = MinHash(num_perm=_HASHES, seed=1, hashfunc=crc32)
        self._index = MinHashLSH(threshold=max(alike - _ASKED_BELOW, 0.05), num_perm=_HASHES, weights=(0.1, 0.9))
        self._runs: dict[K, frozenset[str]] = {}
        self._places: dict[K, int] = {}
        self._same: dict[frozenset[str], K] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, key: K, text: str) -> None:
        """Keeps a text under a key that is not there yet. A text without a letter or digit is like no other."""
        runs = runs_of(text)
        if key in self._runs:
            raise KeyError(key)
        self._places[key] = len(self._runs)
        self._runs[key] = runs
        if runs and runs not in self._same:
            self._same[runs] = key
            self._index.insert(key, self._hashed(runs), check_duplication=False)

    def find(self, text: str) -> tuple[K, float] | None:
        """The key of the most similar of the texts that are alike, and their overlap; the first added of several."""
        return max(self.all_like(text), key=lambda found: found[1], default=None)

    def all_like(self, text: str) -> Iterator[tuple[K, float]]:
        """The keys of the texts that are alike, in the order in which they were added, and the overlap of each. Of
        texts that are the same but for case, spaces and punctuation the first stands for all."""
        runs = runs_of(text)
        if not runs:
            return
        close = set(self._index.query(self._hashed(runs))) | ({self._same[runs]} if runs in self._same else set())
        for key in sorted(close, key=self._places.__getitem__):
            shared = overlap(runs, self._runs[key])
            if shared >= self.alike:
                yield key, shared

    def _hashed(self, runs: Iterable[str]) -> Any:
        made = self._empty.copy()
        made.update_batch([run.encode() for run in runs])
        return made
