"""Strengths of models from comparisons by two: Bradley and Terry's model, with Davidson's ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.preferences.existence import why_no_strengths
from tripos_warehouse.statistics.preferences.verdicts import Counts, Preference
from tripos_warehouse.statistics.quantiles import t_quantile, t_tails, two_sided, z_quantile, z_tails
from tripos_warehouse.statistics.ratings import Floats

Errors = Literal["information", "items", "bootstrap"]
NOTHING_VARIES = "nothing shows how far it may vary"
STEPS = 100
"""The most steps to the best fit. From strengths that are all the same it takes 5 to 10."""
LONGEST_STEP = 2.0
"""On the scale of log odds. Where the likelihood is nearly flat, Newton's step would leave what can be computed."""


@dataclass(frozen=True, eq=False)
class Strengths:
    """How strong models are, on a scale of log odds whose mean over models is 0."""

    models: tuple[str, ...]
    by_model: dict[str, StatisticResult]
    """The log strength of each; 400 / ln 10 times it is the scale of Elo."""
    ties: StatisticResult
    """Davidson's ν: two equal models tie ν times as often as the one of them wins."""
    covariance: Floats | None = None
    """Of the log strengths, of the shape (models, models); `None` where there are none."""
    df: float | None = None
    """The degrees of freedom of intervals; `None` for those of the normal distribution."""
    draws: Floats | None = None
    """The log strengths of a bootstrap, of the shape (resamples, models)."""
    confidence: float = 0.95
    pulls: Floats | None = None
    """What every item adds to each log strength, of the shape (items, models), items in the order in which they come
    up: where errors come from the spread between `items`."""

    def difference(self, first: str, second: str) -> StatisticResult:
        """Return the log odds that `first` is preferred to `second`, where they do not tie."""
        a, b = self.by_model[first], self.by_model[second]
        if a.value is None or b.value is None:
            return StatisticResult.undefined(a.reason or b.reason or "undefined")
        value = a.value - b.value
        i, j = self.models.index(first), self.models.index(second)
        found = StatisticResult(value, a.reason, n=a.n, clusters=a.clusters)
        if self.covariance is None or a.reason:
            return found
        variance = float(self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j])
        draws = None if self.draws is None else self.draws[:, i] - self.draws[:, j]
        return _with_error(found, math.sqrt(max(0.0, variance)), self.df, draws, self.confidence)

    def chance(self, first: str, second: str) -> StatisticResult:
        """Return the probability that `first` is preferred to `second`, where they do not tie: 1 / (1 +
        e^−difference)."""
        found = self.difference(first, second)
        value, low, high = (None if each is None else _expit(each) for each in (found.value, found.low, found.high))
        return StatisticResult(value, found.reason, low=low, high=high, p=found.p, n=found.n, clusters=found.clusters)


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
    """Return the strengths π of models with the highest likelihood, given who was preferred to whom.

    i wins over j with the odds π_i : π_j, and they tie with the weight ν √(π_i π_j) (Bradley and Terry 1952; Davidson
    1970). Without ties ν is 0. Where no finite strengths fit best, `reason` of each says why: two groups that nobody
    compared, a model that always won. `prior_sd` gives finite ones all the same: log strengths (and log ν) are then
    drawn from a normal distribution about 0 with this standard deviation, and what is found is the mode of what to
    believe after the verdicts, closer together than they are; 2 is weak.

    `errors` come from the observed `information`, as if all verdicts were independent; from the spread between `items`
    (sandwich: Huber 1967, White 1982), with Student's t; or from a `bootstrap` that draws items again, with its
    percentiles. `n` are the model's verdicts, `clusters` all items. `weights` say how often each verdict counts; they
    need errors between `items`, since no verdict is several then.

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
        undefined = StatisticResult.undefined(reason, n=len(verdicts))
        return Strengths(models, dict.fromkeys(models, undefined), undefined, confidence=confidence)
    size = len(models)
    ridge = 0.0 if prior_sd is None else prior_sd**-2
    fitted = _fit(counts.wins(), counts.ties(), ridge)
    items = int(counts.item.max()) + 1
    covariance, df, draws, trouble = _inverse(fitted.information, size), None, None, None
    pulls: Floats | None = None
    if errors == "items":
        pulls = _pulls(counts, fitted, covariance, items)
        covariance, df = _sandwich(pulls, covariance), items - 1.0
    elif errors == "bootstrap" and items > 1:
        draws, trouble = _drawn(counts, fitted, items, ridge, resamples, seed)
        covariance = np.cov(draws.T) if trouble is None else covariance
    if errors != "information" and items < 2:
        trouble = "all verdicts are on one item: nothing shows how far items differ"
    involved = np.bincount(np.concatenate([counts.first, counts.second]), minlength=size)
    parts = []
    for at in range(len(fitted.values)):
        n = int(involved[at]) if at < size else len(verdicts)
        found = StatisticResult(float(fitted.values[at]), trouble, n=n, clusters=items)
        if trouble is None:
            column = None if draws is None else draws[:, at]
            found = _with_error(found, math.sqrt(max(0.0, float(covariance[at, at]))), df, column, confidence)
        parts.append(found)
    by_model = dict(zip(models, parts[:size], strict=True))
    kept = None if draws is None else draws[:, :size]
    if len(parts) == size:
        ties = StatisticResult(0.0, "there are no ties", n=len(verdicts))
    elif draws is None or trouble:
        ties = _exponential(parts[size])
    else:
        ties = replace(parts[size], value=math.exp(fitted.values[size]))
    own = None if pulls is None else pulls[:, :size]
    return Strengths(models, by_model, ties, covariance[:size, :size], df, kept, confidence, own)


@dataclass(frozen=True, eq=False)
class Fit:
    """The best fit: log strengths and, where there are ties, log ν as the last of `values`."""

    values: Floats
    information: Floats


def _fit(wins: Floats, ties: Floats, ridge: float, start: Floats | None = None) -> Fit:
    """Newton's method with halved steps; the log-likelihood is concave, as the model is an exponential family."""
    size = len(wins)
    tied = bool(ties.any())
    values = np.zeros(size + tied) if start is None else start
    # The level of strengths is free: a penalty on their sum, which is 0 anyway, makes the matrix regular.
    level = np.zeros((size + tied, size + tied))
    level[:size, :size] = 1.0
    height, gradient, information = _climb(values, wins, ties, ridge)
    for _ in range(STEPS):
        step = np.linalg.solve(information + level, gradient)
        size_of_step = float(np.abs(step).max())
        if size_of_step < 1e-10:
            break
        step *= min(1.0, LONGEST_STEP / size_of_step)
        for _ in range(60):
            new = _climb(values + step, wins, ties, ridge)
            if new[0] >= height - 1e-12 * abs(height):
                break
            step = step / 2
        values, (height, gradient, information) = values + step, new
    return Fit(values, information)


