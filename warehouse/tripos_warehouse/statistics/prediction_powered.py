"""Prediction-powered estimates: a judge's grades of all replies, corrected by people's grades of a random sample.

The mean of people over the sample is unbiased and imprecise; the mean of the judge over all replies is precise and may
be biased. With H the mean of people over what they graded, J that of the judge over everything and L that of the judge
over what people graded, H + λ (J - L) has the expectation of H for every λ, since J and L have the same. The λ with the
smallest error is that of PPI++ (Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference",
section 6): 0 if the judge is uninformative, which leaves the labels alone, and larger the better it follows people.

Clusters, such as the replies to one item, are the independent units (Liang and Zeger 1986). They are divided into
folds, and the λ of a fold comes from the clusters outside it (Zrnic and Candès 2024, "Cross-prediction-powered
inference"), so that no reply chooses the weight of its own grade.
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
FEWEST_GRADED = 3
"""With fewer clusters that people graded, the error cannot be estimated."""


@dataclass(frozen=True)
class CorrectedMean:
    """A mean of people's grades over all replies, estimated from people and a judge."""

    result: Estimate
    """The corrected mean; `n` is the number of replies that people graded, `clusters` that of their independent
    groups."""
    judged: Estimate
    """The judge's mean over all replies. Its interval is for the judge, not for people."""
    graded: Estimate
    """The mean of people over what they graded, without a judge."""
    power: float
    """λ, averaged over folds: 0 ignores the judge, 1 is the plain prediction-powered mean."""


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
    inverse probabilities of being drawn, up to a factor, if they differ. `clusters` are the items of the replies. The
    interval is Student's t with one degree of freedom less than the clusters that people graded, and one less for λ;
    with `ends` it is that of `bounded`. It is *undefined* with fewer than three such clusters.

    Raises `ValueError` if the sequences differ in length, or a judge's value or a weight is missing.

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
    y = np.array([float(value) if has_graded else 0.0 for value, has_graded in zip(graded, has_grade, strict=True)])  # type: ignore[arg-type]
    codes = cluster_codes(clusters, len(f))
    estimate = mean(f.tolist(), None if clusters is None else codes.tolist(), ends=ends, confidence=confidence)
    n, left_out = int(has_grade.sum()), int((~has_grade).sum())
    units = len(np.unique(codes[has_grade]))
    if not n:
        none = Estimate.undefined("people graded nothing", left_out=left_out)
        return CorrectedMean(none, estimate, none, 0.0)
    sampled = np.where(has_grade, w, 0.0)
    alone, of_people = _weighted(y, sampled, codes)
    on_graded, of_graded = _weighted(f, sampled, codes)
    on_all, of_all = _weighted(f, np.ones(len(f)), codes)
    labels = _with_interval(alone, of_people, n, left_out, units, units - 1, ends, confidence)
    if units < FEWEST_GRADED:
        few = f"people graded replies to {units} of the items: it takes {FEWEST_GRADED}"
        base = Estimate(alone, few, n=n, clusters=units, left_out=left_out)
        return CorrectedMean(base, estimate, labels, 0.0)
    of_few, of_many = (math.sqrt(each / (each - 1)) for each in (units, int(codes.max()) + 1))
    three = (
        InfluencedEstimate(alone, of_people * of_few),
        InfluencedEstimate(on_graded, of_graded * of_few),
        InfluencedEstimate(on_all, of_all * of_many),
    )
    raised = (units - 1) / (units - 2)  # λ costs one degree of freedom
    base = Estimate(alone, n=n, clusters=units, left_out=left_out)
    has_graded = np.zeros(int(codes.max()) + 1, dtype=bool)
    has_graded[codes[has_grade]] = True
    found, power = prediction_powered_estimate(
        base, *three, has_graded, df=units - 2, raised=raised, ends=ends, confidence=confidence
    )
    return CorrectedMean(found, estimate, labels, power)


