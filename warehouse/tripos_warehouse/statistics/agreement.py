"""Agreement of raters: rank correlations, chance-corrected coefficients, and intraclass correlations.

Every coefficient takes one row per rater and one column per item. κ and rank correlations are of two raters; `pairwise`
averages such a statistic over all pairs. `over_items` gives any of them an interval over items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from tripos_warehouse.statistics.arrays import (
    Clusters,
    Floats,
    Ints,
    Ratings,
    Values,
    cluster_codes,
    complete_items,
    read_ratings,
    read_values,
    t_quantile,
    two_sided,
    z_quantile,
)
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import bootstrap, clopper_pearson, jackknife, mean

# Rank correlations


def kendall_w(ratings: Ratings) -> Estimate:
    """Return Kendall's W: how far raters agree on one order of the items, from 0 to 1, corrected for ties.

    `ratings` has one row per rater. An item without a rating by every rater is left out and counted in `left_out`. With
    m raters, n items, the squares S of the rank sums about their mean, and T = Σ (t³ − t) over the groups of t tied
    ranks of all raters, W = 12 S / (m² (n³ − n) − m T). `statistic` is χ² = m (n − 1) W with n − 1 degrees of freedom,
    and `p` tests raters who rank at random, accurate for 8 items or more (Kendall and Babington Smith 1939; Siegel and
    Castellan 1988).

    >>> w = kendall_w([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5]])
    >>> round(w.value, 6), round(w.statistic, 3), w.df, round(w.p, 4)
    (0.87415, 13.112, 5, 0.0223)
    >>> kendall_w([[1, 1], [1, 1]]).reason
    'every rater ties all items: there is no order to agree on'
    """
    matrix, left_out = complete_items(read_ratings(ratings))
    raters, items = matrix.shape
    if raters < 2:
        return Estimate.undefined("fewer than two raters", n=items, left_out=left_out)
    if items < 2:
        return Estimate.undefined("fewer than two items that every rater rated", n=items, left_out=left_out)
    [value] = kendall_w_without(matrix, np.full(items, -1), 1)
    if value is None:
        reason = "every rater ties all items: there is no order to agree on"
        return Estimate.undefined(reason, n=items, left_out=left_out)
    from scipy.special import chdtrc

    statistic = raters * (items - 1) * value
    p = float(chdtrc(items - 1, statistic))
    return Estimate(value, statistic=statistic, df=items - 1, p=p, n=items, left_out=left_out)


MOST_CUBED = 2_000_000
"""The cube of a greater number may not fit into 64 bits."""


def kendall_w_without(matrix: Floats, groups: Ints, count: int) -> list[float | None]:
    """Return Kendall's W of complete ratings of the shape (raters, items), once without the items of each of `count`
    groups; None if every rater ties all remaining items. Items with a negative group are never left out.

    >>> ratings = np.array([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5.0]])
    >>> [round(w, 6) for w in kendall_w_without(ratings, np.array([1, -1, -1, -1, -1, 1]), 2)]
    [0.87415, 0.901235]
    """
    codes = np.stack([np.unique(row, return_inverse=True)[1] for row in matrix])
    # Items with equal ratings by all raters are one column with a multiplicity.
    columns = codes[0]
    for row in codes[1:]:
        columns = np.unique(columns * (int(row.max(initial=0)) + 1) + row, return_inverse=True)[1]
    _, first, columns = np.unique(columns, return_index=True, return_inverse=True)
    distinct, counts = codes[:, first], np.bincount(columns, minlength=len(first))
    remaining = (counts - np.bincount(columns[groups == group], minlength=len(first)) for group in range(count))
    return [_w(distinct, remaining_counts) for remaining_counts in remaining]


def _w(codes: Ints, counts: Ints) -> float | None:
    """Return Kendall's W of columns with multiplicities `counts`. `codes` has a row per rater, with the index of each
    rating among that rater's distinct ratings in ascending order."""
    raters, items = len(codes), int(counts.sum())
    sums, ties = np.zeros(codes.shape[1]), 0
    for row in codes:
        # Like `scipy.stats.rankdata`, whose import takes a second: equal values share their mean rank.
        tied = np.bincount(row, counts).astype(np.int64)
        sums += (np.cumsum(tied) - (tied - 1) / 2)[row]
        ties += int((tied**3 - tied).sum()) if items <= MOST_CUBED else sum(size**3 - size for size in tied.tolist())
    maximum = raters**2 * (items**3 - items) - raters * ties
    squares = float((counts * (sums - raters * (items + 1) / 2) ** 2).sum())
    return None if maximum == 0 else min(1.0, 12 * squares / maximum)


def mid_ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values share their mean rank.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    # Like `scipy.stats.rankdata`, whose import takes a second.
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return found


