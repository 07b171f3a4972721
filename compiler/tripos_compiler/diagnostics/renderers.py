"""Renderers of diagnostics: text for a terminal, JSON, workflow commands of GitHub Actions, and SARIF 2.1.0.

SARIF is that of OASIS, 27 March 2020. Braces in messages are not doubled as in §3.11.5: no message has arguments, and
viewers show such text unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Edit, Label, Silenced
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import counted, display_width, printable, wrap
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span

# Quoted lines

TAB = "    "
NEAR = 8
"""Number of characters for each column that are examined on both sides of a place: most characters have one column, and
combining marks have none."""
ROOM = 30
"""Columns that the text of a label needs to be worth wrapping."""


@dataclass(frozen=True)
class LabelText:
    """Text in a row and the column in which it starts, from 0. `primary` selects the colour."""

    column: int
    text: str
    primary: bool


@dataclass(frozen=True)
class Snippet:
    """Quoted line and the rows below it, each from left to right."""

    line: str
    rows: tuple[tuple[LabelText, ...], ...]


@dataclass(frozen=True)
class _Mark:
    column: int
    width: int
    text: str
    primary: bool

    @property
    def end(self) -> int:
        return self.column + self.width

    @property
    def drawn(self) -> LabelText:
        return LabelText(self.column, ("^" if self.primary else "-") * self.width, self.primary)


def quote_line(labels: Sequence[Label], primary: Label, width: int) -> Snippet:
    """Return the line on which labels start, in `width` columns, cut if it is longer.

    All labels start on one line and pass `fit_together`. The first line of a multi-line label is marked.
    """
    source = labels[0].span.source
    number, _ = source.position(labels[0].span.start)
    line = source.line(number)
    places = [_place(label, line) for label in labels]
    text, places, is_start = _near(line, places, width)
    first = _cut(text, min(start for start, _ in places), max(end for _, end in places), width)
    before = "…" if first or not is_start else ""
    marks = []
    for label, (start, end) in zip(labels, places, strict=True):
        column = display_width(before + _untabbed(text[first:start]))
        wide = max(1, min(display_width(_untabbed(text[start:end])), width - column))
        marks.append(_Mark(column, wide, " ".join(printable(localized(label.text)).split()), label is primary))
    rows = [row for group_mark in _group_marks(marks, width) for row in _rows(group_mark, width)]
    return Snippet(_fit(before + _untabbed(text[first:]), width), tuple(rows))


def fit_together(one: Label, other: Label, width: int) -> bool:
    """Return true if two labels start on one line and both marks are visible at once."""
    source = one.span.source
    number, _ = source.position(one.span.start)
    if other.span.source is not source or source.position(other.span.start)[0] != number:
        return False
    line = source.line(number)
    places = [_place(label, line) for label in (one, other)]
    start, end = min(start for start, _ in places), max(end for _, end in places)
    return end - start <= NEAR * width and display_width(_untabbed(printable(line[start:end]))) <= width - 2


def _near(line: str, places: list[tuple[int, int]], width: int) -> tuple[str, list[tuple[int, int]], bool]:
    """Return the printable part of a line around some places, the places in it, and whether it is the start of the
    line. The rest is omitted, since a line may be a whole file."""
    low = max(0, min(start for start, _ in places) - NEAR * width)
    high = min(len(line), max(start for start, _ in places) + NEAR * width)
    return printable(line[low:high]), [(start - low, min(end, high) - low) for start, end in places], low == 0


def _place(label: Label, line: str) -> tuple[int, int]:
    """Return the start and end of a label's mark in its line, in characters. It has at least one character, possibly
    behind the end of the line."""
    start = min(label.span.source.position(label.span.start)[1] - 1, len(line))
    end = min(start + max(label.span.end - label.span.start, 1), max(len(line.rstrip()), start + 1))
    return start, end


def _cut(text: str, start: int, end: int, width: int) -> int:
    """Return the first character to show, so that `start:end` is visible with about as much text before it as fits."""
    seen = display_width(_untabbed(text[:start])) + max(1, display_width(_untabbed(text[start:end])))
    if seen <= (width if display_width(_untabbed(text)) <= width else width - 1):
        return 0
    before = max(width // 2, width - 1 - max(1, display_width(_untabbed(text[start:]))))
    first, taken = start, 0
    while first > 0 and (taken := taken + display_width(_untabbed(text[first - 1]))) < before:
        first -= 1
    return first


def _untabbed(text: str) -> str:
    return text.replace("\t", TAB)


def _fit(text: str, width: int) -> str:
    if display_width(text) <= width:
        return text
    used = 0
    for index, char in enumerate(text):
        used += display_width(char)
        if used > width - 1:
            return text[:index] + "…"
    return text


def _group_marks(marks: Sequence[_Mark], width: int) -> list[list[_Mark]]:
    """Return groups of marks that share a row, from left to right. Marks that overlap or leave too little room for a
    text have their own row."""
    shared: list[list[_Mark]] = []
    for mark in marks:
        if shared and len(shared[-1]) == 1 and _may_share(shared[-1][0], mark, width):
            shared[-1] = sorted((shared[-1][0], mark), key=lambda one: one.column)
        else:
            shared.append([mark])
    return shared


def _may_share(earlier: _Mark, later: _Mark, width: int) -> bool:
    mark, right = sorted((earlier, later), key=lambda one: one.column)
    # The text on the right is read first, so labels in left-to-right order need rows of their own.
    in_order = earlier is right or earlier.primary or not (earlier.text and later.text)
    return in_order and mark.end < right.column and _has_room(mark, width) and _has_room(right, width)


def _has_room(mark: _Mark, width: int) -> bool:
    return display_width(mark.text) <= width - mark.column or width - mark.column >= ROOM


def _rows(marks: list[_Mark], width: int) -> list[tuple[LabelText, ...]]:
    """Return the rows for marks side by side. The text of the last mark follows it if there is room; other texts are
    below."""
    rows: list[list[LabelText]] = [[mark.drawn for mark in marks]]
    for index in range(len(marks) - 1, -1, -1):
        mark, left = marks[index], marks[:index]
        bars = [LabelText(left_mark.column, "|", left_mark.primary) for left_mark in left if left_mark.text]
        if not mark.text:
            continue
        room = width - mark.end - 1
        if len(rows) == 1 and index == len(marks) - 1 and (display_width(mark.text) <= room or room >= ROOM):
            first, *more = wrap(mark.text, room)
            column = mark.end + 1
            rows[0].append(LabelText(column, first, mark.primary))
        else:
            wide = max(ROOM, min(display_width(mark.text), width // 2))
            column = mark.column if _has_room(mark, width) else max(0, width - wide)
            if column == mark.column:
                rows.append([*bars, LabelText(column, "|", mark.primary)])
            more = wrap(mark.text, max(width - column, 1))
        rows.extend([*bars, LabelText(column, line, mark.primary)] for line in more)
    return [tuple(row) for row in rows]


# Terminal

RED, YELLOW, BLUE, CYAN, BOLD, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
MAX_SHOWN = 100
"""Number of diagnostics shown by default: later ones are often consequences of earlier ones."""
LEAST = 20
"""Least number of columns for text in a narrow terminal."""

Paint = Callable[..., str]


def render_text(
    diagnostics: Iterable[Diagnostic],
    *,
    color: bool = False,
    width: int = 80,
    most: int | None = None,
    others: str = "",
) -> str:
    """Return all diagnostics, separated by an empty line, ending in a line feed; empty if there are none.

    Text is wrapped and quoted lines are cut to `width` columns; paths are not. With `most`, at most that many are
    shown, errors before warnings, and a line gives the number of the others followed by `others`.
    """
    reported = list(diagnostics)
    shown = reported if most is None else _worst(reported, most)
    blocks = [_block(diagnostic, color, width) for diagnostic in shown]
    if len(shown) < len(reported):
        blocks.append(localized(f"and {len(reported) - len(shown):,} more{others}"))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _worst(reported: list[Diagnostic], most: int) -> list[Diagnostic]:
    """Return the first diagnostics, in order; warnings only if there is room besides the errors."""
    places = sorted(range(len(reported)), key=lambda place: reported[place].severity != "error")[:most]
    return [reported[place] for place in sorted(places)]


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the counts: `2 errors, 1 warning`, or `no mistakes`."""
    counts = {"error": 0, "warning": 0}
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    parts = {"error": counted(counts["error"], "error"), "warning": counted(counts["warning"], "warning")}
    return localized(", ".join(text for name, text in parts.items() if counts[name]) or "no mistakes")


