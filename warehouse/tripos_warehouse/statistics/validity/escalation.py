"""Thresholds of a cascade of judges: when the verdict of a cheap one is taken, and when a stronger one is asked.

A cheap judge is trusted where its confidence is at least a threshold. The threshold is learned on replies of which it
is known what people, or the stronger judge, say: thresholds are tested from the strictest on, each with an exact
binomial bound, and the last that passed before the first that did not is taken. No correction for many tests is needed,
since their order is fixed (fixed-sequence testing: Bauer 1991; as in Jung, Brahman and Choi 2024, "Trust or Escalate:
LLM judges with provable guarantees for human agreement", arXiv 2407.18370, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TestedThreshold:
    """A threshold with the labelled replies at or above it."""

    threshold: float
    n: int
    agreed: int
    least: float
    """The exact lower bound of the agreement."""
    passed: bool


@dataclass(frozen=True)
class LearnedThreshold:
    """The threshold of a cascade. Without one, for a `reason`, every reply goes to the stronger judge."""

    threshold: float | None
    tested: tuple[TestedThreshold, ...]
    trusted: float
    """The share of the labelled replies that are at or above it, and need no stronger judge."""
    reason: str | None = None


def learned_threshold(
    confidences: Sequence[float], agreed: Sequence[bool], level: float = 0.9, confidence: float = 0.95
) -> LearnedThreshold:
    """Return the lowest threshold for which verdicts at or above it agree with the labels in at least the share `level`
    of cases, at this confidence.

    Replies must be independent draws: of several replies to an item, give one. Thresholds with so few replies that
    nothing could show the level are no tests: how many there are says nothing of the labels.

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
        above = [right for sure, right in zip(confidences, agreed, strict=True) if sure >= threshold]
        if len(above) < fewest:
            continue
        right = sum(above)
        least = least_share(right, len(above), confidence)
        tested.append(TestedThreshold(threshold, len(above), right, least, least >= level))
        if not tested[-1].passed:
            break
    passed = [each for each in tested if each.passed]
    if passed:
        return LearnedThreshold(passed[-1].threshold, tuple(tested), passed[-1].n / total)
    if total < fewest:
        reason = f"{total} labels: it takes {fewest}, all of which agree, to show {level:.0%}"
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
