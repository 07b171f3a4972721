"""Tables as HTML without a style sheet, as LaTeX with booktabs and siunitx, and as Markdown; all texts are escaped."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence

from tripos_compiler.diagnostics.i18n import localized_in_file
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.model import DAGGER, Cell, Column, Table, number_of
from tripos_warehouse.tables.values import Interval, fixed

CODE = re.compile("`([^`]*)`")
"""A name in backticks."""

# HTML
LEFT, RIGHT = "text-align:left", "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
"""The styles of cells with texts and of cells with numbers."""


def to_html(tables: Sequence[Table], interval: Interval = "ci") -> str:
    """Return tables as HTML, with their captions and notes.

    >>> "&lt;b&gt;" in to_html([Table((Column("model", ("<b>",)),))])
    True
    """
    return "".join(_table(table.in_chosen_language().without_repeats(), interval) for table in tables)


def _table(table: Table, interval: Interval) -> str:
    """Return one table as HTML."""
    notes = map(localized_in_file, table.reading_notes(interval, ("Bold", "Underlined")))
    below = "".join(f"<p><small>{_text(note)}</small></p>\n" for note in notes)
    if not table.columns:
        return f"<p>{_text(table.caption)}</p>\n{below}"
    caption = f'<caption style="text-align:left">{_text(table.caption)}</caption>\n' if table.caption else ""
    head = "".join(
        f'<th scope="col" style="{LEFT if column.is_text else RIGHT}">{_text(column.title)}</th>'
        for column in table.columns
    )
    groups = "".join(
        f'<th colspan="{count}" scope="colgroup" style="text-align:center">{_text(name or "")}</th>'
        for name, count in table.groups
    )
    above = f"<tr>{groups}</tr>\n" if groups else ""
    rows = ""
    for row in range(table.height + 1):
        for text in table.separators.get(row, ()):
            rows += f'<tr><td colspan="{len(table.columns)}" style="{LEFT}"><em>{_text(text)}</em></td></tr>\n'
        if row < table.height:
            rows += f"<tr>{''.join(_cell(column, row, interval) for column in table.columns)}</tr>\n"
    return f"<table>\n{caption}<thead>{above}<tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{below}"


def _cell(column: Column, row: int, interval: Interval) -> str:
    """Return a cell as HTML."""
    value, ends = map(_text, column.parts(row, interval))
    value = CODE.sub(r"<code>\1</code>", value) if column.has_code else value
    tag = {1: "strong", 2: "u"}.get(column.emphasis.get(row, 0))
    value = f"<{tag}>{value}</{tag}>" if tag is not None else value
    value = f"{value}<sup>{DAGGER}</sup>" if column.is_significant(row) else value
    return f'<td style="{LEFT if column.is_text else RIGHT}">{f"{value} {ends}" if ends else value}</td>'


def _text(text: str) -> str:
    """Return a text as HTML."""
    return html.escape("".join(char if char.isprintable() else " " for char in text))


# LaTeX
PREAMBLE = r"""\usepackage{booktabs, siunitx, etoolbox}
\robustify\bfseries
\sisetup{detect-weight = true, mode = text, separate-uncertainty = true, retain-explicit-plus = true}"""
"""The LaTeX commands that a document needs for these tables."""
LATEX_DAGGER = r"{\textsuperscript{\textdagger}}"
"""The dagger behind a number, in braces that siunitx does not look into."""
CHINESE = "Chinese, Japanese or Korean texts: use XeLaTeX or LuaLaTeX, and \\usepackage{ctex}"
_ESCAPES = {
    **{char: f"\\{char}" for char in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    # LaTeX would read these as arguments of a preceding `\\`.
    **{char: f"{{{char}}}" for char in "[]*"},
    "−": r"\(-\)",
    "×": r"\(\times\)",
    "±": r"\(\pm\)",
    "≤": r"\(\leq\)",
    "≥": r"\(\geq\)",
    "→": r"\(\rightarrow\)",
    "…": r"\ldots{}",
    "—": r"\textemdash{}",
    "–": r"\textendash{}",
    "·": r"\textperiodcentered{}",
    "Δ": r"\(\Delta\)",
    "†": r"\textdagger{}",
    "\u00a0": "~",
}

_LIGATURE = re.compile("-(?=-)|,(?=,)")
"""The first of two characters that LaTeX would print as one."""


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX that prints it on one line, whatever it contains.

    >>> latex_text(r"50% of \alpha_1 & {x}")
    '50\\% of \\textbackslash{}alpha\\_1 \\& \\{x\\}'
    """
    plain = "".join(char if char.isprintable() or char == "\u00a0" else " " for char in text)
    return _LIGATURE.sub(r"\g<0>{}", "".join(_ESCAPES.get(char, char) for char in " ".join(plain.split(" "))))


