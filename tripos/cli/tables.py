"""Tables on standard output: text for a terminal, or a format for papers, pages and programs.

On a terminal with colors the heading is bold, and so is a last line of sums.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tripos.settings.options import FORMAT, INTERVAL, JSON
from tripos.terminal import escape_controls, is_colored, show_output, show_text, table_width
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import TriposError
from tripos_warehouse.tables.markup import WRITERS
from tripos_warehouse.tables.model import PaperTable
from tripos_warehouse.tables.text import TextColumn, grid_parts


def table_lines(columns: Sequence[TextColumn], *, sums: bool = False) -> Iterator[str]:
    """Yield the lines of a table for standard output. With `sums`, the last row holds totals. The heading and the
    totals are bold if colours are on."""
    head, body = grid_parts(columns, table_width(), rule=False)
    colored = is_colored(sys.stdout)
    for at, line in enumerate([*head, *body], 1):
        bold = colored and (at <= len(head) or (sums and bool(head) and at == len(head) + len(body)))
        yield f"\x1b[1m{line}\x1b[0m" if bold else line


def text_columns(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> list[TextColumn]:
    """Return the columns of a table of rows. Columns whose headings are in `left` hold texts; the others hold
    numbers."""
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        TextColumn(
            escape_controls(localized(heading)),
            tuple(map(escape_controls, texts)),
            right=heading not in left,
            fold=heading in left,
        )
        for heading, texts in zip(headings, cells, strict=True)
    ]


PAPER_FORMATS = ("md", "latex", "html")
"""Formats for people, in which a value is followed by its interval."""


def output_format(options: Namespace, *, text_only: Mapping[str, bool] = {}) -> str:
    """Return the output format. Raises `TriposError` R0202 if an option does not apply to it: `--interval`, or one that
    is set in `text_only`."""
    form = "json" if JSON.of(options) else str(options.format)
    if JSON.of(options) and options.format not in ("text", "json"):
        raise TriposError("R0202", f"`{JSON}` and `{FORMAT} {options.format}` exclude each other", "give one of them")
    if INTERVAL.of(options) is not None and form not in PAPER_FORMATS:
        message = f"`{INTERVAL}` has no use with `{FORMAT} {form}`"
        raise TriposError(
            "R0202", message, f"it is for {', '.join(PAPER_FORMATS)}; csv and json have both ends of an interval"
        )
    for name, given in text_only.items():
        if given and form not in ("text", "json"):
            raise TriposError("R0202", f"`{name}` has no use with `{FORMAT} {form}`", "leave one of them out")
    return form


def show_tables(tables: Sequence[PaperTable], form: str, options: Namespace) -> None:
    """Print tables in one of the formats of `PAPER_FORMATS`."""
    show_text(WRITERS[form](tables, INTERVAL.of(options) or "ci"), end="")


def show_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV, in which no text can be a spreadsheet formula."""
    import pyarrow as pa

    from tripos_warehouse.query.results import encode_answer

    show_output(encode_answer(pa.Table.from_pylist(list(rows)), "csv"))
