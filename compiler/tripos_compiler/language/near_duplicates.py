"""Near copies of one of many texts, and texts that are learned held against those that are kept out of learning.

The search is fast enough for every row at every compilation. Fields of two data sets have names of their own, so texts
are compared and not fields.

Near-duplicate texts: found by MinHash, confirmed by the overlap of their runs of characters.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.plan import Pairing
from tripos_compiler.replies.text import nfkc

if TYPE_CHECKING:
    import numpy as numpy_np
    import numpy.typing as typing_npt


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


Key = TypeVar("Key", bound=Hashable)

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


class NearCopies(Generic[Key]):
    """Texts under keys, of which copies are looked for. Every answer is confirmed by the true overlap.

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
        self._known: dict[str, list[int]] = {}
        """What was found for a text."""
        self._codes: list[typing_npt.NDArray[numpy_np.uint64]] = []

    def add(self, key: Key, text: str) -> None:
        """Keep a text. One without a letter or digit is like no other."""
        kept = letters_and_digits(text)
        if kept:
            self._same[kept].append(len(self._keys))
            self._keys.append(key)
            self._texts.append(kept)
            self._sketches = None
            self._known.clear()

    def like(self, text: str) -> list[Key]:
        """Return the keys of the texts that are the same, apart from case, spaces and punctuation, and then of those
        that are nearly so."""
        if text not in self._known:
            kept = letters_and_digits(text)
            near = [place for place in self._near(kept) if self._texts[place] != kept] if len(kept) >= LONG else []
            self._known[text] = [*self._same.get(kept, [])[:MOST_SAME], *near]
        return [self._keys[place] for place in self._known[text]]

    def _near(self, kept: str) -> Iterator[int]:
        if len(self._texts) <= FEW:
            runs = runs_of(kept)
            yield from (
                place for place, text in enumerate(self._texts) if jaccard_overlap(runs, runs_of(text)) >= NEARLY
            )
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


HeldOutKey = TypeVar("HeldOutKey")


class HeldOutTexts(Generic[HeldOutKey]):
    """The texts of rows under keys. A text counts from `LONG` letters and digits on: a shorter one may be the same by
    accident.

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
        self._seen: set[str] = set()

    def add(self, key: HeldOutKey, values: Mapping[str, Any]) -> None:
        """Keep the texts of a row."""
        for text in texts_of_row(values):
            if text not in self._seen:  # several rows may have one problem
                self._seen.add(text)
                self._copies.add(len(self._keys), text)
                self._keys.append(key)
                self._texts.append(text)

    def find(self, texts: Iterable[str]) -> HeldOutKey | None:
        """Return the key of the first row that has one of these texts, nearly word for word; None where none has."""
        found = self.text_of(texts)
        return None if found is None else found[0]

    def text_of(self, texts: Iterable[str]) -> tuple[HeldOutKey, str] | None:
        """Return the same, with the text that the row has."""
        for text in texts:
            if is_long(text) and (found := self._copies.like(text)):
                return self._keys[found[0]], self._texts[found[0]]
        return None


def is_long(text: str) -> bool:
    """Return true if a text is so long that a copy of it is no accident."""
    return len(text) >= LONG and len(letters_and_digits(text)) >= LONG


def texts_of_row(value: Any) -> Iterator[str]:
    """Yield the long texts of a row, at any depth; of a dialogue the last turn, which is what a reply has to beat.

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
        turns = bool(value) and all(isinstance(each, Mapping) and set(each) == {"speaker", "text"} for each in value)
        for inner in value[-1:] if turns else value:
            yield from texts_of_row(inner)


def learned_texts(pairing: Pairing, names: Mapping[str, Any]) -> list[str]:
    """Return what is learned of a row: the values that it is grouped by, and its replies; `names` has the row. What has
    no value is left out, and is reported where the export is made."""
    found: list[str] = []
    for group in pairing.groups:
        found += _texts(group, names)
    for reply in pairing.replies:
        try:
            each = [None] if reply.each is None else evaluate(reply.each, names)
            rows = [names if reply.each is None else {**names, str(reply.alias): one} for one in each]
            kept = [row for row in rows if reply.when is None or evaluate(reply.when, row)]
        except (Unavailable, LookupError):
            continue
        for row in kept:
            found += _texts(reply.text, row)
    return found


def _texts(expr: Any, names: Mapping[str, Any]) -> list[str]:
    try:
        value = evaluate(expr, names)
    except (Unavailable, LookupError):
        return []
    return [value] if isinstance(value, str) else []
