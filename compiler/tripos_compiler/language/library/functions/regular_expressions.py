"""Regular expressions that are written as Python's and searched for in linear time, by RE2.

An expression is parsed by Python and put into RE2's syntax, so that `\\d`, `\\w`, `\\s`, `\\b` and `$` mean what they
mean in Python, for every script. What no engine searches for in linear time is refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import (
    _constants as ops,
    _parser,
)
from string import ascii_letters
from typing import Any

MOST_REPEATS = 1_000
"""RE2 takes no more."""
_LARGEST = 64 << 20
"""Bytes that a compiled expression may take."""
_EDGE = r"[a\-]"
_AROUND = "looks ahead or behind", 'write two conditions: `matches(text, "a") and not matches(text, "b")`'
_GROUP = "depends on what a group found", "write every case out: `aa|bb` for `([ab])\\1`"
_ONCE = "does not try all ways to match", "write `*`, `+`, `?` or `(?:…)`: the search takes linear time without it"
_FEWER = f"allow at most {MOST_REPEATS:,} repetitions in all, or any number: `a{{5,}}`"
_OTHERS = {
    ops.ASSERT: _AROUND,
    ops.ASSERT_NOT: _AROUND,
    ops.FAILURE: _AROUND,
    ops.GROUPREF: _GROUP,
    ops.GROUPREF_EXISTS: _GROUP,
    ops.ATOMIC_GROUP: _ONCE,
    ops.POSSESSIVE_REPEAT: _ONCE,
}
"""What is in no linear expression: what it does, and what mends it."""
_WIDE = {
    ops.CATEGORY_DIGIT: r"\p{Nd}",
    ops.CATEGORY_NOT_DIGIT: r"\P{Nd}",
    ops.CATEGORY_SPACE: r"\t-\r\x1c-\x20\x85\p{Z}",
    ops.CATEGORY_WORD: r"\p{L}\p{N}_",
}
_ASCII = {
    ops.CATEGORY_DIGIT: "0-9",
    ops.CATEGORY_NOT_DIGIT: r"\x00-/:-\x{10ffff}",
    ops.CATEGORY_SPACE: r"\t-\r\x20",
    ops.CATEGORY_WORD: "0-9A-Z_a-z",
}
_OPPOSITE = {ops.CATEGORY_NOT_SPACE: ops.CATEGORY_SPACE, ops.CATEGORY_NOT_WORD: ops.CATEGORY_WORD}
_DOTLESS = {"i": "\u0130\u0131", "\u0130": "iI\u0131", "\u0131": "iI\u0130"}
"""Letters that are `i` to Python where case does not matter, and not to RE2."""
_HALF = re.compile("[\ud800-\udfff]")


class NotLinearError(ValueError):
    """An expression that cannot be searched for in linear time; the text says why, and `mend` what to write."""

    def __init__(self, reason: str, mend: str) -> None:
        super().__init__(reason)
        self.mend = mend


@lru_cache(256)
def searcher(pattern: str) -> Callable[[str], bool]:
    """Say of a text whether an expression is found in it. Raises `re.error` where it is none, and `NotLinearError`.

    >>> searcher(r"^(a+)+$")("a" * 100_000 + "b"), searcher(r"\\bcafé\\b")("le café noir")
    (False, True)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `[[` may come to mean something else in a later Python
        re.compile(pattern)
        parsed = _parser.parse(pattern)
    writer = _PatternWriter()
    plain = _compiled(writer.sequence(parsed, parsed.state.flags))
    if not writer.edges:
        return lambda text: plain(_encodable(text))
    if len(writer.edges) > 1:
        raise NotLinearError("has edges of words of two kinds", "write `(?a)` in front, or not at all")
    is_ascii = True in writer.edges
    edged = _PatternWriter(edged=True).sequence(parsed, parsed.state.flags)
    wide = _compiled(rf"\A(?:{_EDGE}[^\n]{_EDGE}|\n)*?(?:{edged})")
    return lambda text: plain(text) if text.isascii() else wide(_edged(_encodable(text), is_ascii))


def _compiled(pattern: str) -> Callable[[str], bool]:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _LARGEST
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise NotLinearError("repeats what is repeated too often", _FEWER) from error
    return lambda text: compiled.search(text) is not None


