"""Paired comparisons of runs and models: differences, corrected p-values, and groups without significant
differences."""

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
    """Return letters by name, such that two names share one if and only if the pair is not in `apart`.

    Insert and absorb (Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons"): start
    with all names in one column; for each pair in `apart`, split every column with both into one without the first and
    one without the second; drop columns that are contained in others. Letters follow `order`, and after z come aa, ab.

    >>> letters_of(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    columns = [frozenset(order)]
    for first, second in sorted(different):
        split = []
        for column in columns:
            both = first in column and second in column
            split += [column - {first}, column - {second}] if both else [column]
        unique = list(dict.fromkeys(split))
        columns = [column for column in unique if not any(column < other for other in unique)]
    place = {name: at for at, name in enumerate(order)}
    columns.sort(key=lambda column: sorted(place[name] for name in column))
    return {name: "".join(_letter(at) for at, column in enumerate(columns) if name in column) for name in order}


def _letter(number: int) -> str:
    rest, last = divmod(number, 26)
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


Test = Literal["t", "sign_flip", "wilcoxon"]
Scores = Mapping[Hashable, Sequence[float | None] | float | None]
"""The scores of a run by item: one, or a list of those of its samples; `None` if missing."""


@dataclass(frozen=True)
class Paired:
    """A paired comparison of two runs."""

    difference: Estimate
    """The mean of the items' differences, first less second; `n` is the number of items with both."""
    only_first: int
    """The number of items with a score in the first run only."""
    only_second: int


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
    """Return the mean difference of two runs over the items that both have, with its interval and p-value.

    An item counts once: its samples are averaged first. With `clusters`, from item to group (such as the text that
    items are about), groups are the independent units. The difference is `mean_of_cells` of one cell. The p-value is,
    by `test`:

    - `t`, that of `mean_of_cells`: Student's t, or `sign_flip` if at most 12 items or groups differ
    - `sign_flip`, of sign flips of the differences of whole items or groups (Fisher 1935), which assumes only symmetry:
      all of them if they are at most `resamples`, otherwise that number at random, seeded
    - `wilcoxon`, of the signed ranks of the items' differences or the groups' means (1945), a test of the median

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
    """Return `compare_paired` for the mean of each item."""
    shared = [item for item in first if item in second]
    differences = np.array([first[item] - second[item] for item in shared])
    groups = None if clusters is None else [clusters[item] for item in shared]
    only = len(first) - len(shared), len(second) - len(shared)
    if not shared:
        return Paired(Estimate.undefined("no item has a score in both runs", left_out=sum(only)), *only)
    codes = cluster_codes(groups, len(shared))
    result = replace(mean_of_cells(differences, codes, confidence=confidence), left_out=sum(only))
    if groups is not None and result.reason == SINGLE_ITEM and len(shared) > 1:
        result = result.without_interval(SINGLE_CLUSTER)
    if test != "t" and result.clusters and result.clusters > 1:
        statistic, p = _tested(differences, codes, test, resamples, seed)
        tested = replace(result, statistic=statistic, df=None, p=p)
        result = tested if test == "wilcoxon" else with_test(tested, p, confidence=confidence)
    return Paired(result, *only)


def _item_means(scores: Scores) -> dict[Hashable, float]:
    found = {}
    for item, score in scores.items():
        samples = score if isinstance(score, Sequence | np.ndarray) else [score]
        there = [float(sample) for sample in samples if sample is not None and not is_missing(sample)]
        if there:
            found[item] = sum(there) / len(there)
    return found


def _tested(differences: Floats, codes: Ints, test: Test, resamples: int, seed: int) -> tuple[float | None, float]:
    """Return the statistic and p-value of a nonparametric test: of sums of groups, or of ranks of their means."""
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
    """Return p-values corrected for their number by Holm's step-down (1979); missing ones stay missing, and do not
    count.

    The i-th smallest of m is multiplied by m − i + 1, and is at least the one before it and at most 1. Rejecting those
    below a level has at most that risk of a single false rejection.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    present = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    least = 0.0
    for place, (p, at) in enumerate(present):
        least = min(1.0, max(least, (len(present) - place) * p))
        corrected[at] = least
    return corrected


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected by the step-up procedure of Benjamini and Hochberg (1995); missing ones stay missing,
    and do not count.

    The i-th smallest of m is multiplied by m / i, and is at most the one after it, and at most 1. Among those below a
    level, the expected share of false rejections is at most that level, if the tests are independent or positively
    dependent (Benjamini and Yekutieli 2001): it finds more than Holm, and allows a few false ones.

    >>> [round(p, 3) for p in benjamini_hochberg([0.01, 0.04, 0.03, 0.5])]
    [0.04, 0.053, 0.053, 0.5]
    """
    present = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    most = 1.0
    for place, (p, at) in reversed(list(enumerate(present, 1))):
        most = min(most, len(present) / place * p)
        corrected[at] = most
    return corrected


def fixed_sequence(
    p_values: Sequence[float | None], first: Sequence[int] = (), share: float = 1.0
) -> list[float | None]:
    """Return p-values corrected by the fallback procedure (Wiens 2003; Bretz et al. 2009).

    Those at the indices `first` are tested in that order, with the `share` of the level, and the others by Holm, with
    the rest. If the first ones are all significant, the others have the whole level; if the others are, the first ones
    have it. With the whole share, declared hypotheses pay nothing for further ones, and no other is significant without
    them (Maurer, Hothorn and Lehmacher 1995). The risk of a single false rejection is at most the level, for any
    dependence of the tests. Missing ones stay missing, and are skipped.

    >>> [round(p, 3) for p in fixed_sequence([0.01, 0.04, 0.03], [1])]
    [0.04, 0.04, 0.04]
    >>> [round(p, 3) for p in fixed_sequence([0.03, 0.02, 0.001], [2])]
    [0.04, 0.04, 0.001]
    >>> [round(p, 3) for p in fixed_sequence([0.001, 0.3, 0.02], [1], 0.8)]
    [0.01, 0.3, 0.1]
    """
    corrected: list[float | None] = [None] * len(p_values)
    first = [place for place in dict.fromkeys(first) if p_values[place] is not None]
    rest = [place for place, p in enumerate(p_values) if p is not None and place not in first]
    rest.sort(key=lambda place: (p_values[place], place))
    least = 0.0
    while first or rest:
        of_first = (share if rest else 1.0) if first else 0.0
        next_first = _with_part(p_values[first[0]], of_first) if first else math.inf
        next_rest = _with_part(p_values[rest[0]], 1 - of_first) * len(rest) if rest else math.inf
        place = first.pop(0) if next_first <= next_rest else rest.pop(0)
        least = max(least, min(next_first, next_rest, 1.0))
        corrected[place] = least
    return corrected


def _with_part(p: float | None, part: float) -> float:
    """Return a p-value tested with a part of the level, rescaled to the whole level."""
    return p / part if p is not None and part > 0 else math.inf


@dataclass(frozen=True)
class Rank:
    """The rank of a model."""

    model: str
    mean: Estimate
    """Its mean over its items."""
    rank: int
    """1 plus the number of models that are significantly better."""
    letters: str
    """Models that share a letter do not differ significantly."""


@dataclass(frozen=True)
class Ranking:
    """Models from the best mean to the worst, and their pairwise differences."""

    ranks: tuple[Rank, ...]
    differences: dict[tuple[str, str], Estimate]
    """By pair, the model with the better mean first; `p` is corrected by Holm."""


def rank_groups(
    scores: Mapping[str, Scores],
    clusters: Mapping[Hashable, Hashable] | None = None,
    *,
    level: float = 0.05,
    test: Test = "t",
    resamples: int = 10_000,
    seed: int = 0,
) -> Ranking:
    """Return models ranked with groups that do not differ significantly: all pairs compared by item, p-values corrected
    by Holm.

    `scores` has those of each model by item. Models whose difference is not significant at `level` share a letter (the
    compact letter display of Piepho 2004); so do two whose difference is undefined. Intervals are at 1 − `level`, and
    not corrected.

    >>> by_item = {"good": [3, 4, 3, 4, 5] * 2, "fair": [3, 3, 3, 4, 5] * 2, "poor": [1, 1, 0, 1, 2] * 2}
    >>> ranking = rank_groups({model: dict(enumerate(values)) for model, values in by_item.items()})
    >>> [(rank.model, rank.rank, rank.letters) for rank in ranking.ranks]
    [('good', 1, 'a'), ('fair', 1, 'a'), ('poor', 3, 'b')]
    """
    by_item = {model: _item_means(score) for model, score in scores.items()}
    means = {}
    for model, given in by_item.items():
        groups = None if clusters is None else [clusters[item] for item in given]
        means[model] = mean(list(given.values()), groups, confidence=1 - level)

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
    """Return models ranked as in `rank_groups`, for any figures: `compared` returns the difference of two models (first
    less second), with an uncorrected p-value. `lower_is_better`, as for errors, ranks from the lowest value.

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
