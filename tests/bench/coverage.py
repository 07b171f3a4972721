"""How often intervals of 95 % hold the truth: by family of figures, number of items and nearness to the ends.

    python tests/bench/coverage.py [REPETITIONS]

Each line is a family at one truth; under each number of items stand the share of intervals that hold the truth and
their mean width. Values are drawn so that an item is better or worse as a whole: `alike` is the correlation of replies
to one item, or how far marks crowd at the two ends of their scale. `FEWEST` is what a test holds a short form to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.intervals import MIN_CLASS_ITEMS, class_mean_ends, clopper_pearson, shares_between

FEWEST = 0.93
ITEMS = (5, 10, 30)
NEAR = (0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98)
STEPS = 9
"""A scale of 1 to 10 has so many steps."""


@dataclass(frozen=True)
class Family:
    """A kind of figure: `draw` gives the low and the high ends of intervals, and what they should hold."""

    name: str
    truth: str
    draw: Callable[[np.random.Generator, int, int], tuple[Floats, Floats, Floats]]


def covered(family: Family, items: int, repetitions: int, seed: int = 1) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their mean width.

    >>> covered(next(shares()), 5, 200)[0] >= 0.93
    True
    """
    low, high, truth = family.draw(np.random.default_rng([seed, items]), items, repetitions)
    held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    return float(held.mean()), float((high - low).mean())


def families() -> Iterator[Family]:
    """Yield every family at every truth."""
    yield from shares()
    yield from clustered()
    yield from marks()
    yield from passes()
    yield from differences()
    yield from classes()
    yield from agreement()


def shares() -> Iterator[Family]:
    """A share of independent items."""
    for p in NEAR:

        def draw(random: np.random.Generator, m: int, count: int, p: float = p) -> tuple[Floats, Floats, Floats]:
            right = random.binomial(m, p, count)
            ends = np.array([_exact(each, m) for each in range(m + 1)])
            return ends[right, 0], ends[right, 1], np.full(count, p)

        yield Family("share, one value an item", f"{p:.2f}", draw)


def clustered() -> Iterator[Family]:
    """A share of several replies an item."""
    for alike in (0.1, 0.6):
        for p in NEAR:

            def draw(
                random: np.random.Generator, m: int, count: int, p: float = p, alike: float = alike
            ) -> tuple[Floats, Floats, Floats]:
                ease = _beta(random, p, alike, (count, m, 1))
                return (*_of_items((random.random((count, m, 4)) < ease).mean(2)), np.full(count, p))

            yield Family(f"share, four replies an item, alike by {alike}", f"{p:.2f}", draw)


def marks() -> Iterator[Family]:
    """A mean on 1 to 10, by one judge or three."""
    for alike in (0.05, 0.3):
        for judges in (1, 3):
            for p in NEAR:

                def draw(
                    random: np.random.Generator, m: int, count: int, p: float = p, a: float = alike, k: int = judges
                ) -> tuple[Floats, Floats, Floats]:
                    given = random.binomial(STEPS, _beta(random, p, a, (count, m, 1)), (count, m, k)) / STEPS
                    return (*_of_items(given.mean(2)), np.full(count, p))

                yield Family(f"mark of 1 to 10, {judges} judges, at the ends by {alike}", f"{1 + STEPS * p:.2f}", draw)


def passes() -> Iterator[Family]:
    """pass@2 of four replies an item."""
    for p in NEAR:
        both = (1 - p) * (0.4 + 0.6 * (1 - p))

        def draw(
            random: np.random.Generator, m: int, count: int, p: float = p, truth: float = 1 - both
        ) -> tuple[Floats, Floats, Floats]:
            wrong = 4 - random.binomial(4, _beta(random, p, 0.4, (count, m)))
            return (*_of_items(1 - wrong * (wrong - 1) / 12), np.full(count, truth))

        yield Family("pass@2 of four replies", f"{1 - both:.2f}", draw)


