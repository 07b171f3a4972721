"""Statistics of lists, which SQL has no formula for: what `tripos_statistic` comes to in the SQL of a measure.

Each comes with the pull of every item on it. Of agreement and correlation that is the jackknife's (Tukey, 1958): how
far the value moves when the item is left out. A median has draws of its items instead (`bootstrap`), and its pulls are
those on the share of values below it, on the scale of the error that the draws show.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tripos_compiler.language import shares_family
from tripos_warehouse.query.bootstrap import LEAST_ITEMS, medians
from tripos_warehouse.query.raters import COMPLETE, find_statistic, find_value
from tripos_warehouse.statistics import Floats
from tripos_warehouse.statistics.agreement import tau_by_item
from tripos_warehouse.statistics.preferences import NOBODY_ELSE, Preference, bradley_terry, fondness

BETWEEN = "\x1f"
"""Stands between a model and a judge where a statistic is about both."""


def strength(model: str, items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers) -> dict[str, Any]:
    """Return the strength of a model among all that are compared, in log odds (`bradley_terry`): `value`, or the
    `reason` why there is none, and what every one of `items` adds to it, `pulls`. `values` are 1 where the first won, 0
    where the second did, 0.5 for a tie.

    >>> firsts, seconds = ["a", "b"] * 4, ["b", "a"] * 4
    >>> values = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    >>> found = strength("a", list("11223344"), firsts, seconds, ["j"] * 8, values)
    >>> round(found["value"], 3), found["items"]
    (0.549, ['1', '2', '3', '4'])
    """
    verdicts = verdicts_of(items, firsts, seconds, judges, values)
    found = bradley_terry(verdicts, errors="items")
    mine = found.by_model.get(model)
    if mine is None or mine.value is None:
        return _nothing((mine.reason if mine is not None else None) or "it was compared with nothing")
    names = list(dict.fromkeys(str(each.item) for each in verdicts))
    at = found.models.index(model)
    pulls = [] if found.pulls is None else [float(pull) for pull in found.pulls[:, at]]
    return {"value": mine.value, "reason": mine.reason, "items": names, "pulls": pulls, "draws": None}


def self_preference(
    about: str, items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers
) -> dict[str, Any]:
    """Return how much more often judges of its family prefer a model than others do, on the same replies (`fondness`).
    `about` is the model, or the model, `BETWEEN` and the one judge that is looked at. Gives what `strength` does.

    >>> found = self_preference("gpt-5", list("112233"), ["gpt-5"] * 6, ["o"] * 6, ["gpt-4o", "x"] * 3, [1.0, 0.5] * 3)
    >>> found["value"], self_preference("o", ["1"], ["gpt-5"], ["o"], ["x"], [1.0])["reason"]
    (0.5, "no judge is of a compared model's family")
    """
    model, _, judge = about.partition(BETWEEN)
    own = [each for each in dict.fromkeys(map(str, judges)) if judge in ("", each) and shares_family(each, model)]
    if not own:
        return _nothing(
            "the judge is not of the model's family" if judge else "no judge is of a compared model's family"
        )
    about_it = [
        value if model in (first, second) else None
        for first, second, value in zip(firsts, seconds, values, strict=True)
    ]
    fond = fondness(verdicts_of(items, firsts, seconds, judges, about_it), model, own, shares_family)
    count = len(fond.excesses)
    if not count:
        return _nothing(NOBODY_ELSE)
    value = sum(fond.excesses) / count
    pulls: dict[str, float] = {}
    for item, excess in zip(fond.items, fond.excesses, strict=True):
        pulls[str(item)] = pulls.get(str(item), 0.0) + (excess - value) / count
    return {"value": value, "reason": None, "items": list(pulls), "pulls": list(pulls.values()), "draws": None}


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


OF_PAIRS: Mapping[str, Callable[[str, Words, Words, Words, Words, Numbers], dict[str, Any]]] = {
    "bradley_terry": strength,
    "self_preference": self_preference,
}
"""The statistics of comparisons, by the name of the aggregate."""


MOST_LEFT_OUT = 400
"""So many items are left out one at a time; of more, a group at a time."""
GROUPS = 200
MANY = 5000
"""Of so many items there are fewer groups: each takes as long as the whole, and the error of an error no longer counts
for much."""
FEW_GROUPS = 50

ALONE = "there is one rater, and nobody agrees with themselves"
PARTED = "\x1f"
"""What stands between an item and a reply to it, in the name of a subject."""

Words = Sequence[str | None]
Numbers = Sequence[float | None]


def statistic(
    what: str, level: str, items: Words, subjects: Words, raters: Words, keys: Words, values: Numbers
) -> dict[str, Any]:
    """Return a statistic of a list of ratings: of what belongs to `items`, `raters` said of `subjects` the number in
    `values`, or the text in `keys` where classes are told apart. Of comparisons `subjects` are the models shown first,
    `raters` those shown second, and `keys` the judges.

    It gives `value`, or the `reason` why there is none, and `pulls` of `items`, so that the variance of the value is
    the sum of squared pulls times m / (m - 1) for m items. Of a `median` it also gives the `draws`.

    >>> two = ["a", "a", "b", "b", "c", "c"]
    >>> found = statistic("cohen_kappa", "", two, two, ["x", "y"] * 3, ["1", "1", "2", "2", "1", "2"], [None] * 6)
    >>> round(found["value"], 3)
    0.4
    """
    if what == "median":
        return _median(items, values)
    if what in OF_PAIRS:
        return OF_PAIRS[what](level, items, subjects, raters, keys, values)
    if what == "mean_tau_agreement":
        return _by_item(items, subjects, raters, values)
    found = _matrix(what, level, items, subjects, raters, keys, values)
    if isinstance(found, str):
        return _nothing(found)
    matrix, owners, names = found
    whole = find_statistic(what, level, matrix)
    if whole.value is None:
        return _nothing(str(whole.reason))
    told, pulls = _left_out(lambda kept: find_value(what, level, matrix[:, kept]), owners, names)
    return {"value": whole.value, "reason": told, "items": names, "pulls": pulls, "draws": None}


def _matrix(
    what: str, level: str, items: Words, subjects: Words, raters: Words, keys: Words, values: Numbers
) -> tuple[Floats, npt.NDArray[np.int64], list[str]] | str:
    """Return the ratings (raters, subjects), the place of each subject's item, and the items; or why there are none."""
    numbers: list[float | None]
    if what == "cohen_kappa" or level == "nominal":
        places = {key: place for place, key in enumerate(sorted({key for key in keys if key is not None}))}
        numbers = [None if key is None else float(places[key]) for key in keys]
    else:
        numbers = list(values)
        if any(key is not None and value is None for key, value in zip(keys, values, strict=True)):
            return "the values are no numbers: take them as `level: nominal`"
    rater_place = {rater: place for place, rater in enumerate(sorted({str(each) for each in raters}))}
    subject_place: dict[str, int] = {}
    owner: list[str] = []
    for subject, item in zip(subjects, items, strict=True):
        if str(subject) not in subject_place:
            subject_place[str(subject)] = len(owner)
            owner.append(str(item))
    matrix = np.full((len(rater_place), len(owner)), np.nan)
    for subject, rater, number in zip(subjects, raters, numbers, strict=True):
        if number is not None:
            matrix[rater_place[str(rater)], subject_place[str(subject)]] = number
    rated = (~np.isnan(matrix)).sum(axis=0)
    kept = rated == len(rater_place) if what in COMPLETE else rated >= 2
    if len(rater_place) < 2:
        return ALONE
    if kept.sum() < 2:
        return "fewer than two replies have the ratings that it takes"
    names = sorted({name for name, good in zip(owner, kept, strict=True) if good})
    item_place = {name: place for place, name in enumerate(names)}
    owners = np.array([item_place[name] for name, good in zip(owner, kept, strict=True) if good])
    return matrix[:, kept], owners, names


