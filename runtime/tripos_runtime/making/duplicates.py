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
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import regex

from tripos_compiler.plan import digest

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

NEAR = 0.8
"""From this Jaccard similarity on texts are near-duplicates."""
GROUP = 3
BANDS, IN_BAND = 25, 5
"""Two texts are candidates where all hashes of one of the bands are equal: with similarity s that has the probability
1 - (1 - s^5)^25, which is 0.99995 for 0.8 and 0.06 for 0.3."""
PASSED_OVER = regex.compile(r"[\p{P}\p{Z}\p{C}]+")
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
    >>> pool.add(0, look_at("What is the capital of France, and why is it so?"))
    >>> pool.repeats(look_at("what is the capital of France - and why is it so"))
    Repeat(place=0, similarity=1.0)
    >>> pool.repeats(look_at("What is the capital of France, and why was it so?")).place
    0
    >>> pool.repeats(look_at("Name the capital of Italy.")) is None
    True
    """

    exact: dict[str, int] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    _few: dict[int, frozenset[str]] = field(default_factory=dict)
    _index: MinHashLSH | None = None

    def repeats(self, seen: Seen) -> Repeat | None:
        """The accepted value that this one repeats, the most similar, and of equally similar ones the first."""
        if seen.key in self.exact:
            return Repeat(self.exact[seen.key], 1.0)
        best: Repeat | None = None
        for place, groups in self._candidates(seen):
            near = similarity(seen.groups, groups)
            if near >= NEAR and (best is None or near > best.similarity):
                best = Repeat(place, near)
        return best

    def add(self, place: int, seen: Seen) -> None:
        """Takes an accepted value."""
        self.exact[seen.key] = place
        if not seen.groups:
            return
        self.texts[place] = seen.text
        if self._index is not None:
            self._index.insert(place, seen.sketch)
            return
        self._few[place] = seen.groups
        if len(self._few) > FEW:
            from datasketch import MinHashLSH

            self._index = MinHashLSH(num_perm=BANDS * IN_BAND, params=(BANDS, IN_BAND))
            for each, groups in self._few.items():
                self._index.insert(each, _sketch(groups))
            self._few.clear()

    def _candidates(self, seen: Seen) -> Iterator[tuple[int, frozenset[str]]]:
        if not seen.groups:
            return
        if self._index is None:
            yield from self._few.items()
            return
        for place in sorted(self._index.query(seen.sketch)):
            yield place, groups_of(self.texts[place])


@dataclass(frozen=True)
class Seen:
    """A value as it is compared: what names it, and of a text what counts in it and its groups of characters."""

    key: str
    text: str = ""
    groups: frozenset[str] = frozenset()

    @cached_property
    def sketch(self) -> MinHash:
        """The MinHash of the groups."""
        return _sketch(self.groups)


def look_at(value: Any) -> Seen:
    """A value as it is compared."""
    if not isinstance(value, str):
        return Seen(digest(["value", value]))
    text = plain(value)
    return Seen(digest(["text", text or value]), text, groups_of(text))


def plain(text: str) -> str:
    """A text without what does not count: case, spaces, punctuation, and the width of characters.

    >>> plain("What's ２ + 2?"), plain("什么是 函数？")
    ('whats2+2', '什么是函数')
    """
    return str(PASSED_OVER.sub("", unicodedata.normalize("NFKC", text).casefold()))


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


def _sketch(groups: frozenset[str]) -> MinHash:
    found = _empty_sketch().copy()
    found.update_batch([group.encode("utf-8", "surrogatepass") for group in groups])
    return found


@cache
def _empty_sketch() -> MinHash:
    """What every sketch begins as: to draw its permutations anew for each would take longer than the rest."""
    from datasketch import MinHash

    return MinHash(num_perm=BANDS * IN_BAND, seed=1, hashfunc=zlib.crc32)