def differences() -> Iterator[Family]:
    """Yield a paired difference of two models: of what is right, and of marks."""
    for first, second in ((0.5, 0.5), (0.9, 0.9), (0.98, 0.98), (0.98, 0.9), (0.9, 0.5), (0.98, 0.5), (0.98, 0.1)):

        def right(
            random: np.random.Generator, m: int, count: int, a: float = first, b: float = second
        ) -> tuple[Floats, Floats, Floats]:
            ease = random.random((count, m))
            other = np.where(random.random((count, m)) < 0.5, ease, random.random((count, m)))
            return (*_of_items((ease < a) * 1.0 - (other < b), -1.0, 1.0), np.full(count, a - b))

        def graded(
            random: np.random.Generator, m: int, count: int, a: float = first, b: float = second
        ) -> tuple[Floats, Floats, Floats]:
            one, other = (random.binomial(STEPS, _beta(random, p, 0.05, (count, m))) / STEPS for p in (a, b))
            return (*_of_items(one - other, -1.0, 1.0), np.full(count, a - b))

        yield Family("paired difference of shares", f"{first:.2f} − {second:.2f}", right)
        yield Family("paired difference of marks", f"{first:.2f} − {second:.2f}", graded)


OVER = {
    "precision": lambda tp, fp, fn: (tp, tp + fp),
    "recall": lambda tp, fp, fn: (tp, tp + fn),
    "f1": lambda tp, fp, fn: (2 * tp, 2 * tp + fp + fn),
}
"""Measures of classes as one sum over another."""


def classes() -> Iterator[Family]:
    """Precision, recall and F1 of one class, and as means over classes, also rare ones."""
    for prior in ((0.5, 0.3, 0.2), (0.9, 0.1), (0.1,) * 10):
        for function in OVER:
            for right in (0.6, 0.8, 0.95):
                for average in ("macro", "binary"):

                    def draw(
                        random: np.random.Generator,
                        m: int,
                        count: int,
                        prior: tuple[float, ...] = prior,
                        function: str = function,
                        right: float = right,
                        average: str = average,
                    ) -> tuple[Floats, Floats, Floats]:
                        whole = _counted(_sorted(random, 1, 300_000, prior, right), function)
                        sums = [each.sum(2)[:, 0] for each in whole]
                        over, under = _counted(_sorted(random, count, m, prior, right), function)
                        return (_macro if average == "macro" else _binary)(over, under, sums[0] / sums[1])

                    name = f"{function} {average} of {len(prior)} classes, the rarest {prior[-1]:.0%}"
                    yield Family(name, f"{right:.2f} right", draw)


def agreement() -> Iterator[Family]:
    """Cohen's kappa of two raters who give three classes, from 15 items on."""
    for same in (0.2, 0.6, 0.9):

        def draw(random: np.random.Generator, m: int, count: int, p: float = same) -> tuple[Floats, Floats, Floats]:
            m = max(m, 15)
            one, chance = random.integers(0, 3, (count, m)), random.integers(0, 3, (count, m))
            other = np.where(random.random((count, m)) < p, one, chance)
            kept = np.concatenate([np.ones((1, m), dtype=bool), ~np.eye(m, dtype=bool)])
            with np.errstate(invalid="ignore"):
                found = np.array([_kappa(one, other, rows) for rows in kept])
            good = np.isfinite(found).all(0)
            whole, without = found[0, good], found[1:, good]
            error = np.sqrt((m - 1) / m * ((without - without.mean(0)) ** 2).sum(0))
            some = error > 1e-9
            size = np.full(int(some.sum()), float(m))
            low, high = shares_between((whole[some] + 1) / 2, error[some] / 2, size - 1, size)
            return 2 * low - 1, 2 * high - 1, np.full(len(low), p)

        yield Family("kappa of two raters (15 items or more)", f"{same:.2f}", draw)


def _kappa(one: Floats, other: Floats, kept: Floats) -> Floats:
    a, b = one[:, kept], other[:, kept]
    chance = sum((a == each).mean(1) * (b == each).mean(1) for each in range(3))
    found: Floats = ((a == b).mean(1) - chance) / (1 - chance)
    return found


def _exact(right: int, m: int) -> tuple[float, float]:
    found = clopper_pearson(right, m)
    assert found.low is not None and found.high is not None
    return found.low, found.high


def _beta(random: np.random.Generator, mean: float, alike: float, shape: tuple[int, ...]) -> Floats:
    """Return chances of items, whose replies are correlated by `alike`."""
    spread = (1 - alike) / alike
    return random.beta(mean * spread, (1 - mean) * spread, shape)


