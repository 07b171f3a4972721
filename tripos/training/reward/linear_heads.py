"""A linear head on what a base model makes of replies: learned in seconds, and to the same numbers every time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tripos.training.common import split_by_group
from tripos.training.reward.learners import FeatureLearner, Reward, accuracy, loss_of
from tripos.training.reward.pairs import Numbers, Preferences

PENALTIES = (0.1, 1.0, 10.0)
"""The penalties of squared weights that are tried. What is held out of the learned pairs chooses one."""
STEPS = 60


@dataclass(frozen=True)
class LinearHead:
    """Weights of features, which are first brought to mean 0 and deviation 1."""

    weight: Numbers
    mean: Numbers
    scale: Numbers
    penalty: float
    held_out: Mapping[str, float]
    """The accuracy and the loss on what was held out of the learned pairs."""

    def rewards(self, features: Numbers) -> Numbers:
        """Return a reward for every row of features."""
        return ((features - self.mean) / self.scale) @ self.weight


@dataclass
class HeadLearner(FeatureLearner):
    """Learns heads on `features`, of shape `[replies, features]`; `places` says which row is which reply's."""

    name: str = "model"
    penalties: tuple[float, ...] = PENALTIES
    heads: dict[int, LinearHead] = field(default_factory=dict)

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return a head of the pairs that the seed does not hold out."""
        return self.reward(self.fit(learned, seed))

    def reward(self, head: LinearHead) -> Reward:
        """Return what a head gives for the replies of preferences."""
        return lambda pairs: head.rewards(self.rows(pairs))

    def fit(self, learned: Preferences, seed: int) -> LinearHead:
        """Return the head whose penalty does best on the groups that the seed holds out. Raises `Failure` S0815."""
        rows = self.rows(learned)
        split = split_by_group(learned.groups, self.share, seed)
        taught, kept = learned.only(split.learned), learned.only(split.held_out)
        used = np.unique(np.concatenate([taught.better, taught.worse]))
        mean, scale = rows[used].mean(0), rows[used].std(0) + 1e-6
        even = (rows - mean) / scale
        best: LinearHead | None = None
        weight = np.zeros(rows.shape[1], dtype=np.float64)
        for penalty in sorted(self.penalties, reverse=True):  # each begins where the stricter one ended
            weight = fitted(even, taught, penalty, weight)
            rewards = even @ weight.astype(even.dtype)
            on = kept if len(kept) else taught
            found = {"loss": loss_of(rewards, on, margins=False), "accuracy": accuracy(rewards, on)}
            if best is None or found["loss"] < best.held_out["loss"]:
                best = LinearHead(weight, mean, scale, penalty, found)
        assert best is not None, "there is a penalty"
        return best


def fitted(rows: Numbers, pairs: Preferences, penalty: float, start: Numbers) -> Numbers:
    """The weights with the least sum of the mean of −log σ(r_c − r_r − m) and `penalty` times their squares, found by
    L-BFGS from `start` on. Every reply is scored once a step, and the pairs are formed of the scores."""
    from scipy.optimize import minimize
    from scipy.special import expit
    from threadpoolctl import threadpool_limits

    count = len(pairs)

    def loss(weight: Numbers) -> tuple[float, Numbers]:
        rewards = (rows @ weight.astype(rows.dtype)).astype(np.float64)
        apart = rewards[pairs.better] - rewards[pairs.worse] - pairs.margins
        pull = -expit(-apart) / count
        of_replies = np.bincount(pairs.better, pull, len(rows)) - np.bincount(pairs.worse, pull, len(rows))
        value = float(np.logaddexp(0.0, -apart).mean() + penalty * weight @ weight)
        pulled = (of_replies.astype(rows.dtype) @ rows).astype(np.float64)
        return value, pulled + 2 * penalty * weight

    # A step is a millisecond's work, and threads wait for each other longer than that where the cores are shared.
    with threadpool_limits(1):
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x)
