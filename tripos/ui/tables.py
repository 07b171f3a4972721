"""Tables on a terminal: the heading and the last line of sums are bold where there are colours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tripos.ui.terminal import harmless, is_colored, terminal_width as terminal_columns
from tripos_compiler.diagnostics import localized
from tripos_warehouse.text_table import TextColumn, grid


def table_lines(columns: Sequence[TextColumn], *, sums: bool = False) -> Iterator[str]:
    """Yield the lines of a table for standard output; with `sums`, the last row holds sums."""
    lines = grid(columns, terminal_columns(), rule=False)
    heads = max(column.heading.count("\n") for column in columns) + 1
    colored = is_colored(sys.stdout)
    for at, line in enumerate(lines):
        bold = colored and (at < heads or (sums and at == len(lines) - 1))
        yield f"\x1b[1m{line}\x1b[0m" if bold else line


def columns_of(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> list[TextColumn]:
    """Return the columns of rows. Those of the headings in `left` hold texts, which go on below where they do not fit;
    the others hold numbers."""
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        TextColumn(
            harmless(localized(heading)), tuple(map(harmless, texts)), right=heading not in left, fold=heading in left
        )
        for heading, texts in zip(headings, cells, strict=True)
    ]
