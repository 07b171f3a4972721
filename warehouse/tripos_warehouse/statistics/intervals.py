"""Intervals of shares, of means, and of any statistic, with rows that may come in clusters.

Rows of one cluster (the samples of an item, the items of a text) are not independent, so clusters are what is counted,
left out or drawn again. A plain row is a cluster of its own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tripos_warehouse.statistics.found import Found
from tripos_warehouse.statistics.quantiles import t_quantile, t_tails, two_sided, z_quantile
from tripos_warehouse.statistics.ratings import Floats, Ints, cluster_codes, read_values, rows_of

Values = Sequence[float | None] | npt.NDArray[Any]
Clusters = Sequence[Hashable] | npt.NDArray[Any] | None
Statistic = Callable[[Ints], float | None]
"""A statistic of some of the rows: is given their numbers, also several times the same, and may be undefined."""

ONE_CLUSTER = "all in one cluster: nothing shows how far clusters differ"
BATCH = 4_000_000
"""The cells that a bootstrap holds at a time."""


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> Found:
    """A share with the interval of Wilson (1927), which stays between 0 and 1 and is right for few rows too.

    Both may be fractions, as a design effect makes them. Raises `ValueError` unless 0 ≤ `successes` ≤ `n`.

    >>> share = wilson(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.49, 0.943)
    """
    # By its formula, and not by `binomtest`: that takes whole numbers only, and a second to import.
    _check_share(successes, n)
    if n == 0:
        return Found.undefined("no rows")
    z = z_quantile(two_sided(confidence))
    share = successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Found(share, low=low, high=high, standard_error=math.sqrt(share * (1 - share) / n), n=round(n))


def clopper_pearson(successes: int, n: int, *, confidence: float = 0.95) -> Found:
    """A share with the exact interval of Clopper and Pearson (1934), which covers at least as often as it says.

    Raises `ValueError` unless 0 ≤ `successes` ≤ `n`.

    >>> share = clopper_pearson(8, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.8, 0.444, 0.975)
    """
    _check_share(successes, n)
    if n == 0:
        return Found.undefined("no rows")
    from scipy.special import betaincinv

    upper = two_sided(confidence)
    share = successes / n
    low = float(betaincinv(successes, n - successes + 1, 1 - upper)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, upper)) if successes < n else 1.0
    return Found(share, low=low, high=high, standard_error=math.sqrt(share * (1 - share) / n), n=n)


def _check_share(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")


def mean(values: Values, clusters: Clusters = None, *, confidence: float = 0.95, null: float = 0.0) -> Found:
    """The mean of the values that are there, its error by cluster, and Student's t against `null`.

    The error is that of a mean of clusters of different sizes: with the residuals of a cluster added up to r,
    √(G / (G − 1) · Σ r²) / n, with G clusters and G − 1 degrees of freedom (Liang and Zeger 1986; Cameron and Miller
    2015). Where every row is its own cluster it is s / √n. `n` counts rows.

    >>> found = mean([1, 2, 3, 4])
    >>> found.value, round(found.standard_error, 4), found.df
    (2.5, 0.6455, 3)
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
        return Found.undefined("no values", left_out=left_out)
    _, codes = np.unique(codes[there], return_inverse=True)
    value = float(numbers.mean())
    groups = int(codes.max()) + 1
    base = Found(value, n=n, clusters=groups, left_out=left_out)
    if groups < 2:
        return base.without_interval("one value: nothing shows how far values differ" if n == 1 else ONE_CLUSTER)
    pulls = np.bincount(codes, weights=numbers - value)
    error = math.sqrt(groups / (groups - 1) * float(pulls @ pulls)) / n
    return with_t(base, error, groups - 1, confidence=confidence, null=null, scale=float(np.abs(numbers).max()))


