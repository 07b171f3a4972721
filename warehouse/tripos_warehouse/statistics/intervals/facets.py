"""Means that generalise: an interval over the items, widened to speak of other judges and other prompts as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.bounded_values import ROUNDING
from tripos_warehouse.statistics.quantiles import t_quantile, t_tails, two_sided


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