def _climb(values: Floats, wins: Floats, ties: Floats, ridge: float) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood less the penalty, its gradient, and the information: minus its second derivatives."""
    size = len(wins)
    tied = len(values) > size
    up, level = _probabilities(values, size)
    down = up.T
    games = wins + wins.T + ties
    with np.errstate(divide="ignore"):
        height = float((wins * np.log(np.where(wins > 0, up, 1))).sum())
        height += float((ties * np.log(np.where(ties > 0, level, 1))).sum()) / 2
    gradient = np.zeros_like(values)
    gradient[:size] = (wins + ties / 2 - games * (up + level / 2)).sum(axis=1)
    information = np.zeros((len(values), len(values)))
    spread = games * (up + down - (up - down) ** 2) / 4
    np.fill_diagonal(spread, 0)
    information[:size, :size] = np.diag(spread.sum(axis=1)) - spread
    if tied:
        gradient[size] = float((ties - games * level).sum()) / 2
        information[size, size] = float((games * level * (1 - level)).sum()) / 2
        shared = -(games * level * (up - down)).sum(axis=1) / 2
        information[:size, size] = information[size, :size] = shared
    height -= ridge * float(values @ values) / 2
    return height, gradient - ridge * values, information + ridge * np.eye(len(values))


def _probabilities(values: Floats, size: int) -> tuple[Floats, Floats]:
    """Return how likely the model of a row is to beat that of a column, and to tie with it."""
    strengths = values[:size]
    gap = strengths[:, None] - strengths[None, :]
    draw = np.exp(values[size]) if len(values) > size else 0.0
    # Of both odds e^±gap/2 the larger is divided out, so none overflows.
    scale = np.abs(gap) / 2
    for_, against, level = np.exp(gap / 2 - scale), np.exp(-gap / 2 - scale), draw * np.exp(-scale)
    total = for_ + against + level
    return for_ / total, level / total


def _inverse(information: Floats, size: int) -> Floats:
    """Return the covariance of parameters whose first `size` add up to 0."""
    total = len(information)
    level = np.zeros((total, total))
    level[:size, :size] = 1.0
    centred = np.eye(total)
    centred[:size, :size] -= 1 / size
    found: Floats = centred @ np.linalg.inv(information + level) @ centred
    return found


def _sandwich(pulls: Floats, bread: Floats) -> Floats:
    """Return the covariance that the spread of the items' pulls shows."""
    items = len(pulls)
    if items < 2:
        return bread
    found: Floats = items / (items - 1) * (pulls.T @ pulls)
    return found