def render_silenced(silenced: Iterable[Silenced], *, width: int = 80) -> str:
    """Return the number of silenced warnings, and each with its place and reason, ending in a line feed; empty if there
    are none."""
    texts = []
    for item in silenced:
        span = item.diagnostic.labels[0].span
        why = printable(item.reason) or localized("no reason given")
        place = f"{printable(span.source.path)}:{span.source.position(span.start)[0]}"
        texts.append(localized(f"{item.diagnostic.code} at {place} ({why})"))
    if not texts:
        return ""
    head = localized(f"{counted(len(texts), 'warning')} silenced:")
    if len(texts) == 1:
        lines = _hung(f"{head} ", texts[0], width, hang=2)
    else:
        lines = [head, *(line for text in texts for line in _hung("  ", text, width, hang=4))]
    return "\n".join(lines) + "\n"


def _block(diagnostic: Diagnostic, color: bool, width: int) -> str:
    def paint(text: str, *codes: str) -> str:
        return "".join(codes) + text + PLAIN if color and text else text

    tone = RED if diagnostic.severity == "error" else YELLOW
    colon = localized(": ")
    head = f"{localized(diagnostic.severity)}[{diagnostic.code}]"
    first, *more = _hung(f"{head}{colon}", localized(diagnostic.message), width)
    lines = [paint(head, BOLD, tone) + paint(first[len(head) :], BOLD)]
    lines.extend(paint(line, BOLD) for line in more)
    gutter = max((len(str(_line_of(label))) for label in diagnostic.labels), default=1)
    lines.extend(_places(diagnostic.labels, gutter, width, tone, paint))
    said_below = [(localized("note"), note) for note in diagnostic.notes]
    if diagnostic.help:
        said_below.append((localized("help"), diagnostic.help))
    for kind, what in said_below:
        begin = f"{' ' * gutter} = "
        first, *more = _hung(f"{begin}{kind}{colon}", localized(what), width)
        sign = " " * (gutter + 1) + paint("=", BLUE) + " " + paint(kind, BOLD)
        lines.append(sign + first[len(begin) + len(kind) :])
        lines.extend(more)
    return "\n".join(lines)


