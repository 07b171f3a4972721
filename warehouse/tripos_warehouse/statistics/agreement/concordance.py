"""Agreement on ranks: Kendall's W of many raters, τ_b and ρ of two."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.quantiles import two_sided, z_quantile
from tripos_warehouse.statistics.ratings import Floats, Ints, Ratings, Values, complete_items, read_ratings, read_values


def kendall_w(ratings: Ratings) -> StatisticResult:
    """Kendall's W: how far raters put the items into one order, from 0 to 1, corrected for ties.

    `ratings` has a row a rater. An item that a rater left out is left out for all and counted in `left_out`. With m
    raters, n items, the squares S of the rank sums about their mean, and T = Σ (t³ − t) over the groups of t tied ranks
    of all raters, W = 12 S / (m² (n³ − n) − m T). `statistic` is χ² = m (n − 1) W with n − 1 degrees of freedom, and
    `p` that of raters who rank at random, close for 8 items or more (Kendall and Babington Smith 1939; Siegel and
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
        return StatisticResult.undefined("fewer than two raters", n=items, left_out=left_out)
    if items < 2:
        return StatisticResult.undefined("fewer than two items that every rater rated", n=items, left_out=left_out)
    [value] = w_without(matrix, np.full(items, -1), 1)
    if value is None:
        reason = "every rater ties all items: there is no order to agree on"
        return StatisticResult.undefined(reason, n=items, left_out=left_out)
    from scipy.special import chdtrc

    statistic = raters * (items - 1) * value
    p = float(chdtrc(items - 1, statistic))
    return StatisticResult(value, statistic=statistic, df=items - 1, p=p, n=items, left_out=left_out)


MOST_CUBED = 2_000_000
"""The cube of a greater number may not fit into 64 bits."""


def w_without(matrix: Floats, groups: Ints, count: int) -> list[float | None]:
    """Kendall's W of complete ratings, (raters, items), without the items of each of `count` groups, and without its
    test; None where every rater ties all items. An item in no group is always there.

    >>> ratings = np.array([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5.0]])
    >>> [round(w, 6) for w in w_without(ratings, np.array([1, -1, -1, -1, -1, 1]), 2)]
    [0.87415, 0.901235]
    """
    codes = np.stack([np.unique(row, return_inverse=True)[1] for row in matrix])
    # Items that all raters rated alike are one column, which counts as many times.
    columns = codes[0]
    for row in codes[1:]:
        columns = np.unique(columns * (int(row.max(initial=0)) + 1) + row, return_inverse=True)[1]
    _, first, columns = np.unique(columns, return_index=True, return_inverse=True)
    of_columns, whole = codes[:, first], np.bincount(columns, minlength=len(first))
    left = (whole - np.bincount(columns[groups == each], minlength=len(first)) for each in range(count))
    return [_w(of_columns, each) for each in left]


def _w(codes: Ints, counts: Ints) -> float | None:
    """Kendall's W of columns that count several times; `codes` has the places of the ratings among each rater's."""
    raters, items = len(codes), int(counts.sum())
    sums, ties = np.zeros(codes.shape[1]), 0
    for row in codes:
        # As `scipy.stats.rankdata`, whose import takes a second: equal values share the mean of their ranks.
        tied = np.bincount(row, counts).astype(np.int64)
        sums += (np.cumsum(tied) - (tied - 1) / 2)[row]
        ties += int((tied**3 - tied).sum()) if items <= MOST_CUBED else sum(each**3 - each for each in tied.tolist())
    most = raters**2 * (items**3 - items) - raters * ties
    squares = float((counts * (sums - raters * (items + 1) / 2) ** 2).sum())
    return None if most == 0 else min(1.0, 12 * squares / most)


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs.

    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    # As `scipy.stats.rankdata`, whose import takes a second.
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return found


def kendall_tau_b(first: Values, second: Values, *, confidence: float = 0.95) -> StatisticResult:
    """Kendall's τ_b of two raters: pairs of items in the same order less pairs in the opposite one, −1 to 1.

    The share is of the pairs that neither ties, by the geometric mean of the two raters' (Kendall 1945). Items that
    one of them left out do not count. `p` as `scipy.stats.kendalltau` has it, exact for few items without ties. The
    interval is on Fisher's scale, tanh(artanh τ ± z √(0.437 / (n − 4))) (Fieller, Hartley and Pearson 1957): good to
    |τ| < 0.8.

    >>> round(kendall_tau_b([1, 2, 3, 4, 5], [1, 3, 2, 4, 4]).value, 4)
    0.7379
    """
    from scipy.stats import kendalltau

    pair = _pair(first, second)
    if isinstance(pair, StatisticResult):
        return pair
    left, right, left_out = pair
    n = len(left)
    result = kendalltau(left, right)
    found = StatisticResult(_bounded(result.statistic), p=float(result.pvalue), n=n, left_out=left_out)
    return _fisher(found, math.sqrt(0.437 / (n - 4)) if n > 4 else None, 4, confidence)


def spearman_rho(first: Values, second: Values, *, confidence: float = 0.95) -> StatisticResult:
    """Spearman's ρ of two raters: the correlation of their ranks, −1 to 1; ties share their mean rank.

    Items that one of them left out do not count. `p` as `scipy.stats.spearmanr` has it. The interval is on Fisher's
    scale, tanh(artanh ρ ± z √((1 + ρ² / 2) / (n − 3))) (Bonett and Wright 2000).

    >>> rho = spearman_rho([1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 5, 6])
    >>> round(rho.value, 4), round(rho.low, 3), round(rho.high, 3)
    (0.9429, 0.383, 0.996)
    >>> spearman_rho([1, 1, 1], [1, 2, 3]).reason
    'a rater gave all items the same: there is no order'
    """
    from scipy.stats import spearmanr

    pair = _pair(first, second)
    if isinstance(pair, StatisticResult):
        return pair
    left, right, left_out = pair
    n = len(left)
    result = spearmanr(left, right)
    value = _bounded(result.statistic)
    # Of two items, ±1 is all there can be, and of no weight.
    p = float(result.pvalue) if math.isfinite(result.pvalue) else 1.0
    error = math.sqrt((1 + value**2 / 2) / (n - 3)) if n > 3 else None
    return _fisher(StatisticResult(value, p=p, n=n, left_out=left_out), error, 3, confidence)


def _pair(first: Values, second: Values) -> tuple[Floats, Floats, int] | StatisticResult:
    """Return the two raters' values of items that both rated, and how many others there were."""
    matrix, left_out = complete_items(np.array([read_values(first), read_values(second)]))
    n = matrix.shape[1]
    if n < 2:
        return StatisticResult.undefined("fewer than two items that both raters rated", n=n, left_out=left_out)
    if (matrix == matrix[:, :1]).all(axis=1).any():
        return StatisticResult.undefined("a rater gave all items the same: there is no order", n=n, left_out=left_out)
    return matrix[0], matrix[1], left_out


def _bounded(value: float) -> float:
    """Return a correlation without what rounding adds beyond ±1."""
    return max(-1.0, min(1.0, float(value)))


def _fisher(found: StatisticResult, error: float | None, least: int, confidence: float) -> StatisticResult:
    """Return the figure with the interval that its `error` on Fisher's scale gives."""
    z = z_quantile(two_sided(confidence))
    value = found.value or 0.0
    if error is None:
        return found.without_interval(f"an interval needs more than {least} items")
    if abs(value) > 1 - 1e-12:
        return found.without_interval("the orders are the same or opposite: nothing shows how far they may differ")
    middle = math.atanh(value)
    return replace(found, low=math.tanh(middle - z * error), high=math.tanh(middle + z * error))
