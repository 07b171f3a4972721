"""Pairwise preferences: Bradley–Terry strengths, win rates, position bias, severity, and self-preference of judges.

A verdict names the preferred one of two replies, or a tie. Strengths follow Bradley and Terry's model with Davidson's
ties; finite strengths exist only if no group of models won every comparison with the others. A judge of both orders of
the same replies has a position bias if its verdicts depend on the order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tripos_warehouse.statistics.arrays import (
    Clusters,
    Flags,
    Floats,
    Ints,
    Ratings,
    read_ratings,
    t_quantile,
    t_tails,
    two_sided,
    z_quantile,
    z_tails,
)
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import clopper_pearson, mean

# Existence of strengths


def why_no_strengths(models: Sequence[str], wins: Floats, ties: Floats) -> str | None:
    """Return why no finite strengths maximise the likelihood; `None` if there are such strengths.

    `wins[i, j]` is how often i beat j, `ties` how often they tied. Without ties the condition is Ford's (1957): from
    every model a chain of wins leads to every other. A tie is a link in both directions. With Davidson's tie parameter
    the fit may also diverge in another way: if there are log strengths such that the winner of every comparison is
    stronger by at least 1, and tied models differ by at most 1, then multiplying them and log ν by a growing factor
    makes no verdict less likely.

    >>> why_no_strengths(["a", "b"], np.array([[0, 3], [0, 0]]), np.zeros((2, 2)))
    '`a` never lost to or tied with any of the others: no finite strength fits best'
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if len(models) < 2:
        return "fewer than two models were compared"
    linked = csr_array((wins + ties) > 0)
    pieces, piece_of = connected_components(linked, directed=True, connection="weak")
    if pieces > 1:
        return f"no verdict links {_named(models, piece_of == 0)} with {_named(models, piece_of != 0)}"
    parts, part_of = connected_components(linked, directed=True, connection="strong")
    if parts > 1:
        return _one_way(models, wins + ties, parts, part_of)
    if ties.any() and _follows_one_order(wins > 0, ties > 0):
        return "wins and ties follow one order without an exception: no finite strength fits best"
    return None


def _one_way(models: Sequence[str], linked: Floats, parts: int, part_of: Ints) -> str:
    """Return the reason that names a group of models that no other model beat or tied with. There is such a group,
    since strongly connected components are partially ordered."""
    for part in range(parts):
        inside = part_of == part
        if not linked[np.ix_(~inside, inside)].any():
            return (
                f"{_named(models, inside)} never lost to or tied with any of the others: no finite strength fits best"
            )
    raise AssertionError("internal error: every part of an acyclic graph is beaten by another")


def _follows_one_order(wins: Flags, ties: Flags) -> bool:
    """Return true if numbers u exist with u_i ≥ u_j + 1 for each win of i over j and |u_i − u_j| ≤ 1 for each tie.

    They exist unless a cycle of these bounds has a negative sum (Bellman and Ford).
    """
    least = np.zeros(len(wins))
    for _ in range(len(wins) + 1):
        bounds = np.where(wins, least[:, None] - 1, np.inf)
        bounds = np.minimum(bounds, np.where(ties, least[:, None] + 1, np.inf))
        lower = np.minimum(least, bounds.min(axis=0))
        if (lower == least).all():
            return True
        least = lower
    return False


def _named(models: Sequence[str], chosen: Flags) -> str:
    """Return the names of the chosen models, of more than three the first three."""
    names = [f"`{model}`" for model, is_chosen in zip(models, chosen, strict=True) if is_chosen]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"


# Verdicts and win rates


