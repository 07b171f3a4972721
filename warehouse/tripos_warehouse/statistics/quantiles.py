"""Quantiles and tails of the distributions that intervals and tests use, without the weight of `scipy.stats`."""

from __future__ import annotations

import math
from statistics import NormalDist

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
