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
from tripos_warehouse.statistics.intervals import clopper_pearson, mean
from tripos_warehouse.statistics.quantiles import t_quantile, two_sided, z_quantile
from tripos_warehouse.statistics.ratings import Clusters, Flags, Values, cluster_codes, read_values

NO_BETTER = "the judge tells good replies from bad ones no better than chance"
MAY_BE_CHANCE = "too few labels for an interval: the judge may be no better than chance"
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
    assert apparent.value is not None
    assert sensitivity.value is not None
    assert specificity.value is not None
    rates = JudgeRates(sensitivity.value, specificity.value)
    if rates.informedness <= 0:
        return told_as(StatisticResult.undefined(NO_BETTER, n=apparent.n))
    base = StatisticResult(
        rates.corrected(apparent.value), n=apparent.n, clusters=apparent.clusters, left_out=apparent.left_out
    )
    rates = replace(rates, positives=_effective(sensitivity), negatives=_effective(specificity))
    limits = rates.limits(apparent.value, _effective(apparent), z_quantile(two_sided(confidence)))
    if limits is None:
        return told_as(base.without_interval(MAY_BE_CHANCE))
    if limits[0] == limits[1]:
        return told_as(base.without_interval(PAST_ERRORS))
    return told_as(replace(base, low=limits[0], high=limits[1]))


@dataclass(frozen=True)
class JudgeRates:
    """How often a judge is right about good and about bad replies. `positives` and `negatives` are the replies of a
    validation study that showed it; without them a rate is known exactly.

    >>> JudgeRates(0.92, 0.88, positives=50).informedness
    0.8
    """

    sensitivity: float
    specificity: float
    positives: float | None = None
    negatives: float | None = None

    @property
    def informedness(self) -> float:
        """Return Youden's J: 0 is a judge that decides by chance."""
        return round(self.sensitivity + self.specificity - 1, 12)

    @property
    def known(self) -> bool:
        """True if both rates are known exactly."""
        return self.positives is None and self.negatives is None

    def errors(self, value: float) -> tuple[float, float]:
        """Return by how much the corrected share is off for one standard error of each rate (the delta method)."""
        of_sensitivity, of_specificity = (math.sqrt(spread) for _, spread in self._moved)
        return -value * of_sensitivity / self.informedness, (1 - value) * of_specificity / self.informedness

    @property
    def _moved(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return each rate, drawn to the middle by one reply of either kind, and its variance."""

        def moved(rate: float, n: float | None) -> tuple[float, float]:
            if n is None:
                return rate, 0.0
            rate = (n * rate + 1) / (n + 2)
            return rate, rate * (1 - rate) / (n + 2)

        return moved(self.sensitivity, self.positives), moved(self.specificity, self.negatives)

    def corrected(self, apparent: float) -> float:
        """Return the share that is good where the judge finds this one good, cut at 0 and 1."""
        return min(1.0, max(0.0, (apparent + self.specificity - 1) / self.informedness))

    def limits(self, apparent: float, replies: float, quantile: float) -> tuple[float, float] | None:
        """Return the limits of Lang and Reiczigel for an apparent share of so many independent replies, with a quantile
        of z or t; `None` where the judge may be no better than chance. The estimate is Rogan and Gladen's, and the
        limits lie around one whose shares are drawn towards the middle."""
        (se, by_se), (sp, by_sp) = self._moved
        if se + sp <= 1:
            return None
        p = (replies * apparent + quantile**2 / 2) / (replies + quantile**2)
        middle = (p + sp - 1) / (se + sp - 1)
        spread = p * (1 - p) / (replies + quantile**2) + middle**2 * by_se + (1 - middle) ** 2 * by_sp
        error = math.sqrt(spread) / (se + sp - 1)
        shift = 2 * quantile**2 * (middle * by_se - (1 - middle) * by_sp)
        low, high = (min(1.0, max(0.0, middle + shift + side * quantile * error)) for side in (-1, 1))
        value = self.corrected(apparent)
        return min(low, value), max(high, value)


def rated_prevalence(
    judged: Values, rates: JudgeRates, clusters: Clusters = None, *, confidence: float = 0.95
) -> StatisticResult:
    """Return the share of good replies among those `judged`, each 1 or 0, by a judge with these rates.

    Of rates that are known exactly the limits are those of the apparent share, taken through the correction; else they
    are those of Lang and Reiczigel, where replies come in clusters with Rao and Scott's number of replies and Student's
    t.

    >>> found = rated_prevalence([1] * 30 + [0] * 70, JudgeRates(0.9, 0.9))
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.25, 0.141, 0.375)
    >>> found = rated_prevalence([1] * 30 + [0] * 70, JudgeRates(0.9, 0.9, positives=20, negatives=30))
    >>> round(found.low, 3), round(found.high, 3)
    (0.063, 0.412)
    """
    found = mean(judged, clusters, ends=(0.0, 1.0), confidence=confidence)
    if found.value is None:
        return found
    if rates.informedness <= 0:
        return StatisticResult.undefined(NO_BETTER, n=found.n)
    value = rates.corrected(found.value)
    base = StatisticResult(value, n=found.n, clusters=found.clusters, left_out=found.left_out)
    if found.standard_error is None:
        return base.without_interval(str(found.reason))
    error = math.hypot(found.standard_error / rates.informedness, *rates.errors(value))
    independent = found.clusters == found.n and bool(np.isin(read_values(judged), (0.0, 1.0)).all())
    if rates.known:
        own = clopper_pearson(found.value * found.n, found.n, confidence=confidence) if independent else found
        assert own.low is not None
        assert own.high is not None
        low, high = rates.corrected(own.low), rates.corrected(own.high)
    else:
        upper = two_sided(confidence)
        quantile = z_quantile(upper) if independent else t_quantile(upper, (found.clusters or 2) - 1)
        assert quantile is not None
        limits = rates.limits(found.value, _effective(found), quantile)
        if limits is None:
            return base.without_interval(MAY_BE_CHANCE)
        low, high = limits
    return replace(base, low=low, high=high, standard_error=error, df=found.df)


def _effective(found: StatisticResult) -> float:
    """Return how many independent replies a share is worth: of a share of all or none, as many as there are items."""
    value, error = found.value, found.standard_error
    assert value is not None
    if found.clusters in (None, found.n):
        return float(found.n)
    if not error or value in (0.0, 1.0):
        return float(found.clusters or found.n)
    return min(float(found.n), value * (1 - value) / error**2)
