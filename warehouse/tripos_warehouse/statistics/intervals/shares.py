"""Shares of rows, with intervals that hold for few of them."""

from __future__ import annotations

import math

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.quantiles import two_sided, z_quantile


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> StatisticResult:
    """A share with the interval of Wilson (1927), which stays between 0 and 1 and is right for few rows too.

    Both may be fractions, as a design effect makes them. Raises `ValueError` unless 0 ≤ `successes` ≤ `n`.

    >>> share = wilson(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.49, 0.943)
    """
    # By its formula, and not by `binomtest`: that takes whole numbers only, and a second to import.
    _check_share(successes, n)
    if n == 0:
        return StatisticResult.undefined("no rows")
    z = z_quantile(two_sided(confidence))
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return StatisticResult(share, low=low, high=high, standard_error=math.sqrt(share * (1 - share) / n), n=round(n))


def clopper_pearson(successes: float, n: float, *, confidence: float = 0.95) -> StatisticResult:
    """A share with the exact interval of Clopper and Pearson (1934), which covers at least as often as it says.

    Both may be fractions, as ratios of sums make them. Raises `ValueError` unless 0 ≤ `successes` ≤ `n`.

    >>> share = clopper_pearson(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.444, 0.975)
    """
    _check_share(successes, n)
    if n == 0:
        return StatisticResult.undefined("no rows")
    upper = two_sided(confidence)
    share = successes / n
    low = _beta_quantile(successes, n - successes + 1, 1 - upper) if successes else 0.0
    high = _beta_quantile(successes + 1, n - successes, upper) if successes < n else 1.0
    return StatisticResult(share, low=low, high=high, standard_error=math.sqrt(share * (1 - share) / n), n=round(n))


def _beta_quantile(a: float, b: float, p: float) -> float:
    """Return the `p` quantile of a beta distribution. Where all rows agree it has a closed form, without a library."""
    if b == 1:
        return float(p ** (1 / a))
    if a == 1:
        return -math.expm1(math.log1p(-p) / b)
    from scipy.special import betaincinv

    return float(betaincinv(a, b, p))


def _check_share(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")
