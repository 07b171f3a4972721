"""Prediction-powered estimates: a judge's grades of all replies, corrected by people's grades of a random sample.

The mean grade by people over the sample is unbiased and imprecise; the mean grade by the judge over all replies is
precise and may be biased. Let H be the mean of people over the sample, J that of the judge over all replies, and L that
of the judge over the sample. J and L have equal expectations, so H + λ (J - L) has the expectation of H for every λ.
The λ with the smallest variance is that of PPI++ (Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient
Prediction-Powered Inference", section 6): it is 0 if the judge is uninformative, so that only people count, and
increases with the judge's agreement with people.

Clusters, such as the replies to one item, are the independent units (Liang and Zeger 1986). They are divided into
folds, and the λ of a fold comes from the clusters outside it (Zrnic and Candès 2024, "Cross-prediction-powered
inference"), so that no grade affects its own weight.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.arrays import Floats, Ints, cluster_codes, is_missing, t_quantile, two_sided
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import ROUNDING, bounded, mean, with_t_interval

FOLDS = 10
"""The number of folds of clusters, each with its own λ."""
FEWEST_GRADED = 3
"""With fewer clusters that people graded, the error cannot be estimated."""


@dataclass(frozen=True)
class CorrectedMean:
    """A mean of people's grades over all replies, estimated from people and a judge."""

    result: Estimate
    """The corrected mean; `n` is the number of replies that people graded, `clusters` the number of their clusters."""
    judged: Estimate
    """The judge's mean over all replies. Its interval is for the judge, not for people."""
    graded: Estimate
    """The mean of people over the replies that they graded, without the judge."""
    power: float
    """λ, the power-tuning parameter of PPI++, averaged over the graded clusters: 0 ignores the judge, 1 is the
    prediction-powered mean without tuning."""


