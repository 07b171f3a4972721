"""Criteria, each told by a classifier of its own, and summed: a baseline that learns what people ticked off one by one.

The classifiers see what a head sees, the features of a base model that stays as it is, and are learned together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tripos.training.common import split_by_group
from tripos.training.reward.learners import FeatureLearner, Reward, accuracy
from tripos.training.reward.linear_heads import PENALTIES, STEPS
from tripos.training.reward.pairs import Numbers, Preferences
from tripos.ui import Failure


@dataclass(frozen=True)
class Classifiers:
    """Weights of shape `[features, criteria]` and a constant for each criterion, of features that are first brought to
    mean 0 and deviation 1."""

    weight: Numbers
    bias: Numbers
    mean: Numbers
    scale: Numbers
    penalty: float
    held_out: Mapping[str, float]
    """The loss on what was held out of the learned replies, in nats a criterion, and the share that is told right."""

    def rewards(self, features: Numbers) -> Numbers:
        """Return how many criteria each row of features is expected to meet."""
        return np.asarray(chances(self.logits(features)).sum(1))

    def accuracies(self, features: Numbers, pairs: Preferences) -> list[float]:
        """The share of the pairs that each criterion alone tells right; `features` are those of the pairs' texts."""
        logits = self.logits(features)
        return [accuracy(logits[:, place], pairs) for place in range(logits.shape[1])]

    def logits(self, features: Numbers) -> Numbers:
        """Return the log odds that a row meets a criterion, of shape `[rows, criteria]`."""
        return np.asarray(((features - self.mean) / self.scale) @ self.weight + self.bias)


@dataclass
class CriteriaLearner(FeatureLearner):
    """Learns classifiers on `features`, of shape `[replies, features]`; `places` says which row is which reply's."""

    name: str = "criteria"
    penalties: tuple[float, ...] = PENALTIES

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Classifiers of the replies that the seed does not hold out, summed."""
        return self.reward(self.fit(learned, seed))

    def reward(self, found: Classifiers) -> Reward:
        """Return what classifiers give for the replies of preferences."""
        return lambda pairs: found.rewards(self.rows(pairs))

    def fit(self, learned: Preferences, seed: int) -> Classifiers:
        """Return the classifiers whose penalty does best on the groups that the seed holds out. Raises `Failure` S0815
        and S0830."""
        need_criteria(learned)
        split = split_by_group(learned.groups, self.share, seed)
        rows = self.rows(learned)
        taught, met = _ticked(learned.only(split.learned))
        kept, met_kept = _ticked(learned.only(split.held_out)) if len(split.held_out) else (taught, met)
        mean, scale = rows[taught].mean(0), rows[taught].std(0) + 1e-6
        learns, checks = (rows[taught] - mean) / scale, (rows[kept] - mean) / scale
        best: Classifiers | None = None
        start = np.zeros((rows.shape[1] + 1, met.shape[1]))
        for penalty in sorted(self.penalties, reverse=True):  # each begins where the stricter one ended
            start = fitted(learns, met, penalty, start)
            logits = checks @ start[:-1].astype(rows.dtype) + start[-1]
            told = {"loss": loss_of(logits, met_kept), "accuracy": float(((logits > 0) == met_kept).mean())}
            if best is None or told["loss"] < best.held_out["loss"]:
                best = Classifiers(start[:-1], start[-1], mean, scale, penalty, told)
        assert best is not None, "there is a penalty"
        return best

    def by_criterion(self, found: Classifiers, pairs: Preferences) -> list[float]:
        """The share of the pairs that each criterion alone tells right, in the order of the export."""
        return found.accuracies(self.rows(pairs), pairs)


def known(pairs: Preferences) -> bool:
    """Return true if all pairs that say which criteria are met say it of the same ones, and some do."""
    return len({len(met) for met in pairs.criteria if met is not None}) == 1


def need_criteria(pairs: Preferences) -> None:
    """Raise `Failure` S0830 where the pairs do not say of the same criteria which are met."""
    if not known(pairs):
        hint = "list the same in every export: `worth [d.asks, d.right]`"
        what = "list different criteria" if any(pairs.criteria) else "do not say which criteria a reply meets"
        raise Failure("S0830", f"the pairs {what}", hint)


def _ticked(pairs: Preferences) -> tuple[Numbers, Numbers]:
    """Return the places of the replies of these pairs of which it is said which criteria they meet, and which these
    are."""
    used = np.unique(np.concatenate([pairs.better, pairs.worse]))
    places = [int(place) for place in used if pairs.criteria and pairs.criteria[place] is not None]
    if not places:
        raise Failure("S0815", "no reply in the training data lists its criteria", "give more topics")
    return np.array(places), np.array([pairs.criteria[place] for place in places], dtype=float)


def chances(logits: Numbers) -> Numbers:
    """Return the probabilities of log odds."""
    from scipy.special import expit

    return np.asarray(expit(logits))


def loss_of(logits: Numbers, met: Numbers) -> float:
    """The mean negative log likelihood of a criterion, in nats.

    >>> round(loss_of(np.zeros((2, 3)), np.ones((2, 3))), 3)
    0.693
    """
    return float(np.mean(np.logaddexp(0.0, logits) - met * logits))


def fitted(rows: Numbers, met: Numbers, penalty: float, start: Numbers) -> Numbers:
    """Return the weights, with the constants as their last row, with the least sum of the loss and `penalty` times the
    squares of the weights, both a criterion, found by L-BFGS from `start` on."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    def loss(flat: Numbers) -> tuple[float, Numbers]:
        given = flat.reshape(start.shape)
        weight = given[:-1]
        logits = rows @ weight.astype(rows.dtype) + given[-1]
        pull = (chances(logits) - met) / met.size
        value = loss_of(logits, met) + penalty * float((weight**2).sum()) / met.shape[1]
        pulled = (rows.T @ pull.astype(rows.dtype)).astype(np.float64) + 2 * penalty * weight / met.shape[1]
        return value, np.concatenate([pulled, pull.sum(0)[None]]).ravel()

    with threadpool_limits(1):
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x).reshape(start.shape)
