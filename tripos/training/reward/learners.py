"""The common interface of learners of a reward: it is given pairs and a seed, and gives a number for any reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tripos.training.common import split_by_group
from tripos.training.reward.pairs import Numbers, Preferences

TOKENS = r"(?u)\b\w+\b|[?!.]"
"""What counts as a word: the signs that end a sentence too, since a question shows by its mark."""


@dataclass
class FeatureLearner:
    """Learns from `features`, of shape `[replies, features]`; `places` says which row is which reply's. A `share` of
    the groups is held out."""

    features: Numbers
    places: Mapping[tuple[str, str], int]
    share: float = 0.1

    def rows(self, pairs: Preferences) -> Numbers:
        """Return the features of the texts of preferences, a row each."""
        return self.features[[self.places[text] for text in pairs.texts]]


@dataclass(frozen=True)
class BagOfWords:
    """TF-IDF of words and pairs of words, with the strengths of Bradley and Terry: a logistic regression of differences
    without a constant. Of order and meaning it knows nothing."""

    share: float = 0.1
    name: str = "bag of words"

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Learned of the pairs that the seed does not hold out, as a model is."""
        from scipy.sparse import vstack
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        taught = learned.only(split_by_group(learned.groups, self.share, seed).learned)
        words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=TOKENS)
        used = np.unique(np.concatenate([taught.better, taught.worse]))
        words.fit([taught.texts[place][1] for place in used])
        rows = words.transform([reply for _, reply in taught.texts])
        apart = rows[taught.better] - rows[taught.worse]
        model = LogisticRegression(fit_intercept=False, max_iter=500)
        model.fit(vstack([apart, -apart]), np.repeat([1, 0], len(taught)))
        weight = model.coef_[0]
        return lambda pairs: np.asarray(words.transform([reply for _, reply in pairs.texts]) @ weight)


def longer(pairs: Preferences) -> Numbers:
    """Return the length of every reply, in characters."""
    return np.array([len(reply) for _, reply in pairs.texts], dtype=float)


def asks(pairs: Preferences) -> Numbers:
    """1 for every reply with a question mark, 0 for the others."""
    return np.array([float("?" in reply or "？" in reply) for _, reply in pairs.texts])


RULES = {"the longer reply": longer, "contains a question mark": asks}
"""Rules that are not learned, by what they are called."""


Reward = Callable[[Preferences], Numbers]
"""Gives the rewards of the `texts` of preferences, in their order."""


class Learner(Protocol):
    """A way to learn a reward."""

    @property
    def name(self) -> str:
        """Return what it is called in a report."""
        ...

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return a reward that was learned of these pairs; the same pairs and seed give the same reward."""
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
    """Return the same pairs, of which it is not said by how much one reply is better."""
    return replace(pairs, margins=np.zeros_like(pairs.margins))


def shuffled(pairs: Preferences, seed: int) -> Preferences:
    """Return the same pairs with the replies to each prompt drawn anew among their places: what annotators gave to one
    reply is now said of another to the same prompt. How many pairs a prompt has, and by how much they differ, stays."""
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