@dataclass(frozen=True)
class InfluencedEstimate:
    """A figure and the influence of each cluster on it: the first-order change of the value when the cluster's weight
    changes."""

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
    """Return the prediction-powered estimate of any figure, and λ: H + λ (J - L) of figures with influences.

    H is that of `people`, L that of the judge over the same replies (`judge_labelled`), and J that of the judge over
    all (`on_all`). Their influences have one entry per cluster, in the same order, each multiplied by √(m / (m - 1))
    for the m clusters of its figure; `graded` marks the clusters with grades by people. The variance is the sum of the
    squares of h + λ (j - l), multiplied by `raised` for the freedom that λ takes, with `df` degrees of freedom. For a
    figure that is no mean, this is the estimator of Chen and Chen (2000, "A unified approach to regression analysis
    under double-sampling designs"), which has the same form. `base` has the counts of the result, and `null` is the
    value of the test.
    """
    beyond = _influence_difference(judge_all, judge_labelled)
    units = int(graded.sum())
    # The influences of clusters on J - L.
    each = beyond + np.where(graded, (judge_all.value - judge_labelled.value) / max(units, 1), 0.0)
    powers = _tuning_lambdas(people.influences, beyond, _folds(graded))
    result = replace(base, value=people.value + float((powers * each).sum()))
    power = float(powers[graded].mean()) if units else 0.0
    if df < 1:
        return result.without_interval("too few items are graded: nothing shows the error"), power
    error = math.sqrt(raised * float(((people.influences + powers * beyond) ** 2).sum()))
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
    """Return the approximate half-width of the interval of a corrected figure with `units` graded clusters.

    The figures are those of `prediction_powered_estimate`, from the clusters that are graded now. The part of the
    variance from people and judge differing on a graded cluster, h - λ l, is scaled by the ratio of graded clusters now
    and then; the rest is unchanged. λ is unchanged too, so more grades do slightly better than that. None with fewer
    than three clusters, now or then, or if the graded clusters do not differ, since the error is unknown then.
    """
    now = int(graded.sum())
    if min(now, units) < FEWEST_GRADED:
        return None
    power = _tuning_lambdas(people.influences, _influence_difference(judge_all, judge_labelled), _folds(graded))
    of_labels = people.influences - power * judge_labelled.influences
    scaled = float((of_labels**2).sum())
    whole = float(((of_labels + power * judge_all.influences) ** 2).sum())
    variance = max(whole - scaled, 0.0) + scaled * now / units
    quantile = t_quantile(two_sided(confidence), units - 2)
    if quantile is None or scaled <= ROUNDING**2:
        return None
    return quantile * math.sqrt(variance * (units - 1) / (units - 2))


def _influence_difference(judge_all: InfluencedEstimate, judge_labelled: InfluencedEstimate) -> Floats:
    """Return the influences on J - L; rounding errors of 0 are 0, as if people graded everything."""
    found = judge_all.influences - judge_labelled.influences
    least = 1e-12 * float(
        max(np.abs(judge_all.influences).max(initial=0.0), np.abs(judge_labelled.influences).max(initial=0.0))
    )
    return np.where(np.abs(found) <= least, 0.0, found)


def _weighted(values: Floats, weights: Floats, codes: Ints) -> tuple[float, Floats]:
    """Return a weighted mean, and the influence of each cluster on it."""
    value = float((weights * values).sum() / weights.sum())
    return value, np.bincount(codes, weights=weights * (values - value)) / weights.sum()


def _folds(graded: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Return the fold of each cluster; clusters with grades are spread evenly, and so are the others."""
    folds = np.zeros(len(graded), dtype=np.intp)
    for kind in (graded, ~graded):
        folds[kind] = np.arange(int(kind.sum())) % FOLDS
    return folds


def _tuning_lambdas(of_people: Floats, beyond: Floats, folds: Ints) -> Floats:
    """Return λ for each cluster, from the clusters of the other folds: -Σ h c / Σ c², at least 0."""
    products = np.bincount(folds, weights=of_people * beyond, minlength=FOLDS)
    squares = np.bincount(folds, weights=beyond**2, minlength=FOLDS)
    above, below = -(products.sum() - products), squares.sum() - squares
    power = np.divide(above, below, out=np.zeros(FOLDS), where=below > 0)
    found: Floats = np.maximum(power, 0.0)[folds]
    return found


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
    base = Estimate(value, n=n, clusters=units, left_out=left_out)
    if df < 1:
        return base.without_interval("too few items are graded: nothing shows the error")
    error = math.sqrt(units / df * float((influences**2).sum()))
    if ends is not None:
        return bounded(base, error, df, ends, confidence=confidence)
    return with_t_interval(base, error, df, confidence=confidence)
