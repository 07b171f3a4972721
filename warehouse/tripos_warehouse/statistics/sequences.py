"""Confidence sequences: intervals of a mean that are valid at every number of items at once, so a run may stop at any.

A 95 % interval for a fixed number of items covers the truth 95 % of the time at that number. Looking after every item
and stopping at the first interval that excludes 0 is wrong far more often. A confidence sequence covers the truth at
all numbers of items together 95 % of the time (Darling and Robbins 1967; Howard, Ramdas, McAuliffe and Sekhon 2021), so
a run may stop at any of them. Values come in random order, one per item: with several samples, their mean.

Values have two ends. `BettingSequence` bets against each possible mean (Waudby-Smith and Ramdas 2023, "Estimating
means of bounded random variables by betting"): it bets on every value, at odds that are fair if that mean is the true
one, and a mean against which the capital grows twentyfold is ruled out. With a `population`, from which values are
drawn without replacement, the sequence is for the mean of that population, and collapses to it at the last value.
Without one it is for the distribution of the values.

Every look counts: an interval lies within all earlier ones (running intersection), and a p-value never rises. The mean
of a sequence that stopped because of its interval is biased away from the null; `BettingSequence.estimate` shrinks it
back.
"""

from __future__ import annotations

import math

import numpy as np

from tripos_warehouse.statistics.arrays import Floats

LEAST_BET, BOLDEST_BET, BETS_APART = 0.02, 1.0, 2.2
"""The bets in units of the standard deviation: from the least to the boldest, each about this multiple of the one
before."""
LEAST_PLANNED, LEAST_POPULATION = 4.0, 2.0
"""The least bet times the root of the planned number of values: a smaller one wins too little by the last value. In a
population bets grow with the share drawn, so the first may be smaller."""
MOST_STAKED = 0.9
"""The most of the capital that a value can lose."""
GUESSED_VALUES, GUESSED_VARIANCE = 5, 1 / 16
"""The prior of the variance: the number of values that it counts as, and the variance on a scale from 0 to 1."""
STEPS = 1000
"""The number of candidate means on the scale. An end of an interval is the last candidate that is ruled out, so the
interval is up to one step longer than necessary."""
SHRINKAGE = 3.0
"""A mean whose sequence stopped because a value was ruled out is moved towards that value by this over z² of their
distance, where z is the distance in standard errors."""


