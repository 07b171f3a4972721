"""Tables as HTML without a style sheet, as LaTeX with booktabs and siunitx, and as Markdown; all texts are escaped."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

from tripos_warehouse.tables.model import Cell, Interval, PaperColumn, PaperEstimate, PaperTable, plain
from tripos_warehouse.tables.text import NULL_TEXT

# HTML
LEFT, RIGHT = "text-align:left", "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


def to_html(tables: Sequence[PaperTable], interval: Interval = "ci") -> str:
    """Return tables with their captions and notes.

    >>> "&lt;b&gt;" in to_html([PaperTable("t", "", (PaperColumn("model", ("<b>",)),))])
    True
    """
    return "".join(_table(table, interval) for table in tables)


def _table(table: PaperTable, interval: Interval) -> str:
    caption = f'<caption style="text-align:left">{_text(table.caption)}</caption>\n' if table.caption else ""
    head = "".join(
        f'<th scope="col" style="{LEFT if column.is_text else RIGHT}">{_text(column.heading)}</th>'
        for column in table.columns
    )
    rows = "".join(
        f"<tr>{''.join(_cell(column, cell, interval) for column, cell in zip(table.columns, row, strict=True))}</tr>\n"
        for row in table.rows
    )
    notes = "".join(f"<p><small>{_text(note)}</small></p>\n" for note in table.notes_for(interval))
    if not table.columns:
        return f"<p>{_text(table.caption)}</p>\n{notes}"
    return f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{notes}"


def _cell(column: PaperColumn, cell: Cell, interval: Interval) -> str:
    shown = _text(plain(column, cell, interval))
    if isinstance(cell, PaperEstimate) and cell.best:
        value, space, rest = shown.partition(" ")
        shown = f"<strong>{value}</strong>{space}{rest}"
    return f'<td style="{LEFT if column.is_text else RIGHT}">{shown}</td>'


def _text(text: str) -> str:
    return html.escape("".join(each if each.isprintable() else " " for each in text))


# LaTeX
PREAMBLE = r"""\usepackage{booktabs, siunitx, etoolbox}
\robustify\bfseries
\sisetup{detect-weight = true, mode = text, separate-uncertainty = true}"""
"""The LaTeX commands that a document needs for these tables."""
CHINESE = "Chinese, Japanese or Korean texts: use XeLaTeX or LuaLaTeX, and \\usepackage{ctex}"
_SPELT = {
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
    # After `\\` they would be its arguments.
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
    "\u00a0": "~",
}

_LIGATURE = re.compile("-(?=-)|,(?=,)")


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX that prints it on one line, whatever it contains.

    >>> latex_text(r"50% of \alpha_1 & {x}")
    '50\\% of \\textbackslash{}alpha\\_1 \\& \\{x\\}'
    """
    plain = "".join(each if each.isprintable() or each == "\u00a0" else " " for each in text)
    return _LIGATURE.sub(r"\g<0>{}", "".join(_SPELT.get(each, each) for each in " ".join(plain.split(" "))))


def to_latex(tables: Sequence[PaperTable], interval: Interval = "ci") -> str:
    """Return each table as a float. A comment at the top lists what the document must load."""
    lines = [f"% {line}" for line in ("The document needs:", *PREAMBLE.splitlines())]
    if any(_has_wide(text) for table in tables for text in _texts(table)):
        lines.append(f"% {CHINESE}")
    for table in tables:
        lines += ["", *_float(table, interval)]
    return "\n".join(lines) + "\n"


def _float(table: PaperTable, interval: Interval) -> Iterator[str]:
    """Yield the lines of a table; for one without columns, its caption and notes as comments."""
    if not table.columns:
        yield from (f"% {' '.join(text.split())}" for text in (table.caption, *table.notes))
        return
    parts = [_LatexColumn(column, interval) for column in table.columns]
    yield r"\begin{table}"
    yield r"  \centering"
    if table.caption:
        yield f"  \\caption{{{latex_text(table.caption)}}}"
    yield f"  \\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', table.name).strip('-')}}}"
    yield f"  \\begin{{tabular}}{{{' '.join(part.specifier for part in parts)}}}"
    yield r"    \toprule"
    yield f"    {' & '.join(part.heading for part in parts)} \\\\"
    yield r"    \midrule"
    for row in table.rows:
        yield f"    {' & '.join(part.cell(cell) for part, cell in zip(parts, row, strict=True))} \\\\"
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if notes := table.notes_for(interval):
        yield r"  \par\smallskip"
        yield f"  {{\\footnotesize {' '.join(map(latex_text, notes))}\\par}}"
    yield r"\end{table}"


