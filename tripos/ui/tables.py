"""Tables on a terminal: the heading and the last line of sums are bold where there are colours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from tripos.ui.terminal import harmless, is_colored, table_width
from tripos_compiler.diagnostics import localized
from tripos_warehouse.formats import TextColumn, grid_parts


def table_lines(columns: Sequence[TextColumn], *, sums: bool = False) -> Iterator[str]:
    """Yield the lines of a table for standard output; with `sums`, the last row holds sums."""
    head, body = grid_parts(columns, table_width(), rule=False)
    colored = is_colored(sys.stdout)
    for at, line in enumerate([*head, *body], 1):
        bold = colored and (at <= len(head) or (sums and bool(head) and at == len(head) + len(body)))
        yield f"\x1b[1m{line}\x1b[0m" if bold else line


def columns_of(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> list[TextColumn]:
    """Return the columns of rows. Those of the headings in `left` hold texts, and the others numbers."""
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        TextColumn(
            harmless(localized(heading)), tuple(map(harmless, texts)), right=heading not in left, fold=heading in left
        )
        for heading, texts in zip(headings, cells, strict=True)
    ]
