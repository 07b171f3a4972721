"""The test of a difference by turning units round, and intervals that say the same as their test.

If two sides do not differ, each unit might as well have its difference with the other sign (Fisher 1935, "The Design of
Experiments", section 21). The p-value is the share of all ways of turning units round that move the figure as far from
0 as it is. It takes nothing for granted but symmetry, and counts all 2^n ways, where Student's t of few units takes
their differences for normal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.ratings import Floats

MOST_FLIPPED = 12
"""With more units that differ, Student's t is as good, and all ways are many."""


def flipped_p(contributions: Floats) -> float | None:
    """Return the p-value of what units add to a difference, by all ways of turning them round; None if more than 12 of
    them differ. Units that add nothing change nothing.

    >>> flipped_p(np.array([1.0, 1.0, 1.0])), flipped_p(np.array([3.0, -2.0, 1.0, 0.0])), flipped_p(np.zeros(4))
    (0.25, 0.75, 1.0)
    """
    rounding = 1e-12 * float(np.abs(contributions).sum())
    differing = contributions[np.abs(contributions) > rounding]
    n = len(differing)
    if n > MOST_FLIPPED:
        return None
    signs = 1 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    sums = np.abs(signs @ differing)
    return float(np.mean(sums >= abs(float(differing.sum())) - rounding))


def with_test(
    found: StatisticResult, p: float | None, *, null: float = 0.0, confidence: float = 0.95
) -> StatisticResult:
    """Return a figure with a p-value against `null`, and an interval that says the same: it holds `null` unless the
    test tells the figure from it. Without an interval no p-value tells it from `null` either.

    >>> wide = StatisticResult(2.0, low=-1.0, high=5.0)
    >>> with_test(wide, 0.04).low > 0, with_test(StatisticResult(2.0, low=1.0, high=3.0), 0.06).low
    (True, 0.0)
    >>> with_test(StatisticResult(2.0), 0.04).p, with_test(StatisticResult(2.0), 0.25).p
    (None, 0.25)
    """
    if found.value is None or found.low is None or found.high is None or p is None:
        return replace(found, p=None if p is None or p < 1 - confidence else p)
    low, high = min(found.low, null), max(found.high, null)
    if p < 1 - confidence and found.value != null:
        beyond = float(np.nextafter(null, found.value))
        low, high = (max(found.low, beyond), found.high) if found.value > null else (found.low, min(found.high, beyond))
    return replace(found, low=low, high=high, p=p)