class _PatternWriter:
    """Writes what Python parsed in RE2's syntax. RE2 knows the edges of words of ASCII letters only: `edged`, every
    character is looked for between two signs that tell whether it is part of a word, as `_edged` writes a text."""

    def __init__(self, edged: bool = False) -> None:
        self.edged = edged
        self.edges: set[bool] = set()
        """Which edges of words it looks for: of those of ASCII letters, of all, or of both."""

    def sequence(self, parts: Iterable[tuple[Any, Any]], flags: int) -> str:
        """Return one part behind the other."""
        return "".join(self._part(op, value, flags) for op, value in parts)

    def _part(self, op: Any, value: Any, flags: int) -> str:
        if op in _OTHERS:
            raise NotLinearError(*_OTHERS[op])
        if op is ops.LITERAL:
            return self._one_of([(op, value)], flags)
        if op is ops.NOT_LITERAL:
            return self._one_of([(ops.NEGATE, None), (ops.LITERAL, value)], flags)
        if op is ops.IN:
            return self._one_of(value, flags)
        if op is ops.ANY:
            return self._character(r"[\x00-\x{10ffff}]" if flags & re.DOTALL else r"[^\n]", bool(flags & re.DOTALL))
        if op is ops.AT:
            return self._place(value, flags)
        if op is ops.BRANCH:
            return f"(?:{'|'.join(self.sequence(each, flags) for each in value[1])})"
        if op is ops.SUBPATTERN:
            _, added, removed, parts = value
            return f"(?:{self.sequence(parts, (flags | added) & ~removed)})"
        low, high, repeated = value  # greedy or not: it is found or not
        if low > MOST_REPEATS or (high is not ops.MAXREPEAT and high > MOST_REPEATS):
            raise NotLinearError(f"repeats something more than {MOST_REPEATS:,} times", _FEWER)
        most = "" if high is ops.MAXREPEAT else high
        return f"(?:{self.sequence(repeated, flags)}){{{low},{most}}}"

    def _place(self, place: Any, flags: int) -> str:
        lines = flags & re.MULTILINE
        if place is ops.AT_BEGINNING:
            return "(?m:^)" if lines else r"\A"
        if place is ops.AT_END:
            return "(?m:$)" if lines else r"(?:\n?\z)"
        if place is ops.AT_BEGINNING_STRING:
            return r"\A"
        if place is ops.AT_END_STRING:
            return r"\z"
        self.edges.add(bool(flags & re.ASCII))
        return r"\b" if place is ops.AT_BOUNDARY else r"\B"

    def _one_of(self, items: Iterable[tuple[Any, Any]], flags: int) -> str:
        negated = False
        written: list[str] = []
        held = False
        for op, value in items:
            if op is ops.NEGATE:
                negated = True
            elif op is ops.LITERAL:
                written.append(_escaped(value, flags))
                held = held or value == ord("\n")
            elif op is ops.RANGE:
                low, high = value
                written.append(rf"\x{{{low:x}}}-\x{{{high:x}}}{_more_of_range(low, high, flags)}")
                held = held or low <= ord("\n") <= high
            else:
                written.append(_category(value, flags))
                held = held or value in (ops.CATEGORY_SPACE, ops.CATEGORY_NOT_DIGIT, ops.CATEGORY_NOT_WORD)
        one = f"[{'^' * negated}{''.join(written)}]"
        folded = flags & re.IGNORECASE and not flags & re.ASCII
        return self._character(f"(?i:{one})" if folded else one, held != negated)

    def _character(self, one: str, may_be_newline: bool) -> str:
        if not self.edged:
            return one
        between = f"{_EDGE}{one}{_EDGE}"
        return rf"(?:{between}|\n)" if may_be_newline else between


def _escaped(code: int, flags: int) -> str:
    whole = ord(_encodable(chr(code)))
    return rf"\x{{{whole:x}}}{_more_of_range(code, code, flags)}"


def _more_of_range(low: int, high: int, flags: int) -> str:
    """Return the letters that a range has too where case does not matter."""
    if not flags & re.IGNORECASE:
        return ""
    if flags & re.ASCII:
        return "".join(each for each in ascii_letters if low <= ord(each.swapcase()) <= high)
    held = (each for each in _DOTLESS if low <= ord(each) <= high or low <= ord(each.upper()[0]) <= high)
    return "".join(_DOTLESS[each] for each in held)


def _category(category: Any, flags: int) -> str:
    ranges = _ASCII if flags & re.ASCII else _WIDE
    if category in ranges:
        return ranges[category]
    return _without(ranges[_OPPOSITE[category]])


@lru_cache
def _without(ranges: str) -> str:
    """Return the ranges of all other characters: RE2 has no negated set within a set."""
    import re2

    pieces: list[str] = []
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    for found in re2.finditer(f"[^{ranges}]+", everything):
        first, last = ord(found[0][0]), ord(found[0][-1])
        pieces.append(rf"\x{{{first:x}}}-\x{{{last:x}}}")
    return "".join(pieces)


def _encodable(text: str) -> str:
    """Return a text whose halves of characters are characters of private use, since UTF-8 has none for them."""
    return text if text.isascii() else _HALF.sub(lambda half: chr(ord(half[0]) + 0x100000), text)


def _edged(text: str, is_ascii: bool) -> str:
    """Return a text with a sign on both sides of each character, `a` beside one of a word; lines stay lines."""
    pieces = []
    for each in text:
        in_word = each == "_" or (each.isalnum() and (each.isascii() or not is_ascii))
        sign = "" if each == "\n" else "a" if in_word else "-"
        pieces.append(f"{sign}{each}{sign}")
    return "".join(pieces)
