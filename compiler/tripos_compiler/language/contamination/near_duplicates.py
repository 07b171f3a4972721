"""Near-duplicate texts: found by MinHash, confirmed by the overlap of their runs of characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tripos_compiler.language.replies.text import nfkc

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from datasketch import MinHash

    Codes = npt.NDArray[np.uint64]
    Signature = npt.NDArray[np.uint32]


_HASHES = 128
_ASKED_BELOW = 0.2
"""MinHash estimates, so it is asked for what may be this much less alike, and the true overlap decides: five standard
deviations of an estimate."""
_BITS = 21
"""A character of Unicode has so many bits, and a run three of them: every run is a number of its own."""
_SPREADS = 0x9E3779B97F4A7C15
"""An odd number by which neighbouring runs come to lie far apart (Knuth's multiplicative hashing)."""


class RunIndex:
    """Texts by their place, from 0, in the order in which they were added. `alike` is the least overlap of what is
    found. It keeps 8 bytes a run and about 5 kB a text beside them."""

    def __init__(self, alike: float) -> None:
        import numpy as np
        from datasketch import MinHashLSH

        self.alike = alike
        self._lsh = MinHashLSH(threshold=max(alike - _ASKED_BELOW, 0.05), num_perm=_HASHES, weights=(0.1, 0.9))
        self._codes: list[Codes] = []
        self._sizes = np.zeros(64, dtype=np.int64)
        self._signatures = np.zeros((64, _HASHES), dtype=np.uint32)

    def add(self, kept: str) -> None:
        """Take a text, of which only what counts is left (`near.what_counts`), and that is not empty."""
        import numpy as np

        codes, place = codes_of(kept), len(self._codes)
        hashed = _hashed(codes)
        if place == len(self._sizes):
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._signatures = np.concatenate([self._signatures, np.zeros_like(self._signatures)])
        self._codes.append(codes)
        self._sizes[place] = len(codes)
        self._signatures[place] = hashed.hashvalues
        self._lsh.insert(place, hashed, check_duplication=False)

    def like(self, kept: str) -> Iterator[tuple[int, float]]:
        """Yield the places of the texts that are alike, in order, and the overlap of each.

        >>> index = RunIndex(0.7)
        >>> for text in ("annhas12applesandeatsfive", "whichplanetisnearest"):
        ...     index.add(text)
        >>> list(index.like("annhas12applesandeatsfour"))
        [(0, 0.7692307692307693)]
        """
        import numpy as np

        codes = codes_of(kept)
        hashed = _hashed(codes)
        places = np.array(sorted(self._lsh.query(hashed)), dtype=np.int64)
        if not len(places):
            return
        # Sets of which one is much larger share too little, whatever they hold; then the estimate is asked.
        sizes = self._sizes[places]
        near = np.minimum(sizes, len(codes)) >= self.alike * np.maximum(sizes, len(codes))
        places = places[near]
        estimates = (self._signatures[places] == hashed.hashvalues.astype(np.uint32)).mean(axis=1)
        for place in places[estimates >= self.alike - _ASKED_BELOW].tolist():
            theirs = self._codes[place]
            shared = len(np.intersect1d(codes, theirs, assume_unique=True))
            overlap = shared / (len(codes) + len(theirs) - shared)
            if overlap >= self.alike:
                yield place, overlap


def codes_of(kept: str) -> Codes:
    """The runs of three characters of a text as numbers, sorted; of a shorter text the one that it is.

    >>> len(codes_of("banana")), len(codes_of("ab")), bool((codes_of("ab") == codes_of("abc")).any())
    (3, 1, False)
    """
    import numpy as np

    points = np.frombuffer(kept.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    points = np.concatenate([points, np.zeros(max(0, 3 - len(points)), dtype=np.uint64)])
    bits = np.uint64(_BITS)
    return np.unique((((points[:-2] << bits) | points[1:-1]) << bits) | points[2:])


def _hashed(codes: Codes) -> MinHash:
    import numpy as np

    made = _no_runs().copy()
    made.update_batch(((codes * np.uint64(_SPREADS)) >> np.uint64(32)).tolist())
    return made


def _as_it_is(value: Any) -> Any:
    return value


@cache
def _no_runs() -> MinHash:
    """Return what every hash begins as: to draw its permutations anew for each would take longer than the rest."""
    from datasketch import MinHash

    return MinHash(num_perm=_HASHES, seed=1, hashfunc=_as_it_is)


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
    return _runs(letters_and_digits(text))


def letters_and_digits(text: str) -> str:
    """Return a text's letters and digits of any script, without regard to case and width.

    >>> letters_and_digits("What's ２ + 2?"), letters_and_digits("什么是 函数？")
    ('whats22', '什么是函数')
    """
    plain = text.lower() if text.isascii() else nfkc(text).casefold()
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


def jaccard_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """The Jaccard index of two sets of runs, from 0 to 1: what they share of what either has; 0 without any.

    >>> jaccard_overlap(runs_of("abcde"), runs_of("abcdf"))
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
        """Keep a text under a key that is not there yet. A text without a letter or digit is like no other."""
        if key in self._keys:
            raise KeyError(key)
        self._keys.add(key)
        kept = letters_and_digits(text)
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
        """Return the key of the most similar of the texts that are alike, and their overlap; the first added of
        several."""
        return max(self.all_like(text), key=lambda found: found[1], default=None)

    def all_like(self, text: str) -> Iterator[tuple[K, float]]:
        """Yield the keys of the texts that are alike, in the order in which they were added, and the overlap of each.
        Of texts that are the same but for case, spaces and punctuation the first stands for all."""
        kept = letters_and_digits(text)
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
            shared = jaccard_overlap(runs, theirs)
            if shared >= self.alike:
                yield key, shared
