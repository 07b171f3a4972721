"""Finds among many texts those whose runs of characters overlap: candidates by MinHash, the overlap in numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

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
        """Takes a text, of which only what counts is left (`near.what_counts`), and that is not empty."""
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
        """The places of the texts that are alike, in order, and the overlap of each.

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
    """What every hash begins as: to draw its permutations anew for each would take longer than the rest."""
    from datasketch import MinHash

    return MinHash(num_perm=_HASHES, seed=1, hashfunc=_as_it_is)
