"""The statistics of raters that a measure can be, each as a function of a matrix of ratings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from tripos_warehouse.statistics import Floats, Ints, StatisticResult
from tripos_warehouse.statistics.agreement import (
    Level,
    cohen_kappa,
    gwet_ac,
    kendall_tau_b,
    kendall_w,
    krippendorff_alpha,
    mid_ranks,
    pairwise,
    w_without,
)

COMPLETE = frozenset({"kendall_w"})
"""What takes only subjects that every rater rated."""

WITH_SINGLES = frozenset({"gwet_ac1", "gwet_ac2"})
"""What looks at subjects with one rating too, for how often each category is given."""


def find_statistic(what: str, level: str, ratings: Floats, categories: Floats | None = None) -> StatisticResult:
    """Return the statistic `what` of `ratings`, a row a rater and a column a subject, NaN where one is missing. Of two
    raters at a time it is the mean over the pairs. `level` is that of Krippendorff's α, and `categories` are those of
    Gwet's coefficients; without them the ones that were given.

    >>> ratings = np.array([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5.0]])
    >>> round(find_statistic("kendall_w", "", ratings).value, 6)
    0.87415
    """
    if what in WITH_SINGLES:
        every = None if categories is None else categories.tolist()
        return gwet_ac(ratings, "none" if what == "gwet_ac1" else "quadratic", every)
    return _STATISTICS[what](ratings, level)


def find_values(
    what: str, level: str, ratings: Floats, groups: Ints, count: int, categories: Floats | None = None
) -> list[float | None]:
    """Return the value of `find_statistic` without the subjects of each of `count` groups; of W without its test, which
    the jackknife has no use for."""
    if what == "kendall_w":
        return w_without(ratings, groups, count)
    if what in WITH_SINGLES and categories is None:  # a category that some items carry alone is one all the same
        categories = np.unique(ratings[~np.isnan(ratings)])
    if what in WITH_SINGLES:
        return [find_statistic(what, level, ratings[:, groups != each], categories).value for each in range(count)]
    return [find_statistic(what, level, ratings[:, groups != each]).value for each in range(count)]


def _unweighted_kappa(one: Floats, other: Floats) -> StatisticResult:
    return cohen_kappa(one, other)


def _rho(one: Floats, other: Floats) -> StatisticResult:
    """Spearman's ρ as the correlation of ranks, without the test and the interval of `spearman_rho`, which take longer
    than it does: of many items it is computed many times."""
    both = ~(np.isnan(one) | np.isnan(other))
    n = int(both.sum())
    if n < 2:
        return StatisticResult.undefined("fewer than two items that both raters rated", n=n)
    a, b = (ranks - (n + 1) / 2 for ranks in (mid_ranks(one[both]), mid_ranks(other[both])))
    squares = float(a @ a) * float(b @ b)
    if squares == 0:
        return StatisticResult.undefined("a rater gave all items the same: there is no order", n=n)
    return StatisticResult(max(-1.0, min(1.0, float(a @ b) / math.sqrt(squares))), n=n)


def _quadratic(ratings: Floats, level: str) -> StatisticResult:
    """κ by squares. The steps of a rubric are as far apart as their numbers, so κ is the same whether or not somebody
    gave all of them: 1 - Σ (a - b)² n / Σ Σ (a - b)² over all pairs of a rating of the one and one of the other (Cohen,
    1968), and the denominator is n² (var a + var b + (mean a - mean b)²)."""

    def of_two(one: Floats, other: Floats) -> StatisticResult:
        both = ~(np.isnan(one) | np.isnan(other))
        a, b = one[both], other[both]
        if not len(a):
            return StatisticResult.undefined("no item that both raters rated")
        expected = float(a.var() + b.var() + (a.mean() - b.mean()) ** 2)
        if expected <= 1e-12 * float(np.abs(a).max()) ** 2:
            reason = "both raters gave one and the same category: agreement by chance is certain"
            return StatisticResult.undefined(reason, n=len(a))
        return StatisticResult(1 - float(((a - b) ** 2).mean()) / expected, n=len(a))

    return pairwise(of_two, ratings).mean


_STATISTICS: Mapping[str, Callable[[Floats, str], StatisticResult]] = {
    "kendall_w": lambda ratings, level: kendall_w(ratings),
    "krippendorff_alpha": lambda ratings, level: krippendorff_alpha(ratings, cast("Level", level)),
    "kendall_tau": lambda ratings, level: pairwise(kendall_tau_b, ratings).mean,
    "spearman": lambda ratings, level: pairwise(_rho, ratings).mean,
    "cohen_kappa": lambda ratings, level: pairwise(_unweighted_kappa, ratings).mean,
    "quadratic_kappa": _quadratic,
}
