"""Aggregates that SQL has no formula for: agreement of raters, comparisons, medians, corpus metrics, user functions.

`STATISTICS` has each of them by its name, with its facts; `statistic` implements `tripos_statistic` in the SQL of
measures. The class of a statistic says which rows it takes, and `measures/aggregates.py` writes the SQL of each class.
A statistic returns its value and the influence of every item. For agreement and correlation the influence is that of
the jackknife (Tukey, 1958): how far the value moves if the item is left out. A median has bootstrap draws too; its
influences are those on the share of values below it, scaled to the error of the draws.

Rare classes. The variance of an agreement is a sum over the items of each class. The part of a rare class with five
items has four degrees of freedom, however many other items there are. Student's t of a sum of variances with different
degrees of freedom weighs each by the square of its own quantile (Cochran 1964, "Approximate significance levels of the
Behrens-Fisher test"). So the influence of an item of a class of k items is multiplied by the quantile of k - 1 degrees
of freedom (at least 2) over that of all items. If hardly any item is outside the most frequent class, the error is
unknown and there is no interval.

For numbers every value would be a class of its own. There the kurtosis of the influences shows how many items carry the
variance: a variance of n values with kurtosis κ has 2n / (κ - (n - 3) / (n - 1)) degrees of freedom (O'Neill 2014,
"Some useful moment results in sampling problems").
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np

from tripos_compiler.language.aggregates import shares_family
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.query.resampling import (
    LEAST_ITEMS,
    GivenNumbers,
    GivenWords,
    bootstrap_medians,
    bootstrap_metric,
    code_texts,
    read_numbers,
    to_list,
    user_statistic,
)
from tripos_warehouse.statistics.agreement import (
    Level,
    cohen_kappa,
    gwet_ac,
    kendall_tau_b,
    kendall_w,
    kendall_w_without,
    krippendorff_alpha,
    mid_ranks,
    pairwise,
    stacked_tau_by_item,
)
from tripos_warehouse.statistics.arrays import Floats, Ints, two_sided
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.metrics import (
    CorpusKind,
    LengthControlled,
    RankedTruths,
    SummedMetric,
    brier,
    calibration_error,
    calibration_noise,
    corpus_metric,
    log_loss,
    matthews,
)
from tripos_warehouse.statistics.preferences import NO_OTHER_JUDGE, Preference, bradley_terry, family_bias
from tripos_warehouse.statistics.validity import JudgeRates, rated_prevalence


@dataclass(frozen=True)
class ListedRows:
    """The rows of a cell, a list for each column (`statistic`)."""

    items: GivenWords
    subjects: GivenWords
    raters: GivenWords
    keys: GivenWords
    values: GivenNumbers


# Agreement of raters


@dataclass(frozen=True)
class Agreement:
    """A statistic of ratings. A statistic for two raters is averaged over all pairs of raters.

    >>> ratings = np.array([[1, 2, 2, 4, 5, 3], [1, 3, 2, 4, 4, 5], [2, 2, 2, 5, 4, 5.0]])
    >>> round(AGREEMENTS["kendall_w"].estimate(ratings).value, 6)
    0.87415
    """

    of: Callable[[Floats, str, Floats | None], Estimate]
    """The function that computes it from ratings, an array (raters, subjects) with NaN for missing ratings, the level
    of Krippendorff's α, and the categories of Gwet's coefficients, by default those that occur."""
    of_classes: bool = False
    """Whether ratings are classes, whatever the level is."""
    complete: bool = False
    """Whether it uses only subjects that every rater rated."""
    of_categories: bool = False
    """Whether it depends on the categories that a rater may choose, including those that nobody chose. Then it also
    uses subjects with one rating, for the frequency of each category."""
    rare_classes: bool = False
    """Whether its error is unknown if nearly all items are in one class, and larger if a class is rare."""
    squares: bool = False
    """Whether it squares the differences of numbers, so that few items may dominate its variance."""
    without_groups: Callable[[Floats, Ints, int], list[float | None]] | None = None
    """A faster way to compute the values without each group of subjects."""

    def estimate(self, ratings: Floats, level: str = "", categories: Floats | None = None) -> Estimate:
        """Return the statistic of ratings."""
        return self.of(ratings, level, categories)

    def leave_out(
        self, ratings: Floats, level: str, groups: Ints, count: int, categories: Floats | None = None
    ) -> list[float | None]:
        """Return the values without the subjects of each of `count` groups."""
        if self.without_groups is not None:
            return self.without_groups(ratings, groups, count)
        if self.of_categories and categories is None:  # also categories that only left-out items have
            categories = np.unique(ratings[~np.isnan(ratings)])
        return [self.of(ratings[:, groups != group], level, categories).value for group in range(count)]

    def compute(self, level: str, rows: ListedRows) -> dict[str, Any]:
        """Return the statistic of a list of ratings, in the form of `statistic`."""
        ratings = _matrix(self, level, rows)
        if isinstance(ratings, str):
            return _undefined(ratings)
        matrix, owners, names, categories = ratings
        estimate = self.of(matrix, level, categories)
        if estimate.value is None:
            return _undefined(str(estimate.reason))
        factors: Floats | None = None
        if self.rare_classes:
            factors = class_factors(_codes(matrix), owners, len(names))
            if factors is None:
                return _without_error(estimate.value, names, TOO_FEW_OTHERS)
        nominal = self.of_classes or level == "nominal"
        reason, influences = _jackknife(
            lambda groups, count: self.leave_out(matrix, level, groups, count, categories),
            owners,
            names,
            factors if nominal else None,
            by_kurtosis=self.squares and not nominal,
        )
        return {"value": estimate.value, "reason": reason, "items": names, "influences": influences, "draws": None}


def _unweighted_kappa(one: Floats, other: Floats) -> Estimate:
    return cohen_kappa(one, other)


def _rho(one: Floats, other: Floats) -> Estimate:
    """Return Spearman's ρ as the correlation of ranks. The test and interval of `spearman_rho` would take longer than ρ
    itself, which the jackknife computes many times.
    """
    both = ~(np.isnan(one) | np.isnan(other))
    n = int(both.sum())
    if n < 2:
        return Estimate.undefined("fewer than two items that both raters rated", n=n)
    a, b = (ranks - (n + 1) / 2 for ranks in (mid_ranks(one[both]), mid_ranks(other[both])))
    squares = float(a @ a) * float(b @ b)
    if squares == 0:
        return Estimate.undefined("a rater gave all items the same: there is no order", n=n)
    return Estimate(max(-1.0, min(1.0, float(a @ b) / math.sqrt(squares))), n=n)


def _gwet(ratings: Floats, categories: Floats | None, weights: Literal["none", "quadratic"]) -> Estimate:
    return gwet_ac(ratings, weights, None if categories is None else categories.tolist())


def _quadratic(ratings: Floats) -> Estimate:
    """Return Cohen's κ with quadratic weights, averaged over pairs of raters.

    The steps of a rubric are equidistant, so κ does not depend on whether all of them occur: 1 - n Σ (a - b)² / Σ Σ (a
    - b)², where the double sum is over all pairs of a rating by one rater and a rating by the other (Cohen, 1968). The
    double sum is n² (var a + var b + (mean a - mean b)²).
    """

    def of_two(one: Floats, other: Floats) -> Estimate:
        both = ~(np.isnan(one) | np.isnan(other))
        a, b = one[both], other[both]
        if not len(a):
            return Estimate.undefined("no item that both raters rated")
        expected = float(a.var() + b.var() + (a.mean() - b.mean()) ** 2)
        if expected <= 1e-12 * float(np.abs(a).max()) ** 2:
            reason = "both raters gave one and the same category: agreement by chance is certain"
            return Estimate.undefined(reason, n=len(a))
        return Estimate(1 - float(((a - b) ** 2).mean()) / expected, n=len(a))

    return pairwise(of_two, ratings).mean


# Errors of agreement if a class is rare
FEWEST_OTHERS = 3
"""With fewer items outside the most frequent class, the error of an agreement is unknown."""
TOO_FEW_OTHERS = f"fewer than {FEWEST_OTHERS} items are of another class than most: nothing shows the error"


def class_factors(columns: Ints, owners: Ints, items: int) -> Floats | None:
    """Return the factor of the influence of each of `items` items, at least 1; None if too few items are outside a
    rater's most frequent class.

    `columns` has the class of every subject by each rater, shape (raters, subjects), -1 if missing; `owners` has the
    item of each subject. For a rater who saw fewer than half of the items, the classes of all raters are pooled.

    >>> said, true = [0] * 26 + [1] * 4, [0] * 27 + [1] * 3
    >>> found = class_factors(np.array([said, true]), np.arange(30), 30)
    >>> np.round(found[[0, 26, 29]], 2).tolist()
    [1.01, 1.56, 2.1]
    >>> class_factors(np.array([[0] * 29 + [1]] * 2), np.arange(30), 30) is None
    True
    """
    classes = int(columns.max()) + 1
    smallest = np.full(items, items)
    tables = [_classes_of_items(column[None], owners, items, classes) for column in columns]
    pooled = _classes_of_items(columns, owners, items, classes)
    for table in tables:
        rated = int(table.any(1).sum())
        rated_most = 2 * rated >= items
        others = np.arange(classes) != table.sum(0).argmax()
        if rated_most and int(table[:, others].any(1).sum()) < FEWEST_OTHERS:
            return None
        sizes = (table if rated_most else pooled).sum(0)
        smallest = np.minimum(smallest, np.where(table, sizes, items).min(1))
    df = np.maximum(smallest - 1, FEWEST_OTHERS - 1)
    factors: Floats = _quantile(df) / _quantile(np.array([max(items - 1, 1)]))
    return np.maximum(factors, 1.0)


def kurtosis_factor(influences: Floats) -> float:
    """Return the factor of the influences on an agreement of numbers, from the degrees of freedom of their variance. If
    these are more than half of those of the items, the factor is close to 1, and 1 is returned.

    >>> round(kurtosis_factor(np.array([1.0] * 20 + [-1.0] * 20)), 2)
    1.0
    >>> round(kurtosis_factor(np.array([0.0] * 37 + [1.0] * 3)), 2)
    1.15
    """
    n = len(influences)
    squares = np.square(influences - influences.mean())
    if n < 4 or squares.sum() <= 0:
        return 1.0
    kurtosis = n * float((squares**2).sum()) / float(squares.sum()) ** 2
    df = 2 * n / max(kurtosis - (n - 3) / (n - 1), 1e-9)
    if df > (n - 1) / 2:
        return 1.0
    quantile, quantile_of_all = _quantile(np.array([min(max(df, 1.0), n - 1.0), n - 1.0]))
    return float(quantile / quantile_of_all)


def _classes_of_items(
    columns: Ints, owners: Ints, items: int, classes: int
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return which items have which classes, shape (items, classes)."""
    present = np.zeros((items, classes), dtype=bool)
    for column in columns:
        known = column >= 0
        present[owners[known], column[known]] = True
    return present


