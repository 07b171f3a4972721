"""Tables as text for a terminal, aligned also with wide characters, and Arrow values as Python objects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len, chop_cells, set_cell_size

from tripos_compiler.diagnostics.text_format import wrap
from tripos_compiler.source.data_classes import dataclass

if TYPE_CHECKING:
    import pyarrow as pa


def wrapped(text: str, width: int) -> str:
    """Return `text` broken at spaces into lines of at most `width` cells; a longer word has its own line.

    >>> wrapped("one two three", 7)
    'one two\\nthree'
    """
    if not text.isascii():  # Chinese text has no spaces
        return "\n".join(wrap(text, width))
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)


def fold(line: str, room: int) -> list[str]:
    """Return a line cut into lines of at most `room` cells, between words if possible.

    >>> fold("the sum is forty-two", 10), fold("四十二就是答案", 6), fold("", 6)
    (['the sum is', 'forty-two'], ['四十二', '就是答', '案'], [''])
    """
    lines: list[str] = []
    while cell_len(line) > room:
        head = chop_cells(line[: room + 1], room)[0]
        space = head.rfind(" ") if line[len(head) : len(head) + 1] != " " else len(head)
        cut = space if space > 0 and head[:space].strip() else len(head)
        lines.append(line[:cut].rstrip())
        line = line[cut:].lstrip(" ")
    return [*lines, line]


GAP = "  "
NARROWEST = 8
"""The least width of a text column; if there is less room, each row becomes a block of lines."""
UNBOUNDED = 1_000_000
"""A width at which nothing is cut or broken."""
READABLE = 12
"""A column of a query result is omitted rather than narrowed below this width."""
LONGEST = 10_000
"""The characters of a text that are processed: no terminal shows more, and a text may have millions."""
NULL_TEXT = "—"


# Grids
@dataclass(frozen=True)
class TextColumn:
    """A column of texts with a heading, which may have several lines.

    `right`: numbers, which are right-aligned and never cut. `whole`: the column shrinks last. `fold`: long texts
    continue on the next lines; otherwise they are cut.
    """

    heading: str
    cells: tuple[str, ...]
    right: bool = False
    whole: bool = False
    fold: bool = True
    most: int | None = None
    """The largest width in cells."""

    @cached_property
    def width(self) -> int:
        """The width of the widest text, at most `most`."""
        widest = max(map(cell_len, (*self.heading.split("\n"), *self.cells)))
        return widest if self.most is None else min(widest, self.most)

    @cached_property
    def least(self) -> int:
        """The least width: for numbers, that of the widest number or word of the heading; for texts, a few cells."""
        if self.right:
            return max(map(cell_len, (*self.heading.split(), *self.cells)))
        return min(self.width, NARROWEST)


def grid(columns: Sequence[TextColumn], width: int, *, rule: bool = True) -> list[str]:
    """Return the lines of a table: headings, a rule and the rows, none wider than `width` cells.

    If they do not fit, the widest text columns shrink first, and their texts continue on the next lines. If the numbers
    alone do not fit, every row becomes a block of lines, one for each column.

    >>> print("\\n".join(grid([TextColumn("名称", ("数学", "abc")), TextColumn("n", ("1", "12"), True)], 40)))
    名称   n
    ────  ──
    数学   1
    abc   12
    >>> columns = [TextColumn("name", ("one two three",), most=9), TextColumn("n\\nof", ("1",))]
    >>> print("\\n".join(grid(columns, 40, rule=False)))
               n
    name       of
    one two    1
    three
    >>> numbers = [TextColumn("n", ("12,345",), True), TextColumn("of", ("67,890",), True)]
    >>> print("\\n".join(grid([TextColumn("a name", ("x",)), *numbers], 20)))
    a name  x
    n       12,345
    of      67,890
    """
    head, body = grid_parts(columns, width, rule=rule)
    return [*head, *body]


def grid_parts(columns: Sequence[TextColumn], width: int, *, rule: bool = True) -> tuple[list[str], list[str]]:
    """Return the lines of the heading, and those below it, as `grid` does."""
    widths = fit(columns, width)
    if widths is None:
        return [], list(_blocks(columns, width))
    heads = [
        [part for line in column.heading.split("\n") for part in fold(line, room)]
        for column, room in zip(columns, widths, strict=True)
    ]
    tallest = max(map(len, heads))
    head = [
        _row([each[at - tallest] if len(each) >= tallest - at else "" for each in heads], widths, columns)
        for at in range(tallest)
    ]
    lines = [GAP.join("─" * room for room in widths).rstrip()] if rule else []
    for cells in zip(*(column.cells for column in columns), strict=True):
        folded = [
            fold(text, room) if column.fold and not column.right else [text]
            for text, room, column in zip(cells, widths, columns, strict=True)
        ]
        for at in range(max(map(len, folded))):
            lines.append(_row([part[at] if at < len(part) else "" for part in folded], widths, columns))
    return head, lines


def _row(texts: Sequence[str], widths: Sequence[int], columns: Sequence[TextColumn]) -> str:
    padded = [pad(text, room, column.right) for text, room, column in zip(texts, widths, columns, strict=True)]
    return GAP.join(padded).rstrip()


def _blocks(columns: Sequence[TextColumn], width: int) -> Iterator[str]:
    """Yield a line for each cell of a row, after its heading, and an empty line between two rows."""
    heads = [" ".join(column.heading.split()) for column in columns]
    room = min(max(map(cell_len, heads)), max(width // 2, 1))
    for place, cells in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if place:
            yield ""
        for head, text in zip(heads, cells, strict=True):
            if text:
                names, parts = fold(head, room), fold(text, max(width - room - len(GAP), 2))
                for at in range(max(len(names), len(parts))):
                    name, part = (each[at] if at < len(each) else "" for each in (names, parts))
                    yield f"{pad(name, room)}{GAP}{part}".rstrip()


def fit(columns: Sequence[TextColumn], width: int) -> list[int] | None:
    """Return column widths whose sum, with the gaps, is at most `width`; None if there are none. The widest texts
    shrink first, then columns to keep whole, and then the headings of numbers.

    >>> name, note = TextColumn("name", ("x" * 30,)), TextColumn("note", ("y" * 10,))
    >>> fit([name, note, TextColumn("n", ("1234",), right=True)], 40), fit([name, note], 12)
    ([22, 10, 4], None)
    """
    room = [column.width for column in columns]
    spare = width - len(GAP) * (len(room) - 1) - sum(room)
    texts = [not column.right for column in columns]
    plain = [not column.right and not column.whole for column in columns]
    for shrinks in (plain, texts, [True] * len(room)):
        while spare < 0:
            open_to = [at for at, each in enumerate(shrinks) if each and room[at] > columns[at].least]
            if not open_to:
                break
            widest = max(open_to, key=lambda index: room[index])
            room[widest] -= 1
            spare += 1
    return room if spare >= 0 else None


def render_table(table: pa.Table, width: int, max_rows: int = 40) -> str:
    """Return `table` as text, at most `width` cells wide and `max_rows` rows long, with a footer. At `UNBOUNDED` width,
    every row and every text is complete.

    Numbers are right-aligned and share their decimals within a column; a null is `—`, a line break in a text is a
    space. Columns that do not fit are named in the footer.

    >>> import pyarrow as pa
    >>> print(render_table(pa.table({"科目": ["数学", None], "value": [7.25, 10.0]}), 40))
    科目  value
    ────  ─────
    数学   7.25
    —     10.00
    <BLANKLINE>
    2 rows
    """

    shown = table if width >= UNBOUNDED else table.slice(0, max_rows)
    columns = [values_of(shown.column(index)) for index in range(shown.num_columns)]
    return render_columns(table.column_names, columns, table.num_rows, width)


def render_columns(names: Sequence[str], values: Sequence[Sequence[Any]], rows: int, width: int) -> str:
    """Return the text of `render_table` for the `values` of each column, which has only the rows to show, of `rows` in
    all.

    >>> print(render_columns(["n"], [[1, 20]], 1000, 40))
     n
    ──
     1
    20
    <BLANKLINE>
    1,000 rows, the first 2 shown; `limit`, or `-o FILE` for all of them
    """
    longest = None if width >= UNBOUNDED else LONGEST
    columns = [_column(name, cells, longest) for name, cells in zip(names, values, strict=True)]
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
    """Return how many decimals a column of numbers needs for two or three significant digits.

    Values below 1e-12 count as rounding errors of 0.

    >>> [decimals_of(values) for values in ([7.4213, 10, None], [0.5], [1200.5, 3.25], [0.00012], [3.3e-16])]
    [2, 3, 1, 5, 3]
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(known, default=0.0)
    if 1e-12 <= largest < 0.01:
        return 1 - math.floor(math.log10(largest))
    return 1 if largest >= 1000 else 2 if largest >= 1 else 3


