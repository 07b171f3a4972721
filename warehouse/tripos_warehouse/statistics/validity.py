"""Validity of judges and items: calibration, prevalence, cascades, stability, drift, and item discrimination.

Calibration is the mean grade by people as a function of the judge's score. The curve is the isotonic least-squares fit,
which needs no choice of bins; it decomposes the mean squared error of the judge into miscalibration, discrimination and
uncertainty (Dimitriadis, Gneiting and Jordan 2021, "Stable reliability diagrams for probabilistic classifiers", PNAS
118, on the CORP decomposition; for means of any values Gneiting and Resin 2023, "Regression diagnostics meets forecast
evaluation", Electronic Journal of Statistics 17).

Prevalence is the share of good replies, from a judge's binary verdicts and its error rates. The sensitivity Se is the
share of good replies that the judge calls good, the specificity Sp the share of bad replies that it calls bad. If a
share π is good, it calls p = π Se + (1 - π)(1 - Sp) good, so π = (p + Sp - 1) / (Se + Sp - 1) (Rogan and Gladen 1978,
"Estimating prevalence from the results of a screening test"). The interval is that of Lang and Reiczigel 2014,
"Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity", Preventive Veterinary
Medicine 113, 13-22. The estimate is valid if the labels come from another study, or if the numbers of good and bad
replies in it were fixed by design, since Se and Sp do not depend on the share of good replies. For labels drawn at
random from the replies themselves, `corrected_mean` is more precise: with ρ the correlation of verdicts and labels, its
variance is ρ² times that of this estimate, as Marshall 1990 found for the same two uses of labels ("Validation study
methods for estimating exposure proportions and odds ratios with misclassified data", Journal of Clinical Epidemiology
43).

A cascade accepts the verdict of a cheap judge if its confidence reaches a threshold, and asks a stronger judge
otherwise. The threshold is learned from replies with labels by people or by the stronger judge. Thresholds are tested
in descending order, each with an exact binomial bound, until one fails; the last one that passed is used. The order is
fixed, so no correction for multiple tests is needed (fixed-sequence testing: Bauer 1991; as in Jung, Brahman and Choi
2024, "Trust or Escalate: LLM judges with provable guarantees for human agreement", arXiv 2407.18370, section 2).

Repeated verdicts show how often a judge contradicts itself. A verdict is a true value of the reply, plus an effect of
the judge, plus noise: a two-way layout with several observations per cell, whose components follow from its mean
squares (Searle, Casella and McCulloch 1992, "Variance Components", chapter 4; Brennan 2001, "Generalizability Theory",
chapter 3). Drift is the difference of two versions of a judge.

The discrimination of an item measures how well it separates good models from bad ones; if it is negative, the answer
key is probably wrong.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field, replace
from statistics import fmean, variance

import numpy as np

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.arrays import (
    Clusters,
    Flags,
    Floats,
    Ints,
    Ratings,
    Values,
    cluster_codes,
    read_ratings,
    read_values,
    t_quantile,
    two_sided,
    z_quantile,
    z_tails,
)
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import bounded, clopper_pearson, mean, with_t_interval

# Calibration

MOST_VALUES = 11
"""Up to this many distinct scores, each is a bin."""
BINS = 10
"""The number of bins for more distinct scores."""
FEWEST_REPLIES = 10
"""With fewer graded replies there is no curve."""
NOTHING = Estimate(None, "too few replies are graded")
"""The bias and slope of a judge without a calibration."""


@dataclass(frozen=True)
class CalibrationBin:
    """The replies with a judge's score from `low` to `high`, both included."""

    low: float
    high: float
    judged: float
    """The mean score of the judge."""
    graded: Estimate
    """The mean grade by people, with an interval clustered by item."""


@dataclass(frozen=True)
class Calibration:
    """The relation of a judge's scores to people's grades. With too few replies there are only `n` and a `reason`."""

    bins: tuple[CalibrationBin, ...] = ()
    curve: tuple[tuple[float, float], ...] = ()
    """The distinct scores of the judge in ascending order, each with its isotonic mean grade by people."""
    bias: Estimate = field(default=NOTHING)
    """The mean of the judge minus that of people: above 0 if the judge is lenient."""
    slope: Estimate = field(default=NOTHING)
    """The increase of people's grades per unit of the judge's score: below 1 if the judge exaggerates differences."""
    miscalibration: float | None = None
    """The mean squared error that recalibration by the curve would remove."""
    discrimination: float | None = None
    """The mean squared error that the curve removes relative to a constant: the information in the judge's scores."""
    uncertainty: float | None = None
    """The variance of people's grades."""
    n: int = 0
    """The number of replies with both scores."""
    reason: str | None = None
    """Why there is no calibration."""


