"""Runs that looked at their models after every item, and may have stopped at what they saw: the differences that may
be told of them are those of their confidence sequences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.views import RunRecord

CLOSE = 1e-9
"""Means that are closer than this are equal: rounding makes such differences."""
SEQUENCE = "sequence"
"""The method of an interval that a confidence sequence gives."""
STOPPED_EARLY = "stopped early: intervals are those of confidence sequences, which hold whenever a run stops"
"""The sentence about intervals of such a run."""
TOO_FAR_APART = "values of a run that stopped early exaggerate how far apart its models are; differences make up for it"
"""The sentence about the values of models, each by itself, and about their differences."""
INTERRUPTED = "stopped before it was settled: intervals and p-values hold unless what it showed was why it was stopped"
"""The sentence about a run that a budget or a person stopped before, which has no sequences."""
UNFOLLOWED = "the run stopped when it was settled, and no sequence follows this"
OF_TWO_RUNS = "a run stopped when it was settled, and no sequence follows a difference of two runs"
"""Reasons why there is no interval, and of a difference no size and no p-value."""


def followed_difference(
    run: RunRecord,
    measure: str,
    first: str,
    second: str,
    by: Mapping[str, str | None] | None = None,
    mean: float | None = None,
) -> StatisticResult | None:
    """Return how far `first` is above `second` in a measure by the sequence of their differences, in the cell `by` of
    one that goes by something: the estimate, the 95 % interval and the p-value, all of which hold whenever a run stops,
    and the items. `None` if the run followed no such sequence, or none with this `mean`, if that is given."""
    for each in run.settled_figures:
        if each["kind"] != "comparison" or each["name"] != measure or (each.get("by") or {}) != (by or {}):
            continue
        pair = each["model"], each["other"]
        if pair in ((first, second), (second, first)):
            sign = 1 if pair == (first, second) else -1
            own = each["mean"]
            if mean is None or (own is not None and math.isclose(sign * own, mean, rel_tol=CLOSE, abs_tol=CLOSE)):
                return _result(each, sign)
    return None


def mean_of_run(run: RunRecord, model: str, found: StatisticResult) -> StatisticResult:
    """Return the mean of some scores of a model as a run tells it: if the model did not see all items, without an error
    and an interval, as no sequence follows it."""
    if model not in run.stopped_models:
        return found
    return replace(found.without_interval(found.reason or UNFOLLOWED), standard_error=None)


def text_of(value: Any) -> str | None:
    """Return the value of a dimension as the figures of a run have it."""
    return None if value is None else str(value)


def _result(followed: Mapping[str, Any], sign: int) -> StatisticResult:
    items = followed["items"]
    if followed["value"] is None:
        return StatisticResult.undefined("no item has a value of both models", n=items)
    low, high = sorted(sign * followed[name] for name in ("low", "high"))
    value, p = sign * followed["value"], followed["p_alone"]
    return StatisticResult(value, None, low, high, p=p, n=items, clusters=items)
