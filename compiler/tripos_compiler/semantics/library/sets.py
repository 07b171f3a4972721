"""How far what was found agrees with what is true, as sets: for each item, a number from 0 to 1.

Two lists are compared as bags, in which an item that occurs twice counts twice; for sets, and lists without repeats,
that is the comparison of sets. Two empty ones agree fully, an empty one and another not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from tripos_compiler.semantics.library.kinds import K


def _shared(a: Collection[K], b: Collection[K]) -> int:
    return (Counter(a) & Counter(b)).total()


def _share(shared: float, whole: float, a: Collection[K], b: Collection[K]) -> float:
    return shared / whole if a and b else float(not a and not b)


def precision(answer: Collection[K], truth: Collection[K]) -> float:
    """The share of the items of an answer that are true, 0 to 1.

    Both empty: 1; one of them: 0. An item that a list has twice counts twice.

    >>> precision(["a", "b"], ["a", "c", "d"])
    0.5
    """
    return _share(_shared(answer, truth), len(answer), answer, truth)


def recall(answer: Collection[K], truth: Collection[K]) -> float:
    """The share of the true items that an answer has, 0 to 1.

    Both empty: 1; one of them: 0. An item that a list has twice counts twice.

    >>> recall(["a", "b"], ["a", "c", "d", "e"])
    0.25
    """
    return _share(_shared(answer, truth), len(truth), answer, truth)


def f1(answer: Collection[K], truth: Collection[K]) -> float:
    """The harmonic mean of precision and recall of an answer, 0 to 1.

    Both empty: 1; one of them: 0. An item that a list has twice counts twice.

    >>> f1(["a", "b"], ["a", "c"])
    0.5
    """
    return _share(2 * _shared(answer, truth), len(answer) + len(truth), answer, truth)


def jaccard(a: Collection[K], b: Collection[K]) -> float:
    """The number of shared items by that of all items (Jaccard, 1912), 0 to 1.

    Both empty: 1; one of them: 0. An item that a list has twice counts twice.

    >>> jaccard(["a", "b"], ["b", "c", "d"])
    0.25
    """
    shared = _shared(a, b)
    return _share(shared, len(a) + len(b) - shared, a, b)


def overlap(a: Collection[K], b: Collection[K]) -> float:
    """The number of shared items by that of the shorter list (Szymkiewicz and Simpson), 0 to 1.

    Both empty: 1; one of them: 0. An item that a list has twice counts twice.

    >>> overlap(["a", "b"], ["a", "b", "c", "d"])
    1.0
    """
    return _share(_shared(a, b), min(len(a), len(b)), a, b)
