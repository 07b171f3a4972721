"""Intervals on the scale of logarithms: of standard deviations, and of products, quotients and powers of figures, from
those of their factors.

A quotient of shares near 0 is skewed, and Student's t misses the truth on the longer side: of .2 / .1 of 30 items it
holds it 89 % of the time. The method of variance estimates recovery (Zou and Donner 2008, "Construction of confidence
limits about effect measures: a general approach") takes how far each factor's own interval reaches on the scale of
logarithms, where products are sums: l below a factor x with the power k and u above it. Below the product lie the l of
those with k > 0 and the u of those with k < 0, and the distances add up by their squares,

    log of the low end = log of the value - √(c · Σ k² l²).

Factors over the same items are correlated. Their covariance follows from the error of the product, whose square on this
scale is V: with the errors s of the factors, c = V / Σ k² (s / x)², which is 1 of factors that are independent.

Each factor's interval knows the ends of its scale, and of a factor at 0 or of items that are all alike. A power has the
same power of its interval, and a quotient turned round the inverse of its own, since both are the same on this scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tripos_warehouse.statistics.intervals.bounded_values import ROUNDING
from tripos_warehouse.statistics.quantiles import t_quantile, two_sided

DIVISOR_MAY_BE_0 = "the divisor may be 0: its interval holds 0"
MOST = 300.0
"""A deviation's interval reaches no further on this scale: that is past all bounds."""


@dataclass(frozen=True)
class Factor:
    """A figure with its interval and its standard error, to a power."""

    value: float
    low: float
    high: float
    error: float | None
    power: float = 1.0

    def turned(self) -> Factor:
        """Return the figure with the other sign."""
        return Factor(-self.value, -self.high, -self.low, self.error, self.power)

    @property
    def lower(self) -> float:
        """The distance of the lower end of the power from it, on the scale of logarithms."""
        return abs(self.power) * (self._below if self.power > 0 else self._above)

    @property
    def upper(self) -> float:
        """That of the upper end."""
        return abs(self.power) * (self._above if self.power > 0 else self._below)

    @property
    def _below(self) -> float:
        return math.log(self.value / self.low) if self.low > 0 else math.inf

    @property
    def _above(self) -> float:
        return math.log(self.high / self.value)


def product_interval(
    constant: float, factors: Sequence[Factor], value: float, error: float | None
) -> tuple[float, float] | str | None:
    """Return the interval of `constant` times the product of powers of figures, which has a `value` and a standard
    `error`; or why there is none. None if the intervals of the factors do not say it: if two may be below 0 as well as
    above, or one to another power than 1, or if items do not differ in the product though they do in its factors.

    >>> twice, once = Factor(0.2, 0.077, 0.386, 0.074), Factor(0.1, 0.021, 0.265, 0.056, -1)
    >>> [round(end, 2) for end in product_interval(1, [twice, once], 2.0, 1.34)]
    [0.51, 10.84]
    >>> product_interval(1, [twice, Factor(0.1, 0.0, 0.265, 0.056, -1)], 2.0, 1.34)
    'the divisor may be 0: its interval holds 0'
    """
    positive: list[Factor] = []
    signed: list[Factor] = []
    for factor in factors:
        if factor.high < 0 or (factor.high <= 0 and factor.value < 0):
            if factor.power != int(factor.power):
                return None
            constant *= 1 if factor.power % 2 == 0 else -1
            factor = factor.turned()  # noqa: PLW2901
        elif factor.low < 0 <= factor.value and factor.power != int(factor.power):
            factor = replace(factor, low=0.0)  # noqa: PLW2901 (below there is no root)
        (positive if factor.low >= 0 and factor.value >= 0 else signed).append(factor)
    if any(factor.power < 0 and factor.low <= 0 for factor in factors if factor.high >= 0):
        return DIVISOR_MAY_BE_0
    if len(signed) > 1 or any(factor.power != 1 for factor in signed):
        return None
    if signed:
        found = _signed(signed[0], positive, value / constant, error and error / abs(constant))
    else:
        found = _positive(positive, value / constant, error and error / abs(constant))
    if found is None or isinstance(found, str):
        return found
    low, high = sorted((constant * found[0], constant * found[1]))
    return min(low, value), max(high, value)


def _positive(factors: Sequence[Factor], value: float, error: float | None) -> tuple[float, float] | None:
    """Return the interval of a product of figures that are not below 0."""
    if any(factor.value <= 0 for factor in factors):
        # Nothing was seen of a factor: its upper end and those of all others may come together.
        ends = [factor.high if factor.power > 0 else factor.low for factor in factors]
        return 0.0, math.prod(end**factor.power for end, factor in zip(ends, factors, strict=True))
    shared = _shared(sum((each.power * (each.error or 0.0) / each.value) ** 2 for each in factors), error, value)
    if shared is None:
        return None
    below, above = (math.sqrt(shared * sum(each**2 for each in side)) for side in _sides(factors))
    return value * math.exp(-below), value * math.exp(above)


def _signed(factor: Factor, others: Sequence[Factor], value: float, error: float | None) -> tuple[float, float] | None:
    """Return the interval of a figure that may be below 0 times a product of others that are not: on the scale of its
    own, where a logarithm is none."""
    if any(each.value <= 0 for each in others):
        return None
    times = math.prod(each.value**each.power for each in others)
    below, above = (times * math.sqrt(sum(each**2 for each in side)) for side in _reaches(others))
    spread = sum((each.power * (each.error or 0.0) / each.value) ** 2 for each in others)
    shared = _shared((times * (factor.error or 0.0)) ** 2 + value**2 * spread, error, 1.0)
    if shared is None:
        return None
    first, second = (below, above) if factor.value > 0 else (above, below)
    down = math.sqrt(shared) * math.hypot(times * (factor.value - factor.low), factor.value * first)
    up = math.sqrt(shared) * math.hypot(times * (factor.high - factor.value), factor.value * second)
    return value - down, value + up


def _shared(apart: float, error: float | None, value: float) -> float | None:
    """Return how many times the variance of factors that are independent, `apart`, the product has; None where it has
    none and they have some."""
    if apart <= ROUNDING**2:
        return 1.0
    if error is None or error <= ROUNDING:
        return None
    return (error / value) ** 2 / apart


def _sides(factors: Sequence[Factor]) -> tuple[list[float], list[float]]:
    return [each.lower for each in factors], [each.upper for each in factors]


def _reaches(factors: Sequence[Factor]) -> tuple[list[float], list[float]]:
    """Return how far each factor lets the product reach down and up, by the product."""
    below, above = _sides(factors)
    return [1 - math.exp(-each) for each in below], [math.exp(each) - 1 for each in above]


def deviation_interval(
    value: float, error: float, df: float, units: int, *, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of a standard deviation of `units` values, on the scale of its logarithm, where it is less
    skewed; None without degrees of freedom.

    Few values hide the tails, so their kurtosis, and with it the error, comes out too small. It is taken to be no less
    than that of normal values, 1 / √(2 (m - 1)) of the deviation.

    >>> [round(end, 2) for end in deviation_interval(1.0, 0.1, 9, 10)]
    [0.59, 1.7]
    """
    quantile = t_quantile(two_sided(confidence), df)
    if quantile is None or units < 2 or value <= 0:
        return None
    reach = min(quantile * max(error / value, 1 / math.sqrt(2 * (units - 1))), MOST)
    return value * math.exp(-reach), value * math.exp(reach)
