"""Arrays that statistics take: values, ratings and clusters; and quantiles of the normal and of Student's distribution.

Quantiles of z and t come from `scipy.special`, which loads faster than `scipy.stats`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.95
"""The confidence level of the intervals of measures."""


def t_quantile(p: float | None, df: float | None) -> float | None:
    """Return the `p` quantile of Student's t with `df` degrees of freedom; `None` if `df` < 1 or an argument is
    missing.

    `scipy.special.stdtrit` inverts the incomplete beta function (DiDonato and Morris 1992).

    >>> round(t_quantile(0.975, 10), 3), t_quantile(0.975, 0)
    (2.228, None)
    """
    if p is None or df is None or not df >= 1:
        return None
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def t_tails(t: float, df: float) -> float:
    """Return the two-sided p-value of `t` under Student's t with `df` degrees of freedom.

    >>> round(t_tails(2.228, 10), 3)
    0.05
    """
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def z_quantile(p: float) -> float:
    """Return the `p` quantile of the standard normal distribution.

    >>> round(z_quantile(0.975), 3)
    1.96
    """
    return NormalDist().inv_cdf(p)


def z_tails(z: float) -> float:
    """Return the two-sided p-value of `z` under the standard normal distribution.

    >>> round(z_tails(1.96), 3)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def two_sided(confidence: float) -> float:
    """Return the probability below the upper end of a two-sided interval of `confidence`, such as 0.975 for 0.95.

    Raises `ValueError` unless `confidence` lies between 0 and 1.

    >>> two_sided(0.95)
    0.975
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    return (1 + confidence) / 2


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Values = Sequence[float | None] | npt.NDArray[Any]
Clusters = Sequence[Hashable] | npt.NDArray[Any] | None
"""The cluster of each row; if None, each row is its own cluster."""
Ratings = Sequence[Sequence[Any]] | npt.NDArray[Any]
"""One row per rater and one column per item; `None` or NaN for a missing rating."""


def read_ratings(ratings: Ratings, categories: Sequence[Hashable] | None = None) -> Floats:
    """Return ratings as numbers of the shape (raters, items), NaN if missing.

    With `categories` a rating becomes its index in them. Without them, ratings that are text become indices of the
    distinct texts in alphabetical order. Raises `ValueError` for rows of different lengths, for a rating that is not in
    `categories`, and for infinities.

    >>> read_ratings([["good", None], ["bad", "good"]], ["bad", "good"]).tolist()
    [[1.0, nan], [0.0, 1.0]]
    """
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind in "fiub" and categories is None:
        matrix = np.array(ratings, dtype=np.float64, ndmin=2)
    else:
        rows = [list(row) for row in ratings]
        if len({len(row) for row in rows}) > 1:
            raise ValueError(f"raters have different numbers of items: {[len(row) for row in rows]}")
        if categories is None and any(isinstance(rating, str) for row in rows for rating in row):
            categories = sorted({str(rating) for row in rows for rating in row if not is_missing(rating)})
            rows = [[rating if is_missing(rating) else str(rating) for rating in row] for row in rows]
        if categories is not None:
            rows = [[_place(rating, places) for rating in row] for places in [_places(categories)] for row in rows]
        cells = [[np.nan if rating is None else float(rating) for rating in row] for row in rows]
        matrix = np.array(cells, dtype=np.float64).reshape(len(rows), -1)
    if matrix.ndim != 2:
        raise ValueError(f"ratings have the shape (raters, items), not {matrix.shape}")
    if np.isinf(matrix).any():
        raise ValueError("a rating is infinite")
    return matrix


def is_missing(rating: Any) -> bool:
    """Return true if a rating is `None` or NaN.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    return rating is None or (isinstance(rating, float | np.floating) and bool(np.isnan(rating)))


def _places(categories: Sequence[Hashable]) -> dict[Hashable, int]:
    """Return the index of each category. Raises `ValueError` if one is named twice."""
    places = {category: place for place, category in enumerate(categories)}
    if len(places) < len(categories):
        raise ValueError(f"a category is named twice: {list(categories)}")
    return places


def _place(rating: Any, places: dict[Hashable, int]) -> int | None:
    """Return the index of a rating; `None` if it is missing. Raises `ValueError` if it is not a category."""
    if is_missing(rating):
        return None
    if rating not in places:
        raise ValueError(f"the rating {rating!r} is none of the categories {list(places)}")
    return places[rating]


def complete_items(ratings: Floats) -> tuple[Floats, int]:
    """Return the items that every rater rated, and the number of other items.

    >>> matrix, left_out = complete_items(read_ratings([[1, 2, None], [1, 3, 3]]))
    >>> matrix.tolist(), left_out
    ([[1.0, 2.0], [1.0, 3.0]], 1)
    """
    complete = ~np.isnan(ratings).any(axis=0)
    return ratings[:, complete], int((~complete).sum())


def read_values(values: Values) -> Floats:
    """Return numbers as a one-dimensional array, NaN for `None`. Raises `ValueError` for infinities.

    >>> read_values([1, None]).tolist()
    [1.0, nan]
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        numbers = values.astype(np.float64)
    else:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"values have one dimension, not the shape {numbers.shape}")
    if np.isinf(numbers).any():
        raise ValueError("a value is infinite")
    return numbers


def cluster_codes(clusters: Clusters, n: int) -> Ints:
    """Return the code of the cluster of each row: integers from 0 without gaps. Without clusters, each row has its own.

    Raises `ValueError` unless there are `n` clusters.

    >>> cluster_codes(["b", "a", "b"], 3).tolist(), cluster_codes(None, 2).tolist()
    ([0, 1, 0], [0, 1])
    """
    if clusters is None:
        return np.arange(n, dtype=np.int64)
    if len(clusters) != n:
        raise ValueError(f"there are {n} rows and {len(clusters)} clusters")
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind in "iubU":
        return np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(cluster, len(seen)) for cluster in clusters], dtype=np.int64)


def rows_of(codes: Ints) -> list[Ints]:
    """Return the indices of the rows of each cluster, cluster by cluster.

    >>> [rows.tolist() for rows in rows_of(np.array([0, 1, 0]))]
    [[0, 2], [1]]
    """
    order = np.argsort(codes, kind="stable")
    return list(np.split(order, np.flatnonzero(np.diff(codes[order])) + 1))