@dataclass(frozen=True)
class Preference:
    """A judge's verdict on two models' replies.

    Raises `ValueError` if both models are the same, or the winner is neither of them.

    >>> Preference("a", "b", "b").score_of("a"), Preference("a", "b", None).score_of("a")
    (0.0, 0.5)
    """

    first: str
    """The model whose reply was shown first."""
    second: str
    winner: str | None
    """`None` for a tie."""
    item: Hashable = None
    """The item that the replies answer; verdicts on the same item are not independent. With `None`, the verdict counts
    as the only one on its item."""
    judge: str | None = None

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ValueError(f"`{self.first}` is compared with itself")
        if self.winner not in {self.first, self.second, None}:
            raise ValueError(f"`{self.winner}` won, and `{self.first}` and `{self.second}` took part")

    def score_of(self, model: str) -> float:
        """Return 1 if `model` won, 0 if it lost, ½ for a tie."""
        return 0.5 if self.winner is None else float(self.winner == model)

    @property
    def models(self) -> tuple[str, str]:
        """Both models, in alphabetical order."""
        return (self.first, self.second) if self.first < self.second else (self.second, self.first)


def item_codes(verdicts: Sequence[Preference]) -> Ints:
    """Return the code of the item of each verdict, from 0; a verdict without an item has a separate code.

    >>> item_codes([Preference("a", "b", "a", 7), Preference("a", "b", "a"), Preference("b", "a", "a", 7)]).tolist()
    [0, 1, 0]
    """
    seen: dict[Hashable, int] = {}
    keys = [(at, None) if verdict.item is None else (None, verdict.item) for at, verdict in enumerate(verdicts)]
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def win_rate(
    verdicts: Sequence[Preference], model: str, opponent: str | None = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the share of its comparisons that a model won, 0 to 1; a tie counts half. With `opponent`, only the
    comparisons with that model count.

    The interval is the exact one if there are no ties and every item has one verdict, otherwise that of a `bounded`
    mean over items.

    >>> rate = win_rate([Preference("a", "b", "a"), Preference("b", "a", "a"), Preference("a", "b", None)], "a")
    >>> round(rate.value, 3), rate.n
    (0.833, 3)
    """
    preferences = [
        verdict for verdict in verdicts if model in verdict.models and (opponent is None or opponent in verdict.models)
    ]
    if not preferences:
        return Estimate.undefined(f"no verdict on `{model}`" + (f" and `{opponent}`" if opponent else ""))
    return share([preference.score_of(model) for preference in preferences], item_codes(preferences), confidence)


def share(parts: Sequence[float], items: Ints, confidence: float) -> Estimate:
    """Return the mean of numbers from 0 to 1 with its interval: `n` is their number, `clusters` that of their items."""
    are_independent = len(np.unique(items)) == len(parts)
    if are_independent and all(part in {0, 1} for part in parts):
        return clopper_pearson(sum(parts), len(parts), confidence=confidence)
    estimate = mean(parts, items, confidence=confidence, ends=(0.0, 1.0))
    return replace(estimate, statistic=None, df=None, p=None)


@dataclass(frozen=True, eq=False)
class Counts:
    """Verdicts as arrays, with an element per verdict.

    `first` and `second` are the indices in `models` of the two models in alphabetical order, not in the order shown.
    `outcome` is 1 if the first of these won, −1 if the second did, 0 for a tie. `item` has the codes of the items.
    """

    models: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Ints
    item: Ints
    weight: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, verdicts: Sequence[Preference]) -> Counts:
        """Return the verdicts as arrays, models in alphabetical order."""
        models = tuple(sorted({model for verdict in verdicts for model in verdict.models}))
        place = {model: at for at, model in enumerate(models)}
        pairs = np.array([[place[model] for model in verdict.models] for verdict in verdicts], dtype=np.int64).reshape(
            -1, 2
        )
        outcome = np.array([round(2 * verdict.score_of(verdict.models[0]) - 1) for verdict in verdicts], dtype=np.int64)
        return cls(models, pairs[:, 0], pairs[:, 1], outcome, item_codes(verdicts), np.ones(len(verdicts)))

    def wins(self) -> Floats:
        """Return the matrix of how often the model of a row beat that of a column."""
        return self._table(self.outcome == 1) + self._table(self.outcome == -1).T

    def ties(self) -> Floats:
        """Return the symmetric matrix of how often two models tied."""
        tied = self._table(self.outcome == 0)
        return tied + tied.T

    def _table(self, chosen: Flags) -> Floats:
        """Return the total weight of the chosen verdicts by their first and second model."""
        size = len(self.models)
        cells = self.first[chosen] * size + self.second[chosen]
        total = np.bincount(cells, weights=self.weight[chosen], minlength=size * size)
        return total.astype(np.float64).reshape(size, size)


# Orders


def both_orders(verdicts: Sequence[Preference]) -> list[tuple[Preference, Preference]]:
    """Return the verdicts of a judge on the two orders of the same replies, paired by judge, item and models.

    If verdicts are repeated, the first one of an order is paired with the first one of the other. Verdicts without an
    item are left out.

    >>> [len(pair) for pair in both_orders([Preference("a", "b", "a", 1), Preference("b", "a", "b", 1)])]
    [2]
    """
    seen: dict[tuple[Hashable, ...], tuple[list[Preference], list[Preference]]] = defaultdict(lambda: ([], []))
    for verdict in verdicts:
        if verdict.item is not None:
            key = (verdict.judge, verdict.item, verdict.models)
            seen[key][verdict.first != verdict.models[0]].append(verdict)
    return [pair for one, other in seen.values() for pair in zip(one, other, strict=False)]


def flip_rate(verdicts: Sequence[Preference], *, ties: bool = False, confidence: float = 0.95) -> Estimate:
    """Return the share of replies judged in both orders on which the judge prefers a different model in each order.

    With `ties`, a tie in only one order also counts as a flip. `n` is the number of pairs of verdicts (`both_orders`),
    `left_out` that of verdicts without a counterpart. The interval is the exact one if every item has one pair,
    otherwise that of a `bounded` mean over items.

    >>> flipped = [Preference("a", "b", "a", 1), Preference("b", "a", "b", 1)]
    >>> same = [Preference("a", "b", "a", 2), Preference("b", "a", "a", 2)]
    >>> flip_rate(flipped + same).value
    0.5
    """
    pairs = both_orders(verdicts)
    left_out = len(verdicts) - 2 * len(pairs)
    if not pairs:
        return Estimate.undefined("no item was judged in both orders", left_out=left_out)
    flips = [
        float(one.winner != other.winner and (ties or None not in {one.winner, other.winner})) for one, other in pairs
    ]
    return replace(share(flips, item_codes([one for one, _ in pairs]), confidence), left_out=left_out)


def position_bias(verdicts: Sequence[Preference], *, confidence: float = 0.95) -> Estimate:
    """Return the share of verdicts for the reply shown first less the share for the one shown second: −1 to 1, 0 is
    unbiased.

    Only replies judged in both orders count, so that neither position has better replies. `n` is the number of pairs of
    verdicts (`both_orders`), `left_out` that of verdicts without a counterpart. The interval is that of a `bounded`
    mean over items, tested against 0.

    >>> position_bias([Preference("a", "b", "a", 1), Preference("b", "a", "b", 1)]).value
    1.0
    """
    pairs = both_orders(verdicts)
    left_out = len(verdicts) - 2 * len(pairs)
    if not pairs:
        return Estimate.undefined("no item was judged in both orders", left_out=left_out)
    biases = [one.score_of(one.first) + other.score_of(other.first) - 1 for one, other in pairs]
    estimate = mean(biases, item_codes([one for one, _ in pairs]), confidence=confidence, null=0.0, ends=(-1.0, 1.0))
    return replace(estimate, left_out=left_out)


# Severity and self-preference

NO_OTHER_JUDGE = "nobody else judged what its model took part in"


def judge_severity(ratings: Ratings, clusters: Clusters = None, *, confidence: float = 0.95) -> tuple[Estimate, ...]:
    """Return the mean distance of each judge from the panel, in the unit of the scores: its rating less the panel's
    mean.

    Below 0 a judge is strict, above 0 lenient. `ratings` has one row per judge; the panel's mean of an item is over all
    judges who rated it, including this one, and items with one rating do not count. If every judge rated every item the
    distances add up to 0. The interval is that of Student's t over items or their `clusters`, for this panel.

    >>> [found.value for found in judge_severity([[3, 4, 5], [2, 3, 4], [1, 2, 3]])]
    [1.0, 0.0, -1.0]
    """
    matrix = read_ratings(ratings)
    present = ~np.isnan(matrix)
    counts = present.sum(axis=0)
    panel = np.where(present, matrix, 0).sum(axis=0) / np.maximum(1, counts)
    estimates = []
    for row in matrix:
        distance = mean(np.where(counts >= 2, row - panel, np.nan), clusters, confidence=confidence, null=0.0)
        estimates.append(
            distance if distance.value is not None else replace(distance, reason="no item that another judge rated")
        )
    return tuple(estimates)


def self_preference(
    verdicts: Sequence[Preference], own: Mapping[str, str] | None = None, *, confidence: float = 0.95
) -> dict[str, Estimate]:
    """Return, by judge, how much more often it prefers its own model than other judges do, on the same replies: −1 to
    1.

    `own` maps a judge to its own model; by default, it is the model with the judge's name. A comparison is an item and
    two models. It counts if it involves the judge's model, and other judges, whose own models it does not involve, also
    judged it. Ties count half. `n` is the number of comparisons, `left_out` that of comparisons that no such judge
    judged. The interval is that of a `bounded` mean over items.

    >>> mine = [Preference("gpt", "other", "gpt", item, "gpt") for item in range(3)]
    >>> theirs = [Preference("gpt", "other", "other", item, "neutral") for item in range(3)]
    >>> self_preference(mine + theirs)["gpt"].value
    1.0
    """
    judges = sorted({verdict.judge for verdict in verdicts if verdict.judge is not None})
    models = {judge: judge for judge in judges} if own is None else own
    estimates = {}
    taking_part = {model for verdict in verdicts for model in verdict.models}
    for judge in judges:
        own_model = models.get(judge)
        if own_model is None or own_model not in taking_part:
            continue
        bias = family_bias(verdicts, own_model, [judge], lambda other, model: models.get(other) == model)
        estimates[judge] = _over_items(bias.biases, bias.items, bias.left_out, NO_OTHER_JUDGE, confidence, (-1.0, 1.0))
    return estimates


@dataclass(frozen=True)
class FamilyBias:
    """The bias of the judges of a model's family in each comparison, −1 to 1, and the item of each comparison.
    `left_out` is the number of comparisons that no other judge judged."""

    biases: list[float]
    items: list[Hashable]
    left_out: int


def family_bias(
    verdicts: Sequence[Preference], model: str, judges: Collection[str], is_own: Callable[[str, str], bool]
) -> FamilyBias:
    """Return, for each comparison of `model`, how much more often `judges` prefer it than other judges do.

    `model` is the own model of all `judges`; `is_own(judge, model)` is true if a model is a judge's own. Those of
    `judges` for whom the other model of the comparison is their own too do not count, nor do other judges for whom
    either model is. A judge with more verdicts on a comparison weighs no more.

    >>> preferred = [("a", "mine"), ("b", "x"), (None, "y")]
    >>> verdicts = [Preference("a", "b", model, 1, judge) for model, judge in preferred]
    >>> family_bias(verdicts, "a", ["mine"], lambda judge, model: (judge, model) == ("mine", "a")).biases
    [0.75]
    """
    by_pair: dict[tuple[Hashable, tuple[str, str]], list[Preference]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.item is not None and model in verdict.models:
            by_pair[verdict.item, verdict.models].append(verdict)
    result = FamilyBias([], [], 0)
    left_out = 0
    for (item, pair), group in by_pair.items():
        own_count = {
            str(preference.judge): [is_own(str(preference.judge), side) for side in pair].count(True)
            for preference in group
        }
        family = _by_judge(
            [
                preference
                for preference in group
                if preference.judge in judges and own_count[str(preference.judge)] == 1
            ],
            model,
        )
        others = _by_judge([preference for preference in group if own_count[str(preference.judge)] == 0], model)
        if family and others:
            result.biases.append(sum(family) / len(family) - sum(others) / len(others))
            result.items.append(item)
        left_out += bool(family and not others)
    return replace(result, left_out=left_out)


def _by_judge(verdicts: Sequence[Preference], model: str) -> list[float]:
    """Return the mean score of a model for each judge, so that a judge with more verdicts weighs no more."""
    scores: dict[str | None, list[float]] = defaultdict(list)
    for verdict in verdicts:
        scores[verdict.judge].append(verdict.score_of(model))
    return [sum(score) / len(score) for score in scores.values()]


def _over_items(
    biases: Sequence[float],
    items: Sequence[Hashable],
    left_out: int,
    reason: str,
    confidence: float,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """Return the mean of the biases, with the interval over items; undefined for `reason` if there are none."""
    if not biases:
        return Estimate.undefined(reason, left_out=left_out)
    return replace(mean(biases, items, confidence=confidence, null=0.0, ends=ends), left_out=left_out)


# Strengths

Errors = Literal["information", "items", "bootstrap"]
NOTHING_VARIES = "nothing shows how far it may vary"
STEPS = 100
"""The most Newton steps. From equal strengths it takes 5 to 10."""
LONGEST_STEP = 2.0
"""The longest Newton step, on the scale of log odds: if the likelihood is nearly flat, the step would overflow."""


@dataclass(frozen=True, eq=False)
class Strengths:
    """The strengths of models, as log odds whose mean over models is 0."""

    models: tuple[str, ...]
    by_model: dict[str, Estimate]
    """The log strength of each; times 400 / ln 10 it is on the scale of Elo."""
    ties: Estimate
    """Davidson's ν: two models of equal strength tie ν times as often as a given one of them wins."""
    covariance: Floats | None = None
    """The covariance of the log strengths, of the shape (models, models); `None` if there are none."""
    df: float | None = None
    """The degrees of freedom of intervals; `None` for the normal distribution."""
    draws: Floats | None = None
    """The log strengths of a bootstrap, of the shape (resamples, models)."""
    confidence: float = 0.95
    influences: Floats | None = None
    """The influence of every item on each log strength, of the shape (items, models), items in order of first
    occurrence; only if errors come from the variance between `items`."""

    def difference(self, first: str, second: str) -> Estimate:
        """Return the log odds that `first` is preferred to `second`, given no tie."""
        a, b = self.by_model[first], self.by_model[second]
        if a.value is None or b.value is None:
            return Estimate.undefined(a.reason or b.reason or "undefined")
        value = a.value - b.value
        i, j = self.models.index(first), self.models.index(second)
        estimate = Estimate(value, a.reason, n=a.n, clusters=a.clusters)
        if self.covariance is None or a.reason:
            return estimate
        variance = float(self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j])
        draws = None if self.draws is None else self.draws[:, i] - self.draws[:, j]
        return _with_error(estimate, math.sqrt(max(0.0, variance)), self.df, draws, self.confidence)

    def chance(self, first: str, second: str) -> Estimate:
        """Return the probability that `first` is preferred to `second`, given no tie: 1 / (1 + e^−difference)."""
        estimate = self.difference(first, second)
        value, low, high = (
            None if each is None else _expit(each) for each in (estimate.value, estimate.low, estimate.high)
        )
        return Estimate(
            value, estimate.reason, low=low, high=high, p=estimate.p, n=estimate.n, clusters=estimate.clusters
        )


