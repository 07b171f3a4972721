"""Calibration of a judge: the mean that people give, by the judge's score.

The curve is isotonic, the non-decreasing one with the least squares, and needs no choice of bins; the error of the
judge falls into miscalibration, discrimination and uncertainty by it (Dimitriadis, Gneiting and Jordan 2021, "Stable
reliability diagrams for probabilistic classifiers", PNAS 118, on the CORP decomposition; for means of any values
Gneiting and Resin 2023, "Regression diagnostics meets forecast evaluation", Electronic Journal of Statistics 17).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import mean, with_t
from tripos_warehouse.statistics.ratings import Clusters, Floats, Ints, Values, cluster_codes, read_values

MOST_VALUES = 11
"""Of so many scores or fewer, each is a bin of its own."""
BINS = 10
FEWEST_REPLIES = 10
"""With fewer graded replies there is no curve worth the name."""
NOTHING = StatisticResult(None, "too few replies are graded")


@dataclass(frozen=True)
class CalibrationBin:
    """The replies that the judge gave scores from `low` to `high`, both included."""

    low: float
    high: float
    judged: float
    """The judge's mean of them."""
    graded: StatisticResult
    """The mean of people, with an interval by item."""


@dataclass(frozen=True)
class Calibration:
    """A judge's scores beside those of people. Where there are too few, `reason` says so, and there is no curve."""

    bins: tuple[CalibrationBin, ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    """The judge's scores, each with the isotonic mean of people."""
    bias: StatisticResult = field(default=NOTHING)
    """The mean of the judge less that of people: above 0 it is lenient."""
    slope: StatisticResult = field(default=NOTHING)
    """What people's grades rise by where the judge's rise by one: below 1 the judge exaggerates differences."""
    miscalibration: float | None = None
    """The mean squared error that the curve would take off."""
    discrimination: float | None = None
    """The mean squared error that the curve takes off the mean of all: what the judge can tell."""
    uncertainty: float | None = None
    """The variance of people's grades: what there is to tell."""
    n: int = 0
    reason: str | None = None


def calibrate(
    judged: Values,
    graded: Values,
    clusters: Clusters = None,
    *,
    ends: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Return the calibration of a judge on the replies of which it and people gave a score; others do not count.

    `ends` are those of the scale, between which the intervals of the bins lie. Up to eleven different scores of the
    judge are a bin each; others fall into ten bins of as many replies each. The slope is that of least squares (Cox
    1958, "Two further applications of a model for binary regression"), its error by item with two degrees of freedom
    less than there are items (Liang and Zeger 1986).

    >>> judge = [1, 2, 3, 4, 5] * 6
    >>> found = calibrate(judge, [value - 1 for value in judge], [place // 5 for place in range(30)])
    >>> found.bias.value, found.slope.value, found.miscalibration, [each.graded.value for each in found.bins]
    (1.0, 1.0, 1.0, [0.0, 1.0, 2.0, 3.0, 4.0])
    """
    f, y = read_values(judged), read_values(graded)
    codes = cluster_codes(clusters, len(f))
    there = ~np.isnan(f) & ~np.isnan(y)
    f, y, codes = f[there], y[there], codes[there]
    n = len(f)
    if n < FEWEST_REPLIES:
        return Calibration(n=n, reason=f"{n} replies have both scores: it takes {FEWEST_REPLIES}")
    scores, places, counts = np.unique(f, return_inverse=True, return_counts=True)
    bins = tuple(_bin(f, y, codes, where, ends, confidence) for where in _parts(f, places, len(scores)))
    fitted = isotonic(np.bincount(places, weights=y) / counts, counts.astype(np.float64))
    left = float(np.mean((y - fitted[places]) ** 2))
    uncertain = float(np.var(y))
    return Calibration(
        bins,
        tuple(zip(scores.tolist(), fitted.tolist(), strict=True)),
        mean(f - y, codes, confidence=confidence),
        _slope(f, y, codes, confidence),
        max(0.0, float(np.mean((y - f) ** 2)) - left),
        max(0.0, uncertain - left),
        uncertain,
        n,
    )


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the non-decreasing values that are nearest to the given ones, by pooling adjacent violators (Ayer, Brunk,
    Ewing, Reid and Silverman 1955, "An empirical distribution function for sampling with incomplete information").

    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            before = blocks.pop()
            both = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / both, both, before[2] + block[2])
        blocks.append(block)
    return np.repeat([value for value, _, _ in blocks], [count for _, _, count in blocks])


def _parts(f: Floats, places: Ints, scores: int) -> list[Ints]:
    """Return the replies of each bin."""
    if scores <= MOST_VALUES:
        return [np.flatnonzero(places == place) for place in range(scores)]
    # Replies of one score stay together: a cut lies where the score changes.
    order = np.argsort(f, kind="stable")
    cuts = sorted({int(np.searchsorted(f[order], f[order[len(f) * part // BINS]])) for part in range(1, BINS)} - {0})
    return [part for part in np.split(order, cuts) if len(part)]


def _bin(
    f: Floats, y: Floats, codes: Ints, where: Ints, ends: tuple[float, float] | None, confidence: float
) -> CalibrationBin:
    own, people = f[where], mean(y[where], codes[where], ends=ends, confidence=confidence)
    return CalibrationBin(float(own.min()), float(own.max()), float(own.mean()), people)


def _slope(f: Floats, y: Floats, codes: Ints, confidence: float) -> StatisticResult:
    apart = f - f.mean()
    squares = float(apart @ apart)
    if squares <= 0:
        return StatisticResult.undefined("the judge gave every reply the same", n=len(f))
    value = float(apart @ y) / squares
    groups = len(np.unique(codes))
    base = StatisticResult(value, n=len(f), clusters=groups)
    if groups < 3:
        return base.without_interval("too few items are graded: nothing shows the error")
    rest = y - y.mean() - value * apart
    pulls = np.bincount(codes, weights=apart * rest) / squares
    error = math.sqrt(groups / (groups - 1) * (len(f) - 1) / (len(f) - 2) * float(pulls @ pulls))
    return with_t(base, error, groups - 2, confidence=confidence, null=1.0, scale=abs(value))
