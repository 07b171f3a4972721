"""The win rate that a model would have if its replies were as long as those it is held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tripos_warehouse.statistics.ratings import Floats, Ints

STEPS = 50
FARTHEST = 15.0
"""Log odds beyond which a fit has no end: what wins is then told by length alone, or one side wins everything."""


@dataclass(frozen=True)
class LengthControlled:
    """Wins (1, 0, or the share of a win) of replies that are `longer` than others by so much.

    The log odds of a win are a + b · tanh(d / s), with the difference of lengths d and its standard deviation s, and
    the win rate is that of d = 0 (Dubois et al., Length-Controlled AlpacaEval, 2024, equation (2), without the
    difficulty of instructions and without a penalty). The fit is by maximum likelihood (Newton's method).
    """

    wins: Floats
    longer: Floats
    reason: str = "lengths do not differ, or one side wins everything: there is nothing to fit"

    def whole(self) -> float | None:
        """Return the win rate.

        >>> wins, longer = np.array([1.0, 1, 0, 1, 0, 0, 1, 0]), np.array([9.0, 5, 4, 3, -3, -4, -5, -9])
        >>> round(LengthControlled(wins, longer).whole(), 3)
        0.5
        """
        return _at_equal_length(self.wins, self.longer)

    def without(self, groups: Ints, count: int) -> Sequence[float | None]:
        """Return the win rate without each group of replies."""
        return [_at_equal_length(self.wins[groups != each], self.longer[groups != each]) for each in range(count)]


def _at_equal_length(wins: Floats, longer: Floats) -> float | None:
    spread = float(longer.std(ddof=1)) if len(longer) > 1 else 0.0
    if spread <= 0:
        return None
    terms = np.column_stack([np.ones(len(wins)), np.tanh(longer / spread)])
    odds = np.zeros(2)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(terms @ odds)))
        information = terms.T @ (terms * (chance * (1 - chance))[:, None])
        if np.linalg.cond(information) > 1e12:
            return None
        step = np.linalg.solve(information, terms.T @ (wins - chance))
        odds = odds + step
        if np.abs(odds).max() > FARTHEST:
            return None
        if np.abs(step).max() < 1e-10:
            return 1 / (1 + math.exp(-odds[0]))
    return None
