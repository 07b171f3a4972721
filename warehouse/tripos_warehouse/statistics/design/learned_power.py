"""Power of a t test whose variance is an estimate itself, as that of a pilot is.

Power is that of Student's t: noncentral t (Johnson, Kotz and Balakrishnan 1995, "Continuous Univariate Distributions",
volume 2, chapter 31). A variance V that m degrees of freedom taught is uncertain: power is averaged over V m / χ²_m,
which is what an estimate leaves of the variance (Julious and Owen 2006, "Sample size calculations for clinical studies
allowing for uncertainty about the variance"). Without that, a design from a pilot has too little power on average.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tripos_warehouse.statistics.quantiles import z_quantile
from tripos_warehouse.statistics.ratings import Floats

POWER, LEVEL = 0.8, 0.05
NODES = 32
"""Quantiles of χ² that stand for the distribution of a variance."""
MANY = 2000
"""From so many degrees of freedom Student's t is taken to be normal."""


def power_with(
    difference: float, variance: float, df: float, learned: int | None = None, *, level: float = LEVEL
) -> float:
    """Return the probability that a t test with `df` finds a `difference` whose estimate has this variance.

    With `learned`, the variance is an estimate from so many items, and the power its mean over what it may truly be.

    >>> round(power_with(0.5, 1 / 32, 31), 3), round(power_with(0.5, 1 / 32, 31, 20), 3)
    (0.782, 0.752)
    """
    if variance == 0:
        return 1.0 if difference else level
    return _power(abs(difference) / math.sqrt(variance), df, learned, level)


def least_difference(
    variance: float, df: float, learned: int | None = None, *, power: float = POWER, level: float = LEVEL
) -> float:
    """Return the least difference that a t test finds with the `power`; infinite without degrees of freedom.

    >>> round(least_difference(1 / 32, 31), 3), least_difference(1 / 32, 0)
    (0.511, inf)
    """
    if df < 1:
        return math.inf
    return math.sqrt(variance) * _errors(df, learned, power, level)


def _errors(df: float, learned: int | None, power: float, level: float) -> float:
    """Return the least difference in standard errors: between some degrees of freedom by a line in their inverse."""
    if df >= MANY:
        return _solved(MANY, learned, power, level)
    below = _step_below(df)
    above = min(MANY, below + max(1, below // 8))
    low, high = _solved(below, learned, power, level), _solved(above, learned, power, level)
    return high + (low - high) * (1 / df - 1 / above) / (1 / below - 1 / above)


@lru_cache(maxsize=4096)
def _step_below(df: float) -> int:
    step = 1
    while (above := step + max(1, step // 8)) <= df:
        step = above
    return step


@lru_cache(maxsize=4096)
def _solved(df: int, learned: int | None, power: float, level: float) -> float:
    low, high = 0.0, z_quantile(1 - level / 2) + z_quantile(power)
    while _power(high, df, learned, level) < power:
        low, high = high, 2 * high
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, df, learned, level) < power else (low, middle)
    return high


def _power(errors: float, df: float, learned: int | None, level: float) -> float:
    """Return the power for a difference of so many standard errors."""
    from scipy.special import chdtri

    ratio = np.ones(1)
    if learned is not None:
        m = max(learned - 1, 1)
        ratio = m / chdtri(m, (np.arange(NODES) + 0.5) / NODES)
    return float(_tails(errors / np.sqrt(ratio), df, level).mean())


def _tails(away: Floats, df: float, level: float) -> Floats:
    from scipy.special import nctdtr, ndtr, stdtrit

    if df < 1:
        return np.zeros_like(away)
    bound = float(stdtrit(df, 1 - level / 2))
    if df >= MANY:
        normal: Floats = ndtr(away - bound) + ndtr(-away - bound)
        return normal
    # Far out the series of the noncentral t does not end, and the power is 1 to more digits than count.
    far = away > 30 * max(1.0, bound / 2)
    near = np.where(far, 0.0, away)
    found: Floats = np.where(far, 1.0, 1 - nctdtr(df, near, bound) + nctdtr(df, near, -bound))
    return found