def _quantile(df: Floats | Ints) -> Floats:
    """Return the two-sided 95 % quantiles of Student's t."""
    from scipy.special import stdtrit

    quantile: Floats = stdtrit(df, two_sided(0.95))
    return quantile


# Comparisons
JUDGE_SEPARATOR = "\x1f"
"""The separator between a model and a judge, for a statistic about both."""


def strength(model: str, items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers) -> dict[str, Any]:
    """Return the strength of a model among all compared models, in log odds (`bradley_terry`).

    The result has `value`, or the `reason` for its absence, and `influences`, that of each of `items`. `values` are 1
    if the first won, 0 if the second did, 0.5 for a tie.

    >>> firsts, seconds = ["a", "b"] * 4, ["b", "a"] * 4
    >>> values = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    >>> found = strength("a", list("11223344"), firsts, seconds, ["j"] * 8, values)
    >>> round(found["value"], 3), found["items"]
    (0.549, ['1', '2', '3', '4'])
    """
    return _strength(model, verdicts_of(items, firsts, seconds, judges, values))


def weighted_strength(
    model: str, items: Words, firsts: Words, seconds: Words, weights: Words, values: Numbers
) -> dict[str, Any]:
    """Return the result of `strength` for verdicts with `weights`."""
    verdicts = verdicts_of(items, firsts, seconds, [None] * len(items), values)
    counted = [float(weight or 1) for weight, value in zip(weights, values, strict=True) if value is not None]
    return _strength(model, verdicts, counted)


