"""Drift of a judge: two versions of it on the same replies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.ratings import Clusters, Values, read_values


@dataclass(frozen=True)
class JudgeDrift:
    """How a later version of a judge differs from an earlier one. The units are replies that both judged."""

    difference: StatisticResult
    """The mean of the later scores less the earlier ones: above 0 the later version is more lenient."""
    changed: StatisticResult
    """The share of replies whose score is another one."""


def judge_drift(before: Values, after: Values, clusters: Clusters = None, *, confidence: float = 0.95) -> JudgeDrift:
    """Return how the scores of the same replies changed, a pair each, with Student's t over items or their `clusters`.

    The difference is paired, so what replies differ by is not in its error (Student 1908, "The probable error of a
    mean", section IX). Replies that one version did not judge do not count.

    >>> found = judge_drift([3, 4, 5, 2], [4, 4, 5, 4])
    >>> found.difference.value, found.changed.value
    (0.75, 0.5)
    """
    was, now = read_values(before), read_values(after)
    if len(was) != len(now):
        raise ValueError("both versions have a score, or none, for each reply")
    apart = now - was
    changed = np.where(np.isnan(apart), np.nan, (apart != 0).astype(np.float64))
    return JudgeDrift(
        mean(apart, clusters, confidence=confidence), mean(changed, clusters, ends=(0.0, 1.0), confidence=confidence)
    )