def _hung(begin: str, text: str, width: int, hang: int | None = None) -> list[str]:
    """Return the lines of a text after `begin`; later lines are indented by `hang`, by default the width of `begin`."""
    first, *more = wrap(printable(text), max(width - display_width(begin), LEAST))
    margin = display_width(begin) if hang is None else hang
    return [begin + first, *(" " * margin + line for line in more)]


def _places(labels: tuple[Label, ...], gutter: int, width: int, tone: str, paint: Paint) -> list[str]:
    """Return the places in order; those on one line are marked below it together."""
    lines: list[str] = []
    margin, bar = " " * gutter, paint("|", BLUE)
    room = max(width - gutter - 3, 1)
    path: str | None = None
    for group in _groups(labels, room):
        source = group[0].span.source
        line, column = source.position(group[0].span.start)
        if source.path != path:
            arrow = paint("-->" if path is None else ":::", BLUE)
            lines.append(f"{margin}{arrow} {printable(source.path)}:{line}:{column}")
            lines.append(f"{margin} {bar}")
            path = source.path
        snippet = quote_line(group, labels[0], room)
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


def _compose(row: tuple[LabelText, ...], tone: str, paint: Paint) -> str:
    line, at = "", 0
    for piece in row:
        line += " " * (piece.column - at) + paint(piece.text, tone if piece.primary else CYAN)
        at = piece.column + display_width(piece.text)
    return line


# GitHub Actions


def to_github(diagnostics: Iterable[Diagnostic], *, path_from: Callable[[str], str]) -> str:
    """Return one workflow command for each diagnostic, each ending in a line feed. `path_from` returns the path of a
    file from the root of the repository.

    Notes, help and the other places are in the message. Columns are omitted for places on several lines, which GitHub
    does not support.
    """
    return "".join(f"{_command(item, path_from)}\n" for item in diagnostics)


def _command(item: Diagnostic, path_from: Callable[[str], str]) -> str:
    properties: dict[str, str | int] = {}
    if item.labels:
        span = item.labels[0].span
        (line, column), (last, end) = span.source.position(span.start), span.source.position(span.end)
        properties = {"file": path_from(span.source.path), "line": line, "endLine": last}
        if line == last:
            properties |= {"col": column, "endColumn": end}
    properties["title"] = f"{item.code} {CODES[item.code]}"
    texts = [item.message]
    if item.labels and item.labels[0].text:
        texts.append(item.labels[0].text)
    texts.extend(_told(label, path_from) for label in item.labels[1:])
    texts.extend(f"note: {note}" for note in item.notes)
    if item.help:
        texts.append(f"help: {item.help}")
    text = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items())
    return f"::{item.severity} {text}::{_escaped(chr(10).join(texts))}"


def _told(label: Label, path_from: Callable[[str], str]) -> str:
    source = label.span.source
    place = f"{path_from(source.path)}:{source.position(label.span.start)[0]}"
    return f"{place}: {label.text}" if label.text else place