def kendall_tau_b(first: Values, second: Values, *, confidence: float = 0.95) -> Estimate:
    """Return Kendall's τ_b of two raters, −1 to 1: the number of concordant pairs of items less that of discordant
    ones, divided by the geometric mean of the two raters' numbers of untied pairs (Kendall 1945).

    Items that one of them left out do not count. `p` is that of `scipy.stats.kendalltau`, exact for few items without
    ties. The interval is on Fisher's scale, tanh(artanh τ ± z √(0.437 / (n − 4))) (Fieller, Hartley and Pearson 1957):
    accurate for |τ| < 0.8.

    >>> round(kendall_tau_b([1, 2, 3, 4, 5], [1, 3, 2, 4, 4]).value, 4)
    0.7379
    """
    from scipy.stats import kendalltau

    pair = _pair(first, second)
    if isinstance(pair, Estimate):
        return pair
    first_ratings, second_ratings, left_out = pair
    n = len(first_ratings)
    result = kendalltau(first_ratings, second_ratings)
    estimate = Estimate(_bounded(result.statistic), p=float(result.pvalue), n=n, left_out=left_out)
    return _fisher(estimate, math.sqrt(0.437 / (n - 4)) if n > 4 else None, 4, confidence)


def spearman_rho(first: Values, second: Values, *, confidence: float = 0.95) -> Estimate:
    """Return Spearman's ρ of two raters: the correlation of their ranks, −1 to 1; ties share their mean rank.

    Items that one of them left out do not count. `p` is that of `scipy.stats.spearmanr`. The interval is on Fisher's
    scale, tanh(artanh ρ ± z √((1 + ρ² / 2) / (n − 3))) (Bonett and Wright 2000).

    >>> rho = spearman_rho([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 5, 6])
    >>> round(rho.value, 4), round(rho.low, 3), round(rho.high, 3)
    (0.9429, 0.383, 0.996)
    >>> spearman_rho([1, 1, 1], [1, 2, 3]).reason
    'a rater gave all items the same: there is no order'
    """
    from scipy.stats import spearmanr

    pair = _pair(first, second)
    if isinstance(pair, Estimate):
        return pair
    first_ratings, second_ratings, left_out = pair
    n = len(first_ratings)
    result = spearmanr(first_ratings, second_ratings)
    value = _bounded(result.statistic)
    # With two items the correlation is always ±1, and scipy's p-value is NaN.
    p = float(result.pvalue) if math.isfinite(result.pvalue) else 1.0
    error = math.sqrt((1 + value**2 / 2) / (n - 3)) if n > 3 else None
    return _fisher(Estimate(value, p=p, n=n, left_out=left_out), error, 3, confidence)


def _pair(first: Values, second: Values) -> tuple[Floats, Floats, int] | Estimate:
    """Return the values of both raters for items that both rated, and the number of other items."""
    matrix, left_out = complete_items(np.array([read_values(first), read_values(second)]))
    n = matrix.shape[1]
    if n < 2:
        return Estimate.undefined("fewer than two items that both raters rated", n=n, left_out=left_out)
    if (matrix == matrix[:, :1]).all(axis=1).any():
        return Estimate.undefined("a rater gave all items the same: there is no order", n=n, left_out=left_out)
    return matrix[0], matrix[1], left_out


def _bounded(value: float) -> float:
    """Return a correlation without rounding errors beyond ±1."""
    return max(-1.0, min(1.0, float(value)))


def _fisher(result: Estimate, error: float | None, too_few: int, confidence: float) -> Estimate:
    """Return a correlation with the interval from its standard error on Fisher's scale, which is None for `too_few`
    items or fewer."""
    z = z_quantile(two_sided(confidence))
    value = result.value or 0.0
    if error is None:
        return result.without_interval(f"an interval needs more than {too_few} items")
    if abs(value) > 1 - 1e-12:
        return result.without_interval("the orders are the same or opposite: nothing shows how far they may differ")
    middle = math.atanh(value)
    return replace(result, low=math.tanh(middle - z * error), high=math.tanh(middle + z * error))


# Agreement of categories

Weights = Literal["none", "linear", "quadratic"]


