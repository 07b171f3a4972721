"""Intraclass correlations: how much of the spread of ratings lies between the items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.quantiles import two_sided
from tripos_warehouse.statistics.ratings import (
    Clusters,
    Floats,
    Ratings,
    cluster_codes,
    complete_items,
    read_ratings,
)

Form = Literal["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"]


@dataclass(frozen=True)
class Squares:
    """The mean squares of an analysis of variance of `items` by `raters`, without repeats."""

    items: int
    raters: int
    between: float
    """Of the items."""
    within: float
    """Of ratings of the same item."""
    judges: float
    """Of the raters."""
    rest: float
    """Of what neither items nor raters explain."""

    @classmethod
    def of(cls, matrix: Floats) -> Squares:
        """Return those of complete ratings of the shape (raters, items)."""
        k, n = matrix.shape
        grand = matrix.mean()
        rows = k * float(((matrix.mean(axis=0) - grand) ** 2).sum())
        columns = n * float(((matrix.mean(axis=1) - grand) ** 2).sum())
        rest = float(((matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + grand) ** 2).sum())
        negligible = 1e-24 * float((matrix**2).sum())
        rows, columns, rest = (0.0 if each <= negligible else each for each in (rows, columns, rest))
        return cls(
            n, k, rows / (n - 1), (columns + rest) / (n * (k - 1)), columns / (k - 1), rest / ((n - 1) * (k - 1))
        )


def intraclass(
    ratings: Ratings, form: Form = "2,1", clusters: Clusters = None, *, confidence: float = 0.95
) -> StatisticResult:
    """Return the intraclass correlation ICC(`form`) of Shrout and Fleiss (1979), with its F-based interval and test.

    `ratings` has a row a rater; only items that every rater rated count. The first figure of the form says who rated:
    `1` other raters for each item, `2` the same, drawn from many like them (agreement), `3` these and no others
    (consistency, so a rater who is strict throughout does no harm). The second: how reliable is one rating (`1`), or
    the mean of all (`k`). `statistic` is the F against no correlation, `df` that of its numerator. 1 is the most; below
    0 ratings of one item differ more than those of several. Intervals by McGraw and Wong (1996), whose names are
    ICC(1), ICC(A,1), ICC(C,1), and so on with k. Items that belong to one of `clusters` count as one in the degrees of
    freedom, as if they were alike; so the interval is too long rather than too short.

    >>> judges = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> [round(intraclass(judges, form).value, 2) for form in ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    if form not in get_args(Form):
        raise ValueError(f"the form is one of {', '.join(get_args(Form))}, not {form!r}")
    every = read_ratings(ratings)
    matrix, left_out = complete_items(every)
    raters, items = matrix.shape
    kept = cluster_codes(clusters, every.shape[1])[~np.isnan(every).any(axis=0)]
    units = len(np.unique(kept))
    if raters < 2:
        return StatisticResult.undefined("fewer than two raters", n=items, left_out=left_out)
    if items < 2:
        return StatisticResult.undefined("fewer than two items that every rater rated", n=items, left_out=left_out)
    squares = Squares.of(matrix)
    model, of_one = form[0], form[2] == "1"
    error = squares.within if model == "1" else squares.rest
    shift = squares.judges - squares.rest if model == "2" else 0.0
    if of_one:
        whole = squares.between + (raters - 1) * error + raters * shift / items
    else:
        whole = squares.between + shift / items
    if squares.between == 0:
        return StatisticResult.undefined("the items do not differ in their mean rating", n=items, left_out=left_out)
    if whole <= 0:
        return StatisticResult.undefined("the items differ less than the error allows", n=items, left_out=left_out)
    value = (squares.between - error) / whole
    found = StatisticResult(value, n=items, clusters=units, left_out=left_out)
    if units < 2:
        return found.without_interval("one item says nothing about the error")
    if error == 0:
        return found.without_interval("the ratings leave no error to base an interval on")
    from scipy.special import fdtrc

    free = units * (raters - 1) if model == "1" else (units - 1) * (raters - 1)
    ratio = squares.between / error
    low, high = (
        _agreement_bounds(squares, units, confidence)
        if model == "2"
        else _bounds(ratio, units, free, raters, confidence)
    )
    p = float(fdtrc(units - 1, free, ratio))
    found = replace(found, statistic=ratio, df=units - 1, p=p)
    if of_one and not low <= value <= high:
        return found.without_interval("the approximation of the interval fails for so few ratings")
    if not of_one:
        if 1 + (raters - 1) * low <= 1e-9:
            return found.without_interval("the reliability of one rating may be so low that that of a mean has no end")
        low, high = (raters * bound / (1 + (raters - 1) * bound) for bound in (low, high))
        if not low <= value <= high:
            return found.without_interval("the approximation of the interval fails for so few ratings")
    return replace(found, low=low, high=high)


def _bounds(ratio: float, items: int, free: int, raters: int, confidence: float) -> tuple[float, float]:
    """Return the interval of one rating, from the F ratio."""
    from scipy.special import fdtri

    upper = two_sided(confidence)
    low = ratio / float(fdtri(items - 1, free, upper))
    high = ratio * float(fdtri(free, items - 1, upper))
    return (low - 1) / (low + raters - 1), (high - 1) / (high + raters - 1)


def _agreement_bounds(squares: Squares, units: int, confidence: float) -> tuple[float, float]:
    """Return the interval of one rating by raters drawn from many; the degrees of freedom are Satterthwaite's, of so
    many independent `units`."""
    from scipy.special import fdtri

    n, k = squares.items, squares.raters
    error = squares.rest
    whole = squares.between + (k - 1) * error + k * (squares.judges - error) / n
    rho = (squares.between - error) / whole
    weight = n * (1 + (k - 1) * rho) - k * rho
    f = squares.judges / error
    m = units
    free = (k - 1) * (m - 1) * (k * rho * f + weight) ** 2 / ((m - 1) * (k * rho * f) ** 2 + weight**2)
    upper = two_sided(confidence)
    f_low, f_high = float(fdtri(m - 1, free, upper)), float(fdtri(free, m - 1, upper))
    rest = k * squares.judges + (k * n - k - n) * error
    low = n * (squares.between - f_low * error) / (f_low * rest + n * squares.between)
    high = n * (f_high * squares.between - error) / (rest + n * f_high * squares.between)
    return low, high