def _left_out(
    compute: Callable[[npt.NDArray[np.bool_]], float | None], owners: npt.NDArray[np.int64], names: list[str]
) -> tuple[str | None, list[float | None]]:
    """Return the pulls of the jackknife. Many items are left out in groups, which their names alone decide; those of a
    group share its pull, so that the sum of squares stays."""
    group = np.arange(len(names))
    if len(names) > MOST_LEFT_OUT:
        order = np.argsort([hashlib.blake2b(name.encode(), digest_size=8).hexdigest() for name in names])
        group[order] = np.arange(len(names)) % (GROUPS if len(names) < MANY else FEW_GROUPS)
    count = int(group.max()) + 1
    moved = [compute(group[owners] != each) for each in range(count)]
    known = [value for value in moved if value is not None]
    if len(known) < count or count < 2:
        return "without one of the items it is undefined, so its error is unknown", [None] * len(names)
    pulls = (count - 1) / count * (np.mean(known) - np.array(known))
    # The sum is enlarged by m / (m - 1) for m items later on; for groups it should be by their number.
    right = math.sqrt((count / (count - 1)) / (len(names) / (len(names) - 1)))
    sizes = np.bincount(group, minlength=count)
    return None, [float(pulls[each] * right / math.sqrt(sizes[each])) for each in group]


