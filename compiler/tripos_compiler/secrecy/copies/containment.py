"""Where in a value another stands: the same number, text or list, inside a record, a list or JSON, or with words
around it, at a place that can be told without knowing it.

A passage that has the answer somewhere, or a list of options that has it among others, does not say which it is; so a
place counts only where it is the same from row to row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from tripos_compiler.source import dataclass

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")
GROUPED = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?|[-+]?\d+(\.\d+)?")
OTHER = re.compile(r"[\W_]+")
WORD = re.compile(r"[^\W_]+")
TELLING = 200
"""So many characters at either end of a long text tell it from others."""
LONGEST = 4_000
"""So many characters of a text are looked through from either end."""
MOST_PARTS = 64
"""So many parts of a list or record are looked at."""
BEFORE = 16
"""So many characters before a value can say where it stands."""

Place = tuple[str, str]
"""A way to a part (`.key`, `[0]`), and where in its text the value stands: all of it, at its end, after some words."""


def comparable_text(value: Any) -> str:
    """Return what a value says, apart from how it is written: the same of `42`, "42" and "42.0", of "A, C" and ["a",
    "c"].

    >>> [comparable_text(value) for value in (42.0, " 1,000 ", "Mount Everest.", ["A", "C"], True, "-0.5")]
    ['42', '1000', 'mounteverest', 'ac', 'true', '-0.5']
    """
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            text = value.strip().rstrip(".")
            if len(text) < 40 and GROUPED.fullmatch(text):
                return _number(float(text.replace(",", "")) if "." in text else int(text.replace(",", "")))
            if len(text) > 2 * TELLING:
                text = f"{text[:TELLING]} {text[-TELLING:]}"
            return "".join(WORD.findall(text.casefold())) or text
        case frozenset() | set():
            return "".join(sorted(comparable_text(each) for each in value))
        case dict():
            return "".join(comparable_text(each) for each in value.values())
        case list() | tuple():
            return "".join(comparable_text(each) for each in value)
    return str(value)


def _number(value: int | float) -> str:
    if isinstance(value, float) and not (math.isfinite(value) and value.is_integer()):
        return repr(value)
    return str(int(value))


def parts_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a value, each with the way to it; of lists the first from either end.

    >>> list(parts_in({"key": "B", "notes": ["x", "y"]}))
    [('.key', 'B'), ('.notes[0]', 'x'), ('.notes[-1]', 'y')]
    >>> list(parts_in('{"key": 4}'))
    [('', '{"key": 4}'), ('.key', 4)]
    """
    found = 0
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting and found < MOST_PARTS:
        way, part = waiting.pop(0)
        match part:
            case dict():
                waiting += [(f"{way}.{name}", inner) for name, inner in part.items()]
            case list() | tuple() if part:
                waiting += [(f"{way}[0]", part[0])]
                waiting += [(f"{way}[-1]", part[-1])] if len(part) > 1 else []
            case frozenset() | set() if len(part) == 1:
                waiting += [(f"{way}[0]", next(iter(part)))]
            case str() | int() | float():
                found += 1
                yield way, part
                if isinstance(part, str) and part[:1] in ("{", "["):
                    inner = _json(part)
                    waiting += [(way, inner)] if isinstance(inner, dict | list) else []


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Said:
    """A value, what it says, and the same of its parts, with the ways to them; of a part that is a text also the text
    without case. `sought` is what stands, without case, in every text that has the value; "" for a number."""

    value: Any
    plain: str
    parts: tuple[tuple[str, Any, str, str | None], ...]
    sought: str
    plains: frozenset[str]
    """What it and its parts say."""
    folded: str
    """All its texts without case."""
    long: bool
    """True where a text is too long to be looked through."""
    numbers: frozenset[str]
    """The numbers in its texts."""

    def may_have(self, held: Said) -> bool:
        """Return false where a value certainly stands nowhere in this one."""
        if held.plain in self.plains:
            return held.plain != ""
        if held.sought:
            return held.sought in self.folded or self.long
        return held.plain in self.numbers


