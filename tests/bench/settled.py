"""How often runs that stop when they are settled are wrong, and what they save.

    python tests/bench/settled.py [STREAMS]

Null streams first: items on which two models do not differ, looked at after each of 300. A line says how often the
confidence sequence ever found a difference, and how often a z test at 5 % did from the 20th item on. Then populations
of 300 items of which a sequence left the mean at any time. Then 40 comparisons: 20 of simulated models, and 20 of
tutors whom people graded (MRBench, in `../shared/data`, where it is there). Each is decided by all its items with a
paired t test, and again in 25 random orders by a sequence that stops. An undecided one costs all items. Beside it:
what no sequence can go below, and what a t test of a fixed number of items costs that knows the difference before.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import NormalDist

import numpy as np

from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.multiple_tests import compare_paired
from tripos_warehouse.statistics.sequences import BettingSequence

LEVEL = 0.05
STREAMS, ITEMS, FIRST_LOOK, ORDERS, REAL = 2000, 300, 20, 25, 20
STRENGTHS = (0.8, 0.4, 0.1, 0.0, -0.7)
MRBENCH = Path(__file__).parents[2].parent / "shared/data/mrbench/MRBench_V1.json"
GRADES = {"Yes": 1.0, "To some extent": 0.5, "No": 0.0}
Draws = np.random.Generator


def shares(random: Draws, chance: float) -> Floats:
    """Draw the differences of two models that are right with one chance, half of the time on the same items."""
    common = random.random(ITEMS)
    both = [np.where(random.random(ITEMS) < 0.5, common, random.random(ITEMS)) < chance for _ in range(2)]
    found: Floats = both[0].astype(float) - both[1]
    return found


def marks(random: Draws) -> Floats:
    """Draw the differences of two models with marks of 1 to 10, crowded at the upper end."""
    item = random.normal(8, 1.5, ITEMS)
    both = [np.clip(np.rint(item + random.normal(0, 1.2, ITEMS)), 1, 10) for _ in range(2)]
    found: Floats = both[0] - both[1]
    return found


BOUNDED: Mapping[str, tuple[float, Callable[[Draws], Floats]]] = {
    "right or wrong, half of them": (1.0, lambda random: shares(random, 0.5)),
    "right or wrong, one in twenty": (1.0, lambda random: shares(random, 0.05)),
    "marks of 1 to 10": (9.0, marks),
    "rare and large": (1.0, lambda random: np.where(random.random(ITEMS) < 0.02, 0.98, -0.02)),
}


@dataclass(frozen=True)
class Errors:
    """The share of streams without a difference in which a sequence, and a z test at each item, found one."""

    sequence: float
    naive: float


def errors(draw: Callable[[Draws], Floats], make: Callable[[], BettingSequence], streams: int) -> Errors:
    """Count wrong decisions in null streams that are looked at after every item."""
    wrong = naive = 0
    for seed in range(streams):
        values = draw(np.random.default_rng(seed))
        sequence = make()
        for value in values:
            sequence.add(float(value))
        wrong += sequence.p() <= LEVEL
        naive += ever_significant(values)
    return Errors(wrong / streams, naive / streams)


def ever_significant(values: Floats) -> bool:
    """Return true if a z test at 5 % finds a difference at any item from `FIRST_LOOK` on."""
    t = np.arange(1, len(values) + 1)
    means = np.cumsum(values) / t
    variances = np.maximum(np.cumsum(values**2) / t - means**2, 0) * t / np.maximum(t - 1, 1)
    late = slice(FIRST_LOOK - 1, None)
    return bool((np.abs(means[late]) > 1.96 * np.sqrt(variances[late] / t[late])).any())


def left(population: Floats, ends: tuple[float, float], streams: int) -> float:
    """Return the share of random orders of a population in which the sequence left its mean at any time."""
    gone = 0
    for seed in range(streams):
        sequence = BettingSequence(ends, len(population), steps=200)
        for value in np.random.default_rng(seed).permutation(population):
            sequence.add(float(value))
        gone += sequence.p(float(population.mean())) <= LEVEL
    return gone / streams


@dataclass(frozen=True)
class Replayed:
    """A comparison in many orders: the share of items that were asked, and how often the decision was another one than
    with all items."""

    name: str
    decision: int
    """1 or -1 where all items show that one is better, else 0."""
    cost: float
    wrong: float
    undecided: float


def replay(name: str, first: Floats, second: Floats, span: float) -> Replayed:
    """Decide a comparison with all items, and in random orders by a sequence."""
    pairs = [dict(enumerate(values.tolist())) for values in (first, second)]
    found = compare_paired(*pairs).difference
    decision = int(np.sign(found.value or 0)) if found.p is not None and found.p < LEVEL else 0
    costs, wrong, undecided = [], 0, 0
    for seed in range(ORDERS):
        sequence, total = BettingSequence((-span, span), planned=len(first), steps=2), 0.0
        differences = np.random.default_rng(seed).permutation(first - second)
        for value in differences:
            sequence.add(float(value))
            total += value
            if sequence.p() <= LEVEL:
                wrong += int(np.sign(total)) != decision
                break
        else:
            undecided += 1
        costs.append(sequence.n / len(differences))
    return Replayed(name, decision, float(np.mean(costs)), wrong / ORDERS, undecided / ORDERS)


def simulated() -> list[tuple[str, Floats, Floats, float]]:
    """Draw every two of five models on 1,000 items, whose strengths are as far apart as the items' difficulties: right
    or wrong, and with marks of 1 to 10."""
    random = np.random.default_rng(1)
    difficulty = random.normal(0, 1, 1000)
    right = [(random.random(1000) < 1 / (1 + np.exp(difficulty - each))).astype(float) for each in STRENGTHS]
    marked = [np.clip(np.rint(7 + each - difficulty / 2 + random.normal(0, 1.5, 1000)), 1, 10) for each in STRENGTHS]
    return [
        (f"simulated {kind}, {STRENGTHS[one] - STRENGTHS[two]:.1f} apart", values[one], values[two], span)
        for kind, values, span in (("answers", right, 1.0), ("marks", marked, 9.0))
        for one, two in combinations(range(len(STRENGTHS)), 2)
    ]


def graded() -> list[tuple[str, Floats, Floats, float]]:
    """Read comparisons of tutors by their mean grade from people, over the conversations that both replied to."""
    if not MRBENCH.exists():
        return []
    tutors: dict[str, dict[str, float]] = {}
    for each in json.loads(MRBENCH.read_text("utf-8")):
        for tutor, reply in each["anno_llm_responses"].items():
            values = [GRADES[grade] for grade in reply["annotation"].values() if grade in GRADES]
            if values:
                tutors.setdefault(tutor, {})[each["conversation_id"]] = float(np.mean(values))
    found = []
    for one, two in combinations(sorted(tutors), 2):
        shared = sorted(tutors[one].keys() & tutors[two].keys())
        if len(shared) >= 100:
            both = [np.array([tutors[name][item] for item in shared]) for name in (one, two)]
            found.append((f"{one} and {two}", *both, 1.0))
    return found[:REAL]


def hindsight(first: Floats, second: Floats, span: float) -> float:
    """Return the share of items that the best single bet costs, which is known only once all items are: no mixture of
    bets does better in the mean."""
    least = 1.0
    for bet in np.geomspace(0.02, 0.95, 25):
        shares = []
        for seed in range(ORDERS):
            differences = np.random.default_rng(seed).permutation(first - second) / span
            capital = [np.cumsum(np.log1p(side * bet * differences)) for side in (1, -1)]
            reached = np.nonzero(np.maximum(*capital) >= np.log(2 / LEVEL))[0]
            shares.append((reached[0] + 1) / len(differences) if len(reached) else 1.0)
        least = min(least, float(np.mean(shares)))
    return least


def known_before(first: Floats, second: Floats, power: float) -> float:
    """Return the share of items after which a t test, at a number of items that is fixed by the difference and the
    standard deviation of all of them, decides with this probability."""
    differences = first - second
    z = abs(differences.mean()) / differences.std(ddof=1) * math.sqrt(len(differences))
    needed = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(power)
    return min(1.0, float((needed / z) ** 2)) if z else 1.0


def drawn(comparisons: list[tuple[str, Floats, Floats, float]], items: int) -> list[tuple[str, Floats, Floats, float]]:
    """Draw so many conversations of each comparison of tutors, with replacement: benchmarks have more than MRBench."""
    random = np.random.default_rng(2)
    places = [random.integers(0, len(first), items) for _, first, _, _ in comparisons]
    return [
        (name, first[at], second[at], span) for (name, first, second, span), at in zip(comparisons, places, strict=True)
    ]


def main() -> None:
    """Print the tables."""
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else STREAMS
    print(f"{streams:,} null streams of {ITEMS} items: wrong decisions   sequence   z at each item")
    for name, (span, draw) in BOUNDED.items():
        told = errors(draw, lambda span=span: BettingSequence((-span, span), planned=ITEMS, steps=2), streams)  # type: ignore[misc]
        print(f"  {name:48}{told.sequence:>10.1%}{told.naive:>12.1%}")
    random = np.random.default_rng(0)
    rare = np.arange(ITEMS) < ITEMS / 10
    right = (random.random(ITEMS) < np.where(rare, 0.3, 0.8)) * 1.0
    for name, population, most in (
        ("a share of 0.9", (np.arange(ITEMS) < 0.9 * ITEMS) * 1.0, 1.0),
        ("marks between 0 and 1", random.beta(8, 3, ITEMS), 1.0),
        ("two cells, one of a tenth", right * np.where(rare, 5.0, 5 / 9), 5.0),
    ):
        print(f"  population, {name:36}{left(population, (0, most), streams // 4):>10.1%}")
    told_all = [replay(*each) for each in (*simulated(), *graded())]
    for each in told_all:
        print(f"  {each.name:48}{each.decision:>3}{each.cost:>10.1%}{each.wrong:>10.1%}{each.undecided:>10.1%}")
    decided = [each for each in told_all if each.decision]
    parts = {"comparisons": told_all, "that all items decide": decided, "simulated": told_all[:20]}
    for name, part in {**parts, "of tutors": told_all[20:]}.items():
        costs = [each.cost for each in part]
        if costs:
            print(f"{len(part)} {name}: cost {np.median(costs):.1%} in the median, {np.mean(costs):.1%} in the mean")
    print(f"  another decision {np.mean([each.wrong for each in told_all]):.1%}")
    every = [*simulated(), *graded()]
    best = [hindsight(first, second, span) for _, first, second, span in every]
    print(f"  the best bet in hindsight costs {np.median(best):.1%} in the median")
    for power in (0.8, 0.9, 0.95):
        fixed = [known_before(first, second, power) for _, first, second, _ in every]
        print(f"  a fixed number for the known difference with a power of {power:.0%}: {np.median(fixed):.1%}")
    for items in (500, 1000, 2000):
        more = [replay(*each) for each in drawn(graded(), items)]
        both = [each.cost for each in told_all[: len(told_all) - len(more)]] + [each.cost for each in more]
        print(
            f"  tutors on {items:,} conversations: {np.median([each.cost for each in more]):.1%}; all {np.median(both):.1%};",
            end="",
        )
        print(f" another decision {np.mean([each.wrong for each in more]):.1%}")


if __name__ == "__main__":
    main()
