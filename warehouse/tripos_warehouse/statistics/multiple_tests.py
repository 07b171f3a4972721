"""Paired comparisons of runs and models: differences, p-values adjusted for multiple tests, and rankings with a compact
letter display."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from string import ascii_lowercase
from typing import Literal

import numpy as np

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.arrays import Floats, Ints, cluster_codes, is_missing
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import SINGLE_CLUSTER, SINGLE_ITEM, mean, mean_of_cells, with_test


def letters_of(order: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the compact letter display of names: two names share a letter if and only if they are not in `different`.

    Insert and absorb (Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons"): start
    with all names in one column; for each pair in `different`, split every column with both names into one without the
    first and one without the second; drop columns that are contained in others. A column is a letter. Letters follow
    `order`, and after z come aa, ab.

    >>> letters_of(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    columns = [frozenset(order)]
    for first, second in sorted(different):
        split = []
        for column in columns:
            has_both = first in column and second in column
            split += [column - {first}, column - {second}] if has_both else [column]
        unique = list(dict.fromkeys(split))
        columns = [column for column in unique if not any(column < other for other in unique)]
    position = {name: at for at, name in enumerate(order)}
    columns.sort(key=lambda column: sorted(position[name] for name in column))
    return {name: "".join(_letter(at) for at, column in enumerate(columns) if name in column) for name in order}


def _letter(number: int) -> str:
    """Return the letter of a column: a to z, then aa, ab and so on."""
    rest, last = divmod(number, 26)
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


Test = Literal["t", "sign_flip", "wilcoxon"]
Scores = Mapping[Hashable, Sequence[float | None] | float | None]
"""The score of each item in a run, or the scores of its samples; `None` if missing."""


@dataclass(frozen=True)
class Paired:
    """A paired comparison of two runs."""

    difference: Estimate
    """The mean of the items' differences, first minus second; `n` is the number of items with a score in both runs."""
    only_first: int
    """The number of items with a score in the first run only."""
    only_second: int
    """The number of items with a score in the second run only."""