def look_at(value: Any) -> Said:
    """Return what a value and its parts say."""
    plain = comparable_text(value)
    parts = tuple(
        (way, part, comparable_text(part), part.casefold() if isinstance(part, str) else None)
        for way, part in parts_in(value)
    )
    texts = [part for _, part, _, folded in parts if folded is not None]
    return Said(
        value,
        plain,
        parts,
        "" if GROUPED.fullmatch(plain) else _written(value, plain).casefold(),
        frozenset((plain, *(said_there for _, _, said_there, _ in parts))),
        "\n".join(folded for _, _, _, folded in parts if folded is not None),
        any(len(text) > 2 * LONGEST for text in texts),
        frozenset(comparable_text(each) for text in texts for each in NUMBER.findall(_looked_through(text))),
    )


def said_together(all_said: Sequence[Said]) -> Said:
    """Return one value that may have (`Said.may_have`) whatever one of some values may have."""
    return Said(
        None,
        "",
        (),
        "",
        frozenset().union(*(each.plains for each in all_said)),
        "\n".join(each.folded for each in all_said),
        any(each.long for each in all_said),
        frozenset().union(*(each.numbers for each in all_said)),
    )


def occurrences(holder: Said, held: Said) -> set[Place]:
    """Return the places at which a value stands in another.

    >>> def stands(holder, held):
    ...     return sorted(occurrences(look_at(holder), look_at(held)))
    >>> stands("Answer: 42", 42), stands({"key": "b", "n": 1}, "B"), stands("Either 42 or 43 it is", 4)
    ([('', 'after answer:'), ('', 'end'), ('', 'number')], [('.key', 'all')], [])
    """
    if not holder.may_have(held):
        return set()
    wanted = held.plain
    if holder.plain == wanted:
        return {("", "all")}
    found: set[Place] = set()
    # Words that are nowhere in a text are at no place of it; what is left are few.
    for way, part, said_there, folded in holder.parts:
        if said_there == wanted:
            found.add((way, "all"))
        elif folded is not None and (held.sought in folded or len(part) > 2 * LONGEST):
            found.update((way, where) for where in _within(part, held.value, wanted))
    return found


def _written(held: Any, wanted: str) -> str:
    """Return how a value stands in a text."""
    return held.strip().rstrip(".") if isinstance(held, str) else wanted


def _looked_through(text: str) -> str:
    return text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]} {text[-LONGEST:]}"


def _within(text: str, held: Any, wanted: str) -> Iterator[str]:
    text = _looked_through(text)
    for start, end in _spans(text, held, wanted):
        if not OTHER.sub("", text[end:]):
            yield "end"
        before = text[:start].rstrip()
        if not OTHER.sub("", before):
            yield "start"
        words = " ".join(before[-3 * BEFORE :].casefold().split()[-2:])[-BEFORE:]
        if words:
            yield f"after {words}"
        if 2 * (end - start) >= len(text.strip()):
            yield "most"
    if NUMBER.fullmatch(wanted):
        numbers = [comparable_text(each) for each in NUMBER.findall(text)]
        if len(numbers) == 1 and numbers[0] == wanted:
            yield "number"


def _spans(text: str, held: Any, wanted: str) -> Iterator[tuple[int, int]]:
    """Yield where a value stands as words of their own."""
    if GROUPED.fullmatch(wanted):
        yield from (each.span() for each in NUMBER.finditer(text) if comparable_text(each[0]) == wanted)
        return
    written = _written(held, wanted)
    if not written:
        return
    lowered, sought = text.casefold(), written.casefold()
    if len(lowered) != len(text):  # a letter became two
        text = lowered
    start = lowered.find(sought)
    while start >= 0:
        end = start + len(sought)
        if not _joined(text, start) and not _joined(text, end):
            yield start, end
        start = lowered.find(sought, start + 1)


def _joined(text: str, place: int) -> bool:
    """Return true if the characters on both sides of a place belong to one word of letters."""
    if not 0 < place < len(text):
        return False
    one, two = text[place - 1], text[place]
    return one.isalnum() and two.isalnum() and one.isascii() and two.isascii()


def said(place: Place) -> str:
    """Return a place in words, with what stands there before it in a sentence.

    >>> said(("", "all")), said((".key", "all")), said(("", "after answer:"))
    ('has the value of', 'has in `.key` the value of', 'has after “answer:” the value of')
    """
    way, where = place
    inside = f" in `{way}`" if way else ""
    match where:
        case "all":
            return f"has{inside} the value of"
        case "end":
            return f"ends{inside} in the value of"
        case "start":
            return f"begins{inside} with the value of"
        case "most":
            return f"has{inside} little but the value of"
        case "number":
            return f"has{inside} as its only number the value of"
    return f"has{inside} after “{where.removeprefix('after ')}” the value of"
