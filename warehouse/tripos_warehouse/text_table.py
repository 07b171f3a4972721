"""Tables as text: columns that line up in a terminal, also where a character takes two cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    import pyarrow as pa


def wrapped(text: str, width: int) -> str:
    """`text` broken at spaces into lines of at most `width` cells; a longer word has a line of its own.

    >>> wrapped("one two three", 7)
    'one two\\nthree'
    """
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)


GAP = "  "
NARROWEST = 6
READABLE = 12
"""A column of a query's answer is left out rather than cut below this."""
LONGEST = 10_000
"""Characters of a text that are looked at: no terminal shows more, and a text may have millions."""
NOTHING = "—"


@dataclass(frozen=True)
class Column:
    """A column of texts under a heading; numbers stand to the `right`. A column to keep `whole` is cut last."""

    heading: str
    cells: tuple[str, ...]
    right: bool = False
    whole: bool = False

    @property
    def width(self) -> int:
        """The cells that its widest text takes."""
        return max(map(cell_len, (self.heading, *self.cells)))


def grid(columns: Sequence[Column], width: int) -> list[str]:
    """Return the lines of a table: headings, a rule and the rows, none wider than `width` cells.

    Where they do not fit, the widest columns of text give way first and what is cut ends in `…`.

    >>> print("\\n".join(grid([Column("名称", ("数学", "abc")), Column("n", ("1", "12"), True)], 40)))
    名称   n
    ────  ──
    数学   1
    abc   12
    """
    widths = fit([column.width for column in columns], [column.right or column.whole for column in columns], width)
    texts = [[column.heading, *column.cells] for column in columns]
    lines = []
    for cells in zip(*texts, strict=True):
        padded = [_pad(text, room, column.right) for text, room, column in zip(cells, widths, columns, strict=True)]
        lines.append(GAP.join(padded).rstrip())
    lines.insert(1, GAP.join("─" * room for room in widths))
    return lines


def fit(widths: Sequence[int], fixed: Sequence[bool], width: int) -> list[int]:
    """Widths that add up to no more than `width` with the gaps, where that can be; `fixed` ones shrink last.

    >>> fit([30, 10, 4], [False, False, True], 40)
    [22, 10, 4]
    """
    room = list(widths)
    spare = width - len(GAP) * (len(room) - 1) - sum(room)
    for shrinks in ([not each for each in fixed], [True] * len(room)):
        while spare < 0:
            open_to = [index for index, each in enumerate(shrinks) if each and room[index] > NARROWEST]
            if not open_to:
                break
            widest = max(open_to, key=lambda index: room[index])
            room[widest] -= 1
            spare += 1
    return room


def render_table(table: pa.Table, width: int, max_rows: int = 40) -> str:
    """`table` as readable text, at most `width` cells wide and `max_rows` rows long, with a footer.

    Numbers stand to the right and share their decimals within a column; a null is `—`, a line break in a
    text a space. Columns for which there is no room at all are named in the footer.

    >>> import pyarrow as pa
    >>> print(render_table(pa.table({"科目": ["数学", None], "value": [7.25, 10.0]}), 40))
    科目  value
    ────  ─────
    数学   7.25
    —     10.00
    <BLANKLINE>
    2 rows
    """
    shown = table.slice(0, max_rows)
    columns = [shown.column(index).to_pylist(maps_as_pydicts="lossy") for index in range(shown.num_columns)]
    return render_columns(table.column_names, columns, table.num_rows, width)


def render_columns(names: Sequence[str], values: Sequence[Sequence[Any]], rows: int, width: int) -> str:
    """As `render_table`, of the `values` of each column in as many of the rows as are to be shown.

    >>> print(render_columns(["n"], [[1, 20]], 1000, 40))
     n
    ──
     1
    20
    <BLANKLINE>
    1,000 rows, the first 2 shown; `limit`, or `-o FILE` for all of them
    """
    columns = [_column(name, cells) for name, cells in zip(names, values, strict=True)]
    kept = len(columns)
    while kept > 1 and sum(min(each.width, READABLE) for each in columns[:kept]) + len(GAP) * (kept - 1) > width:
        kept -= 1
    lines = grid(columns[:kept], width) if columns else []
    count = "1 row" if rows == 1 else f"{rows:,} rows"
    notes = [count]
    if columns and rows > len(columns[0].cells):
        notes = [f"{count}, the first {len(columns[0].cells)} shown; `limit`, or `-o FILE` for all of them"]
    if kept < len(columns):
        hidden = ", ".join(column.heading for column in columns[kept:])
        notes.append(f"no room for {hidden}")
    return "\n".join([*lines, "", *notes])


def decimals_of(values: Sequence[float | None]) -> int:
    """Return how many decimals a column of numbers needs for two or three figures that count.

    What is below 1e-12 is what rounding leaves of 0.

    >>> [decimals_of(values) for values in ([7.4213, 10, None], [0.5], [1200.5, 3.25], [0.00012], [3.3e-16])]
    [2, 3, 1, 5, 3]
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(known, default=0.0)
    if 1e-12 <= largest < 0.01:
        return 1 - math.floor(math.log10(largest))
    return 1 if largest >= 1000 else 2 if largest >= 1 else 3


def _column(name: str, cells: Sequence[Any]) -> Column:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, float) or _has_decimals(cell) for cell in known):
        decimals = decimals_of([None if cell is None else float(cell) for cell in cells])
        return Column(_line(name), tuple(NOTHING if cell is None else f"{cell:.{decimals}f}" for cell in cells), True)
    right = bool(known) and all(isinstance(cell, int | Decimal) and not isinstance(cell, bool) for cell in known)
    return Column(_line(name), tuple(_text(cell) for cell in cells), right)


def _has_decimals(cell: Any) -> bool:
    if not isinstance(cell, Decimal):
        return False
    exponent = cell.as_tuple().exponent
    return isinstance(exponent, int) and exponent < 0


def _text(value: Any) -> str:
    match value:
        case None:
            return NOTHING
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(map(_text, value))
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case _:
            return _line(str(value))


def _line(text: str) -> str:
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}…"
    # Escape sequences in a reply must not reach the terminal.
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))


def _pad(text: str, room: int, right: bool) -> str:
    size = cell_len(text)
    if size > room:
        return set_cell_size(set_cell_size(text, room - 1).rstrip() + "…", room)
    return " " * (room - size) + text if right else text + " " * (room - size)
