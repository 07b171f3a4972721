"""Ranges of numbers, and their arithmetic. An unknown end is infinite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import Final

Range = tuple[float, float]
"""Least and greatest possible value."""

ANY: Final[Range] = (-math.inf, math.inf)
NO_LESS_THAN_ZERO: Final[Range] = (0.0, math.inf)
SHARE: Final[Range] = (0.0, 1.0)
PERCENT: Final[Range] = (0.0, 100.0)


def enclosing_range(ranges: Iterable[Range]) -> Range:
    """Return the smallest range that contains all given ranges.

    >>> enclosing_range([(1.0, 5.0), (0.0, 0.0)])
    (0.0, 5.0)
    """
    lows, highs = zip(*ranges, strict=True)
    return min(lows), max(highs)


def computed_range(operator: str, one: Range, other: Range) -> Range:
    """Return the range of a sum, difference, product or quotient.

    >>> computed_range("-", (0.0, 1.0), (0.0, math.inf))
    (-inf, 1.0)
    """
    match operator:
        case "+":
            return _known(one[0] + other[0], one[1] + other[1])
        case "-":
            return _known(one[0] - other[1], one[1] - other[0])
        case "/" if other[0] <= 0 <= other[1]:
            return ANY
        case "/":
            ends = [a / b for a, b in product(one, other) if not (math.isinf(a) and math.isinf(b))]
            unknown = any(math.isinf(end) for end in one) and any(math.isinf(end) for end in other)
            return ANY if unknown else (min(ends), max(ends))
    ends = [0.0 if 0.0 in (a, b) else a * b for a, b in product(one, other)]
    return min(ends), max(ends)


def _known(low: float, high: float) -> Range:
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)


def absolute_range(of: Range) -> Range:
    """Return the range of the absolute value.

    >>> absolute_range((-2.0, 1.0)), absolute_range((-2.0, -1.0))
    ((0.0, 2.0), (1.0, 2.0))
    """
    low, high = of
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def mapped_range(function: Callable[[float], float], of: Range) -> Range:
    """Return the image of a range under a non-decreasing function; an infinite end stays infinite.

    >>> mapped_range(math.floor, (0.5, math.inf))
    (0.0, inf)
    """
    try:
        low, high = (end if math.isinf(end) else float(function(end)) for end in of)
    except OverflowError:
        return ANY
    return low, high


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


def curved_range(function: str, of: Range) -> Range:
    """Return the range of one of `CURVES` over a range, where it is defined.

    >>> curved_range("exp", (-math.inf, 0.0)), curved_range("log", (0.0, 1.0))
    ((0.0, 1.0), (-inf, 0.0))
    """
    low, high = (curve(function, end) for end in of)
    return (low, high) if high > -math.inf else ANY
