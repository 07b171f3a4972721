"""The result of a statistic: a value with its interval, or the reason why there is none.

The module is separate from the statistics since every command that prints a table imports it; it does not load numpy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

from tripos_compiler.source.data_classes import dataclass

JSON_FIELDS = ("value", "low", "high", "method", "reason")
"""The fields of an estimate in JSON and CSV."""


@dataclass(frozen=True)
class Estimate:
    """A statistic with its error. If it is undefined, `value` is `None` and `reason` says why; no field is ever NaN or
    infinite.

    `low` and `high` bound the interval. If a value has no interval, `low` is None and `reason` says why.

    >>> Estimate(0.5, n=12).value, Estimate.undefined("no items").reason
    (0.5, 'no items')
    """

    value: float | None
    """The value, in the unit that the function documents."""
    reason: str | None = None
    """Why `value` is missing; if it is present, why its interval is missing."""
    low: float | None = None
    """The lower end of the interval: of 95 %, unless the function was passed another confidence."""
    high: float | None = None
    """The upper end of the interval."""
    standard_error: float | None = None
    statistic: float | None = None
    """The test statistic: a t, z, χ² or F, as the function documents."""
    df: float | None = None
    """The degrees of freedom of `statistic` and of the interval."""
    p: float | None = None
    """The p-value of `statistic`, two-sided unless the function documents otherwise."""
    n: int = 0
    """The number of units that count: items, pairs or rows, as the function documents."""
    clusters: int | None = None
    """The number of independent groups of units."""
    left_out: int = 0
    """The number of units that do not count because something in them is missing."""
    method: str | None = None
    """The method of the interval of a figure of a plan, such as `logit` or `t`; None for other statistics."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "standard_error", "statistic", "df", "p"):
            number = getattr(self, name)
            if number is not None and not math.isfinite(number):
                raise ValueError(f"`{name}` of a figure is {number}; what is undefined is None, with a reason")
        if self.value is None and self.reason is None:
            raise ValueError("a figure without a value needs a reason")

    @classmethod
    def undefined(cls, reason: str, *, n: int = 0, left_out: int = 0) -> Self:
        """Return a result without a value, with the reason."""
        return cls(None, reason, n=n, left_out=left_out)

    @property
    def half_width(self) -> float | None:
        """The distance from the value to the farther end of its interval.

        >>> Estimate(0.75, low=0.5, high=0.875).half_width
        0.25
        """
        if self.value is None or self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)

    def without_interval(self, reason: str | None) -> Self:
        """Return the same value without `low`, `high` and `method`, with the reason."""
        return replace(self, low=None, high=None, method=None, reason=reason)

    def to_json(self, *names: str) -> dict[str, Any]:
        """Return the fields of an estimate as JSON values: those in `names`, or `JSON_FIELDS`.

        >>> Estimate(0.5, "one item").to_json()
        {'value': 0.5, 'low': None, 'high': None, 'method': None, 'reason': 'one item'}
        """
        return {name: getattr(self, name) for name in names or JSON_FIELDS}