def _strength(model: str, verdicts: list[Preference], weights: list[float] | None = None) -> dict[str, Any]:
    strengths = bradley_terry(verdicts, weights=weights, errors="items")
    estimate = strengths.by_model.get(model)
    if estimate is None or estimate.value is None:
        return _undefined((estimate.reason if estimate is not None else None) or "it was compared with nothing")
    names = list(dict.fromkeys(str(verdict.item) for verdict in verdicts))
    place = strengths.models.index(model)
    influences = [] if strengths.influences is None else strengths.influences[:, place].tolist()
    return {"value": estimate.value, "reason": estimate.reason, "items": names, "influences": influences, "draws": None}


def self_preference(
    about: str, items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers
) -> dict[str, Any]:
    """Return how much more often judges of a model's family prefer it than other judges do on the same replies
    (`family_bias`).

    `about` is the model, or the model, `JUDGE_SEPARATOR` and one judge. An item may have its cluster and
    `REPLY_SEPARATOR` as a prefix. The result has the form of that of `strength`, with influences by cluster.

    >>> found = self_preference("gpt-5", list("112233"), ["gpt-5"] * 6, ["o"] * 6, ["gpt-4o", "x"] * 3, [1.0, 0.5] * 3)
    >>> found["value"], self_preference("o", ["1"], ["gpt-5"], ["o"], ["x"], [1.0])["reason"]
    (0.5, "no judge is of a compared model's family")
    """
    model, _, judge = about.partition(JUDGE_SEPARATOR)
    family = [name for name in dict.fromkeys(map(str, judges)) if judge in ("", name) and shares_family(name, model)]
    if not family:
        return _undefined(
            "the judge is not of the model's family" if judge else "no judge is of a compared model's family"
        )
    values_of_model = [
        value if model in (first, second) else None
        for first, second, value in zip(firsts, seconds, values, strict=True)
    ]
    result = family_bias(verdicts_of(items, firsts, seconds, judges, values_of_model), model, family, shares_family)
    count = len(result.biases)
    if not count:
        return _undefined(NO_OTHER_JUDGE)
    value = sum(result.biases) / count
    influences: dict[str, float] = {}
    for item, bias in zip(result.items, result.biases, strict=True):
        cluster = str(item).partition(REPLY_SEPARATOR)[0]
        influences[cluster] = influences.get(cluster, 0.0) + (bias - value) / count
    names, numbers = list(influences), list(influences.values())
    return {"value": value, "reason": None, "items": names, "influences": numbers, "draws": None}