def _column(name: str, cells: Sequence[Any], longest: int | None) -> TextColumn:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, float) or _has_decimals(cell) for cell in known):
        decimals = decimals_of([None if cell is None else float(cell) for cell in cells])
        texts = tuple(NULL_TEXT if cell is None else f"{cell:.{decimals}f}" for cell in cells)
        return TextColumn(_line(name, longest), texts, True)
    right = bool(known) and all(isinstance(cell, int | Decimal) and not isinstance(cell, bool) for cell in known)
    return TextColumn(_line(name, longest), tuple(cell_text(cell, longest) for cell in cells), right, fold=False)


def _has_decimals(cell: Any) -> bool:
    if not isinstance(cell, Decimal):
        return False
    exponent = cell.as_tuple().exponent
    return isinstance(exponent, int) and exponent < 0


def cell_text(value: Any, longest: int | None = LONGEST) -> str:
    """Return a value as text on one line without control characters, and with at most `longest` characters.

    >>> cell_text(None), cell_text([1, True]), cell_text("two\\nlines")
    ('—', '1, true', 'two lines')
    """
    match value:
        case None:
            return NULL_TEXT
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(cell_text(each, longest) for each in value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case _:
            return _line(str(value), longest)


def _line(text: str, longest: int | None) -> str:
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}…"
    # Escape sequences in a reply must not reach the terminal.
    return "".join(each if each.isprintable() else " " for each in " ".join(text.split()))


