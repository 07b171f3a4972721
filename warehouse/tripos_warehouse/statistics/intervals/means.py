"""Means of rows that may come in clusters, and the interval and test of Student's t."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.bounded_values import bounded
from tripos_warehouse.statistics.intervals.leaf_cells import cell_means
from tripos_warehouse.statistics.quantiles import t_quantile, t_tails, two_sided
from tripos_warehouse.statistics.ratings import Clusters, Values, cluster_codes, read_values

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