def to_latex(tables: Sequence[Table], interval: Interval = "ci") -> str:
    """Return each table as a LaTeX float, after comments that list what the document must load."""
    lines = [f"% {line}" for line in ("The document needs:", *PREAMBLE.splitlines())]
    if any(_has_wide(text) for table in tables for text in _texts(table)):
        lines.append(f"% {CHINESE}")
    for table in tables:
        lines += ["", *_float(table.in_chosen_language().without_repeats(), interval)]
    return "\n".join(lines) + "\n"


def _float(table: Table, interval: Interval) -> Iterator[str]:
    """Yield the lines of a table as a float; for one without columns, its caption and notes as comments."""
    if not table.columns:
        yield from (f"% {' '.join(localized_in_file(text).split())}" for text in (table.caption, *table.notes))
        return
    parts = [_LatexColumn(column, interval) for column in table.columns]
    yield r"\begin{table}"
    yield r"  \centering"
    if table.caption:
        yield f"  \\caption{{{latex_text(table.caption)}}}"
    yield f"  \\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', table.name).strip('-')}}}"
    yield f"  \\begin{{tabular}}{{{' '.join(part.specifier for part in parts)}}}"
    yield r"    \toprule"
    yield from _group_lines(table, parts)
    yield f"    {' & '.join(part.heading for part in parts)} \\\\"
    yield r"    \midrule"
    width = sum(part.width for part in parts)
    for row in range(table.height + 1):
        for text in table.separators.get(row, ()):
            yield f"    \\multicolumn{{{width}}}{{l}}{{\\emph{{{latex_text(text)}}}}} \\\\"
        if row < table.height:
            yield f"    {' & '.join(part.cell(row) for part in parts)} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if notes := table.reading_notes(interval, ("Bold", "Underlined")):
        yield r"  \par\smallskip"
        yield f"  {{\\footnotesize {' '.join(latex_text(localized_in_file(note)) for note in notes)}\\par}}"
    yield r"\end{table}"


def _group_lines(table: Table, parts: Sequence[_LatexColumn]) -> Iterator[str]:
    """Yield the headings above groups of columns, with a rule below each."""
    cells, rules, at, first = [], [], 0, 1
    for name, count in table.groups:
        width = sum(part.width for part in parts[at : at + count])
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{latex_text(name or '')}}}")
        if name is not None:
            rules.append(f"\\cmidrule(lr){{{first}-{first + width - 1}}}")
        at, first = at + count, first + width
    if cells:
        yield f"    {' & '.join(cells)} \\\\"
        yield f"    {' '.join(rules)}"


