"""String literals: escapes, dedenting, and where each character came from."""

from __future__ import annotations

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Text

ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_string(span: Span, raw: str, diagnostics: Diagnostics) -> Text:
    """The text of a `"one line"` literal, escapes resolved."""
    chars: list[str] = []
    offsets: list[int] = []
    index = 1
    while index < len(raw) - 1:
        offsets.append(span.start + index)
        if raw[index] == "\\":
            escaped = raw[index + 1]
            if escaped not in ESCAPES:
                place = Span(span.source, span.start + index, span.start + index + 2)
                diagnostics.error("E0105", f"unknown escape `\\{escaped}`", place, help='write \\n, \\t, \\" or \\\\')
            chars.append(ESCAPES.get(escaped, escaped))
            index += 2
        else:
            chars.append(raw[index])
            index += 1
    offsets.append(span.start + index)
    return Text(span, "".join(chars), tuple(offsets))


def read_text(span: Span, raw: str) -> Text:
    """The text of a triple-quoted literal: first line break dropped, common indent removed, trailing line dropped."""
    body, start = raw[3:-3], span.start + 3
    lines: list[tuple[int, str]] = []
    offset = start
    for line in body.split("\n"):
        lines.append((offset, line.removesuffix("\r")))
        offset += len(line) + 1
    if len(lines) > 1 and not lines[0][1].strip():
        lines = lines[1:]
    if len(lines) > 1 and not lines[-1][1].strip():
        lines = lines[:-1]
    indents = [len(line) - len(line.lstrip()) for _, line in lines if line.strip()]
    indent = min(indents, default=0)
    chars: list[str] = []
    offsets: list[int] = []
    for number, (place, line) in enumerate(lines):
        if number:
            chars.append("\n")
            offsets.append(place - 1)
        kept = line[indent:] if line.strip() else ""
        chars.extend(kept)
        offsets.extend(range(place + indent, place + indent + len(kept)))
    offsets.append(span.end - 3)
    return Text(span, "".join(chars), tuple(offsets))
