"""Reducers of Inspect: what becomes of the scores of an item's epochs before its metrics are taken.

A reducer that the language of measures can say is a measure of the spec; a figure of any other stays the log's own.
"""

from __future__ import annotations

import math
import re

MEAN = "mean"
_PLAIN = (MEAN, "max", "median")
_COUNTED = re.compile(r"(pass_at|pass_k|at_least)_([1-9][0-9]*)")


def is_reducer(name: str) -> bool:
    """Return true if a measure may say what a reducer of this name makes of true and false."""
    return name in _PLAIN or _COUNTED.fullmatch(name) is not None


def reduced_measure(score: str, reducer: str, *, truth: bool, samples: int) -> str | None:
    """Return the figure of a measure that is the mean of an item's reduced scores; None if no measure says that.
    `truth`: the score is true or false; `samples`: the replies to an item.

    >>> reduced_measure("match", "max", truth=True, samples=2)
    'mean(max(match) by item.id)'
    >>> reduced_measure("match", "pass_at_1", truth=True, samples=2)
    'pass_at(1, match)'
    >>> reduced_measure("match", "mode", truth=True, samples=2) is None
    True
    """
    if reducer == MEAN:
        return f"mean({score})"
    if reducer in _PLAIN:
        return f"mean({reducer}({score}) by item.id)"
    counted = _COUNTED.fullmatch(reducer)
    if counted is None or not truth:
        return None
    name, k = counted[1], int(counted[2])
    if name == "at_least":
        whole = f"pass_all({k}, {score})" if k == samples else None
        return f"mean(max({score}) by item.id)" if k == 1 else whole
    if k > samples:
        return None
    return f"pass_at({k}, {score})" if name == "pass_at" else f"pass_all({k}, {score})"


def reduced_value(reducer: str, right: int, count: int) -> float | None:
    """Return what a reducer makes of an item of which `right` of `count` scores are true; None if that is not known.

    >>> [reduced_value(name, 1, 2) for name in ("mean", "max", "median", "pass_at_1", "pass_k_2", "at_least_2", "mode")]
    [0.5, 1.0, 0.5, 0.5, 0.0, 0.0, None]
    """
    if reducer == MEAN:
        return right / count
    if reducer == "max":
        return float(right > 0)
    if reducer == "median":
        return 0.5 if 2 * right == count else float(2 * right > count)
    counted = _COUNTED.fullmatch(reducer)
    if counted is None:
        return None
    k = int(counted[2])
    if counted[1] == "at_least":
        return float(right >= k)
    if k > count:
        return None
    if counted[1] == "pass_at":
        return 1 - math.comb(count - right, k) / math.comb(count, k)
    return math.comb(right, k) / math.comb(count, k)
