"""Statistics of comparisons that SQL has no formula for: strengths of models, and what judges think of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tripos_compiler.semantics.families import is_kin
from tripos_warehouse.statistics.bradley_terry import bradley_terry
from tripos_warehouse.statistics.severity import NOBODY_ELSE, fondness
from tripos_warehouse.statistics.verdicts import Verdict

BETWEEN = "\x1f"
"""Stands between a model and a judge where a statistic is about both."""

Words = Sequence[str | None]
Numbers = Sequence[float | None]


def strength(model: str, items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers) -> dict[str, Any]:
    """The strength of a model among all that are compared, in log odds (`bradley_terry`): `value`, or the `reason` why
    there is none, and what every one of `items` adds to it, `pulls`. `values` are 1 where the first won, 0 where the
    second did, 0.5 for a tie.

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
    """How much more often judges of its family prefer a model than others do, on the same replies (`fondness`). `about`
    is the model, or the model, `BETWEEN` and the one judge that is looked at. Gives what `strength` does.

    >>> found = self_preference("gpt-5", list("112233"), ["gpt-5"] * 6, ["o"] * 6, ["gpt-4o", "x"] * 3, [1.0, 0.5] * 3)
    >>> found["value"], self_preference("o", ["1"], ["gpt-5"], ["o"], ["x"], [1.0])["reason"]
    (0.5, "no judge is of a compared model's family")
    """
    model, _, judge = about.partition(BETWEEN)
    own = [each for each in dict.fromkeys(map(str, judges)) if judge in ("", each) and is_kin(each, model)]
    if not own:
        return _nothing(
            "the judge is not of the model's family" if judge else "no judge is of a compared model's family"
        )
    about_it = [
        value if model in (first, second) else None
        for first, second, value in zip(firsts, seconds, values, strict=True)
    ]
    fond = fondness(verdicts_of(items, firsts, seconds, judges, about_it), model, own, is_kin)
    count = len(fond.excesses)
    if not count:
        return _nothing(NOBODY_ELSE)
    value = sum(fond.excesses) / count
    pulls: dict[str, float] = {}
    for item, excess in zip(fond.items, fond.excesses, strict=True):
        pulls[str(item)] = pulls.get(str(item), 0.0) + (excess - value) / count
    return {"value": value, "reason": None, "items": list(pulls), "pulls": list(pulls.values()), "draws": None}


def verdicts_of(items: Words, firsts: Words, seconds: Words, judges: Words, values: Numbers) -> list[Verdict]:
    """The comparisons that have a value.

    >>> verdicts_of(["1", "1"], ["a", "b"], ["b", "a"], ["j", "j"], [1.0, None])
    [Verdict(first='a', second='b', winner='a', item='1', judge='j')]
    """
    return [
        Verdict(str(first), str(second), None if value == 0.5 else str(first if value else second), item, judge)
        for item, first, second, judge, value in zip(items, firsts, seconds, judges, values, strict=True)
        if value is not None
    ]


def _nothing(reason: str) -> dict[str, Any]:
    return {"value": None, "reason": reason, "items": [], "pulls": [], "draws": None}


OF_PAIRS: Mapping[str, Callable[[str, Words, Words, Words, Words, Numbers], dict[str, Any]]] = {
    "bradley_terry": strength,
    "self_preference": self_preference,
}
"""The statistics of comparisons, by the name of the aggregate."""
