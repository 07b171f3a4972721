"""Means of rows that may come in clusters, and the interval and test of Student's t."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.bounded_values import bounded
from tripos_warehouse.statistics.quantiles import t_quantile, t_tails, two_sided
from tripos_warehouse.statistics.ratings import Clusters, Values, cluster_codes, read_values

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

    The error is that of a mean of clusters of different sizes: with the residuals of a cluster added up to r,
    √(G / (G − 1) · Σ r²) / n, with G clusters and G − 1 degrees of freedom (Liang and Zeger 1986; Cameron and Miller
    2015). Where every row is its own cluster it is s / √n. `n` counts rows. Where values lie between two `ends`, the
    interval does too (`bounded`).

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
        return StatisticResult.undefined("no values", left_out=left_out)
    _, codes = np.unique(codes[there], return_inverse=True)
    value = float(numbers.mean())
    groups = int(codes.max()) + 1
    base = StatisticResult(value, n=n, clusters=groups, left_out=left_out)
    if groups < 2:
        return base.without_interval("one value: nothing shows how far values differ" if n == 1 else ONE_CLUSTER)
    pulls = np.bincount(codes, weights=numbers - value)
    error = math.sqrt(groups / (groups - 1) * float(pulls @ pulls)) / n
    if ends is not None:
        return bounded(base, error, groups - 1, ends, null=null, confidence=confidence)
    return with_t(base, error, groups - 1, confidence=confidence, null=null, scale=float(np.abs(numbers).max()))


def with_t(
    found: StatisticResult, error: float, df: float, *, confidence: float = 0.95, null: float = 0.0, scale: float = 0.0
) -> StatisticResult:
    """Return a figure with the interval and the test of Student's t, from its standard error and degrees of freedom.

    Without any error there is an interval without width and no test. `scale` is how large the values are of which the
    figure is made: an error that rounding may leave of such is none.

    >>> found = with_t(StatisticResult(2.0), 0.5, 10)
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
