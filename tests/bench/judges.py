"""Judges held against people, by simulation: Rogan and Gladen's estimate and PPI++, and the promise of a cascade.

python -m tests.bench.judges [REPETITIONS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.statistics.validity import corrected_prevalence, learned_threshold

REPLIES, LABELS = 1000, 100


@dataclass(frozen=True)
class BinaryWorld:
    """A judge of true or false. The labels are a random part of the replies, or come `elsewhere`, where half of the
    replies are good."""

    name: str
    good: float
    sensitivity: float
    specificity: float
    elsewhere: bool = False


WORLDS = (
    BinaryWorld("good judge, random labels", 0.7, 0.9, 0.9),
    BinaryWorld("fair judge, random labels", 0.7, 0.8, 0.7),
    BinaryWorld("lenient judge, random labels", 0.4, 0.95, 0.6),
    BinaryWorld("good judge, labels elsewhere", 0.2, 0.9, 0.9, elsewhere=True),
    BinaryWorld("lenient judge, labels elsewhere", 0.2, 0.95, 0.6, elsewhere=True),
)


@dataclass(frozen=True)
class Held:
    """How often intervals of 95 % held the truth, and their mean width."""

    rogan_gladen: float
    rogan_gladen_width: float
    ppi: float
    ppi_width: float


def held(world: BinaryWorld, repetitions: int, seed: int = 1) -> Held:
    """Simulate a world."""
    random = np.random.default_rng(seed)
    hits: list[tuple[bool, bool]] = []
    widths: list[tuple[float, float]] = []
    for _ in range(repetitions):
        people = (random.random(REPLIES) < world.good).astype(float)
        judge = judged(world, people, random)
        labelled = people[:LABELS], judge[:LABELS]
        if world.elsewhere:
            other = (random.random(LABELS) < 0.5).astype(float)
            labelled = other, judged(world, other, random)
        labels, verdicts = labelled
        given = corrected_prevalence(judge, verdicts, labels).result
        # With labels from elsewhere PPI++ takes them as if they were replies of the run: what it is not made for.
        all_judged = np.concatenate([verdicts, judge]) if world.elsewhere else judge
        rest = [None] * (len(all_judged) - LABELS)
        both = corrected_mean(all_judged.tolist(), [*labels.tolist(), *rest], ends=(0.0, 1.0)).result
        pair = [(each.low, each.high) for each in (given, both)]
        hits.append(tuple(low is not None and low <= world.good <= high for low, high in pair))  # type: ignore[arg-type]
        widths.append(tuple(1.0 if low is None else high - low for low, high in pair))  # type: ignore[arg-type,operator]
    return Held(
        fmean(hit for hit, _ in hits),
        fmean(width for width, _ in widths),
        fmean(hit for _, hit in hits),
        fmean(width for _, width in widths),
    )


def judged(world: BinaryWorld, people: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return a judge's verdicts on replies that people find good or not."""
    chance = np.where(people == 1, world.sensitivity, 1 - world.specificity)
    return (random.random(len(people)) < chance).astype(float)


CASCADES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "confident where it is right": lambda sure: 0.5 + 0.5 * sure,
    "right a little too seldom": lambda sure: np.full(len(sure), 0.895),
    "confident where it is wrong": lambda sure: 0.95 - 0.3 * sure,
}
"""The chance that a verdict agrees with people, by the judge's confidence."""


def broken(name: str, repetitions: int, labels: int = 200, level: float = 0.9, seed: int = 2) -> tuple[float, float]:
    """Return how often the verdicts that a learned threshold trusts agree less than promised, and the share that it
    trusts."""
    random = np.random.default_rng(seed)
    grid = np.round(np.linspace(0.2, 1.0, 5), 2)
    worse, trusted = 0, []
    for _ in range(repetitions):
        sure = random.choice(grid, labels)
        agreed = random.random(labels) < CASCADES[name](sure)
        found = learned_threshold(sure.tolist(), agreed.tolist(), level)
        trusted.append(found.trusted)
        if found.threshold is not None:
            worse += CASCADES[name](grid[grid >= found.threshold]).mean() < level
    return worse / repetitions, fmean(trusted)


def main() -> None:
    """Print the table of each world."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{REPLIES} replies, {LABELS} labels, {repetitions} repetitions")
    for world in WORLDS:
        found = held(world, repetitions)
        print(
            f"{world.name:34} Rogan-Gladen {found.rogan_gladen:.3f} ({found.rogan_gladen_width:.3f})   "
            f"PPI++ {found.ppi:.3f} ({found.ppi_width:.3f})"
        )
    for name in CASCADES:
        worse, trusted = broken(name, repetitions)
        print(f"cascade, {name:30} promise broken {worse:.3f}, trusted {trusted:.2f}")


if __name__ == "__main__":
    main()
