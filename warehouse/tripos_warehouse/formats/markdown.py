"""Tables as Markdown, of the kind that GitHub and notebooks show."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tripos_warehouse.formats.paper_table import Cell, Interval, PaperColumn, PaperEstimate, PaperTable, plain

_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")
"""The characters that Markdown takes for marks; `_` inside of a word is none."""


def markdown_text(text: str) -> str:
    """Return a text as Markdown that shows it, on one line.

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
        _row([_cell(column, cell, interval) for column, cell in zip(table.columns, row, strict=True)])
        for row in table.rows
    ]
    return [*caption, head, rule, *rows, *([""] if notes else []), *notes]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: PaperColumn, cell: Cell, interval: Interval) -> str:
    shown = plain(column, cell, interval)
    if isinstance(cell, str):
        return markdown_text(shown)
    if isinstance(cell, PaperEstimate) and cell.best:
        value, space, rest = shown.partition(" ")
        return f"**{value}**{space}{rest}"
    return shown