def bradley_terry(
    verdicts: Sequence[Preference],
    *,
    weights: Sequence[float] | None = None,
    errors: Errors = "information",
    prior_sd: float | None = None,
    resamples: int = 500,
    seed: int = 0,
    confidence: float = 0.95,
) -> Strengths:
    """Return the maximum likelihood strengths π of models, given pairwise verdicts.

    The probabilities that i wins, that j wins, and of a tie are proportional to π_i, π_j and ν √(π_i π_j) (Bradley and
    Terry 1952; Davidson 1970). Without ties ν is 0. If no finite strengths maximise the likelihood, all strengths are
    undefined for the same `reason`, such as two groups of models that were never compared, or a model that always won.
    `prior_sd` makes them finite: log strengths (and log ν) then have a normal prior around 0 with this standard
    deviation, and the result is the posterior mode, shrunk towards 0; a standard deviation of 2 shrinks weakly.

    `errors` come from the observed `information`, as if all verdicts were independent; from the variance between
    `items` (sandwich: Huber 1967, White 1982), with Student's t; or from a `bootstrap` of items, with its percentiles.
    `n` is the number of the model's verdicts, `clusters` that of all items. `weights` are the weights of verdicts; they
    need errors between `items`, since a weighted verdict is not several independent ones.

    >>> verdicts = [Preference("a", "b", winner) for winner in ["a"] * 6 + ["b"] * 2 + [None] * 2]
    >>> found = bradley_terry(verdicts)
    >>> round(math.exp(found.difference("a", "b").value), 6), round(found.chance("a", "b").value, 6)
    (3.0, 0.75)
    >>> round(found.ties.value, 6)
    0.57735
    """
    counts = Counts.of(verdicts)
    models = counts.models
    if weights is not None:
        if errors != "items" or len(weights) != len(verdicts) or not all(weight > 0 for weight in weights):
            raise ValueError("weights are one a verdict, above 0, and need errors between `items`")
        counts = replace(counts, weight=np.asarray(weights, dtype=float))
    if prior_sd is not None and not prior_sd > 0:
        raise ValueError(f"a standard deviation is above 0, not {prior_sd}")
    reason = "no verdicts" if not verdicts else None
    if prior_sd is None and not reason:
        reason = why_no_strengths(models, counts.wins(), counts.ties())
    if reason:
        undefined = Estimate.undefined(reason, n=len(verdicts))
        return Strengths(models, dict.fromkeys(models, undefined), undefined, confidence=confidence)
    size = len(models)
    ridge = 0.0 if prior_sd is None else prior_sd**-2
    fitted = _fit(counts.wins(), counts.ties(), ridge)
    items = int(counts.item.max()) + 1
    covariance, df, draws, problem = _inverse(fitted.information, size), None, None, None
    influences: Floats | None = None
    if errors == "items":
        influences = _influences(counts, fitted, covariance, items)
        covariance, df = _sandwich(influences, covariance), items - 1.0
    elif errors == "bootstrap" and items > 1:
        draws, problem = _drawn(counts, fitted, items, ridge, resamples, seed)
        covariance = np.cov(draws.T) if problem is None else covariance
    if errors != "information" and items < 2:
        problem = "all verdicts are on one item: nothing shows how far items differ"
    involved = np.bincount(np.concatenate([counts.first, counts.second]), minlength=size)
    parts = []
    for at in range(len(fitted.values)):
        n = int(involved[at]) if at < size else len(verdicts)
        result = Estimate(float(fitted.values[at]), problem, n=n, clusters=items)
        if problem is None:
            column = None if draws is None else draws[:, at]
            result = _with_error(result, math.sqrt(max(0.0, float(covariance[at, at]))), df, column, confidence)
        parts.append(result)
    by_model = dict(zip(models, parts[:size], strict=True))
    strength_draws = None if draws is None else draws[:, :size]
    if len(parts) == size:
        ties = Estimate(0.0, "there are no ties", n=len(verdicts))
    elif draws is None or problem:
        ties = _exponential(parts[size])
    else:
        ties = replace(parts[size], value=math.exp(fitted.values[size]))  # the draws are of ν, not of its logarithm
    strength_influences = None if influences is None else influences[:, :size]
    return Strengths(
        models, by_model, ties, covariance[:size, :size], df, strength_draws, confidence, strength_influences
    )