def verdicts_of(items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers) -> list[Preference]:
    """Return the comparisons that have a value.

    >>> verdicts_of(["1", "1"], ["a", "b"], ["b", "a"], ["j", "j"], [1.0, None])
    [Preference(first='a', second='b', winner='a', item='1', judge='j')]
    """
    return [
        Preference(str(first), str(second), None if value == 0.5 else str(first if value else second), item, judge)
        for item, first, second, judge, value in zip(items, firsts, seconds, judges, values, strict=True)
        if value is not None
    ]


@dataclass(frozen=True)
class ComparisonStatistic:
    """A statistic of all comparisons of a cell. `weighted` is its form for comparisons with a weight in place of the
    judge. `of_replies` is true if it compares the verdicts of several judges on the same replies."""

    of: Callable[[str, Words, Words, Words, Words, Numbers], dict[str, Any]]
    weighted: Callable[[str, Words, Words, Words, Words, Numbers], dict[str, Any]] | None = None
    of_replies: bool = False

    def compute(self, about: str, rows: ListedRows) -> dict[str, Any]:
        """Return the statistic of a list of comparisons about a model, in the form of `statistic`."""
        words = to_list(rows.items), to_list(rows.subjects), to_list(rows.raters), to_list(rows.keys)
        return self.of(about, *words, to_list(rows.values))


# The function `tripos_statistic`
MOST_LEFT_OUT = 400
"""Up to this many items are left out one by one; more are left out in groups."""
GROUPS = 200
"""The number of groups of items."""
MANY = 5000
"""From this many items on there are fewer groups: each takes as long as the statistic of all items, and the error is
precise enough with fewer.
"""
FEW_GROUPS = 50
"""The number of groups of `MANY` items or more."""

ALONE = "there is one rater, and nobody agrees with themselves"
REPLY_SEPARATOR = "\x1f"
"""The separator between an item and a reply to it, in the name of a subject."""

Words = Sequence[str | None]
Numbers = Sequence[float | None]

PYTHON, PYTHON_VALUE = "python", "python value"
"""A user function, with its error, or only its value."""

MISSING = "None"
"""The name of a missing item, reply or rater."""


def statistic(
    what: str,
    level: str,
    items: GivenWords,
    subjects: GivenWords,
    raters: GivenWords,
    keys: GivenWords,
    values: GivenNumbers,
) -> dict[str, Any]:
    """Return a statistic of a list of ratings: `raters` gave `subjects`, which belong to `items`, the number in
    `values`, or the class in `keys`.

    `level` is that of Krippendorff's α; for Gwet's coefficients it is the JSON of the declared categories
    (`declared_categories`), for a statistic of comparisons the model that it is about, and for others the JSON of their
    settings. For comparisons, `subjects` are the models shown first, `raters` those shown second, and `keys` the judges
    or the weights.

    The result has `value`, or the `reason` for its absence, and the `influences` of `items`: the variance of the value
    is the sum of their squares times m / (m - 1) for m items. A statistic with a bootstrap also has `draws`, and a
    corrected prevalence the `limits` of its interval.

    >>> two = ["a", "a", "b", "b", "c", "c"]
    >>> found = statistic("cohen_kappa", "", two, two, ["x", "y"] * 3, ["1", "1", "2", "2", "1", "2"], [None] * 6)
    >>> round(found["value"], 3)
    0.4
    """
    rows = ListedRows(items, subjects, raters, keys, values)
    return {"draws": None, "limits": None} | _STATISTICS_OF_SQL[what].compute(level, rows)


STUDY = "\x1f"
"""The prefix of the name of a study of a judge's rates, which is listed among the items."""


def _prevalence(settings: str, items: Words, values: Numbers) -> dict[str, Any]:
    """Return a share corrected by the error rates of a judge, with the influences of items and of the studies of the
    rates, which several figures may share, and the limits of its interval.

    >>> rates = '{"negatives": 40, "positives": 40, "sensitivity": 0.9, "specificity": 0.8}'
    >>> found = _prevalence(rates, list("abcdefghij"), [1.0] * 6 + [0.0] * 4)
    >>> round(found["value"], 3), [name.strip(STUDY)[:11] for name in found["items"][10:]]
    (0.571, ['sensitivity', 'specificity'])
    """
    rates = JudgeRates(**json.loads(settings))
    rows = sorted((str(item), value) for item, value in zip(items, values, strict=True) if value is not None)
    if not rows:
        return _undefined("nothing has a value")
    owners, numbers = [item for item, _ in rows], np.array([value for _, value in rows], dtype=np.float64)
    estimate = rated_prevalence(numbers, rates, owners)
    if estimate.value is None:
        return _undefined(str(estimate.reason))
    names, places = np.unique(owners, return_inverse=True)
    influences = np.bincount(places, numbers - numbers.mean()) / len(numbers) / rates.informedness
    studies = (
        []
        if rates.exactly_known
        else list(zip(("sensitivity", "specificity"), rates.errors(estimate.value), strict=True))
    )
    units = [*names.tolist(), *(f"{STUDY}{name} {settings}" for name, _ in studies)]
    if estimate.low is None:
        return {"value": estimate.value, "reason": estimate.reason, "items": units, "influences": [None] * len(units)}
    return {
        "value": estimate.value,
        "reason": None,
        "items": units,
        "influences": [*influences.tolist(), *(error for _, error in studies)],
        "limits": [estimate.low, estimate.high],
    }


