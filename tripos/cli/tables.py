"""Tables as lines for standard output. On a terminal with colors the heading is bold, and so is a last line of sums."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tripos.cli.context import Styled
from tripos.terminal import is_colored, table_width
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.text import lay_out


def printed_lines(*columns: Column, totals: frozenset[int] = frozenset()) -> Iterator[Styled]:
    """Yield the lines of a table for standard output. The heading and the rows of totals are bold if colours are
    on."""
    text_lines = lay_out(Table(columns, totals=totals), table_width())
    bold = "\x1b[1m{}\x1b[0m".format if is_colored(sys.stdout) else str
    lines = [*map(bold, text_lines.head[:-1])]  # without the rule
    for row, parts in enumerate(text_lines.rows):
        lines += map(bold, parts) if text_lines.head and row in totals else parts
    yield from map(Styled, (*lines, *text_lines.notes))
