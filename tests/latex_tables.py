"""A strict reader of the tables that Tripos writes in LaTeX, for machines without TeX.

It knows every command that such a table may have, the arguments of each, how many columns a row spans, and what
siunitx reads as a number. Anything else is an error, although LaTeX might accept it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SYMBOLS = {
    *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar", "symbol"),
    *("textasciigrave", "textquotesingle", "ldots", "textemdash", "textendash", "textperiodcentered", "textdagger"),
    *("leq", "geq", "rightarrow", "times", "pm", "Delta"),
}
WITH_TEXT = {"emph", "underline", "textsuperscript", "caption", "footnotesize", "bfseries", "par", "smallskip"}
NUMBER = re.compile(
    r"(?:\\bfseries )?(?P<number>[-+]?\d+(?:\.\d+)?)(?: \\pm (?P<error>\d+(?:\.\d+)?))?"
    r"(?: \{\\textsuperscript\{\\textdagger\}\})?"
)
FORMAT = re.compile(r"table-format=(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<places>\d+))?(?:\((?P<error>\d+)\))?")
COLUMN = re.compile(r"(?P<kind>[lrc]|S\[(?P<options>(?:[^\[\]{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\])\s*|@\{\\ \}")
TOKEN = re.compile(r"\\([A-Za-z]+)|\\([^A-Za-z])|[{}]|[$&#%_^~]|[^\\{}$&#%_^~]+")


@dataclass(frozen=True)
class LatexTable:
    """A table as it would be printed: the cells of each row, with the number of columns that each spans."""

    columns: tuple[str, ...]
    """The kind of each column of `tabular`: `l`, `r`, `c`, or the options of a column of siunitx."""
    rows: tuple[tuple[tuple[str, int], ...], ...]


def check_text(text: str) -> None:
    """Fail for a command that no table has, an active character that is not escaped, or braces that do not match."""
    depth = 0
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token is not None, f"LaTeX would not read {text[at : at + 20]!r}"
        command, sign = token[1], token[2]
        if command is not None:
            assert command in SYMBOLS | WITH_TEXT, f"unknown command in {text!r}: \\{command}"
        elif sign is not None:
            assert sign in "{}$&#%_()", f"unknown command in {text!r}: \\{sign}"
        elif token[0] in "{}":
            depth += 1 if token[0] == "{" else -1
            assert depth >= 0, f"a brace too many in {text!r}"
        else:
            assert token[0] == "~" or token[0] not in "$&#%_^", f"an active {token[0]!r} in {text!r}"
        at = token.end()
    assert depth == 0, f"a brace is missing in {text!r}"
    assert text.count(r"\(") == text.count(r"\)")


def read_tables(latex: str) -> list[LatexTable]:
    """Return the tables of a text. Fails if LaTeX with booktabs and siunitx could not set one of them."""
    lines = [line.strip() for line in latex.splitlines() if not line.startswith("%")]
    tables: list[list[str]] = []
    for line in filter(None, lines):
        if line == r"\begin{table}":
            tables.append([])
        tables[-1].append(line)
    assert all(table[-1] == r"\end{table}" for table in tables)
    return [_table(table[1:-1]) for table in tables]


def _table(lines: list[str]) -> LatexTable:
    begins = [place for place, line in enumerate(lines) if line.startswith(r"\begin{tabular}{")]
    ends = [place for place, line in enumerate(lines) if line == r"\end{tabular}"]
    assert len(begins) == len(ends) == 1
    [start], [end] = begins, ends
    for line in (*lines[:start], *lines[end + 1 :]):
        if not re.fullmatch(r"\\label\{tab:[A-Za-z0-9-]*\}|\\centering", line):
            check_text(line)
    columns = _columns(lines[start].removeprefix(r"\begin{tabular}{").removesuffix("}"))
    body = lines[start + 1 : end]
    assert (body[0], body[-1]) == (r"\toprule", r"\bottomrule") and body.count(r"\midrule") == 1
    rows, spans = [], []
    for line in body[1:-1]:
        if line == r"\midrule":
            spans.append(len(rows))
        elif line.startswith(r"\cmidrule"):
            _check_rules(line, rows[-1], len(columns))
        else:
            rows.append(_row(line, columns, is_heading=not spans))
    assert spans[0] in (1, 2), "a heading has one line, or two with groups"
    return LatexTable(columns, tuple(rows))


def _columns(specification: str) -> tuple[str, ...]:
    columns, at = [], 0
    while at < len(specification):
        found = COLUMN.match(specification, at)
        assert found is not None, f"no column of tabular: {specification[at:]!r}"
        if found["kind"] is not None:
            check_text(found["options"] or "")
            columns.append(found["options"] if found["options"] is not None else found["kind"])
        at = found.end() + len(specification[found.end() :]) - len(specification[found.end() :].lstrip())
    return tuple(columns)


def _row(line: str, columns: tuple[str, ...], *, is_heading: bool) -> tuple[tuple[str, int], ...]:
    assert line.endswith(r"\\"), f"no end of the row: {line!r}"
    cells = [_cell(text.strip()) for text in _split(line.removesuffix(r"\\"))]
    spanned = sum(span for _, span in cells)
    assert spanned == len(columns), f"{spanned} columns in a table of {len(columns)}: {line!r}"
    at = 0
    for text, span in cells:
        check_text(text)
        if span == 1 and columns[at] not in ("l", "r", "c") and not text.startswith(r"\multicolumn"):
            _check_number(text, columns[at], is_heading=is_heading)
        at += span
    return tuple(cells)


def _split(line: str) -> list[str]:
    cells, depth, before = [""], 0, ""
    for char in line:
        if before != "\\":
            depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "&" and depth == 0 and before != "\\":
            cells.append("")
        else:
            cells[-1] += char
        before = "" if before == "\\" and char == "\\" else char
    return cells


def _cell(text: str) -> tuple[str, int]:
    """Return the text of a cell, and how many columns it spans."""
    found = re.fullmatch(r"\\multicolumn\{(\d+)\}\{[lrc]\}\{(.*)\}", text)
    if found is None:
        return text, 1
    return f"{{{found[2]}}}", int(found[1])


def _check_number(text: str, options: str, *, is_heading: bool) -> None:
    """Fail for a cell that siunitx could not read, or that is wider than the format of its column."""
    if not text or re.fullmatch(r"\{.*\}", text):
        return
    assert not is_heading, f"a heading of a column of numbers has braces: {text!r}"
    found, form = NUMBER.fullmatch(text), FORMAT.search(options)
    assert found is not None, f"siunitx does not read {text!r}"
    assert form is not None, f"no format: {options!r}"
    whole, _, places = found["number"].lstrip("+-").partition(".")
    assert len(whole) <= int(form["whole"]) and len(places) <= int(form["places"] or 0), (text, options)
    assert not found["number"].startswith(("-", "+")) or form["sign"], (text, options)
    if found["error"] is not None:
        digits = found["error"].replace(".", "").lstrip("0") or "0"
        assert form["error"] is not None and len(digits) <= int(form["error"]), (text, options)
    if "textdagger" in text:
        assert "table-space-text-post" in options


def _check_rules(line: str, above: tuple[tuple[str, int], ...], columns: int) -> None:
    """Fail if a rule does not lie below exactly one heading of a group."""
    rules = re.findall(r"\\cmidrule\(lr\)\{(\d+)-(\d+)\}", line)
    assert " ".join(f"\\cmidrule(lr){{{a}-{b}}}" for a, b in rules) == line
    at, groups = 1, []
    for text, span in above:
        if text != "{}":
            groups.append((at, at + span - 1))
        at += span
    assert [(int(a), int(b)) for a, b in rules] == groups and at == columns + 1