class _LatexColumn:
    """A column of a table in LaTeX. With intervals in brackets it takes two columns of `tabular`. Numbers of a kind
    that siunitx cannot read are texts."""

    def __init__(self, column: Column, interval: Interval) -> None:
        self._column = column
        self._is_number = column.kind in ("count", "number") and not column.is_text
        self._has_ends = interval == "ci" and column.has_intervals
        self._has_half_width = interval == "pm" and column.has_intervals

    @property
    def width(self) -> int:
        """The number of columns of `tabular` that it takes."""
        return 2 if self._has_ends else 1

    @property
    def specifier(self) -> str:
        """Its part of the column specification of `tabular`."""
        if self._column.is_text:
            return "l"
        room = f", table-space-text-post={LATEX_DAGGER}" if self._column.has_daggers else ""
        numbers = f"S[table-format={self._format()}{room}]" if self._is_number else "r"
        return f"{numbers}@{{\\ }}l" if self._has_ends else numbers

    def _number(self, value: float, row: int) -> str:
        """Return a number as siunitx reads it, without separators of thousands."""
        if not self._is_number:
            return latex_text(self._column.number(value, row))
        return fixed(value, self._column.places(row), signed=self._column.is_signed(row))

    def _format(self) -> str:
        """Return the siunitx format of the numbers: digits before and after the point, and of the value after `±`."""
        column = self._column
        texts = [
            self._number(value, row)
            for row, cell in enumerate(column.cells)
            if (value := number_of(cell)) is not None and math.isfinite(value)
        ] or ["0"]
        sign = "-" if any(text.startswith(("-", "+")) for text in texts) else ""
        whole = max(len(text.lstrip("-+").partition(".")[0]) for text in texts)
        places = max(len(text.partition(".")[2]) for text in texts)
        tail = f".{places}" if places else ""
        halves = [cell.half_width for cell in column.cells if isinstance(cell, Estimate)]
        widest = max((half for half in halves if half is not None), default=0.0)
        error = len(fixed(widest, places).replace(".", "").lstrip("0")) or 1
        return f"{sign}{whole}{tail}({max(error, 1)})" if self._has_half_width else f"{sign}{whole}{tail}"

    @property
    def heading(self) -> str:
        """The heading, which spans both columns if there are two."""
        text = latex_text(self._column.title)
        return (
            f"\\multicolumn{{2}}{{c}}{{{text}}}" if self._has_ends else text if self._column.is_text else f"{{{text}}}"
        )

    def cell(self, row: int) -> str:
        """Return a cell; both cells if the column takes two."""
        cell = self._column.cells[row]
        value = number_of(cell)
        if self._column.is_text:
            return latex_text(self._column.text(row, "none"))
        if value is None or not math.isfinite(value):
            nothing = f"{{{latex_text(self._column.text(row, 'none'))}}}"
            return f"{nothing} &" if self._has_ends else nothing
        number = self._with_mark(self._number(value, row), self._error(cell, row), row)
        if not self._has_ends:
            return number
        if not isinstance(cell, Estimate) or cell.low is None or cell.high is None or cell.half_width is None:
            return f"{number} &"
        low, high = (self._number(end, row).replace("-", _ESCAPES["−"]) for end in (cell.low, cell.high))
        return f"{number} & {{[}}{low}, {high}{{]}}"

    def _error(self, cell: Cell, row: int) -> str | None:
        """Return the half-width of the interval of a cell, if the column shows it."""
        half = cell.half_width if self._has_half_width and isinstance(cell, Estimate) else None
        return None if half is None else self._number(half, row).lstrip("+")

    def _with_mark(self, number: str, error: str | None, row: int) -> str:
        """Return a number with its error, its emphasis and its dagger. What is underlined is a text, which siunitx must
        not read."""
        dagger = LATEX_DAGGER if self._column.is_significant(row) else ""
        rank = self._column.emphasis.get(row)
        if rank == 2:
            after = "" if error is None else f" {_ESCAPES['±']} {error}"
            return f"{{\\underline{{{number.replace('-', _ESCAPES['−'])}}}{after}{dagger}}}"
        value = number if error is None else f"{number} \\pm {error}"
        value = f"\\bfseries {value}" if rank == 1 else value
        return f"{value} {dagger}" if dagger else value


def _texts(table: Table) -> Iterator[str]:
    """Yield the texts of a table that may be Chinese, Japanese or Korean."""
    yield from (table.caption, *table.notes, *(column.title for column in table.columns))
    yield from (column.group for column in table.columns if column.group is not None)
    yield from (sentence for sentences in table.separators.values() for sentence in sentences)
    yield from (cell for column in table.columns for cell in column.cells if isinstance(cell, str))


def _has_wide(text: str) -> bool:
    """Return true if a text has Chinese, Japanese or Korean characters."""
    return any(ord(char) > 0x2E80 and unicodedata.east_asian_width(char) in "WF" for char in text)


# Markdown
_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")
"""The characters that are Markdown syntax; `_` inside a word is not."""