def _pulls(counts: Counts, fitted: Fit, bread: Floats, items: int) -> Floats:
    """Return what the gradient of every item adds to each parameter, to the first order."""
    size = len(counts.models)
    up, level = _probabilities(fitted.values, size)
    win, lose, tie = (table[counts.first, counts.second] for table in (up, up.T, level))
    pull = counts.weight * (counts.outcome - (win - lose)) / 2
    scores = np.zeros((items, len(fitted.values)))
    np.add.at(scores, (counts.item, counts.first), pull)
    np.add.at(scores, (counts.item, counts.second), -pull)
    if len(fitted.values) > size:
        np.add.at(scores, (counts.item, np.full(len(pull), size)), counts.weight * ((counts.outcome == 0) - tie))
    found: Floats = scores @ bread
    return found


def _drawn(
    counts: Counts, fitted: Fit, items: int, ridge: float, resamples: int, seed: int
) -> tuple[Floats, str | None]:
    """Log strengths, and ν last, of samples of items drawn again; and why they are of no use, where they are not."""
    random = np.random.default_rng(seed)
    found, lost, size = [], 0, len(counts.models)
    for _ in range(resamples):
        times = np.bincount(random.integers(0, items, items), minlength=items)
        again = replace(counts, weight=times[counts.item].astype(np.float64))
        wins, ties = again.wins(), again.ties()
        if ridge == 0 and why_no_strengths(counts.models, wins, ties):
            lost += 1
            continue
        tied = bool(ties.any())
        values = _fit(wins, ties, ridge, fitted.values[: size + tied]).values
        found.append(np.append(values[:size], math.exp(values[size]) if tied else 0.0))
    if lost:
        return np.array(found), f"no finite strengths in {lost} of {resamples} samples drawn again"
    return np.array(found), None


def _with_error(
    found: StatisticResult, error: float, df: float | None, draws: Floats | None, confidence: float
) -> StatisticResult:
    """Return the figure with its interval: the percentiles of draws, or that of t or the normal distribution."""
    upper = two_sided(confidence)
    value = found.value or 0.0
    if draws is not None:
        low, high = (float(bound) for bound in np.quantile(draws, [1 - upper, upper]))
        if low == high:
            return found.without_interval(NOTHING_VARIES)
        return replace(found, low=low, high=high, standard_error=error)
    t = z_quantile(upper) if df is None else t_quantile(upper, df)
    if t is None or error == 0:
        return found.without_interval(NOTHING_VARIES)
    statistic = value / error
    p = z_tails(statistic) if df is None else t_tails(statistic, df)
    return replace(
        found,
        low=value - t * error,
        high=value + t * error,
        standard_error=error,
        statistic=statistic,
        df=df,
        p=p,
    )


def _exponential(found: StatisticResult) -> StatisticResult:
    """Return a figure on the scale of logarithms, taken off it; its error by the delta method."""
    value, low, high = (None if each is None else math.exp(each) for each in (found.value, found.low, found.high))
    error = None if found.standard_error is None or value is None else value * found.standard_error
    return StatisticResult(
        value, found.reason, low=low, high=high, standard_error=error, n=found.n, clusters=found.clusters
    )


def _expit(value: float) -> float:
    from scipy.special import expit

    return float(expit(value))