def _codes(matrix: Floats) -> Ints:
    """Return the index of each rating among the distinct ones; -1 for a missing rating."""
    codes = np.full(matrix.shape, -1, dtype=np.int64)
    known = ~np.isnan(matrix)
    codes[known] = np.unique(matrix[known], return_inverse=True)[1]
    return codes


def _without_error(value: float, names: list[str], reason: str) -> dict[str, Any]:
    """Return a value with unknown error."""
    return {"value": value, "reason": reason, "items": names, "influences": [None] * len(names), "draws": None}


def _matrix(agreement: Agreement, level: str, rows: ListedRows) -> tuple[Floats, Ints, list[str], Floats | None] | str:
    """Return the ratings, shape (raters, subjects), the index of each subject's item, the items, and the categories of
    Gwet's coefficients; or the reason why there are no ratings.
    """
    key, numbers = code_texts(rows.keys), read_numbers(rows.values)
    if agreement.of_classes or level == "nominal":
        numbers = np.where(key.codes >= 0, key.codes, np.nan)
    elif ((key.codes >= 0) & np.isnan(numbers)).any():
        return "the values are no numbers: take them as `level: nominal`"
    item, subject, rater = (code_texts(column, MISSING) for column in (rows.items, rows.subjects, rows.raters))
    # If a rater rated a subject twice, the greater value counts; if a subject has two items, the first.
    order = np.lexsort((numbers, item.codes))
    owner = np.empty(len(subject), dtype=np.int64)
    owner[subject.codes[order[::-1]]] = item.codes[order[::-1]]
    order = order[~np.isnan(numbers[order])]
    matrix = np.full((len(rater), len(subject)), np.nan)
    matrix[rater.codes[order], subject.codes[order]] = numbers[order]
    rated = (~np.isnan(matrix)).sum(axis=0)
    kept = rated == len(rater) if agreement.complete else rated >= (1 if agreement.of_categories else 2)
    if len(rater) < 2:
        return ALONE
    if kept.sum() < 2:
        return "fewer than two replies have the ratings that it takes"
    used, owners = np.unique(owner[kept], return_inverse=True)
    categories = None
    if agreement.of_categories:
        categories = declared_categories(level, key.names.to_pylist(), numbers, agreement.of_classes)
    return matrix[:, kept], owners.astype(np.int64), item.named(used), categories


MOST_LEVELS = 100_000
"""A declared range with more integers is a measurement, not a rubric: only values that occur count."""


def declared_categories(declared: str, keys: Sequence[str], numbers: Floats, classes: bool) -> Floats:
    """Return the categories of a rubric as numbers, like the ratings: the `declared` ones, plus ratings that are none
    of them.

    `declared` is a JSON list of names, numbers, and `[low, high]` for integers. `classes` have the indices of their
    `keys`, followed by indices for declared classes that do not occur.

    >>> declared_categories('[[1, 3]]', ["2.0", "7.0"], np.array([]), True).tolist()
    [0.0, 1.0, 2.0, 3.0]
    >>> declared_categories('[[1, 3]]', [], np.array([2.0, 2.5]), False).tolist()
    [1.0, 2.0, 2.5, 3.0]
    """
    categories: set[str | float] = set()
    for category in json.loads(declared or "[]"):
        if not isinstance(category, list):
            categories.add(category)
        elif category[1] - category[0] < MOST_LEVELS:
            categories.update(map(float, range(category[0], category[1] + 1)))
    if classes:
        unused = categories - {json.loads(key) for key in keys}
        return np.arange(len(keys) + len(unused), dtype=np.float64)
    return np.union1d(np.array(sorted(map(float, categories))), numbers[~np.isnan(numbers)])


