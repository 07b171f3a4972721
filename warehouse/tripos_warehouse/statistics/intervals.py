"""Intervals: of shares, means, medians and any statistic, of clustered rows, of products, one-sided, and across facets.

Values between two ends (`bounded`). A value is the share p of the way from the low end to the high one, with the
standard error s from m units. The interval is the union of two:

- Student's t in log-odds, logit(p) ± t · s′ / (p (1 - p)), which is longer away from the nearer end
- p ± t · s′, cut at the ends

s′² = s² + p (1 - p) (1 - 2p)² / m²: few units near an end hide values far from it, so one more of them is added. In the
middle of the scale, and with many units, nothing changes. If all units are alike, s is 0 and says nothing. A kind of
unit that does not occur among m units has at most the share 1 - (α/2)^(1/m), and may lie at either end. If all units
are at one end, this is the interval of Clopper and Pearson.

Means of cells (`cell_means`). A leaf cell is a weighted mean D = Σ w d of m units (items, or clusters of items). With
the weight w_i of unit i (Σ w_i = 1), S_k = Σ w_i^k and the influence r_i = Σ w d − w_i D of the unit's values d:

- E = S2 − 2 S3 + S2² is Σ E[r_i²] for units with the variance 1, so σ² = Σ r_i² / E and Var D = S2 σ², unbiased if
  units have equal variances. Enlarged influences p_i = r_i √(S2 / E) have Σ p_i² = Var D.
- The degrees of freedom are those of Bell and McCaffrey (2002): tr(G)² / tr(G²) of the covariance matrix G of the r_i.
  With equal variances that is E² / T, T = S2⁴ + 2 S2 S4 − 4 S2² S3 + 2 S3² + S4 (1 + 2 S2) − 4 S5. Equal weights have E
  = (m − 1) / m², are enlarged by √(m / (m − 1)) and have m − 1 degrees of freedom.

A figure is Σ_c g_c D_c. A unit may be in several cells, and its influences add up: P_i = Σ_c g_c p_ic, Var = Σ_i P_i².
Its degrees of freedom follow Satterthwaite (1946), by unit: (Σ s_i)² / Σ t_i² with s_i = Σ_c g_c² v_ic and t_i = Σ_c
g_c² v_ic √κ_c, where v_ic = σ_c² w_ic² and κ_c = S2² / (S4 df_c). For one cell that is df_c, and for cells that share
no unit (Σ V_c)² / Σ (V_c² / df_c). The units of a small cell may be alike by chance, which hides that its error is the
largest. So a second number is computed as if all cells had the same variance per unit, which follows from their weights
alone, and the smaller of the two is used. Degrees of freedom are at least 1, and need not be integers.

A cell whose units are all alike shows no error, although it has one. On a scale of length L one more unit is added,
half of it at each end: σ² = L² q, with the variance q of m units at their share x of the scale and half a unit at 0 and
at 1, and m − 1 degrees of freedom. Without a scale the error is unknown, and also if all units of all cells are alike.

Products on the scale of logarithms (`product_interval`). A quotient of shares near 0 is skewed, and Student's t fails
on the longer side: for .2 / .1 of 30 items it covers the truth 89 % of the time. The method of variance estimates
recovery (Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach") uses the
distances of each factor's interval on the scale of logarithms, where products are sums: l below and u above a factor x
with the power k. Below the product count the l of factors with k > 0 and the u of those with k < 0, and their squares
add up,

    log of the low end = log of the value - √(c · Σ k² l²).

Factors over the same items are correlated. Their covariance follows from the error of the product, whose square on this
scale is V: with the errors s of the factors, c = V / Σ k² (s / x)², which is 1 for independent factors. Each factor's
interval allows for the ends of its scale, for a factor at 0 and for items that are all alike. The interval of a power
is that power of the interval, and that of an inverse the inverse, since both are the same on this scale.

One-sided bounds (`upper_bound`). Student's t assumes units on both sides. If two sides differ in few items its bound is
too low: if 1 of 10 items differs, 60 items declare the true difference of 0.1 smaller than that in 14 % of cases, at a
level of 5 %. So one more unit is added, as far away as the farthest observed one, with the skewness that so rare a unit
causes:

- the mean m′ and the standard error s′ are those of the units and this one
- if no unit lies above f, the mean has a skewness of at most γ = (f − m′) / (n′ s′): that of units of two kinds
- the bound is m′ + s′ q; q is the quantile of Pearson's type III (a gamma distribution) with the skewness γ, at the
  probability at which t is that quantile of the normal distribution; and it is no nearer than that of Student's t

For shares this is close to the bound of Clopper and Pearson (1934), whose beta distribution has the mean of one more
success. If all n units are alike, the bound is exact: they agree with the probability (1 − x)ⁿ if a share x lies at the
end of the scale.

Sign flips (`sign_flip_p`). If two sides do not differ, each unit might as well have its difference with the other sign
(Fisher 1935, "The Design of Experiments", section 21). The p-value is the share of all 2^n sign flips that move the
figure at least as far from 0 as it is. It assumes nothing but symmetry, while Student's t of few units assumes normal
differences.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.arrays import (
    Clusters,
    Floats,
    Ints,
    Values,
    cluster_codes,
    read_values,
    rows_of,
    t_quantile,
    t_tails,
    two_sided,
    z_quantile,
)
from tripos_warehouse.statistics.estimate import Estimate

# Sign flips

MAX_FLIPPED_UNITS = 12
"""With more units that differ, Student's t is as good, and the number of flips is large."""


def sign_flip_p(contributions: Floats) -> float | None:
    """Return the p-value of a difference from the contributions of units, by all sign flips; None if more than
    `MAX_FLIPPED_UNITS` of them differ from 0. Contributions of 0 do not matter.

    >>> sign_flip_p(np.array([1.0, 1.0, 1.0])), sign_flip_p(np.array([3.0, -2.0, 1.0, 0.0])), sign_flip_p(np.zeros(4))
    (0.25, 0.75, 1.0)
    """
    rounding = 1e-12 * float(np.abs(contributions).sum())
    differing = contributions[np.abs(contributions) > rounding]
    n = len(differing)
    if n > MAX_FLIPPED_UNITS:
        return None
    signs = 1 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    sums = np.abs(signs @ differing)
    return float(np.mean(sums >= abs(float(differing.sum())) - rounding))


