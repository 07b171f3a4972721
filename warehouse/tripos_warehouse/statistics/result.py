"""The result of a statistic: a value with its error, or the reason why there is none.

Quantiles and tails of the distributions that intervals and tests use, without the weight of `scipy.stats`.

Ratings as arrays: what raters gave to items, with holes where they gave nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tripos_compiler.source.data_classes import dataclass


@dataclass(frozen=True)
class StatisticResult:
    """A figure. Where it is undefined, `value` is `None` and `reason` says why; no field is ever NaN or infinite.

    `low` and `high` bound the interval. A value whose interval is undefined has a `reason` too, and no `low`.

    >>> StatisticResult(0.5, n=12).value, StatisticResult.undefined("no items").reason
    (0.5, 'no items')
    """

    value: float | None
    """The figure, in the unit that its function names."""
    reason: str | None = None
    """Why `value` is missing; or where it is there, why its interval is."""
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    statistic: float | None = None
    """What was tested: a t, z, χ² or F, as the function says."""
    df: float | None = None
    """Degrees of freedom of `statistic` and of the interval."""
    p: float | None = None
    """The p-value of `statistic`, two-sided unless the function says otherwise."""
    n: int = 0
    """The units that counted: items, pairs or rows, as the function says."""
    clusters: int | None = None
    """The independent groups that the units fall into."""
    left_out: int = 0
    """The units that did not count, since something in them is missing."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "standard_error", "statistic", "df", "p"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"`{name}` of a figure is {number}; what is undefined is None, with a reason")
        if self.value is None and self.reason is None:
            raise ValueError("a figure without a value needs a reason")

    @classmethod
    def undefined(cls, reason: str, *, n: int = 0, left_out: int = 0) -> Self:
        """Return a figure that has no value, and why."""
        return cls(None, reason, n=n, left_out=left_out)

    def without_interval(self, reason: str) -> Self:
        """Return the same figure without `low` and `high`, and why it has none."""
        return replace(self, low=None, high=None, reason=reason)


CONFIDENCE = 0.95
"""The confidence of the intervals of measures."""


def t_quantile(p: float | None, df: float | None) -> float | None:
    """Return the `p` quantile of Student's t with `df` degrees of freedom; `None` where `df` < 1 or one is missing.

    `scipy.special.stdtrit`, which inverts the incomplete beta function (DiDonato and Morris 1992).

    >>> round(t_quantile(0.975, 10), 3), t_quantile(0.975, 0)
    (2.228, None)
    """
    if p is None or df is None or not df >= 1:
        return None
    from scipy.special import stdtrit

    return float(stdtrit(df, p))


def t_tails(t: float, df: float) -> float:
    """Return the probability that Student's t with `df` degrees of freedom is as far from 0 as `t`, on either side.

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
    """Return the probability that a standard normal variable is as far from 0 as `z`, on either side.

    >>> round(z_tails(1.96), 3)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def two_sided(confidence: float) -> float:
    """Return the quantile at which an interval of `confidence` ends, so 0.975 for 0.95.

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
"""The cluster of each row; without, each is its own."""
Ratings = Sequence[Sequence[Any]] | npt.NDArray[Any]
"""A row a rater and a column an item; `None` or NaN where a rater gave no rating."""


def read_ratings(ratings: Ratings, categories: Sequence[Hashable] | None = None) -> Floats:
    """Return ratings as numbers of the shape (raters, items), NaN where one is missing.

    With `categories` a rating becomes its place in them, from 0. Without, ratings that are text become the places of
    what was seen, in alphabetical order. Raises `ValueError` for rows of different lengths, for a rating that is not
    in `categories`, and for infinities.

    >>> read_ratings([["good", None], ["bad", "good"]], ["bad", "good"]).tolist()
    [[1.0, nan], [0.0, 1.0]]
    """
    if isinstance(ratings, np.ndarray) and ratings.dtype.kind in "fiub" and categories is None:
        found = np.array(ratings, dtype=np.float64, ndmin=2)
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
        found = np.array(cells, dtype=np.float64).reshape(len(rows), -1)
    if found.ndim != 2:
        raise ValueError(f"ratings have the shape (raters, items), not {found.shape}")
    if np.isinf(found).any():
        raise ValueError("a rating is infinite")
    return found


def is_missing(rating: Any) -> bool:
    """Return true if there is no rating: `None` or NaN.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    return rating is None or (isinstance(rating, float | np.floating) and bool(np.isnan(rating)))


def _places(categories: Sequence[Hashable]) -> dict[Hashable, int]:
    places = {category: place for place, category in enumerate(categories)}
    if len(places) < len(categories):
        raise ValueError(f"a category is named twice: {list(categories)}")
    return places


def _place(rating: Any, places: dict[Hashable, int]) -> int | None:
    if is_missing(rating):
        return None
    if rating not in places:
        raise ValueError(f"the rating {rating!r} is none of the categories {list(places)}")
    return places[rating]


def complete_items(ratings: Floats) -> tuple[Floats, int]:
    """Return the items that every rater rated, and how many others there were.

    >>> matrix, left_out = complete_items(read_ratings([[1, 2, None], [1, 3, 3]]))
    >>> matrix.tolist(), left_out
    ([[1.0, 2.0], [1.0, 3.0]], 1)
    """
    whole = ~np.isnan(ratings).any(axis=0)
    return ratings[:, whole], int((~whole).sum())


def read_values(values: Values) -> Floats:
    """Return numbers as an array of one dimension, NaN for `None`. Raises `ValueError` for infinities.

    >>> read_values([1, None]).tolist()
    [1.0, nan]
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        found = values.astype(np.float64)
    else:
        found = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"values have one dimension, not the shape {found.shape}")
    if np.isinf(found).any():
        raise ValueError("a value is infinite")
    return found


def cluster_codes(clusters: Clusters, n: int) -> Ints:
    """Return a number from 0 for the cluster of each row, all numbers up to the last used; without clusters each row
    its own.

    Raises `ValueError` unless there are `n` of them.

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
    return np.array([seen.setdefault(each, len(seen)) for each in clusters], dtype=np.int64)


def rows_of(codes: Ints) -> list[Ints]:
    """Return the rows of each cluster, cluster by cluster.

    >>> [rows.tolist() for rows in rows_of(np.array([0, 1, 0]))]
    [[0, 2], [1]]
    """
    order = np.argsort(codes, kind="stable")
    return list(np.split(order, np.flatnonzero(np.diff(codes[order])) + 1))
