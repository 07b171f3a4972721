"""Intervals of shares, of means, and of any statistic, with rows that may come in clusters: the public face.

Intervals of what lies between two ends: means on a scale, ratios, F-measures, agreement, and differences of these.

A value is taken as the share p that it has of the way from the low end to the high one, with the standard error s and
m units behind it. Two intervals are united:

- Student's t in log-odds, logit(p) ± t · s′ / (p (1 - p)), which is longer away from the nearer end
- p ± t · s′, cut at the ends

s′² = s² + p (1 - p) (1 - 2p)² / m²: few units near an end hide what lies far off, so one more of them is reckoned with
there. In the middle of the scale, and of many units, nothing is added.

Where all units are alike, s is 0 and says nothing. Then the units that none of m showed have at most the share
1 - (α/2)^(1/m), and may lie at either end. Where all are at one end, that is the interval of Clopper and Pearson.

Means of rows that may come in clusters, and the interval and test of Student's t.

Means of cells that count alike, of weighted values, with an error that is clustered by item.

Medians of weighted rows, for many weightings at a time: what a bootstrap of medians is made of.

Intervals of any statistic, from leaving out clusters of rows or drawing them again.

Means that generalise: an interval over the items, widened to speak of other judges and other prompts as well.

The error of a mean of cells, by what each independent unit contributes to it.

A leaf cell is a weighted mean D = Σ w d of m units (items, or clusters of items). With the weight w_i of unit i
(Σ w_i = 1), S_k = Σ w_i^k and the influence r_i = Σ w d − w_i D of the unit's values d:

- E = S2 − 2 S3 + S2² is Σ E[r_i²] where units have the variance 1, so σ² = Σ r_i² / E and Var D = S2 σ², without bias
  if units are alike. Enlarged influences p_i = r_i √(S2 / E) have Σ p_i² = Var D.
- The degrees of freedom are those of Bell and McCaffrey (2002): tr(G)² / tr(G²) of the covariance matrix G of the r_i.
  With equal variances that is E² / T, T = S2⁴ + 2 S2 S4 − 4 S2² S3 + 2 S3² + S4 (1 + 2 S2) − 4 S5. Equal weights have
  E = (m − 1) / m², enlarge by √(m / (m − 1)) and have m − 1 degrees of freedom.

A figure is Σ_c g_c D_c. A unit may lie in several cells, and its influences add up: P_i = Σ_c g_c p_ic, Var = Σ_i P_i².
Its degrees of freedom follow Satterthwaite (1946), by unit: (Σ s_i)² / Σ t_i² with s_i = Σ_c g_c² v_ic and t_i = Σ_c
g_c² v_ic √κ_c, where v_ic = σ_c² w_ic² and κ_c = S2² / (S4 df_c). Of one cell that is df_c, and of cells that share no
unit (Σ V_c)² / Σ (V_c² / df_c). A cell of few units may look alike by chance, and then hides that its error is the
largest; so the smaller is taken of this, and of the same as if all cells had one variance of a unit, which follows
from their weights alone. Degrees of freedom are at least 1, and no whole numbers.

A cell all of whose units are alike shows no error, although it has one. On a scale of length L it is reckoned with one
more unit, half of which lies at each end: σ² = L² q, with the variance q of m units at their share x of the way and of
half a unit at 0 and at 1, and m − 1 degrees of freedom. Without a scale the error is unknown, and so it is if all units
of all cells are alike.

Intervals on the scale of logarithms: of standard deviations, and of products, quotients and powers of figures, from
those of their factors.

A quotient of shares near 0 is skewed, and Student's t misses the truth on the longer side: of .2 / .1 of 30 items it
holds it 89 % of the time. The method of variance estimates recovery (Zou and Donner 2008, "Construction of confidence
limits about effect measures: a general approach") takes how far each factor's own interval reaches on the scale of
logarithms, where products are sums: l below a factor x with the power k and u above it. Below the product lie the l of
those with k > 0 and the u of those with k < 0, and the distances add up by their squares,

    log of the low end = log of the value - √(c · Σ k² l²).

Factors over the same items are correlated. Their covariance follows from the error of the product, whose square on this
scale is V: with the errors s of the factors, c = V / Σ k² (s / x)², which is 1 of factors that are independent.

Each factor's interval knows the ends of its scale, and of a factor at 0 or of items that are all alike. A power has the
same power of its interval, and a quotient turned round the inverse of its own, since both are the same on this scale.

One-sided bounds: how far above a figure the truth may lie, if few of its units lie far off.

Student's t takes units to be spread evenly to both sides. Of two sides that differ in few items it promises too much:
if 1 of 10 items differs, 60 items call the true difference of 0.1 smaller than that in 14 % of cases, at a level of
5 %. So the bound reckons with one more unit, which is as far off as the farthest that was met, and with the skew that
so rare a unit has:

- the mean m′ and the standard error s′ are those of the units and this one
- if no unit lies above f, the mean has a skew of at most γ = (f − m′) / (n′ s′): that of units of two kinds
- the bound is m′ + s′ q; q is the quantile of Pearson's type III (a gamma distribution) with the skew γ, at the
  probability at which t is that quantile of the normal distribution; and it is no nearer than that of Student's t

Of shares this is nearly the bound of Clopper and Pearson (1934), whose beta distribution has the mean of one more
success. If all n units are alike, the bound is exact: so many agree with the chance (1 − x)ⁿ if a share x lies at the
end of the scale.

The test of a difference by turning units round, and intervals that say the same as their test.

If two sides do not differ, each unit might as well have its difference with the other sign (Fisher 1935, "The Design of
Experiments", section 21). The p-value is the share of all ways of turning units round that move the figure as far from
0 as it is. It takes nothing for granted but symmetry, and counts all 2^n ways, where Student's t of few units takes
their differences for normal.
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
from tripos_warehouse.statistics.result import (
    Clusters,
    Floats as result_Floats,
    Ints,
    StatisticResult,
    Values,
    cluster_codes,
    read_values,
    rows_of,
    t_quantile,
    t_tails,
    two_sided,
    z_quantile,
)

MOST_FLIPPED = 12
"""With more units that differ, Student's t is as good, and all ways are many."""


