"""How far the sizes of differences are from the truth that runs tell which stop when they are settled.

    python tests/bench/stopped.py [RUNS]

Runs of two models over at most 300 items stop once the sequence of their differences rules 0 out. A line for each true
difference says how many stop, after how many items, what these tell on average as the plain mean and as the estimate of
the sequence (the side that is above positive), and the root of the mean squared error of both; then the mean of what
all runs tell, also those that go on to the last item, and how often the interval holds the difference. Then how large
the error of those that stop is beside the true difference, by how far the mean is moved back. Then, of fewer runs, how
often the interval of a model's own mean holds that of all its items. Last come runs of four models, each of which is
asked until Holm's correction tells it from all others.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tests.bench.settled import LEVEL, Draws
from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.multiple_tests import holm
from tripos_warehouse.statistics.sequences import BettingSequence

ITEMS, STEPS, RUNS = 300, 200, 400
SHRINKAGES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
TRUTHS = {0.5: (0.0, 0.01, 0.03, 0.1, 0.2), 0.9: (0.0, 0.01, 0.03, 0.1, 0.2)}
FOUR = ((0.0, 0.0, 0.0, 0.0), (0.0, 0.02, 0.04, 0.06), (0.0, 0.0, 0.15, 0.15))


@dataclass(frozen=True)
class ToldDifference:
    """The figures that a run tells of two models: the plain mean, the estimate, the interval, and whether it stopped for it."""

    mean: float
    estimate: float
    others: tuple[float, ...]
    """The estimates with each of `SHRINKAGES`."""
    low: float
    high: float
    items: int
    stopped: bool


@dataclass(frozen=True)
class StoppedRun:
    """A run: its differences, and of each model whose mean was followed whether the interval holds that of all items."""

    differences: tuple[ToldDifference, ...]
    held: tuple[bool, ...]


def scores(random: Draws, chance: float, gaps: Sequence[float], items: int = ITEMS) -> Floats:
    """Draw what models answer right, a column each, with a chance that is less by their gap; half of the time on the
    same items."""
    common = random.random((items, 1))
    drawn = np.where(random.random((items, len(gaps))) < 0.5, common, random.random((items, len(gaps))))
    found: Floats = (drawn < chance - np.array(gaps)).astype(float)
    return found


def run_until_settled(values: Floats, *, follows_means: bool = False, steps: int = STEPS) -> StoppedRun:
    """Go through items until every two models are told apart, as a run does; one is asked no more once it is told from
    all others."""
    items, models = values.shape
    pairs = list(combinations(range(models), 2))
    sequences = [BettingSequence((-1, 1), planned=items, steps=steps) for _ in pairs]
    means = [BettingSequence((0, 1), items, steps=steps) for _ in range(models if follows_means else 0)]
    asked = set(range(models))
    for row in values:
        for model in asked if follows_means else ():
            means[model].add(float(row[model]))
        for (one, two), sequence in zip(pairs, sequences, strict=True):
            if {one, two} <= asked:
                sequence.add(float(row[one] - row[two]))
        corrected = holm([each.p(0.0) for each in sequences])
        near = [pair for pair, p in zip(pairs, corrected, strict=True) if p is None or p > LEVEL]
        asked &= {model for pair in near for model in pair}
        if not asked:
            break
    held = tuple(
        low - 1e-9 <= values[:, model].mean() <= high + 1e-9
        for model, (low, high) in enumerate(each.interval(LEVEL) for each in means)
    )
    return StoppedRun(tuple(_told(each, items) for each in sequences), held)


def _told(sequence: BettingSequence, items: int) -> ToldDifference:
    mean, low, high = sequence.mean or 0.0, *sequence.interval(LEVEL)
    stopped = sequence.n < items
    estimate = (sequence.estimate(0.0, LEVEL) or 0.0) if stopped else mean
    others = tuple(sequence.estimate(0.0, LEVEL, each) or 0.0 for each in SHRINKAGES)
    return ToldDifference(mean, estimate, others, low, high, sequence.n, stopped)


def simulated(
    chance: float, gaps: Sequence[float], runs: int, items: int = ITEMS, *, follows_means: bool = False
) -> list[StoppedRun]:
    """Return so many runs of models with these gaps, each with its seed."""
    every = (scores(np.random.default_rng(seed), chance, gaps, items) for seed in range(runs))
    return [run_until_settled(values, follows_means=follows_means) for values in every]


def holds(told: ToldDifference, truth: float) -> bool:
    """Return true if an interval holds a difference."""
    return told.low - 1e-9 <= truth <= told.high + 1e-9


def root(values: Sequence[float]) -> float:
    """Return the root of the mean square."""
    return math.sqrt(sum(value**2 for value in values) / len(values)) if values else math.nan


def main(runs: int) -> None:
    """Print all of it."""
    beside: list[list[float]] = []
    stops: list[int] = []
    for chance, truths in TRUTHS.items():
        for truth in truths:
            made = simulated(chance, (0.0, truth), runs)
            told = [each.differences[0] for each in made]
            early = [each for each in told if each.stopped]
            signs = [1.0 if each.mean > 0 else -1.0 for each in early]
            plain, ours = (
                float(np.mean([sign * getattr(each, name) for sign, each in zip(signs, early, strict=True)] or [0]))
                for name in ("mean", "estimate")
            )
            errors = [root([getattr(each, name) - truth for each in early]) for name in ("mean", "estimate")]
            every = [float(np.mean([getattr(each, name) for each in told])) for name in ("mean", "estimate")]
            held = np.mean([holds(each, truth) for each in told])
            if truth and early:
                columns = zip(*(each.others for each in early), strict=True)
                beside.append([root([value - truth for value in column]) / truth for column in columns])
                stops.append(len(early))
            print(
                f"{chance:g} less {truth:g}: {100 * len(early) / runs:.1f} % stop, after"
                f" {np.mean([each.items for each in early] or [0]):.0f} items; told {plain:.3f}, {ours:.3f};"
                f" error {errors[0]:.3f}, {errors[1]:.3f}; of all runs {every[0]:.3f}, {every[1]:.3f};"
                f" interval holds {100 * held:.1f} %",
                flush=True,
            )
    shares = np.exp(np.average(np.log(beside), axis=0, weights=stops))
    told_shares = ", ".join(f"{each:g}: {share:.2f}" for each, share in zip(SHRINKAGES, shares, strict=True))
    print(f"error beside the difference, geometric mean over runs that stop, moved back by {told_shares}", flush=True)
    for chance in TRUTHS:
        made = simulated(chance, (0.0, 0.1), max(1, runs // 2), follows_means=True)
        print(f"{chance:g} less 0.1: means of models {100 * np.mean([each.held for each in made]):.1f} %", flush=True)
    for gaps in FOUR:
        made = simulated(0.6, gaps, max(1, runs // 5), follows_means=True)
        truths = [two - one for one, two in combinations(gaps, 2)]
        pairs = [pair for each in made for pair in zip(each.differences, truths, strict=True)]
        held = np.mean([holds(*pair) for pair in pairs])
        every = np.mean([all(map(holds, each.differences, truths)) for each in made])
        models = np.mean([each.held for each in made])
        print(f"four, 0.6 less {gaps}: intervals hold {100 * held:.1f} %, means of models {100 * models:.1f} %")
        print(f"  all six at once {100 * every:.1f} %", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
