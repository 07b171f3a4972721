r"""Regular expressions in Python's syntax, searched in linear time by RE2.

An expression is parsed by Python's parser and rewritten in RE2's syntax, so that `\d`, `\w`, `\s`, `\b` and `$` keep
their Python meaning for every script. Constructs that cannot be searched in linear time are refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import _constants as ops, _parser
from string import ascii_letters
from typing import Any, Literal

from tripos_compiler.source.data_classes import dataclass

MAX_REPEATS = 1_000
"""RE2's limit of repetitions."""
_LARGEST = 64 << 20
"""Largest size of a compiled expression in bytes."""
_EDGE = r"[a\-]"
_AHEAD = rf"(?:{_EDGE}[^\n]{_EDGE}|\n)*?"
"""Text before a position in an edge-marked text."""
_AROUND = "looks ahead or behind", 'write two conditions: `matches(text, "a") and not matches(text, "b")`'
_GROUP = "depends on what a group found", "write every case out: `aa|bb` for `([ab])\\1`"
_ONCE = "does not try all ways to match", "write `*`, `+`, `?` or `(?:…)`: the search takes linear time without it"
_FEWER = f"allow at most {MAX_REPEATS:,} repetitions in all, or any number: `a{{5,}}`"
_OTHERS = {
    ops.ASSERT: _AROUND,
    ops.ASSERT_NOT: _AROUND,
    ops.FAILURE: _AROUND,
    ops.GROUPREF: _GROUP,
    ops.GROUPREF_EXISTS: _GROUP,
    ops.ATOMIC_GROUP: _ONCE,
    ops.POSSESSIVE_REPEAT: _ONCE,
}
"""Constructs that cannot be searched in linear time: a description and the fix."""
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
"""Letters equal to `i` without regard to case in Python, but not in RE2."""
_HALF = re.compile("[\ud800-\udfff]")


class NotLinearError(ValueError):
    """An expression cannot be searched in linear time; the text is the reason, and `fix` the hint."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.fix = fix


@lru_cache(256)
def searcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that decides whether an expression matches in a text. Raises `re.error` for an invalid
    expression, and `NotLinearError`.

    >>> searcher(r"^(a+)+$")("a" * 100_000 + "b"), searcher(r"\\bcafé\\b")("le café noir")
    (False, True)
    """
    parsed = _parsed(pattern)
    flags = parsed.state.flags
    writer = _PatternWriter()
    plain = _compiled(writer.sequence(parsed, flags))
    if not writer.edges:
        return lambda text: plain.search(_encodable(text)) is not None
    is_ascii = writer.edged_in_ascii
    wide = _compiled(rf"\A{_AHEAD}(?:{_PatternWriter(edged=True).sequence(parsed, flags)})")

    def search(text: str) -> bool:
        if text.isascii():
            return plain.search(text) is not None
        return wide.search(_edged(_encodable(text), is_ascii)) is not None

    return search


@dataclass(frozen=True)
class PatternMatch:
    """Match of an expression with its groups; None for a group without a match."""

    start: int
    end: int
    groups: tuple[str | None, ...]


@lru_cache(256)
def finder(pattern: str) -> Callable[[str], list[PatternMatch]]:
    """Return a function that lists all non-empty matches of an expression in a text, from left to right. Raises the
    errors of `searcher`.

    >>> [text.groups for text in finder(r"(\\w+)=(\\d)?")("a=1, été=")]
    [('a', '1'), ('été', None)]
    """
    parsed = _parsed(pattern)
    flags = parsed.state.flags
    writer = _PatternWriter(capturing=True)
    plain = _compiled(f"({writer.sequence(parsed, flags)})".encode())
    groups = tuple(writer.groups)
    if not writer.edges:
        return lambda text: _find(_PlainText(text), plain, groups)
    is_ascii = writer.edged_in_ascii
    edged = _PatternWriter(edged=True, capturing=True).sequence(parsed, flags)
    wide = _compiled(f"{_AHEAD}({edged})".encode())

    def find(text: str) -> list[PatternMatch]:
        if text.isascii():
            return _find(_PlainText(text), plain, groups)
        return _find(_EdgedText(text, is_ascii), wide, groups)

    return find


