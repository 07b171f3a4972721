"""Judges that are asked again about the same replies: how often they contradict themselves, how much of the
disagreement of judges is that, and how another version of a judge differs (drift).

A verdict is a true value of the reply, plus what the judge makes of it, plus chance: the model is the two-way layout
with several observations a cell, whose components follow from its mean squares (Searle, Casella and McCulloch 1992,
"Variance Components", chapter 4; Brennan 2001, "Generalizability Theory", chapter 3).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean, variance

import numpy as np

from tripos_compiler.source import dataclass
from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import bounded, mean
from tripos_warehouse.statistics.ratings import Clusters, Values, read_values

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
    """How often one judge says the same again. The units are replies that it was asked about more than once."""

    stable: StatisticResult
    """The share of replies of which all its verdicts are the same."""
    flips: StatisticResult
    """The chance that two of its verdicts on one reply differ."""
    spread: float | None
    """The standard deviation of its verdicts on one reply, in the unit of the scores."""


@dataclass(frozen=True)
class JudgeNoise:
    """The components of the disagreement of two judges who are asked once each about the same reply."""

    repeats: float | None
    """The variance between a judge's own verdicts on a reply."""
    judges: float | None
    """The variance between judges beyond that: of their severity, and of what they see in single replies."""
    share: StatisticResult
    """The share of `repeats` in the sum of both: 1 where judges differ by chance alone."""


def judge_stability(verdicts: Sequence[RepeatedVerdict], *, confidence: float = 0.95) -> dict[str, JudgeStability]:
    """Return by judge how often it contradicts itself, with intervals by item.

    Of n verdicts on a reply of which n_v are v, two differ with the chance 1 - Σ n_v (n_v - 1) / (n (n - 1)), which is
    Gini's index without bias (Simpson 1949, "Measurement of diversity", Nature 163). The spread is pooled over replies.

    >>> said = {"a": (1, 1, 0), "b": (1, 1, 1), "c": (1, 1, 1)}
    >>> told = [RepeatedVerdict("j", reply, reply, value) for reply in said for value in said[reply]]
    >>> found = judge_stability(told)["j"]
    >>> round(found.stable.value, 3), round(found.flips.value, 3)
    (0.667, 0.222)
    """
    found = {}
    for judge in sorted({each.judge for each in verdicts}):
        cells = _cells([each for each in verdicts if each.judge == judge])
        asked = {key: values for key, values in cells.items() if len(values) > 1}
        if not asked:
            none = StatisticResult.undefined(NO_REPEATS, left_out=len(cells))
            found[judge] = JudgeStability(none, none, None)
            continue
        items = [item for item, _, _ in asked]
        same = [float(len(set(values)) == 1) for values in asked.values()]
        differing = [_differing(values) for values in asked.values()]
        found[judge] = JudgeStability(
            mean(same, items, ends=(0.0, 1.0), confidence=confidence),
            mean(differing, items, ends=(0.0, 1.0), confidence=confidence),
            math.sqrt(fmean(variance(values) for values in asked.values())),
        )
    return found


