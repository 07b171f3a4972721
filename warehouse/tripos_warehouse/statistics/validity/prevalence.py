"""Binary verdicts corrected by the judge's sensitivity and specificity: Rogan and Gladen's estimate of a prevalence.

Of replies that people find good a judge finds the share Se good, its sensitivity, and of bad ones the share Sp bad, its
specificity. So of a share π that is good it finds p = π Se + (1 - π)(1 - Sp) good, and π = (p + Sp - 1) / (Se + Sp - 1)
(Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test"). The interval is that
of Lang and Reiczigel 2014, "Confidence limits for prevalence of disease adjusted for estimated sensitivity and
specificity", Preventive Veterinary Medicine 113, 13-22.

The estimate holds where the labels were made elsewhere, or so many good and so many bad replies were chosen: Se and Sp
do not depend on how many replies are good. Of labels drawn at random from the replies themselves, `corrected_mean` is
sharper: with ρ the correlation of verdicts and labels, the variance that they leave is ρ² times that of this one, as
Marshall 1990 found of the same two ways to use labels ("Validation study methods for estimating exposure proportions
and odds ratios with misclassified data", Journal of Clinical Epidemiology 43).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.quantiles import two_sided, z_quantile
from tripos_warehouse.statistics.ratings import Clusters, Flags, Values, cluster_codes, read_values

NO_BETTER = "the judge tells good replies from bad ones no better than chance"
PAST_ERRORS = "the judge's verdicts lie past what its errors on the labels allow: no interval"


@dataclass(frozen=True)
class CorrectedPrevalence:
    """The share of replies that people would find good, from a judge's verdicts on all and people's on some."""

    result: StatisticResult
    """The corrected share. `n` are the replies that were judged, `clusters` the items of these."""
    apparent: StatisticResult
    """The share that the judge finds good. Its interval speaks of the judge."""
    sensitivity: StatisticResult
    specificity: StatisticResult


def corrected_prevalence(
    judged: Values,
    verdicts: Values,
    labels: Values,
    clusters: Clusters = None,
    label_clusters: Clusters = None,
    *,
    confidence: float = 0.95,
) -> CorrectedPrevalence:
    """Return the share of good replies among those `judged`, each 1 or 0, given a judge's `verdicts` on other replies
    and what people say of these.

    Where replies come in clusters, such as those to one item, their number is divided by the design effect, which is
    the variance of the share by cluster over that of as many independent ones (Rao and Scott 1992, "A simple method for
    the analysis of clustered binary data").

    >>> judged = [1] * 30 + [0] * 70
    >>> verdicts, labels = [1] * 18 + [0] * 2 + [1] * 3 + [0] * 27, [1] * 20 + [0] * 30
    >>> found = corrected_prevalence(judged, verdicts, labels)
    >>> found.sensitivity.value, found.specificity.value, round(found.result.value, 3)
    (0.9, 0.9, 0.25)
    """
    all_, f, y = read_values(judged), read_values(verdicts), read_values(labels)
    if len(f) != len(y):
        raise ValueError("verdicts and labels are one each a reply")
    told = np.concatenate([all_, f, y])
    if not np.isin(told[~np.isnan(told)], (0.0, 1.0)).all():
        raise ValueError("verdicts and labels are 0 or 1")
    own = cluster_codes(label_clusters, len(f))
    there = ~np.isnan(f) & ~np.isnan(y)

    def share(values: Values, where: Flags) -> StatisticResult:
        return mean(np.asarray(values)[where], own[where], ends=(0.0, 1.0), confidence=confidence)

    apparent = mean(all_, clusters, ends=(0.0, 1.0), confidence=confidence)
    sensitivity, specificity = share(f, there & (y == 1)), share(1 - f, there & (y == 0))
    found = (apparent, sensitivity, specificity)

    def told_as(result: StatisticResult) -> CorrectedPrevalence:
        return CorrectedPrevalence(result, *found)

    for each, lacking in zip(
        found, ("no reply is judged", "people found none good", "people found none bad"), strict=True
    ):
        if each.value is None:
            return told_as(StatisticResult.undefined(lacking, n=apparent.n))
    value, low, high = _lang_reiczigel(*found, confidence)
    if value is None:
        return told_as(StatisticResult.undefined(NO_BETTER, n=apparent.n))
    base = StatisticResult(value, n=apparent.n, clusters=apparent.clusters, left_out=apparent.left_out)
    if low is None:
        return told_as(base.without_interval("too few labels for an interval: the judge may be no better than chance"))
    if low == high:
        return told_as(base.without_interval(PAST_ERRORS))
    return told_as(replace(base, low=low, high=high))


def _lang_reiczigel(
    apparent: StatisticResult, sensitivity: StatisticResult, specificity: StatisticResult, confidence: float
) -> tuple[float | None, float | None, float | None]:
    """Return the estimate, cut at 0 and 1, and its limits; the estimate is Rogan and Gladen's, and the limits lie
    around one whose shares are drawn towards the middle."""
    p, se, sp = (float(each.value or 0.0) for each in (apparent, sensitivity, specificity))
    if se + sp <= 1:
        return None, None, None
    value = min(1.0, max(0.0, (p + sp - 1) / (se + sp - 1)))
    z = z_quantile(two_sided(confidence))
    n, of_se, of_sp = (_effective(each) for each in (apparent, sensitivity, specificity))
    p = (n * p + z**2 / 2) / (n + z**2)
    se, sp = (of_se * se + 1) / (of_se + 2), (of_sp * sp + 1) / (of_sp + 2)
    if se + sp <= 1:
        return value, None, None
    middle = (p + sp - 1) / (se + sp - 1)
    by_se, by_sp = se * (1 - se) / (of_se + 2), sp * (1 - sp) / (of_sp + 2)
    error = math.sqrt(p * (1 - p) / (n + z**2) + middle**2 * by_se + (1 - middle) ** 2 * by_sp) / (se + sp - 1)
    shift = 2 * z**2 * (middle * by_se - (1 - middle) * by_sp)
    low, high = (min(1.0, max(0.0, middle + shift + side * z * error)) for side in (-1, 1))
    return value, min(low, value), max(high, value)


def _effective(found: StatisticResult) -> float:
    """Return how many independent replies a share is worth: of a share of all or none, as many as there are items."""
    value, error = found.value, found.standard_error
    assert value is not None
    if found.clusters in (None, found.n):
        return float(found.n)
    if not error or value in (0.0, 1.0):
        return float(found.clusters or found.n)
    return min(float(found.n), value * (1 - value) / error**2)
