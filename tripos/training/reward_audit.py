"""The shortcut audit: whether a reward model knows what is good, or uses something cheaper.

An author of replies in both the training and the test data may be recognized by stock phrases. Words alone may separate
good from bad replies. With few topics, chance reaches a high accuracy too. So the accuracy is compared with training
without each shared author and on that author alone, with rules and a bag of words, and with training on shuffled
labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tripos.training.reward_learners import RULES, Learner, Reward, accuracy, pair_wins, shuffled
from tripos.training.reward_pairs import Preferences
from tripos_compiler.errors import TriposError

MIN_SHUFFLED = 15
"""Minimum useful number of trainings on shuffled labels: with fewer, p cannot be below 1/16."""
LEVEL = 0.05
WARNING = "W0824"
"""The code of an audit's warnings."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Figure:
    """Accuracies over seeds."""

    values: tuple[float, ...]
    pairs: int

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float | None:
        """The standard deviation between seeds; None for one seed."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean by Student's t, within 0 and 1; None for one seed.

        >>> low, high = Figure((0.6, 0.7, 0.8), 10).interval
        >>> round(low, 3), round(high, 3)
        (0.452, 0.948)
        """
        if self.deviation is None:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(len(self.values) - 1, 0.975)) * self.deviation / math.sqrt(len(self.values))
        return max(0.0, self.mean - half), min(1.0, self.mean + half)

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON values."""
        return {**asdict(self), "mean": self.mean, "deviation": self.deviation, "interval": self.interval}


@dataclass(frozen=True)
class Variant:
    """A variant of the training data: all pairs, those without an author, or only that author's; with the test accuracy
    of the model, of a bag of words, and of classifiers of criteria, if these are known."""

    kind: str
    source: str | None
    model: Figure
    words: Figure
    criteria: Figure | None = None


@dataclass(frozen=True)
class Audit:
    """The figures of an audit and its warnings. `error` is the standard error from the choice of test topics. `null`
    are the accuracies after training on shuffled labels, and `p` is how often they reach the model's."""

    variants: tuple[Variant, ...]
    rules: dict[str, float]
    null: tuple[float, ...]
    p: float | None
    error: float | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        null = {
            "values": list(self.null),
            "mean": float(np.mean(self.null)) if self.null else None,
            "deviation": float(np.std(self.null, ddof=1)) if len(self.null) > 1 else None,
            "p": self.p,
        }
        variants = [
            {
                "learned": variant.kind,
                "source": variant.source,
                "pairs": variant.model.pairs,
                "model": variant.model.to_json(),
                "bag_of_words": variant.words.to_json(),
                "criteria": None if variant.criteria is None else variant.criteria.to_json(),
            }
            for variant in self.variants
        ]
        return {
            "variants": variants,
            "rules": self.rules,
            "shuffled_labels": null,
            "standard_error_of_topics": self.error,
            "warnings": list(self.warnings),
        }


def audit(
    model: Learner,
    words: Learner,
    learned: Preferences,
    tested: Preferences,
    *,
    seeds: int = 5,
    nulls: int = 20,
    tell: Tell = lambda line: None,
    known: Mapping[int, Reward] = MappingProxyType({}),
    criteria: Learner | None = None,
) -> Audit:
    """Audit a learner: train it `seeds` times on every variant of the learned pairs, and `nulls` times on shuffled
    labels. `tested` shares no topic with `learned`. `known` are existing rewards of all pairs by seed, and `criteria`
    learns the criteria. Progress is reported to `tell`. Raises `TriposError` S0815 if there is only one topic."""
    variants = []
    error = None
    for kind, source, pairs in _learned(learned, tested):
        tell(f"audit: {_variant_name(kind, source)}, {len(pairs):,} pairs, {seeds} seeds")
        values = []
        for seed in range(seeds):
            reward = known.get(seed) if source is None else None
            rewards = (reward or model.learn(pairs, seed))(tested)
            values.append(accuracy(rewards, tested))
            if source is None and seed == 0:
                error = clustered_error(pair_wins(rewards, tested), tested.groups)
        of_words = _over_seeds(words, pairs, tested, seeds)
        of_criteria = None if criteria is None else _figure_or_none(criteria, pairs, tested, seeds)
        variants.append(Variant(kind, source, Figure(tuple(values), len(pairs)), of_words, of_criteria))
        tell(f"  {' '.join(f'{value:.3f}' for value in values)}; bag of words {variants[-1].words.mean:.3f}")
    if nulls:
        tell(f"audit: shuffled labels, {nulls} times")
    null: tuple[float, ...] = ()
    for n in range(nulls):
        null += (accuracy(model.learn(shuffled(learned, n), n)(tested), tested),)
    if nulls:
        tell(f"  {' '.join(f'{value:.3f}' for value in null)}")
    figure = variants[0].model
    p = (1 + sum(value >= figure.mean for value in null)) / (1 + nulls) if nulls else None
    rules = {name: accuracy(rule(tested), tested) for name, rule in RULES.items()}
    return Audit(tuple(variants), rules, null, p, error, tuple(_warnings(variants, rules, p, nulls)))


