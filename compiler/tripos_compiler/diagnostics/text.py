"""Diagnostics as text for a terminal: headline, place, the line with carets, and the mend."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tripos_compiler.diagnostics.model import Diagnostic, Label
from tripos_compiler.diagnostics.silence import Silenced
from tripos_compiler.diagnostics.snippet import Piece, draw, fit_together
from tripos_compiler.diagnostics.wrap import cells, printable, wrap

RED, YELLOW, BLUE, CYAN, BOLD, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
LEAST = 20
"""The columns that words are given however narrow the terminal is."""

Paint = Callable[..., str]


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool = False, width: int = 80) -> str:
    """All diagnostics, an empty line between them, ending in a line feed; empty where there are none.

    Words are wrapped and quoted lines cut to `width` columns; a path is neither.
    """
    blocks = [_block(diagnostic, color, width) for diagnostic in diagnostics]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`, or `no mistakes`."""
    counts = {"error": 0, "warning": 0}
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    parts = [_counted(count, name) for name, count in counts.items() if count]
    return ", ".join(parts) or "no mistakes"


def render_silenced(silenced: Iterable[Silenced], *, width: int = 80) -> str:
    """How many warnings were silenced, which, where and why, ending in a line feed; empty where there are none."""
    told = []
    for each in silenced:
        span = each.diagnostic.labels[0].span
        why = printable(each.reason) or "no reason given"
        told.append(f"{each.diagnostic.code} at {span.source.path}:{span.source.position(span.start)[0]} ({why})")
    if not told:
        return ""
    head = f"{_counted(len(told), 'warning')} silenced:"
    if len(told) == 1:
        lines = _hung(f"{head} ", told[0], width, hang=2)
    else:
        lines = [head, *(line for each in told for line in _hung("  ", each, width, hang=4))]
    return "\n".join(lines) + "\n"


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'s' if count != 1 else ''}"


def _block(diagnostic: Diagnostic, color: bool, width: int) -> str:
    def paint(text: str, *codes: str) -> str:
        return "".join(codes) + text + PLAIN if color and text else text

    tone = RED if diagnostic.severity == "error" else YELLOW
    head = f"{diagnostic.severity}[{diagnostic.code}]: "
    first, *more = _hung(head, diagnostic.message, width)
    lines = [paint(head[:-2], BOLD, tone) + paint(first[len(head) - 2 :], BOLD)]
    lines.extend(paint(line, BOLD) for line in more)
    gutter = max((len(str(_line_of(label))) for label in diagnostic.labels), default=1)
    lines.extend(_places(diagnostic.labels, gutter, width, tone, paint))
    said_below = [("note", note) for note in diagnostic.notes]
    if diagnostic.help:
        said_below.append(("help", diagnostic.help))
    for kind, what in said_below:
        begin = f"{' ' * gutter} = "
        first, *more = _hung(f"{begin}{kind}: ", what, width)
        sign = " " * (gutter + 1) + paint("=", BLUE) + " " + paint(kind, BOLD)
        lines.append(sign + first[len(begin) + len(kind) :])
        lines.extend(more)
    return "\n".join(lines)


def _hung(begin: str, text: str, width: int, hang: int | None = None) -> list[str]:
    """The lines of a text that begins with something; those after the first are indented by `hang`, or as far."""
    first, *more = wrap(printable(text), max(width - cells(begin), LEAST))
    margin = cells(begin) if hang is None else hang
    return [begin + first, *(" " * margin + line for line in more)]


def _places(labels: tuple[Label, ...], gutter: int, width: int, tone: str, paint: Paint) -> list[str]:
    """The places in their order, those that are neighbours on one line below that line."""
    lines: list[str] = []
    margin, bar = " " * gutter, paint("|", BLUE)
    room = max(width - gutter - 3, 1)
    path: str | None = None
    for group in _groups(labels, room):
        source = group[0].span.source
        line, column = source.position(group[0].span.start)
        if source.path != path:
            arrow = paint("-->" if path is None else ":::", BLUE)
            lines.append(f"{margin}{arrow} {source.path}:{line}:{column}")
            lines.append(f"{margin} {bar}")
            path = source.path
        snippet = draw(group, labels[0], room)
        lines.append(f"{paint(f'{line:>{gutter}}', BLUE)} {bar} {snippet.line}".rstrip())
        for row in snippet.rows:
            lines.append(f"{margin} {bar} {_compose(row, tone, paint)}")
    return lines


def _groups(labels: tuple[Label, ...], room: int) -> list[list[Label]]:
    groups: list[list[Label]] = []
    for label in labels:
        if groups and all(fit_together(label, other, room) for other in groups[-1]):
            groups[-1].append(label)
        else:
            groups.append([label])
    return groups


def _line_of(label: Label) -> int:
    return label.span.source.position(label.span.start)[0]


def _compose(row: tuple[Piece, ...], tone: str, paint: Paint) -> str:
    line, at = "", 0
    for piece in row:
        line += " " * (piece.column - at) + paint(piece.text, tone if piece.primary else CYAN)
        at = piece.column + cells(piece.text)
    return line