def flipped_p(contributions: result_Floats) -> float | None:
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


ROUNDING = 1e-9
"""An error, or a distance from an end, below this is what rounding leaves of none."""
FEW_OF_A_CLASS = 10
"""A class of fewer items, or that is right in fewer than half as many, says too little of its own error to be one of
several in a mean over classes."""


def shares_between(
    share: result_Floats, error: result_Floats, df: result_Floats, units: result_Floats, confidence: float = 0.95
) -> list[result_Floats]:
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
    found_low: result_Floats = np.where(alike, share - unseen * share, low)
    found_high: result_Floats = np.where(alike, share + unseen * (1 - share), high)
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


def _nearest(share: result_Floats, error: result_Floats, units: result_Floats) -> result_Floats:
    """Return the share, or the nearest to it that can have such an error: that of m units is at most
    √(p (1 − p) / (m − 1)). At an end of the scale, log-odds have none."""
    spread = np.minimum(0.25, np.maximum(share * (1 - share), (units - 1) * error**2))
    half = np.sqrt(np.maximum(0.0, 0.25 - spread))
    found: result_Floats = np.where(share <= 0.5, np.maximum(share, 0.5 - half), np.minimum(share, 0.5 + half))
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


def _enlarged(share: result_Floats, error: result_Floats, units: result_Floats) -> result_Floats:
    """Return the error with that of a unit which was not met."""
    found: result_Floats = np.sqrt(error**2 + share * (1 - share) * (1 - 2 * share) ** 2 / units**2)
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


ROUNDING_OF_VALUES = 1e-12
"""Units whose values differ by less than this, or than this share of the largest, are alike: rounding leaves as much.
"""


@dataclass(frozen=True)
class CellMeans:
    """The mean of the means of cells, or another sum of them. `standard_error` and `df` are 0 if nothing shows them."""

    value: float
    standard_error: float
    df: float
    contributions: result_Floats
    """The part of `value` that each unit adds: they sum up to it."""
    units: Ints
    """The units of each cell."""
    effective: float
    """How many units that weigh alike would say as much (Kish 1965)."""
    alike: bool
    """True if all units of all cells are alike, and no cell counts against another."""


