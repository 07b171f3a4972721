"""Tables `| a | b |`: columns of one width, counted in cells of a terminal."""

from __future__ import annotations

from itertools import zip_longest

from tripos_compiler.diagnostics.wrap import cells
from tripos_compiler.formatting.rows import Row
from tripos_compiler.syntax.tree import TableRow


def align_tables(rows: list[Row]) -> None:
    """Lays out every table among the rows of a block. A blank line or a statement ends a table, a comment does not."""
    table: list[Row] = []
    for row in rows:
        if row.kind == "entry" or row.blank:
            _align(table)
            table = []
        if row.kind == "table":
            table.append(row)
    _align(table)


def _align(table: list[Row]) -> None:
    grid = [_cells_of(row) for row in table]
    widths = [max(map(cells, column)) for column in zip_longest(*grid, fillvalue="")]
    for row, texts in zip(table, grid, strict=True):
        row.text = table_row(texts, widths) + row.tail


def _cells_of(row: Row) -> list[str]:
    node = row.parts[0].node
    assert isinstance(node, TableRow)
    return [cell.text for cell in node.cells]


def table_row(texts: list[str], widths: list[int]) -> str:
    """A row with its first cell at the left and the others in the middle.

    >>> table_row(["难度", "x", "2"], [5, 4, 1])
    '| 难度  |  x   | 2 |'
    """
    padded = []
    for index, (text, width) in enumerate(zip(texts, widths, strict=False)):
        free = width - cells(text)
        left = 0 if index == 0 else free // 2
        padded.append(" " * left + text + " " * (free - left))
    return f"| {' | '.join(padded)} |"