def with_t(
    found: Found, error: float, df: float, *, confidence: float = 0.95, null: float = 0.0, scale: float = 0.0
) -> Found:
    """A figure with the interval and the test of Student's t, from its standard error and degrees of freedom.

    Without any error there is an interval without width and no test. `scale` is how large the values are of which the
    figure is made: an error that rounding may leave of such is none.

    >>> found = with_t(Found(2.0), 0.5, 10)
    >>> round(found.low, 3), round(found.high, 3), found.statistic, round(found.p, 4)
    (0.886, 3.114, 4.0, 0.0025)
    """
    t = t_quantile(two_sided(confidence), df)
    if found.value is None or t is None:
        return found
    if error <= scale * 1e-12:
        return replace(found, low=found.value, high=found.value, standard_error=0.0, df=df)
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


def jackknife(statistic: Statistic, n: int, clusters: Clusters = None, *, confidence: float = 0.95) -> Found:
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
) -> Found:
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

    def redrawn(*drawn: Ints) -> float:
        nonlocal undefined
        found = statistic(np.concatenate([members[group] for sample in drawn for group in sample]))
        undefined += found is None
        return np.nan if found is None else found

    samples = _strata(codes, groups, strata)
    return _draw(whole, redrawn, samples, method, resamples, seed, confidence, lambda: undefined, vectorized=False)


def bootstrap_mean(
    values: Values,
    clusters: Clusters = None,
    *,
    strata: Clusters = None,
    method: Literal["bca", "percentile"] = "bca",
    resamples: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Found:
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

    def redrawn(*drawn: Ints, axis: int) -> Floats:
        total: Floats = sum((sums[sample].sum(axis=axis) for sample in drawn), np.zeros(1))
        rows: Floats = sum((counts[sample].sum(axis=axis) for sample in drawn), np.zeros(1))
        found: Floats = total / rows
        return found if np.ndim(drawn[0]) > 1 else found[0]

    samples = _strata(codes, len(sums), strata)
    return _draw(whole, redrawn, samples, method, resamples, seed, confidence, lambda: 0, vectorized=True)


def _whole(statistic: Statistic, n: int, clusters: Clusters) -> tuple[Found, Ints, int]:
    """The statistic of all rows, with a reason where there is no interval; the cluster of each row; their number."""
    codes = cluster_codes(clusters, n)
    groups = int(codes.max()) + 1 if n else 0
    value = statistic(np.arange(n)) if n else None
    if value is None:
        return Found.undefined("no rows" if n == 0 else "undefined for these rows", n=n), codes, groups
    found = Found(float(value), ONE_CLUSTER if groups < 2 else None, n=n, clusters=groups)
    return found, codes, groups


def _strata(codes: Ints, groups: int, strata: Clusters) -> list[Ints]:
    """The clusters of each stratum."""
    if strata is None:
        return [np.arange(groups)]
    layers = cluster_codes(strata, len(codes))
    of_group = np.zeros(groups, dtype=np.int64)
    of_group[codes] = layers
    if (of_group[codes] != layers).any():
        raise ValueError("a cluster lies in two strata")
    return rows_of(of_group)


def _draw(
    whole: Found,
    redrawn: Callable[..., Any],
    samples: list[Ints],
    method: str,
    resamples: int,
    seed: int,
    confidence: float,
    undefined: Callable[[], int],
    *,
    vectorized: bool,
) -> Found:
    from scipy.stats import bootstrap as scipy_bootstrap

    two_sided(confidence)
    if any(len(sample) < 2 for sample in samples):
        return whole.without_interval("a stratum has one cluster: nothing shows how far its clusters differ")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        drawn = scipy_bootstrap(
            samples,
            redrawn,
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
        return replace(whole, low=whole.value, high=whole.value, standard_error=0.0, df=None, statistic=None, p=None)
    low, high = (float(bound) for bound in drawn.confidence_interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        return whole.without_interval("all samples drawn again lie on one side: the correction for bias is infinite")
    return replace(whole, low=low, high=high, standard_error=error, df=None, statistic=None, p=None)
