"""The order of what is printed: sets are sorted, lists stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

T = TypeVar("T")


def ordered(items: Iterable[T]) -> list[T]:
    """The items as a list; those of a set sorted, texts by code point.

    >>> ordered({"b", "a"}), ordered(("b", "a"))
    (['a', 'b'], ['b', 'a'])
    """
    return in_order(items) if isinstance(items, AbstractSet) else list(items)


def in_order(items: Iterable[T]) -> list[T]:
    """The items from the least to the greatest. Raises `TypeError` where they have no order.

    >>> in_order([2, 1, 2])
    [1, 2, 2]
    """
    sortable: Iterable[Any] = items
    return sorted(sortable)
