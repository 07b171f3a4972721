"""Medians of weighted rows, for many weightings at a time: what a bootstrap of medians is made of."""

from __future__ import annotations

import math

import numpy as np

from tripos_warehouse.statistics.ratings import Floats, Ints

FEW_ROWS = 2000
"""So many rows are added up one by one. A product of matrices would be fast too, but that its threads cost more than
they bring."""

FEW_VALUES = 100
"""Of more rows with up to so many different values, the weights of each value are added up at once."""

CELLS = 4_000_000
"""The numbers that are held at a time."""


def weighted_medians(values: Floats, codes: Ints, weights: Floats) -> Floats:
    """Return the median of rows for every row of `weights`, of the shape (draws, clusters): how often the rows of each
    cluster are there, a whole number. `codes` has the cluster of each of `values`, from 0. NaN where all that has a
    weight is nothing.

    The weights are added up in the order of the values. Those of draws reach the middle near the median of all, so rows
    that lie far from it are added up by cluster and not one by one.

    >>> drawn = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    >>> weighted_medians(np.array([5.0, 1.0, 2.0, 4.0]), np.array([0, 1, 1, 2]), drawn).tolist()
    [3.0, 5.0, 1.5, nan]
    """
    order = np.argsort(values, kind="stable")
    values, codes = values[order], codes[order]
    if len(values) <= FEW_ROWS:
        sums = np.cumsum(weights[:, codes], axis=1)
        totals = sums[:, -1]
        return _middle(values[_reached(sums, _targets(totals))], totals)
    totals = weights @ np.bincount(codes, minlength=weights.shape[1])
    targets = _targets(totals)
    levels, steps = np.unique(values, return_inverse=True)
    if len(levels) <= FEW_VALUES:
        return _middle(levels[_by_level(steps, codes, weights, targets)], totals)
    return _middle(values[_by_row(codes, weights, targets)], totals)


def _targets(totals: Floats) -> Floats:
    """Return the places of the two middle rows of every draw, counted from 1; of an odd number they are one."""
    return np.stack([(totals + 1) // 2, totals // 2 + 1], axis=1)


def _middle(pairs: Floats, totals: Floats) -> Floats:
    found: Floats = pairs.mean(axis=1)
    found[totals == 0] = np.nan
    return found


def _by_level(steps: Ints, codes: Ints, weights: Floats, targets: Floats) -> Ints:
    """Return the steps on which the middle rows are."""
    counts = np.zeros((weights.shape[1], int(steps.max()) + 1))
    np.add.at(counts, (codes, steps), 1)
    sums = np.cumsum(weights @ counts, axis=1)
    return _reached(sums, targets)


def _by_row(codes: Ints, weights: Floats, targets: Floats) -> Ints:
    """Return the numbers of the middle rows, of rows in the order of their values."""
    n, groups = len(codes), weights.shape[1]
    below = np.bincount(codes, (np.arange(n) < n / 2) - 0.5, minlength=groups)
    reach = 6 * math.ceil(math.sqrt(float((below**2).sum()))) + 50
    found = np.zeros(targets.shape, dtype=np.int64)
    waiting = np.arange(len(weights))
    while len(waiting):
        start, end = max(0, n // 2 - reach), min(n, n // 2 + reach)
        before = np.bincount(codes[:start], minlength=groups)
        missed: list[Ints] = []
        size = max(1, CELLS // (end - start))
        for first in range(0, len(waiting), size):
            part = waiting[first : first + size]
            passed = weights[part] @ before
            sums = passed[:, None] + np.cumsum(weights[part][:, codes[start:end]], axis=1)
            found[part] = start + _reached(sums, targets[part])
            whole = end - start == n
            missed.append(part[~(whole | ((passed < targets[part, 0]) & (sums[:, -1] >= targets[part, 1])))])
        waiting = np.concatenate(missed)
        reach *= 8
    return found


def _reached(sums: Floats, targets: Floats) -> Ints:
    """Return where growing `sums` first reach the two targets of each draw."""
    places = np.stack([(sums < targets[:, middle][:, None]).sum(axis=1) for middle in (0, 1)], axis=1)
    found: Ints = np.minimum(places, sums.shape[1] - 1)
    return found