def cell_means(
    values: result_Floats,
    weights: result_Floats,
    unit: Ints,
    cell: Ints,
    *,
    times: result_Floats | None = None,
    ends: tuple[float, float] | None = None,
) -> CellMeans:
    """Return the mean of the means of cells of weighted values, or their sum with each `times` a number. `unit` and
    `cell` number the unit and the cell of each value from 0, all numbers used; `ends` are those of the scale.

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
    means: result_Floats = np.bincount(cell, weights * values, cells) / total
    # A place is a unit within a cell.
    places, where = np.unique(cell * np.int64(units) + unit, return_inverse=True)
    of_cell, of_unit = places // units, places % units
    w: result_Floats = np.bincount(where, share).astype(float)
    r = np.bincount(where, share * (values - means[cell]))
    g: result_Floats = np.full(cells, 1 / cells) if times is None else times
    contributions: result_Floats = np.bincount(of_unit, np.bincount(where, share * values) * g[of_cell], units).astype(
        float
    )
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
    same = bool(alike.all()) and float(np.ptp(means)) <= least and bool((g > 0).all())
    weighed = np.bincount(of_unit, np.abs(g[of_cell]) * w, units)
    found = CellMeans(value, 0.0, 0.0, contributions, m, float(weighed.sum() ** 2 / np.square(weighed).sum()), same)
    if m.min() < 2 or same or (ends is None and alike.any()):
        return found
    hidden = np.zeros(cells)
    if ends is not None:
        low, length = ends[0], ends[1] - ends[0]
        hidden[alike] = length**2 * _unseen((means[alike] - low) / length, m[alike])
    p = np.where(alike[of_cell], 0.0, r * enlarged[of_cell] * g[of_cell])
    total_variance = float(np.square(np.bincount(of_unit, p, units)).sum() + (g**2 * hidden * s2).sum())
    root_of_kappa = np.sqrt(s2**2 / (s4 * np.where(alike, np.maximum(m - 1.0, 1.0), df)))
    observed, equal = np.where(alike, hidden, variance), np.ones(cells)
    df_of_all = min(_freedom(g**2 * each, w, root_of_kappa, of_cell, of_unit) for each in (observed, equal))
    of_units = np.sqrt(np.bincount(of_unit, observed[of_cell] * np.square(w * g[of_cell]), units))
    found = replace(found, effective=float(of_units.sum() ** 2 / np.square(of_units).sum()))
    # Rounding leaves whole numbers next to themselves.
    return replace(found, standard_error=float(np.sqrt(total_variance)), df=max(round(df_of_all, 9), 1.0))


def _freedom(
    variance: result_Floats, w: result_Floats, root_of_kappa: result_Floats, of_cell: Ints, of_unit: Ints
) -> float:
    """Return Satterthwaite's degrees of freedom by unit, of cells with these variances of a unit."""
    v = variance[of_cell] * w**2
    s, t = np.bincount(of_unit, v), np.bincount(of_unit, v * root_of_kappa[of_cell])
    return float(s.sum() ** 2 / np.square(t).sum())


def _unseen(share: result_Floats, units: Ints) -> result_Floats:
    """Return the variance of `units` at a share of a scale of length 1, and of half a unit at each of its ends."""
    middle = (units * share + 0.5) / (units + 1)
    found: result_Floats = (units * share**2 + 0.5) / (units + 1) - middle**2
    return found


ALIKE = "all are alike: nothing shows the error"
ONE_CLUSTER = "all in one cluster: nothing shows how far clusters differ"