def judge_noise(verdicts: Sequence[RepeatedVerdict], *, confidence: float = 0.95) -> JudgeNoise:
    """Return which part of the disagreement of judges is that each of them contradicts itself.

    With a the mean variance between repeats, and b the mean variance between the judges' means of a reply, the
    variance between judges is b - a c, where c is the mean of one over the number of repeats, and 0 where that is less.
    The share is a / (a + b - a c); its error is linear in a and b, by item. Judges count alike.

    >>> told = [RepeatedVerdict(judge, reply, reply, value)
    ...         for reply in range(8) for judge, values in (("a", (1, 2)), ("b", (4, 5))) for value in values]
    >>> found = judge_noise(told)
    >>> found.repeats, found.judges, round(found.share.value, 3)
    (0.5, 4.25, 0.105)
    """
    cells = _cells(verdicts)
    own = [(item, variance(values)) for (item, _, _), values in cells.items() if len(values) > 1]
    if not own:
        return JudgeNoise(None, None, StatisticResult.undefined(NO_REPEATS, left_out=len(cells)))
    within = fmean(value for _, value in own)
    by_reply: dict[tuple[Hashable, Hashable], list[list[float]]] = defaultdict(list)
    for (item, reply, _), values in cells.items():
        by_reply[item, reply].append(values)
    several = {key: some for key, some in by_reply.items() if len(some) > 1}
    if not several:
        return JudgeNoise(within, None, StatisticResult.undefined(ONE_JUDGE, left_out=len(by_reply)))
    between = [(item, variance([fmean(each) for each in some])) for (item, _), some in several.items()]
    apart = fmean(value for _, value in between)
    fewer = fmean(fmean(1 / len(each) for each in some) for some in several.values())
    judges = max(0.0, apart - within * fewer)
    total = within + judges
    if total <= 0:
        return JudgeNoise(0.0, 0.0, StatisticResult.undefined("no two verdicts on a reply differ"))
    base = StatisticResult(within / total, n=len(several), left_out=len(by_reply) - len(several))
    if judges == 0:
        return JudgeNoise(within, 0.0, base.without_interval("judges differ by no more than chance"))
    pulls: dict[Hashable, float] = defaultdict(float)
    for item, value in own:
        pulls[item] += apart / total**2 * (value - within) / len(own)
    for item, value in between:
        pulls[item] -= within / total**2 * (value - apart) / len(between)
    groups = len(pulls)
    if groups < 2:
        return JudgeNoise(within, judges, base.without_interval("one item: nothing shows how far items differ"))
    error = math.sqrt(groups / (groups - 1) * float(np.square(list(pulls.values())).sum()))
    base = StatisticResult(base.value, n=base.n, clusters=groups, left_out=base.left_out)
    return JudgeNoise(within, judges, bounded(base, error, groups - 1, (0.0, 1.0), confidence=confidence))


def _cells(verdicts: Sequence[RepeatedVerdict]) -> dict[tuple[Hashable, Hashable, str], list[float]]:
    """Return the verdicts of each judge on each reply."""
    cells: dict[tuple[Hashable, Hashable, str], list[float]] = defaultdict(list)
    for each in verdicts:
        cells[each.item, each.reply, each.judge].append(each.value)
    return cells


def _differing(values: Sequence[float]) -> float:
    n = len(values)
    counts = [values.count(value) for value in set(values)]
    return 1 - sum(count * (count - 1) for count in counts) / (n * (n - 1))


@dataclass(frozen=True)
class JudgeDrift:
    """How a later version of a judge differs from an earlier one. The units are replies that both judged."""

    difference: StatisticResult
    """The mean of the later scores less the earlier ones: above 0 the later version is more lenient."""
    changed: StatisticResult
    """The share of replies whose score is another one."""


def judge_drift(before: Values, after: Values, clusters: Clusters = None, *, confidence: float = 0.95) -> JudgeDrift:
    """Return how the scores of the same replies changed, a pair each, with Student's t over items or their `clusters`.

    The difference is paired, so what replies differ by is not in its error (Student 1908, "The probable error of a
    mean", section IX). Replies that one version did not judge do not count.

    >>> found = judge_drift([3, 4, 5, 2], [4, 4, 5, 4])
    >>> found.difference.value, found.changed.value
    (0.75, 0.5)
    """
    was, now = read_values(before), read_values(after)
    if len(was) != len(now):
        raise ValueError("both versions have a score, or none, for each reply")
    apart = now - was
    changed = np.where(np.isnan(apart), np.nan, (apart != 0).astype(np.float64))
    return JudgeDrift(
        mean(apart, clusters, confidence=confidence), mean(changed, clusters, ends=(0.0, 1.0), confidence=confidence)
    )
