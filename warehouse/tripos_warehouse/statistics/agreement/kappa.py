"""Agreement in categories: Cohen's κ, plain and weighted, and the share of equal ratings."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import clopper_pearson, mean
from tripos_warehouse.statistics.quantiles import two_sided, z_quantile
from tripos_warehouse.statistics.ratings import Floats, Ratings, complete_items, read_ratings

Weights = Literal["none", "linear", "quadratic"]


def cohen_kappa(
    first: Sequence[Any] | Floats,
    second: Sequence[Any] | Floats,
    weights: Weights = "none",
    categories: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> StatisticResult:
    """Cohen's κ of two raters: (p_o − p_e) / (1 − p_e), agreement beyond what their habits would give by chance.

    Weighted, two categories that lie d of the K − 1 steps apart agree by 1 − d / (K − 1) (`linear`) or by
    1 − (d / (K − 1))² (`quadratic`). `categories` are those of the rubric, from low to high; without, those that were
    used, in order, so that a level which nobody used is no step. Items that one rater left out do not count.
    The error is that of Fleiss, Cohen and Everitt (1969) for many items; the interval is κ ± z times it, cut at ±1
    (Cohen 1960, 1968).

    >>> first, second = [1, 2, 3, 4, 5, 3, 2, 1, 4, 5], [1, 2, 3, 3, 5, 4, 2, 2, 4, 4]
    >>> [round(cohen_kappa(first, second, weights).value, 6) for weights in ("none", "linear", "quadratic")]
    [0.5, 0.72973, 0.882353]
    >>> cohen_kappa(["a", "a"], ["a", "a"]).reason
    'both raters gave one and the same category: agreement by chance is certain'
    """
    both: Ratings = [list(first), list(second)]
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and len(first) == len(second):
        both = np.stack([first, second])  # is read whole, and not number by number
    matrix, left_out = complete_items(read_ratings(both, categories))
    n = matrix.shape[1]
    if n == 0:
        return StatisticResult.undefined("no item that both raters rated", left_out=left_out)
    if categories is None:
        used, places = np.unique(matrix, return_inverse=True)
        size, codes = len(used), places.reshape(2, n)
    else:
        size, codes = len(categories), matrix.astype(np.int64)
    table = np.zeros((size, size))
    np.add.at(table, (codes[0], codes[1]), 1 / n)
    agreeing = _agreement(size, weights)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    by_chance = float(rows @ agreeing @ columns)
    if (codes == codes[0, 0]).all():
        reason = "both raters gave one and the same category: agreement by chance is certain"
        return StatisticResult.undefined(reason, n=n, left_out=left_out)
    observed = float((table * agreeing).sum())
    value = (observed - by_chance) / (1 - by_chance)
    pulls = agreeing - ((agreeing @ columns)[:, None] + (rows @ agreeing)[None, :]) * (1 - value)
    variance = float((table * pulls**2).sum()) - (value - by_chance * (1 - value)) ** 2
    found = StatisticResult(value, n=n, left_out=left_out)
    if variance <= 1e-14:
        return found.without_interval("the raters agree, or differ, throughout: nothing shows how far κ may vary")
    error = math.sqrt(variance / n) / (1 - by_chance)
    half = z_quantile(two_sided(confidence)) * error
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return StatisticResult(value, low=low, high=high, standard_error=error, n=n, left_out=left_out)


def _agreement(size: int, weights: Weights) -> Floats:
    """Return how far two categories agree, from 0 to 1, by their places."""
    places = np.arange(size)
    apart: Floats = np.abs(places[:, None] - places[None, :]) / max(1, size - 1)
    match weights:
        case "none":
            return np.eye(size)
        case "linear":
            return np.subtract(1.0, apart)
        case "quadratic":
            return np.subtract(1.0, apart**2)
    raise ValueError(f"weights are none, linear or quadratic, not {weights!r}")


def percent_agreement(ratings: Ratings, *, tolerance: float = 0.0, confidence: float = 0.95) -> StatisticResult:
    """The share of pairs of raters that give an item the same rating, or one no further off than `tolerance`: 0 to 1.

    `ratings` has a row a rater, text or numbers. Every item with two ratings or more counts, as the mean over its
    pairs, so that an item which many rated weighs no more. Two raters have the interval of Wilson, more of them that of
    Student's t over items, cut at 0 and 1. Chance is not taken off: see κ and α for that.

    >>> round(percent_agreement([[1, 2, 3, None], [1, 2, 2, 1], [1, 3, 2, 1]]).value, 4)
    0.6667
    """
    matrix = read_ratings(ratings)
    given = (~np.isnan(matrix)).sum(axis=0)
    counted = given >= 2
    left_out = int((~counted).sum())
    if not counted.any():
        return StatisticResult.undefined("no item has two ratings", left_out=left_out)
    equal = np.zeros(matrix.shape[1])
    for rater in range(len(matrix)):
        equal += (np.abs(matrix[rater + 1 :] - matrix[rater]) <= tolerance + 1e-12).sum(axis=0)
    shares = (equal / np.maximum(1, given * (given - 1) / 2))[counted]
    if len(matrix) == 2:
        found = clopper_pearson(round(float(shares.sum())), len(shares), confidence=confidence)
    else:
        found = mean(shares, confidence=confidence, ends=(0.0, 1.0))
    return _share(found, left_out)


def _share(found: StatisticResult, left_out: int) -> StatisticResult:
    """A share, which nothing was tested of."""
    low, high, error = found.low, found.high, found.standard_error
    return StatisticResult(
        found.value, found.reason, low=low, high=high, standard_error=error, n=found.n, left_out=left_out
    )
