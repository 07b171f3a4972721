"""Tables as HTML that needs no style sheet: for pages, notebooks and mail."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tripos_warehouse.formats.paper_table import Cell, Interval, PaperColumn, PaperEstimate, PaperTable, plain

LEFT, RIGHT = "text-align:left", "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"


def to_html(tables: Sequence[PaperTable], interval: Interval = "ci") -> str:
    """Return tables with their captions and notes. All texts are escaped.

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
