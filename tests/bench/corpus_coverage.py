"""How often the intervals of BLEU, chrF and TER of a corpus hold the figure of the population that it is drawn from.

`python -m tests.bench.corpus_coverage` takes about 15 minutes on one core; `docs/measures.md` has its figures.
"""

from __future__ import annotations

import random

from tripos_warehouse.query.bootstrap import interval, redrawn
from tripos_warehouse.statistics import SummedMetric, corpus_metric

POPULATION = 20_000
SETS = 400
SIZES = (10, 30, 100, 400)
VOCABULARY = tuple(f"w{number}" for number in range(200))


def translation(dice: random.Random) -> tuple[str, str]:
    """Return a translation and its reference: so many words are right as the item is easy, and some end early."""
    easy = dice.betavariate(3, 1.5)
    reference = [dice.choice(VOCABULARY) for _ in range(dice.randint(4, 25))]
    said = [word if dice.random() < easy else dice.choice(VOCABULARY) for word in reference]
    if dice.random() < 0.3:
        said = said[: max(1, int(len(said) * 0.8))]
    return " ".join(said), " ".join(reference)


def coverage(name: str, pairs: list[tuple[str, str]], dice: random.Random) -> dict[int, float]:
    """Return the share of intervals that hold the figure of the population, by the size of a set."""
    whole = corpus_metric(name, {}, [said for said, _ in pairs], [[reference] for _, reference in pairs])
    truth = whole.compute(whole.counts.sum(axis=0))
    assert truth is not None
    found = {}
    for size in SIZES:
        held = 0
        for number in range(SETS):
            drawn = SummedMetric(whole.counts[[dice.randrange(len(pairs)) for _ in range(size)]], whole.compute)
            bounds = interval(redrawn([f"{number}-{place}" for place in range(size)], drawn), size - 1)
            held += bounds is not None and bounds["low"] <= truth <= bounds["high"]
        found[size] = held / SETS
    return found


if __name__ == "__main__":
    chance = random.Random(5)
    population = [translation(chance) for _ in range(POPULATION)]
    for metric in ("corpus_bleu", "corpus_chrf", "corpus_ter"):
        print(metric, coverage(metric, population, chance))