def corrected_mean(
    judged: Sequence[float],
    graded: Sequence[float | None],
    clusters: Sequence[Hashable] | None = None,
    weights: Sequence[float] | None = None,
    *,
    ends: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> CorrectedMean:
    """Return the mean grade that people would give all replies, from a judge's grade of each and people's grades of
    some.

    `graded` has None for replies without a grade; the graded ones must have been drawn at random. `weights` are the
    inverse sampling probabilities of the replies, up to a factor, if they differ. `clusters` are the items of the
    replies. The interval is Student's t with m - 2 degrees of freedom for m clusters with grades by people, one less
    for λ than for a mean; with `ends`, the bounds of the scale, it is that of `bounded`. The corrected mean has no
    interval if m is below 3, and is then the mean of people.

    Raises `ValueError` if the sequences differ in length, a judge's value is missing, or a weight is not positive.

    >>> judge = [4, 2, 5, 3, 4, 2, 5, 3, 4, 2, 5, 3]
    >>> people = [3, 1, 4, 2, 3, 2, None, None, None, None, None, None]
    >>> found = corrected_mean(judge, people)
    >>> found.judged.value, found.graded.value, round(found.result.value, 2), round(found.power, 2)
    (3.5, 2.5, 2.66, 0.83)
    """
    f = np.asarray(judged, dtype=float)
    has_grade = np.array([value is not None and not is_missing(value) for value in graded], dtype=bool)
    w = np.ones(len(f)) if weights is None else np.asarray(weights, dtype=float)
    if not len(f) == len(has_grade) == len(w) or (clusters is not None and len(clusters) != len(f)):
        raise ValueError("values of the judge, grades, clusters and weights are one each a reply")
    if not np.isfinite(f).all() or not (np.isfinite(w) & (w > 0)).all():
        raise ValueError("every reply has a value of the judge and a weight above zero")
    y = np.array([float(value) if is_graded else 0.0 for value, is_graded in zip(graded, has_grade, strict=True)])  # type: ignore[arg-type]
    codes = cluster_codes(clusters, len(f))
    judge_mean = mean(f.tolist(), None if clusters is None else codes.tolist(), ends=ends, confidence=confidence)
    n, left_out = int(has_grade.sum()), int((~has_grade).sum())
    units = len(np.unique(codes[has_grade]))
    if not n:
        undefined = Estimate.undefined("people graded nothing", left_out=left_out)
        return CorrectedMean(undefined, judge_mean, undefined, 0.0)
    sample_weights = np.where(has_grade, w, 0.0)
    people_mean, people_influences = _weighted_mean(y, sample_weights, codes)
    judge_labelled_mean, judge_labelled_influences = _weighted_mean(f, sample_weights, codes)
    judge_all_mean, judge_all_influences = _weighted_mean(f, np.ones(len(f)), codes)
    graded_mean = _with_interval(people_mean, people_influences, n, left_out, units, units - 1, ends, confidence)
    if units < FEWEST_GRADED:
        reason = f"people graded replies to {units} of the items: it takes {FEWEST_GRADED}"
        base = Estimate(people_mean, reason, n=n, clusters=units, left_out=left_out)
        return CorrectedMean(base, judge_mean, graded_mean, 0.0)
    graded_factor, all_factor = (math.sqrt(size / (size - 1)) for size in (units, int(codes.max()) + 1))
    estimates = (
        InfluencedEstimate(people_mean, people_influences * graded_factor),
        InfluencedEstimate(judge_labelled_mean, judge_labelled_influences * graded_factor),
        InfluencedEstimate(judge_all_mean, judge_all_influences * all_factor),
    )
    raised = (units - 1) / (units - 2)  # λ costs one degree of freedom
    base = Estimate(people_mean, n=n, clusters=units, left_out=left_out)
    graded_clusters = np.zeros(int(codes.max()) + 1, dtype=bool)
    graded_clusters[codes[has_grade]] = True
    corrected, power = prediction_powered_estimate(
        base, *estimates, graded_clusters, df=units - 2, raised=raised, ends=ends, confidence=confidence
    )
    return CorrectedMean(corrected, judge_mean, graded_mean, power)


@dataclass(frozen=True)
class InfluencedEstimate:
    """An estimate and its empirical influence function: for each cluster, the first-order change of the value when the
    cluster's weight changes."""

    value: float
    influences: Floats


def prediction_powered_estimate(
    base: Estimate,
    people: InfluencedEstimate,
    judge_labelled: InfluencedEstimate,
    judge_all: InfluencedEstimate,
    graded: np.ndarray[tuple[int], np.dtype[np.bool_]],
    *,
    df: float,
    raised: float = 1.0,
    ends: tuple[float, float] | None = None,
    null: float | None = None,
    confidence: float = 0.95,
) -> tuple[Estimate, float]:
    """Return the prediction-powered estimate H + λ (J - L) of any statistic with influences, and λ.

    H is the estimate from `people`, L that from the judge on the same replies (`judge_labelled`), and J that from the
    judge on all replies (`judge_all`). Their influences h, l and j have one entry per cluster, in the same order,
    multiplied by √(m / (m - 1)) for the m clusters of the estimate; `graded` marks the clusters with grades by people.
    The variance is the sum of the squares of h + λ (j - l), multiplied by `raised` for the degree of freedom that λ
    costs, with `df` degrees of freedom. For a statistic that is not a mean, this is the estimator of Chen and Chen
    (2000, "A unified approach to regression analysis under double-sampling designs"), which has the same form. `base`
    has the counts of the result. With `ends`, the interval is that of `bounded`, and `null` the value of its test.
    """
    difference_influences = _influence_difference(judge_all, judge_labelled)
    units = int(graded.sum())
    # Sums to J - L, so that the value uses each cluster's own λ.
    corrections = difference_influences + np.where(
        graded, (judge_all.value - judge_labelled.value) / max(units, 1), 0.0
    )
    lambdas = _cross_fitted_lambdas(people.influences, difference_influences, _folds(graded))
    result = replace(base, value=people.value + float((lambdas * corrections).sum()))
    power = float(lambdas[graded].mean()) if units else 0.0
    if df < 1:
        return result.without_interval("too few items are graded: nothing shows the error"), power
    error = math.sqrt(raised * float(((people.influences + lambdas * difference_influences) ** 2).sum()))
    if ends is not None:
        return bounded(result, error, df, ends, null=null, confidence=confidence), power
    return with_t_interval(result, error, df, confidence=confidence), power


def expected_half_width(
    people: InfluencedEstimate,
    judge_labelled: InfluencedEstimate,
    judge_all: InfluencedEstimate,
    graded: np.ndarray[tuple[int], np.dtype[np.bool_]],
    units: int,
    confidence: float = 0.95,
) -> float | None:
    """Return the approximate half-width of the interval of a corrected estimate with `units` graded clusters.

    The arguments are those of `prediction_powered_estimate`, with the clusters that are graded at present. Of the
    variance, the part of h - λ l, the difference of people and judge on graded clusters, is scaled by the present
    number of graded clusters over `units`; the rest is unchanged. λ is unchanged too, so the actual half-width will be
    slightly smaller. None with fewer than three graded clusters, at present or in `units`, or if the graded clusters do
    not differ, since the standard error is unknown then.
    """
    present = int(graded.sum())
    if min(present, units) < FEWEST_GRADED:
        return None
    lambdas = _cross_fitted_lambdas(people.influences, _influence_difference(judge_all, judge_labelled), _folds(graded))
    label_influences = people.influences - lambdas * judge_labelled.influences
    label_variance = float((label_influences**2).sum())
    total_variance = float(((label_influences + lambdas * judge_all.influences) ** 2).sum())
    variance = max(total_variance - label_variance, 0.0) + label_variance * present / units
    quantile = t_quantile(two_sided(confidence), units - 2)
    if quantile is None or label_variance <= ROUNDING**2:
        return None
    return quantile * math.sqrt(variance * (units - 1) / (units - 2))


def _influence_difference(judge_all: InfluencedEstimate, judge_labelled: InfluencedEstimate) -> Floats:
    """Return the influences on J - L. Differences within rounding error are 0, such as all of them if people graded
    every reply."""
    difference = judge_all.influences - judge_labelled.influences
    tolerance = 1e-12 * float(
        max(np.abs(judge_all.influences).max(initial=0.0), np.abs(judge_labelled.influences).max(initial=0.0))
    )
    return np.where(np.abs(difference) <= tolerance, 0.0, difference)


def _weighted_mean(values: Floats, weights: Floats, codes: Ints) -> tuple[float, Floats]:
    """Return a weighted mean, and the influence of each cluster on it."""
    value = float((weights * values).sum() / weights.sum())
    return value, np.bincount(codes, weights=weights * (values - value)) / weights.sum()


def _folds(graded: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Return the fold of each cluster, stratified by whether people graded it."""
    folds = np.zeros(len(graded), dtype=np.intp)
    for kind in (graded, ~graded):
        folds[kind] = np.arange(int(kind.sum())) % FOLDS
    return folds


def _cross_fitted_lambdas(people_influences: Floats, difference_influences: Floats, folds: Ints) -> Floats:
    """Return λ for each cluster, fitted to the clusters of the other folds: -Σ h c / Σ c² with c = j - l, at least
    0."""
    products = np.bincount(folds, weights=people_influences * difference_influences, minlength=FOLDS)
    squares = np.bincount(folds, weights=difference_influences**2, minlength=FOLDS)
    numerators, denominators = -(products.sum() - products), squares.sum() - squares
    by_fold = np.divide(numerators, denominators, out=np.zeros(FOLDS), where=denominators > 0)
    lambdas: Floats = np.maximum(by_fold, 0.0)[folds]
    return lambdas


def _with_interval(
    value: float,
    influences: Floats,
    n: int,
    left_out: int,
    units: int,
    df: float,
    ends: tuple[float, float] | None,
    confidence: float,
) -> Estimate:
    """Return a mean with the interval from the influences of its clusters, of which `units` have grades."""
    base = Estimate(value, n=n, clusters=units, left_out=left_out)
    if df < 1:
        return base.without_interval("too few items are graded: nothing shows the error")
    error = math.sqrt(units / df * float((influences**2).sum()))
    if ends is not None:
        return bounded(base, error, df, ends, confidence=confidence)
    return with_t_interval(base, error, df, confidence=confidence)
