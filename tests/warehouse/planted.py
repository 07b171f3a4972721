"""Judges and models whose strengths and leanings are known, and what measures of their comparisons should come to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

STRENGTHS = {"openai/gpt-5": 0.6, "x/middling": 0.0, "x/weak": -0.6}
TIE = 0.3
"""Davidson's ν: two that are alike tie so many times as often as the one of them wins."""
FAIR, LEANING, FOND = "y/fair", "y/leaning", "azure/gpt-4o"
LEANS = 0.8
"""The log odds that `LEANING` gives to what is shown first, beyond what it deserves."""
FONDNESS = 1.0
"""Those that `FOND` gives to the model of its family."""
STEADY = 0.5
"""How often a judge that sees the other order sticks to how it weighed the replies; else it weighs them anew."""
JUDGES = (FAIR, LEANING, FOND)
FAMILY = "openai/gpt-5"


@dataclass(frozen=True)
class Chances:
    """How likely a judge is to find the first better, the second, or neither."""

    first: float
    second: float

    @property
    def tie(self) -> float:
        return 1 - self.first - self.second

    @property
    def worth(self) -> float:
        """The expected value to the first."""
        return self.first + self.tie / 2

    def value(self, u: float) -> float:
        """Return the verdict at a place from 0 to 1: the first wins below, the second above, and ties lie between."""
        return 1.0 if u < self.first else 0.0 if u > 1 - self.second else 0.5


def chances(judge: str, first: str, second: str, strengths: Mapping[str, float] = STRENGTHS) -> Chances:
    """Davidson's, with what the judge adds."""
    odds = strengths[first] - strengths[second]
    odds += LEANS if judge == LEANING else 0.0
    if judge == FOND:
        odds += FONDNESS * ((first == FAMILY) - (second == FAMILY))
    one, other = math.exp(odds / 2), math.exp(-odds / 2)
    total = one + other + TIE
    return Chances(one / total, other / total)


def verdict(judge: str, first: str, second: str, u: tuple[float, float, float]) -> float:
    """Return what a judge says of two replies. `u` are numbers from 0 to 1, of these replies in either order: whether
    the judge is steady, and how it weighs them in the one order and the other."""
    steady, here, there = u
    if first > second:
        return chances(judge, first, second).value(1 - (here if steady < STEADY else there))
    return chances(judge, first, second).value(here)


def opponents(model: str) -> Iterator[str]:
    return (each for each in STRENGTHS if each != model)


def win_rate(model: str, judges: Iterable[str] = JUDGES) -> float:
    """The mean over judges, opponents and orders."""
    return fmean(
        worth
        for judge in judges
        for other in opponents(model)
        for worth in (chances(judge, model, other).worth, 1 - chances(judge, other, model).worth)
    )


def position_bias(model: str, judge: str) -> float:
    """Return how much more often what is shown first wins, of what the model takes part in."""
    return fmean(chances(judge, model, o).worth + chances(judge, o, model).worth - 1 for o in opponents(model))


def flip_rate(model: str, judge: str) -> float:
    """Return how often both orders are won from the same place."""
    shares = []
    for one, other in ((model, each) if model < each else (each, model) for each in opponents(model)):
        there, back = chances(judge, one, other), chances(judge, other, one)
        # Weighed the same, `one` wins the first order below `there.first`, and `other` the second above 1 - `back.first`.
        alike = max(0.0, there.first + back.first - 1) + max(0.0, there.second + back.second - 1)
        apart = there.first * back.first + there.second * back.second
        shares.append(STEADY * alike + (1 - STEADY) * apart)
    return fmean(shares)


def self_preference() -> float:
    """Return how much more often `FOND` prefers its family than the others do, each of whom counts alike."""
    return win_rate(FAMILY, (FOND,)) - fmean(win_rate(FAMILY, (judge,)) for judge in (FAIR, LEANING))


ORDERED = tuple(itertools.permutations(STRENGTHS, 2))
"""Every two models, in both orders."""
