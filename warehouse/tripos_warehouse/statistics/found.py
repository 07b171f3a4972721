"""The result of a statistic: a value with its error, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

from tripos_compiler.source import dataclass


@dataclass(frozen=True)
class StatisticResult:
    """A figure. Where it is undefined, `value` is `None` and `reason` says why; no field is ever NaN or infinite.

    `low` and `high` bound the interval. A value whose interval is undefined has a `reason` too, and no `low`.

    >>> StatisticResult(0.5, n=12).value, StatisticResult.undefined("no items").reason
    (0.5, 'no items')
    """

    value: float | None
    """The figure, in the unit that its function names."""
    reason: str | None = None
    """Why `value` is missing; or where it is there, why its interval is."""
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    statistic: float | None = None
    """What was tested: a t, z, χ² or F, as the function says."""
    df: float | None = None
    """Degrees of freedom of `statistic` and of the interval."""
    p: float | None = None
    """The p-value of `statistic`, two-sided unless the function says otherwise."""
    n: int = 0
    """The units that counted: items, pairs or rows, as the function says."""
    clusters: int | None = None
    """The independent groups that the units fall into."""
    left_out: int = 0
    """The units that did not count, since something in them is missing."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "standard_error", "statistic", "df", "p"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"`{name}` of a figure is {number}; what is undefined is None, with a reason")
        if self.value is None and self.reason is None:
            raise ValueError("a figure without a value needs a reason")

    @classmethod
    def undefined(cls, reason: str, *, n: int = 0, left_out: int = 0) -> Self:
        """Return a figure that has no value, and why."""
        return cls(None, reason, n=n, left_out=left_out)

    def without_interval(self, reason: str) -> Self:
        """Return the same figure without `low` and `high`, and why it has none."""
        return replace(self, low=None, high=None, reason=reason)