def _figure_or_none(learner: Learner, pairs: Preferences, tested: Preferences, seeds: int) -> Figure | None:
    """Return the figure of a baseline, or None if it cannot be learned from these pairs, which must not stop the
    audit.
    """
    try:
        return _over_seeds(learner, pairs, tested, seeds)
    except TriposError:
        return None


def _over_seeds(learner: Learner, pairs: Preferences, tested: Preferences, seeds: int) -> Figure:
    return Figure(
        tuple(accuracy(learner.learn(pairs, seed)(tested), tested) for seed in range(seeds)),
        len(pairs),
    )


def _learned(learned: Preferences, tested: Preferences) -> list[tuple[str, str | None, Preferences]]:
    """Return the variants of the learned pairs: all; without each shared author and with that author only; and without
    all shared authors."""
    found: list[tuple[str, str | None, Preferences]] = [("all", None, learned)]
    shared = shared_sources(learned, tested)
    for source in shared:
        has = np.array([source in by for by in learned.by])
        for kind, kept in (("without", ~has), ("alone", has)):
            pairs = learned.only(np.flatnonzero(kept))
            if len(set(pairs.groups)) > 1:
                found.append((kind, source, pairs))
    if len(shared) > 1:
        free = [not set(shared) & set(by) for by in learned.by]
        pairs = learned.only(np.flatnonzero(free))
        if len(set(pairs.groups)) > 1:
            found.append(("without", " and ".join(shared), pairs))
    return found


def shared_sources(learned: Preferences, tested: Preferences) -> tuple[str, ...]:
    """Return the authors of replies in both sets, sorted by name."""
    one, two = ({name for by in preferences.by for name in by if name} for preferences in (learned, tested))
    return tuple(sorted(one & two))


def clustered_error(values: Any, groups: Sequence[str]) -> float | None:
    """Return the standard error of a mean whose values are independent only between groups (Liang and Zeger, 1986, with
    the correction G / (G − 1)), or None for a single group.

    >>> clustered_error(np.array([1.0, 1.0, 0.0, 0.0]), ["a", "a", "b", "b"])
    0.5
    """
    names = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    if len(names) < 2:
        return None
    sums = np.bincount([names[group] for group in groups], values - values.mean())
    return float(math.sqrt((sums**2).sum() * len(names) / (len(names) - 1)) / len(values))


def _warnings(variants: Sequence[Variant], rules: dict[str, float], p: float | None, nulls: int) -> list[str]:
    found = []
    variant = variants[0]
    low = variant.model.interval[0] if variant.model.interval is not None else variant.model.mean
    for each in variants:
        if each.kind == "alone":
            continue
        least = each.model.interval[0] if each.model.interval is not None else each.model.mean
        if each.words.mean >= least:
            with_ = "" if each.source is None else f" {_variant_name(each.kind, each.source)},"
            text = f"{with_} a bag of words does as well as the model: {each.words.mean:.3f} and {each.model.mean:.3f}"
            found.append(text.strip())
    for name, value in rules.items():
        if value >= low:
            found.append(f"a rule does as well as the model: “{name}” {value:.3f}, the model {variant.model.mean:.3f}")
    for each in variants:
        high = each.model.interval[1] if each.model.interval is not None else each.model.mean
        if each.kind == "without" and high < low:
            fall = f"{variant.model.mean:.3f} to {each.model.mean:.3f}"
            found.append(f"without {each.source}, which wrote on both sides, it falls from {fall}")
    if p is not None and p > LEVEL:
        found.append(f"training on shuffled labels reaches as much: p = {p:.3f}")
    if 0 < nulls < MIN_SHUFFLED:
        found.append(f"{nulls} trainings on shuffled labels say little: take {MIN_SHUFFLED} or more")
    return found


def _variant_name(kind: str, source: str | None) -> str:
    return "all pairs" if source is None else f"{kind} {source}" if kind == "without" else f"{source} alone"