class _LatexColumn:
    """A column in LaTeX; a column with interval ends takes two."""

    def __init__(self, column: PaperColumn, interval: Interval) -> None:
        self._column = column
        self._wide = interval == "ci" and column.has_intervals
        self._even = interval == "pm" and column.has_intervals

    @property
    def specifier(self) -> str:
        """Its part of the column specification of `tabular`."""
        if self._column.is_text:
            return "l"
        numbers = f"S[table-format={self._format()}]"
        return f"{numbers}@{{\\ }}l" if self._wide else numbers

    def _format(self) -> str:
        """Return the siunitx format of the numbers: digits before and after the point, and of the value after `±`."""
        values = [
            value
            for each in self._column.cells
            for value in (_value(each),)
            if value is not None and math.isfinite(value)
        ]
        shown = [self._column.number(value) for value in values] or ["0"]
        sign = "-" if any(each.startswith("-") for each in shown) else ""
        whole = max(len(each.removeprefix("-").partition(".")[0]) for each in shown)
        places = self._column.places
        tail = f".{places}" if places else ""
        halves = [each.half_width for each in self._column.cells if isinstance(each, PaperEstimate)]
        widest = max((half for half in halves if half is not None), default=0.0)
        error = len(self._column.number(widest).replace(".", "").lstrip("0")) or 1
        return f"{sign}{whole}{tail}({max(error, 1)})" if self._even else f"{sign}{whole}{tail}"

    @property
    def heading(self) -> str:
        """The heading, which spans both columns if there are two."""
        text = latex_text(self._column.heading)
        return f"\\multicolumn{{2}}{{c}}{{{text}}}" if self._wide else text if self._column.is_text else f"{{{text}}}"

    def cell(self, cell: Cell) -> str:
        """Return a cell; both cells if the column takes two."""
        if self._column.is_text:
            return latex_text(_shown(self._column, cell))
        value = _value(cell)
        if value is None or not math.isfinite(value):
            nothing = f"{{{latex_text(NULL_TEXT if value is None else str(value))}}}"
            return f"{nothing} &" if self._wide else nothing
        best = "\\bfseries " if isinstance(cell, PaperEstimate) and cell.best else ""
        number = f"{best}{self._column.number(value)}"
        if not isinstance(cell, PaperEstimate) or cell.low is None or cell.high is None or cell.half_width is None:
            return f"{number} &" if self._wide else number
        if self._wide:
            low, high = (self._column.number(end).replace("-", _SPELT["−"]) for end in (cell.low, cell.high))
            return f"{number} & {{[}}{low}, {high}{{]}}"
        return f"{number} \\pm {self._column.number(cell.half_width)}" if self._even else number


def _shown(column: PaperColumn, cell: Cell) -> str:
    match cell:
        case None:
            return NULL_TEXT
        case str():
            return cell
        case PaperEstimate(value=value):
            return NULL_TEXT if value is None else column.number(value)
    return column.number(cell)


def _value(cell: Cell) -> float | None:
    if isinstance(cell, PaperEstimate):
        return cell.value
    return None if cell is None or isinstance(cell, str) else float(cell)


def _texts(table: PaperTable) -> Iterator[str]:
    yield from (table.caption, *table.notes, *(column.heading for column in table.columns))
    yield from (cell for column in table.columns for cell in column.cells if isinstance(cell, str))


def _has_wide(text: str) -> bool:
    return any(ord(char) > 0x2E80 and unicodedata.east_asian_width(char) in "WF" for char in text)


# Markdown
_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")
"""The characters that are Markdown syntax; `_` inside a word is not."""


def markdown_text(text: str) -> str:
    """Return a text as Markdown that shows it on one line.

    >>> markdown_text("a|b *c* <i> x_y _z_")
    'a\\\\|b \\\\*c\\\\* \\\\<i\\\\> x_y \\\\_z\\\\_'
    """
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def to_markdown(tables: Sequence[PaperTable], interval: Interval = "ci") -> str:
    """Return tables under their captions, with their notes as lists.

    >>> column = PaperColumn("value", (PaperEstimate(0.5, 0.25, 0.75, best=True), None))
    >>> print(to_markdown([PaperTable("t", "Shares", (PaperColumn("model", ("a", "b")), column))]))
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
    return "\n".join("".join(f"{line}\n" for line in _lines(table, interval)) for table in tables)


def _lines(table: PaperTable, interval: Interval) -> list[str]:
    caption = [f"### {markdown_text(table.caption)}", ""] if table.caption else []
    notes = [f"- {markdown_text(note)}" for note in table.notes_for(interval)]
    if not table.columns:
        return [*caption, *notes]
    head = _row([markdown_text(column.heading) for column in table.columns])
    rule = _row([":--" if column.is_text else "--:" for column in table.columns])
    rows = [
        _row([_markdown_cell(column, cell, interval) for column, cell in zip(table.columns, row, strict=True)])
        for row in table.rows
    ]
    return [*caption, head, rule, *rows, *([""] if notes else []), *notes]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(column: PaperColumn, cell: Cell, interval: Interval) -> str:
    shown = plain(column, cell, interval)
    if isinstance(cell, str):
        return markdown_text(shown)
    if isinstance(cell, PaperEstimate) and cell.best:
        value, space, rest = shown.partition(" ")
        return f"**{value}**{space}{rest}"
    return shown


WRITERS: Mapping[str, Callable[[Sequence[PaperTable], Interval], str]] = {
    "md": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