def cohen_kappa(
    first: Sequence[Any] | Floats,
    second: Sequence[Any] | Floats,
    weights: Weights = "none",
    categories: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return Cohen's κ of two raters: (p_o − p_e) / (1 − p_e), agreement beyond what their marginal frequencies give by
    chance.

    Weighted, two categories that are d of the K − 1 steps apart agree by 1 − d / (K − 1) (`linear`) or by 1 − (d / (K −
    1))² (`quadratic`). `categories` are those of the rubric, from low to high; by default, those in use, so that unused
    levels do not count as steps. Items that one rater left out do not count. The error is the asymptotic one of Fleiss,
    Cohen and Everitt (1969); the interval is κ ± z times it, cut at ±1 (Cohen 1960, 1968).

    >>> first, second = [1, 2, 3, 4, 5, 3, 2, 1, 4, 5], [1, 2, 3, 3, 5, 4, 2, 2, 4, 4]
    >>> [round(cohen_kappa(first, second, weights).value, 6) for weights in ("none", "linear", "quadratic")]
    [0.5, 0.72973, 0.882353]
    >>> cohen_kappa(["a", "a"], ["a", "a"]).reason
    'both raters gave one and the same category: agreement by chance is certain'
    """
    both: Ratings = [list(first), list(second)]
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and len(first) == len(second):
        both = np.stack([first, second])  # one array, which is faster to read than numbers
    matrix, left_out = complete_items(read_ratings(both, categories))
    n = matrix.shape[1]
    if n == 0:
        return Estimate.undefined("no item that both raters rated", left_out=left_out)
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
        return Estimate.undefined(reason, n=n, left_out=left_out)
    observed = float((table * agreeing).sum())
    value = (observed - by_chance) / (1 - by_chance)
    influences = agreeing - ((agreeing @ columns)[:, None] + (rows @ agreeing)[None, :]) * (1 - value)
    variance = float((table * influences**2).sum()) - (value - by_chance * (1 - value)) ** 2
    result = Estimate(value, n=n, left_out=left_out)
    if variance <= 1e-14:
        return result.without_interval("the raters agree, or differ, throughout: nothing shows how far κ may vary")
    error = math.sqrt(variance / n) / (1 - by_chance)
    half_width = z_quantile(two_sided(confidence)) * error
    low, high = max(-1.0, value - half_width), min(1.0, value + half_width)
    return Estimate(value, low=low, high=high, standard_error=error, n=n, left_out=left_out)


def _agreement(size: int, weights: Weights) -> Floats:
    """Return the agreement of every two categories, from 0 to 1, by their indices."""
    places = np.arange(size)
    distances: Floats = np.abs(places[:, None] - places[None, :]) / max(1, size - 1)
    match weights:
        case "none":
            return np.eye(size)
        case "linear":
            return np.subtract(1.0, distances)
        case "quadratic":
            return np.subtract(1.0, distances**2)
    raise ValueError(f"weights are none, linear or quadratic, not {weights!r}")


def percent_agreement(ratings: Ratings, *, tolerance: float = 0.0, confidence: float = 0.95) -> Estimate:
    """Return the share of pairs of raters that give an item the same rating, or one within `tolerance`: 0 to 1.

    `ratings` has one row per rater, text or numbers. Every item with two ratings or more counts, as the mean over its
    pairs, so an item with many ratings weighs no more. The interval is the exact one for two raters, and that of a
    `bounded` mean over items for more. There is no correction for chance, unlike in κ and α.

    >>> round(percent_agreement([[1, 2, 3, None], [1, 2, 2, 1], [1, 3, 2, 1]]).value, 4)
    0.6667
    """
    matrix = read_ratings(ratings)
    ratings_per_item = (~np.isnan(matrix)).sum(axis=0)
    counted = ratings_per_item >= 2
    left_out = int((~counted).sum())
    if not counted.any():
        return Estimate.undefined("no item has two ratings", left_out=left_out)
    equal = np.zeros(matrix.shape[1])
    for rater in range(len(matrix)):
        equal += (np.abs(matrix[rater + 1 :] - matrix[rater]) <= tolerance + 1e-12).sum(axis=0)
    shares = (equal / np.maximum(1, ratings_per_item * (ratings_per_item - 1) / 2))[counted]
    if len(matrix) == 2:
        result = clopper_pearson(round(float(shares.sum())), len(shares), confidence=confidence)
    else:
        result = mean(shares, confidence=confidence, ends=(0.0, 1.0))
    return _share(result, left_out)


def _share(result: Estimate, left_out: int) -> Estimate:
    """Return a share with its interval, but without the test and the number of clusters."""
    low, high, error = result.low, result.high, result.standard_error
    return Estimate(
        result.value, result.reason, low=low, high=high, standard_error=error, n=result.n, left_out=left_out
    )


def gwet_ac(
    ratings: Ratings,
    weights: Weights = "none",
    categories: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Estimate:
    """Return Gwet's AC1, (p_a − p_e) / (1 − p_e), of any number of raters, with missing ratings; weighted it is his
    AC2.

    `ratings` has one row per rater. p_a is the probability that two raters of an item agree, over items with two
    ratings or more. Chance agreement is limited to raters who guess: p_e = Σ π (1 − π) / (q − 1), with the share π of
    each of q categories; with weights w, this is multiplied by Σ w / q. So if nearly all items are of one class, where
    κ is near 0 in spite of high agreement, AC1 stays near p_a. The weight of two numbers at a distance d is 1 − d / D
    (`linear`) or 1 − (d / D)² (`quadratic`), with D the greatest distance of two categories. `categories` are those of
    the rubric, including unused ones, which make chance agreement less likely and D greater (Gwet 2014, section 2.2,
    where q is the number of categories that a rater may choose); by default, those in use.

    The error is Gwet's for many raters (2008, section 4; 2014, chapter 5), and the interval Student's t over items.

    >>> raters = [[1, 1, 1, 1, 1, 1, 1, 2, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 2, 1]]
    >>> round(gwet_ac(raters).value, 4)
    0.7561
    """
    matrix, scale_values = _read(ratings, categories)
    used = np.unique(matrix[~np.isnan(matrix)])
    if not len(used):
        return Estimate.undefined("no item has two ratings", left_out=matrix.shape[1])
    counts = np.stack([(matrix == value).sum(axis=0) for value in used], axis=1).astype(float).reshape(-1, len(used))
    counts = counts[counts.sum(axis=1) > 0]
    left_out, size = matrix.shape[1] - len(counts), len(scale_values)
    ratings_per_item = counts.sum(axis=1)
    several = ratings_per_item >= 2
    if not several.any():
        return Estimate.undefined("no item has two ratings", left_out=matrix.shape[1])
    n = len(counts)
    if size < 2:
        return Estimate.undefined("all ratings are the same: there is one category", n=n, left_out=left_out)
    span = float(scale_values[-1] - scale_values[0])
    weight = _weights(used, weights, span)
    agreeing = (counts * (counts @ weight - 1)).sum(axis=1)
    agreed = np.divide(agreeing, ratings_per_item * (ratings_per_item - 1), out=np.zeros(n), where=several)
    observed = float(agreed[several].mean())
    shares = counts / ratings_per_item[:, None]
    scale = _weight_of_all(scale_values, weights, span) / (size * (size - 1))
    prior = shares.mean(axis=0)
    chance = scale * float((prior * (1 - prior)).sum())
    value = (observed - chance) / (1 - chance)
    result = Estimate(value, n=n, left_out=left_out)
    if n < 2:
        return result.without_interval("one item says nothing about the error")
    agreement = np.where(several, n / several.sum() * (agreed - chance) / (1 - chance), 0.0)
    by_chance = scale * (shares * (1 - prior)).sum(axis=1)
    influences = agreement - 2 * (1 - value) * (by_chance - chance) / (1 - chance) - value
    error = math.sqrt(float((influences**2).sum()) / (n * (n - 1)))
    if error <= 1e-12:
        return result.without_interval("items do not differ: nothing shows the error")
    half_width = (t_quantile(two_sided(confidence), n - 1) or math.inf) * error
    low, high = max(-1.0, value - half_width), min(1.0, value + half_width)
    return Estimate(value, low=min(low, value), high=high, standard_error=error, df=n - 1, n=n, left_out=left_out)


def _read(ratings: Ratings, categories: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Return the ratings, and all categories in order, as numbers: themselves if they are numbers, otherwise their
    indices."""
    if categories is None:
        matrix = read_ratings(ratings)
        return matrix, np.unique(matrix[~np.isnan(matrix)])
    if not all(isinstance(category, int | float) for category in categories):
        return read_ratings(ratings, categories), np.arange(len(categories), dtype=np.float64)
    values = np.unique(np.array(categories, dtype=np.float64))
    matrix = read_ratings(ratings)
    is_unknown = ~np.isin(matrix, values) & ~np.isnan(matrix)
    if len(values) < len(categories) or is_unknown.any():
        read_ratings(ratings, categories)  # raises `ValueError` with the category or rating
    return matrix, values


def _weights(used: Floats, weights: Weights, span: float) -> Floats:
    """Return the weight of every two categories in use, on a scale of the length `span`."""
    distances: Floats = np.abs(used[:, None] - used[None, :]) / max(span, 1e-300)
    match weights:
        case "none":
            return np.eye(len(used))
        case "linear":
            return np.subtract(1.0, distances)
        case "quadratic":
            return np.subtract(1.0, distances**2)
    raise ValueError(f"weights are none, linear or quadratic, not {weights!r}")


def _weight_of_all(values: Floats, weights: Weights, span: float) -> float:
    """Return the sum of the weights of all pairs of categories, in ascending order, without computing their matrix: a
    scale may have thousands of levels, of which few are in use."""
    size = len(values)
    if weights == "none":
        return float(size)
    if weights == "linear":  # Σ |a - b|: the k-th value is the greater of k pairs, and the smaller of the others
        distances = 2 * float((values * (2 * np.arange(size) - size + 1)).sum()) / span
    else:
        distances = 2 * size * float(((values - values.mean()) ** 2).sum()) / span**2
    return size**2 - distances


# Intraclass correlations

Form = Literal["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"]


@dataclass(frozen=True)
class Squares:
    """The mean squares of an analysis of variance of `items` by `raters`, without repeats."""

    items: int
    raters: int
    between: float
    """Between items."""
    within: float
    """Within items."""
    judges: float
    """Between raters."""
    rest: float
    """Residual: what neither items nor raters explain."""

    @classmethod
    def of(cls, matrix: Floats) -> Squares:
        """Return the mean squares of complete ratings of the shape (raters, items)."""
        k, n = matrix.shape
        grand = matrix.mean()
        rows = k * float(((matrix.mean(axis=0) - grand) ** 2).sum())
        columns = n * float(((matrix.mean(axis=1) - grand) ** 2).sum())
        rest = float(((matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + grand) ** 2).sum())
        negligible = 1e-24 * float((matrix**2).sum())
        rows, columns, rest = (0.0 if square <= negligible else square for square in (rows, columns, rest))
        return cls(
            n, k, rows / (n - 1), (columns + rest) / (n * (k - 1)), columns / (k - 1), rest / ((n - 1) * (k - 1))
        )


def intraclass(
    ratings: Ratings, form: Form = "2,1", clusters: Clusters = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the intraclass correlation ICC(`form`) of Shrout and Fleiss (1979), with its F-based interval and test.

    `ratings` has one row per rater; only items that every rater rated count. The first part of the form is the design:
    `1` different raters for each item, `2` the same raters, drawn from a population (agreement), `3` these raters only
    (consistency, so a rater who is always strict does no harm). The second part is the unit: the reliability of one
    rating (`1`), or of the mean of all (`k`). `statistic` is the F of the test that ratings of an item are
    uncorrelated, `df` the degrees of freedom of its numerator. The maximum is 1; a negative value means that ratings of
    one item differ more than ratings of different items. Intervals are by McGraw and Wong (1996), who call the
    coefficients ICC(1), ICC(A,1), ICC(C,1), and likewise with k. The items of a cluster count as one item in the
    degrees of freedom, as if they were equal, so the interval is conservative.

    >>> judges = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> [round(intraclass(judges, form).value, 2) for form in ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    if form not in get_args(Form):
        raise ValueError(f"the form is one of {', '.join(get_args(Form))}, not {form!r}")
    all_ratings = read_ratings(ratings)
    matrix, left_out = complete_items(all_ratings)
    raters, items = matrix.shape
    codes = cluster_codes(clusters, all_ratings.shape[1])[~np.isnan(all_ratings).any(axis=0)]
    units = len(np.unique(codes))
    if raters < 2:
        return Estimate.undefined("fewer than two raters", n=items, left_out=left_out)
    if items < 2:
        return Estimate.undefined("fewer than two items that every rater rated", n=items, left_out=left_out)
    squares = Squares.of(matrix)
    model, of_one = form[0], form[2] == "1"
    error = squares.within if model == "1" else squares.rest
    shift = squares.judges - squares.rest if model == "2" else 0.0
    # Numerator and denominator of the coefficient are both multiplied by the number of raters.
    if of_one:
        total = squares.between + (raters - 1) * error + raters * shift / items
    else:
        total = squares.between + shift / items
    if squares.between == 0:
        return Estimate.undefined("the items do not differ in their mean rating", n=items, left_out=left_out)
    if total <= 0:
        return Estimate.undefined("the items differ less than the error allows", n=items, left_out=left_out)
    value = (squares.between - error) / total
    result = Estimate(value, n=items, clusters=units, left_out=left_out)
    if units < 2:
        return result.without_interval("one item says nothing about the error")
    if error == 0:
        return result.without_interval("the ratings leave no error to base an interval on")
    from scipy.special import fdtrc

    error_df = units * (raters - 1) if model == "1" else (units - 1) * (raters - 1)
    ratio = squares.between / error
    low, high = (
        _agreement_bounds(squares, units, confidence)
        if model == "2"
        else _bounds(ratio, units, error_df, raters, confidence)
    )
    p = float(fdtrc(units - 1, error_df, ratio))
    result = replace(result, statistic=ratio, df=units - 1, p=p)
    if of_one and not low <= value <= high:
        return result.without_interval("the approximation of the interval fails for so few ratings")
    if not of_one:
        if 1 + (raters - 1) * low <= 1e-9:
            return result.without_interval("the reliability of one rating may be so low that that of a mean has no end")
        low, high = (raters * bound / (1 + (raters - 1) * bound) for bound in (low, high))
        if not low <= value <= high:
            return result.without_interval("the approximation of the interval fails for so few ratings")
    return replace(result, low=low, high=high)


def _bounds(ratio: float, units: int, error_df: int, raters: int, confidence: float) -> tuple[float, float]:
    """Return the interval of the reliability of one rating by the designs `1` and `3`, from the F ratio."""
    from scipy.special import fdtri

    upper = two_sided(confidence)
    low = ratio / float(fdtri(units - 1, error_df, upper))
    high = ratio * float(fdtri(error_df, units - 1, upper))
    return (low - 1) / (low + raters - 1), (high - 1) / (high + raters - 1)


def _agreement_bounds(squares: Squares, units: int, confidence: float) -> tuple[float, float]:
    """Return the interval of the reliability of one rating by the design `2`, with Satterthwaite's degrees of freedom
    for `units` independent units."""
    from scipy.special import fdtri

    n, k = squares.items, squares.raters
    error = squares.rest
    total = squares.between + (k - 1) * error + k * (squares.judges - error) / n
    rho = (squares.between - error) / total
    weight = n * (1 + (k - 1) * rho) - k * rho
    f = squares.judges / error
    m = units
    df = (k - 1) * (m - 1) * (k * rho * f + weight) ** 2 / ((m - 1) * (k * rho * f) ** 2 + weight**2)
    upper = two_sided(confidence)
    f_low, f_high = float(fdtri(m - 1, df, upper)), float(fdtri(df, m - 1, upper))
    rest = k * squares.judges + (k * n - k - n) * error
    low = n * (squares.between - f_low * error) / (f_low * rest + n * squares.between)
    high = n * (f_high * squares.between - error) / (rest + n * f_high * squares.between)
    return low, high


# Rank correlations within items

AT_ONCE = 10_000
"""The number of items compared at a time: memory is quadratic in the replies of an item."""


@dataclass(frozen=True)
class TauByItem:
    """The statistic of `tau_by_item`: `figures` has a number per item, NaN if it is undefined for the item, and `value`
    is the mean of the others."""

    value: float | None
    figures: Floats
    reason: str | None = None
    """Why `value` is undefined."""


def tau_by_item(items: Sequence[Floats]) -> TauByItem:
    """Return (τ_b + 1) / 2 of every two raters over the replies to an item, averaged over pairs and then over items.

    Each of `items` is a matrix with a row per rater and a column per reply, with NaN if missing; a pair of raters uses
    the replies that both rated. τ_b (Kendall 1945) is undefined if one of the two gave all these replies the same
    score; such a pair is left out, and so is an item without any other pair. Random orders have the expectation 0.5,
    not 0. This is the statistic that arXiv:2505.16160 reports; it is not a coefficient of concordance such as Kendall's
    W.

    >>> one = np.array([[1, 2, 3, 4, 5], [2, 1, 3, 4, 5.0]])
    >>> other = np.array([[5, 4, 3, 2, 1], [1, 2, 3, 4, 5.0]])
    >>> tied = np.array([[3, 3, 3, 3, 3], [1, 2, 3, 4, 5.0]])
    >>> found = tau_by_item([one, other, tied])
    >>> round(found.value, 6), found.figures.round(6).tolist()
    (0.45, [0.9, 0.0, nan])
    """
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, ratings in enumerate(items):
        shapes.setdefault(ratings.shape, []).append(place)
    return stacked_tau_by_item(
        [(np.array(places), np.stack([items[place] for place in places])) for places in shapes.values()]
    )


def stacked_tau_by_item(stacks: Sequence[tuple[Ints, Floats]]) -> TauByItem:
    """Return `tau_by_item` of stacked items. A stack has the positions of items whose matrices have the same shape, and
    these matrices as one array of the shape (items, raters, replies).

    >>> one = np.array([[[1, 2, 3, 4, 5], [2, 1, 3, 4, 5.0]]])
    >>> stacked_tau_by_item([(np.array([1]), one), (np.array([0]), one[:, :, :1])]).figures.round(6).tolist()
    [nan, 0.9]
    """
    figures = np.full(sum(len(places) for places, _ in stacks), np.nan)
    for places, ratings in stacks:
        if ratings.shape[1] >= 2 and ratings.shape[2] >= 2:
            for start in range(0, len(places), AT_ONCE):
                figures[places[start : start + AT_ONCE]] = _figures(ratings[start : start + AT_ONCE])
    if np.isnan(figures).all():
        reason = "no item has replies that two raters put in an order" if len(figures) else "nothing has a value"
        return TauByItem(None, figures, reason)
    return TauByItem(float(np.nanmean(figures)), figures)


def _figures(ratings: Floats) -> Floats:
    """Return the statistic of each item, from an array of the shape (items, raters, replies)."""
    differences = np.sign(ratings[:, :, :, None] - ratings[:, :, None, :])
    taus = []
    for one, other in combinations(range(ratings.shape[1]), 2):
        first, second = differences[:, one], differences[:, other]
        both = ~np.isnan(first) & ~np.isnan(second)
        first, second = np.where(both, first, 0), np.where(both, second, 0)
        untied = np.sqrt((first**2).sum(axis=(1, 2)) * (second**2).sum(axis=(1, 2)))
        shared = (first * second).sum(axis=(1, 2))
        taus.append(np.divide(shared, untied, out=np.full(len(untied), np.nan), where=untied > 0))
    tau = np.stack(taus)
    defined = (~np.isnan(tau)).sum(axis=0)
    return np.where(defined > 0, (np.nansum(tau, axis=0) / np.maximum(defined, 1) + 1) / 2, np.nan)


# Intervals over items


def over_items(
    statistic: Callable[[Floats], Estimate],
    ratings: Ratings,
    clusters: Clusters = None,
    *,
    categories: Sequence[Hashable] | None = None,
    method: Literal["bca", "percentile", "jackknife"] = "bca",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Return an agreement coefficient with an interval for the population of items; the raters are fixed.

    `statistic` takes ratings of the shape (raters, items). Items are resampled or left out as columns; with `clusters`,
    the cluster of each item, whole clusters are. `n` and `left_out` are those of the statistic. The interval ends at 1
    at most, the maximum of all such coefficients.

    >>> from tripos_warehouse.statistics.agreement import krippendorff_alpha
    >>> raters = [[1, 2, 3, 4, 5, 2, 3, 4], [1, 2, 3, 4, 4, 2, 3, 5]]
    >>> found = over_items(krippendorff_alpha, raters, resamples=200)
    >>> round(found.value, 3), 0 < found.low < found.value < found.high
    (0.922, True)
    """
    matrix = read_ratings(ratings, categories)
    estimate = statistic(matrix)
    if estimate.value is None:
        return estimate

    def of(items: Ints) -> float | None:
        return statistic(matrix[:, items]).value

    options: dict[str, Any] = {"confidence": confidence}
    if method == "jackknife":
        result = jackknife(of, matrix.shape[1], clusters, **options)
    else:
        options |= {"method": method, "resamples": resamples, "seed": seed}
        result = bootstrap(of, matrix.shape[1], clusters, **options)
    return replace(
        estimate,
        reason=result.reason,
        low=result.low,
        high=None if result.high is None else min(1.0, result.high),
        standard_error=result.standard_error,
        clusters=result.clusters,
    )


# Krippendorff's α

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(
    ratings: Ratings, level: Level = "interval", categories: Sequence[Hashable] | None = None
) -> Estimate:
    """Return α = 1 − D_o / D_e, with D_o the mean disagreement of two ratings of the same item, and D_e that of any two
    ratings: 1 is perfect agreement, 0 that of chance.

    `ratings` has one row per rater. An item with fewer than two ratings does not count, and is in `left_out`; `n` is
    the number of items that count. `level` chooses the disagreement of two ratings, which is the square of a distance:
    for `nominal` it is 1 if they differ, for `ordinal` the number of ranks between them, for `interval` their
    difference, for `ratio` their difference divided by their sum. With `categories`, from low to high, a rating is its
    index in them (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    For an interval, pass this function to `over_items`.

    >>> raters = [[1, 2, 3, 3, 2], [1, 2, 3, 3, 2], [None, 3, 3, 3, 2]]
    >>> round(krippendorff_alpha(raters, "nominal").value, 4), round(krippendorff_alpha(raters, "ordinal").value, 4)
    (0.7797, 0.8231)
    >>> krippendorff_alpha([[2, 2], [2, 2]]).reason
    'all ratings are the same: agreement by chance is certain'
    """
    matrix = read_ratings(ratings, categories)
    counted = (~np.isnan(matrix)).sum(axis=0) >= 2
    left_out, n = int((~counted).sum()), int(counted.sum())
    items, raters = np.nonzero(~np.isnan(matrix[:, counted].T))
    values = matrix[:, counted].T[items, raters]
    if n == 0:
        return Estimate.undefined("no item has two ratings", left_out=left_out)
    if (values == values[0]).all():
        return Estimate.undefined("all ratings are the same: agreement by chance is certain", n=n, left_out=left_out)
    match level:
        case "nominal":
            observed, expected = _nominal(values, items)
        case "ordinal":
            # The number of ranks between two values, with half of their own, is the difference of their mid-ranks.
            observed, expected = _interval(mid_ranks(values), items)
        case "interval":
            observed, expected = _interval(values, items)
        case "ratio":
            if (values < 0).any():
                return Estimate.undefined("a ratio scale has no values below 0", n=n, left_out=left_out)
            observed, expected = _ratio(values, items)
    return Estimate(1 - (len(values) - 1) * observed / expected, n=n, left_out=left_out)


def _nominal(values: Floats, items: Ints) -> tuple[float, float]:
    """Return two sums of disagreements over ordered pairs of ratings: over pairs within items, each divided by its
    item's number of ratings less one; and over all pairs."""
    _, codes = np.unique(values, return_inverse=True)
    per_item = np.bincount(items)
    (pairs, counts) = np.unique(np.stack([items, codes]), axis=1, return_counts=True)
    equal = np.bincount(pairs[0], weights=counts.astype(np.float64) ** 2)
    totals = np.bincount(codes).astype(np.float64)
    return float(((per_item**2 - equal) / (per_item - 1)).sum()), float(len(values) ** 2 - totals @ totals)


def _interval(values: Floats, items: Ints) -> tuple[float, float]:
    """Return the two sums of `_nominal` for squared differences: over all ordered pairs of n values these add up to 2 n
    times the sum of squares about the mean."""
    per_item = np.bincount(items)
    means = np.bincount(items, weights=values) / per_item
    squares = np.bincount(items, weights=(values - means[items]) ** 2)
    total = float(((values - values.mean()) ** 2).sum())
    return float((2 * per_item * squares / (per_item - 1)).sum()), 2 * len(values) * total


def _ratio(values: Floats, items: Ints) -> tuple[float, float]:
    """Return the two sums of `_nominal` for a ratio scale, value by value, since they have no closed form."""
    levels, codes = np.unique(values, return_inverse=True)
    totals = np.bincount(codes).astype(np.float64)
    per_item = np.bincount(items)
    (pairs, counts) = np.unique(np.stack([items, codes]), axis=1, return_counts=True)
    expected = sum(float(totals[index] * (_ratios(levels[index], levels) @ totals)) for index in range(len(levels)))
    observed = 0.0
    ends = np.cumsum(np.bincount(pairs[0]))
    for item, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        item_levels, item_counts = levels[pairs[1, start:end]], counts[start:end]
        observed += float(item_counts @ _ratios(item_levels[:, None], item_levels) @ item_counts) / (per_item[item] - 1)
    return observed, expected


def _ratios(first: Floats, second: Floats) -> Floats:
    """Return the squared quotient of the difference and the sum of values; 0 for two zeros."""
    total = first + second
    return ((first - second) / np.where(total == 0, 1, total)) ** 2


# Means over pairs of raters


@dataclass(frozen=True)
class Pairwise:
    """The mean of a statistic over pairs of raters, and its value for each pair."""

    mean: Estimate
    """`n` is the number of pairs with a value, `left_out` that of pairs without."""
    pairs: dict[tuple[int, int], Estimate]
    """By the indices of the two raters, from 0."""


def pairwise(
    statistic: Callable[[Floats, Floats], Estimate],
    ratings: Ratings,
    categories: Sequence[Hashable] | None = None,
) -> Pairwise:
    """Return the mean of a statistic of two raters over all pairs of raters for which it is defined.

    `ratings` has one row per rater. With `categories` the statistic gets indices in them, from 0. For the interval of
    the mean, pass `lambda ratings: pairwise(…, ratings).mean` to `over_items`.

    >>> from tripos_warehouse.statistics.agreement import kendall_tau_b
    >>> found = pairwise(kendall_tau_b, [[1, 2, 3], [1, 3, 2], [2, 2, 2]])
    >>> round(found.mean.value, 3), found.mean.n, found.mean.left_out
    (0.333, 1, 2)
    >>> found.pairs[0, 2].reason
    'a rater gave all items the same: there is no order'
    """
    matrix = read_ratings(ratings, categories)
    pairs = {(a, b): statistic(matrix[a], matrix[b]) for a, b in combinations(range(len(matrix)), 2)}
    values = [pair.value for pair in pairs.values() if pair.value is not None]
    left_out = len(pairs) - len(values)
    if not pairs:
        return Pairwise(Estimate.undefined("fewer than two raters"), pairs)
    if not values:
        first = next(iter(pairs.values())).reason
        return Pairwise(Estimate.undefined(f"undefined for every pair of raters ({first})", left_out=left_out), pairs)
    return Pairwise(Estimate(sum(values) / len(values), n=len(values), left_out=left_out), pairs)
