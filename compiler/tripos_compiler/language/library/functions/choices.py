"""Functions of choices, and of values that may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.library.types import Implied, T, type_notation
from tripos_compiler.plan import IntegerType, Type


def default(value: T | None, fallback: T) -> T:
    """Return the value, or the fallback where it is missing or has no value.

    The fallback is only looked at then: `default(nth(parts, 1), "")`.

    >>> default(None, "none given"), default(3, 0)
    ('none given', 3)
    """
    return fallback if value is None else value


def readable(value: T | None) -> T:
    """Return the value; where it is missing, or a reply leaves it undefined, the reply counts as one that could not be
    read.

    A dependent score is then a `parse_failure`, which no measure counts unless it says `missing: zero`. So
    `readable(last_number(reply.text)) == q.answer` tells an answer that is wrong from one that is none, where
    `default(…)` makes one of the other.

    >>> readable("B")
    'B'
    """
    if value is None:
        raise Undefined("nothing that could be read")
    return value


def choose(condition: bool, this: T, other: T) -> T:
    """Return the one value where a condition holds, and the other where it does not.

    Only that one is looked at, so `choose` guards against what has no value.

    >>> choose(True, "right", "wrong"), choose(False, 1, 0)
    ('right', 0)
    """
    return this if condition else other


def reveal(value: T, rows: int = 1) -> T:
    """Return the value itself, which may be shown though it is secret: the door of the [proof](secrecy.md#reveal).

    With `rows`, what is shown follows from whole columns of data sets of at least so many rows. It is a whole number
    of 1 or more, written out.

    >>> reveal("42"), reveal(["sums", "tables"], rows=20)
    ('42', ['sums', 'tables'])
    """
    return value


def rank(value: str, order: Annotated[Sequence[str], Implied("values", "value")] = ()) -> int:
    """Return the position of a value, counted from 0, among the values of its choice.

    They are in the order in which the choice lists them. Of a text, `order` says the order; a text that it does not
    hold has no rank, and what depends on it has no value.

    >>> rank("medium", ["easy", "medium", "hard"])
    1
    """
    if value not in order:
        raise Undefined("the text is not in the order")
    return order.index(value)


def rank_type(types: Mapping[str, Type | Sequence[Type]]) -> Type | str:
    """Return the positions that there are; a message where neither the type nor an argument says the order.

    >>> from tripos_compiler.plan import ChoiceType, TextType
    >>> rank_type({"value": ChoiceType(values=("low", "high"))}) == IntegerType(low=0, high=1)
    True
    """
    value = types["value"]
    assert not isinstance(value, Sequence)
    if "order" in types:
        return IntegerType()
    if value.kind != "choice":
        return f"`{type_notation(value)}` has no order of its own; give it: `order: (…, …)`"
    return IntegerType(low=0, high=len(value.values) - 1)