@dataclass(frozen=True, eq=False)
class Fit:
    """The parameters that maximise the likelihood: log strengths and, if there are ties, log ν as the last one."""

    values: Floats
    information: Floats
    """The observed information matrix: minus the second derivatives of the log-likelihood."""


def _fit(wins: Floats, ties: Floats, ridge: float, start: Floats | None = None) -> Fit:
    """Fit by Newton's method with halved steps; the log-likelihood is concave, as the model is an exponential
    family."""
    size = len(wins)
    tied = bool(ties.any())
    values = np.zeros(size + tied) if start is None else start
    # Strengths are defined up to a constant: a penalty on their sum, which is 0 anyway, makes the matrix regular.
    penalty = np.zeros((size + tied, size + tied))
    penalty[:size, :size] = 1.0
    likelihood, gradient, information = _derivatives(values, wins, ties, ridge)
    for _ in range(STEPS):
        step = np.linalg.solve(information + penalty, gradient)
        step_length = float(np.abs(step).max())
        if step_length < 1e-10:
            break
        step *= min(1.0, LONGEST_STEP / step_length)
        for _ in range(60):
            new = _derivatives(values + step, wins, ties, ridge)
            if new[0] >= likelihood - 1e-12 * abs(likelihood):
                break
            step = step / 2
        values, (likelihood, gradient, information) = values + step, new
    return Fit(values, information)


