"""Tables on standard output: text for a terminal, or a format for papers, pages and programs.

On a terminal with colors the heading is bold, and so is a last line of sums.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tripos.settings.options import FORMAT, INTERVAL, JSON
from tripos.terminal import is_colored, show_output, show_text, table_width
from tripos_compiler.errors import TriposError
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.render import RENDERERS, RenderOptions
from tripos_warehouse.tables.text import lay_out


def printed_lines(*columns: Column, totals: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield the lines of a table for standard output. The heading and the rows of totals are bold if colours are
    on."""
    text_lines = lay_out(Table(columns, totals=totals), table_width())
    bold = "\x1b[1m{}\x1b[0m".format if is_colored(sys.stdout) else str
    yield from map(bold, text_lines.head[:-1])  # without the rule
    for row, lines in enumerate(text_lines.rows):
        yield from map(bold, lines) if text_lines.head and row in totals else lines
    yield from text_lines.notes


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


def show_tables(tables: Sequence[Table], form: str, options: Namespace) -> None:
    """Print tables in one of the formats of `RENDERERS`."""
    rendered = RENDERERS[form](tables, RenderOptions(INTERVAL.of(options) or "ci", table_width()))
    if form in ("csv", "json"):
        show_output(rendered)
    else:
        show_text(rendered, end="")


def show_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV, in which no text can be a spreadsheet formula."""
    import pyarrow as pa

    from tripos_warehouse.query.results import encode_answer

    show_output(encode_answer(pa.Table.from_pylist(list(rows)), "csv"))