def _of_items(values: Floats, least: float = 0.0, most: float = 1.0) -> tuple[Floats, Floats]:
    """The ends of the interval of the mean over items, a repetition a row."""
    m, length = values.shape[1], most - least
    error = values.std(axis=1, ddof=1) / np.sqrt(m) / length
    size = np.full(len(values), float(m))
    low, high = shares_between((values.mean(1) - least) / length, error, size - 1, size)
    return least + length * low, least + length * high


def _sorted(
    random: np.random.Generator, count: int, m: int, prior: tuple[float, ...], right: float
) -> tuple[Floats, Floats, int]:
    """Return what was said of items, and what is true."""
    truth = random.choice(len(prior), p=prior, size=(count, m))
    wrong = (truth + random.integers(1, len(prior), (count, m))) % len(prior)
    return np.where(random.random((count, m)) < right, truth, wrong), truth, len(prior)


def _counted(drawn: tuple[Floats, Floats, int], function: str) -> tuple[Floats, Floats]:
    """Return what stands above and below the line, of every class, repetition and item."""
    said, truth, number = drawn
    tables = []
    for each in range(number):
        hit, told, true = (said == each) & (truth == each), said == each, truth == each
        tables.append(OVER[function](hit * 1.0, (told & ~true) * 1.0, (true & ~told) * 1.0))
    return np.array([over for over, _ in tables]), np.array([under for _, under in tables])


def _binary(over: Floats, under: Floats, truths: Floats) -> tuple[Floats, Floats, Floats]:
    """Of the last class: only the items in which it stands count, as in the SQL of measures."""
    above, below = over[-1], under[-1]
    behind = (below > 0).sum(1).astype(float)
    some = behind > 1
    above, below, behind = above[some], below[some], behind[some]
    value = above.sum(1) / below.sum(1)
    pulls = (above - value[:, None] * below) / below.sum(1)[:, None]
    error = np.sqrt((pulls**2).sum(1) * behind / (behind - 1))
    low, high = shares_between(value, error, behind - 1, behind)
    return low, high, np.full(len(low), truths[-1])


def _macro(over: Floats, under: Floats, truths: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean over the classes that occur, with the interval that the SQL of measures and its evaluation give it."""
    number, count, m = over.shape
    found = []
    for place in range(count):
        above, below = over[:, place], under[:, place]
        total = below.sum(1)
        behind = (below > 0).sum(1)
        ratios = np.divide(above.sum(1), total, out=np.zeros(number), where=total > 0)
        seen = total > 0
        shares_of, items_of = ratios[seen], behind[seen]
        if items_of.min() < MIN_CLASS_ITEMS or (shares_of * items_of).min() < MIN_CLASS_ITEMS / 2:
            low, high = class_mean_ends(shares_of.tolist(), items_of.tolist())
        else:
            pulls = ((above - ratios[:, None] * below)[seen] / total[seen, None]).sum(0) / seen.sum()
            error = np.sqrt((pulls**2).sum() * m / (m - 1))
            ends = shares_between(*(np.array([x]) for x in (shares_of.mean(), error, m - 1.0, float(m))))
            low, high = (float(end[0]) for end in ends)
        found.append((low, high, float(truths[seen].mean())))
    lows, highs, held = np.array(found).T
    return lows, highs, held


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{'family':58} {'truth':>12}  " + "  ".join(f"{f'n = {m}':>13}" for m in ITEMS))
    least: list[tuple[float, str]] = []
    for family in families():
        count = repetitions // 10 if "macro" in family.name else repetitions  # these go one by one
        found = [covered(family, m, count) for m in ITEMS]
        cells = (f"{share:.3f} ({width:.2f}){'!' if share < FEWEST else ' '}" for share, width in found)
        print(f"{family.name:58} {family.truth:>12}  " + "  ".join(cells), flush=True)
        least += [
            (share, f"{family.name}, {family.truth}, n = {m}") for (share, _), m in zip(found, ITEMS, strict=True)
        ]
    share, name = min(least)
    below = sum(each < FEWEST for each, _ in least)
    print(f"\n{len(least)} cells of {repetitions:,} repetitions; {below} below {FEWEST}; least {share:.3f}: {name}")


if __name__ == "__main__":
    main()
