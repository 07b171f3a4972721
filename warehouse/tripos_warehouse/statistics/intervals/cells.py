"""Means of cells that count alike, of weighted values, with an error that is clustered by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.bounded_values import bounded
from tripos_warehouse.statistics.intervals.leaf_cells import ROUNDING_OF_VALUES, CellMeans, cell_means
from tripos_warehouse.statistics.intervals.means import ALIKE, with_t
from tripos_warehouse.statistics.intervals.sign_flips import flipped_p, with_test
from tripos_warehouse.statistics.ratings import Ints

Floats = Sequence[float] | NDArray[np.float64]

ONE_ITEM = "one item says nothing about the error"
ONE_IN_A_CELL = "a part of it has one item, which says nothing about the error"
ONE_CLUSTER_IN_A_CELL = "a part of it lies in one cluster, which says nothing about the error"
ALIKE_IN_A_CELL = "the items of one of its cells are all alike: nothing shows its error"


def mean_of_cells(
    values: Floats,
    items: Sequence[str] | Ints,
    cells: Sequence[object] | Ints | None = None,
    weights: Floats | None = None,
    *,
    times: Mapping[Any, float] | None = None,
    ends: tuple[float, float] | None = None,
    paired: bool = True,
    confidence: float = 0.95,
) -> StatisticResult:
    """The mean of values, each of one of `items`; with `cells` the mean of the means of cells, which count alike, or
    the sum of these means, each `times` the number of its cell. Given differences of two results it compares them in
    pairs.

    Error and degrees of freedom are those of `cell_means`: by what each item adds to the figure, over all cells that it
    is in. With one cell and one value an item that is the t test; `means.mean` has the same error. `n` counts values
    and `clusters` items. Where the values lie between two `ends`, the interval does too (`bounded`). Without an error
    that shows there is no interval, and a reason; all may be alike between ends.

    The p-value, of `paired` differences against 0, is that of all ways of turning items round if no more than 12 of
    them differ (`flipped_p`), and if all are alike; else that of Student's t. It is below 1 - `confidence` if and only
    if the interval excludes 0 (`with_test`), so never without an interval.

    >>> found = mean_of_cells([1.0, 2.0, 3.0, 2.0, 1.0, 3.0], list("abcdef"))
    >>> round(found.value, 4), round(found.standard_error, 4), round(found.low, 4), found.p
    (2.0, 0.3651, 1.0614, 0.03125)
    >>> mean_of_cells([1.0, 3.0, 8.0], ["a", "b", "b"], ["x", "x", "y"]).value
    5.0
    """
    if not len(values):
        return StatisticResult.undefined("no values")
    d: NDArray[np.float64] = np.asarray(values, dtype=float)
    if paired:
        d = np.where(np.abs(d) <= ROUNDING_OF_VALUES, 0.0, d)
    w = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=float)
    item, number = _numbered(items)
    cell, parts = _numbered(np.zeros(len(d), np.int64) if cells is None else cells)
    found, g = StatisticResult(None, "", n=len(d), clusters=number), None
    reach = ends
    if times is not None and cells is not None:
        g = np.array([times[cells[place]] for place in np.unique(cell, return_index=True)[1]])
        reach = None if ends is None else _reach(g, *ends)
    means = cell_means(d, w, item, cell, times=g, ends=ends)
    found = _with_interval(replace(found, value=means.value, reason=None), means, parts, reach, confidence)
    if not paired or means.units.min() < 2:
        return replace(found, statistic=None, p=None)
    p = flipped_p(means.contributions)
    if p is None:
        p = found.p if means.standard_error else 2.0 ** (1 - number)
    return with_test(found, p, confidence=confidence)


def _reach(times: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Return the ends of a sum of cells that lie between `low` and `high`."""
    up, down = float(times[times > 0].sum()), float(times[times < 0].sum())
    return up * low + down * high, up * high + down * low


def _with_interval(
    found: StatisticResult, means: CellMeans, parts: int, ends: tuple[float, float] | None, confidence: float
) -> StatisticResult:
    number, fewest = found.clusters or 0, int(means.units.min())
    if fewest < 2:
        return found.without_interval(ONE_ITEM if number < 2 else ONE_IN_A_CELL)
    if ends is not None:
        # Where all are alike, the smallest cell says how many may not be.
        units = means.effective if means.standard_error else min(means.effective, number, fewest * parts)
        df, error = means.df or max(units - 1, 1.0), means.standard_error
        return bounded(found, error, df, ends, units=units, null=0.0, confidence=confidence)
    if not means.standard_error:
        return found.without_interval(ALIKE if means.alike else ALIKE_IN_A_CELL)
    return with_t(found, means.standard_error, means.df, confidence=confidence)


def _numbered(names: Sequence[object] | Ints) -> tuple[Ints, int]:
    """Return numbers from 0 for names, in the order in which they come first, and how many there are."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu":
        _, first, places = np.unique(names, return_index=True, return_inverse=True)
        order = np.empty(len(first), np.int64)
        order[np.argsort(first)] = np.arange(len(first))
        return order[places], len(first)
    known: dict[object, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64), len(known)