def mean(
    values: Values,
    clusters: Clusters = None,
    *,
    confidence: float = 0.95,
    null: float = 0.0,
    ends: tuple[float, float] | None = None,
) -> StatisticResult:
    """The mean of the values that are there, its error by cluster, and Student's t against `null`.

    Error and degrees of freedom are those of `cell_means` of one cell, whose units are the clusters: if every row is
    its own cluster s / √n and n − 1, and fewer degrees of freedom the more the sizes of clusters differ. `n` counts
    rows. If values lie between two `ends`, the interval does too (`bounded`). If all clusters are alike there is an
    interval between ends alone.

    >>> found = mean([1, 2, 3, 4])
    >>> found.value, round(found.standard_error, 4), found.df
    (2.5, 0.6455, 3.0)
    >>> round(mean([1, 1, 3, 3], clusters=["a", "a", "b", "b"]).standard_error, 4)
    1.0
    """
    numbers = read_values(values)
    codes = cluster_codes(clusters, len(numbers))
    there = ~np.isnan(numbers)
    left_out = int((~there).sum())
    numbers = numbers[there]
    n = len(numbers)
    if n == 0:
        return StatisticResult.undefined("no values", left_out=left_out)
    _, codes = np.unique(codes[there], return_inverse=True)
    value = float(numbers.mean())
    groups = int(codes.max()) + 1
    base = StatisticResult(value, n=n, clusters=groups, left_out=left_out)
    if groups < 2:
        return base.without_interval("one value: nothing shows how far values differ" if n == 1 else ONE_CLUSTER)
    means = cell_means(numbers, np.ones(n), codes, np.zeros(n, np.int64), ends=ends)
    if ends is not None:
        df = means.df or groups - 1
        units = means.effective
        return bounded(base, means.standard_error, df, ends, units=units, null=null, confidence=confidence)
    return with_t(base, means.standard_error, means.df or groups - 1, confidence=confidence, null=null)


def with_t(
    found: StatisticResult, error: float, df: float, *, confidence: float = 0.95, null: float = 0.0, scale: float = 0.0
) -> StatisticResult:
    """Return a figure with the interval and the test of Student's t, from its standard error and degrees of freedom.

    Without an error there is neither, and a reason. `scale` is how large the values are of which the figure is made: an
    error that rounding may leave of such is none.

    >>> found = with_t(StatisticResult(2.0), 0.5, 10)
    >>> round(found.low, 3), round(found.high, 3), found.statistic, round(found.p, 4)
    (0.886, 3.114, 4.0, 0.0025)
    """
    t = t_quantile(two_sided(confidence), df)
    if found.value is None or t is None:
        return found
    if error <= scale * 1e-12:
        return found.without_interval(ALIKE)
    statistic = (found.value - null) / error
    return replace(
        found,
        low=found.value - t * error,
        high=found.value + t * error,
        standard_error=error,
        statistic=statistic,
        df=df,
        p=t_tails(statistic, df),
    )


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


FEW_ROWS = 2000
"""So many rows are added up one by one. A product of matrices would be fast too, but that its threads cost more than
they bring."""

FEW_VALUES = 100
"""Of more rows with up to so many different values, the weights of each value are added up at once."""

CELLS = 4_000_000
"""The numbers that are held at a time."""


def weighted_medians(values: result_Floats, codes: Ints, weights: result_Floats) -> result_Floats:
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