def with_test(result: Estimate, p: float | None, *, null: float = 0.0, confidence: float = 0.95) -> Estimate:
    """Return a figure with a p-value against `null`, and an interval that agrees with it: it contains `null` unless the
    test is significant. Without an interval, no p-value may be significant either.

    >>> wide = Estimate(2.0, low=-1.0, high=5.0)
    >>> with_test(wide, 0.04).low > 0, with_test(Estimate(2.0, low=1.0, high=3.0), 0.06).low
    (True, 0.0)
    >>> with_test(Estimate(2.0), 0.04).p, with_test(Estimate(2.0), 0.25).p
    (None, 0.25)
    """
    if result.value is None or result.low is None or result.high is None or p is None:
        return replace(result, p=None if p is None or p < 1 - confidence else p)
    low, high = min(result.low, null), max(result.high, null)
    if p < 1 - confidence and result.value != null:
        beyond = float(np.nextafter(null, result.value))
        low, high = (
            (max(result.low, beyond), result.high) if result.value > null else (result.low, min(result.high, beyond))
        )
    return replace(result, low=low, high=high, p=p)


# Values between two ends

ROUNDING = 1e-9
"""An error, or a distance from an end, below this is a rounding error of 0."""
MIN_CLASS_ITEMS = 10
"""A class with fewer items, or with fewer than half as many right ones, has too uncertain an error to be averaged over
classes."""


def shares_between(share: Floats, error: Floats, df: Floats, units: Floats, confidence: float = 0.95) -> list[Floats]:
    """Return the low and the high ends of the intervals of shares, from their errors, degrees of freedom and numbers of
    units.

    All are arrays of one shape. If an error is 0, the units are taken to be alike.

    >>> few = [np.array([each]) for each in (0.9, 0.1, 9.0, 10.0)]
    >>> [np.round(end, 3).tolist() for end in shares_between(*few)]
    [[0.404], [1.0]]
    """
    from scipy.special import expit, stdtrit

    upper = two_sided(confidence)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reach = stdtrit(df, upper) * _error_with_unseen_unit(share, error, units)
        near = _nearest(share, error, units)
        middle, stretched = np.log(near / (1 - near)), reach / (near * (1 - near))
        # At an end log-odds are infinite; then `fmin` and `fmax` take the other interval.
        low = np.fmin(expit(middle - stretched), np.maximum(share - reach, 0.0))
        high = np.fmax(expit(middle + stretched), np.minimum(share + reach, 1.0))
    unseen = 1 - (1 - upper) ** (1 / units)
    alike = error <= ROUNDING
    found_low: Floats = np.where(alike, share - unseen * share, low)
    found_high: Floats = np.where(alike, share + unseen * (1 - share), high)
    return [found_low, found_high]


