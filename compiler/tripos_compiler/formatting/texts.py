"""Strings of many lines: their lines move with the statement, their value stays."""

from __future__ import annotations

from tripos_compiler.source import Source, Span
from tripos_compiler.syntax.strings import read_text

QUOTES = '"""'


def laid_out(raw: str, indent: int) -> str:
    r"""A string as written, laid out for a line that begins in column `indent`, counted from 0. The first line of the
    result goes on on that line.

    Content and closing quotes stand one step deeper than the line. A string on one line, and one whose value would
    change, is left as it is.

    >>> laid_out(QUOTES + "a\n  b" + QUOTES, 2).split("\n")[1:3]
    ['    a', '      b']
    """
    if "\n" not in raw or not raw.startswith(QUOTES):
        return raw
    value = _value(raw)
    if not value:
        return QUOTES + QUOTES
    margin = " " * (indent + 2)
    lines = (margin + line if line else "" for line in value.split("\n"))
    text = "\n".join((QUOTES, *lines, margin + QUOTES))
    return text if _value(text) == value else raw


def _value(raw: str) -> str:
    return read_text(Span(Source("", raw), 0, len(raw)), raw).value
