"""Near-duplicate texts: found by MinHash, confirmed by the overlap of their runs of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar
from zlib import crc32

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

K = TypeVar("K", bound=Hashable)

RUN = 3
"""Characters in a run. Runs of characters, and not words, since Chinese has no spaces between its words."""

ALIKE = 0.7
"""The overlap from which two texts count as one: a changed name or number in two sentences stays above it, a text that
was written anew falls far below."""

_HASHES = 128
_ASKED_BELOW = 0.2
"""MinHash estimates, so it is asked for what may be this much less alike, and the true overlap decides."""
_FEW = 32
"""With so few texts each is compared with each."""


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
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if unicodedata.category(c)[0] in "LNM")


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
    where there are more than a few, can only miss a text: with `ALIKE` one in 6,000 at the very edge, and where `alike`
    is 0.8 one in 20,000.

    >>> kept = NearTexts[str]()
    >>> kept.add("a", "Ann has 12 apples and gives 5 of them to Ben. How many are left?")
    >>> kept.find("Ann has 12 apples, and gives 5 of them to Tom. How many are left?")
    ('a', 0.803921568627451)
    >>> kept.find("Which planet is nearest to the sun?") is None
    True
    """

    def __init__(self, alike: float = ALIKE) -> None:
        self.alike = alike
        self._texts: dict[K, str] = {}
        self._places: dict[K, int] = {}
        self._same: dict[str, K] = {}
        self._few: dict[K, frozenset[str]] = {}
        self._index: MinHashLSH | None = None

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, key: K, text: str) -> None:
        """Keeps a text under a key that is not there yet. A text without a letter or digit is like no other."""
        kept = what_counts(text)
        if key in self._texts:
            raise KeyError(key)
        self._places[key] = len(self._texts)
        self._texts[key] = kept
        if not kept or kept in self._same:
            return
        self._same[kept] = key
        if self._index is not None:
            self._index.insert(key, _hashed(_runs(kept)), check_duplication=False)
            return
        self._few[key] = _runs(kept)
        if len(self._few) > _FEW:
            self._index = _empty_index(self.alike)
            for each, runs in self._few.items():
                self._index.insert(each, _hashed(runs), check_duplication=False)
            self._few.clear()

    def find(self, text: str) -> tuple[K, float] | None:
        """The key of the most similar of the texts that are alike, and their overlap; the first added of several."""
        return max(self.all_like(text), key=lambda found: found[1], default=None)

    def all_like(self, text: str) -> Iterator[tuple[K, float]]:
        """The keys of the texts that are alike, in the order in which they were added, and the overlap of each. Of
        texts that are the same but for case, spaces and punctuation the first stands for all."""
        kept = what_counts(text)
        if not kept:
            return
        runs = _runs(kept)
        if self._index is None:
            found = self._few.items()
        else:
            close = set(self._index.query(_hashed(runs))) | ({self._same[kept]} if kept in self._same else set())
            found = {key: _runs(self._texts[key]) for key in sorted(close, key=self._places.__getitem__)}.items()
        for key, theirs in found:
            shared = overlap(runs, theirs)
            if shared >= self.alike:
                yield key, shared


def _empty_index(alike: float) -> MinHashLSH:
    from datasketch import MinHashLSH

    return MinHashLSH(threshold=max(alike - _ASKED_BELOW, 0.05), num_perm=_HASHES, weights=(0.1, 0.9))


def _hashed(runs: Iterable[str]) -> MinHash:
    made = _no_runs().copy()
    made.update_batch([run.encode("utf-8", "surrogatepass") for run in runs])
    return made


@cache
def _no_runs() -> MinHash:
    """What every hash begins as: to draw its permutations anew for each would take longer than the rest."""
    from datasketch import MinHash

    return MinHash(num_perm=_HASHES, seed=1, hashfunc=crc32)
