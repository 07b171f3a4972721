"""String literals: escapes, dedenting, and where each character came from."""

from __future__ import annotations

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Offsets, Text

ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_string(span: Span, raw: str, diagnostics: Diagnostics) -> Text:
    """The text of a `"one line"` literal, escapes resolved."""
    first, last = 1, len(raw) - 1
    parts: list[str] = []
    indexes, places = [0], [span.low + 1]
    length = 0
    while (escape := raw.find("\\", first, last)) >= 0:
        escaped = raw[escape + 1]
        if escaped not in ESCAPES:
            place = Span(span.anchor, span.low + escape, span.low + escape + 2)
            diagnostics.error("E0105", f"unknown escape `\\{escaped}`", place, help='write \\n, \\t, \\" or \\\\')
        parts += [raw[first:escape], ESCAPES.get(escaped, escaped)]
        length += escape - first + 1
        first = escape + 2
        indexes.append(length)
        places.append(span.low + first)
    parts.append(raw[first:last])
    return Text(span, "".join(parts), Offsets(span.anchor, tuple(indexes), tuple(places)))


def read_text(span: Span, raw: str) -> Text:
    """The text of a triple-quoted literal: first line break dropped, common indent removed, trailing line dropped."""
    body, start = raw[3:-3], span.low + 3
    lines: list[tuple[int, str]] = []
    for line in body.split("\n"):
        lines.append((start, line.removesuffix("\r")))
        start += len(line) + 1
    if len(lines) > 1 and not lines[0][1].strip():
        lines = lines[1:]
    if len(lines) > 1 and not lines[-1][1].strip():
        lines = lines[:-1]
    indent = min((len(line) - len(line.lstrip()) for _, line in lines if line.strip()), default=0)
    kept: list[str] = []
    indexes: list[int] = []
    places: list[int] = []
    length = 0
    for number, (place, line) in enumerate(lines):
        if number:  # the line break before
            indexes.append(length)
            places.append(place - 1)
            length += 1
        indexes.append(length)
        places.append(place + indent)
        kept.append(line[indent:] if line.strip() else "")
        length += len(kept[-1])
    indexes.append(length)
    places.append(span.high - 3)
    return Text(span, "\n".join(kept), Offsets(span.anchor, tuple(indexes), tuple(places)))
