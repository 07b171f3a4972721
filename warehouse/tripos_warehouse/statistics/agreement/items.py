"""Intervals of agreement, from leaving out items or drawing them again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import bootstrap, jackknife
from tripos_warehouse.statistics.ratings import Clusters, Floats, Ints, Ratings, read_ratings


def over_items(
    statistic: Callable[[Floats], StatisticResult],
    ratings: Ratings,
    clusters: Clusters = None,
    *,
    categories: Sequence[Hashable] | None = None,
    method: Literal["bca", "percentile", "jackknife"] = "bca",
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> StatisticResult:
    """Return a figure of agreement, with an interval that holds for more items of the same kind.

    `statistic` is given ratings of the shape (raters, items); items are drawn again, or left out, as columns, by
    `clusters` where they come in such (one for each item). `n` and `left_out` are the statistic's own. The raters are
    taken as they are. The interval ends at 1 at the latest, as all such figures do.

    >>> from tripos_warehouse.statistics.agreement import krippendorff_alpha
    >>> raters = [[1, 2, 3, 4, 5, 2, 3, 4], [1, 2, 3, 4, 4, 2, 3, 5]]
    >>> found = over_items(krippendorff_alpha, raters, resamples=200)
    >>> round(found.value, 3), 0 < found.low < found.value < found.high
    (0.922, True)
    """
    matrix = read_ratings(ratings, categories)
    whole = statistic(matrix)
    if whole.value is None:
        return whole

    def of(items: Ints) -> float | None:
        return statistic(matrix[:, items]).value

    options: dict[str, Any] = {"confidence": confidence}
    if method == "jackknife":
        found = jackknife(of, matrix.shape[1], clusters, **options)
    else:
        options |= {"method": method, "resamples": resamples, "seed": seed}
        found = bootstrap(of, matrix.shape[1], clusters, **options)
    return replace(
        whole,
        reason=found.reason,
        low=found.low,
        high=None if found.high is None else min(1.0, found.high),
        standard_error=found.standard_error,
        clusters=found.clusters,
    )