def _jackknife(
    compute: Callable[[Ints, int], Sequence[float | None]],
    owners: Ints,
    names: list[str],
    factors: Floats | None = None,
    by_kurtosis: bool = False,
) -> tuple[str | None, list[float | None]]:
    """Return the reason for a missing error, if any, and the jackknife influences, from the values that `compute`
    returns without each group of subjects.

    Many items are left out in groups, which depend only on their names; the items of a group share its influence, so
    that the sum of squares is preserved. For rare classes, influences are multiplied by the `factors` of the items, for
    a group by the largest in it, or by a factor from the kurtosis of all influences.
    """
    group = np.arange(len(names))
    if len(names) > MOST_LEFT_OUT:
        order = np.argsort([hashlib.blake2b(name.encode(), digest_size=8).hexdigest() for name in names])
        group[order] = np.arange(len(names)) % (GROUPS if len(names) < MANY else FEW_GROUPS)
    count = int(group.max()) + 1
    known = [value for value in compute(group[owners], count) if value is not None]
    if len(known) < count or count < 2:
        return "without one of the items it is undefined, so its error is unknown", [None] * len(names)
    influences = (count - 1) / count * (np.mean(known) - np.array(known))
    if factors is not None:
        largest = np.ones(count)
        np.maximum.at(largest, group, factors)
        influences = influences * largest
    elif by_kurtosis:
        influences = influences * kurtosis_factor(influences)
    # Callers multiply the sum by m / (m - 1) for m items; for groups the factor should use their number.
    correction = math.sqrt((count / (count - 1)) / (len(names) / (len(names) - 1)))
    sizes = np.bincount(group, minlength=count)
    of_items: list[float | None] = (influences * correction / np.sqrt(sizes))[group].tolist()
    return None, of_items


@dataclass(frozen=True)
class AgreementWithinItems:
    """The mean over items of the agreement of raters on the replies to an item. A subject is a reply: the name of its
    item, `REPLY_SEPARATOR` and that of the reply."""

    def compute(self, level: str, rows: ListedRows) -> dict[str, Any]:
        """Return the statistic of a list of ratings, in the form of `statistic`."""
        return _tau_within_items(rows)


def _tau_within_items(rows: ListedRows) -> dict[str, Any]:
    """Return the mean of Kendall's τ within each item, in the form of `statistic`."""
    item, subject, rater = (code_texts(column, MISSING) for column in (rows.items, rows.subjects, rows.raters))
    if len(rater) < 2:
        return _undefined(ALONE)
    block = subject.before(REPLY_SEPARATOR)
    owner = np.empty(len(block), dtype=np.int64)
    owner[block.codes[subject.codes]] = item.codes
    # The index of a subject within its block.
    replies = np.bincount(block.codes)
    order = np.argsort(block.codes, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(replies) - replies, replies)
    numbers = read_numbers(rows.values)
    known_rows = np.argsort(numbers, kind="stable")[: len(numbers) - int(np.isnan(numbers).sum())]
    stacks = []
    for size in np.unique(replies):
        blocks = np.flatnonzero(replies == size)
        place_of_block = np.full(len(replies), -1)
        place_of_block[blocks] = np.arange(len(blocks))
        selected = known_rows[place_of_block[block.codes[subject.codes[known_rows]]] >= 0]
        subjects = subject.codes[selected]
        ratings = np.full((len(blocks), len(rater), size), np.nan)
        ratings[place_of_block[block.codes[subjects]], rater.codes[selected], place[subjects]] = numbers[selected]
        stacks.append((blocks, ratings))
    by_item = stacked_tau_by_item(stacks)
    if by_item.value is None:
        return _undefined(str(by_item.reason))
    known = np.flatnonzero(~np.isnan(by_item.figures))
    influences = np.bincount(owner[known], (by_item.figures[known] - by_item.value) / len(known), minlength=len(item))
    used = np.unique(owner[known])
    return {
        "value": by_item.value,
        "reason": None,
        "items": item.named(used),
        "influences": influences[used].tolist(),
        "draws": None,
    }


def _median(items: Words, values: Numbers) -> dict[str, Any]:
    """Return the median, its draws, and influences on the share of values below the median, scaled to the error of the
    draws.
    """
    pairs = [(str(item), value) for item, value in zip(items, values, strict=True) if value is not None]
    if not pairs:
        return _undefined("nothing has a value")
    owners, numbers = [item for item, _ in pairs], np.array([value for _, value in pairs], dtype=np.float64)
    value = float(np.median(numbers))
    names, places = np.unique(owners, return_inverse=True)
    m = len(names)
    result = {"value": value, "items": names.tolist()}
    if m < LEAST_ITEMS:
        few = f"{m} items say too little: a median of fewer than {LEAST_ITEMS} has no interval of 95 %"
        reason = "one item says nothing about the error" if m == 1 else few
        return {**result, "reason": reason, "influences": [None] * m, "draws": None}
    drawn = bootstrap_medians(owners, numbers)
    known = np.array(drawn)[np.isfinite(drawn)]
    below = (numbers < value) + 0.5 * (numbers == value)
    influences = np.bincount(places, below.mean() - below, minlength=m)
    size = math.sqrt(float((influences**2).sum()) * m / (m - 1))
    scale = float(known.std(ddof=1)) / size if size > 0 else 0.0
    alike = "items do not differ: nothing shows the error" if numbers.min() == numbers.max() else None
    return {**result, "reason": alike, "influences": (influences * scale).tolist(), "draws": drawn}


