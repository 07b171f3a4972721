"""Means of cells that count alike, of weighted values, with an error that is clustered by item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.bounded_values import ROUNDING, bounded
from tripos_warehouse.statistics.intervals.means import with_t
from tripos_warehouse.statistics.ratings import Ints

Floats = Sequence[float] | NDArray[np.float64]

ONE_ITEM = "one item says nothing about the error"
ONE_IN_A_CELL = "a part of it has one item, which says nothing about the error"
ONE_CLUSTER_IN_A_CELL = "a part of it lies in one cluster, which says nothing about the error"
ALIKE_IN_A_CELL = "the items of one of its cells are all alike, which says nothing about the error"
ALIKE = "all are alike: nothing shows the error"


def mean_of_cells(
    values: Floats,
    items: Sequence[str] | Ints,
    cells: Sequence[object] | Ints | None = None,
    weights: Floats | None = None,
    *,
    ends: tuple[float, float] | None = None,
) -> StatisticResult:
    """The mean of values, each of one of `items`; with `cells` the mean of the means of cells. Given differences of
    two results it compares them in pairs.

    Of a cell of values d with weights w the mean is D = Σ w d / Σ w. An item's pull on it is Σ w (d − D) / Σ w over its
    values; the variance of D is m / (m − 1) times the sum of squared pulls of its m items (Liang and Zeger 1986), with
    m − 1 degrees of freedom. A mean of cells counts every cell alike: an item's pulls are added up over the cells that
    it is in, and divided by their number. With one cell and equal weights it is what `means.mean` finds; with one value
    an item the t test.

    `n` counts values and `clusters` items. Where the values lie between two `ends`, the interval does too (`bounded`),
    and all may be alike. Without ends and without an error above zero there is no interval, and a reason. Of values
    that are all alike and not 0, the p-value is the chance that G items turned round at random agree, 2^(1 - G) (Fisher
    1935).

    >>> found = mean_of_cells([1.0, 2.0, 3.0, 2.0], ["a", "b", "c", "d"])
    >>> round(found.value, 4), round(found.standard_error, 4), round(found.low, 4), round(found.p, 4)
    (2.0, 0.4082, 0.7008, 0.0163)
    >>> mean_of_cells([1.0, 3.0, 8.0], ["a", "b", "b"], ["x", "x", "y"]).value
    5.0
    """
    if not len(values):
        return StatisticResult.undefined("no values")
    d: NDArray[np.float64] = np.asarray(values, dtype=float)
    w = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=float)
    item, number = _numbered(items)
    cell, parts = _numbered(np.zeros(len(d), np.int64) if cells is None else cells)
    total = np.bincount(cell, w, parts)
    means = np.bincount(cell, w * d, parts) / total
    found = StatisticResult(float(means.mean()), n=len(d), clusters=number)
    # A pull for every item of every cell.
    places, where = np.unique(cell * number + item, return_inverse=True)
    pulls = np.bincount(where, w * (d - means[cell]) / total[cell])
    of_cell, of_item = places // number, places % number
    m = np.bincount(of_cell, minlength=parts)
    if m.min() < 2:
        return found.without_interval(ONE_ITEM if number < 2 else ONE_IN_A_CELL)
    pulls = pulls * np.sqrt(m / (m - 1))[of_cell]
    error = math.sqrt(float(np.square(np.bincount(of_item, pulls, number)).sum())) / parts
    df = int(min((m - 1).sum(), number - 1))
    units = min(number, int(m.min()) * parts)
    alike = 2.0 ** (1 - units) if abs(float(means.mean())) > ROUNDING else None
    if ends is not None:
        told = bounded(replace(found, clusters=units), error, df, ends, null=0.0)
        return replace(told, clusters=number, p=told.p if error > ROUNDING else alike)
    if error <= ROUNDING:
        return replace(found, df=df, p=alike).without_interval(ALIKE)
    return with_t(found, error, df)


def _numbered(names: Sequence[object] | Ints) -> tuple[Ints, int]:
    """Return numbers from 0 for names, in the order in which they come first, and how many there are."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu":
        _, first, places = np.unique(names, return_index=True, return_inverse=True)
        order = np.empty(len(first), np.int64)
        order[np.argsort(first)] = np.arange(len(first))
        return order[places], len(first)
    known: dict[object, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64), len(known)
