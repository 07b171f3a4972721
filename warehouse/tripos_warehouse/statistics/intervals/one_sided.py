"""One-sided bounds: how far above a figure the truth may lie, if few of its units lie far off.

Student's t takes units to be spread evenly to both sides. Of two sides that differ in few items it promises too much:
if 1 of 10 items differs, 60 items call the true difference of 0.1 smaller than that in 14 % of cases, at a level of
5 %. So the bound reckons with one more unit, which is as far off as the farthest that was met, and with the skew that
so rare a unit has:

- the mean m′ and the standard error s′ are those of the units and this one
- if no unit lies above f, the mean has a skew of at most γ = (f − m′) / (n′ s′): that of units of two kinds
- the bound is m′ + s′ q; q is the quantile of Pearson's type III (a gamma distribution) with the skew γ, at the
  probability at which t is that quantile of the normal distribution; and it is no nearer than that of Student's t

Of shares this is nearly the bound of Clopper and Pearson (1934), whose beta distribution has the mean of one more
success. If all n units are alike, the bound is exact: so many agree with the chance (1 − x)ⁿ if a share x lies at the
end of the scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals.bounded_values import ROUNDING
from tripos_warehouse.statistics.quantiles import t_quantile

LEAST_SKEW = 1e-4
"""A smaller skew moves no bound, and its gamma distribution has too large a shape to be computed."""


class _Tail(NamedTuple):
    """The distribution of the truth above a figure: Student's t with a skew."""

    middle: float
    error: float
    df: float
    skew: float

    def quantile(self, level: float) -> float:
        from scipy.special import gammainccinv, ndtr

        t = t_quantile(1 - level, self.df)
        assert t is not None
        if self.skew > LEAST_SKEW:
            shape = 4 / self.skew**2
            t = float(gammainccinv(shape, ndtr(-t)) - shape) * self.skew / 2
        return self.middle + self.error * t

    def above(self, limit: float) -> float:
        from scipy.special import gammaincc, ndtri, stdtr

        reached = (limit - self.middle) / self.error
        if self.skew > LEAST_SKEW:
            shape = 4 / self.skew**2
            reached = -float(ndtri(gammaincc(shape, max(0.0, shape + 2 * reached / self.skew))))
        return float(stdtr(self.df, -reached))


class _Alike(NamedTuple):
    """The same of `units` that are all alike: `gap` lies between their value and the end of the scale."""

    value: float
    gap: float
    units: float

    def quantile(self, level: float) -> float:
        return self.value + self.gap * -math.expm1(math.log(level) / self.units)

    def above(self, limit: float) -> float:
        if limit <= self.value:
            return 1.0
        return max(0.0, 1 - (limit - self.value) / self.gap) ** self.units if self.gap > 0 else 0.0


def upper_bound(
    found: StatisticResult, level: float, *, farthest: float | None = None, end: float | None = None
) -> float | None:
    """The value above which the truth lies with a risk of at most `level`; None of a figure without an error.

    `farthest` is how far from 0 a unit was met, and `end` the end of the scale. Without the former the bound is that of
    Student's t, and without the latter units that are all alike have none.

    >>> few = StatisticResult(0.05, standard_error=0.0284, df=59)
    >>> round(upper_bound(few, 0.05), 3), round(upper_bound(few, 0.05, farthest=1), 3)
    (0.097, 0.123)
    >>> alike = StatisticResult(0.0, standard_error=0.0, df=59)
    >>> round(upper_bound(alike, 0.05, end=1), 4)
    0.0487
    """
    bound = max((tail.quantile(level) for tail in _tails(found, farthest, end)), default=None)
    if bound is None or not math.isfinite(bound):
        return end if bound is not None else None
    return bound if end is None else min(bound, end)


def p_of_above(
    found: StatisticResult, limit: float, *, farthest: float | None = None, end: float | None = None
) -> float | None:
    """The p-value of a truth at `limit` or above it: the level at which `upper_bound` comes down to the limit.

    >>> few = StatisticResult(0.05, standard_error=0.0284, df=59)
    >>> round(p_of_above(few, 0.1), 3), round(p_of_above(few, 0.1, farthest=1), 3)
    (0.042, 0.144)
    """
    return max((tail.above(limit) for tail in _tails(found, farthest, end)), default=None)


def negated(found: StatisticResult) -> StatisticResult:
    """Return the same figure with the other sign, whose upper bounds are the lower ones of this.

    >>> negated(StatisticResult(0.5, low=0.2, high=0.9)).low
    -0.9
    """
    value, low, high, statistic = (
        None if each is None else -each for each in (found.value, found.high, found.low, found.statistic)
    )
    return replace(found, value=value, low=low, high=high, statistic=statistic)


def _tails(found: StatisticResult, farthest: float | None, end: float | None) -> Iterator[_Tail | _Alike]:
    """Yield the distributions of which the one that reaches further counts; none of a figure without an error."""
    value, error, df = found.value, found.standard_error, found.df
    if value is None or error is None or df is None or df < 1:
        return
    many = df + 1
    if error <= ROUNDING:
        if end is not None:
            yield _Alike(value, max(0.0, end - value), many)
        return
    yield _Tail(value, error, df, 0.0)
    if farthest is not None and farthest > value:
        gap = farthest - value
        middle = value + gap / (many + 1)
        squares = error**2 * many * (many - 1) + gap**2 * many / (many + 1)
        error = math.sqrt(squares / (many * (many + 1)))
        yield _Tail(middle, error, df, (farthest - middle) / ((many + 1) * error))
