"""What may come next in the head of a statement, by the signatures that what is there fits so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from pygments.token import Number, String

from tripos.language_server.cursor import Cursor, Element
from tripos_compiler.constructs.signature import NAME_SLOTS, STRING_SLOTS, Item, Maybe, Slot, Word
from tripos_compiler.constructs.table import FILE, Construct, constructs_in

WORDS = ("ALIAS", "NAME")
"""Slots that take a new name, which nothing can be proposed for."""


def candidates(cursor: Cursor) -> list[Construct]:
    """The constructs that the statement at a place may be."""
    if cursor.place not in _tables():
        return []
    table = constructs_in(cursor.place)
    return table.get(cursor.keyword) or table.get("", [])


def expected(cursor: Cursor) -> list[Word | Slot]:
    """What may stand at a place in a head; where an element was begun and is not over, what that may fill.

    >>> from tripos.language_server.cursor import cursor_at
    >>> [item.kind for item in expected(cursor_at("scenario s {\\n  ask a by ", 24)) if isinstance(item, Slot)]
    ['ROLE']
    """
    elements = cursor.elements
    begun = bool(elements) and elements[-1].open
    found: dict[Word | Slot, None] = {}
    for construct in candidates(cursor):
        found.update(dict.fromkeys(_next(construct.shape.items, elements[:-1] if begun else elements)))
    return [item for item in found if isinstance(item, Slot) or not begun]


@lru_cache(maxsize=1)
def _tables() -> frozenset[str]:
    from tripos_compiler.highlighting import places

    return frozenset((FILE, *places()))


def _next(items: Sequence[Item], elements: Sequence[Element]) -> Iterator[Word | Slot]:
    if not items:
        return
    head, rest = items[0], items[1:]
    match head:
        case Maybe(items=inner):
            yield from _next((*inner, *rest), elements)
            yield from _next(rest, elements)
        case Slot(kind="LABELS") if elements:
            taken = _labels(elements)
            if taken == len(elements) or (not taken and _is_name(elements[0]) and len(elements) == 1):
                yield head
            if taken:
                yield from _next(rest, elements[taken:])
        case Slot(many=True) if elements:
            if _fits(head, elements[0]):
                yield from _next((head, *rest), elements[1:])
                yield from _next(rest, elements[1:])
        case Word() | Slot():
            if not elements:
                yield head
            elif _fits(head, elements[0]):
                yield from _next(rest, elements[1:])


def _labels(elements: Sequence[Element]) -> int:
    """How many elements at the start are strings, each with or without a language before it."""
    index = 0
    while index < len(elements):
        if _is_string(elements[index]):
            index += 1
        elif _is_name(elements[index]) and index + 1 < len(elements) and _is_string(elements[index + 1]):
            index += 2
        else:
            break
    return index


def _fits(item: Word | Slot, element: Element) -> bool:
    first = element.tokens[0]
    if isinstance(item, Word):
        return len(element.tokens) == 1 and first.text in item.texts
    if item.kind in NAME_SLOTS:
        return _is_name(element)
    if item.kind in STRING_SLOTS:
        return _is_string(element)
    if item.kind in ("COUNT", "NUMBER"):
        return first.of(Number)
    return not element.alone


def _is_name(element: Element) -> bool:
    first = element.tokens[0]
    return len(element.tokens) == 1 and not _is_string(element) and not first.of(Number) and not element.alone


def _is_string(element: Element) -> bool:
    return element.tokens[0].of(String)
