"""Ways to an interval of a share with several replies an item, near the ends: how often each holds the truth, how wide
it is, and how often it has no width.

    python tests/bench/near_ends.py [REPETITIONS]

Worlds differ in the share, in how far replies to one item are alike, in the number of items, and in shape: `beta` draws
an item's chance from a beta distribution, `two kinds` makes most items certain and the others even, `ragged` draws a
beta with one to eight replies an item. A line is a way and a number of items, over all worlds: the least and the mean
share of intervals that hold the truth, the mean width, and the share of intervals without any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tripos_warehouse.statistics.arrays import Floats
from tripos_warehouse.statistics.intervals import shares_between

ITEMS = (5, 10, 30)
SHARES = (0.005, 0.02, 0.05, 0.1, 0.3)
ALIKE = (0.05, 0.3, 0.8)
REPLIES = 4
DRAWS = 500


@dataclass(frozen=True)
class Drawn:
    """Right replies and replies of every item, a repetition a row."""

    right: Floats
    replies: Floats

    @property
    def share(self) -> Floats:
        """The share of all replies that are right."""
        found: Floats = self.right.sum(1) / self.replies.sum(1)
        return found

    @property
    def error(self) -> Floats:
        """The error of that share, clustered by item (Liang and Zeger 1986)."""
        m = self.right.shape[1]
        pulls = self.right - self.replies * self.share[:, None]
        found: Floats = np.sqrt(m / (m - 1) * np.square(pulls).sum(1)) / self.replies.sum(1)
        return found


Ends = tuple[Floats, Floats]


def today(drawn: Drawn) -> Ends:
    """`statistics.bounded`, which measures and comparisons take."""
    m = np.full(len(drawn.right), float(drawn.right.shape[1]))
    low, high = shares_between(drawn.share, drawn.error, m - 1, m)
    return low, high


def student(drawn: Drawn) -> Ends:
    """Student's t, cut at the ends."""
    from scipy.special import stdtrit

    reach = stdtrit(drawn.right.shape[1] - 1, 0.975) * drawn.error
    return np.maximum(drawn.share - reach, 0), np.minimum(drawn.share + reach, 1)


def _effective(drawn: Drawn) -> Floats:
    """The replies over their design effect, at least the items (Korn and Graubard 1998): p (1 - p) / error², times the
    square of the quantiles of z over t. Where all are alike nothing shows the effect, and items are what counts."""
    from scipy.special import ndtri, stdtrit

    m, total = drawn.right.shape[1], drawn.replies.sum(1)
    narrow = (ndtri(0.975) / stdtrit(m - 1, 0.975)) ** 2
    p = drawn.share
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(drawn.error > 1e-9, p * (1 - p) / drawn.error**2 * narrow, m)
    clipped: Floats = np.clip(found, 1, total)
    return clipped


def jeffreys(drawn: Drawn) -> Ends:
    """Jeffreys' interval of the effective number of replies."""
    from scipy.special import betaincinv

    n = _effective(drawn)
    a, b = drawn.share * n, (1 - drawn.share) * n
    low = np.where(a <= 1e-9, 0.0, betaincinv(a + 0.5, b + 0.5, 0.025))
    return low, np.where(b <= 1e-9, 1.0, betaincinv(a + 0.5, b + 0.5, 0.975))


def exact(drawn: Drawn) -> Ends:
    """Clopper and Pearson's interval of the effective number of replies (Korn and Graubard 1998)."""
    from scipy.special import betaincinv

    n = _effective(drawn)
    a, b = drawn.share * n, (1 - drawn.share) * n
    low = np.where(a <= 1e-9, 0.0, betaincinv(np.maximum(a, 1e-9), b + 1, 0.025))
    return low, np.where(b <= 1e-9, 1.0, betaincinv(a + 1, np.maximum(b, 1e-9), 0.975))