def bounded(
    result: Estimate,
    error: float,
    df: float,
    ends: tuple[float, float],
    *,
    units: float | None = None,
    null: float | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return a figure with the interval that its standard error gives between two `ends`, and the test of Student's t
    against `null`.

    The number of units is `clusters` of `result`, or `units` if their weights differ. The test uses s′ as the error; if
    it is significant, the interval excludes `null`. If the error is 0 there is an interval and no test. Without degrees
    of freedom, or if the value is not between the ends, there is neither.

    >>> eight = bounded(Estimate(9.6, clusters=8), 0.2, 7, (1, 10))
    >>> round(eight.low, 2), round(eight.high, 2)
    (8.02, 10.0)
    >>> same = bounded(Estimate(10.0, clusters=8), 0.0, 7, (1, 10))
    >>> round(same.low, 2), same.high
    (6.68, 10.0)
    """
    low, high = ends
    units = float(units or result.clusters or 0)
    if result.value is None or df < 1 or units < 1 or not low - ROUNDING <= result.value <= high + ROUNDING:
        return result
    length = high - low
    share = min(1.0, max(0.0, (result.value - low) / length))
    shares, errors, dfs, counts = (np.array([number]) for number in (share, error / length, df, units))
    bottom, top = (low + length * float(end[0]) for end in shares_between(shares, errors, dfs, counts, confidence))
    # Rounding must not exclude the value from its interval.
    bottom, top = min(bottom, result.value), max(top, result.value)
    with_interval = replace(result, low=bottom, high=top, standard_error=error, df=df)
    if null is None or error / length <= ROUNDING:
        return with_interval
    statistic = (result.value - null) / (length * float(_error_with_unseen_unit(shares, errors, counts)[0]))
    return with_test(
        replace(with_interval, statistic=statistic), t_tails(statistic, df), null=null, confidence=confidence
    )


def _nearest(share: Floats, error: Floats, units: Floats) -> Floats:
    """Return the share, or the nearest share that can have such an error: the error of m units is at most √(p (1 − p) /
    (m − 1)). At an end of the scale, log-odds are infinite."""
    spread = np.minimum(0.25, np.maximum(share * (1 - share), (units - 1) * error**2))
    half = np.sqrt(np.maximum(0.0, 0.25 - spread))
    found: Floats = np.where(share <= 0.5, np.maximum(share, 0.5 - half), np.minimum(share, 0.5 + half))
    return found


def share_sum_reach(
    weights: Sequence[float], shares: Sequence[float], items: Sequence[int], *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return how far the interval of Σ weight × share reaches below and above it, for shares of independent items, none
    of which is in two shares.

    Shares with positive weights are combined, and so are those with negative weights. For several shares of one sign,
    the interval is the longer, on either side, of two:

    - MOVER: the square root of the sum of squares of weight × the distance of each share's exact interval (Zou, Huang
      and Zhang 2009; Clopper and Pearson 1934). It allows for small cells, but is too short if many small cells are
      alike.
    - the exact interval of their weighted mean, as that of one share with the effective number of items (Σ weight)² / Σ
      (weight² / items) (Kish 1965)

    For one share, both are the exact interval. The two signs are combined by MOVER.

    >>> reach = share_sum_reach([1.0], [0.8], [10])
    >>> [round(each, 3) for each in reach]
    [0.356, 0.175]
    >>> [round(each, 3) for each in share_sum_reach([1 / 3, 1 / 3, 1 / 3], [2 / 3, 0.5, 0.5], [3, 30, 300])]
    [0.213, 0.199]
    """
    below = above = 0.0
    for sign in (1.0, -1.0):
        of_sign = [
            (abs(weight), share, count)
            for weight, share, count in zip(weights, shares, items, strict=True)
            if weight * sign > 0
        ]
        if of_sign:
            down, up = _one_signed_reach(of_sign, confidence)
            down, up = (down, up) if sign > 0 else (up, down)
            below, above = math.hypot(below, down), math.hypot(above, up)
    return below, above


def _one_signed_reach(shares: Sequence[tuple[float, float, int]], confidence: float) -> tuple[float, float]:
    """Return how far the interval reaches below and above the sum, for `shares` with positive weights: their weights,
    values and numbers of items."""
    total = math.fsum(weight for weight, _, _ in shares)
    mean_share = min(1.0, math.fsum(weight * share for weight, share, _ in shares) / total)
    effective = total**2 / math.fsum(weight**2 / count for weight, _, count in shares)
    intervals = [(weight, share, _exact(share, count, confidence)) for weight, share, count in shares]
    down = math.hypot(*(weight * (share - low) for weight, share, (low, _) in intervals))
    up = math.hypot(*(weight * (high - share) for weight, share, (_, high) in intervals))
    low, high = _exact(mean_share, effective, confidence)
    return max(down, total * (mean_share - low)), max(up, total * (high - mean_share))


def _exact(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of Clopper and Pearson for a share of `n` items. A number of successes that
    differs from an integer by rounding only becomes that integer."""
    successes = share * n
    near = round(successes)
    successes = near if abs(successes - near) <= ROUNDING * n else successes
    estimate = clopper_pearson(min(successes, n), n, confidence=confidence)
    return estimate.low or 0.0, 1.0 if estimate.high is None else estimate.high


def class_mean_ends(shares: Sequence[float], items: Sequence[int]) -> tuple[float, float]:
    """Return the ends of an interval of a mean of the shares of classes, some with few `items`: the means of the ends
    of the exact intervals of the classes. The interval is wide, and valid for any classes.

    >>> [round(end, 3) for end in class_mean_ends([1.0, 0.5], [8, 2])]
    [0.322, 0.994]
    """
    estimates = [clopper_pearson(share * count, count) for share, count in zip(shares, items, strict=True)]
    lows, highs = (
        [estimate.low or 0.0 for estimate in estimates],
        [1.0 if estimate.high is None else estimate.high for estimate in estimates],
    )
    return sum(lows) / len(lows), sum(highs) / len(highs)


def _error_with_unseen_unit(share: Floats, error: Floats, units: Floats) -> Floats:
    """Return s′ of the module's docstring: the error, enlarged for one unobserved unit."""
    found: Floats = np.sqrt(error**2 + share * (1 - share) * (1 - 2 * share) ** 2 / units**2)
    return found


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> Estimate:
    """Return a share with the interval of Wilson (1927), which stays between 0 and 1 and is accurate for few rows too.

    Both arguments may be fractions, as after a correction by a design effect. Raises `ValueError` unless 0 ≤
    `successes` ≤ `n`.

    >>> share = wilson(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.49, 0.943)
    """
    # `binomtest` takes only integers, and a second to import.
    _check_share(successes, n)
    if n == 0:
        return Estimate.undefined("no rows")
    z = z_quantile(two_sided(confidence))
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Estimate(share, low=low, high=high, standard_error=math.sqrt(share * (1 - share) / n), n=round(n))


def clopper_pearson(successes: float, n: float, *, confidence: float = 0.95) -> Estimate:
    """Return a share with the exact interval of Clopper and Pearson (1934), whose coverage is at least nominal.

    Both arguments may be fractions, such as an effective number of items. Raises `ValueError` unless 0 ≤ `successes` ≤
    `n`.

    >>> share = clopper_pearson(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.444, 0.975)
    """
    _check_share(successes, n)
    if n == 0:
        return Estimate.undefined("no rows")
    upper = two_sided(confidence)
    share = successes / n
    low = _beta_quantile(successes, n - successes + 1, 1 - upper) if successes else 0.0
    high = _beta_quantile(successes + 1, n - successes, upper) if successes < n else 1.0
    return Estimate(share, low=low, high=high, standard_error=math.sqrt(share * (1 - share) / n), n=round(n))


def _beta_quantile(a: float, b: float, p: float) -> float:
    """Return the `p` quantile of a beta distribution. If all rows agree it has a closed form, without a library."""
    if b == 1:
        return float(p ** (1 / a))
    if a == 1:
        return -math.expm1(math.log1p(-p) / b)
    from scipy.special import betaincinv

    return float(betaincinv(a, b, p))


def _check_share(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")


# Means of cells

ROUNDING_OF_VALUES = 1e-12
"""Values that differ by less than this, or than this share of the largest, are equal up to rounding."""


@dataclass(frozen=True)
class CellMeans:
    """The mean of the means of cells, or another sum of them. `standard_error` and `df` are 0 if they are unknown."""

    value: float
    standard_error: float
    df: float
    contributions: Floats
    """The part of `value` from each unit; they add up to it."""
    units: Ints
    """The number of units of each cell."""
    effective: float
    """The number of units of equal weight with the same precision (Kish 1965)."""
    all_equal: bool
    """True if all units of all cells have one value, and the coefficients of all cells are positive."""


def cell_means(
    values: Floats,
    weights: Floats,
    unit: Ints,
    cell: Ints,
    *,
    times: Floats | None = None,
    ends: tuple[float, float] | None = None,
) -> CellMeans:
    """Return the mean of the means of cells of weighted values, or their sum with the coefficients `times`.

    `unit` and `cell` are the codes of the unit and the cell of each value, from 0 without gaps; `ends` are those of the
    scale.

    >>> found = cell_means(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.arange(4), np.zeros(4, int))
    >>> found.value, round(found.standard_error, 4), found.df
    (2.5, 0.6455, 3.0)
    >>> uneven = cell_means(np.array([0.0, 1.0, 2.0]), np.array([8.0, 1.0, 1.0]), np.arange(3), np.zeros(3, int))
    >>> round(uneven.value, 2), round(uneven.df, 2)
    (0.3, 1.34)
    """
    cells, units = int(cell.max()) + 1, int(unit.max()) + 1
    total = np.bincount(cell, weights, cells)
    share = weights / total[cell]
    means: Floats = np.bincount(cell, weights * values, cells) / total
    # A place is a pair of unit and cell.
    places, where = np.unique(cell * np.int64(units) + unit, return_inverse=True)
    of_cell, of_unit = places // units, places % units
    w: Floats = np.bincount(where, share).astype(float)
    r = np.bincount(where, share * (values - means[cell]))
    g: Floats = np.full(cells, 1 / cells) if times is None else times
    contributions: Floats = np.bincount(of_unit, np.bincount(where, share * values) * g[of_cell], units).astype(float)
    m = np.bincount(of_cell[w > 0], minlength=cells)

    s2, s3, s4, s5 = (np.bincount(of_cell, w**power, cells) for power in (2, 3, 4, 5))
    expected = np.bincount(of_cell, w**2 * ((1 - w) ** 2 + (s2[of_cell] - w**2)), cells)
    trace = s2**4 + 2 * s2 * s4 - 4 * s2**2 * s3 + 2 * s3**2 + s4 * (1 + 2 * s2) - 4 * s5
    least = ROUNDING_OF_VALUES * max(1.0, float(np.abs(values).max()))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.bincount(of_cell, r**2, cells) / expected
        df = np.maximum(expected**2 / trace, 1.0)
        enlarged = np.sqrt(s2 / expected)
    alike = ~(variance > least**2)
    value = float(means.mean()) if times is None else float(g @ means)
    all_equal = bool(alike.all()) and float(np.ptp(means)) <= least and bool((g > 0).all())
    unit_weights = np.bincount(of_unit, np.abs(g[of_cell]) * w, units)
    effective = float(unit_weights.sum() ** 2 / np.square(unit_weights).sum())
    result = CellMeans(value, 0.0, 0.0, contributions, m, effective, all_equal)
    if m.min() < 2 or all_equal or (ends is None and alike.any()):
        return result
    hidden = np.zeros(cells)
    if ends is not None:
        low, length = ends[0], ends[1] - ends[0]
        hidden[alike] = length**2 * _variance_with_unseen_unit((means[alike] - low) / length, m[alike])
    p = np.where(alike[of_cell], 0.0, r * enlarged[of_cell] * g[of_cell])
    total_variance = float(np.square(np.bincount(of_unit, p, units)).sum() + (g**2 * hidden * s2).sum())
    root_of_kappa = np.sqrt(s2**2 / (s4 * np.where(alike, np.maximum(m - 1.0, 1.0), df)))
    observed, equal = np.where(alike, hidden, variance), np.ones(cells)
    df_of_all = min(_freedom(g**2 * per_unit, w, root_of_kappa, of_cell, of_unit) for per_unit in (observed, equal))
    unit_errors = np.sqrt(np.bincount(of_unit, observed[of_cell] * np.square(w * g[of_cell]), units))
    result = replace(result, effective=float(unit_errors.sum() ** 2 / np.square(unit_errors).sum()))
    # Integers may be off by a rounding error.
    return replace(result, standard_error=float(np.sqrt(total_variance)), df=max(round(df_of_all, 9), 1.0))


def _freedom(variance: Floats, w: Floats, root_of_kappa: Floats, of_cell: Ints, of_unit: Ints) -> float:
    """Return Satterthwaite's degrees of freedom by unit, for cells with these variances per unit."""
    v = variance[of_cell] * w**2
    s, t = np.bincount(of_unit, v), np.bincount(of_unit, v * root_of_kappa[of_cell])
    return float(s.sum() ** 2 / np.square(t).sum())


def _variance_with_unseen_unit(share: Floats, units: Ints) -> Floats:
    """Return the variance of `units` at a share of a scale of length 1, and of half a unit at each of its ends."""
    middle = (units * share + 0.5) / (units + 1)
    found: Floats = (units * share**2 + 0.5) / (units + 1) - middle**2
    return found


NO_SPREAD = "all are alike: nothing shows the error"
SINGLE_CLUSTER = "only one cluster: the spread between clusters is unknown"


def mean(
    values: Values,
    clusters: Clusters = None,
    *,
    confidence: float = 0.95,
    null: float | None = None,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """Return the mean of the values that are not missing, its error by cluster, and with `null` Student's t against it.

    Error and degrees of freedom are those of `cell_means` for one cell whose units are the clusters: s / √n and n − 1
    if every row is its own cluster, and fewer degrees of freedom the more cluster sizes differ. `n` counts rows. If
    values lie between two `ends`, the interval does too (`bounded`). If all clusters are alike there is an interval
    only between ends. A `null` between ends moves the interval, so that it agrees with the test: a mark of 1 to 5 has
    none, and a difference has 0.

    >>> found = mean([1, 2, 3, 4])
    >>> found.value, round(found.standard_error, 4), found.df
    (2.5, 0.6455, 3.0)
    >>> round(mean([1, 1, 3, 3], clusters=["a", "a", "b", "b"]).standard_error, 4)
    1.0
    """
    numbers = read_values(values)
    codes = cluster_codes(clusters, len(numbers))
    present = ~np.isnan(numbers)
    left_out = int((~present).sum())
    numbers = numbers[present]
    n = len(numbers)
    if n == 0:
        return Estimate.undefined("no values", left_out=left_out)
    _, codes = np.unique(codes[present], return_inverse=True)
    value = float(numbers.mean())
    groups = int(codes.max()) + 1
    base = Estimate(value, n=n, clusters=groups, left_out=left_out)
    if groups < 2:
        return base.without_interval("one value: nothing shows how far values differ" if n == 1 else SINGLE_CLUSTER)
    means = cell_means(numbers, np.ones(n), codes, np.zeros(n, np.int64), ends=ends)
    return _with_interval(base, means, 1, ends, confidence, null)


def with_t_interval(
    result: Estimate, error: float, df: float, *, confidence: float = 0.95, null: float | None = 0.0, scale: float = 0.0
) -> Estimate:
    """Return a figure with the interval of Student's t, from its standard error and degrees of freedom, and its test
    against `null`.

    If the error is 0 there is neither, and a reason. `scale` is the magnitude of the values behind the figure: an error
    within their rounding counts as 0.

    >>> found = with_t_interval(Estimate(2.0), 0.5, 10)
    >>> round(found.low, 3), round(found.high, 3), found.statistic, round(found.p, 4)
    (0.886, 3.114, 4.0, 0.0025)
    """
    t = t_quantile(two_sided(confidence), df)
    if result.value is None or t is None:
        return result
    if error <= scale * 1e-12:
        return result.without_interval(NO_SPREAD)
    statistic = None if null is None else (result.value - null) / error
    return replace(
        result,
        low=result.value - t * error,
        high=result.value + t * error,
        standard_error=error,
        statistic=statistic,
        df=df,
        p=None if statistic is None else t_tails(statistic, df),
    )


Numbers = Sequence[float] | NDArray[np.float64]

SINGLE_ITEM = "one item says nothing about the error"
SINGLE_ITEM_CELL = "a part of it has one item, which says nothing about the error"
SINGLE_CLUSTER_CELL = "a part of it lies in one cluster, which says nothing about the error"
NO_SPREAD_IN_A_CELL = "the items of one of its cells are all alike: nothing shows its error"


def mean_of_cells(
    values: Numbers,
    items: Sequence[str] | Ints,
    cells: Sequence[object] | Ints | None = None,
    weights: Numbers | None = None,
    *,
    times: Mapping[Any, float] | None = None,
    ends: tuple[float, float] | None = None,
    paired: bool = True,
    confidence: float = 0.95,
) -> Estimate:
    """Return the mean of values by item; with `cells` the mean of the means of cells, or the sum of these with the
    coefficients `times`. For differences of two results it is a paired comparison.

    Error and degrees of freedom are those of `cell_means`: by the contribution of each item, over all its cells. With
    one cell and one value per item that is the t test; `mean` has the same error. `n` counts values and `clusters`
    items. If values lie between two `ends`, the interval does too (`bounded`). If the error is 0 there is no interval,
    and a reason, except between ends.

    The p-value of `paired` differences against 0 is that of all sign flips if at most 12 items differ (`sign_flip_p`),
    or if all are alike; otherwise that of Student's t. It is below 1 - `confidence` if and only if the interval
    excludes 0 (`with_test`), and never without an interval.

    >>> found = mean_of_cells([1.0, 2.0, 3.0, 2.0, 1.0, 3.0], list("abcdef"))
    >>> round(found.value, 4), round(found.standard_error, 4), round(found.low, 4), found.p
    (2.0, 0.3651, 1.0614, 0.03125)
    >>> mean_of_cells([1.0, 3.0, 8.0], ["a", "b", "b"], ["x", "x", "y"]).value
    5.0
    """
    if not len(values):
        return Estimate.undefined("no values")
    d: NDArray[np.float64] = np.asarray(values, dtype=float)
    if paired:
        d = np.where(np.abs(d) <= ROUNDING_OF_VALUES, 0.0, d)
    w = np.ones(len(d)) if weights is None else np.asarray(weights, dtype=float)
    item, number = _numbered(items)
    cell, parts = _numbered(np.zeros(len(d), np.int64) if cells is None else cells)
    result, g = Estimate(None, "", n=len(d), clusters=number), None
    reach = ends
    if times is not None and cells is not None:
        g = np.array([times[cells[place]] for place in np.unique(cell, return_index=True)[1]])
        reach = None if ends is None else _reach(g, *ends)
    means = cell_means(d, w, item, cell, times=g, ends=ends)
    null = 0.0 if paired else None
    result = _with_interval(replace(result, value=means.value, reason=None), means, parts, reach, confidence, null)
    if not paired or means.units.min() < 2:
        return replace(result, statistic=None, p=None)
    p = sign_flip_p(means.contributions)
    if p is None:
        p = result.p if means.standard_error else 2.0 ** (1 - number)
    return with_test(result, p, confidence=confidence)


def _reach(times: NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """Return the ends of a sum of cells that lie between `low` and `high`."""
    up, down = float(times[times > 0].sum()), float(times[times < 0].sum())
    return up * low + down * high, up * high + down * low


def _with_interval(
    result: Estimate,
    means: CellMeans,
    parts: int,
    ends: tuple[float, float] | None,
    confidence: float,
    null: float | None,
) -> Estimate:
    """Return a mean of `parts` cells with its interval between `ends`, and with `null` Student's t against it."""
    number, fewest = result.clusters or 0, int(means.units.min())
    if fewest < 2:
        return result.without_interval(SINGLE_ITEM if number < 2 else SINGLE_ITEM_CELL)
    if ends is not None:
        # If all units are alike, the smallest cell bounds the share of units that do not occur.
        units = means.effective if means.standard_error else min(means.effective, number, fewest * parts)
        df, error = means.df or max(units - 1, 1.0), means.standard_error
        return bounded(result, error, df, ends, units=units, null=null, confidence=confidence)
    if not means.standard_error:
        return result.without_interval(NO_SPREAD if means.all_equal else NO_SPREAD_IN_A_CELL)
    return with_t_interval(result, means.standard_error, means.df, confidence=confidence, null=null)


def _numbered(names: Sequence[object] | Ints) -> tuple[Ints, int]:
    """Return codes for names, in order of first occurrence, and the number of distinct names."""
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu":
        _, first, places = np.unique(names, return_index=True, return_inverse=True)
        order = np.empty(len(first), np.int64)
        order[np.argsort(first)] = np.arange(len(first))
        return order[places], len(first)
    known: dict[object, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64), len(known)


# Medians

FEW_ROWS = 2000
"""For up to this many rows, weights are summed row by row; a matrix product would be faster only with many threads."""

FEW_VALUES = 100
"""For more rows with up to this many distinct values, weights are summed by value."""

CELLS = 4_000_000
"""The most numbers in memory at a time."""


def weighted_medians(values: Floats, codes: Ints, weights: Floats) -> Floats:
    """Return the median of the values in every draw. `weights`, of the shape (draws, clusters), has the number of times
    that the rows of a cluster are in a draw.

    `codes` has the cluster of each of `values`, from 0. The median is NaN if all weights of a draw are 0. Weights are
    summed in the order of the values. The median of a draw is near that of all rows, so rows far from it are summed by
    cluster and not one by one.

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
    """Return the positions of the two middle rows of every draw, counted from 1; for an odd number they are equal."""
    return np.stack([(totals + 1) // 2, totals // 2 + 1], axis=1)


def _middle(pairs: Floats, totals: Floats) -> Floats:
    """Return the mean of the two middle values of every draw; NaN for an empty draw."""
    found: Floats = pairs.mean(axis=1)
    found[totals == 0] = np.nan
    return found


def _by_level(steps: Ints, codes: Ints, weights: Floats, targets: Floats) -> Ints:
    """Return the levels of the middle rows."""
    counts = np.zeros((weights.shape[1], int(steps.max()) + 1))
    np.add.at(counts, (codes, steps), 1)
    sums = np.cumsum(weights @ counts, axis=1)
    return _reached(sums, targets)


def _by_row(codes: Ints, weights: Floats, targets: Floats) -> Ints:
    """Return the indices of the middle rows, for rows in the order of their values."""
    n, groups = len(codes), weights.shape[1]
    below = np.bincount(codes, (np.arange(n) < n / 2) - 0.5, minlength=groups)
    reach = 6 * math.ceil(math.sqrt(float((below**2).sum()))) + 50
    places = np.zeros(targets.shape, dtype=np.int64)
    pending = np.arange(len(weights))
    while len(pending):
        start, end = max(0, n // 2 - reach), min(n, n // 2 + reach)
        before = np.bincount(codes[:start], minlength=groups)
        outside: list[Ints] = []
        size = max(1, CELLS // (end - start))
        for first in range(0, len(pending), size):
            draws = pending[first : first + size]
            sums_before = weights[draws] @ before
            sums = sums_before[:, None] + np.cumsum(weights[draws][:, codes[start:end]], axis=1)
            places[draws] = start + _reached(sums, targets[draws])
            is_inside = (sums_before < targets[draws, 0]) & (sums[:, -1] >= targets[draws, 1])
            outside.append(draws[~(is_inside | (end - start == n))])
        pending = np.concatenate(outside)
        reach *= 8
    return places


def _reached(sums: Floats, targets: Floats) -> Ints:
    """Return the positions at which the cumulative `sums` of each draw first reach its two targets."""
    places = np.stack([(sums < targets[:, middle][:, None]).sum(axis=1) for middle in (0, 1)], axis=1)
    found: Ints = np.minimum(places, sums.shape[1] - 1)
    return found


# Resampling

Statistic = Callable[[Ints], float | None]
"""A statistic of some of the rows: takes their indices, which may repeat, and returns None if undefined."""

BATCH = 4_000_000
"""The most indices of drawn clusters that a bootstrap has in memory at a time."""
DRAWS_ALIKE = "all samples drawn again give the same value: nothing shows the error"


def jackknife(statistic: Statistic, n: int, clusters: Clusters = None, *, confidence: float = 0.95) -> Estimate:
    """Return any statistic of `n` rows, with the error from leaving out each cluster in turn.

    The error is √((G − 1) / G · Σ (θ₋g − θ̄)²), and the interval that of Student's t with G − 1 degrees of freedom
    (Tukey 1958; Efron and Stein 1981). For smooth statistics only: for a median or another quantile, use `bootstrap`.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0])
    >>> round(jackknife(lambda rows: values[rows].mean(), 4).standard_error, 4)
    0.6455
    """
    estimate, codes, groups = _of_all_rows(statistic, n, clusters)
    if estimate.value is None or estimate.reason:
        return estimate
    without = [statistic(np.flatnonzero(codes != group)) for group in range(groups)]
    undefined = sum(value is None for value in without)
    if undefined:
        return estimate.without_interval(f"undefined without one of the clusters, for {undefined} of {groups}")
    parts = np.array(without, dtype=np.float64)
    error = math.sqrt((groups - 1) / groups * float(((parts - parts.mean()) ** 2).sum()))
    return with_t_interval(estimate, error, groups - 1, confidence=confidence, scale=abs(estimate.value))


def bootstrap(
    statistic: Statistic,
    n: int,
    clusters: Clusters = None,
    *,
    strata: Clusters = None,
    method: Literal["bca", "percentile"] = "bca",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Return any statistic of `n` rows, with an interval from resampling whole clusters with replacement.

    `percentile` takes the quantiles of the draws; `bca` corrects them for bias and skewness (Efron 1987). With
    `strata`, one for each row, each stratum keeps its number of clusters; a cluster belongs to one stratum. The same
    seed gives the same interval. By `scipy.stats.bootstrap`.

    Raises `ValueError` if a cluster is in two strata.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    >>> found = bootstrap(lambda rows: float(np.median(values[rows])), 5, method="percentile")
    >>> found.value, found.low, found.high
    (3.0, 1.0, 10.0)
    """
    estimate, codes, groups = _of_all_rows(statistic, n, clusters)
    if estimate.value is None or estimate.reason:
        return estimate
    members = rows_of(codes)
    undefined = 0

    def resampled(*drawn: Ints) -> float:
        nonlocal undefined
        found = statistic(np.concatenate([members[group] for sample in drawn for group in sample]))
        undefined += found is None
        return np.nan if found is None else found

    samples = _strata(codes, groups, strata)
    return _draw(estimate, resampled, samples, method, resamples, seed, confidence, lambda: undefined, vectorized=False)


def bootstrap_mean(
    values: Values,
    clusters: Clusters = None,
    *,
    strata: Clusters = None,
    method: Literal["bca", "percentile"] = "bca",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Return the mean of the values that are not missing, with the interval of `bootstrap`, many times faster.

    >>> found = bootstrap_mean([0, 0, 1, 1, 1, 1, 1, 1], method="percentile")
    >>> found.value, found.low, found.high
    (0.75, 0.375, 1.0)
    """
    numbers = read_values(values)
    codes = cluster_codes(clusters, len(numbers))
    present = ~np.isnan(numbers)
    estimate = mean(numbers, codes, confidence=confidence, null=0.0)
    if estimate.value is None or estimate.reason:
        return estimate
    if strata is not None:
        strata = cluster_codes(strata, len(numbers))[present]
    numbers, codes = numbers[present], np.unique(codes[present], return_inverse=True)[1].astype(np.int64)
    sums, counts = np.bincount(codes, weights=numbers), np.bincount(codes)

    def resampled(*drawn: Ints, axis: int) -> Floats:
        total: Floats = sum((sums[sample].sum(axis=axis) for sample in drawn), np.zeros(1))
        rows: Floats = sum((counts[sample].sum(axis=axis) for sample in drawn), np.zeros(1))
        found: Floats = total / rows
        return found if np.ndim(drawn[0]) > 1 else found[0]

    samples = _strata(codes, len(sums), strata)
    return _draw(estimate, resampled, samples, method, resamples, seed, confidence, lambda: 0, vectorized=True)


def _of_all_rows(statistic: Statistic, n: int, clusters: Clusters) -> tuple[Estimate, Ints, int]:
    """Return the statistic of all rows, with a reason if there is no interval; the code of the cluster of each row; and
    the number of clusters."""
    codes = cluster_codes(clusters, n)
    groups = int(codes.max()) + 1 if n else 0
    value = statistic(np.arange(n)) if n else None
    if value is None:
        return Estimate.undefined("no rows" if n == 0 else "undefined for these rows", n=n), codes, groups
    estimate = Estimate(float(value), SINGLE_CLUSTER if groups < 2 else None, n=n, clusters=groups)
    return estimate, codes, groups


def _strata(codes: Ints, groups: int, strata: Clusters) -> list[Ints]:
    """Return the clusters of each stratum."""
    if strata is None:
        return [np.arange(groups)]
    layers = cluster_codes(strata, len(codes))
    of_group = np.zeros(groups, dtype=np.int64)
    of_group[codes] = layers
    if (of_group[codes] != layers).any():
        raise ValueError("a cluster lies in two strata")
    return rows_of(of_group)


def _draw(
    estimate: Estimate,
    resampled: Callable[..., Any],
    samples: list[Ints],
    method: str,
    resamples: int,
    seed: int,
    confidence: float,
    undefined: Callable[[], int],
    *,
    vectorized: bool,
) -> Estimate:
    """Return an estimate with the interval of a bootstrap over `samples`, the clusters of each stratum. `undefined`
    returns the number of draws in which the statistic `resampled` was undefined."""
    from scipy.stats import bootstrap as scipy_bootstrap

    two_sided(confidence)
    if any(len(sample) < 2 for sample in samples):
        return estimate.without_interval("a stratum has one cluster: nothing shows how far its clusters differ")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        drawn = scipy_bootstrap(
            samples,
            resampled,
            n_resamples=resamples,
            batch=max(1, BATCH // sum(map(len, samples))),
            vectorized=vectorized,
            method="BCa" if method == "bca" else "percentile",
            confidence_level=confidence,
            rng=np.random.default_rng(seed),
        )
    if undefined():
        return estimate.without_interval(f"undefined in {undefined()} of the samples drawn again")
    error = float(drawn.standard_error)
    if error <= 1e-12 * abs(estimate.value or 0):
        return replace(estimate, standard_error=None, df=None, statistic=None, p=None).without_interval(DRAWS_ALIKE)
    low, high = (float(bound) for bound in drawn.confidence_interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        return estimate.without_interval("all samples drawn again lie on one side: the correction for bias is infinite")
    return replace(estimate, low=low, high=high, standard_error=error, df=None, statistic=None, p=None)


# Means across facets


def generalized(
    result: Estimate,
    facets: Sequence[Estimate],
    *,
    ends: tuple[float, float] | None = None,
    null: float | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Return a mean with an interval that generalises to other levels of some facets, and not only to other items.

    `result` is the mean with its interval over items, and each of `facets` the same mean with its error over the levels
    of a facet, such as judges, in place of items (`mean_of_cells`). Items, judges and prompts are independent samples,
    so their variances add up (two-way clusters: Cameron, Gelbach and Miller 2011). Each has the degrees of freedom of
    its own levels, which may be two; so the half-widths of the intervals are added as squares, Σ t² V, since a single t
    with the degrees of freedom of the sum (Satterthwaite) covers too seldom for few levels (variances recovered from
    intervals: Howe 1974; Zou and Donner 2008). The variance within a score, which every facet includes, is not
    subtracted, so the interval is conservative, and never shorter than that over items.

    The interval stays between `ends`. With `null` there is a test against it, whose p is below 1 - `confidence` if and
    only if the interval, before it is cut at an end, excludes it. Without an interval over items, or with an error of 0
    over levels, there is no interval, and a reason.

    >>> items = Estimate(3.0, low=2.8, high=3.2, standard_error=0.1, df=99)
    >>> judges = Estimate(3.0, standard_error=0.15, df=2)
    >>> wide = generalized(items, [judges], ends=(1, 5))
    >>> round(wide.low, 2), round(wide.high, 2), round(wide.standard_error, 3)
    (2.32, 3.68, 0.18)
    """
    bare = replace(result, low=None, high=None, statistic=None, df=None, p=None)
    if result.value is None or result.low is None or result.high is None:
        return bare
    parts = [(result.standard_error, result.df), *((estimate.standard_error, estimate.df) for estimate in facets)]
    reaches = []
    for facet in facets:
        t = None if facet.df is None else t_quantile(two_sided(confidence), facet.df)
        if t is None or facet.standard_error is None or facet.standard_error <= ROUNDING:
            return bare.without_interval(facet.reason or "the levels of a facet do not differ: nothing shows the error")
        reaches.append(t * facet.standard_error)
    low = result.value - math.hypot(result.value - result.low, *reaches)
    high = result.value + math.hypot(result.high - result.value, *reaches)
    error = math.sqrt(sum((part or 0.0) ** 2 for part, _ in parts))
    wide = replace(bare, low=low, high=high, standard_error=error)
    if null is not None:
        freedom = sum((part or 0.0) ** 4 / df for part, df in parts if df)
        df = error**4 / freedom
        t = t_quantile(two_sided(confidence), df)
        half = result.value - low if result.value > null else high - result.value
        if t is not None:
            statistic = t * (result.value - null) / half
            wide = replace(wide, statistic=statistic, df=df, p=t_tails(statistic, df))
    if ends is None:
        return wide
    return replace(wide, low=max(low, min(ends[0], result.value)), high=min(high, max(ends[1], result.value)))


# Products and standard deviations, on the scale of logarithms

DIVISOR_MAY_BE_0 = "the divisor may be 0: its interval holds 0"
MAX_LOG_REACH = 300.0
"""The largest distance that the interval of a standard deviation reaches on the scale of logarithms, beyond any
practical bound."""


@dataclass(frozen=True)
class Factor:
    """A figure with its interval and standard error, to a power."""

    value: float
    low: float
    high: float
    error: float | None
    power: float = 1.0

    def negated(self) -> Factor:
        """Return the figure with the other sign."""
        return Factor(-self.value, -self.high, -self.low, self.error, self.power)

    @property
    def lower(self) -> float:
        """The distance from the power of the figure to the lower end of its interval, on the scale of logarithms."""
        return abs(self.power) * (self._below if self.power > 0 else self._above)

    @property
    def upper(self) -> float:
        """The distance to the upper end."""
        return abs(self.power) * (self._above if self.power > 0 else self._below)

    @property
    def _below(self) -> float:
        return math.log(self.value / self.low) if self.low > 0 else math.inf

    @property
    def _above(self) -> float:
        return math.log(self.high / self.value)


def product_interval(
    constant: float, factors: Sequence[Factor], value: float, error: float | None
) -> tuple[float, float] | str | None:
    """Return the interval of `constant` times a product of powers of figures, with its `value` and standard `error`; or
    the reason why there is none.

    None if the intervals of the factors do not determine it: two of them include both signs, or one whose power is not
    1 does, or items differ in the factors and not in the product, or the product has another sign than the value.

    >>> twice, once = Factor(0.2, 0.077, 0.386, 0.074), Factor(0.1, 0.021, 0.265, 0.056, -1)
    >>> [round(end, 2) for end in product_interval(1, [twice, once], 2.0, 1.34)]
    [0.51, 10.84]
    >>> product_interval(1, [twice, Factor(0.1, 0.0, 0.265, 0.056, -1)], 2.0, 1.34)
    'the divisor may be 0: its interval holds 0'
    """
    positive: list[Factor] = []
    signed: list[Factor] = []
    for factor in factors:
        if factor.high < 0 or (factor.high <= 0 and factor.value < 0):
            if factor.power != int(factor.power):
                return None
            constant *= 1 if factor.power % 2 == 0 else -1
            factor = factor.negated()  # noqa: PLW2901
        elif factor.low < 0 <= factor.value and factor.power != int(factor.power):
            factor = replace(factor, low=0.0)  # noqa: PLW2901 (below there is no root)
        (positive if factor.low >= 0 and factor.value >= 0 else signed).append(factor)
    if any(factor.power < 0 and factor.low <= 0 for factor in factors if factor.high >= 0):
        return DIVISOR_MAY_BE_0
    if len(signed) > 1 or any(factor.power != 1 for factor in signed):
        return None
    sign = constant * (-1 if signed and signed[0].value < 0 else 1)
    if value * sign < 0 and abs(value) > ROUNDING:
        return None
    if signed:
        interval = _signed(signed[0], positive, value / constant, error and error / abs(constant))
    else:
        interval = _positive(positive, value / constant, error and error / abs(constant))
    if interval is None or isinstance(interval, str):
        return interval
    low, high = sorted((constant * interval[0], constant * interval[1]))
    return min(low, value), max(high, value)


def _positive(factors: Sequence[Factor], value: float, error: float | None) -> tuple[float, float] | None:
    """Return the interval of a product of figures that are not below 0."""
    if any(factor.value <= 0 for factor in factors):
        # A factor is 0: its upper end and those of all others may coincide.
        ends = [factor.high if factor.power > 0 else factor.low for factor in factors]
        return 0.0, math.prod(end**factor.power for end, factor in zip(ends, factors, strict=True))
    shared = _variance_ratio(
        sum((factor.power * (factor.error or 0.0) / factor.value) ** 2 for factor in factors), error, value
    )
    if shared is None:
        return None
    below, above = (math.sqrt(shared * sum(reach**2 for reach in side)) for side in _log_reaches(factors))
    return value * math.exp(-below), value * math.exp(above)


def _signed(factor: Factor, others: Sequence[Factor], value: float, error: float | None) -> tuple[float, float] | None:
    """Return the interval of a figure of either sign times a product of others that are not below 0, on its own scale,
    since it has no logarithm."""
    if any(other.value <= 0 for other in others):
        return None
    times = math.prod(other.value**other.power for other in others)
    below, above = (times * math.sqrt(sum(reach**2 for reach in side)) for side in _relative_reaches(others))
    spread = sum((other.power * (other.error or 0.0) / other.value) ** 2 for other in others)
    shared = _variance_ratio((times * (factor.error or 0.0)) ** 2 + value**2 * spread, error, 1.0)
    if shared is None:
        return None
    first, second = (below, above) if factor.value > 0 else (above, below)
    down = math.sqrt(shared) * math.hypot(times * (factor.value - factor.low), factor.value * first)
    up = math.sqrt(shared) * math.hypot(times * (factor.high - factor.value), factor.value * second)
    return value - down, value + up


def _variance_ratio(independent: float, error: float | None, value: float) -> float | None:
    """Return the ratio of the relative variance of a product, (error / value)², to that of independent factors,
    `independent`; None if the product has no variance and its factors have some."""
    if independent <= ROUNDING**2:
        return 1.0
    if error is None or error <= ROUNDING:
        return None
    return (error / value) ** 2 / independent


def _log_reaches(factors: Sequence[Factor]) -> tuple[list[float], list[float]]:
    """Return the distances of each factor's interval below and above it, on the scale of logarithms."""
    return [factor.lower for factor in factors], [factor.upper for factor in factors]


def _relative_reaches(factors: Sequence[Factor]) -> tuple[list[float], list[float]]:
    """Return the same distances as shares of the factors."""
    below, above = _log_reaches(factors)
    return [1 - math.exp(-reach) for reach in below], [math.exp(reach) - 1 for reach in above]


def deviation_interval(
    value: float, error: float, df: float, units: int, *, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of a standard deviation of `units` values, on the scale of its logarithm, where it is less
    skewed; None without degrees of freedom.

    Few values underestimate the tails, so their kurtosis, and the error, is too small. The error is taken to be at
    least that of normal values, 1 / √(2 (m - 1)) of the deviation.

    >>> [round(end, 2) for end in deviation_interval(1.0, 0.1, 9, 10)]
    [0.59, 1.7]
    """
    quantile = t_quantile(two_sided(confidence), df)
    if quantile is None or units < 2 or value <= 0:
        return None
    reach = min(quantile * max(error / value, 1 / math.sqrt(2 * (units - 1))), MAX_LOG_REACH)
    return value * math.exp(-reach), value * math.exp(reach)


# One-sided bounds

LEAST_SKEW = 1e-4
"""A smaller skewness changes no bound, and its gamma distribution has too large a shape to be computed."""


class _Tail(NamedTuple):
    """The distribution of the truth above a figure: Student's t with a skewness."""

    middle: float
    error: float
    df: float
    skew: float

    def quantile(self, level: float) -> float:
        """Return the value above which the truth lies with the probability `level`."""
        from scipy.special import gammainccinv, ndtr

        t = t_quantile(1 - level, self.df)
        assert t is not None
        if self.skew > LEAST_SKEW:
            shape = 4 / self.skew**2
            t = float(gammainccinv(shape, ndtr(-t)) - shape) * self.skew / 2
        return self.middle + self.error * t

    def above(self, limit: float) -> float:
        """Return the probability that the truth lies above a limit."""
        from scipy.special import gammaincc, ndtri, stdtr

        reached = (limit - self.middle) / self.error
        if self.skew > LEAST_SKEW:
            shape = 4 / self.skew**2
            reached = -float(ndtri(gammaincc(shape, max(0.0, shape + 2 * reached / self.skew))))
        return float(stdtr(self.df, -reached))


class _Alike(NamedTuple):
    """The distribution of the truth above a figure whose `units` are all alike: `gap` is the distance from their value
    to the end of the scale."""

    value: float
    gap: float
    units: float

    def quantile(self, level: float) -> float:
        """Return the value above which the truth lies with the probability `level`."""
        return self.value + self.gap * -math.expm1(math.log(level) / self.units)

    def above(self, limit: float) -> float:
        """Return the probability that the truth lies above a limit."""
        if limit <= self.value:
            return 1.0
        return max(0.0, 1 - (limit - self.value) / self.gap) ** self.units if self.gap > 0 else 0.0


def upper_bound(
    result: Estimate, level: float, *, farthest: float | None = None, end: float | None = None
) -> float | None:
    """Return the value above which the truth lies with a probability of at most `level`; None for a figure without an
    error.

    `farthest` is the largest observed distance of a unit from 0, and `end` the upper end of the scale. Without
    `farthest` the bound is that of Student's t; without `end` there is none for units that are all alike.

    >>> few = Estimate(0.05, standard_error=0.0284, df=59)
    >>> round(upper_bound(few, 0.05), 3), round(upper_bound(few, 0.05, farthest=1), 3)
    (0.097, 0.123)
    >>> alike = Estimate(0.0, standard_error=0.0, df=59)
    >>> round(upper_bound(alike, 0.05, end=1), 4)
    0.0487
    """
    bound = max((tail.quantile(level) for tail in _tails(result, farthest, end)), default=None)
    if bound is None or not math.isfinite(bound):
        return end if bound is not None else None
    return bound if end is None else min(bound, end)


def p_value_above(
    result: Estimate, limit: float, *, farthest: float | None = None, end: float | None = None
) -> float | None:
    """Return the p-value of a truth at `limit` or above: the level at which `upper_bound` equals the limit.

    >>> few = Estimate(0.05, standard_error=0.0284, df=59)
    >>> round(p_value_above(few, 0.1), 3), round(p_value_above(few, 0.1, farthest=1), 3)
    (0.042, 0.144)
    """
    return max((tail.above(limit) for tail in _tails(result, farthest, end)), default=None)


def negated(result: Estimate) -> Estimate:
    """Return the same figure with the other sign; its upper bounds are the lower bounds of the original.

    >>> negated(Estimate(0.5, low=0.2, high=0.9)).low
    -0.9
    """
    value, low, high, statistic = (
        None if number is None else -number for number in (result.value, result.high, result.low, result.statistic)
    )
    return replace(result, value=value, low=low, high=high, statistic=statistic)


def _tails(result: Estimate, farthest: float | None, end: float | None) -> Iterator[_Tail | _Alike]:
    """Yield the distributions of which the one with the highest bound applies; none for a figure without an error."""
    value, error, df = result.value, result.standard_error, result.df
    if value is None or error is None or df is None or df < 1:
        return
    n = df + 1
    if error <= ROUNDING:
        if end is not None:
            yield _Alike(value, max(0.0, end - value), n)
        return
    yield _Tail(value, error, df, 0.0)
    if farthest is not None and farthest > value:
        gap = farthest - value
        middle = value + gap / (n + 1)
        squares = error**2 * n * (n - 1) + gap**2 * n / (n + 1)
        error = math.sqrt(squares / (n * (n + 1)))
        yield _Tail(middle, error, df, (farthest - middle) / ((n + 1) * error))
