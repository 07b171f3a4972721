"""Judges that are strict, and judges that are fond of their own model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.preferences.verdicts import Preference
from tripos_warehouse.statistics.ratings import Clusters, Ratings, is_missing, read_ratings

NOBODY_ELSE = "nobody else judged what its model took part in"


def judge_severity(
    ratings: Ratings, clusters: Clusters = None, *, confidence: float = 0.95
) -> tuple[StatisticResult, ...]:
    """Return how far each judge lies from the panel, in the unit of the scores: the mean of its rating less the panel's
    mean.

    Below 0 a judge is strict, above lenient. `ratings` has a row a judge; the panel's mean of an item is over all who
    rated it, the judge among them, and items with one rating do not count. Where every judge rated every item the
    figures add up to 0. The interval is that of Student's t over items or their `clusters`, for this panel.

    >>> [found.value for found in judge_severity([[3, 4, 5], [2, 3, 4], [1, 2, 3]])]
    [1.0, 0.0, -1.0]
    """
    matrix = read_ratings(ratings)
    there = ~np.isnan(matrix)
    given = there.sum(axis=0)
    panel = np.where(there, matrix, 0).sum(axis=0) / np.maximum(1, given)
    found = []
    for row in matrix:
        apart = mean(np.where(given >= 2, row - panel, np.nan), clusters, confidence=confidence)
        found.append(apart if apart.value is not None else replace(apart, reason="no item that another judge rated"))
    return tuple(found)


@dataclass(frozen=True)
class GivenGrade:
    """A judge's grade of a model's reply."""

    judge: str
    model: str
    item: Hashable
    value: float | None


def self_preference(
    verdicts: Sequence[Preference], own: Mapping[str, str] | None = None, *, confidence: float = 0.95
) -> dict[str, StatisticResult]:
    """By judge: how much more often it prefers its own model than the other judges do, on the same replies. −1 to 1.

    `own` says which model is a judge's own; without, the one of its name. Verdicts count with the judge's model in them
    of which there are some by others, too, none of them with their own model in it. A comparison is an item and two
    models; ties are half. `n` are comparisons, `left_out` those that nobody else judged. Student's t over items.

    >>> mine = [Preference("gpt", "other", "gpt", item, "gpt") for item in range(3)]
    >>> theirs = [Preference("gpt", "other", "other", item, "neutral") for item in range(3)]
    >>> self_preference(mine + theirs)["gpt"].value
    1.0
    """
    judges = sorted({verdict.judge for verdict in verdicts if verdict.judge is not None})
    models = {judge: judge for judge in judges} if own is None else own
    found = {}
    taking_part = {model for verdict in verdicts for model in verdict.models}
    for judge in judges:
        mine = models.get(judge)
        if mine is None or mine not in taking_part:
            continue
        fond = fondness(verdicts, mine, [judge], lambda other, model: models.get(other) == model)
        found[judge] = _over_items(fond.excesses, fond.items, fond.left_out, NOBODY_ELSE, confidence, (-1.0, 1.0))
    return found


@dataclass(frozen=True)
class Fondness:
    """How far the judges of a model are beyond others: an excess, −1 to 1, for every comparison, and the item of each.
    `left_out` counts those that nobody else judged."""

    excesses: list[float]
    items: list[Hashable]
    left_out: int


def fondness(
    verdicts: Sequence[Preference], model: str, judges: Collection[str], is_own: Callable[[str, str], bool]
) -> Fondness:
    """Return how much more often `judges`, whose own `model` is, prefer it than others do, comparison by comparison.

    `is_own` says of a judge and a model whether it is the judge's own. Those count for whom the other model is not
    their own too, and of the others those for whom neither is. A judge who judged more often counts no more.

    >>> preferred = [("a", "mine"), ("b", "x"), (None, "y")]
    >>> verdicts = [Preference("a", "b", model, 1, judge) for model, judge in preferred]
    >>> fondness(verdicts, "a", ["mine"], lambda judge, model: (judge, model) == ("mine", "a")).excesses
    [0.75]
    """
    by_pair: dict[tuple[Hashable, tuple[str, str]], list[Preference]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.item is not None and model in verdict.models:
            by_pair[verdict.item, verdict.models].append(verdict)
    found = Fondness([], [], 0)
    left_out = 0
    for (item, pair), given in by_pair.items():
        own = {str(each.judge): [is_own(str(each.judge), side) for side in pair].count(True) for each in given}
        mine = _by_judge([each for each in given if each.judge in judges and own[str(each.judge)] == 1], model)
        others = _by_judge([each for each in given if own[str(each.judge)] == 0], model)
        if mine and others:
            found.excesses.append(sum(mine) / len(mine) - sum(others) / len(others))
            found.items.append(item)
        left_out += bool(mine and not others)
    return replace(found, left_out=left_out)


def _by_judge(verdicts: Sequence[Preference], model: str) -> list[float]:
    """The mean score of a model by each judge, so that one who judged more often counts no more."""
    scores: dict[str | None, list[float]] = defaultdict(list)
    for verdict in verdicts:
        scores[verdict.judge].append(verdict.score_of(model))
    return [sum(given) / len(given) for given in scores.values()]


def self_preference_in_grades(
    grades: Sequence[GivenGrade], own: Mapping[str, str] | None = None, *, confidence: float = 0.95
) -> dict[str, StatisticResult]:
    """By judge: what it gives its own model beyond what others give it, less the same for the other models.

    In the unit of the scores. A judge that is lenient to all is not fond of itself: that is what is taken off. `own` as
    for `self_preference`; a judge's grades of its own model are no yardstick for others. `n` are the items on which
    there are both differences, `left_out` the others with a grade of its own model. Student's t over items.

    >>> panel = [GivenGrade("strict", model, item, 3) for model in ("gpt", "other") for item in range(3)]
    >>> fond = [GivenGrade("gpt", model, item, 4 + (model == "gpt")) for model in ("gpt", "other") for item in range(3)]
    >>> self_preference_in_grades(panel + fond)["gpt"].value
    1.0
    """
    judges = sorted({grade.judge for grade in grades})
    models = {judge: judge for judge in judges} if own is None else own
    cells: dict[tuple[Hashable, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for grade in grades:
        if grade.value is not None and not is_missing(grade.value):
            cells[grade.item, grade.model][grade.judge].append(float(grade.value))
    found = {}
    graded = {grade.model for grade in grades}
    for judge in judges:
        mine = models.get(judge)
        if mine is None or mine not in graded:
            continue
        apart: dict[Hashable, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        wanted: set[Hashable] = set()
        for (item, model), given in cells.items():
            if judge not in given:
                continue
            if model == mine:
                wanted.add(item)
            others = [sum(v) / len(v) for each, v in given.items() if each != judge and models.get(each) != model]
            if others:
                excess = sum(given[judge]) / len(given[judge]) - sum(others) / len(others)
                apart[item][model != mine].append(excess)
        both = {item: (ours, theirs) for item, (ours, theirs) in apart.items() if ours and theirs}
        excesses = [sum(ours) / len(ours) - sum(theirs) / len(theirs) for ours, theirs in both.values()]
        reason = "no item on which others, too, graded its model and another"
        found[judge] = _over_items(excesses, list(both), len(wanted - set(both)), reason, confidence)
    return found


def _over_items(
    excesses: Sequence[float],
    items: Sequence[Hashable],
    left_out: int,
    reason: str,
    confidence: float,
    ends: tuple[float, float] | None = None,
) -> StatisticResult:
    if not excesses:
        return StatisticResult.undefined(reason, left_out=left_out)
    return replace(mean(excesses, items, confidence=confidence, ends=ends), left_out=left_out)