def beta_binomial(drawn: Drawn) -> Ends:
    """The quantiles of a share in a beta-binomial, with Jeffreys' prior of the share and an even one of how far
    replies are alike."""
    from scipy.special import betaln

    shares = (np.sin(np.linspace(0, np.pi / 2, 202)[1:-1])) ** 2  # even steps here are Jeffreys' prior
    alike = np.linspace(0.02, 0.98, 25)
    most = int(drawn.replies.max())
    spread = ((1 - alike) / alike)[None, :]
    a, b = shares[:, None] * spread, (1 - shares[:, None]) * spread
    logs = np.zeros((len(drawn.right), len(shares), len(alike)))
    for replies in range(1, most + 1):
        for right in range(replies + 1):
            items = ((drawn.replies == replies) & (drawn.right == right)).sum(1)
            if items.any():
                logs += items[:, None, None] * (betaln(right + a, replies - right + b) - betaln(a, b))[None]
    chances = np.exp(logs - logs.max((1, 2), keepdims=True)).sum(2)
    sums = np.cumsum(chances, 1) / chances.sum(1, keepdims=True)
    return shares[(sums < 0.025).sum(1)], shares[np.minimum((sums < 0.975).sum(1), len(shares) - 1)]


def bca(drawn: Drawn) -> Ends:
    """The bootstrap of items, corrected for bias and skewness (Efron 1987)."""
    from scipy.special import ndtr, ndtri

    random = np.random.default_rng(7)
    count, m = drawn.right.shape
    found = np.empty((count, 2))
    for place in range(count):
        right, replies = drawn.right[place], drawn.replies[place]
        share = right.sum() / replies.sum()
        chosen = random.integers(0, m, (DRAWS, m))
        draws = np.sort(right[chosen].sum(1) / replies[chosen].sum(1))
        below = ((draws < share).sum() + (draws == share).sum() / 2) / DRAWS
        if draws[0] == draws[-1] or not 0 < below < 1:
            found[place] = draws[0], draws[-1]
            continue
        without = (right.sum() - right) / (replies.sum() - replies)
        apart = without.mean() - without
        bias, squares = ndtri(below), np.square(apart).sum()
        skew = (apart**3).sum() / (6 * squares**1.5) if squares > 0 else 0.0
        z = bias + ndtri(np.array([0.025, 0.975]))
        found[place] = np.quantile(draws, ndtr(bias + z / (1 - skew * z)))
    return found[:, 0], found[:, 1]


SLOW = (beta_binomial, bca)
"""These are tried a tenth as often."""
WAYS: dict[str, Callable[[Drawn], Ends]] = {
    "Student's t, cut": student,
    "Jeffreys, effective n": jeffreys,
    "exact, effective n": exact,
    "beta-binomial": beta_binomial,
    "BCa": bca,
    "bounded (as measures)": today,
}


def worlds(random: np.random.Generator, items: int, count: int) -> Iterator[tuple[str, float, Drawn]]:
    """Yield the name, the true share and the draws of every world, and of its mirror image."""
    shape = (count, items)
    for p in SHARES:
        for alike in ALIKE:
            spread = (1 - alike) / alike
            ease = random.beta(p * spread, (1 - p) * spread, shape)
            for name, replies in (
                ("beta", np.full(shape, REPLIES)),
                ("ragged", random.integers(1, 2 * REPLIES + 1, shape)),
            ):
                right = random.binomial(replies, ease)
                yield f"{name}, {p}, {alike}", p, Drawn(right, replies)
                yield f"{name}, {1 - p}, {alike}", 1 - p, Drawn(replies - right, replies)
        certain = np.where(random.random(shape) < 2 * p, 0.5, 0.0)
        replies = np.full(shape, REPLIES)
        right = random.binomial(replies, certain)
        yield f"two kinds, {p}", p, Drawn(right, replies)
        yield f"two kinds, {1 - p}", 1 - p, Drawn(replies - right, replies)


def held(way: Callable[[Drawn], Ends], items: int, repetitions: int, seed: int = 1) -> list[tuple[float, float, float]]:
    """Of every world: the share of intervals that hold the truth, their mean width, and the share of those without any.

    >>> min(share for share, _, _ in held(today, 10, 300)) > 0.93
    True
    """
    found = []
    for _, truth, drawn in worlds(np.random.default_rng([seed, items]), items, repetitions):
        low, high = way(drawn)
        holds = (low <= truth + 1e-9) & (truth <= high + 1e-9)
        found.append((float(holds.mean()), float((high - low).mean()), float((high - low < 1e-9).mean())))
    return found


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print(f"{'way':24} {'items':>5} {'least':>7} {'mean':>7} {'width':>7} {'none, at most':>14}")
    for name, way in WAYS.items():
        for items in ITEMS:
            rows = held(way, items, max(100, repetitions // 10) if way in SLOW else repetitions)
            share, width, none = np.array(rows).T
            print(
                f"{name:24} {items:>5} {share.min():>7.1%} {share.mean():>7.1%} {width.mean():>7.3f} {none.max():>14.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
