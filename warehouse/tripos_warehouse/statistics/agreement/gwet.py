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
    (`quadratic`) for categories d apart of at most D. `categories` are those of the rubric, also the ones that nobody
    gave: they make agreement by chance less likely, and D greater (Gwet 2014, section 2.2, where q is the number of
    categories that a rater may choose). Without them those that were given count.

    The error is Gwet's of many raters (2008, section 4; 2014, chapter 5), and the interval Student's t over items.

    >>> raters = [[1, 1, 1, 1, 1, 1, 1, 2, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 2, 1]]
    >>> round(gwet_ac(raters).value, 4)
    0.7561
    """
    matrix, scale_values = _read(ratings, categories)
    used = np.unique(matrix[~np.isnan(matrix)])
    counts = np.stack([(matrix == each).sum(axis=0) for each in used], axis=1).astype(float).reshape(-1, len(used))
    counts = counts[counts.sum(axis=1) > 0]
    left_out, size = matrix.shape[1] - len(counts), len(scale_values)
    given = counts.sum(axis=1)
    several = given >= 2
    if not several.any():
        return StatisticResult.undefined("no item has two ratings", left_out=matrix.shape[1])
    n = len(counts)
    if size < 2:
        return StatisticResult.undefined("all ratings are the same: there is one category", n=n, left_out=left_out)
    span = float(scale_values[-1] - scale_values[0])
    weight = _weights(used, weights, span)
    agreeing = (counts * (counts @ weight - 1)).sum(axis=1)
    agreed = np.divide(agreeing, given * (given - 1), out=np.zeros(n), where=several)
    seen = float(agreed[several].mean())
    shares = counts / given[:, None]
    scale = _weight_of_all(scale_values, weights, span) / (size * (size - 1))
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


def _read(ratings: Ratings, categories: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Return the ratings, and all categories in their order, as numbers: themselves if they are such, else their
    places."""
    if categories is None:
        matrix = read_ratings(ratings)
        return matrix, np.unique(matrix[~np.isnan(matrix)])
    if not all(isinstance(each, int | float) for each in categories):
        return read_ratings(ratings, categories), np.arange(len(categories), dtype=np.float64)
    values = np.unique(np.array(categories, dtype=np.float64))
    matrix = read_ratings(ratings)
    strange = ~np.isin(matrix, values) & ~np.isnan(matrix)
    if len(values) < len(categories) or strange.any():
        read_ratings(ratings, categories)  # raises, and says which
    return matrix, values


def _weights(used: Floats, weights: Weights, span: float) -> Floats:
    """Return the weight of every two categories that were given, on a scale of the length `span`."""
    apart: Floats = np.abs(used[:, None] - used[None, :]) / max(span, 1e-300)
    match weights:
        case "none":
            return np.eye(len(used))
        case "linear":
            return np.subtract(1.0, apart)
        case "quadratic":
            return np.subtract(1.0, apart**2)
    raise ValueError(f"weights are none, linear or quadratic, not {weights!r}")


def _weight_of_all(values: Floats, weights: Weights, span: float) -> float:
    """Return the sum of the weights of every two of all categories, in order, without the table of them: a scale may
    have thousands of levels of which few were given."""
    size = len(values)
    if weights == "none":
        return float(size)
    if weights == "linear":  # Σ |a - b|: the k-th value is the greater one of k pairs, and the lesser one of the rest
        apart = 2 * float((values * (2 * np.arange(size) - size + 1)).sum()) / span
    else:
        apart = 2 * size * float(((values - values.mean()) ** 2).sum()) / span**2
    return size**2 - apart
