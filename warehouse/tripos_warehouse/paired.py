"""Paired comparisons: the mean of differences between two results, with an error that is clustered by item.

Of a cell of n differences d with weights w the mean is D = sum(w d) / sum(w). An item's pull on it is the sum over its
differences of w (d - D) / sum(w); the variance of D is m / (m - 1) times the sum of squared pulls of its m items (Liang
and Zeger, 1986), with m - 1 degrees of freedom. A mean of cells counts every cell alike: an item's pulls are added up
over the cells that it is in, and divided by their number. With one cell, one difference an item and equal weights it is
the paired t test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tripos_warehouse.statistics import t_quantile

Floats = Sequence[float] | NDArray[np.float64]

CONFIDENCE = 0.95
ROUNDING = 1e-9
"""An error, or a difference, below this is what rounding leaves of none."""


@dataclass(frozen=True)
class Difference:
    """A mean difference: over `n` pairs of `items` items, with its standard error, 95 % interval and two-sided p value.

    Error, interval and p are `None` where there is one item only, or all differences are alike: that is no measure of
    an error. `df` are the degrees of freedom.
    """

    mean: float
    standard_error: float | None
    low: float | None
    high: float | None
    p: float | None
    df: int
    n: int
    items: int


def paired(
    items: Sequence[str],
    differences: Floats,
    cells: Sequence[object] | None = None,
    weights: Floats | None = None,
) -> Difference:
    """The mean of `differences`, one for each entry of `items`; with `cells` the mean of the means of cells.

    Raises `ValueError` without any difference.

    >>> found = paired(["a", "b", "c", "d"], [1.0, 2.0, 3.0, 2.0])
    >>> round(found.mean, 4), round(found.standard_error, 4), round(found.low, 4), round(found.p, 4)
    (2.0, 0.4082, 0.7008, 0.0163)
    """
    if not len(differences):
        raise ValueError("no pairs to compare")
    d: NDArray[np.float64] = np.asarray(differences, dtype=float)
    w = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=float)
    item, number = _numbered(items)
    cell, parts = _numbered([0] * len(d) if cells is None else cells)
    total = np.bincount(cell, w, parts)
    means = np.bincount(cell, w * d, parts) / total
    # A pull for every item of every cell.
    pair = cell * number + item
    places, where = np.unique(pair, return_inverse=True)
    pulls = np.bincount(where, w * (d - means[cell]) / total[cell])
    of_cell, of_item = places // number, places % number
    m = np.bincount(of_cell, minlength=parts)
    mean = float(means.mean())
    if m.min() < 2:
        return Difference(mean, None, None, None, None, 0, len(d), number)
    pulls = pulls * np.sqrt(m / (m - 1))[of_cell]
    error = float(np.sqrt(np.square(np.bincount(of_item, pulls, number)).sum()) / parts)
    df = int(min((m - 1).sum(), number - 1))
    if error <= ROUNDING:
        return Difference(mean, None, None, None, None, df, len(d), number)
    half = (t_quantile((1 + CONFIDENCE) / 2, df) or math.nan) * error
    return Difference(mean, error, mean - half, mean + half, _p(mean / error, df), df, len(d), number)


def mean_of_cells(values: Floats, cells: Sequence[object] | None, weights: Floats) -> float:
    """The mean over cells of the weighted mean of each; without `cells` all values are in one.

    >>> mean_of_cells([1.0, 3.0, 8.0], ["x", "x", "y"], [1.0, 1.0, 1.0])
    5.0
    """
    w = np.asarray(weights, dtype=float)
    cell, parts = _numbered([0] * len(values) if cells is None else cells)
    means = np.bincount(cell, w * np.asarray(values, dtype=float), parts) / np.bincount(cell, w, parts)
    return float(means.mean())


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p values that hold for all of them together (Holm, 1979); what has no p value counts as no test.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    order = sorted((value, index) for index, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    least = 0.0
    for rank, (value, index) in enumerate(order):
        least = max(least, min(1.0, value * (len(order) - rank)))
        found[index] = least
    return found


def _numbered(names: Sequence[object]) -> tuple[NDArray[np.int64], int]:
    """Numbers from 0 for names, and how many there are."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64), len(known)


def _p(t: float, df: int) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))
