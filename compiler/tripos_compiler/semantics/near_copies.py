"""Finds texts that are nearly word for word one of many: fast enough to be asked of every row at every compilation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tripos_compiler.semantics.near import overlap, runs_of, what_counts
from tripos_compiler.semantics.near_index import codes_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

K = TypeVar("K", bound=Hashable)

NEARLY = 0.9
"""The overlap of runs of characters from which one text is the other, nearly word for word."""
LONG = 40
"""Letters and digits of a text for which a near copy is no accident; a shorter one must be the same."""
FEW = 32
"""So few texts are compared one by one."""
LEAST = 12
"""So many of the least hashes of its runs stand for a text."""
IN_COMMON = 8
"""So many of these two texts must share to be compared: with an overlap of `NEARLY` they share eleven or so."""
MOST_SAME = 100
"""So many texts that are the same are given, where there are more."""
_SPREADS = 0x9E3779B97F4A7C15


class NearCopies(Generic[K]):
    """Texts under keys, of which copies are looked for. Every answer is confirmed by the true overlap.

    >>> kept = NearCopies[str]()
    >>> kept.add("a", "Ann has twelve apples in a basket, and gives five of them to Ben. How many are left?")
    >>> kept.like("Ann has twelve apples in a basket and gives five of them to Ben. How many are left now?")
    ['a']
    >>> kept.like("Which planet is nearest to the sun?")
    []
    """

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._texts: list[str] = []
        self._same: dict[str, list[int]] = defaultdict(list)
        self._sketches: dict[int, list[int]] | None = None
        self._known: dict[str, list[int]] = {}
        """What was found for a text."""
        self._codes: list[npt.NDArray[np.uint64]] = []

    def add(self, key: K, text: str) -> None:
        """Keeps a text. One without a letter or digit is like no other."""
        kept = what_counts(text)
        if kept:
            self._same[kept].append(len(self._keys))
            self._keys.append(key)
            self._texts.append(kept)
            self._sketches = None
            self._known.clear()

    def like(self, text: str) -> list[K]:
        """The keys of the texts that are the same, apart from case, spaces and punctuation, and then of those that are
        nearly so."""
        if text not in self._known:
            kept = what_counts(text)
            near = [place for place in self._near(kept) if self._texts[place] != kept] if len(kept) >= LONG else []
            self._known[text] = [*self._same.get(kept, [])[:MOST_SAME], *near]
        return [self._keys[place] for place in self._known[text]]

    def _near(self, kept: str) -> Iterator[int]:
        if len(self._texts) <= FEW:
            runs = runs_of(kept)
            yield from (place for place, text in enumerate(self._texts) if overlap(runs, runs_of(text)) >= NEARLY)
            return
        import numpy as np

        sketches = self._built()
        codes = codes_of(kept)
        shared = Counter(place for least in _least(codes) for place in sketches.get(least, ()))
        for place in sorted(place for place, count in shared.items() if count >= min(IN_COMMON, len(codes))):
            common = len(np.intersect1d(codes, self._codes[place], assume_unique=True))
            if common >= NEARLY * (len(codes) + len(self._codes[place]) - common):
                yield place

    def _built(self) -> dict[int, list[int]]:
        """The texts by the least hashes of their runs."""
        if self._sketches is None:
            self._sketches = defaultdict(list)
            self._codes = [codes_of(text) for text in self._texts]
            for place, codes in enumerate(self._codes):
                for least in _least(codes):
                    self._sketches[least].append(place)
        return self._sketches


def _least(codes: Any) -> list[int]:
    import numpy as np

    hashed = codes * np.uint64(_SPREADS)
    least: list[int] = np.partition(hashed, LEAST)[:LEAST].tolist() if len(hashed) > LEAST else hashed.tolist()
    return least
