"""Near copies of one of many texts, and texts that are learned held against those that are kept out of learning.

The search is fast enough for every row at every compilation. Fields of two data sets have names of their own, so texts
are compared and not fields.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tripos_compiler.language.contamination.near_duplicates import (
    codes_of,
    jaccard_overlap,
    letters_and_digits,
    runs_of,
)
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.plan import Pairing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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
_SPREADS = 0x9E3779B97F4A7C15


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
        self._codes: list[npt.NDArray[np.uint64]] = []

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