@dataclass(frozen=True)
class CellsFormula:
    """An aggregate of the cells of a figure in SQL: its value, and its derivative by the value of each cell. Both read
    `value`, the derivative also the cell's `place` in their order, "number of cells", and `columns`."""

    value: str
    weight: str
    columns: tuple[str, ...] = ()
    """Further columns that the derivative reads: SQL over the window `cell`, with a name."""
    linear: bool = False
    """Whether its derivatives do not depend on the values."""
    end: tuple[str, str] | None = None
    """For the least or the greatest cell: the SQL function of this end, and the word for it."""
    unmoved: str = ""
    """The reason why there is no error if the derivative by every cell is 0."""


@dataclass(frozen=True)
class ValueStatistic:
    """A statistic of the values of a cell. `drawn` is true if its error is that of bootstrap draws, `limited` if it
    computes its own interval. With `of_cells` there is also such a statistic of the cells of a figure."""

    of: Callable[[str, Words, Numbers], dict[str, Any]]
    drawn: bool = False
    limited: bool = False
    of_cells: CellsFormula | None = None

    def compute(self, settings: str, rows: ListedRows) -> dict[str, Any]:
        """Return the statistic of a list of values, in the form of `statistic`."""
        return self.of(settings, to_list(rows.items), to_list(rows.values))


# Metrics of a whole set
Metric = SummedMetric | RankedTruths | LengthControlled
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class SetMetric:
    """A metric of a set of replies, from the replies (`keys`) and the references (`subjects`), each as JSON."""

    kind: Literal["texts", "classes", "numbers"]
    of: Callable[[Settings, list[str], list[str]], Metric | str]
    """The function that returns the metric from the settings, the replies and the references, or the reason why there
    is none."""
    noise: Callable[[Settings, list[str], list[str], Ints], float] | None = None
    """For a metric that chance alone moves above 0, the function that returns its expected value by chance."""

    def compute(self, settings: str, rows: ListedRows) -> dict[str, Any]:
        """Return the metric of a list of replies, in the form of `statistic`."""
        lists = to_list(rows.items), to_list(rows.subjects), to_list(rows.keys)
        return _set_metric(self, json.loads(settings), *lists)


def _set_metric(declared: SetMetric, settings: Settings, items: Words, subjects: Words, keys: Words) -> dict[str, Any]:
    """Return a metric of a set of replies, its jackknife influences, and for texts its draws."""
    rows = sorted(
        (str(item), reply, truth)
        for item, reply, truth in zip(items, keys, subjects, strict=True)
        if reply is not None and truth is not None
    )
    if not rows:
        return _undefined("nothing has a value")
    owners, replies, truths = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    metric = declared.of(settings, replies, truths)
    if isinstance(metric, str):
        return _undefined(metric)
    value = metric.overall()
    if value is None:
        return _undefined(metric.reason)
    names, places = np.unique(owners, return_inverse=True)
    result = {"value": value, "items": names.tolist()}
    m = len(names)
    if m < LEAST_ITEMS and declared.kind == "texts":
        reason = "one item says nothing about the error" if m == 1 else f"{m} items say too little about the error"
        return {**result, "reason": reason, "influences": [None] * m, "draws": None}
    if declared.noise is not None and value < CLEAR * declared.noise(settings, replies, truths, places):
        reason = "chance alone shows a good part of it, which no interval can take out: ask for more items"
        return {**result, "reason": reason, "influences": [None] * m, "draws": None}
    factors: Floats | None = None
    if declared.kind == "classes":
        codes = np.unique([replies, truths], return_inverse=True)[1].reshape(2, -1)
        factors = class_factors(codes, places, m)
        if factors is None:
            return _without_error(value, names.tolist(), TOO_FEW_OTHERS)
    why_no_error, influences = _jackknife(metric.without, places, names.tolist(), factors)
    draws = bootstrap_metric(owners, metric) if isinstance(metric, SummedMetric) and declared.kind == "texts" else None
    return {**result, "reason": why_no_error, "influences": influences, "draws": draws}


CLEAR = 2.5
"""A calibration error needs this multiple of the chance level to have an interval."""


def _noise(settings: Settings, replies: list[str], truths: list[str], places: Ints) -> float:
    return calibration_noise(*_numbers(replies, truths), places, _bins(settings))


def _bins(settings: Settings) -> int:
    return int(settings.get("bins", 10))


def _numbers(replies: list[str], truths: list[str]) -> tuple[Floats, Floats]:
    return np.array([float(reply) for reply in replies]), np.array([float(truth) for truth in truths])


def _of_numbers(
    of: Callable[[Floats, Floats], Metric | str],
) -> Callable[[Settings, list[str], list[str]], Metric | str]:
    """Return a metric of two arrays of numbers as a function of settings, replies and references."""
    return lambda settings, replies, truths: of(*_numbers(replies, truths))


