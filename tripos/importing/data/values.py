"""The narrowest type of the language that holds the values of a column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tripos_compiler.diagnostics import localized
from tripos_compiler.language import read_turns
from tripos_compiler.language.library import in_bounds

NAME = re.compile(r"[^\W\d]\w*")
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)\.\d+")
WORDS = frozenset({"true", "false"})
LETTER = re.compile(r"[A-J]")
MOST_NAMES = 12
"""A column with more different texts than that is a text, and no choice."""
LONGEST_NAME = 24
ROWS_A_NAME = 3
"""A choice has so many rows for each of its names, or it is a text whose values happen to repeat."""
SUFFIXES = {"image": (".png", ".jpg", ".jpeg", ".gif", ".webp"), "audio": (".wav", ".mp3"), "file": (".pdf",)}
"""The ends of names of files that a model can be shown, by the type that shows them."""
SPEAKERS = frozenset({"speaker", "role", "from", "user"})


def type_of(values: Iterable[Any]) -> str:
    """Return the type of values, with `?` where some are missing; `json` where no narrower one holds them.

    >>> type_of(["1", "12"]), type_of(["007", "1"]), type_of([1, 2.5]), type_of([["a"], None]), type_of([{"a": 1}])
    ('integer', 'text', 'number', 'list<text>?', '{ a integer }')
    >>> type_of(["a", 1]), type_of(["up", "down"] * 3), type_of(["B", "C"] * 3)
    ('json', 'choice(up, down)', 'choice(A, B, C)')
    """
    given = list(values)
    held = [each for each in given if not missing(each)]
    if not held:
        return "text?"
    found = _type(held)
    if len(held) == len(given):
        return found
    return "json?" if found.startswith("{") else f"{found}?"  # no record may be missing


def missing(value: Any) -> bool:
    """Return whether a cell holds nothing."""
    return value is None or value == ""


def unfit(values: Sequence[Any]) -> str | None:
    """Return why no type holds values as they are: a number that is none or too large, or bytes of no known kind.

    >>> unfit([1, 2.5, "x", [None]]), unfit([{"a": 2**64}]), unfit([float("nan")])
    (None, 'a whole number beyond 64 bits, which belongs in quotation marks', 'a number that is NaN or past ±1e70')
    """
    held = [each for value in values for each in _parts(value)]
    if any(isinstance(each, bytes) for each in held):
        return None if _type(list(values)) in SUFFIXES else localized("bytes of no known kind")
    numbers = [each for each in held if isinstance(each, int | float)]
    if not all(map(in_bounds, numbers)):
        return localized("a number that is NaN or past ±1e70")
    # JSON gives a whole number beyond 64 bits as the nearest floating point.
    whole = all(isinstance(each, int) or (each.is_integer() and abs(each) >= 2**63) for each in numbers)
    if whole and any(abs(each) >= 2**63 for each in numbers):
        return localized("a whole number beyond 64 bits, which belongs in quotation marks")
    return None


def _parts(value: Any) -> Iterator[Any]:
    match value:
        case Mapping():
            for each in value.values():
                yield from _parts(each)
        case list():
            for each in value:
                yield from _parts(each)
        case _:
            yield value


def choice(names: Sequence[str]) -> str:
    """Return the type of these names.

    >>> choice(["yes", "not sure"])
    'choice(yes, "not sure")'
    """
    return f"choice({', '.join(map(_name, names))})"


def letters(most: int) -> list[str]:
    """Return the first capital letters.

    >>> letters(3)
    ['A', 'B', 'C']
    """
    return [chr(ord("A") + each) for each in range(most)]


def _name(text: str) -> str:
    return text if NAME.fullmatch(text) and text.casefold() not in WORDS else json.dumps(text, ensure_ascii=False)


def _type(held: list[Any]) -> str:
    if all(isinstance(each, bool) for each in held):
        return "bool"
    if all(isinstance(each, str) for each in held):
        return _type_of_texts(held)
    if all(isinstance(each, int | float) and not isinstance(each, bool) for each in held):
        return "integer" if all(isinstance(each, int) for each in held) else "number"
    if all(isinstance(each, bytes) or _is_medium(each) for each in held):
        return _type_of_contents(held)
    if all(isinstance(each, list) for each in held):
        return _type_of_lists(held)
    if all(isinstance(each, Mapping) for each in held):
        return _type_of_records(held)
    return "json"


def _type_of_texts(held: list[str]) -> str:
    """Return the type of cells of CSV, where all is text. What has a zero in front is a text: its zeros count."""
    if all(WHOLE.fullmatch(each) for each in held):
        return "integer"
    if all((WHOLE.fullmatch(each) or DECIMAL.fullmatch(each)) and in_bounds(float(each)) for each in held):
        return "number"
    if {each.casefold() for each in held} <= WORDS:
        return "bool"
    names = list(dict.fromkeys(held))
    if len(names) > 1 and len(held) >= ROWS_A_NAME * len(names) and len(names) <= MOST_NAMES:
        if all(LETTER.fullmatch(each) for each in names):
            return choice(letters(ord(max(names)) - ord("A") + 1))
        if all(_is_short(each) for each in names):
            return choice(names)
    if all(each.lstrip().startswith(("[", "{")) for each in held):
        parsed = [_parsed(each) for each in held]
        if all(isinstance(each, list) for each in parsed) or all(isinstance(each, Mapping) for each in parsed):
            return _type(parsed)
    return "text"


def _is_short(text: str) -> bool:
    """Return whether a text can be the name of a choice; one of digits alone is a number of something."""
    return text == text.strip() and text.isprintable() and len(text) <= LONGEST_NAME and any(map(str.isalpha, text))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _type_of_lists(held: list[list[Any]]) -> str:
    if all(held) and all(map(_is_dialogue, held)):
        return "dialogue"
    items = [item for each in held for item in each]
    if all(isinstance(item, str) for item in items):
        return "list<text>"
    inner = type_of(items)
    return "json" if inner.startswith(("json", "dialogue", "choice")) else f"list<{inner}>"


def _is_dialogue(items: list[Any]) -> bool:
    return all(isinstance(item, Mapping) and SPEAKERS & set(item) for item in items) and read_turns(items) is not None


def _type_of_records(held: list[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for each in held for name in each))
    if not names or not all(NAME.fullmatch(name) for name in names):
        return "json"
    parts = [f"{name} {type_of([each.get(name) for each in held])}" for name in names]
    return f"{{ {', '.join(parts)} }}"


def _is_medium(value: Any) -> bool:
    """Return whether a cell is a record with `bytes` and `path`, as the library `datasets` writes files."""
    return isinstance(value, Mapping) and set(value) == {"bytes", "path"}


def _type_of_contents(held: list[Any]) -> str:
    """Return the type of files that cells hold, by what the contents begin with."""
    from tripos_runtime.datasets import type_of as mime_of

    contents = [each if isinstance(each, bytes) else each["bytes"] for each in held]
    mimes = {mime_of(each) if isinstance(each, bytes) else "" for each in contents}
    kinds = {"file" if each == "application/pdf" else each.partition("/")[0] for each in mimes}
    kind = kinds.pop() if len(kinds) == 1 else ""
    return kind if kind in SUFFIXES else "json"