def calibrate(
    judged: Values,
    graded: Values,
    clusters: Clusters = None,
    *,
    ends: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Calibration:
    """Return the calibration of a judge on the replies that both it and people scored; others are ignored.

    `ends` are the bounds of the scale, which limit the intervals of the bins. If the judge has at most eleven distinct
    scores, each is a bin; otherwise there are ten bins with about equal numbers of replies. The slope is fitted by
    least squares (Cox 1958, "Two further applications of a model for binary regression"), with a cluster-robust
    standard error and two degrees of freedom less than the number of items (Liang and Zeger 1986).

    >>> judge = [1, 2, 3, 4, 5] * 6
    >>> found = calibrate(judge, [value - 1 for value in judge], [place // 5 for place in range(30)])
    >>> found.bias.value, found.slope.value, found.miscalibration, [each.graded.value for each in found.bins]
    (1.0, 1.0, 1.0, [0.0, 1.0, 2.0, 3.0, 4.0])
    """
    f, y = read_values(judged), read_values(graded)
    codes = cluster_codes(clusters, len(f))
    present = ~np.isnan(f) & ~np.isnan(y)
    f, y, codes = f[present], y[present], codes[present]
    n = len(f)
    if n < FEWEST_REPLIES:
        return Calibration(n=n, reason=f"{n} replies have both scores: it takes {FEWEST_REPLIES}")
    scores, score_index, counts = np.unique(f, return_inverse=True, return_counts=True)
    bins = tuple(_bin(f, y, codes, members, ends, confidence) for members in _bin_members(f, score_index, len(scores)))
    fitted = isotonic(np.bincount(score_index, weights=y) / counts, counts.astype(np.float64))
    residual_error = float(np.mean((y - fitted[score_index]) ** 2))
    uncertainty = float(np.var(y))
    return Calibration(
        bins,
        tuple(zip(scores.tolist(), fitted.tolist(), strict=True)),
        mean(f - y, codes, confidence=confidence, null=0.0),
        _slope(f, y, codes, confidence),
        max(0.0, float(np.mean((y - f) ** 2)) - residual_error),
        max(0.0, uncertainty - residual_error),
        uncertainty,
        n,
    )


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the weighted least-squares fit of non-decreasing values, by pooling adjacent violators (Ayer, Brunk,
    Ewing, Reid and Silverman 1955, "An empirical distribution function for sampling with incomplete information").

    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            previous = blocks.pop()
            total = previous[1] + block[1]
            block = ((previous[0] * previous[1] + block[0] * block[1]) / total, total, previous[2] + block[2])
        blocks.append(block)
    return np.repeat([value for value, _, _ in blocks], [count for _, _, count in blocks])


def _bin_members(f: Floats, score_index: Ints, scores: int) -> list[Ints]:
    """Return the indices of the replies in each bin."""
    if scores <= MOST_VALUES:
        return [np.flatnonzero(score_index == index) for index in range(scores)]
    # Replies with equal scores stay in one bin: a bin ends only where the score changes.
    order = np.argsort(f, kind="stable")
    cuts = sorted({int(np.searchsorted(f[order], f[order[len(f) * part // BINS]])) for part in range(1, BINS)} - {0})
    return [part for part in np.split(order, cuts) if len(part)]


def _bin(
    f: Floats, y: Floats, codes: Ints, members: Ints, ends: tuple[float, float] | None, confidence: float
) -> CalibrationBin:
    """Return the bin of the replies with the indices `members`."""
    scores, people = f[members], mean(y[members], codes[members], ends=ends, confidence=confidence)
    return CalibrationBin(float(scores.min()), float(scores.max()), float(scores.mean()), people)


def _slope(f: Floats, y: Floats, codes: Ints, confidence: float) -> Estimate:
    """Return the least-squares slope of people's grades `y` on the judge's scores `f`, tested against 1."""
    deviations = f - f.mean()
    sum_of_squares = float(deviations @ deviations)
    if sum_of_squares <= 0:
        return Estimate.undefined("the judge gave every reply the same", n=len(f))
    value = float(deviations @ y) / sum_of_squares
    groups = len(np.unique(codes))
    base = Estimate(value, n=len(f), clusters=groups)
    if groups < 3:
        return base.without_interval("too few items are graded: nothing shows the error")
    residuals = y - y.mean() - value * deviations
    influences = np.bincount(codes, weights=deviations * residuals) / sum_of_squares
    error = math.sqrt(groups / (groups - 1) * (len(f) - 1) / (len(f) - 2) * float(influences @ influences))
    return with_t_interval(base, error, groups - 2, confidence=confidence, null=1.0, scale=abs(value))


# Prevalence

NO_BETTER = "the judge tells good replies from bad ones no better than chance"
MAY_BE_CHANCE = "too few labels for an interval: the judge may be no better than chance"
PAST_ERRORS = "the judge's verdicts lie past what its errors on the labels allow: no interval"


@dataclass(frozen=True)
class CorrectedPrevalence:
    """The share of replies that people would call good, from a judge's verdicts and its error rates."""

    result: Estimate
    """The corrected share. `n` is the number of judged replies, `clusters` that of their items."""
    apparent: Estimate
    """The uncorrected share that the judge calls good, with its own interval."""
    sensitivity: Estimate
    """The share of good replies that the judge calls good."""
    specificity: Estimate
    """The share of bad replies that the judge calls bad."""


def corrected_prevalence(
    judged: Values,
    verdicts: Values,
    labels: Values,
    clusters: Clusters = None,
    label_clusters: Clusters = None,
    *,
    confidence: float = 0.95,
) -> CorrectedPrevalence:
    """Return the share of good replies among those `judged` 1 or 0 by a judge, given its `verdicts` on other replies
    and people's `labels` of those.

    `clusters` and `label_clusters` are the clusters of the former and the latter replies, such as their items. The
    number of clustered replies is divided by the design effect: the ratio of the clustered variance of the share to its
    variance for independent replies (Rao and Scott 1992, "A simple method for the analysis of clustered binary data").

    >>> judged = [1] * 30 + [0] * 70
    >>> verdicts, labels = [1] * 18 + [0] * 2 + [1] * 3 + [0] * 27, [1] * 20 + [0] * 30
    >>> found = corrected_prevalence(judged, verdicts, labels)
    >>> found.sensitivity.value, found.specificity.value, round(found.result.value, 3)
    (0.9, 0.9, 0.25)
    """
    all_, f, y = read_values(judged), read_values(verdicts), read_values(labels)
    if len(f) != len(y):
        raise ValueError("verdicts and labels are one each a reply")
    values = np.concatenate([all_, f, y])
    if not np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
        raise ValueError("verdicts and labels are 0 or 1")
    label_codes = cluster_codes(label_clusters, len(f))
    labelled = ~np.isnan(f) & ~np.isnan(y)

    def share(verdicts: Values, replies: Flags) -> Estimate:
        return mean(np.asarray(verdicts)[replies], label_codes[replies], ends=(0.0, 1.0), confidence=confidence)

    apparent = mean(all_, clusters, ends=(0.0, 1.0), confidence=confidence)
    sensitivity, specificity = share(f, labelled & (y == 1)), share(1 - f, labelled & (y == 0))
    parts = (apparent, sensitivity, specificity)

    def corrected(result: Estimate) -> CorrectedPrevalence:
        return CorrectedPrevalence(result, *parts)

    for estimate, reason in zip(
        parts, ("no reply is judged", "people found none good", "people found none bad"), strict=True
    ):
        if estimate.value is None:
            return corrected(Estimate.undefined(reason, n=apparent.n))
    assert apparent.value is not None
    assert sensitivity.value is not None
    assert specificity.value is not None
    rates = JudgeRates(sensitivity.value, specificity.value)
    if rates.informedness <= 0:
        return corrected(Estimate.undefined(NO_BETTER, n=apparent.n))
    base = Estimate(
        rates.corrected(apparent.value), n=apparent.n, clusters=apparent.clusters, left_out=apparent.left_out
    )
    rates = replace(rates, positives=_effective(sensitivity), negatives=_effective(specificity))
    limits = rates.limits(apparent.value, _effective(apparent), z_quantile(two_sided(confidence)))
    if limits is None:
        return corrected(base.without_interval(MAY_BE_CHANCE))
    if limits[0] == limits[1]:
        return corrected(base.without_interval(PAST_ERRORS))
    return corrected(replace(base, low=limits[0], high=limits[1]))


@dataclass(frozen=True)
class JudgeRates:
    """The sensitivity and specificity of a judge.

    `positives` and `negatives` are the numbers of good and bad replies from which they were estimated; without such a
    number, the rate is known exactly.

    >>> JudgeRates(0.92, 0.88, positives=50).informedness
    0.8
    """

    sensitivity: float
    specificity: float
    positives: float | None = None
    negatives: float | None = None

    @property
    def informedness(self) -> float:
        """Youden's J: 0 for a judge that decides by chance."""
        return round(self.sensitivity + self.specificity - 1, 12)

    @property
    def exactly_known(self) -> bool:
        """True if both rates are known exactly."""
        return self.positives is None and self.negatives is None

    def errors(self, value: float) -> tuple[float, float]:
        """Return the change of the corrected share for one standard error of each rate (the delta method)."""
        of_sensitivity, of_specificity = (math.sqrt(spread) for _, spread in self._shrunk_rates)
        return -value * of_sensitivity / self.informedness, (1 - value) * of_specificity / self.informedness

    @property
    def _shrunk_rates(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Each rate and its variance, after adding one success and one failure (a Beta(1, 1) prior)."""

        def shrunk(rate: float, n: float | None) -> tuple[float, float]:
            if n is None:
                return rate, 0.0
            rate = (n * rate + 1) / (n + 2)
            return rate, rate * (1 - rate) / (n + 2)

        return shrunk(self.sensitivity, self.positives), shrunk(self.specificity, self.negatives)

    def corrected(self, apparent: float) -> float:
        """Return the corrected share for an apparent share, truncated to 0 and 1."""
        return min(1.0, max(0.0, (apparent + self.specificity - 1) / self.informedness))

    def limits(self, apparent: float, replies: float, quantile: float) -> tuple[float, float] | None:
        """Return the limits of Lang and Reiczigel for an apparent share of `replies` independent replies, with a
        quantile of z or t; `None` if the judge may be no better than chance.

        The interval is centred on an estimate from shrunk shares, so it is widened if needed to contain Rogan and
        Gladen's estimate.
        """
        (se, var_se), (sp, var_sp) = self._shrunk_rates
        if se + sp <= 1:
            return None
        p = (replies * apparent + quantile**2 / 2) / (replies + quantile**2)
        centre = (p + sp - 1) / (se + sp - 1)
        centre_variance = p * (1 - p) / (replies + quantile**2) + centre**2 * var_se + (1 - centre) ** 2 * var_sp
        error = math.sqrt(centre_variance) / (se + sp - 1)
        shift = 2 * quantile**2 * (centre * var_se - (1 - centre) * var_sp)
        low, high = (min(1.0, max(0.0, centre + shift + side * quantile * error)) for side in (-1, 1))
        value = self.corrected(apparent)
        return min(low, value), max(high, value)


def rated_prevalence(
    judged: Values, rates: JudgeRates, clusters: Clusters = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the share of good replies among those `judged` 1 or 0 by a judge with these rates.

    If the rates are known exactly, the limits of the apparent share are corrected. Otherwise the limits are those of
    Lang and Reiczigel; for clustered replies, with Rao and Scott's effective number of replies and quantiles of t.

    >>> found = rated_prevalence([1] * 30 + [0] * 70, JudgeRates(0.9, 0.9))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.25, 0.141, 0.375)
    >>> found = rated_prevalence([1] * 30 + [0] * 70, JudgeRates(0.9, 0.9, positives=20, negatives=30))
    >>> round(found.low, 3), round(found.high, 3)
    (0.063, 0.412)
    """
    apparent = mean(judged, clusters, ends=(0.0, 1.0), confidence=confidence)
    if apparent.value is None:
        return apparent
    if rates.informedness <= 0:
        return Estimate.undefined(NO_BETTER, n=apparent.n)
    value = rates.corrected(apparent.value)
    base = Estimate(value, n=apparent.n, clusters=apparent.clusters, left_out=apparent.left_out)
    if apparent.standard_error is None:
        return base.without_interval(str(apparent.reason))
    error = math.hypot(apparent.standard_error / rates.informedness, *rates.errors(value))
    independent = apparent.clusters == apparent.n and bool(np.isin(read_values(judged), (0.0, 1.0)).all())
    if rates.exactly_known:
        estimate = (
            clopper_pearson(apparent.value * apparent.n, apparent.n, confidence=confidence) if independent else apparent
        )
        assert estimate.low is not None
        assert estimate.high is not None
        low, high = rates.corrected(estimate.low), rates.corrected(estimate.high)
    else:
        upper = two_sided(confidence)
        quantile = z_quantile(upper) if independent else t_quantile(upper, (apparent.clusters or 2) - 1)
        assert quantile is not None
        limits = rates.limits(apparent.value, _effective(apparent), quantile)
        if limits is None:
            return base.without_interval(MAY_BE_CHANCE)
        low, high = limits
    return replace(base, low=low, high=high, standard_error=error, df=apparent.df)


def _effective(share: Estimate) -> float:
    """Return the effective number of independent replies behind a share; for clustered shares of 0 or 1, the number of
    clusters."""
    value, error = share.value, share.standard_error
    assert value is not None
    if share.clusters in (None, share.n):
        return float(share.n)
    if not error or value in (0.0, 1.0):
        return float(share.clusters or share.n)
    return min(float(share.n), value * (1 - value) / error**2)


# Cascades


@dataclass(frozen=True)
class TestedThreshold:
    """The test of a threshold on the labelled replies whose confidence reaches it: `n` replies, of which `agreed` have
    a label equal to the verdict."""

    threshold: float
    n: int
    agreed: int
    least: float
    """The exact lower bound of the agreement."""
    passed: bool


@dataclass(frozen=True)
class LearnedThreshold:
    """The threshold of a cascade; `None`, with a `reason`, if every reply goes to the stronger judge."""

    threshold: float | None
    tested: tuple[TestedThreshold, ...]
    """The tests, in descending order of thresholds, up to the first that failed."""
    trusted: float
    """The share of the labelled replies whose confidence reaches the threshold, so that they need no stronger judge."""
    reason: str | None = None


def learned_threshold(
    confidences: Sequence[float], agreed: Sequence[bool], level: float = 0.9, confidence: float = 0.95
) -> LearnedThreshold:
    """Return the threshold at or above which verdicts agree with the labels in at least the share `level` of cases,
    with this confidence: the last one that passes before the first failure, in descending order.

    Replies must be independent draws: pass one reply per item. Thresholds with too few replies to pass are skipped,
    which is valid since the number of replies does not depend on the labels.

    >>> sure = [1.0] * 60 + [0.8] * 40
    >>> found = learned_threshold(sure, [True] * 59 + [False] + [True] * 20 + [False] * 20)
    >>> found.threshold, found.trusted, [round(each.least, 3) for each in found.tested]
    (1.0, 0.6, [0.923, 0.712])
    """
    if not 0 < level < 1 or not 0 < confidence < 1:
        raise ValueError("a level of agreement and a confidence lie between 0 and 1")
    if len(confidences) != len(agreed):
        raise ValueError("a reply has one confidence, and agrees or not")
    fewest = math.ceil(math.log(1 - confidence) / math.log(level))
    total = len(confidences)
    tested: list[TestedThreshold] = []
    for threshold in sorted(set(confidences), reverse=True):
        agreements = [
            right for judge_confidence, right in zip(confidences, agreed, strict=True) if judge_confidence >= threshold
        ]
        if len(agreements) < fewest:
            continue
        right = sum(agreements)
        bound = least_share(right, len(agreements), confidence)
        tested.append(TestedThreshold(threshold, len(agreements), right, bound, bound >= level))
        if not tested[-1].passed:
            break
    passed = [tested_threshold for tested_threshold in tested if tested_threshold.passed]
    if passed:
        return LearnedThreshold(passed[-1].threshold, tuple(tested), passed[-1].n / total)
    if total < fewest:
        reason = f"{total} labels are too few: {fewest} that all agree are needed to show {level:.0%}"
    else:
        reason = f"even the surest verdicts agree too seldom, or are too few, to show {level:.0%}"
    return LearnedThreshold(None, tuple(tested), 0.0, reason)


def least_share(agreed: int, n: int, confidence: float) -> float:
    """Return the exact one-sided lower bound of a share (Clopper and Pearson 1934).

    >>> round(least_share(29, 29, 0.95), 4), least_share(0, 5, 0.95)
    (0.9019, 0.0)
    """
    if not agreed:
        return 0.0
    from scipy.special import betaincinv

    return float(betaincinv(agreed, n - agreed + 1, 1 - confidence))


# Stability and drift

NO_REPEATS = "no judge was asked twice about the same reply"
ONE_JUDGE = "one judge: nothing shows how far judges differ"


@dataclass(frozen=True)
class RepeatedVerdict:
    """One of a judge's verdicts on a reply to an item."""

    judge: str
    reply: Hashable
    item: Hashable
    value: float


@dataclass(frozen=True)
class JudgeStability:
    """The consistency of a judge's repeated verdicts, over the replies that it judged more than once."""

    stable: Estimate
    """The share of replies on which all its verdicts are equal."""
    flips: Estimate
    """The probability that two verdicts on one reply differ."""
    spread: float | None
    """The pooled standard deviation of verdicts on one reply, in the unit of the scores."""


@dataclass(frozen=True)
class JudgeNoise:
    """The variance components of the disagreement of two judges, each with one verdict on the same reply."""

    repeats: float | None
    """The variance between a judge's verdicts on the same reply."""
    judges: float | None
    """The variance between judges beyond `repeats`: of their severity, and of the interaction of judge and reply."""
    share: Estimate
    """The share of `repeats` in the sum of both: 1 if judges differ by noise alone."""


def judge_stability(verdicts: Sequence[RepeatedVerdict], *, confidence: float = 0.95) -> dict[str, JudgeStability]:
    """Return the stability of each judge, by name, with intervals clustered by item.

    Of n verdicts on a reply, n_v equal v. Two of them differ with the probability 1 - Σ n_v (n_v - 1) / (n (n - 1)),
    the unbiased Gini index (Simpson 1949, "Measurement of diversity", Nature 163).

    >>> values = {"a": (1, 1, 0), "b": (1, 1, 1), "c": (1, 1, 1)}
    >>> verdicts = [RepeatedVerdict("j", reply, reply, value) for reply in values for value in values[reply]]
    >>> found = judge_stability(verdicts)["j"]
    >>> round(found.stable.value, 3), round(found.flips.value, 3)
    (0.667, 0.222)
    """
    stabilities = {}
    for judge in sorted({verdict.judge for verdict in verdicts}):
        cells = _cells([verdict for verdict in verdicts if verdict.judge == judge])
        repeated = {key: values for key, values in cells.items() if len(values) > 1}
        if not repeated:
            undefined = Estimate.undefined(NO_REPEATS, left_out=len(cells))
            stabilities[judge] = JudgeStability(undefined, undefined, None)
            continue
        items = [item for item, _, _ in repeated]
        all_equal = [float(len(set(values)) == 1) for values in repeated.values()]
        differing = [_disagreement(values) for values in repeated.values()]
        stabilities[judge] = JudgeStability(
            mean(all_equal, items, ends=(0.0, 1.0), confidence=confidence),
            mean(differing, items, ends=(0.0, 1.0), confidence=confidence),
            math.sqrt(fmean(variance(values) for values in repeated.values())),
        )
    return stabilities


def judge_noise(verdicts: Sequence[RepeatedVerdict], *, confidence: float = 0.95) -> JudgeNoise:
    """Return how much of the disagreement of judges is noise: their inconsistency with themselves.

    With a the mean variance between repeats, b the mean variance between the judges' means of a reply, and c the mean
    of 1 / (number of repeats), the variance between judges is b - a c, truncated at 0. The share is a / (a + b - a c);
    its standard error is linearized in a and b, and clustered by item. Judges have equal weight.

    >>> verdicts = [RepeatedVerdict(judge, reply, reply, value)
    ...         for reply in range(8) for judge, values in (("a", (1, 2)), ("b", (4, 5))) for value in values]
    >>> found = judge_noise(verdicts)
    >>> found.repeats, found.judges, round(found.share.value, 3)
    (0.5, 4.25, 0.105)
    """
    cells = _cells(verdicts)
    within_variances = [(item, variance(values)) for (item, _, _), values in cells.items() if len(values) > 1]
    if not within_variances:
        return JudgeNoise(None, None, Estimate.undefined(NO_REPEATS, left_out=len(cells)))
    within = fmean(value for _, value in within_variances)
    by_reply: dict[tuple[Hashable, Hashable], list[list[float]]] = defaultdict(list)
    for (item, reply, _), values in cells.items():
        by_reply[item, reply].append(values)
    multiply_judged = {key: by_judge for key, by_judge in by_reply.items() if len(by_judge) > 1}
    if not multiply_judged:
        return JudgeNoise(within, None, Estimate.undefined(ONE_JUDGE, left_out=len(by_reply)))
    between_variances = [
        (item, variance([fmean(repeats) for repeats in by_judge])) for (item, _), by_judge in multiply_judged.items()
    ]
    between_variance = fmean(value for _, value in between_variances)
    inverse_repeats = fmean(fmean(1 / len(repeats) for repeats in by_judge) for by_judge in multiply_judged.values())
    judges = max(0.0, between_variance - within * inverse_repeats)
    total = within + judges
    if total <= 0:
        return JudgeNoise(0.0, 0.0, Estimate.undefined("no two verdicts on a reply differ"))
    base = Estimate(within / total, n=len(multiply_judged), left_out=len(by_reply) - len(multiply_judged))
    if judges == 0:
        return JudgeNoise(within, 0.0, base.without_interval("judges differ by no more than chance"))
    influences: dict[Hashable, float] = defaultdict(float)
    for item, value in within_variances:
        influences[item] += between_variance / total**2 * (value - within) / len(within_variances)
    for item, value in between_variances:
        influences[item] -= within / total**2 * (value - between_variance) / len(between_variances)
    clusters = len(influences)
    if clusters < 2:
        return JudgeNoise(within, judges, base.without_interval("one item: nothing shows how far items differ"))
    error = math.sqrt(clusters / (clusters - 1) * float(np.square(list(influences.values())).sum()))
    base = Estimate(base.value, n=base.n, clusters=clusters, left_out=base.left_out)
    return JudgeNoise(within, judges, bounded(base, error, clusters - 1, (0.0, 1.0), confidence=confidence))


def _cells(verdicts: Sequence[RepeatedVerdict]) -> dict[tuple[Hashable, Hashable, str], list[float]]:
    """Return the verdicts by item, reply and judge."""
    cells: dict[tuple[Hashable, Hashable, str], list[float]] = defaultdict(list)
    for verdict in verdicts:
        cells[verdict.item, verdict.reply, verdict.judge].append(verdict.value)
    return cells


def _disagreement(values: Sequence[float]) -> float:
    """Return the probability that two different verdicts of several have different values."""
    n = len(values)
    counts = [values.count(value) for value in set(values)]
    return 1 - sum(count * (count - 1) for count in counts) / (n * (n - 1))


@dataclass(frozen=True)
class JudgeDrift:
    """The change of scores from an earlier version of a judge to a later one, over the replies that both judged."""

    difference: Estimate
    """The mean of the later scores minus the earlier ones: above 0 if the later version is more lenient."""
    changed: Estimate
    """The share of replies whose score changed."""


def judge_drift(before: Values, after: Values, clusters: Clusters = None, *, confidence: float = 0.95) -> JudgeDrift:
    """Return the paired change of the scores of the same replies, with Student's t over replies or their `clusters`.

    Pairing removes the variance between replies from the standard error (Student 1908, "The probable error of a mean",
    section IX). Replies that one version did not judge are ignored.

    >>> found = judge_drift([3, 4, 5, 2], [4, 4, 5, 4])
    >>> found.difference.value, found.changed.value
    (0.75, 0.5)
    """
    earlier, later = read_values(before), read_values(after)
    if len(earlier) != len(later):
        raise ValueError("both versions have a score, or none, for each reply")
    change = later - earlier
    changed = np.where(np.isnan(change), np.nan, (change != 0).astype(np.float64))
    return JudgeDrift(
        mean(change, clusters, confidence=confidence, null=0.0),
        mean(changed, clusters, ends=(0.0, 1.0), confidence=confidence),
    )


# Items

NEAR_ONE = 1 - 1e-6
"""The maximum absolute value of a correlation, since the Fisher transform of 1 is infinite; a greater one is replaced
by it."""
FEW = "fewer than four models have it and another item: nothing shows how it goes with the rest"
NO_VARIATION = "all models have the same on it, or on the rest: nothing goes with anything"


def item_discrimination(scores: Ratings, *, confidence: float = 0.95) -> list[Estimate]:
    """Return the corrected item-total correlation of every item: that of the models' scores on the item with their
    means over the other items.

    `scores` has one row per model and one column per item. If a correlation is negative, models that do better on the
    other items do worse on this one: its answer key may be wrong, or it measures something else. The item itself is
    left out of the mean, since it would correlate with itself (Nunnally 1978). The interval is Fisher's (1921),
    tanh(artanh r ± z / √(n − 3)) for n models, and the test is against 0.

    >>> scores = [[1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 1, 0]]
    >>> [round(each.value, 2) for each in item_discrimination(scores)]
    [0.61, -0.22, -0.84, 0.61]
    """
    matrix = read_ratings(scores)
    present = ~np.isnan(matrix)
    totals, counts = np.where(present, matrix, 0.0).sum(axis=1), present.sum(axis=1)
    return [_discrimination(matrix[:, item], totals, counts, confidence) for item in range(matrix.shape[1])]


def _discrimination(scores: Floats, totals: Floats, counts: Floats, confidence: float) -> Estimate:
    """Return the discrimination of an item from the models' scores on it, and the sums and numbers of all their
    scores."""
    models = ~np.isnan(scores) & (counts > 1)
    n, left_out = int(models.sum()), int((~models).sum())
    if n < 4:
        return Estimate.undefined(FEW, n=n, left_out=left_out)
    item_scores = scores[models]
    rest_means = (totals[models] - item_scores) / (counts[models] - 1)
    if item_scores.std() <= 1e-9 or rest_means.std() <= 1e-9:
        return Estimate.undefined(NO_VARIATION, n=n, left_out=left_out)
    estimate = tested_correlation(float(np.corrcoef(item_scores, rest_means)[0, 1]), n, confidence=confidence)
    return replace(estimate, left_out=left_out)


def tested_correlation(value: float | None, n: int, *, confidence: float = 0.95) -> Estimate:
    """Return a correlation of `n` pairs with Fisher's interval and his test against 0 (1921): artanh r · √(n − 3) is
    normal.

    >>> found = tested_correlation(-0.9, 9)
    >>> round(found.low, 2), round(found.high, 2), round(found.p, 4)
    (-0.98, -0.59, 0.0003)
    """
    if value is None or n < 4:
        return Estimate.undefined(FEW if n < 4 else NO_VARIATION, n=n)
    r = max(-NEAR_ONE, min(NEAR_ONE, value))
    transformed, half_width = math.atanh(r), z_quantile(two_sided(confidence)) / math.sqrt(n - 3)
    statistic = transformed * math.sqrt(n - 3)
    low, high = math.tanh(transformed - half_width), math.tanh(transformed + half_width)
    return Estimate(r, low=low, high=high, statistic=statistic, p=z_tails(statistic), n=n)


def negative_discrimination(items: Iterable[Estimate], *, level: float = 0.05) -> list[int]:
    """Return the indices of items with a significantly negative discrimination, at a false discovery rate of `level`
    (Benjamini and Hochberg 1995): of many items, one in forty has an interval below 0 by chance.

    >>> negative = Estimate(-0.9, p=0.001)
    >>> negative_discrimination([negative, Estimate(-0.5, p=0.2), Estimate(0.9, p=0.001)])
    [0]
    """
    from tripos_warehouse.statistics.multiple_tests import benjamini_hochberg

    tests = [(item.p, (item.value or 0.0) < 0) for item in items]
    q_values = benjamini_hochberg([p for p, _ in tests])
    return [
        place
        for place, ((_, is_negative), q) in enumerate(zip(tests, q_values, strict=True))
        if q is not None and q < level and is_negative
    ]
