"""Metrics of a set of items: translation quality, class correlation, pass@k, scores of probabilities, and
length-controlled win rates.

A corpus metric (BLEU, chrF, TER, Matthews' correlation) is a function of sums over items: each item has a row of
counts, and leaving items out only changes the sums. Counts and formulas of translation metrics are those of sacreBLEU
(Post, 2018), so the values are equal to those of sacreBLEU.

pass@k is the probability that at least one of k samples of an item is right, pass^k that all are. Probabilities are
scored by Brier score, log loss, calibration error and the area under the ROC curve. The length-controlled win rate is
that of a model whose replies were as long as those of its opponents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb
from typing import Any, Literal

import numpy as np

from tripos_compiler.library.functions.similarity import bleu_tokenizer
from tripos_compiler.library.functions.texts import separated
from tripos_compiler.replies.text import comparable
from tripos_warehouse.statistics.arrays import Clusters, Floats, Ints
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean

# Sums over items

Settings = tuple[tuple[str, str], ...]
"""The settings of a translation metric as sorted pairs of name and value, which can be hashed."""
AUTO = "auto"
"""The setting that chooses the tokenizer by the text (`bleu_tokenizer`)."""

MOST_COUNTS = 50_000_000
"""The most class counts in memory: with more, nearly every item is a class of its own."""


@dataclass(frozen=True)
class SummedMetric:
    """A metric that is a function of the sums of counts over items."""

    counts: Floats
    """A row of counts for each item."""
    compute: Callable[[Floats], float | None]
    """The metric of the sums of the columns; `None` if it is undefined."""
    reason: str = "there are no references"
    """Why the metric is undefined, if it is."""

    def overall(self) -> float | None:
        """Return the metric of all items."""
        return self.compute(self.counts.sum(axis=0))

    def without(self, groups: Ints, count: int) -> Sequence[float | None]:
        """Return the metric without each of `count` groups of items; `groups` has the group of each item, from 0."""
        group_sums, sums = np.zeros((count, self.counts.shape[1])), self.counts.sum(axis=0)
        np.add.at(group_sums, groups, self.counts)
        return [self.compute(sums - group_sum) for group_sum in group_sums]


CorpusKind = Literal["bleu", "chrf", "ter"]


def corpus_metric(
    kind: CorpusKind, settings: Mapping[str, str], texts: Sequence[str], references: Sequence[Sequence[str]]
) -> SummedMetric:
    """Return BLEU, chrF or TER of texts, each with one reference or more.

    BLEU: Papineni et al., 2002, equation (2); chrF: Popović, 2015, equation (1), averaged over n-grams as in sacreBLEU
    2; TER: Snover et al., 2006, section 2. Texts are normalised before the comparison.

    >>> metric = corpus_metric("bleu", {}, ["the cat sat on a mat"], [["the cat sat on the mat"]])
    >>> round(metric.compute(metric.counts.sum(axis=0)), 2)
    53.73
    """
    hashable = tuple(sorted(settings.items()))
    rows = [_counts(kind, hashable, text, reference) for text, reference in zip(texts, references, strict=True)]
    scorer = _scorer(kind, hashable, "13a")  # the metric of sums does not depend on the tokenizer
    return SummedMetric(np.array(rows, dtype=np.float64), lambda sums: _score(scorer, sums))


def _counts(kind: CorpusKind, settings: Settings, text: str, references: Sequence[str]) -> list[float]:
    """Return the counts of a text. Its tokenizer depends on the text and its references, as in the function `bleu`."""
    normalised = [comparable(version) for version in (text, *references)]
    tokenizer = bleu_tokenizer(normalised)
    if dict(settings).get("tokenize", AUTO) == AUTO:
        normalised = [separated(version) for version in normalised]
    scorer = _scorer(kind, settings, tokenizer)
    statistics: list[list[float]] = scorer._extract_corpus_statistics(
        [normalised[0]], [[reference] for reference in normalised[1:]]
    )
    return statistics[0]


def _score(scorer: Any, sums: Floats) -> float | None:
    """Return the metric of sums of counts; `None` if there are none."""
    return min(float(scorer._compute_score_from_stats(sums.tolist()).score), _most(scorer)) if sums.size else None


def _most(scorer: Any) -> float:
    """Return the maximum of a metric, which rounding of BLEU or chrF may exceed."""
    return math.inf if type(scorer).__name__ == "TER" else 100.0


@lru_cache
def _scorer(kind: CorpusKind, settings: Settings, tokenizer: str) -> Any:
    """Return the metric of sacreBLEU with the tokenizer of the settings, or with `tokenizer` if they name none."""
    options = {"tokenize": AUTO, **dict(settings)}
    if kind == "bleu":
        from sacrebleu.metrics.bleu import BLEU

        name = tokenizer if options["tokenize"] == AUTO else options["tokenize"]
        return BLEU(tokenize=name, lowercase=options.get("case") == "ignored", force=True)
    if kind == "chrf":
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=2 if options.get("words") == "two" else 0, lowercase=options.get("case") == "ignored")
    from sacrebleu.metrics.ter import TER

    unspaced = tokenizer == "zh"
    return TER(normalized=unspaced, asian_support=unspaced, case_sensitive=options.get("case") == "kept")


def matthews(predicted: Sequence[str], true: Sequence[str]) -> SummedMetric | str:
    """Return the correlation of predicted and true classes, or why there is none.

    Gorodkin, 2004, equation (8), by the counts of each class as in Jurman et al., 2012: with s items, c of them right,
    p predicted as a class and t truly of it, it is (c s - Σ p t) / √((s² - Σ p²) (s² - Σ t²)). For two classes it is
    the coefficient of Matthews, 1975. If all items have the same class, or the same predicted class, it is undefined.

    >>> metric = matthews(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> round(metric.compute(metric.counts.sum(axis=0)), 4)
    0.5774
    """
    classes = {name: index for index, name in enumerate(sorted({*predicted, *true}))}
    k, n = len(classes), len(predicted)
    if n * k > MOST_COUNTS:
        return f"{k:,} classes are too many to count"
    counts = np.zeros((n, 2 + 2 * k))
    rows = np.arange(n)
    counts[:, 0] = 1
    counts[:, 1] = [one == other for one, other in zip(predicted, true, strict=True)]
    counts[rows, [2 + classes[name] for name in predicted]] = 1
    counts[rows, [2 + k + classes[name] for name in true]] = 1

    def compute(sums: Floats) -> float | None:
        s, c, p, t = sums[0], sums[1], sums[2 : 2 + k], sums[2 + k :]
        square = float((s * s - p @ p) * (s * s - t @ t))
        return max(-1.0, min(1.0, float(c * s - p @ t) / math.sqrt(square))) if square > 0 else None

    return SummedMetric(counts, compute, "all items are of one class, or said to be of one")


# Several samples of an item


def pass_at_k(n: int, c: int, k: int) -> Estimate:
    """Return pass@k of an item with `c` right of `n` samples: the probability that at least one of k samples is right.

    1 − C(n − c, k) / C(n, k), unbiased (Chen et al. 2021, "Evaluating large language models trained on code"). Raises
    `ValueError` unless 0 ≤ `c` ≤ `n` and `k` ≥ 1.

    >>> [round(pass_at_k(10, 3, k).value, 6) for k in (1, 2, 5)]
    [0.3, 0.533333, 0.916667]
    >>> pass_at_k(4, 3, 5).reason
    'needs 5 samples, and there are 4'
    """
    _check(n, c, k)
    return _too_few(n, k) or Estimate(1 - comb(n - c, k) / comb(n, k), n=n)


def pass_hat_k(n: int, c: int, k: int) -> Estimate:
    """Return pass^k of an item with `c` right of `n` samples: the probability that k samples are all right.

    C(c, k) / C(n, k), unbiased (Yao et al. 2024, "τ-bench"). Raises `ValueError` like `pass_at_k`.

    >>> [round(pass_hat_k(10, 8, k).value, 6) for k in (1, 2, 5)]
    [0.8, 0.622222, 0.222222]
    """
    _check(n, c, k)
    return _too_few(n, k) or Estimate(comb(c, k) / comb(n, k), n=n)


def mean_pass_at_k(
    samples: Sequence[int], right: Sequence[int], k: int, clusters: Clusters = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean of pass@k over items, with the interval of a `bounded` mean over items or their `clusters`.

    `samples` and `right` have a number for each item. Items with fewer than k samples are only counted in `left_out`.

    >>> found = mean_pass_at_k([10, 10, 3], [3, 10, 1], 5)
    >>> round(found.value, 6), found.n, found.left_out
    (0.958333, 2, 1)
    """
    values = [pass_at_k(n, c, k).value for n, c in zip(samples, right, strict=True)]
    return _mean(values, k, clusters, confidence)


def mean_pass_hat_k(
    samples: Sequence[int], right: Sequence[int], k: int, clusters: Clusters = None, *, confidence: float = 0.95
) -> Estimate:
    """Return the mean of pass^k over items, like `mean_pass_at_k`.

    >>> round(mean_pass_hat_k([10, 10], [8, 10], 2).value, 6)
    0.811111
    """
    values = [pass_hat_k(n, c, k).value for n, c in zip(samples, right, strict=True)]
    return _mean(values, k, clusters, confidence)


def _mean(values: list[float | None], k: int, clusters: Clusters, confidence: float) -> Estimate:
    """Return the mean of pass@k or pass^k over items, without a test."""
    result = mean(values, clusters, confidence=confidence, ends=(0.0, 1.0))
    if result.value is None:
        return replace(result, reason=f"no item has {k} samples")
    return replace(result, statistic=None, p=None)


def _check(n: int, c: int, k: int) -> None:
    """Raise `ValueError` for impossible numbers."""
    if not 0 <= c <= n:
        raise ValueError(f"{c} right of {n} samples cannot be")
    if k < 1:
        raise ValueError(f"k is 1 or more, not {k}")


def _too_few(n: int, k: int) -> Estimate | None:
    """Return an undefined estimate if there are fewer than `k` samples, otherwise `None`."""
    return Estimate.undefined(f"needs {k} samples, and there are {n}", n=n) if n < k else None


# Probabilities

NO_PROBABILITY = "a value is no probability: it lies outside 0 to 1"


def brier(chances: Floats, truths: Floats) -> SummedMetric | str:
    """Return the mean squared difference of probabilities and outcomes (Brier, 1950, equation (2), for one of two
    classes: half of his score, which is summed over both).

    >>> metric = brier(np.array([0.9, 0.2]), np.array([1.0, 0.0]))
    >>> round(metric.overall(), 3)
    0.025
    """
    return _mean_metric((chances - truths) ** 2) if are_probabilities(chances) else NO_PROBABILITY


def log_loss(chances: Floats, truths: Floats) -> SummedMetric | str:
    """Return the mean of −ln of the probability of the outcome (Good, 1952, Rational Decisions, section 5).

    >>> round(log_loss(np.array([0.5, 0.5]), np.array([1.0, 0.0])).overall(), 4)
    0.6931
    """
    if not are_probabilities(chances):
        return NO_PROBABILITY
    if ((chances == 0) & (truths == 1)).any() or ((chances == 1) & (truths == 0)).any():
        return "a reply was certain of what is not so, which costs without bound"
    return _mean_metric(-np.log(np.where(truths == 1, chances, 1 - chances)))


def calibration_error(chances: Floats, truths: Floats, bins: int) -> SummedMetric | str:
    """Return the expected calibration error: the distance of the mean probability from the share of true outcomes in
    bins of equal width, weighted by the share of values in the bin (Naeini et al., 2015, section 3; Guo et al., 2017,
    equation (3)). The m-th bin is ((m - 1) / M, m / M], the first includes 0.

    >>> metric = calibration_error(np.array([0.95, 0.85, 0.15]), np.array([1.0, 0.0, 0.0]), 10)
    >>> round(metric.overall(), 4)
    0.35
    """
    if not are_probabilities(chances):
        return NO_PROBABILITY
    bin_numbers = bin_of(chances, bins)
    counts = np.zeros((len(chances), 1 + bins))
    counts[:, 0] = 1
    counts[np.arange(len(chances)), 1 + bin_numbers] = truths - chances
    return SummedMetric(counts, lambda sums: float(np.abs(sums[1:]).sum() / sums[0]) if sums[0] > 0 else None)


def calibration_noise(chances: Floats, truths: Floats, items: Ints, bins: int) -> float:
    """Return the value that `calibration_error` has on average if the probabilities are perfectly calibrated.

    In each bin, outcomes less probabilities sum to a normal variable with mean 0, whose mean absolute value is √(2 / π)
    times its standard deviation (Johnson, Kotz and Balakrishnan, 1994, section 13.10). The variance is the larger one
    of that between items and that of calibrated probabilities. A calibration error that is not well above this value is
    biased upwards, since absolute values do not cancel.

    >>> round(calibration_noise(np.array([0.5] * 4), np.array([1.0, 0.0, 1.0, 0.0]), np.arange(4), 10), 3)
    0.23
    """
    shape = (int(items.max()) + 1, bins)
    sums, occurs, calibrated = np.zeros(shape), np.zeros(shape, dtype=bool), np.zeros(bins)
    bin_numbers = bin_of(chances, bins)
    np.add.at(sums, (items, bin_numbers), truths - chances)
    occurs[items, bin_numbers] = True
    np.add.at(calibrated, bin_numbers, chances * (1 - chances))
    items_in_bin = occurs.sum(axis=0)
    squares = (sums**2).sum(axis=0) - sums.sum(axis=0) ** 2 / np.maximum(items_in_bin, 1)
    variances = np.maximum(squares * items_in_bin / np.maximum(items_in_bin - 1, 1), calibrated)
    return float(np.sqrt(2 / np.pi) * np.sqrt(variances).sum() / len(chances))


def bin_of(chances: Floats, bins: int) -> Ints:
    """Return the bin of each probability, from 0. A bound belongs to the bin below it, also if rounding moved it.

    >>> bin_of(np.array([0.0, 0.1, 0.100001, 0.3, 1.0]), 10).tolist()
    [0, 0, 1, 2, 9]
    """
    return np.clip(np.ceil(np.round(chances * bins, 9)).astype(np.int64) - 1, 0, bins - 1)


def are_probabilities(chances: Floats) -> bool:
    """Return true if all numbers are probabilities."""
    return bool(((chances >= 0) & (chances <= 1)).all())


def _mean_metric(values: Floats) -> SummedMetric:
    """Return the mean of values as a metric of sums."""
    counts = np.column_stack([np.ones(len(values)), values])
    return SummedMetric(counts, lambda sums: float(sums[1] / sums[0]) if sums[0] > 0 else None)


@dataclass(frozen=True)
class RankedTruths:
    """The area under the ROC curve of numbers and their outcomes `truths`, 1 or 0: the share of pairs of a true and a
    false outcome in which the true one has the greater number, with ties counting half (Hanley and McNeil, 1982;
    Bamber, 1975, equation (7))."""

    numbers: Floats
    truths: Floats
    reason: str = "all are true, or none is: there is no pair of a true and a false one"

    def overall(self) -> float | None:
        """Return the area.

        >>> RankedTruths(np.array([0.9, 0.4, 0.4, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])).overall()
        0.875
        """
        return _area(self.numbers, self.truths)

    def without(self, groups: Ints, count: int) -> Sequence[float | None]:
        """Return the area without each group of values."""
        return [_area(self.numbers[groups != group], self.truths[groups != group]) for group in range(count)]


def _area(numbers: Floats, truths: Floats) -> float | None:
    """Return the area under the ROC curve; `None` unless there are true and false outcomes."""
    positive = truths == 1
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return None
    order = np.sort(numbers[~positive])
    # For each true outcome, twice the number of false ones with a smaller number; ties count once.
    below = np.searchsorted(order, numbers[positive], "left") + np.searchsorted(order, numbers[positive], "right")
    return float(below.sum() / 2 / positives / negatives)


# Length-controlled win rates

STEPS = 50
"""The most Newton steps."""
MAX_LOG_ODDS = 15.0
"""Log odds beyond which a fit diverges: length alone decides wins, or one side wins everything."""


@dataclass(frozen=True)
class LengthControlled:
    """The length-controlled win rate of a model, given its wins (1, 0, or a fraction) and, in `longer`, the difference
    of the lengths of its reply and of the other one.

    The log odds of a win are a + b · tanh(d / s), with the difference of lengths d and its standard deviation s, and
    the win rate is the probability at d = 0 (Dubois et al., Length-Controlled AlpacaEval, 2024, equation (2), without
    the difficulty of instructions and without a penalty). The fit is by maximum likelihood (Newton's method).
    """

    wins: Floats
    longer: Floats
    reason: str = "lengths do not differ, or one side wins everything: there is nothing to fit"

    def overall(self) -> float | None:
        """Return the win rate.

        >>> wins, longer = np.array([1.0, 1, 0, 1, 0, 0, 1, 0]), np.array([9.0, 5, 4, 3, -3, -4, -5, -9])
        >>> round(LengthControlled(wins, longer).overall(), 3)
        0.5
        """
        return _at_equal_length(self.wins, self.longer)

    def without(self, groups: Ints, count: int) -> Sequence[float | None]:
        """Return the win rate without each group of replies."""
        return [_at_equal_length(self.wins[groups != group], self.longer[groups != group]) for group in range(count)]


def _at_equal_length(wins: Floats, longer: Floats) -> float | None:
    """Return the fitted probability of a win for replies of equal length; `None` if the fit does not converge."""
    spread = float(longer.std(ddof=1)) if len(longer) > 1 else 0.0
    if spread <= 0:
        return None
    terms = np.column_stack([np.ones(len(wins)), np.tanh(longer / spread)])
    coefficients = np.zeros(2)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(terms @ coefficients)))
        information = terms.T @ (terms * (chance * (1 - chance))[:, None])
        if np.linalg.cond(information) > 1e12:
            return None
        step = np.linalg.solve(information, terms.T @ (wins - chance))
        coefficients = coefficients + step
        if np.abs(coefficients).max() > MAX_LOG_ODDS:
            return None
        if np.abs(step).max() < 1e-10:
            return 1 / (1 + math.exp(-coefficients[0]))
    return None
