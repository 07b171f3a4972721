"""Values of JSON as values of one type: tolerant of form, strict about content."""

from __future__ import annotations

from typing import Any

from tripos_compiler.language.replies.truth import read_truth
from tripos_runtime.reading.plain_text import elements_in


class Unreadable(Exception):
    """The reason why a value cannot be read; never leaves this room."""


def as_text(raw: Any) -> str:
    """Return a text; of a list of texts its lines."""
    match raw:
        case str():
            return raw
        case bool():
            return str(raw).lower()
        case int() | float():
            return str(raw)
        case list() if all(isinstance(part, str) for part in raw):
            return "\n".join(raw)
        case _:
            raise Unreadable("a text was asked for")


def as_number(raw: Any) -> float:
    """Return a number."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise Unreadable("a number was asked for")
    try:
        return float(raw)
    except OverflowError:
        raise Unreadable(f"`{short(str(raw))}` is not one number") from None


def as_integer(raw: Any, low: int | None, high: int | None) -> int:
    """Return a whole number within its bounds."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise Unreadable("a whole number was asked for")
    value = int(raw)
    if value != raw:
        raise Unreadable(f"{raw:g} is not a whole number")
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"{'' if low is None else low}..{'' if high is None else high}"
        raise Unreadable(f"{short(str(value))} is not in {bounds}")
    return value


def as_bool(raw: Any) -> bool:
    """Return a truth value, also of a word that says one."""
    if isinstance(raw, bool):
        return raw
    found = read_truth(raw) if isinstance(raw, str) else None
    if found is None:
        raise Unreadable(f"`{short(str(raw))}` is neither yes nor no")
    return found


def parts_of(raw: Any) -> list[Any]:
    """Return the elements of a list, also of one written as lines or with commas."""
    if isinstance(raw, list):
        return raw
    return elements_in(raw) if isinstance(raw, str) else [raw]


def as_set(values: list[Any]) -> frozenset[Any] | list[Any]:
    """Return a set; of records, which can be in none, the list of them, each once."""
    try:
        return frozenset(values)
    except TypeError:
        # Records cannot be members of a set; without repeats, the list of them is one.
        first: dict[Any, Any] = {}
        for value in values:
            first.setdefault(_hashable(value), value)
        return list(first.values())


def _hashable(value: Any) -> Any:
    match value:
        case dict():
            return frozenset((name, _hashable(part)) for name, part in value.items())
        case list():
            return tuple(map(_hashable, value))
    return value


def short(text: str) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}…"
