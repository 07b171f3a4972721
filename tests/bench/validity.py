"""How often intervals of a judge, of people and of a judge corrected by people hold what people would say of everything.

    python tests/bench/validity.py [REPETITIONS]

A line is a world: how a judge's grades follow those of people. People grade a few replies, drawn at random; the judge
grades all. Under each number of graded items stand the shares of intervals of 95 % that hold people's true mean - of
the judge alone, of people alone, and corrected - and the width of the corrected one beside that of people alone.
`FEWEST` is what a test holds a short form to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.prediction_powered import corrected_mean

FEWEST = 0.93
GRADED = (15, 30, 60)
ITEMS = 400
Draws = np.random.Generator


@dataclass(frozen=True)
class World:
    """A judge beside people: `judge` makes its grades of true grades, in the order of the items."""

    name: str
    judge: Callable[[Draws, Floats], Floats]
    replies: int = 1
    """Replies to an item, which are good or bad together."""
    difference: bool = False
    """True if the figure is the difference of two models on the same items."""
    own: float = 0.0
    """By how much the judge prefers the first of the two models."""


def marks(values: Floats) -> Floats:
    """Bring grades to the steps of a scale of 1 to 10."""
    found: Floats = np.clip(np.rint(values), 1, 10)
    return found


def noise(random: Draws, like: Floats, size: float) -> Floats:
    """Draw noise of a size for each grade."""
    return random.normal(0, size, like.shape)


WORLDS = (
    World("a judge like people", lambda random, true: true + noise(random, true, 0.5)),
    World("a lenient judge", lambda random, true: true + 1.5 + noise(random, true, 1)),
    World("a judge that compresses", lambda random, true: 7 + 0.3 * (true - 6) + noise(random, true, 0.6)),
    World("a judge that says nothing", lambda random, true: 6 + noise(random, true, 2)),
    World("a judge that says the contrary", lambda random, true: 11 - true + noise(random, true, 1)),
    World(
        "a drifting judge", lambda random, true: true + np.linspace(-2, 2, len(true))[:, None] + noise(random, true, 1)
    ),
    World("a judge of two grades", lambda random, true: np.where(true + noise(random, true, 1) > 6, 10.0, 2.0)),
    World("four replies an item", lambda random, true: true + 1 + noise(random, true, 1), replies=4),
    World("a difference, judged alike", lambda random, true: true + noise(random, true, 1), difference=True),
    World(
        "a difference, compressed",
        lambda random, true: 7 + 0.3 * (true - 6) + noise(random, true, 0.5),
        difference=True,
    ),
    World(
        "a difference, the judge prefers its own",
        lambda random, true: true + noise(random, true, 1),
        difference=True,
        own=1.0,
    ),
)


@dataclass(frozen=True)
class Held:
    """The outcome of a world: the shares of intervals that hold the truth, and their mean widths."""

    judge: float
    people: float
    corrected: float
    width: float
    """The width of the corrected interval, where that of people alone is 1."""


def held(world: World, graded: int, repetitions: int, seed: int = 1) -> Held:
    """Return how often the three intervals of a world hold people's mean over all items there may be.

    >>> found = held(WORLDS[1], 30, 50)
    >>> found.judge < 0.1 < 0.85 < found.corrected
    True
    """
    random = np.random.default_rng([seed, graded])
    truth = _truth(world)
    counts, widths = np.zeros(3), np.zeros(2)
    for _ in range(repetitions):
        people, judge = _drawn(random, world, ITEMS)
        picked = random.permutation(ITEMS)[:graded]
        known = np.zeros(people.shape, dtype=bool)
        known[picked] = True
        items = np.repeat(np.arange(ITEMS), people.shape[1])
        given = [float(value) if there else None for value, there in zip(people.ravel(), known.ravel(), strict=True)]
        ends = (-9.0, 9.0) if world.difference else (1.0, 10.0)
        found = corrected_mean(judge.ravel().tolist(), given, items.tolist(), ends=ends)
        for at, each in enumerate((found.judged, found.graded, found.result)):
            low, high = each.low, each.high
            if low is not None and high is not None:
                counts[at] += low <= truth <= high
                if at:
                    widths[at - 1] += high - low
    return Held(*(counts / repetitions).tolist(), width=float(widths[1] / widths[0]))


def _drawn(random: Draws, world: World, items: int) -> tuple[Floats, Floats]:
    """Return grades by people and by the judge, a row an item."""
    ease = random.normal(6, 1.2, (items, 1))
    if not world.difference:
        people = marks(ease + random.normal(0, 1.5, (items, world.replies)))
        return people, marks(world.judge(random, people))
    one, other = (marks(ease + better + random.normal(0, 1.2, (items, 1))) for better in (0.4, 0.0))
    by_judge = marks(world.judge(random, one) + world.own) - marks(world.judge(random, other))
    return one - other, by_judge


def _truth(world: World) -> float:
    """Return people's mean, from as many items as leave no error to speak of."""
    people, _ = _drawn(
        np.random.default_rng(7), World(world.name, lambda _, true: true, world.replies, world.difference), 2_000_000
    )
    return float(people.mean())


def main() -> None:
    """Print a line a world."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{repetitions:,} repetitions of {ITEMS} items; judge alone / people alone / corrected, and its width")
    for world in WORLDS:
        cells = []
        for graded in GRADED:
            found = held(world, graded, repetitions)
            cells.append(f"{graded}: {found.judge:4.0%} {found.people:5.1%} {found.corrected:5.1%} ×{found.width:.2f}")
        print(f"{world.name:<40}" + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
