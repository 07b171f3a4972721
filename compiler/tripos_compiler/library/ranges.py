"""Interval arithmetic: the one class of ranges of numbers. An unknown end is infinite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Final, NamedTuple


class Interval(NamedTuple):
    """Least and greatest possible value of a number, with the arithmetic of intervals instead of that of tuples.

    A result contains every value that the operation can have where it is defined.

    >>> one, other = Interval(0.0, 1.0), Interval(0.0)
    >>> one - other == (-math.inf, 1.0), one * Interval(-1.0, 1.0) == (-1.0, 1.0), -other == (-math.inf, 0.0)
    (True, True, True)
    """

    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def point(cls, value: float) -> Interval:
        """Return the interval of one number."""
        return cls(value, value)

    @classmethod
    def of_ends(cls, low: float | None, high: float | None) -> Interval:
        """Return the interval with these ends; None is an unknown one."""
        return cls(-math.inf if low is None else low, math.inf if high is None else high)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Both ends; None for an infinite one."""
        return None if math.isinf(self.low) else self.low, None if math.isinf(self.high) else self.high

    @property
    def finite(self) -> Interval | None:
        """The interval if both ends are finite, else None."""
        return None if None in self.ends else self

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __abs__(self) -> Interval:
        return Interval(max(self.low, -self.high, 0.0), max(-self.low, self.high))

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        low, high = self.low + other.low, self.high + other.high
        return Interval(-math.inf if math.isnan(low) else low, math.inf if math.isnan(high) else high)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:  # type: ignore[override]
        ends = [0.0 if 0.0 in (a, b) else a * b for a, b in product((*self,), (*other,))]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        unknown = self.finite is None and other.finite is None
        if unknown or other.contains(0.0):
            return ANY
        ends = [a / b for a, b in product((*self,), (*other,))]
        return Interval(min(ends), max(ends))

    def hull(self, *others: Interval) -> Interval:
        """Return the smallest interval that contains this one and others."""
        return Interval(
            min(interval.low for interval in (self, *others)), max(interval.high for interval in (self, *others))
        )

    def minimum(self, *others: Interval) -> Interval:
        """Return the interval of the least of several numbers."""
        return Interval(
            min(interval.low for interval in (self, *others)), min(interval.high for interval in (self, *others))
        )

    def maximum(self, *others: Interval) -> Interval:
        """Return the interval of the greatest of several numbers."""
        return -(-self).minimum(*(-interval for interval in others))

    def through(self, function: Callable[[float], float]) -> Interval:
        """Return the image under a non-decreasing function; an infinite end stays infinite.

        >>> Interval(0.5).through(math.floor) == (0.0, math.inf)
        True
        """
        try:
            return Interval(*(end if math.isinf(end) else float(function(end)) for end in self))
        except OverflowError:
            return ANY

    def curved(self, name: str) -> Interval:
        """Return the image under one of `CURVES`, where it is defined.

        >>> Interval(high=0.0).curved("exp") == (0.0, 1.0), Interval(0.0, 1.0).curved("log") == (-math.inf, 0.0)
        (True, True)
        """
        image = Interval(curve(name, self.low), curve(name, self.high))
        return image if image.high > -math.inf else ANY

    def contains(self, value: float) -> bool:
        """Return true if a number is in the interval."""
        return self.low <= value <= self.high

    def always(self, operator: str, value: float) -> bool | None:
        """Return true if every number of the interval compares so with a value, false if none does, else None.

        >>> SHARE.always("<", 2.0), SHARE.always(">", 1.0), SHARE.always(">", 0.5)
        (True, False, None)
        """
        match operator:
            case "<" | "<=":
                return (-self).always(">" if operator == "<" else ">=", -value)
            case ">=":
                return True if self.low >= value else False if self.high < value else None
            case ">":
                return True if self.low > value else False if self.high <= value else None
            case "!=":
                equal = self.always("==", value)
                return None if equal is None else not equal
        return None if self.contains(value) and self.low < self.high else self.contains(value)


ANY: Final = Interval()
NO_LESS_THAN_ZERO: Final = Interval(0.0)
SHARE: Final = Interval(0.0, 1.0)
PERCENT: Final = Interval(0.0, 100.0)


COMPUTED: Final[Mapping[str, Callable[[Interval, Interval], Interval]]] = {
    "+": Interval.__add__,
    "-": Interval.__sub__,
    "*": Interval.__mul__,
    "/": Interval.__truediv__,
}
"""Arithmetic of intervals, by operator."""


def enclosing_range(ranges: Iterable[Interval]) -> Interval:
    """Return the smallest interval that contains all given ones."""
    first, *others = ranges
    return first.hull(*others)


CURVES: Final = ("sqrt", "log", "exp", "atanh", "tanh")
"""Non-linear increasing functions of a number."""


def curve(function: str, value: float) -> float:
    """Return the value of one of `CURVES`; outside of its domain, its limit at the nearest point of the domain.

    >>> curve("sqrt", -1.0), curve("log", 0.0), curve("exp", 1000.0), curve("atanh", 1.5)
    (0.0, -inf, inf, inf)
    """
    match function:
        case "sqrt":
            return math.sqrt(max(value, 0.0))
        case "log":
            return math.log(value) if value > 0 else -math.inf
        case "atanh":
            return math.atanh(value) if -1 < value < 1 else math.copysign(math.inf, value)
        case "tanh":
            return math.tanh(value)
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
