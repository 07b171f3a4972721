"""How often the interval of `subset_gap()` holds the truth, with an item at either end and without.

python tests/bench/subset_gap.py [REPETITIONS]
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from tripos_warehouse.statistics.arrays import Floats

SIZES = ((10, 10), (20, 80), (50, 200), (200, 20))
SHARES = ((0.02, 0.02), (0.1, 0.1), (0.5, 0.5), (0.9, 0.8), (0.95, 0.5), (0.98, 0.98))
ALIKE = 0.3


def interval(outside: Floats, inside: Floats, more: bool) -> tuple[Floats, Floats]:
    """Return the ends of Welch's interval of the difference of means, a repetition a row.

    >>> outside, inside = np.ones((1, 5)), np.zeros((1, 5))
    >>> [round(float(end[0]), 2) for end in interval(outside, inside, True)]
    [0.27, 1.15]
    """
    from scipy.special import stdtrit

    sides = [outside, inside]
    if more:
        sides = [np.concatenate([each, np.zeros((len(each), 1)), np.ones((len(each), 1))], axis=1) for each in sides]
    parts = [each.var(axis=1, ddof=1) / each.shape[1] for each in sides]
    total = parts[0] + parts[1]
    below = sum(part**2 / (each.shape[1] - 1) for part, each in zip(parts, sides, strict=True))
    df = np.divide(total**2, below, out=np.ones(len(total)), where=below > 0)
    reach = stdtrit(np.maximum(1, np.floor(df)), 0.975) * np.sqrt(total)
    gap, middle = outside.mean(1) - inside.mean(1), sides[0].mean(1) - sides[1].mean(1)
    return np.minimum(gap, middle - reach), np.maximum(gap, middle + reach)


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    random = np.random.default_rng(3)
    spread = (1 - ALIKE) / ALIKE
    for more in (False, True):
        held = []
        for (n, m), (p, q), replies in product(SIZES, SHARES, (1, 4)):
            sides = [
                random.binomial(replies, random.beta(share * spread, (1 - share) * spread, (repetitions, size)))
                / replies
                for share, size in ((p, n), (q, m))
            ]
            low, high = interval(*sides, more)
            held.append(float(((low <= p - q + 1e-9) & (p - q <= high + 1e-9)).mean()))
        told = "with an item at either end" if more else "Welch's alone"
        print(f"{told}: least {min(held):.1%}, mean {np.mean(held):.1%}")


if __name__ == "__main__":
    main()
