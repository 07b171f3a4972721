"""Intervals of standard deviations."""

from __future__ import annotations

import math

from tripos_warehouse.statistics.quantiles import t_quantile, two_sided

MOST = 300.0
"""The interval reaches no further on the scale of logarithms, which is past all bounds."""


def deviation_interval(
    value: float, error: float, df: float, units: int, *, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of a standard deviation of `units` values, on the scale of its logarithm, where it is less
    skewed; None without degrees of freedom.

    Few values hide the tails, so their kurtosis, and with it the error, comes out too small. It is taken to be no less
    than that of normal values, 1 / √(2 (m - 1)) of the deviation.

    >>> [round(end, 2) for end in deviation_interval(1.0, 0.1, 9, 10)]
    [0.59, 1.7]
    """
    quantile = t_quantile(two_sided(confidence), df)
    if quantile is None or units < 2 or value <= 0:
        return None
    reach = min(quantile * max(error / value, 1 / math.sqrt(2 * (units - 1))), MOST)
    return value * math.exp(-reach), value * math.exp(reach)