def _by_item(items: Words, subjects: Words, raters: Words, values: Numbers) -> dict[str, Any]:
    """τ within every item, whose replies are the subjects behind the name of the item and `PARTED`."""
    rater_place = {rater: place for place, rater in enumerate(sorted({str(each) for each in raters}))}
    if len(rater_place) < 2:
        return _nothing(ALONE)
    replies: dict[str, dict[str, int]] = {}
    given: dict[str, list[tuple[int, int, float]]] = {}
    owner: dict[str, str] = {}
    for item, subject, rater, value in zip(items, subjects, raters, values, strict=True):
        block, _, reply = str(subject).partition(PARTED)
        owner[block] = str(item)
        places = replies.setdefault(block, {})
        place = places.setdefault(reply, len(places))
        if value is not None:
            given.setdefault(block, []).append((rater_place[str(rater)], place, value))
    matrices = []
    for block, places in replies.items():
        matrix = np.full((len(rater_place), len(places)), np.nan)
        for rater_index, place, value in given.get(block, ()):
            matrix[rater_index, place] = value
        matrices.append(matrix)
    found = tau_by_item(matrices)
    if found.value is None:
        return _nothing(str(found.reason))
    counted = int((~np.isnan(found.figures)).sum())
    pulls: dict[str, float] = {}
    for block, figure in zip(replies, found.figures, strict=True):
        if not np.isnan(figure):
            pulls[owner[block]] = pulls.get(owner[block], 0.0) + float(figure - found.value) / counted
    return {"value": found.value, "reason": None, "items": list(pulls), "pulls": list(pulls.values()), "draws": None}


def _median(items: Words, values: Numbers) -> dict[str, Any]:
    """Return the median, its draws, and pulls that come to the error of the draws: an item's pull on the share of
    values below the median, on that scale."""
    pairs = [(str(item), value) for item, value in zip(items, values, strict=True) if value is not None]
    if not pairs:
        return _nothing("nothing has a value")
    owners, numbers = [item for item, _ in pairs], np.array([value for _, value in pairs], dtype=np.float64)
    value = float(np.median(numbers))
    names, places = np.unique(owners, return_inverse=True)
    m = len(names)
    found = {"value": value, "items": names.tolist()}
    if m < LEAST_ITEMS:
        few = f"{m} items say too little: a median of fewer than {LEAST_ITEMS} has no interval of 95 %"
        told = "one item says nothing about the error" if m == 1 else few
        return {**found, "reason": told, "pulls": [None] * m, "draws": None}
    drawn = medians(owners, numbers)
    known = np.array(drawn)[np.isfinite(drawn)]
    below = (numbers < value) + 0.5 * (numbers == value)
    pulls = np.bincount(places, below.mean() - below, minlength=m)
    size = math.sqrt(float((pulls**2).sum()) * m / (m - 1))
    scale = float(known.std(ddof=1)) / size if size > 0 else 0.0
    alike = "items do not differ: nothing shows the error" if numbers.min() == numbers.max() else None
    return {**found, "reason": alike, "pulls": (pulls * scale).tolist(), "draws": drawn}


def _nothing(reason: str) -> dict[str, Any]:
    return {"value": None, "reason": reason, "items": [], "pulls": [], "draws": None}