def _escaped(text: str, signs: str = "") -> str:
    r"""Return a text escaped for a workflow command: `%` and line breaks as in a URL.

    >>> _escaped("100%\nof a:b", ":,")
    '100%25%0Aof a%3Ab'
    """
    for sign in "%\r\n" + signs:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


# SARIF

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"

PathFrom = Callable[[str], str]
"""Maps the path of a spec file to one relative to the root of the project, or to an absolute path if it is outside."""


def to_sarif(
    diagnostics: Iterable[Diagnostic], silenced: Iterable[Silenced] = (), *, version: str, path_from: PathFrom
) -> dict[str, Any]:
    """Return a SARIF log of one run. Every code that occurs is a rule with its page; silenced warnings are suppressed
    results.

    Columns are code points, as everywhere in Tripos, and ends are exclusive. `version` is the version of Tripos.
    """
    results: list[tuple[Diagnostic, list[Silenced]]] = [(item, []) for item in diagnostics]
    results.extend((one.diagnostic, [one]) for one in silenced)
    codes = sorted({item.code for item, _ in results})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "tripos", "version": version, "rules": [_rule(code) for code in codes]}},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {ROOT: {"description": {"text": "the root of the project that was checked"}}},
                "results": [
                    _result(item, codes.index(item.code), path_from)
                    | {"suppressions": [_suppression(one, path_from) for one in silencing]}
                    for item, silencing in results
                ],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    page = find_page(code) or ""
    return {"id": code, "shortDescription": {"text": CODES[code]}, "help": {"text": page, "markdown": page}}


def _result(item: Diagnostic, rule: int, path_from: PathFrom) -> dict[str, Any]:
    texts = [item.message, *(f"note: {note}" for note in item.notes), *([f"help: {item.help}"] if item.help else [])]
    result: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": rule,
        "level": item.severity,
        "message": {"text": "\n".join(texts)},
        "locations": [_location(label, path_from) for label in item.labels[:1]],
    }
    if item.labels[1:]:
        result["relatedLocations"] = [
            {"id": number} | _location(label, path_from) for number, label in enumerate(item.labels[1:], 1)
        ]
    if item.edits:
        result["fixes"] = [_fix(item, path_from)]
    return result


def _location(label: Label, path_from: PathFrom) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(label.span, path_from), "region": _region(label.span)}
    }
    if label.text:
        location["message"] = {"text": label.text}
    return location


def _artifact(span: Span, path_from: PathFrom) -> dict[str, Any]:
    path = path_from(span.source.path)
    if path.startswith("/") or re.match("[A-Za-z]:/", path):
        return {"uri": f"file:///{quote(path.lstrip('/'), safe='/:')}"}
    return {"uri": quote(path), "uriBaseId": ROOT}


def _region(span: Span) -> dict[str, int]:
    start, end = span.source.position(span.start), span.source.position(span.end)
    return {"startLine": start[0], "startColumn": start[1], "endLine": end[0], "endColumn": end[1]}


def _fix(item: Diagnostic, path_from: PathFrom) -> dict[str, Any]:
    by_file: dict[str, list[Edit]] = {}
    for edit in item.edits:
        by_file.setdefault(edit.span.source.path, []).append(edit)
    changes = [
        {
            "artifactLocation": _artifact(edits[0].span, path_from),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
            ],
        }
        for edits in by_file.values()
    ]
    fix: dict[str, Any] = {"artifactChanges": changes}
    return ({"description": {"text": item.help}} if item.help else {}) | fix


def _suppression(silenced: Silenced, path_from: PathFrom) -> dict[str, Any]:
    suppression = {"kind": "inSource", "location": _location(Label(silenced.comment), path_from)}
    return suppression | ({"justification": silenced.reason} if silenced.reason else {})


# JSON


def to_data(diagnostics: Iterable[Diagnostic], silenced: Iterable[Silenced] = ()) -> list[dict[str, Any]]:
    """Return each diagnostic as a JSON object, followed by the silenced ones with their reason, which may be empty.

    Lines and columns count from 1, columns in code points, ends are exclusive.
    """
    return [
        *(_object(diagnostic) | {"silenced": None} for diagnostic in diagnostics),
        *(_object(one.diagnostic) | {"silenced": {"reason": one.reason}} for one in silenced),
    ]


def _object(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
        "labels": [_position(label.span) | {"text": label.text} for label in diagnostic.labels],
        "edits": [_position(edit.span) | {"text": edit.text} for edit in diagnostic.edits],
    }


def _position(span: Span) -> dict[str, Any]:
    start, end = span.source.position(span.start), span.source.position(span.end)
    return {
        "path": span.source.path,
        "start": {"line": start[0], "column": start[1]},
        "end": {"line": end[0], "column": end[1]},
    }
