"""Near-duplicate search: MinHash for candidates, exact Jaccard overlap of character runs for confirmation.

`NearTexts` and `RunIndex` find texts that overlap by a given share. `NearCopies` finds nearly verbatim copies fast
enough to check every row at every compilation. `HeldOutTexts` finds held-out texts in training data. Texts are compared
across fields, since two data sets name their fields differently.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.plan import Pairing
from tripos_compiler.replies.text import nfkc

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from datasketch import MinHash

    Codes = npt.NDArray[np.uint64]
    Signature = npt.NDArray[np.uint32]


# MinHash index

_HASHES = 128
_ASKED_BELOW = 0.2
"""Margin below `alike` for the MinHash query, because MinHash only estimates the overlap: five standard deviations of
an estimate. The exact overlap decides."""
_BITS = 21
"""Bits of a Unicode character. A run has three characters, so every run is a distinct number."""
_SPREADS = 0x9E3779B97F4A7C15
"""Odd multiplier that separates neighbouring runs (Knuth's multiplicative hashing)."""
_SLOT_BITS = 22
"""Bits of a slot of a run. A million runs leave four slots of five empty."""


class RunIndex:
    """Index of texts by their position, from 0. `threshold` is the least overlap of a match. It uses 8 bytes for each
    run, about 5 kB for each text, and 4 MB for all."""

    def __init__(self, alike: float) -> None:
        import numpy as np
        from datasketch import MinHashLSH

        self.threshold = alike
        self._lsh = MinHashLSH(threshold=max(alike - _ASKED_BELOW, 0.05), num_perm=_HASHES, weights=(0.1, 0.9))
        self._codes: list[Codes] = []
        self._occupied = np.zeros(1 << _SLOT_BITS, dtype=bool)
        self._sizes = np.zeros(64, dtype=np.int64)
        self._signatures = np.zeros((64, _HASHES), dtype=np.uint32)

    def add(self, normalized: str) -> None:
        """Add a non-empty text that was reduced by `letters_and_digits`."""
        import numpy as np

        codes, place = codes_of(normalized), len(self._codes)
        hashed = _hashed(codes)
        if place == len(self._sizes):
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._signatures = np.concatenate([self._signatures, np.zeros_like(self._signatures)])
        self._codes.append(codes)
        self._occupied[_slots(codes)] = True
        self._sizes[place] = len(codes)
        self._signatures[place] = hashed.hashvalues
        self._lsh.insert(place, hashed, check_duplication=False)

    def like(self, normalized: str) -> Iterator[tuple[int, float]]:
        """Yield the positions of the matching texts, in order, with the overlap of each.

        >>> index = RunIndex(0.7)
        >>> for text in ("annhas12applesandeatsfive", "whichplanetisnearest"):
        ...     index.add(text)
        >>> list(index.like("annhas12applesandeatsfour"))
        [(0, 0.7692307692307693)]
        """
        import numpy as np

        codes = codes_of(normalized)
        # At most the runs that any text has are shared with one of them. This spares most texts the MinHash.
        if self._occupied[_slots(codes)].sum() / len(codes) < self.threshold:
            return
        hashed = _hashed(codes)
        places = np.array(sorted(self._lsh.query(hashed)), dtype=np.int64)
        if not len(places):
            return
        # Sets of very different sizes cannot overlap enough. The MinHash estimate is computed only after this check.
        sizes = self._sizes[places]
        near = np.minimum(sizes, len(codes)) >= self.threshold * np.maximum(sizes, len(codes))
        places = places[near]
        estimates = (self._signatures[places] == hashed.hashvalues.astype(np.uint32)).mean(axis=1)
        for place in places[estimates >= self.threshold - _ASKED_BELOW].tolist():
            theirs = self._codes[place]
            shared = len(np.intersect1d(codes, theirs, assume_unique=True))
            overlap = shared / (len(codes) + len(theirs) - shared)
            if overlap >= self.threshold:
                yield place, overlap


def codes_of(normalized: str) -> Codes:
    """Return the runs of three characters of a text as sorted numbers; a shorter text is one run.

    >>> len(codes_of("banana")), len(codes_of("ab")), bool((codes_of("ab") == codes_of("abc")).any())
    (3, 1, False)
    """
    import numpy as np

    points = np.frombuffer(normalized.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    points = np.concatenate([points, np.zeros(max(0, 3 - len(points)), dtype=np.uint64)])
    bits = np.uint64(_BITS)
    codes = np.sort((((points[:-2] << bits) | points[1:-1]) << bits) | points[2:])
    first = np.ones(len(codes), dtype=bool)
    np.not_equal(codes[1:], codes[:-1], out=first[1:])
    return codes[first]  # `np.unique` takes seven times as long for a few hundred numbers


def _slots(codes: Codes) -> Codes:
    """Return the slot of each run. Two runs may share one."""
    import numpy as np

    return (codes * np.uint64(_SPREADS)) >> np.uint64(64 - _SLOT_BITS)


def _hashed(codes: Codes) -> MinHash:
    import numpy as np

    made = _no_runs().copy()
    made.update_batch(((codes * np.uint64(_SPREADS)) >> np.uint64(32)).tolist())
    return made


def _as_it_is(value: Any) -> Any:
    return value


@cache
def _no_runs() -> MinHash:
    """Return the initial MinHash. It is copied because drawing its permutations for each text would dominate the
    time."""
    from datasketch import MinHash

    return MinHash(num_perm=_HASHES, seed=1, hashfunc=_as_it_is)


# Near-duplicate texts

K = TypeVar("K", bound=Hashable)

RUN = 3
"""Characters in a run. Characters instead of words, since Chinese has no spaces between words."""

NEAR_DUPLICATE_OVERLAP = 0.7
"""Overlap from which two texts count as duplicates. A changed name or number in two sentences stays above it; a
rewritten text falls far below."""

_FEW = 256
"""Number of texts up to which all are compared directly, which is faster than loading the MinHash library."""


def runs_of(text: str) -> frozenset[str]:
    """Return the runs of `RUN` characters of a text, over its letters and digits of any script, without case, width,
    spaces and punctuation. A shorter text is one run.

    >>> sorted(runs_of("Ann, 12"))
    ['ann', 'n12', 'nn1']
    >>> runs_of("Ａnn 12!") == runs_of("ann12")
    True
    """
    return _runs(letters_and_digits(text))


@lru_cache(maxsize=64)
def letters_and_digits(text: str) -> str:
    """Return a text's letters and digits of any script, without case and width.

    >>> letters_and_digits("What's ２ + 2?"), letters_and_digits("什么是 函数？")
    ('whats22', '什么是函数')
    """
    # The texts of one row are compared in several ways in a row, hence the small cache.
    plain = text.lower() if text.isascii() else nfkc(text).casefold()
    return plain.translate(_COUNTS)


class _Counts(dict[int, int | None]):
    """Cached map from a character to its normalized form, or None for characters that are dropped."""

    def __missing__(self, code: int) -> int | None:
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else None
        return self[code]


_COUNTS = _Counts()


def _runs(kept: str) -> frozenset[str]:
    if len(kept) <= RUN:
        return frozenset((kept,)) if kept else frozenset()
    return frozenset(kept[i : i + RUN] for i in range(len(kept) - RUN + 1))


def jaccard_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of runs, from 0 to 1: the size of their intersection divided by that of
    their union; 0 if both are empty.

    >>> jaccard_overlap(runs_of("abcde"), runs_of("abcdf"))
    0.5
    """
    either = len(one | two)
    return len(one & two) / either if either else 0.0


class NearTexts(Generic[K]):
    """Index of texts by key, for near-duplicate queries.

    `threshold` is the least overlap, above 0 and at most 1, of a match. Texts may be added and queried in any order.
    Every match is confirmed by the exact overlap, so MinHash (Broder 1997), used above `few` texts, can only miss
    matches: with `NEAR_DUPLICATE_OVERLAP` one in 6,000 exactly at the threshold, with 0.8 one in 20,000. With `few=0`
    MinHash is always used, so that a match of two texts does not depend on the others.

    >>> kept = NearTexts[str]()
    >>> kept.add("a", "Ann has 12 apples and gives 5 of them to Ben. How many are left?")
    >>> kept.find("Ann has 12 apples, and gives 5 of them to Tom. How many are left?")
    ('a', 0.803921568627451)
    >>> kept.find("Which planet is nearest to the sun?") is None
    True
    """

    def __init__(self, alike: float = NEAR_DUPLICATE_OVERLAP, *, few: int = _FEW) -> None:
        self.threshold, self.few = alike, few
        self._keys: set[K] = set()
        self._same: dict[str, K] = {}
        """What counts in the texts that are compared, with the first key of each, in order."""
        self._few: dict[K, frozenset[str]] = {}
        self._many: list[K] = []
        self._index: RunIndex | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: K, text: str) -> None:
        """Add a text under a new key. A text without letters and digits matches nothing."""
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
            self._index = RunIndex(self.threshold)
            for index in self._same:
                self._index.add(index)
            self._many = list(self._same.values())
            self._few.clear()
            return
        self._index.add(kept)
        self._many.append(key)

    def find(self, text: str) -> tuple[K, float] | None:
        """Return the key of the most similar matching text and the overlap; the first added of several. None if nothing
        matches."""
        return max(self.all_like(text), key=lambda match: match[1], default=None)

    def all_like(self, text: str) -> Iterator[tuple[K, float]]:
        """Yield the keys of the matching texts, in the order of addition, with the overlap of each. Texts that differ
        only in case, spaces and punctuation are represented by the first."""
        kept = letters_and_digits(text)
        if not kept:
            return
        if self._index is not None:
            yield from ((self._many[place], shared) for place, shared in self._index.like(kept))
            return
        runs = _runs(kept)
        for key, theirs in self._few.items():
            few, many = sorted((len(runs), len(theirs)))
            if few / many < self.threshold:
                continue  # they share too little, whatever they hold
            shared = jaccard_overlap(runs, theirs)
            if shared >= self.threshold:
                yield key, shared


# Nearly verbatim copies

Key = TypeVar("Key", bound=Hashable)

NEAR_COPY_OVERLAP = 0.9
"""Overlap from which two texts are nearly verbatim copies."""
LONG = 40
"""Letters and digits from which a near copy is not an accident; a shorter text must be identical."""
FEW = 32
"""Number of texts up to which all are compared directly."""
SKETCH_SIZE = 12
"""Number of smallest hashes that represent a text."""
MIN_SHARED_HASHES = 8
"""Number of these hashes that two texts must share to be compared; with an overlap of `NEAR_COPY_OVERLAP` they share
about eleven."""
MOST_SAME = 100
"""Largest number of identical texts in an answer."""


class NearCopies(Generic[Key]):
    """Index of texts by key, for nearly verbatim copies. Every match is confirmed by the exact overlap.

    >>> kept = NearCopies[str]()
    >>> kept.add("a", "Ann has twelve apples in a basket, and gives five of them to Ben. How many are left?")
    >>> kept.like("Ann has twelve apples in a basket and gives five of them to Ben. How many are left now?")
    ['a']
    >>> kept.like("Which planet is nearest to the sun?")
    []
    """

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._texts: list[str] = []
        self._same: dict[str, list[int]] = defaultdict(list)
        self._sketches: dict[int, list[int]] | None = None
        self._matches: dict[str, list[int]] = {}
        """What was found for a text."""
        self._codes: list[npt.NDArray[np.uint64]] = []

    def add(self, key: Key, text: str) -> None:
        """Add a text. A text without letters and digits matches nothing."""
        kept = letters_and_digits(text)
        if kept:
            self._same[kept].append(len(self._keys))
            self._keys.append(key)
            self._texts.append(kept)
            self._sketches = None
            self._matches.clear()

    def like(self, text: str) -> list[Key]:
        """Return the keys of the texts that are identical apart from case, spaces and punctuation, followed by those
        that are nearly so."""
        if text not in self._matches:
            kept = letters_and_digits(text)
            near = [place for place in self._near(kept) if self._texts[place] != kept] if len(kept) >= LONG else []
            self._matches[text] = [*self._same.get(kept, [])[:MOST_SAME], *near]
        return [self._keys[place] for place in self._matches[text]]

    def _near(self, kept: str) -> Iterator[int]:
        if len(self._texts) <= FEW:
            runs = runs_of(kept)
            yield from (
                place
                for place, text in enumerate(self._texts)
                if jaccard_overlap(runs, runs_of(text)) >= NEAR_COPY_OVERLAP
            )
            return
        import numpy as np

        sketches = self._built()
        codes = codes_of(kept)
        shared = Counter(place for least in _least(codes) for place in sketches.get(least, ()))
        for place in sorted(place for place, count in shared.items() if count >= min(MIN_SHARED_HASHES, len(codes))):
            common = len(np.intersect1d(codes, self._codes[place], assume_unique=True))
            if common >= NEAR_COPY_OVERLAP * (len(codes) + len(self._codes[place]) - common):
                yield place

    def _built(self) -> dict[int, list[int]]:
        """Texts by the smallest hashes of their runs."""
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
    least: list[int] = (
        np.partition(hashed, SKETCH_SIZE)[:SKETCH_SIZE].tolist() if len(hashed) > SKETCH_SIZE else hashed.tolist()
    )
    return least


# Held-out texts

HeldOutKey = TypeVar("HeldOutKey")


class HeldOutTexts(Generic[HeldOutKey]):
    """Index of the long texts of rows by key. Texts with fewer than `LONG` letters and digits are ignored: they may be
    equal by accident.

    >>> kept = HeldOutTexts[int]()
    >>> kept.add(1, {"talk": [{"speaker": "Ann", "text": "Why did you multiply the number of boxes by the crayons?"}]})
    >>> kept.find(["why did you multiply the number of boxes by the crayons"])
    1
    >>> kept.find(["Why?"])
    """

    def __init__(self) -> None:
        self._copies: NearCopies[int] = NearCopies()
        self._keys: list[HeldOutKey] = []
        self._texts: list[str] = []
        self._checked: set[str] = set()

    def add(self, key: HeldOutKey, values: Mapping[str, Any]) -> None:
        """Add the texts of a row."""
        for text in texts_of_row(values):
            if text not in self._checked:  # several rows may have one problem
                self._checked.add(text)
                self._copies.add(len(self._keys), text)
                self._keys.append(key)
                self._texts.append(text)

    def find(self, texts: Iterable[str]) -> HeldOutKey | None:
        """Return the key of the first row with a near copy of one of these texts, or None."""
        text = self.text_of(texts)
        return None if text is None else text[0]

    def text_of(self, texts: Iterable[str]) -> tuple[HeldOutKey, str] | None:
        """Return the key of the first row with a near copy of one of these texts, and the text of the row; None if
        there is none."""
        for text in texts:
            if is_long(text) and (copy := self._copies.like(text)):
                return self._keys[copy[0]], self._texts[copy[0]]
        return None


def is_long(text: str) -> bool:
    """Return true if a text is so long that a copy is not an accident."""
    return len(text) >= LONG and len(letters_and_digits(text)) >= LONG


def texts_of_row(value: Any) -> Iterator[str]:
    """Yield the long texts of a row, at any depth; for a dialogue the last turn, with which a reply competes.

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
        turns = bool(value) and all(isinstance(turn, Mapping) and set(turn) == {"speaker", "text"} for turn in value)
        for inner in value[-1:] if turns else value:
            yield from texts_of_row(inner)


def training_texts(pairing: Pairing, names: Mapping[str, Any]) -> list[str]:
    """Return the texts of a row that a training would learn: the values of its groups, and its replies. `names` has the
    row. Undefined values are omitted here and reported by the export."""
    texts: list[str] = []
    for group in pairing.groups:
        texts += _texts(group, names)
    for reply in pairing.replies:
        try:
            elements = [None] if reply.each is None else evaluate(reply.each, names)
            rows = [names if reply.each is None else {**names, str(reply.alias): one} for one in elements]
            kept = [row for row in rows if reply.when is None or evaluate(reply.when, row)]
        except (Unavailable, LookupError):
            continue
        for row in kept:
            texts += _texts(reply.text, row)
    return texts


def _texts(expr: Any, names: Mapping[str, Any]) -> list[str]:
    try:
        value = evaluate(expr, names)
    except (Unavailable, LookupError):
        return []
    return [value] if isinstance(value, str) else []
