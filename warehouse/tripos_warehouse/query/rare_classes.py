"""Errors of agreement where a class is rare: how much larger they are than the jackknife shows.

The variance of a correlation of classes is a sum of what the items of each class have of it. What five items of a rare
class show of theirs has four degrees of freedom, however many other items there are. Student's t of a sum of variances
with different degrees of freedom weighs each of them by the square of its own quantile (Cochran 1964, "Approximate
significance levels of the Behrens-Fisher test"). So the pull of an item of a class of k items is enlarged by the
quantile of k - 1 degrees of freedom (no fewer than 2) over that of all items. Where hardly any item is of another class
than most, its error cannot be known, and there is no interval.

Of numbers every value would be a class of its own. There the kurtosis of the pulls says how many items bear the
variance: a variance of n values with the kurtosis κ has 2n / (κ - (n - 3) / (n - 1)) degrees of freedom (O'Neill 2014,
"Some useful moment results in sampling problems").
"""

from __future__ import annotations

import numpy as np

from tripos_warehouse.statistics import Floats, Ints, two_sided

FEWEST_OTHERS = 3
"""With fewer items of another class than most, nothing shows the error of an agreement."""
TOO_FEW_OTHERS = f"fewer than {FEWEST_OTHERS} items are of another class than most: nothing shows the error"


def class_factors(columns: Ints, owners: Ints, items: int) -> Floats | None:
    """Return by how much the pull of each of `items` is enlarged, given the class of every subject by each rater, a row
    a rater, -1 where there is none; None where too few items are of another class than a rater's most frequent one.

    A rater who saw fewer than half of the items has too few of any class: their classes are those of all raters.

    >>> said, true = [0] * 26 + [1] * 4, [0] * 27 + [1] * 3
    >>> found = class_factors(np.array([said, true]), np.arange(30), 30)
    >>> np.round(found[[0, 26, 29]], 2).tolist()
    [1.01, 1.56, 2.1]
    >>> class_factors(np.array([[0] * 29 + [1]] * 2), np.arange(30), 30) is None
    True
    """
    every = int(columns.max()) + 1
    least = np.full(items, items)
    tables = [_held(column[None], owners, items, every) for column in columns]
    pooled = _held(columns, owners, items, every)
    for table in tables:
        seen = int(table.any(1).sum())
        whole = 2 * seen >= items
        others = np.arange(every) != table.sum(0).argmax()
        if whole and int(table[:, others].any(1).sum()) < FEWEST_OTHERS:
            return None
        counts = (table if whole else pooled).sum(0)
        least = np.minimum(least, np.where(table, counts, items).min(1))
    found: Floats = _quantile(np.maximum(least - 1, FEWEST_OTHERS - 1)) / _quantile(np.array([max(items - 1, 1)]))
    return np.maximum(found, 1.0)


def kurtosis_factor(pulls: Floats) -> float:
    """Return by how much pulls on an agreement of numbers are enlarged, by the degrees of freedom of their variance. As
    long as these are half of those of the items, it is as good as nothing, and left at 1.

    >>> round(kurtosis_factor(np.array([1.0] * 20 + [-1.0] * 20)), 2)
    1.0
    >>> round(kurtosis_factor(np.array([0.0] * 37 + [1.0] * 3)), 2)
    1.15
    """
    n = len(pulls)
    squares = np.square(pulls - pulls.mean())
    if n < 4 or squares.sum() <= 0:
        return 1.0
    kurtosis = n * float((squares**2).sum()) / float(squares.sum()) ** 2
    df = 2 * n / max(kurtosis - (n - 3) / (n - 1), 1e-9)
    if df > (n - 1) / 2:
        return 1.0
    few, many = _quantile(np.array([min(max(df, 1.0), n - 1.0), n - 1.0]))
    return float(few / many)


def _held(columns: Ints, owners: Ints, items: int, every: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return which items have which classes, a row an item."""
    found = np.zeros((items, every), dtype=bool)
    for column in columns:
        known = column >= 0
        found[owners[known], column[known]] = True
    return found


def _quantile(df: Floats | Ints) -> Floats:
    from scipy.special import stdtrit

    found: Floats = stdtrit(df, two_sided(0.95))
    return found
