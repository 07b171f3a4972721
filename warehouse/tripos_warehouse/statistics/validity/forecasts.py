"""Scores of probabilities that something is true: Brier, log loss, calibration error, and the area under the curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tripos_warehouse.statistics.corpus_metrics import SummedMetric
from tripos_warehouse.statistics.ratings import Floats, Ints

NO_PROBABILITY = "a value is no probability: it lies outside 0 to 1"


def brier(chances: Floats, truths: Floats) -> SummedMetric | str:
    """Return the mean squared distance of probabilities from what came true (Brier, 1950, equation (2), of one of two
    classes, which is half of his).

    >>> metric = brier(np.array([0.9, 0.2]), np.array([1.0, 0.0]))
    >>> round(metric.whole(), 3)
    0.025
    """
    return _mean((chances - truths) ** 2) if are_chances(chances) else NO_PROBABILITY


def log_loss(chances: Floats, truths: Floats) -> SummedMetric | str:
    """Return the mean of -ln of the probability of what came true (Good, 1952, Rational Decisions, section 5).

    >>> round(log_loss(np.array([0.5, 0.5]), np.array([1.0, 0.0])).whole(), 4)
    0.6931
    """
    if not are_chances(chances):
        return NO_PROBABILITY
    if ((chances == 0) & (truths == 1)).any() or ((chances == 1) & (truths == 0)).any():
        return "a reply was certain of what is not so, which costs without bound"
    return _mean(-np.log(np.where(truths == 1, chances, 1 - chances)))


def calibration_error(chances: Floats, truths: Floats, bins: int) -> SummedMetric | str:
    """Return the expected calibration error: over bins of equal width the distance of the mean probability from the
    share that is true, by the share of values in the bin (Naeini et al., 2015, section 3; Guo et al., 2017, equation
    (3)). The m-th bin is ((m - 1) / M, m / M], the first with 0.

    >>> metric = calibration_error(np.array([0.95, 0.85, 0.15]), np.array([1.0, 0.0, 0.0]), 10)
    >>> round(metric.whole(), 4)
    0.35
    """
    if not are_chances(chances):
        return NO_PROBABILITY
    place = bin_of(chances, bins)
    counts = np.zeros((len(chances), 1 + bins))
    counts[:, 0] = 1
    counts[np.arange(len(chances)), 1 + place] = truths - chances
    return SummedMetric(counts, lambda sums: float(np.abs(sums[1:]).sum() / sums[0]) if sums[0] > 0 else None)


def calibration_noise(chances: Floats, truths: Floats, items: Ints, bins: int) -> float:
    """Return the calibration error that chance alone shows: over the bins the mean distance from 0 of a normal sum,
    √(2 / π) of its standard deviation (Johnson, Kotz and Balakrishnan, 1994, section 13.10). Its variance is that
    between items, or that of probabilities which are right, where it is greater. A figure that is not well above it is
    too high, since distances do not cancel.

    >>> round(calibration_noise(np.array([0.5] * 4), np.array([1.0, 0.0, 1.0, 0.0]), np.arange(4), 10), 3)
    0.23
    """
    shape = (int(items.max()) + 1, bins)
    sums, met, right = np.zeros(shape), np.zeros(shape, dtype=bool), np.zeros(bins)
    place = bin_of(chances, bins)
    np.add.at(sums, (items, place), truths - chances)
    met[items, place] = True
    np.add.at(right, place, chances * (1 - chances))
    here = met.sum(axis=0)
    squares = (sums**2).sum(axis=0) - sums.sum(axis=0) ** 2 / np.maximum(here, 1)
    spread = np.maximum(squares * here / np.maximum(here - 1, 1), right)
    return float(np.sqrt(2 / np.pi) * np.sqrt(spread).sum() / len(chances))


def bin_of(chances: Floats, bins: int) -> Ints:
    """Return the bin of each probability, from 0. A bound belongs to the bin below it, also where rounding moved it.

    >>> bin_of(np.array([0.0, 0.1, 0.100001, 0.3, 1.0]), 10).tolist()
    [0, 0, 1, 2, 9]
    """
    return np.clip(np.ceil(np.round(chances * bins, 9)).astype(np.int64) - 1, 0, bins - 1)


def are_chances(chances: Floats) -> bool:
    """Return true if all numbers are probabilities."""
    return bool(((chances >= 0) & (chances <= 1)).all())


def _mean(values: Floats) -> SummedMetric:
    counts = np.column_stack([np.ones(len(values)), values])
    return SummedMetric(counts, lambda sums: float(sums[1] / sums[0]) if sums[0] > 0 else None)


@dataclass(frozen=True)
class RankedTruths:
    """The area under the receiver operating characteristic: the share of pairs of a true and a false one in which the
    true one has the greater number, a tie counting half (Hanley and McNeil, 1982; Bamber, 1975, equation (7))."""

    numbers: Floats
    truths: Floats
    reason: str = "all are true, or none is: there is no pair of a true and a false one"

    def whole(self) -> float | None:
        """Return the area.

        >>> RankedTruths(np.array([0.9, 0.4, 0.4, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])).whole()
        0.875
        """
        return _area(self.numbers, self.truths)

    def without(self, groups: Ints, count: int) -> Sequence[float | None]:
        """Return the area without each group of values."""
        return [_area(self.numbers[groups != each], self.truths[groups != each]) for each in range(count)]


def _area(numbers: Floats, truths: Floats) -> float | None:
    positive = truths == 1
    ones, others = int(positive.sum()), int((~positive).sum())
    if not ones or not others:
        return None
    order = np.sort(numbers[~positive])
    below = np.searchsorted(order, numbers[positive], "left") + np.searchsorted(order, numbers[positive], "right")
    return float(below.sum() / 2 / ones / others)