def pad(text: str, room: int, right: bool = False) -> str:
    """Return a text that is exactly `room` cells wide: padded with spaces, or cut with an ellipsis.

    >>> pad("数学", 6), pad("7", 3, right=True), pad("one two", 5)
    ('数学  ', '  7', 'one… ')
    """
    size = cell_len(text)
    if size > room:
        return set_cell_size(set_cell_size(text, room - 1).rstrip() + "…", room)
    return " " * (room - size) + text if right else text + " " * (room - size)


# Values of Arrow
Maps = Literal["lossy"] | None
"""How maps are returned: as dictionaries, or as lists of pairs."""


def values_of(column: pa.Array | pa.ChunkedArray, maps: Maps = "lossy") -> list[Any]:
    """Return the values of a column. A date or time outside of the years 1 to 9999 is a text.

    >>> import pyarrow as pa
    >>> values_of(pa.array([0, None, 2**31 - 1], pa.date32()))
    [datetime.date(1970, 1, 1), None, '<value out of range: 2147483647>']
    """
    try:
        found: list[Any] = column.to_pylist(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        found = [_value_of(scalar, maps) for scalar in column]
    return found


def _value_of(scalar: pa.Scalar, maps: Maps) -> Any:
    import pyarrow as pa

    try:
        return scalar.as_py(maps_as_pydicts=maps)
    except (OverflowError, ValueError):
        pass
    match scalar:
        case pa.StructScalar():
            return {name: _value_of(value, maps) for name, value in scalar.items()}
        case pa.ListScalar() | pa.LargeListScalar() | pa.FixedSizeListScalar() | pa.MapScalar():
            return [_value_of(value, maps) for value in scalar.values]
        case _:
            return scalar.cast(pa.string()).as_py()
