"""Intervals of shares, of means, and of any statistic, with rows that may come in clusters: the public face.

Rows of one cluster (the samples of an item, the items of a text) are not independent, so clusters are what is counted,
left out or drawn again. A plain row is a cluster of its own.
"""

from tripos_warehouse.statistics.intervals.means import mean
from tripos_warehouse.statistics.intervals.resampling import bootstrap, bootstrap_mean, jackknife
from tripos_warehouse.statistics.intervals.shares import clopper_pearson, wilson

__all__ = ["bootstrap", "bootstrap_mean", "clopper_pearson", "jackknife", "mean", "wilson"]
