"""Krippendorff's α: the agreement of any number of raters beyond chance, with holes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from tripos_warehouse.statistics.agreement.concordance import mid_ranks
from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.ratings import Floats, Ints, Ratings, read_ratings

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(
    ratings: Ratings, level: Level = "interval", categories: Sequence[Hashable] | None = None
) -> StatisticResult:
    """α = 1 − D_o / D_e, the disagreement within items over that of all ratings shuffled: 1 is agreement, 0 chance.

    `ratings` has a row a rater. An item with fewer than two ratings does not count, and is in `left_out`; `n` are the
    items that do. `level` says how far two ratings are apart: `nominal` 1 where they differ, `ordinal` the ranks
    between them, `interval` the difference, `ratio` the difference over the sum, squared each. With `categories`, from
    low to high, a rating is its place in them (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    For an interval, hand this function to `over_items`.

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
        return StatisticResult.undefined("no item has two ratings", left_out=left_out)
    if (values == values[0]).all():
        return StatisticResult.undefined(
            "all ratings are the same: agreement by chance is certain", n=n, left_out=left_out
        )
    match level:
        case "nominal":
            observed, expected = _nominal(values, items)
        case "ordinal":
            # The ranks that lie between two values, half their own, are the difference of their mid-ranks.
            observed, expected = _interval(mid_ranks(values), items)
        case "interval":
            observed, expected = _interval(values, items)
        case "ratio":
            if (values < 0).any():
                return StatisticResult.undefined("a ratio scale has no values below 0", n=n, left_out=left_out)
            observed, expected = _ratio(values, items)
    return StatisticResult(1 - (len(values) - 1) * observed / expected, n=n, left_out=left_out)


def _nominal(values: Floats, items: Ints) -> tuple[float, float]:
    """Return the distances of all pairs within items, each over its item's ratings less one; and of all pairs at
    all."""
    _, codes = np.unique(values, return_inverse=True)
    given = np.bincount(items)
    (pairs, counts) = np.unique(np.stack([items, codes]), axis=1, return_counts=True)
    same = np.bincount(pairs[0], weights=counts.astype(np.float64) ** 2)
    every = np.bincount(codes).astype(np.float64)
    return float(((given**2 - same) / (given - 1)).sum()), float(len(values) ** 2 - every @ every)


def _interval(values: Floats, items: Ints) -> tuple[float, float]:
    """As `_nominal`; the squared distances of all pairs add up to 2 n times the squares about the mean."""
    given = np.bincount(items)
    means = np.bincount(items, weights=values) / given
    squares = np.bincount(items, weights=(values - means[items]) ** 2)
    total = float(((values - values.mean()) ** 2).sum())
    return float((2 * given * squares / (given - 1)).sum()), 2 * len(values) * total


def _ratio(values: Floats, items: Ints) -> tuple[float, float]:
    """As `_nominal`, value by value, as the distance has no sum in closed form."""
    levels, codes = np.unique(values, return_inverse=True)
    every = np.bincount(codes).astype(np.float64)
    given = np.bincount(items)
    (pairs, counts) = np.unique(np.stack([items, codes]), axis=1, return_counts=True)
    expected = sum(float(every[at] * (_ratios(levels[at], levels) @ every)) for at in range(len(levels)))
    observed = 0.0
    ends = np.cumsum(np.bincount(pairs[0]))
    for item, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        inside, times = levels[pairs[1, start:end]], counts[start:end]
        observed += float(times @ _ratios(inside[:, None], inside) @ times) / (given[item] - 1)
    return observed, expected


def _ratios(first: Floats, second: Floats) -> Floats:
    total = first + second
    return ((first - second) / np.where(total == 0, 1, total)) ** 2
