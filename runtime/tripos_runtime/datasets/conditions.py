"""Takes a condition on elements apart, so that most elements need not be looked at.

Of `x.subject == q.subject and x.level < 3` the first part is looked up in a table, the second is evaluated for those
that are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.language import NoValue, evaluate, names_in
from tripos_compiler.plan import Binary, Expr

SCALAR = (str, int, float, type(None))


@dataclass(frozen=True)
class Same:
    """An element's value has to equal one that does not depend on the element."""

    element: Expr
    other: Expr


@dataclass(frozen=True)
class SplitCondition:
    """A condition in parts that all have to hold: equalities, and the rest in the order in which it is written."""

    same: tuple[Same, ...]
    rest: tuple[Expr, ...]
    fixed: frozenset[int] = frozenset()
    """The places in `rest` of parts that say nothing of the element: each holds of all elements or of none."""


def split(where: Expr | None, alias: str) -> SplitCondition:
    """Return the parts of a condition on what is known as `alias`."""
    same: list[Same] = []
    rest: list[Expr] = []
    for part in _parts(where) if where is not None else ():
        if isinstance(part, Binary) and part.operator == "==":
            sides = (part.left, part.right)
            own = [side for side in sides if names_in(side) == {alias}]
            others = [side for side in sides if alias not in names_in(side)]
            if len(own) == len(others) == 1:
                same.append(Same(own[0], others[0]))
                continue
        rest.append(part)
    fixed = frozenset(place for place, part in enumerate(rest) if alias not in names_in(part))
    return SplitCondition(tuple(same), tuple(rest), fixed)


def holds(where: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if a condition holds of an element; where it has no value for it, it does not. Raises `Unavailable`
    where it needs what an earlier step did not yield."""
    try:
        return bool(evaluate(where, names))
    except NoValue:
        return False


def places_by_value(values: Sequence[Any]) -> dict[Any, list[int]] | None:
    """Return the places of every value, in order; None where one is no single value, which is compared in other ways.

    >>> places_by_value(["a", "b", "a"])
    {'a': [0, 2], 'b': [1]}
    >>> places_by_value([["a"]]) is None
    True
    """
    places: dict[Any, list[int]] = {}
    for place, value in enumerate(values):
        if not isinstance(value, SCALAR):
            return None
        places.setdefault(value, []).append(place)
    return places


def _parts(where: Expr) -> Iterator[Expr]:
    if isinstance(where, Binary) and where.operator == "and":
        yield from _parts(where.left)
        yield from _parts(where.right)
    else:
        yield where