def compare_paired(
    first: Scores,
    second: Scores,
    clusters: Mapping[Hashable, Hashable] | None = None,
    *,
    test: Test = "t",
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Paired:
    """Return the mean difference of two runs over the items with a score in both, with its interval and p-value.

    The samples of an item are averaged first. `clusters` maps items to the groups that are the independent units, such
    as the text that items are about. The difference is `mean_of_cells` of one cell. `test` chooses the p-value:

    - `t`: that of `mean_of_cells`, Student's t, or `sign_flip` if at most 12 items or groups differ
    - `sign_flip`: the randomization test that flips the signs of the items' or groups' differences (Fisher 1935), which
      assumes only symmetry: all sign patterns if there are at most `resamples`, otherwise as many random ones from
      `seed`
    - `wilcoxon`: the signed-rank test of the items' differences or the groups' means (Wilcoxon 1945)

    For the first two, the p-value is below 1 - `confidence` if and only if the interval excludes 0.

    >>> found = compare_paired({"a": 1, "b": [1, 0], "c": 0.5}, {"a": 0, "b": [0, 0], "c": 0.25, "d": 1})
    >>> round(found.difference.value, 4), found.difference.n, found.only_second
    (0.5833, 3, 1)
    """
    return _compare(_item_means(first), _item_means(second), clusters, test, resamples, seed, confidence)


def _compare(
    first: dict[Hashable, float],
    second: dict[Hashable, float],
    clusters: Mapping[Hashable, Hashable] | None,
    test: Test,
    resamples: int,
    seed: int,
    confidence: float,
) -> Paired:
    """Compare runs as `compare_paired`, from the mean of each item."""
    shared = [item for item in first if item in second]
    differences = np.array([first[item] - second[item] for item in shared])
    groups = None if clusters is None else [clusters[item] for item in shared]
    only_counts = len(first) - len(shared), len(second) - len(shared)
    if not shared:
        return Paired(Estimate.undefined("no item has a score in both runs", left_out=sum(only_counts)), *only_counts)
    codes = cluster_codes(groups, len(shared))
    result = replace(mean_of_cells(differences, codes, confidence=confidence), left_out=sum(only_counts))
    if groups is not None and result.reason == SINGLE_ITEM and len(shared) > 1:
        result = result.without_interval(SINGLE_CLUSTER)
    if test != "t" and result.clusters and result.clusters > 1:
        statistic, p = _nonparametric_test(differences, codes, test, resamples, seed)
        tested = replace(result, statistic=statistic, df=None, p=p)
        result = tested if test == "wilcoxon" else with_test(tested, p, confidence=confidence)
    return Paired(result, *only_counts)


def _item_means(scores: Scores) -> dict[Hashable, float]:
    """Return the mean over the samples of each item with a score."""
    means = {}
    for item, score in scores.items():
        samples = score if isinstance(score, Sequence | np.ndarray) else [score]
        present = [float(sample) for sample in samples if sample is not None and not is_missing(sample)]
        if present:
            means[item] = sum(present) / len(present)
    return means


def _nonparametric_test(
    differences: Floats, codes: Ints, test: Test, resamples: int, seed: int
) -> tuple[float | None, float]:
    """Return the statistic and p-value of `sign_flip`, on the sums of groups, or of `wilcoxon`, on their means."""
    sums = np.bincount(codes, weights=differences)
    if (np.abs(sums) <= 1e-12 * np.abs(differences).max(initial=0)).all():
        return None, 1.0
    if test == "wilcoxon":
        from scipy.stats import wilcoxon

        result = wilcoxon(sums / np.bincount(codes), zero_method="wilcox", method="auto")
        return float(result.statistic), float(result.pvalue)
    from scipy.stats import permutation_test

    result = permutation_test(
        (sums,),
        lambda flipped, axis: flipped.sum(axis=axis) / len(differences),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 4_000_000 // len(sums)),
        rng=np.random.default_rng(seed),
    )
    return float(result.statistic), float(result.pvalue)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted by Holm's step-down procedure (1979); missing ones stay missing, and are not counted.

    The i-th smallest of m is multiplied by m − i + 1, and is at least the one before it and at most 1. Rejecting those
    below a level keeps the familywise error rate at or below that level.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    present = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    running_max = 0.0
    for place, (p, index) in enumerate(present):
        running_max = min(1.0, max(running_max, (len(present) - place) * p))
        corrected[index] = running_max
    return corrected


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted by the step-up procedure of Benjamini and Hochberg (1995); missing ones stay missing,
    and are not counted.

    The i-th smallest of m is multiplied by m / i, and is at most the one after it, and at most 1. Rejecting those below
    a level keeps the false discovery rate at or below that level, if the tests are independent or positively dependent
    (Benjamini and Yekutieli 2001). It has more power than Holm's procedure, and allows a few false rejections.

    >>> [round(p, 3) for p in benjamini_hochberg([0.01, 0.04, 0.03, 0.5])]
    [0.04, 0.053, 0.053, 0.5]
    """
    present = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    running_min = 1.0
    for rank, (p, index) in reversed(list(enumerate(present, 1))):
        running_min = min(running_min, len(present) / rank * p)
        corrected[index] = running_min
    return corrected


def fixed_sequence(
    p_values: Sequence[float | None], first: Sequence[int] = (), share: float = 1.0
) -> list[float | None]:
    """Return p-values adjusted by a fallback procedure (Wiens 2003; Bretz et al. 2009).

    The tests at the indices `first` are a fixed sequence with the `share` of the level; all other tests are corrected
    by Holm with the rest of the level. If one of the two families is rejected entirely, the other one gets the full
    level. With a `share` of 1, the sequence costs nothing for the other tests, of which none can be rejected before the
    whole sequence is (Maurer, Hothorn and Lehmacher 1995). The familywise error rate is at most the level, for any
    dependence of the tests. Missing p-values stay missing, and are skipped.

    >>> [round(p, 3) for p in fixed_sequence([0.01, 0.04, 0.03], [1])]
    [0.04, 0.04, 0.04]
    >>> [round(p, 3) for p in fixed_sequence([0.03, 0.02, 0.001], [2])]
    [0.04, 0.04, 0.001]
    >>> [round(p, 3) for p in fixed_sequence([0.001, 0.3, 0.02], [1], 0.8)]
    [0.01, 0.3, 0.1]
    """
    corrected: list[float | None] = [None] * len(p_values)
    first = [index for index in dict.fromkeys(first) if p_values[index] is not None]
    rest = [index for index, p in enumerate(p_values) if p is not None and index not in first]
    rest.sort(key=lambda index: (p_values[index], index))
    running_max = 0.0
    while first or rest:
        first_share = (share if rest else 1.0) if first else 0.0
        next_first = _rescaled(p_values[first[0]], first_share) if first else math.inf
        next_rest = _rescaled(p_values[rest[0]], 1 - first_share) * len(rest) if rest else math.inf
        index = first.pop(0) if next_first <= next_rest else rest.pop(0)
        running_max = max(running_max, min(next_first, next_rest, 1.0))
        corrected[index] = running_max
    return corrected


def _rescaled(p: float | None, part: float) -> float:
    """Return the p-value at the full level of a test at a part of the level; infinite for a part of 0."""
    return p / part if p is not None and part > 0 else math.inf


@dataclass(frozen=True)
class Rank:
    """A model with its rank."""

    model: str
    mean: Estimate
    """The mean over its items."""
    rank: int
    """1 plus the number of models that are significantly better."""
    letters: str
    """Models that share a letter do not differ significantly."""


@dataclass(frozen=True)
class Ranking:
    """Models from the best mean to the worst, and their pairwise differences."""

    ranks: tuple[Rank, ...]
    differences: dict[tuple[str, str], Estimate]
    """By pair of models, the one with the better mean first; `p` is adjusted by Holm."""


def rank_groups(
    scores: Mapping[str, Scores],
    clusters: Mapping[Hashable, Hashable] | None = None,
    *,
    level: float = 0.05,
    test: Test = "t",
    resamples: int = 10_000,
    seed: int = 0,
) -> Ranking:
    """Return a ranking of models from all paired comparisons, with p-values adjusted by Holm.

    `scores` has the scores of each model. Two models share a letter if their difference is not significant at `level`,
    or undefined (the compact letter display of Piepho 2004). Intervals have the confidence 1 − `level` and are not
    adjusted.

    >>> by_item = {"good": [3, 4, 3, 4, 5] * 2, "fair": [3, 3, 3, 4, 5] * 2, "poor": [1, 1, 0, 1, 2] * 2}
    >>> ranking = rank_groups({model: dict(enumerate(values)) for model, values in by_item.items()})
    >>> [(rank.model, rank.rank, rank.letters) for rank in ranking.ranks]
    [('good', 1, 'a'), ('fair', 1, 'a'), ('poor', 3, 'b')]
    """
    by_item = {model: _item_means(score) for model, score in scores.items()}
    means = {}
    for model, item_means in by_item.items():
        groups = None if clusters is None else [clusters[item] for item in item_means]
        means[model] = mean(list(item_means.values()), groups, confidence=1 - level)

    def compared(first: str, second: str) -> Estimate:
        runs = by_item[first], by_item[second]
        return _compare(*runs, clusters, test, resamples, seed, 1 - level).difference

    return rank_by(means, compared, level=level)


def rank_by(
    means: Mapping[str, Estimate],
    compared: Callable[[str, str], Estimate],
    *,
    level: float = 0.05,
    lower_is_better: bool = False,
) -> Ranking:
    """Return a ranking as `rank_groups`, from any estimates of the models.

    `compared` returns the difference of two models (first minus second) with an unadjusted p-value. With
    `lower_is_better`, as for error rates, the lowest value ranks first.

    >>> means = {"good": 0.9, "fair": 0.85, "poor": 0.2}
    >>> values = {name: Estimate(mean, n=50) for name, mean in means.items()}
    >>> def compared(first, second):
    ...     found = values[first].value - values[second].value
    ...     return Estimate(found, p=0.001 if abs(found) > 0.1 else 0.4)
    >>> [(rank.model, rank.rank, rank.letters) for rank in rank_by(values, compared).ranks]
    [('good', 1, 'a'), ('fair', 1, 'a'), ('poor', 3, 'b')]
    >>> [(rank.model, rank.rank) for rank in rank_by(values, compared, lower_is_better=True).ranks]
    [('poor', 1), ('fair', 2), ('good', 2)]
    """
    sign = -1.0 if lower_is_better else 1.0
    order = sorted(means, key=lambda model: (means[model].value is None, -sign * (means[model].value or 0.0), model))
    pairs = list(combinations(order, 2))
    estimates = [compared(first, second) for first, second in pairs]
    corrected = holm([estimate.p for estimate in estimates])
    differences = {pair: replace(estimate, p=p) for pair, estimate, p in zip(pairs, estimates, corrected, strict=True)}
    different = {
        pair
        for pair, difference in differences.items()
        if difference.p is not None and difference.p < level and difference.value
    }
    # On the shared items of a pair, the model with the worse mean may be the better one.
    better = {(a, b) if sign * (differences[a, b].value or 0.0) > 0 else (b, a) for a, b in different}
    letters = letters_of(order, different)
    ranks = (
        Rank(model, means[model], 1 + sum(worse == model for _, worse in better), letters[model]) for model in order
    )
    return Ranking(tuple(ranks), differences)
