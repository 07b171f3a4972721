"""Intervals of what lies between two ends: means on a scale, ratios, F-measures, agreement, and differences of these.

A value is taken as the share p that it has of the way from the low end to the high one, with the standard error s and
m units behind it. Two intervals are united:

- Student's t in log-odds, logit(p) ± t · s′ / (p (1 - p)), which is longer away from the nearer end
- p ± t · s′, cut at the ends

s′² = s² + p (1 - p) (1 - 2p)² / m²: few units near an end hide what lies far off, so one more of them is reckoned with
there. In the middle of the scale, and of many units, nothing is added.

Where all units are alike, s is 0 and says nothing. Then the units that none of m showed have at most the share
1 - (α/2)^(1/m), and may lie at either end. Where all are at one end, that is the interval of Clopper and Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.sign_flips import with_test
from tripos_warehouse.statistics.quantiles import t_tails, two_sided, z_quantile
from tripos_warehouse.statistics.ratings import Floats

ROUNDING = 1e-9
"""An error, or a distance from an end, below this is what rounding leaves of none."""
FEW_OF_A_CLASS = 10
"""A class of fewer items, or that is right in fewer than half as many, says too little of its own error to be one of
several in a mean over classes."""


def shares_between(share: Floats, error: Floats, df: Floats, units: Floats, confidence: float = 0.95) -> list[Floats]:
    """The low and the high ends of intervals of shares, with their errors, degrees of freedom and numbers of units.

    All are arrays of one shape. Without an error the units are taken to be alike.

    >>> few = [np.array([each]) for each in (0.9, 0.1, 9.0, 10.0)]
    >>> [np.round(end, 3).tolist() for end in shares_between(*few)]
    [[0.404], [1.0]]
    """
    from scipy.special import expit, stdtrit

    upper = two_sided(confidence)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = stdtrit(df, upper) * _enlarged(share, error, units)
        near = _nearest(share, error, units)
        middle, stretched = np.log(near / (1 - near)), reach / (near * (1 - near))
        # At an end itself there may be no log-odds, and `fmin` and `fmax` take the other interval.
        low = np.fmin(expit(middle - stretched), np.maximum(share - reach, 0.0))
        high = np.fmax(expit(middle + stretched), np.minimum(share + reach, 1.0))
    unseen = 1 - (1 - upper) ** (1 / units)
    alike = error <= ROUNDING
    found_low: Floats = np.where(alike, share - unseen * share, low)
    found_high: Floats = np.where(alike, share + unseen * (1 - share), high)
    return [found_low, found_high]


def bounded(
    found: StatisticResult,
    error: float,
    df: float,
    ends: tuple[float, float],
    *,
    units: float | None = None,
    null: float | None = None,
    confidence: float = 0.95,
) -> StatisticResult:
    """Return a figure with the interval that its standard error gives between two `ends`; `clusters` of `found` are the
    units behind it, or `units`, where they do not weigh alike. Against `null` it has the test of Student's t, with s′
    for its error; where that tells the value from `null`, the interval stops short of it.

    Without an error it has an interval and no test, without degrees of freedom neither. An end that the value itself
    passes is none.

    >>> eight = bounded(StatisticResult(9.6, clusters=8), 0.2, 7, (1, 10))
    >>> round(eight.low, 2), round(eight.high, 2)
    (8.02, 10.0)
    >>> same = bounded(StatisticResult(10.0, clusters=8), 0.0, 7, (1, 10))
    >>> round(same.low, 2), same.high
    (6.68, 10.0)
    """
    low, high = ends
    units = float(units or found.clusters or 0)
    if found.value is None or df < 1 or units < 1 or not low - ROUNDING <= found.value <= high + ROUNDING:
        return found
    length = high - low
    share = min(1.0, max(0.0, (found.value - low) / length))
    at, errors, freedom, many = (np.array([each]) for each in (share, error / length, df, units))
    bottom, top = (low + length * float(end[0]) for end in shares_between(at, errors, freedom, many, confidence))
    # The value is one of those that the interval holds, whatever rounding says.
    bottom, top = min(bottom, found.value), max(top, found.value)
    told = replace(found, low=bottom, high=top, standard_error=error, df=df)
    if null is None or error / length <= ROUNDING:
        return told
    statistic = (found.value - null) / (length * float(_enlarged(at, errors, many)[0]))
    return with_test(replace(told, statistic=statistic), t_tails(statistic, df), null=null, confidence=confidence)


def _nearest(share: Floats, error: Floats, units: Floats) -> Floats:
    """Return the share, or the nearest to it that can have such an error: that of m units is at most
    √(p (1 − p) / (m − 1)). At an end of the scale, log-odds have none."""
    spread = np.minimum(0.25, np.maximum(share * (1 - share), (units - 1) * error**2))
    half = np.sqrt(np.maximum(0.0, 0.25 - spread))
    found: Floats = np.where(share <= 0.5, np.maximum(share, 0.5 - half), np.minimum(share, 0.5 + half))
    return found


def of_shares(
    weights: Sequence[float], shares: Sequence[float], items: Sequence[int], *, confidence: float = 0.95
) -> tuple[float, float]:
    """How far the interval of Σ weight × share reaches below and above it, of shares of independent items of which none
    is in two.

    Shares of weights above 0 are taken together, and so are those of weights below 0. Of some together, the interval is
    the longer, on either side, of two:

    - MOVER: the square root of the sum of squares of weight × the reach of each share's exact interval (Zou, Huang and
      Zhang 2009; Clopper and Pearson 1934). It knows that small cells say little, and where many small cells are alike
      it is too short.
    - the exact interval of their weighted mean, as that of one share of as many items as say as much:
      (Σ weight)² / Σ (weight² / items) (Kish 1965)

    Both are the exact interval where there is one share. What is taken away is put together with the rest by MOVER.

    >>> reach = of_shares([1.0], [0.8], [10])
    >>> [round(each, 3) for each in reach]
    [0.356, 0.175]
    >>> [round(each, 3) for each in of_shares([1 / 3, 1 / 3, 1 / 3], [2 / 3, 0.5, 0.5], [3, 30, 300])]
    [0.213, 0.199]
    """
    below = above = 0.0
    for sign in (1.0, -1.0):
        own = [each for each in zip(weights, shares, items, strict=True) if each[0] * sign > 0]
        if own:
            down, up = _of_one_sign([(abs(weight), share, count) for weight, share, count in own], confidence)
            down, up = (down, up) if sign > 0 else (up, down)
            below, above = math.hypot(below, down), math.hypot(above, up)
    return below, above


def _of_one_sign(own: Sequence[tuple[float, float, int]], confidence: float) -> tuple[float, float]:
    whole = math.fsum(weight for weight, _, _ in own)
    share = min(1.0, math.fsum(weight * each for weight, each, _ in own) / whole)
    many = whole**2 / math.fsum(weight**2 / count for weight, _, count in own)
    reaches = [(weight, each, _exact(each, count, confidence)) for weight, each, count in own]
    down = math.hypot(*(weight * (each - low) for weight, each, (low, _) in reaches))
    up = math.hypot(*(weight * (high - each) for weight, each, (_, high) in reaches))
    low, high = _exact(share, many, confidence)
    return max(down, whole * (share - low)), max(up, whole * (high - share))


def _exact(share: float, many: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of Clopper and Pearson; what rounding leaves of a whole number is one."""
    successes = share * many
    near = round(successes)
    successes = near if abs(successes - near) <= ROUNDING * many else successes
    found = clopper_pearson(min(successes, many), many, confidence=confidence)
    return found.low or 0.0, 1.0 if found.high is None else found.high


def of_classes(shares: Sequence[float], items: Sequence[int]) -> tuple[float, float]:
    """The ends of the mean of the shares of classes, some of which have few `items`: the means of each class's exact
    ends. They lie far apart, and hold whatever the classes are like.

    >>> [round(end, 3) for end in of_classes([1.0, 0.5], [8, 2])]
    [0.322, 0.994]
    """
    found = [clopper_pearson(share * count, count) for share, count in zip(shares, items, strict=True)]
    lows, highs = [each.low or 0.0 for each in found], [1.0 if each.high is None else each.high for each in found]
    return sum(lows) / len(lows), sum(highs) / len(highs)


def _enlarged(share: Floats, error: Floats, units: Floats) -> Floats:
    """Return the error with that of a unit which was not met."""
    found: Floats = np.sqrt(error**2 + share * (1 - share) * (1 - 2 * share) ** 2 / units**2)
    return found


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