def _parsed(pattern: str) -> _parser.SubPattern:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `[[` may come to mean something else in a later Python
        re.compile(pattern)
        return _parser.parse(pattern)


def _compiled(pattern: str | bytes) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _LARGEST
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise NotLinearError("repeats what is repeated too often", _FEWER) from error


class _PlainText:
    """Text as bytes to search, with the mapping from bytes to characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = _encodable(text).encode()

    def match(self, compiled: Any, start: int) -> Any:
        """Return the first match from a byte on."""
        return compiled.search(self.data, start)

    def after(self, at: int) -> int:
        """Return the byte position of the next character."""
        return at + 1

    def characters(self, start: int, end: int) -> int:
        """Return the number of characters in a range of bytes."""
        return len(self.data[start:end].decode())


class _EdgedText(_PlainText):
    """Text in which each character is enclosed in signs that say whether it is a word character."""

    def __init__(self, text: str, is_ascii: bool) -> None:
        super().__init__(text)
        self.data = _edged(_encodable(text), is_ascii).encode()

    def match(self, compiled: Any, start: int) -> Any:
        return compiled.match(self.data, start)

    def after(self, at: int) -> int:
        if self.data[at] == ord("\n"):
            return at + 1
        lead = self.data[at + 1]
        return at + 2 + (1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)

    def characters(self, start: int, end: int) -> int:
        text = self.data[start:end].decode()
        lines = text.count("\n")
        return lines + (len(text) - lines) // 3


def _find(text: _PlainText, compiled: Any, groups: tuple[str, ...]) -> list[PatternMatch]:
    """Return the matches of an expression whose first group is the whole match, followed by `groups`."""
    matches: list[PatternMatch] = []
    at = counted = characters = 0
    while at < len(text.data) and (match := text.match(compiled, at)) is not None:
        spans = [match.span(number) for number in range(2, len(groups) + 2)]
        start, end = match.span(1)
        end = min([end, *(span[0] for span, kind in zip(spans, groups, strict=True) if kind == "end" and span[0] >= 0)])
        if start == end:
            at = text.after(start) if start < len(text.data) else start
            continue
        characters, counted = characters + text.characters(counted, start), start
        first = characters

        def held(span: tuple[int, int], start: int = start, end: int = end, first: int = first) -> str | None:
            if span[0] < 0:
                return None
            begin = first + text.characters(start, min(span[0], end))
            return text.text[begin : begin + text.characters(min(span[0], end), min(span[1], end))]

        own = tuple(held(span) for span, kind in zip(spans, groups, strict=True) if kind == "group")
        matches.append(PatternMatch(first, first + text.characters(start, end), own))
        at = end
    return matches


class _PatternWriter:
    """Writes Python's parsed expression in RE2's syntax.

    RE2 supports word boundaries only for ASCII. If `edged`, every character is searched between two signs that say
    whether it is a word character, as `_edged` writes them.
    """

    def __init__(self, edged: bool = False, capturing: bool = False) -> None:
        self.edged = edged
        self.capturing = capturing
        self.groups: list[Literal["group", "end"]] = []
        """The groups that were written, in their order: of the expression, and of line breaks at the end."""
        self.edges: set[bool] = set()
        """Which edges of words it looks for: of those of ASCII letters, of all, or of both."""

    @property
    def edged_in_ascii(self) -> bool:
        """Return whether word boundaries are those of ASCII words. Raises `NotLinearError` if an expression has both
        kinds."""
        if len(self.edges) > 1:
            raise NotLinearError("has edges of words of two kinds", "write `(?a)` in front, or not at all")
        return True in self.edges

    def sequence(self, parts: Iterable[tuple[Any, Any]], flags: int) -> str:
        """Return the concatenation of the parts."""
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
            number, added, removed, parts = value
            captured = self.capturing and number is not None
            if captured:
                self.groups.append("group")
            return f"{'(' if captured else '(?:'}{self.sequence(parts, (flags | added) & ~removed)})"
        low, high, repeated = value
        if low > MAX_REPEATS or (high is not ops.MAXREPEAT and high > MAX_REPEATS):
            raise NotLinearError(f"repeats something more than {MAX_REPEATS:,} times", _FEWER)
        most = "" if high is ops.MAXREPEAT else high
        shortest = "?" if op is ops.MIN_REPEAT else ""
        return f"(?:{self.sequence(repeated, flags)}){{{low},{most}}}{shortest}"

    def _place(self, place: Any, flags: int) -> str:
        lines = flags & re.MULTILINE
        if place is ops.AT_BEGINNING:
            return "(?m:^)" if lines else r"\A"
        if place is ops.AT_END:
            return "(?m:$)" if lines else self._end_of_text()
        if place is ops.AT_BEGINNING_STRING:
            return r"\A"
        if place is ops.AT_END_STRING:
            return r"\z"
        self.edges.add(bool(flags & re.ASCII))
        return r"\b" if place is ops.AT_BOUNDARY else r"\B"

    def _end_of_text(self) -> str:
        """Return the end of a text, before an optional final line break."""
        if not self.capturing:
            return r"(?:\n?\z)"
        self.groups.append("end")
        return r"(?:(\n?)\z)"

    def _one_of(self, items: Iterable[tuple[Any, Any]], flags: int) -> str:
        negated = False
        texts: list[str] = []
        held = False
        for op, value in items:
            if op is ops.NEGATE:
                negated = True
            elif op is ops.LITERAL:
                texts.append(_escaped(value, flags))
                held = held or value == ord("\n")
            elif op is ops.RANGE:
                low, high = value
                texts.append(rf"\x{{{low:x}}}-\x{{{high:x}}}{_more_of_range(low, high, flags)}")
                held = held or low <= ord("\n") <= high
            else:
                texts.append(_category(value, flags))
                held = held or value in (ops.CATEGORY_SPACE, ops.CATEGORY_NOT_DIGIT, ops.CATEGORY_NOT_WORD)
        one = f"[{'^' * negated}{''.join(texts)}]"
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
    """Return the additional letters of a range if case is ignored."""
    if not flags & re.IGNORECASE:
        return ""
    if flags & re.ASCII:
        return "".join(ascii_letter for ascii_letter in ascii_letters if low <= ord(ascii_letter.swapcase()) <= high)
    held = (each for each in _DOTLESS if low <= ord(each) <= high or low <= ord(each.upper()[0]) <= high)
    return "".join(_DOTLESS[each] for each in held)


def _category(category: Any, flags: int) -> str:
    ranges = _ASCII if flags & re.ASCII else _WIDE
    if category in ranges:
        return ranges[category]
    return _without(ranges[_OPPOSITE[category]])


@lru_cache
def _without(ranges: str) -> str:
    """Return the complement of ranges: RE2 has no negated set inside a set."""
    import re2

    pieces: list[str] = []
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    for match in re2.finditer(f"[^{ranges}]+", everything):
        first, last = ord(match[0][0]), ord(match[0][-1])
        pieces.append(rf"\x{{{first:x}}}-\x{{{last:x}}}")
    return "".join(pieces)


def _encodable(text: str) -> str:
    """Return a text whose surrogate halves are replaced by private-use characters, since UTF-8 cannot encode them."""
    return text if text.isascii() else _HALF.sub(lambda half: chr(ord(half[0]) + 0x100000), text)


def _edged(text: str, is_ascii: bool) -> str:
    """Return a text with a sign on both sides of each character, `a` for a word character; line breaks stay."""
    pieces = []
    for each in text:
        in_word = each == "_" or (each.isalnum() and (each.isascii() or not is_ascii))
        sign = "" if each == "\n" else "a" if in_word else "-"
        pieces.append(f"{sign}{each}{sign}")
    return "".join(pieces)
