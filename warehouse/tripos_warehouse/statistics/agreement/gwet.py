"""Agreement beyond chance by Gwet: AC1 of classes, and AC2 of levels that are more or less apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from tripos_warehouse.statistics.agreement.kappa import Weights
from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.quantiles import t_quantile, two_sided
from tripos_warehouse.statistics.ratings import Floats, Ratings, read_ratings


def gwet_ac(
    ratings: Ratings,
    weights: Weights = "none",
    categories: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> StatisticResult:
    """Gwet's AC1, (p_a − p_e) / (1 − p_e), of any number of raters, with holes; weighted it is his AC2.

    `ratings` has a row a rater. p_a is the chance that two raters of an item agree, over items with two ratings or
    more. By chance only those agree who do not know, of whom p_e = Σ π (1 − π) / (q − 1) do, with the share π of each
    of q categories; times Σ w / q with weights w. So where nearly all items are of one class, and κ says that agreement
    is worth nothing, AC1 stays near p_a. Weights are those of numbers, 1 − d / D (`linear`) or 1 − (d / D)²
    (`quadratic`) for categories d apart of at most D; `categories` are those of the rubric, without them those that
    were used.

    The error is Gwet's of many raters (2008, section 4; 2014, chapter 5), and the interval Student's t over items.

    >>> raters = [[1, 1, 1, 1, 1, 1, 1, 2, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 2, 1]]
    >>> round(gwet_ac(raters).value, 4)
    0.7561
    """
    matrix = read_ratings(ratings, categories)
    there = ~np.isnan(matrix)
    used = np.unique(matrix[there]) if categories is None else np.arange(len(categories), dtype=float)
    counts = np.stack([(matrix == each).sum(axis=0) for each in used], axis=1).astype(float).reshape(-1, len(used))
    counts = counts[counts.sum(axis=1) > 0]
    left_out, size = matrix.shape[1] - len(counts), len(used)
    given = counts.sum(axis=1)
    several = given >= 2
    if not several.any():
        return StatisticResult.undefined("no item has two ratings", left_out=matrix.shape[1])
    n = len(counts)
    if size < 2:
        return StatisticResult.undefined("all ratings are the same: there is one category", n=n, left_out=left_out)
    weight = _weights(_levels(used, categories), weights)
    agreeing = (counts * (counts @ weight - 1)).sum(axis=1)
    agreed = np.divide(agreeing, given * (given - 1), out=np.zeros(n), where=several)
    seen = float(agreed[several].mean())
    shares = counts / given[:, None]
    scale = float(weight.sum()) / (size * (size - 1))
    prior = shares.mean(axis=0)
    chance = scale * float((prior * (1 - prior)).sum())
    value = (seen - chance) / (1 - chance)
    found = StatisticResult(value, n=n, left_out=left_out)
    if n < 2:
        return found.without_interval("one item says nothing about the error")
    own = np.where(several, n / several.sum() * (agreed - chance) / (1 - chance), 0.0)
    by_chance = scale * (shares * (1 - prior)).sum(axis=1)
    pulls = own - 2 * (1 - value) * (by_chance - chance) / (1 - chance) - value
    error = math.sqrt(float((pulls**2).sum()) / (n * (n - 1)))
    if error <= 1e-12:
        return found.without_interval("items do not differ: nothing shows the error")
    reach = (t_quantile(two_sided(confidence), n - 1) or math.inf) * error
    low, high = max(-1.0, value - reach), min(1.0, value + reach)
    return StatisticResult(
        value, low=min(low, value), high=high, standard_error=error, df=n - 1, n=n, left_out=left_out
    )


def _levels(used: Floats, categories: Sequence[Hashable] | None) -> Floats:
    """Return the categories as numbers: themselves where they are such, else their places."""
    if categories is not None and all(isinstance(each, int | float) for each in categories):
        return np.array(categories, dtype=np.float64)
    return used


def _weights(used: Floats, weights: str) -> Floats:
    apart: Floats = np.abs(used[:, None] - used[None, :]) / max(float(used.max() - used.min()), 1e-300)
    match weights:
        case "none":
            return np.eye(len(used))
        case "linear":
            return np.subtract(1.0, apart)
        case "quadratic":
            return np.subtract(1.0, apart**2)
    raise ValueError(f"weights are none, linear or quadratic, not {weights!r}")