def _calibration(settings: Settings, replies: list[str], truths: list[str]) -> Metric | str:
    return calibration_error(*_numbers(replies, truths), _bins(settings))


def _of_texts(kind: CorpusKind) -> Callable[[Settings, list[str], list[str]], Metric | str]:
    """Return the corpus metric of a kind as a function of settings, replies and references. The references of an item
    are one text or several."""

    def metric(settings: Settings, replies: list[str], truths: list[str]) -> Metric | str:
        references = [[truth] if isinstance(truth, str) else truth for truth in map(json.loads, truths)]
        if not all(references):
            return "an item has no reference"
        return corpus_metric(kind, settings, [json.loads(reply) for reply in replies], references)

    return metric


def _undefined(reason: str) -> dict[str, Any]:
    """Return a statistic without a value, in the form of `statistic`."""
    return {"value": None, "reason": reason, "items": [], "influences": [], "draws": None}


@dataclass(frozen=True)
class _UserFunction:
    """A function of the user, with its error, or only its value."""

    errors: bool

    def compute(self, settings: str, rows: ListedRows) -> dict[str, Any]:
        """Return the figure of a list of values, in the form of `statistic`."""
        lists = to_list(rows.items), to_list(rows.subjects), to_list(rows.keys)
        return user_statistic(settings, *lists, _jackknife, errors=self.errors)


Statistic = Agreement | AgreementWithinItems | ComparisonStatistic | SetMetric | ValueStatistic

AGREEMENTS: Mapping[str, Agreement] = {
    "kendall_w": Agreement(lambda ratings, *_: kendall_w(ratings), complete=True, without_groups=kendall_w_without),
    "krippendorff_alpha": Agreement(
        lambda ratings, level, _: krippendorff_alpha(ratings, cast("Level", level)), rare_classes=True, squares=True
    ),
    "kendall_tau": Agreement(lambda ratings, *_: pairwise(kendall_tau_b, ratings).mean),
    "spearman": Agreement(lambda ratings, *_: pairwise(_rho, ratings).mean),
    "cohen_kappa": Agreement(
        lambda ratings, *_: pairwise(_unweighted_kappa, ratings).mean, of_classes=True, rare_classes=True
    ),
    "quadratic_kappa": Agreement(lambda ratings, *_: _quadratic(ratings), rare_classes=True, squares=True),
    "gwet_ac1": Agreement(
        lambda ratings, _, categories: _gwet(ratings, categories, "none"), of_classes=True, of_categories=True
    ),
    "gwet_ac2": Agreement(
        lambda ratings, _, categories: _gwet(ratings, categories, "quadratic"), of_categories=True, squares=True
    ),
}

STATISTICS: Mapping[str, Statistic] = {
    **AGREEMENTS,
    "median": ValueStatistic(
        lambda settings, items, values: _median(items, values),
        drawn=True,
        of_cells=CellsFormula(
            "median(value)",
            """case when value is null then 0
    when "number of cells" % 2 = 1 then (place = ("number of cells" + 1) // 2)::integer
    else (place in ("number of cells" // 2, "number of cells" // 2 + 1))::integer / 2 end""",
        ),
    ),
    "corrected_prevalence": ValueStatistic(_prevalence, limited=True),
    "mean_tau_agreement": AgreementWithinItems(),
    "bradley_terry": ComparisonStatistic(strength, weighted_strength),
    "self_preference": ComparisonStatistic(self_preference, of_replies=True),
    "corpus_bleu": SetMetric("texts", _of_texts("bleu")),
    "corpus_chrf": SetMetric("texts", _of_texts("chrf")),
    "corpus_ter": SetMetric("texts", _of_texts("ter")),
    "mcc": SetMetric("classes", lambda settings, replies, truths: matthews(replies, truths)),
    "brier": SetMetric("numbers", _of_numbers(brier)),
    "log_loss": SetMetric("numbers", _of_numbers(log_loss)),
    "ece": SetMetric("numbers", _calibration, noise=_noise),
    "auroc": SetMetric("numbers", _of_numbers(RankedTruths)),
    "length_controlled": SetMetric("numbers", _of_numbers(LengthControlled)),
}
"""The statistics, by the names of their aggregates."""

WEIGHTED = "weighted_"
"""The prefix of the name of a weighted statistic of comparisons."""
_STATISTICS_OF_SQL: Mapping[str, Statistic | _UserFunction] = {
    **STATISTICS,
    **{
        f"{WEIGHTED}{name}": ComparisonStatistic(statistic.weighted)
        for name, statistic in STATISTICS.items()
        if isinstance(statistic, ComparisonStatistic) and statistic.weighted is not None
    },
    PYTHON: _UserFunction(errors=True),
    PYTHON_VALUE: _UserFunction(errors=False),
}
"""The statistics, by the names that the SQL of measures calls them by."""