def _derivatives(values: Floats, wins: Floats, ties: Floats, ridge: float) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood less the penalty of the prior, its gradient, and its information: minus its second
    derivatives."""
    size = len(wins)
    tied = len(values) > size
    win, tie = _probabilities(values, size)
    lose = win.T
    games = wins + wins.T + ties
    with np.errstate(divide="ignore"):
        likelihood = float((wins * np.log(np.where(wins > 0, win, 1))).sum())
        likelihood += float((ties * np.log(np.where(ties > 0, tie, 1))).sum()) / 2
    gradient = np.zeros_like(values)
    gradient[:size] = (wins + ties / 2 - games * (win + tie / 2)).sum(axis=1)
    information = np.zeros((len(values), len(values)))
    spread = games * (win + lose - (win - lose) ** 2) / 4
    np.fill_diagonal(spread, 0)
    information[:size, :size] = np.diag(spread.sum(axis=1)) - spread
    if tied:
        gradient[size] = float((ties - games * tie).sum()) / 2
        information[size, size] = float((games * tie * (1 - tie)).sum()) / 2
        mixed = -(games * tie * (win - lose)).sum(axis=1) / 2
        information[:size, size] = information[size, :size] = mixed
    likelihood -= ridge * float(values @ values) / 2
    return likelihood, gradient - ridge * values, information + ridge * np.eye(len(values))


def _probabilities(values: Floats, size: int) -> tuple[Floats, Floats]:
    """Return the probabilities that the model of a row beats that of a column, and that they tie."""
    strengths = values[:size]
    gap = strengths[:, None] - strengths[None, :]
    nu = np.exp(values[size]) if len(values) > size else 0.0
    # Dividing by the larger of the odds e^±gap/2 prevents an overflow.
    scale = np.abs(gap) / 2
    win, lose, tie = np.exp(gap / 2 - scale), np.exp(-gap / 2 - scale), nu * np.exp(-scale)
    total = win + lose + tie
    return win / total, tie / total


def _inverse(information: Floats, size: int) -> Floats:
    """Return the covariance of the parameters, the inverse of the information if the first `size` add up to 0."""
    total = len(information)
    penalty = np.zeros((total, total))
    penalty[:size, :size] = 1.0
    centring = np.eye(total)
    centring[:size, :size] -= 1 / size
    covariance: Floats = centring @ np.linalg.inv(information + penalty) @ centring
    return covariance


def _sandwich(influences: Floats, inverse: Floats) -> Floats:
    """Return the covariance estimated from the variance of the items' influences; that of the `inverse` information if
    there is one item."""
    items = len(influences)
    if items < 2:
        return inverse
    covariance: Floats = items / (items - 1) * (influences.T @ influences)
    return covariance


def _influences(counts: Counts, fitted: Fit, inverse: Floats, items: int) -> Floats:
    """Return the first-order influence of every item on each parameter, given the `inverse` of the information."""
    size = len(counts.models)
    wins, ties = _probabilities(fitted.values, size)
    win, lose, tie = (table[counts.first, counts.second] for table in (wins, wins.T, ties))
    residual = counts.weight * (counts.outcome - (win - lose)) / 2
    scores = np.zeros((items, len(fitted.values)))
    np.add.at(scores, (counts.item, counts.first), residual)
    np.add.at(scores, (counts.item, counts.second), -residual)
    if len(fitted.values) > size:
        np.add.at(scores, (counts.item, np.full(len(residual), size)), counts.weight * ((counts.outcome == 0) - tie))
    influences: Floats = scores @ inverse
    return influences


def _drawn(
    counts: Counts, fitted: Fit, items: int, ridge: float, resamples: int, seed: int
) -> tuple[Floats, str | None]:
    """Return the log strengths, and ν as the last column, of bootstrap samples of items; and why they give no interval:
    some samples have no finite strengths."""
    random = np.random.default_rng(seed)
    rows, undefined, size = [], 0, len(counts.models)
    for _ in range(resamples):
        times = np.bincount(random.integers(0, items, items), minlength=items)
        resampled = replace(counts, weight=times[counts.item].astype(np.float64))
        wins, ties = resampled.wins(), resampled.ties()
        if ridge == 0 and why_no_strengths(counts.models, wins, ties):
            undefined += 1
            continue
        tied = bool(ties.any())
        values = _fit(wins, ties, ridge, fitted.values[: size + tied]).values
        rows.append(np.append(values[:size], math.exp(values[size]) if tied else 0.0))
    if undefined:
        return np.array(rows), f"no finite strengths in {undefined} of {resamples} samples drawn again"
    return np.array(rows), None


def _with_error(result: Estimate, error: float, df: float | None, draws: Floats | None, confidence: float) -> Estimate:
    """Return the figure with its interval: the percentiles of `draws`, otherwise that of Student's t with `df`, or of
    the normal distribution without `df`."""
    upper = two_sided(confidence)
    value = result.value or 0.0
    if draws is not None:
        low, high = (float(bound) for bound in np.quantile(draws, [1 - upper, upper]))
        if low == high:
            return result.without_interval(NOTHING_VARIES)
        return replace(result, low=low, high=high, standard_error=error)
    t = z_quantile(upper) if df is None else t_quantile(upper, df)
    if t is None or error == 0:
        return result.without_interval(NOTHING_VARIES)
    statistic = value / error
    p = z_tails(statistic) if df is None else t_tails(statistic, df)
    return replace(
        result,
        low=value - t * error,
        high=value + t * error,
        standard_error=error,
        statistic=statistic,
        df=df,
        p=p,
    )


def _exponential(result: Estimate) -> Estimate:
    """Return the exponential of a figure, with its standard error by the delta method."""
    value, low, high = (None if each is None else math.exp(each) for each in (result.value, result.low, result.high))
    error = None if result.standard_error is None or value is None else value * result.standard_error
    return Estimate(
        value, result.reason, low=low, high=high, standard_error=error, n=result.n, clusters=result.clusters
    )


def _expit(value: float) -> float:
    """Return the probability with these log odds."""
    from scipy.special import expit

    return float(expit(value))
