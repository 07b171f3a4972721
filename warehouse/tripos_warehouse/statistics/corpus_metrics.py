"""Metrics of a whole set that are functions of sums over its items: BLEU, chrF and TER of a corpus, and Matthews'
correlation.

Each item has a row of counts, and the metric is a function of the sums of the columns. So leaving items out, or drawing
them again, is a matter of other sums. Counts and functions of translations are those of sacreBLEU (Post, 2018), so the
figure is its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tripos_compiler.language.library import bleu_tokenizer, separated
from tripos_compiler.language.replies.text import comparable
from tripos_warehouse.statistics.ratings import Floats, Ints

Settings = tuple[tuple[str, str], ...]
AUTO = "auto"
"""The tokenizer that each text asks for."""

MOST_COUNTS = 50_000_000
"""So many counts of classes are kept at most: with more, nearly every item is a class of its own."""


@dataclass(frozen=True)
class SummedMetric:
    """Counts, a row for each text, and the metric of their sums; None where it is undefined, for `reason`."""

    counts: Floats
    compute: Callable[[Floats], float | None]
    reason: str = "there are no references"

    def whole(self) -> float | None:
        """Return the metric of all texts."""
        return self.compute(self.counts.sum(axis=0))

    def without(self, groups: Ints, count: int) -> Sequence[float | None]:
        """Return the metric without each group of texts."""
        parts, sums = np.zeros((count, self.counts.shape[1])), self.counts.sum(axis=0)
        np.add.at(parts, groups, self.counts)
        return [self.compute(sums - part) for part in parts]


def corpus_metric(
    name: str, settings: Mapping[str, str], texts: Sequence[str], references: Sequence[Sequence[str]]
) -> SummedMetric:
    """Return `corpus_bleu`, `corpus_chrf` or `corpus_ter` of texts, each with one reference or more.

    BLEU: Papineni et al., 2002, equation (2); chrF: Popović, 2015, equation (1), averaged over n-grams as in sacreBLEU
    2; TER: Snover et al., 2006, section 2. Texts are compared without differences of writing that mean nothing.

    >>> metric = corpus_metric("corpus_bleu", {}, ["the cat sat on a mat"], [["the cat sat on the mat"]])
    >>> round(metric.compute(metric.counts.sum(axis=0)), 2)
    53.73
    """
    given = tuple(sorted(settings.items()))
    rows = [_counts(name, given, text, told) for text, told in zip(texts, references, strict=True)]
    scorer = _scorer(name, given, "13a")
    return SummedMetric(np.array(rows, dtype=np.float64), lambda sums: _score(scorer, sums))


def _counts(name: str, settings: Settings, text: str, references: Sequence[str]) -> list[float]:
    """Return the counts of a text. The text and its references say what its tokens are, as for `bleu` of one item."""
    plain = [comparable(each) for each in (text, *references)]
    tokenizer = bleu_tokenizer(plain)
    if dict(settings).get("tokenize", AUTO) == AUTO:
        plain = [separated(each) for each in plain]
    scorer = _scorer(name, settings, tokenizer)
    found: list[list[float]] = scorer._extract_corpus_statistics([plain[0]], [[each] for each in plain[1:]])
    return found[0]


def _score(scorer: Any, sums: Floats) -> float | None:
    return min(float(scorer._compute_score_from_stats(sums.tolist()).score), _most(scorer)) if sums.size else None


def _most(scorer: Any) -> float:
    """What rounding adds to a BLEU or chrF of 100 is no value of theirs."""
    return math.inf if type(scorer).__name__ == "TER" else 100.0


@lru_cache
def _scorer(name: str, settings: Settings, tokenizer: str) -> Any:
    """Return the metric of sacreBLEU; `tokenizer` is that of `bleu_tokenizer`, where the settings name none."""
    given = {"tokenize": AUTO, **dict(settings)}
    if name == "corpus_bleu":
        from sacrebleu.metrics.bleu import BLEU

        chosen = tokenizer if given["tokenize"] == AUTO else given["tokenize"]
        return BLEU(tokenize=chosen, lowercase=given.get("case") == "ignored", force=True)
    if name == "corpus_chrf":
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=2 if given.get("words") == "two" else 0, lowercase=given.get("case") == "ignored")
    from sacrebleu.metrics.ter import TER

    unspaced = tokenizer == "zh"
    return TER(normalized=unspaced, asian_support=unspaced, case_sensitive=given.get("case") == "kept")


def matthews(said: Sequence[str], true: Sequence[str]) -> SummedMetric | str:
    """Return the correlation of classes that were said with those that are, or why there is none.

    Gorodkin, 2004, equation (8), by the counts of each class as in Jurman et al., 2012: with s items, c of them right,
    p said to be of a class and t of it, (c s - Σ p t) / √((s² - Σ p²) (s² - Σ t²)). Of two classes it is that of
    Matthews, 1975. Where all items are of one class, or said to be, there is no correlation.

    >>> metric = matthews(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> round(metric.compute(metric.counts.sum(axis=0)), 4)
    0.5774
    """
    classes = {name: place for place, name in enumerate(sorted({*said, *true}))}
    k, n = len(classes), len(said)
    if n * k > MOST_COUNTS:
        return f"{k:,} classes are too many to count"
    counts = np.zeros((n, 2 + 2 * k))
    rows = np.arange(n)
    counts[:, 0] = 1
    counts[:, 1] = [one == other for one, other in zip(said, true, strict=True)]
    counts[rows, [2 + classes[each] for each in said]] = 1
    counts[rows, [2 + k + classes[each] for each in true]] = 1

    def compute(sums: Floats) -> float | None:
        s, c, p, t = sums[0], sums[1], sums[2 : 2 + k], sums[2 + k :]
        square = float((s * s - p @ p) * (s * s - t @ t))
        return max(-1.0, min(1.0, float(c * s - p @ t) / math.sqrt(square))) if square > 0 else None

    return SummedMetric(counts, compute, "all items are of one class, or said to be of one")