def markdown_text(text: str) -> str:
    """Return a text as Markdown that shows it on one line.

    >>> markdown_text("a|b *c* <i> x_y _z_")
    'a\\\\|b \\\\*c\\\\* \\\\<i\\\\> x_y \\\\_z\\\\_'
    """
    return _escaped(" ".join(text.split()))


def _escaped(line: str) -> str:
    """Return a line with backslashes before the characters of Markdown syntax."""
    return _SPECIAL.sub(r"\\\g<0>", line)


def to_markdown(tables: Sequence[Table], interval: Interval = "ci") -> str:
    """Return tables as Markdown, below their captions, with their notes as lists.

    >>> column = Column("value", (Estimate(0.5, low=0.25, high=0.75), None), "number", emphasis={0: 1})
    >>> print(to_markdown([Table((Column("model", ("a", "b")), column), "t", "Shares")]))
    ### Shares
    <BLANKLINE>
    | model | value |
    | :-- | --: |
    | a | **0.500** [0.250, 0.750] |
    | b | — |
    <BLANKLINE>
    - In brackets: intervals of 95 %.
    - Bold: better than every other model beyond error (5 %, Holm).
    <BLANKLINE>
    """
    return "\n".join(
        "".join(f"{line}\n" for line in _lines(table.in_chosen_language().without_repeats(), interval))
        for table in tables
    )


def _lines(table: Table, interval: Interval) -> list[str]:
    """Return the lines of one table."""
    caption = [f"### {markdown_text(table.caption)}", ""] if table.caption else []
    notes = [
        f"- {markdown_text(localized_in_file(note))}" for note in table.reading_notes(interval, ("Bold", "Italic"))
    ]
    if not table.columns:
        return [*caption, *notes]
    lines = [_row(list(map(markdown_text, _headings(table.columns))))]
    lines.append(_row([":--" if column.is_text else "--:" for column in table.columns]))
    for row in range(table.height + 1):
        for text in table.separators.get(row, ()):
            lines.append(_row([f"*{markdown_text(text)}*", *[""] * (len(table.columns) - 1)]))
        if row < table.height:
            lines.append(_row([_markdown_cell(column, row, interval) for column in table.columns]))
    return [*caption, *lines, *([""] if notes else []), *notes]


def _headings(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the headings of columns, each with its group. One that is repeated, such as that of differences, follows
    the heading of the column before it.

    >>> from dataclasses import replace
    >>> column = Column("value", (1.0,), group="By subject")
    >>> list(_headings([replace(column, heading=heading) for heading in ("All", "Δ", "Hard", "Δ")]))
    ['By subject: All', 'By subject: All: Δ', 'By subject: Hard', 'By subject: Hard: Δ']
    """
    headings = [column.title if column.group is None else f"{column.group}: {column.title}" for column in columns]
    before = ""
    for heading, column in zip(headings, columns, strict=True):
        repeated = headings.count(heading) > 1 and before
        yield f"{before}: {column.title}" if repeated else heading
        before = before if repeated else heading


def _with_code(text: str) -> str:
    """Return a text as Markdown in which texts in backticks are code.

    >>> print(_with_code("step `a_b|c` of *x*"))
    step `a_b\\|c` of \\*x\\*
    """
    parts = CODE.split(" ".join(text.split()))
    return "".join(
        "`" + part.replace("|", "\\|") + "`" if number % 2 else _escaped(part) for number, part in enumerate(parts)
    )


def _row(cells: Sequence[str]) -> str:
    """Return a row of cells that are Markdown."""
    return f"| {' | '.join(cells)} |"


def _markdown_cell(column: Column, row: int, interval: Interval) -> str:
    """Return a cell as Markdown."""
    value, ends = column.parts(row, interval)
    if isinstance(column.cells[row], str):
        value = _with_code(value) if column.has_code else markdown_text(value)
    sign = {1: "**", 2: "*"}.get(column.emphasis.get(row, 0), "")
    dagger = DAGGER if column.is_significant(row) else ""
    return f"{sign}{value}{sign}{dagger} {ends}".rstrip()
