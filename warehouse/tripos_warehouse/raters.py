"""The statistics of raters that a measure can be, each as a function of a matrix of ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from tripos_warehouse.statistics import Found
from tripos_warehouse.statistics.agreement import (
    cohen_kappa,
    kendall_tau_b,
    kendall_w,
    krippendorff_alpha,
    pairwise,
    spearman_rho,
)
from tripos_warehouse.statistics.concordance import w_of
from tripos_warehouse.statistics.krippendorff import Level
from tripos_warehouse.statistics.ratings import Floats

MOST_STEPS = 1000
"""Whole numbers that lie further apart are taken as they come, and not as the steps of a rubric."""

COMPLETE = frozenset({"kendall_w"})
"""What takes only subjects that every rater rated."""


def find_statistic(what: str, level: str, ratings: Floats) -> Found:
    """The statistic `what` of `ratings`, a row a rater and a column a subject, NaN where one is missing. Of two raters
    at a time it is the mean over the pairs. `level` is that of Krippendorff's α.

    >>> ratings = np.array([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5.0]])
    >>> round(find_statistic("kendall_w", "", ratings).value, 6)
    0.87415
    """
    return _STATISTICS[what](ratings, level)


def find_value(what: str, level: str, ratings: Floats) -> float | None:
    """The value of `find_statistic` alone; of W without its test, which the jackknife has no use for."""
    if what == "kendall_w" and ratings.shape[1] >= 2:
        return w_of(ratings)
    return find_statistic(what, level, ratings).value


def _plain(one: Floats, other: Floats) -> Found:
    return cohen_kappa(one.tolist(), other.tolist())


def _quadratic(ratings: Floats, level: str) -> Found:
    """κ by squares. Ratings that are whole numbers are the steps of a rubric, also those that nobody gave."""
    low, high = np.nanmin(ratings), np.nanmax(ratings)
    whole = bool(np.all(np.isnan(ratings) | (ratings == np.round(ratings)))) and high - low <= MOST_STEPS
    steps = [float(step) for step in range(int(low), int(high) + 1)] if whole else None

    def of_two(one: Any, other: Any) -> Found:
        given = [[None if np.isnan(rating) else float(rating) for rating in rater] for rater in (one, other)]
        return cohen_kappa(given[0], given[1], "quadratic", steps)

    return pairwise(of_two, ratings).mean


_STATISTICS: Mapping[str, Callable[[Floats, str], Found]] = {
    "kendall_w": lambda ratings, level: kendall_w(ratings),
    "krippendorff_alpha": lambda ratings, level: krippendorff_alpha(ratings, cast("Level", level)),
    "kendall_tau": lambda ratings, level: pairwise(kendall_tau_b, ratings).mean,
    "spearman": lambda ratings, level: pairwise(spearman_rho, ratings).mean,
    "cohen_kappa": lambda ratings, level: pairwise(_plain, ratings).mean,
    "quadratic_kappa": _quadratic,
}
