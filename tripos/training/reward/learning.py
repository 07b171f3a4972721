"""What every way to learn a reward has in common: it is given pairs and a seed, and gives a number for any reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tripos.training.reward.pairs import Numbers, Preferences

Reward = Callable[[Preferences], Numbers]
"""Gives the rewards of the `texts` of preferences, in their order."""


class Learner(Protocol):
    """A way to learn a reward."""

    @property
    def name(self) -> str:
        """What it is called in a report."""
        ...

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """A reward that was learned of these pairs; the same pairs and seed give the same reward."""
        ...


def loss_of(rewards: Numbers, pairs: Preferences, *, margins: bool = True) -> float:
    """The mean over pairs of −log σ(r_c − r_r − m), in nats (Bradley and Terry, 1952, with a margin as in Touvron et
    al., 2023); without `margins` that of m = 0."""
    apart = rewards[pairs.better] - rewards[pairs.worse] - (pairs.margins if margins else 0.0)
    return float(np.mean(np.logaddexp(0.0, -apart)))


def won(rewards: Numbers, pairs: Preferences) -> Numbers:
    """For every pair 1 where the better reply has the higher reward, 0 where it has the lower, ½ where they tie."""
    apart = rewards[pairs.better] - rewards[pairs.worse]
    return np.where(apart > 0, 1.0, np.where(apart < 0, 0.0, 0.5))


def accuracy(rewards: Numbers, pairs: Preferences) -> float:
    """The share of the pairs that are told right; a tie counts a half.

    >>> pairs = Preferences((("", "a"), ("", "b")), np.array([0]), np.array([1]), np.array([1.0]), ("g",),
    ...     (("", ""),), (frozenset("g"),), {})
    >>> accuracy(np.array([2.0, 1.0]), pairs), accuracy(np.array([1.0, 1.0]), pairs)
    (1.0, 0.5)
    """
    return float(won(rewards, pairs).mean())


def average_margin(rewards: Numbers, pairs: Preferences) -> float:
    """By how much the better reply's reward is above the other's, on average.

    >>> pairs = Preferences((("", "a"), ("", "b")), np.array([0]), np.array([1]), np.array([1.0]), ("g",),
    ...     (("", ""),), (frozenset("g"),), {})
    >>> average_margin(np.array([2.5, 1.0]), pairs)
    1.5
    """
    return float(np.mean(rewards[pairs.better] - rewards[pairs.worse]))


def without_margins(pairs: Preferences) -> Preferences:
    """The same pairs, of which it is not said by how much one reply is better."""
    return replace(pairs, margins=np.zeros_like(pairs.margins))


def shuffled(pairs: Preferences, seed: int) -> Preferences:
    """The same pairs with the replies to each prompt drawn anew among their places: what annotators gave to one reply
    is now said of another to the same prompt. How many pairs a prompt has, and by how much they differ, stays."""
    draw = np.random.default_rng([seed, 7919])
    places = np.unique(np.concatenate([pairs.better, pairs.worse]))
    of: dict[str, list[int]] = {}
    for place in places:
        of.setdefault(pairs.texts[place][0], []).append(int(place))
    put = np.arange(len(pairs.texts))
    for replies in of.values():
        put[replies] = draw.permutation(replies)
    moved: Mapping[str, Any] = {**pairs.told, "shuffled": seed}
    criteria = list(pairs.criteria)
    for place, met in enumerate(pairs.criteria):
        criteria[put[place]] = met
    return replace(pairs, better=put[pairs.better], worse=put[pairs.worse], told=moved, criteria=tuple(criteria))
