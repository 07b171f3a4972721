"""Finds rows that repeat another one: in what must be unique, word for word or nearly so.

Texts are compared by the groups of three characters that they hold, letters and digits alone, so it works for scripts
without spaces too. Their Jaccard similarity is the share of groups in common among all groups of both. MinHash with
locality-sensitive hashing finds candidates among thousands of texts; whether one is near is told by the true Jaccard
similarity. Of two texts that are as similar as the threshold, it misses one pair in 20,000.
"""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tripos_compiler.plan import digest

if TYPE_CHECKING:
    from datasketch import MinHashLSH

NEAR = 0.8
"""From this Jaccard similarity on texts are near-duplicates."""
GROUP = 3
BANDS, IN_BAND = 25, 5
"""Two texts are candidates where all hashes of one of the bands are equal: with similarity s that has the probability
1 - (1 - s^5)^25, which is 0.99995 for 0.8 and 0.06 for 0.3."""
FEW = 32
"""With so few texts each is compared with each."""


@dataclass(frozen=True)
class Repeat:
    """What a value repeats: the place of the slot of the other one, and how similar the two are, 1 where equal."""

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
    texts: dict[int, str] = field(default_factory=dict)
    _index: MinHashLSH | None = None

    def repeats(self, value: Any) -> Repeat | None:
        """The accepted value that this one repeats, the most similar, and of equally similar ones the first."""
        key = _key(value)
        if key in self.exact:
            return Repeat(self.exact[key], 1.0)
        text = plain(value) if isinstance(value, str) else ""
        groups = groups_of(text)
        if not groups:
            return None
        best: Repeat | None = None
        for place in self._candidates(groups):
            near = similarity(groups, groups_of(self.texts[place]))
            if near >= NEAR and (best is None or near > best.similarity):
                best = Repeat(place, near)
        return best

    def add(self, place: int, value: Any) -> None:
        """Takes an accepted value."""
        self.exact[_key(value)] = place
        text = plain(value) if isinstance(value, str) else ""
        groups = groups_of(text)
        if not groups:
            return
        self.texts[place] = text
        if self._index is not None:
            self._index.insert(place, _sketch(groups))
        elif len(self.texts) > FEW:
            from datasketch import MinHashLSH

            self._index = MinHashLSH(num_perm=BANDS * IN_BAND, params=(BANDS, IN_BAND))
            for each, other in self.texts.items():
                self._index.insert(each, _sketch(groups_of(other)))

    def _candidates(self, groups: frozenset[str]) -> Iterator[int]:
        found = self.texts if self._index is None else self._index.query(_sketch(groups))
        yield from sorted(found)


def plain(text: str) -> str:
    """A text without what does not count: case, spaces, punctuation, and the width of characters.

    >>> plain("What's ２ + 2?"), plain("什么是 函数？")
    ('whats2+2', '什么是函数')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(each for each in folded if unicodedata.category(each)[0] in "LNMS")


def groups_of(text: str) -> frozenset[str]:
    """The groups of three characters of a plain text."""
    return frozenset(text[at : at + GROUP] for at in range(len(text) - GROUP + 1))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard similarity of two sets.

    >>> similarity(groups_of("abcd"), groups_of("abce"))
    0.3333333333333333
    """
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0


def _key(value: Any) -> str:
    return digest(["text", plain(value) or value] if isinstance(value, str) else ["value", value])


def _sketch(groups: frozenset[str]) -> Any:
    from datasketch import MinHash

    found = MinHash(num_perm=BANDS * IN_BAND, seed=1, hashfunc=_hash)
    found.update_batch([group.encode("utf-8", "surrogatepass") for group in sorted(groups)])
    return found


def _hash(data: bytes) -> int:
    return zlib.crc32(data)