class BettingSequence:
    """The confidence sequence of a mean of values between two `ends`, by betting.

    With values x and a mean m rescaled so that the ends are 0 and 1, the capital after t values is

        K⁺(m) = Σ over bets g of w_g Π (1 + λ_i (x_i − m_i)),  λ_i = min(g / s_i, 0.9 / m_i),  w_g ~ 1 / g

    and K⁻(m) the same for 1 − x and 1 − m. s_i is the standard deviation of the values before x_i, so a bet suits
    binary values and narrow scales alike. The mixture over bets (like the grid Kelly of Waudby-Smith and Ramdas 2023,
    section B.6) adapts to the best bet, and the interval has no gap, since each factor falls with m; `planned` is the
    most values that there may be. m_i is m; in a population of N without replacement it is the mean that the rest would
    need, (N m − Σ_{j<i} x_j) / (N − i + 1) (their section 5.2), which moves away from the truth as the rest gets
    smaller, so there g is N / (N − i + 1) times as bold. m is ruled out at a level α once K⁺ or K⁻ has reached 2/α
    (Ville 1939), or if the known values leave no room for it.

    For the low end of the interval a missing value counts as the low end of the scale, for the high end as the high
    one, so the interval is valid whatever the missing values are.

    >>> sequence = BettingSequence((0, 1), population=4)
    >>> for value in (1, 0, 1, 1):
    ...     sequence.add(value)
    >>> sequence.interval(), sequence.n
    ((0.75, 0.75), 4)
    """

    def __init__(
        self, ends: tuple[float, float], population: int | None = None, planned: int | None = None, steps: int = STEPS
    ) -> None:
        if not ends[0] < ends[1]:
            raise ValueError(f"a scale has two ends, not {ends[0]} and {ends[1]}")
        self.ends = ends
        self.population = population
        self.n = 0
        self.missing = 0
        self._total = self._squares = 0.0
        self._means: Floats = np.arange(1, steps) / steps
        self._bets = bets_of(planned) if population is None else bets_of(population, LEAST_POPULATION)
        self._weights = 1 / self._bets / (1 / self._bets).sum()
        shape = (len(self._means), len(self._bets))
        self._up, self._down = np.zeros(shape), np.zeros(shape)
        self._most_up, self._most_down = np.zeros(len(self._means)), np.zeros(len(self._means))

    @property
    def mean(self) -> float | None:
        """The mean of the values so far that are not missing."""
        seen = self.n - self.missing
        low, high = self.ends
        return low + (high - low) * self._total / seen if seen else None

    def estimate(self, null: float = 0.0, level: float = 0.05, shrinkage: float = SHRINKAGE) -> float | None:
        """Return the mean, shrunk towards `null` if that was ruled out at `level`: the estimate to report for a
        sequence that stopped for that reason. It lies inside the interval; `None` without values.

        A mean that first reaches z standard errors from `null` is farther out than the truth: by the share 2/z² to the
        second order, if all sequences reach it (compare Whitehead 1986, "On the bias of maximum likelihood estimation
        following a sequential test"), and by more if only the luckier ones do. A `shrinkage` of 3 reduces the errors of
        `tests/bench/stopped.py` by a third, and more hardly helps.
        """
        mean = self.mean
        if mean is None:
            return None
        low, high = self.interval(level)
        width = self.ends[1] - self.ends[0]
        if self.p(null) <= level and mean != null:
            error = width * self._deviation / math.sqrt(self.n - self.missing)
            mean = null + (mean - null) * max(0.0, 1 - shrinkage * (error / (mean - null)) ** 2)
        # Half a step inside the interval, whose ends are candidate means that were ruled out.
        margin = min(width / (len(self._means) + 1), high - low) / 2
        return min(max(mean, low + margin), high - margin)

    def add(self, value: float | None) -> None:
        """Add the next value. Raises `ValueError` for a value outside the ends, and for one too many."""
        if self.population is not None and self.n == self.population:
            raise ValueError(f"a population of {self.population} has no more values")
        low, high = self.ends
        if value is not None and not low - 1e-9 <= value <= high + 1e-9:
            raise ValueError(f"{value} does not lie between {low} and {high}")
        share = None if value is None else min(1.0, max(0.0, (value - low) / (high - low)))
        known = self.n - self.missing
        rest = 1.0 if self.population is None else (self.population - self.n) / self.population
        bets = self._bets / (self._deviation * rest)
        self._bet(self._up, self._most_up, 0.0 if share is None else share, bets, self._means, self._total)
        self._bet(
            self._down,
            self._most_down,
            0.0 if share is None else 1 - share,
            bets,
            1 - self._means,
            known - self._total,
        )
        self.n += 1
        self.missing += share is None
        self._total += share or 0.0
        self._squares += (share or 0.0) ** 2

    @property
    def _deviation(self) -> float:
        """The standard deviation of the values so far and of the prior, as a share of the scale."""
        known = self.n - self.missing
        sum_of_squares = max(0.0, self._squares - self._total**2 / known) if known else 0.0
        return math.sqrt((GUESSED_VALUES * GUESSED_VARIANCE + sum_of_squares) / (GUESSED_VALUES + known))

    def _bet(self, capital: Floats, most: Floats, seen: float, bets: Floats, means: Floats, total: float) -> None:
        """Add the logarithm of the factor by which a value multiplies each capital, and update the maxima `most`."""
        if self.population is not None:  # the mean that the rest would need
            means = np.clip((self.population * means - total) / (self.population - self.n), 1e-12, None)
        # A mean for which the rest would need an impossible one is ruled out by `interval`; bets on it do not count.
        against = means[:, None]
        capital += np.log1p(np.minimum(bets, MOST_STAKED / against) * (seen - against))
        np.maximum(most, self._mixed(capital), out=most)

    def _mixed(self, capital: Floats) -> Floats:
        """Return the logarithm of the weighted mean over bets of the capital; the smallest bet has the greatest
        weight."""
        most = capital.max(axis=1)
        mixed: Floats = most + np.log(np.exp(capital - most[:, None]) @ self._weights)
        return mixed

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        """Return the ends of the interval, at most those of the scale."""
        threshold = math.log(2 / level)
        below, above = np.nonzero(self._most_up >= threshold)[0], np.nonzero(self._most_down >= threshold)[0]
        bottom = float(self._means[below[-1]]) if len(below) else 0.0
        top = float(self._means[above[0]]) if len(above) else 1.0
        if self.population is not None:
            bottom = max(bottom, self._total / self.population)
            top = min(top, (self._total + self.missing + self.population - self.n) / self.population)
        if bottom > top:  # the truth was ruled out, which has the probability `level`, or rounding
            middle = self._total / (self.n - self.missing) if self.n > self.missing else 0.5
            bottom = top = min(max(middle, top), bottom)
        low, high = self.ends
        return float(low + (high - low) * bottom), float(low + (high - low) * top)

    def p(self, null: float = 0.0) -> float:
        """Return the p-value: 2 over the maximum of the capital against `null` so far."""
        low, high = self.ends
        share = (null - low) / (high - low)
        if not 0 <= share <= 1:
            return 0.0
        if self.population is not None:
            unknown = self.population - self.n + self.missing
            if not self._total - 1e-9 <= share * self.population <= self._total + unknown + 1e-9:
                return 0.0
        # Against a mean between two candidates, the capital is at least the smaller of theirs.
        above = np.searchsorted(self._means, share - 1e-9)
        below = np.searchsorted(self._means, share + 1e-9, side="right") - 1
        up = float(self._most_up[above]) if above < len(self._means) else 0.0
        down = float(self._most_down[below]) if below >= 0 else 0.0
        return min(1.0, 2 * math.exp(-max(up, down)))


def bets_of(planned: int | None, least: float = LEAST_PLANNED) -> Floats:
    """Return the bets in units of the standard deviation, none so small that it cannot win within the planned number of
    values.

    >>> bets_of(None).round(3).tolist()
    [0.02, 0.044, 0.096, 0.209, 0.457, 1.0]
    >>> bets_of(1000).round(3).tolist()
    [0.126, 0.252, 0.502, 1.0]
    """
    least = LEAST_BET if planned is None else min(0.7, max(LEAST_BET, least / math.sqrt(max(planned, 1))))
    count = 1 + max(1, round(math.log(BOLDEST_BET / least) / math.log(BETS_APART)))
    bets: Floats = np.geomspace(least, BOLDEST_BET, count)
    return bets