def _targets(totals: result_Floats) -> result_Floats:
    """Return the places of the two middle rows of every draw, counted from 1; of an odd number they are one."""
    return np.stack([(totals + 1) // 2, totals // 2 + 1], axis=1)


def _middle(pairs: result_Floats, totals: result_Floats) -> result_Floats:
    found: result_Floats = pairs.mean(axis=1)
    found[totals == 0] = np.nan
    return found


def _by_level(steps: Ints, codes: Ints, weights: result_Floats, targets: result_Floats) -> Ints:
    """Return the steps on which the middle rows are."""
    counts = np.zeros((weights.shape[1], int(steps.max()) + 1))
    np.add.at(counts, (codes, steps), 1)
    sums = np.cumsum(weights @ counts, axis=1)
    return _reached(sums, targets)


def _by_row(codes: Ints, weights: result_Floats, targets: result_Floats) -> Ints:
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


def _reached(sums: result_Floats, targets: result_Floats) -> Ints:
    """Return where growing `sums` first reach the two targets of each draw."""
    places = np.stack([(sums < targets[:, middle][:, None]).sum(axis=1) for middle in (0, 1)], axis=1)
    found: Ints = np.minimum(places, sums.shape[1] - 1)
    return found


Statistic = Callable[[Ints], float | None]
"""A statistic of some of the rows: is given their numbers, also several times the same, and may be undefined."""

BATCH = 4_000_000
"""The cells that a bootstrap holds at a time."""
DRAWS_ALIKE = "all samples drawn again give the same value: nothing shows the error"


def jackknife(statistic: Statistic, n: int, clusters: Clusters = None, *, confidence: float = 0.95) -> StatisticResult:
    """Any statistic of `n` rows, with the error that leaving out one cluster after another shows.

    √((G − 1) / G · Σ (θ₋g − θ̄)²), and Student's t with G − 1 degrees of freedom (Tukey 1958; Efron and Stein 1981).
    For smooth statistics: of a median or another quantile, take `bootstrap`.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0])
    >>> round(jackknife(lambda rows: values[rows].mean(), 4).standard_error, 4)
    0.6455
    """
    whole, codes, groups = _whole(statistic, n, clusters)
    if whole.value is None or whole.reason:
        return whole
    without = [statistic(np.flatnonzero(codes != group)) for group in range(groups)]
    undefined = sum(each is None for each in without)
    if undefined:
        return whole.without_interval(f"undefined without one of the clusters, for {undefined} of {groups}")
    parts = np.array(without, dtype=np.float64)
    error = math.sqrt((groups - 1) / groups * float(((parts - parts.mean()) ** 2).sum()))
    return with_t(whole, error, groups - 1, confidence=confidence, scale=abs(whole.value))


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
) -> StatisticResult:
    """Any statistic of `n` rows, with an interval from drawing whole clusters again, with replacement.

    `percentile` takes the quantiles of the draws; `bca` corrects them for bias and skewness (Efron 1987). With
    `strata`, one for each row, as many clusters are drawn from each stratum as it has; a cluster lies in one stratum.
    The same seed gives the same interval. By `scipy.stats.bootstrap`.

    Raises `ValueError` where a cluster lies in two strata.

    >>> values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    >>> found = bootstrap(lambda rows: float(np.median(values[rows])), 5, method="percentile")
    >>> found.value, found.low, found.high
    (3.0, 1.0, 10.0)
    """
    whole, codes, groups = _whole(statistic, n, clusters)
    if whole.value is None or whole.reason:
        return whole
    members = rows_of(codes)
    undefined = 0

    def resampled(*drawn: Ints) -> float:
        nonlocal undefined
        found = statistic(np.concatenate([members[group] for sample in drawn for group in sample]))
        undefined += found is None
        return np.nan if found is None else found

    samples = _strata(codes, groups, strata)
    return _draw(whole, resampled, samples, method, resamples, seed, confidence, lambda: undefined, vectorized=False)


def bootstrap_mean(
    values: Values,
    clusters: Clusters = None,
    *,
    strata: Clusters = None,
    method: Literal["bca", "percentile"] = "bca",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> StatisticResult:
    """The mean of the values that are there, with an interval as `bootstrap` draws it, only many times faster.

    >>> found = bootstrap_mean([0, 0, 1, 1, 1, 1, 1, 1], method="percentile")
    >>> found.value, found.low, found.high
    (0.75, 0.375, 1.0)
    """
    numbers = read_values(values)
    codes = cluster_codes(clusters, len(numbers))
    there = ~np.isnan(numbers)
    whole = mean(numbers, codes, confidence=confidence)
    if whole.value is None or whole.reason:
        return whole
    if strata is not None:
        strata = cluster_codes(strata, len(numbers))[there]
    numbers, codes = numbers[there], np.unique(codes[there], return_inverse=True)[1].astype(np.int64)
    sums, counts = np.bincount(codes, weights=numbers), np.bincount(codes)

    def resampled(*drawn: Ints, axis: int) -> result_Floats:
        total: result_Floats = sum((sums[sample].sum(axis=axis) for sample in drawn), np.zeros(1))
        rows: result_Floats = sum((counts[sample].sum(axis=axis) for sample in drawn), np.zeros(1))
        found: result_Floats = total / rows
        return found if np.ndim(drawn[0]) > 1 else found[0]

    samples = _strata(codes, len(sums), strata)
    return _draw(whole, resampled, samples, method, resamples, seed, confidence, lambda: 0, vectorized=True)


def _whole(statistic: Statistic, n: int, clusters: Clusters) -> tuple[StatisticResult, Ints, int]:
    """Return the statistic of all rows, with a reason where there is no interval; the cluster of each row; their
    number."""
    codes = cluster_codes(clusters, n)
    groups = int(codes.max()) + 1 if n else 0
    value = statistic(np.arange(n)) if n else None
    if value is None:
        return StatisticResult.undefined("no rows" if n == 0 else "undefined for these rows", n=n), codes, groups
    found = StatisticResult(float(value), ONE_CLUSTER if groups < 2 else None, n=n, clusters=groups)
    return found, codes, groups


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
    whole: StatisticResult,
    resampled: Callable[..., Any],
    samples: list[Ints],
    method: str,
    resamples: int,
    seed: int,
    confidence: float,
    undefined: Callable[[], int],
    *,
    vectorized: bool,
) -> StatisticResult:
    from scipy.stats import bootstrap as scipy_bootstrap

    two_sided(confidence)
    if any(len(sample) < 2 for sample in samples):
        return whole.without_interval("a stratum has one cluster: nothing shows how far its clusters differ")
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
        return whole.without_interval(f"undefined in {undefined()} of the samples drawn again")
    error = float(drawn.standard_error)
    if error <= 1e-12 * abs(whole.value or 0):
        return replace(whole, standard_error=None, df=None, statistic=None, p=None).without_interval(DRAWS_ALIKE)
    low, high = (float(bound) for bound in drawn.confidence_interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        return whole.without_interval("all samples drawn again lie on one side: the correction for bias is infinite")
    return replace(whole, low=low, high=high, standard_error=error, df=None, statistic=None, p=None)


def generalized(
    found: StatisticResult,
    facets: Sequence[StatisticResult],
    *,
    ends: tuple[float, float] | None = None,
    null: float | None = None,
    confidence: float = 0.95,
) -> StatisticResult:
    """Return a mean with an interval that speaks of other levels of some facets too, and not of other items alone.

    `found` is the mean with its interval over items, and each of `facets` the same mean with its error over the levels
    of a facet, judges for example, in the place of items (`mean_of_cells`). The items, the judges and the prompts are
    samples of their own, so their variances add up (two-way clusters: Cameron, Gelbach and Miller 2011). Each has the
    degrees of freedom of its own levels, of which there may be two; so the distances by which the intervals reach are
    added as squares, Σ t² V, since one t with the degrees of freedom of the sum (Satterthwaite) holds too seldom for
    few levels (variances recovered from intervals: Howe 1974; Zou and Donner 2008). Nothing is taken off for what both
    clusters see, the chance within a score, so the interval is rather too long, and no shorter than that over items.

    The interval stays between `ends`. With `null` there is a test against it, whose p is below 1 - `confidence` if and
    only if the interval, before it is cut at an end, does not hold it. Without an interval over items, or an error over
    levels that is above 0, there is no interval, and a reason.

    >>> items = StatisticResult(3.0, low=2.8, high=3.2, standard_error=0.1, df=99)
    >>> judges = StatisticResult(3.0, standard_error=0.15, df=2)
    >>> wide = generalized(items, [judges], ends=(1, 5))
    >>> round(wide.low, 2), round(wide.high, 2), round(wide.standard_error, 3)
    (2.32, 3.68, 0.18)
    """
    bare = replace(found, low=None, high=None, statistic=None, df=None, p=None)
    if found.value is None or found.low is None or found.high is None:
        return bare
    parts = [(found.standard_error, found.df), *((each.standard_error, each.df) for each in facets)]
    reaches = []
    for each in facets:
        t = None if each.df is None else t_quantile(two_sided(confidence), each.df)
        if t is None or each.standard_error is None or each.standard_error <= ROUNDING:
            return bare.without_interval(each.reason or "the levels of a facet do not differ: nothing shows the error")
        reaches.append(t * each.standard_error)
    low = found.value - math.hypot(found.value - found.low, *reaches)
    high = found.value + math.hypot(found.high - found.value, *reaches)
    error = math.sqrt(sum((each or 0.0) ** 2 for each, _ in parts))
    wide = replace(bare, low=low, high=high, standard_error=error)
    if null is not None:
        freedom = sum((each or 0.0) ** 4 / df for each, df in parts if df)
        df = error**4 / freedom
        t = t_quantile(two_sided(confidence), df)
        half = found.value - low if found.value > null else high - found.value
        if t is not None:
            statistic = t * (found.value - null) / half
            wide = replace(wide, statistic=statistic, df=df, p=t_tails(statistic, df))
    if ends is None:
        return wide
    return replace(wide, low=max(low, min(ends[0], found.value)), high=min(high, max(ends[1], found.value)))


DIVISOR_MAY_BE_0 = "the divisor may be 0: its interval holds 0"
MOST = 300.0
"""A deviation's interval reaches no further on this scale: that is past all bounds."""


@dataclass(frozen=True)
class Factor:
    """A figure with its interval and its standard error, to a power."""

    value: float
    low: float
    high: float
    error: float | None
    power: float = 1.0

    def turned(self) -> Factor:
        """Return the figure with the other sign."""
        return Factor(-self.value, -self.high, -self.low, self.error, self.power)

    @property
    def lower(self) -> float:
        """The distance of the lower end of the power from it, on the scale of logarithms."""
        return abs(self.power) * (self._below if self.power > 0 else self._above)

    @property
    def upper(self) -> float:
        """That of the upper end."""
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
    """Return the interval of `constant` times the product of powers of figures, which has a `value` and a standard
    `error`; or why there is none. None if the intervals of the factors do not say it: if two may be below 0 as well as
    above, or one to another power than 1, or if items do not differ in the product though they do in its factors.

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
            factor = factor.turned()  # noqa: PLW2901
        elif factor.low < 0 <= factor.value and factor.power != int(factor.power):
            factor = replace(factor, low=0.0)  # noqa: PLW2901 (below there is no root)
        (positive if factor.low >= 0 and factor.value >= 0 else signed).append(factor)
    if any(factor.power < 0 and factor.low <= 0 for factor in factors if factor.high >= 0):
        return DIVISOR_MAY_BE_0
    if len(signed) > 1 or any(factor.power != 1 for factor in signed):
        return None
    if signed:
        found = _signed(signed[0], positive, value / constant, error and error / abs(constant))
    else:
        found = _positive(positive, value / constant, error and error / abs(constant))
    if found is None or isinstance(found, str):
        return found
    low, high = sorted((constant * found[0], constant * found[1]))
    return min(low, value), max(high, value)


def _positive(factors: Sequence[Factor], value: float, error: float | None) -> tuple[float, float] | None:
    """Return the interval of a product of figures that are not below 0."""
    if any(factor.value <= 0 for factor in factors):
        # Nothing was seen of a factor: its upper end and those of all others may come together.
        ends = [factor.high if factor.power > 0 else factor.low for factor in factors]
        return 0.0, math.prod(end**factor.power for end, factor in zip(ends, factors, strict=True))
    shared = _shared(sum((each.power * (each.error or 0.0) / each.value) ** 2 for each in factors), error, value)
    if shared is None:
        return None
    below, above = (math.sqrt(shared * sum(each**2 for each in side)) for side in _sides(factors))
    return value * math.exp(-below), value * math.exp(above)


def _signed(factor: Factor, others: Sequence[Factor], value: float, error: float | None) -> tuple[float, float] | None:
    """Return the interval of a figure that may be below 0 times a product of others that are not: on the scale of its
    own, where a logarithm is none."""
    if any(each.value <= 0 for each in others):
        return None
    times = math.prod(each.value**each.power for each in others)
    below, above = (times * math.sqrt(sum(each**2 for each in side)) for side in _reaches(others))
    spread = sum((each.power * (each.error or 0.0) / each.value) ** 2 for each in others)
    shared = _shared((times * (factor.error or 0.0)) ** 2 + value**2 * spread, error, 1.0)
    if shared is None:
        return None
    first, second = (below, above) if factor.value > 0 else (above, below)
    down = math.sqrt(shared) * math.hypot(times * (factor.value - factor.low), factor.value * first)
    up = math.sqrt(shared) * math.hypot(times * (factor.high - factor.value), factor.value * second)
    return value - down, value + up


def _shared(apart: float, error: float | None, value: float) -> float | None:
    """Return how many times the variance of factors that are independent, `apart`, the product has; None where it has
    none and they have some."""
    if apart <= ROUNDING**2:
        return 1.0
    if error is None or error <= ROUNDING:
        return None
    return (error / value) ** 2 / apart


def _sides(factors: Sequence[Factor]) -> tuple[list[float], list[float]]:
    return [each.lower for each in factors], [each.upper for each in factors]


def _reaches(factors: Sequence[Factor]) -> tuple[list[float], list[float]]:
    """Return how far each factor lets the product reach down and up, by the product."""
    below, above = _sides(factors)
    return [1 - math.exp(-each) for each in below], [math.exp(each) - 1 for each in above]


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


LEAST_SKEW = 1e-4
"""A smaller skew moves no bound, and its gamma distribution has too large a shape to be computed."""


class _Tail(NamedTuple):
    """The distribution of the truth above a figure: Student's t with a skew."""

    middle: float
    error: float
    df: float
    skew: float

    def quantile(self, level: float) -> float:
        from scipy.special import gammainccinv, ndtr

        t = t_quantile(1 - level, self.df)
        assert t is not None
        if self.skew > LEAST_SKEW:
            shape = 4 / self.skew**2
            t = float(gammainccinv(shape, ndtr(-t)) - shape) * self.skew / 2
        return self.middle + self.error * t

    def above(self, limit: float) -> float:
        from scipy.special import gammaincc, ndtri, stdtr

        reached = (limit - self.middle) / self.error
        if self.skew > LEAST_SKEW:
            shape = 4 / self.skew**2
            reached = -float(ndtri(gammaincc(shape, max(0.0, shape + 2 * reached / self.skew))))
        return float(stdtr(self.df, -reached))


class _Alike(NamedTuple):
    """The same of `units` that are all alike: `gap` lies between their value and the end of the scale."""

    value: float
    gap: float
    units: float

    def quantile(self, level: float) -> float:
        return self.value + self.gap * -math.expm1(math.log(level) / self.units)

    def above(self, limit: float) -> float:
        if limit <= self.value:
            return 1.0
        return max(0.0, 1 - (limit - self.value) / self.gap) ** self.units if self.gap > 0 else 0.0


def upper_bound(
    found: StatisticResult, level: float, *, farthest: float | None = None, end: float | None = None
) -> float | None:
    """The value above which the truth lies with a risk of at most `level`; None of a figure without an error.

    `farthest` is how far from 0 a unit was met, and `end` the end of the scale. Without the former the bound is that of
    Student's t, and without the latter units that are all alike have none.

    >>> few = StatisticResult(0.05, standard_error=0.0284, df=59)
    >>> round(upper_bound(few, 0.05), 3), round(upper_bound(few, 0.05, farthest=1), 3)
    (0.097, 0.123)
    >>> alike = StatisticResult(0.0, standard_error=0.0, df=59)
    >>> round(upper_bound(alike, 0.05, end=1), 4)
    0.0487
    """
    bound = max((tail.quantile(level) for tail in _tails(found, farthest, end)), default=None)
    if bound is None or not math.isfinite(bound):
        return end if bound is not None else None
    return bound if end is None else min(bound, end)


def p_of_above(
    found: StatisticResult, limit: float, *, farthest: float | None = None, end: float | None = None
) -> float | None:
    """The p-value of a truth at `limit` or above it: the level at which `upper_bound` comes down to the limit.

    >>> few = StatisticResult(0.05, standard_error=0.0284, df=59)
    >>> round(p_of_above(few, 0.1), 3), round(p_of_above(few, 0.1, farthest=1), 3)
    (0.042, 0.144)
    """
    return max((tail.above(limit) for tail in _tails(found, farthest, end)), default=None)


def negated(found: StatisticResult) -> StatisticResult:
    """Return the same figure with the other sign, whose upper bounds are the lower ones of this.

    >>> negated(StatisticResult(0.5, low=0.2, high=0.9)).low
    -0.9
    """
    value, low, high, statistic = (
        None if each is None else -each for each in (found.value, found.high, found.low, found.statistic)
    )
    return replace(found, value=value, low=low, high=high, statistic=statistic)


def _tails(found: StatisticResult, farthest: float | None, end: float | None) -> Iterator[_Tail | _Alike]:
    """Yield the distributions of which the one that reaches further counts; none of a figure without an error."""
    value, error, df = found.value, found.standard_error, found.df
    if value is None or error is None or df is None or df < 1:
        return
    many = df + 1
    if error <= ROUNDING:
        if end is not None:
            yield _Alike(value, max(0.0, end - value), many)
        return
    yield _Tail(value, error, df, 0.0)
    if farthest is not None and farthest > value:
        gap = farthest - value
        middle = value + gap / (many + 1)
        squares = error**2 * many * (many - 1) + gap**2 * many / (many + 1)
        error = math.sqrt(squares / (many * (many + 1)))
        yield _Tail(middle, error, df, (farthest - middle) / ((many + 1) * error))
