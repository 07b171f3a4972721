"""Diagnostics as text for a terminal: headline, place, the line with carets, and the mend."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from tripos_compiler.diagnostics.model import Diagnostic, Label

RED, YELLOW, BLUE, CYAN, BOLD, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
TAB = "    "


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool = False, width: int = 80) -> str:
    """All diagnostics, an empty line between them, ending in a line feed; empty where there are none."""
    blocks = [_block(diagnostic, color, width) for diagnostic in diagnostics]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`, or `no mistakes`."""
    counts = {"error": 0, "warning": 0}
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    parts = [f"{count} {name}{'s' if count != 1 else ''}" for name, count in counts.items() if count]
    return ", ".join(parts) or "no mistakes"


def _block(diagnostic: Diagnostic, color: bool, width: int) -> str:
    def paint(text: str, *codes: str) -> str:
        return "".join(codes) + text + PLAIN if color else text

    tone = RED if diagnostic.severity == "error" else YELLOW
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    lines = [f"{paint(head, BOLD, tone)}{paint(': ' + diagnostic.message, BOLD)}"]
    gutter = _gutter(diagnostic.labels)
    bar = paint("|", BLUE)
    previous: str | None = None
    for index, label in enumerate(diagnostic.labels):
        source = label.span.source
        line, column = source.position(label.span.start)
        if source.path != previous:
            arrow = paint("-->" if index == 0 else ":::", BLUE)
            lines.append(f"{' ' * gutter}{arrow} {source.path}:{line}:{column}")
            lines.append(f"{' ' * gutter} {bar}")
            previous = source.path
        text, before, mark = _snippet(label, width - gutter - 4)
        number = paint(f"{line:>{gutter}}", BLUE)
        lines.append(f"{number} {bar} {text}")
        caret = ("^" if index == 0 else "-") * mark
        said = f"{caret} {label.text}".rstrip()
        lines.append(f"{' ' * gutter} {bar} {' ' * before}{paint(said, tone if index == 0 else CYAN)}")
    said_below = [("note", note) for note in diagnostic.notes]
    if diagnostic.help:
        said_below.append(("help", diagnostic.help))
    for kind, what in said_below:
        lines.append(f"{' ' * gutter} {paint('=', BLUE)} {paint(kind, BOLD)}: {what}")
    return "\n".join(lines)


def _gutter(labels: tuple[Label, ...]) -> int:
    return max((len(str(label.span.source.position(label.span.start)[0])) for label in labels), default=1)


def _snippet(label: Label, width: int) -> tuple[str, int, int]:
    """The line, cut round the label where it is too long; the columns before the mark and those it covers."""
    source, span = label.span.source, label.span
    number, column = source.position(span.start)
    line = "".join(char if char == "\t" or unicodedata.category(char) != "Cc" else "�" for char in source.line(number))
    start = min(column - 1, len(line))
    end = min(start + max(span.end - span.start, 1), max(len(line), start + 1))
    first = 0
    if cells(line) > width and cells(line[:end]) > width:
        first = max(0, start - width // 2)
    shown = line[first:].replace("\t", TAB)
    prefix = "…" if first else ""
    cut = _fit(prefix + shown, width)
    before = cells(prefix + line[first:start].replace("\t", TAB))
    mark = max(1, cells(line[start:end].replace("\t", TAB)))
    return cut, before, max(1, min(mark, width - before))


def _fit(text: str, width: int) -> str:
    if cells(text) <= width:
        return text
    used = 0
    for index, char in enumerate(text):
        used += cells(char)
        if used > width - 1:
            return text[:index] + "…"
    return text


def cells(text: str) -> int:
    """How many columns a text takes in a terminal; a Chinese character takes two.

    >>> cells("ab"), cells("难度")
    (2, 4)
    """
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
