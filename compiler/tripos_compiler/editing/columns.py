"""Rows, columns and tables: neighbouring lines of a block whose parts stand below each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, zip_longest
from typing import Literal

from tripos_compiler.diagnostics import display_width
from tripos_compiler.source import (
    CallExpr,
    Generic,
    Name,
    OptionalExpr,
    RangeExpr,
    Record,
    SymbolExpr,
    Syntax,
    TableRow,
    Text,
    dataclass,
)

FITS = 100
"""The widest line that is not broken after a comma, and whose block stays in it."""
WIDEST = 120
"""The width beyond which nothing is pushed for the sake of columns."""


@dataclass(frozen=True)
class HeadPart:
    """An element of a head: as it is written, and what it is."""

    text: str
    node: Syntax


@dataclass
class Row:
    """One row of a block. Only the first line of `text` lacks its indentation.

    `parts` are the elements of the one statement in the row, where it has no block; `tail` is what follows them: a
    comma, and names in a list.
    """

    indent: int
    text: str
    kind: Literal["entry", "remark", "table"] = "entry"
    parts: tuple[HeadPart, ...] = ()
    tail: str = ""
    comment: str = ""
    blank: bool = False
    """Whether a blank line stands before it."""

    @property
    def single(self) -> bool:
        """True if it is one line."""
        return "\n" not in self.text

    @property
    def word(self) -> str:
        """The word that it begins with; empty where it begins with something else."""
        first = self.parts[0].node if self.parts else None
        return first.text if isinstance(first, Name) else ""

    @property
    def width(self) -> int:
        """The columns that its last line takes, without its comment."""
        last = self.text.rpartition("\n")[2]
        return display_width(last) + (self.indent if self.single else 0)

    def lines(self, gap: int = 2) -> list[str]:
        """Return its lines, with `gap` spaces before its comment."""
        text = " " * self.indent + self.text
        if self.comment:
            text += " " * gap + self.comment
        return ([""] if self.blank else []) + text.split("\n")


def lines_of(rows: list[Row]) -> list[str]:
    """Return the lines of rows. The comments that follow rows of one line each, next to each other, stand in a
    column."""
    lines: list[str] = []
    run: list[Row] = []
    for row in rows:
        if not (row.comment and row.single) or row.blank:
            lines += _commented(run)
            run = []
        if row.comment and row.single:
            run.append(row)
        else:
            lines += row.lines()
    return lines + _commented(run)


def _commented(run: list[Row]) -> list[str]:
    column = max((row.width for row in run), default=0) + 2
    pushed = any(
        column + display_width(row.comment) > WIDEST and row.width + 2 + display_width(row.comment) <= WIDEST
        for row in run
    )
    return [line for row in run for line in row.lines(2 if pushed else column - row.width)]


def align_tables(rows: list[Row]) -> None:
    """Lay out every table among the rows of a block. A blank line or a statement ends a table, a comment does not."""
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
    widths = [max(map(display_width, column)) for column in zip_longest(*grid, fillvalue="")]
    for row, texts in zip(table, grid, strict=True):
        row.text = table_row(texts, widths) + row.tail


def _cells_of(row: Row) -> list[str]:
    node = row.parts[0].node
    assert isinstance(node, TableRow)
    return [cell.text for cell in node.cells]


def table_row(texts: list[str], widths: list[int]) -> str:
    """Return a row with its first cell at the left and the others in the middle.

    >>> table_row(["难度", "x", "2"], [5, 4, 1])
    '| 难度  |  x   | 2 |'
    """
    padded = []
    for index, (text, width) in enumerate(zip(texts, widths, strict=False)):
        free = width - display_width(text)
        left = 0 if index == 0 else free // 2
        padded.append(" " * left + text + " " * (free - left))
    return f"| {' | '.join(padded)} |"


STEPS = frozenset({"", "dimension", "metric", "scenario"})
"""The blocks, by the word before them, whose statements are read one after the other; the file is the empty word."""
LABELLED = frozenset({"arm", "axis", "group"})
"""The blocks that hold names, each with its labels."""
TYPED = frozenset({"dataset", "returns", "{"})
"""The blocks that hold names, each with its type; `{` is one that stands where a type does."""
TYPES = frozenset(
    {"audio", "bool", "calls", "dialogue", "file", "image", "integer", "json", "number", "path", "text", "tools"}
)
"""The names of types. What is called otherwise is taken for a setting of the data set, as in `key id`."""
WIDE_TYPE = 24
"""A type wider than this, as a long `choice(…)` is, does not push those of its neighbours."""

Cells = list[str]
"""The texts that stand in the columns of a row; empty where it has nothing in a column, but in a later one."""


def align_columns(rows: list[Row], block: str) -> None:
    """Lay out the rows of a block, which is called by the word before it, in columns.

    A run is ended by a blank line, by a comment of its own line, and by a statement with a block or on several lines.
    """
    run: list[Row] = []
    for row in rows:
        fits = row.kind == "entry" and row.single and row.parts
        if run and (not fits or row.blank or row.indent != run[0].indent):
            _align_run(run, block)
            run = []
        if fits:
            run.append(row)
    _align_run(run, block)


def _align_run(run: list[Row], block: str) -> None:
    if block in STEPS:
        _align_statements(run)
    elif block in LABELLED:
        _pad(run, _labels, (2, 2, 2, 2))
    elif block in TYPED:
        for field, group in groupby(run, key=lambda row: len(row.parts) == 1 or _is_field(row, block)):
            if field:
                _pad(list(group), _field, (2, 1, 1), wide=1)
            else:
                _align_settings(list(group))
    else:
        _align_settings(run)


def _align_statements(run: list[Row]) -> None:
    for _, group in groupby(run, key=lambda row: row.word):
        _pad(list(group), _statement, (1, 1))


def _align_settings(run: list[Row]) -> None:
    """Align word and value; statements of one kind in a row, as the levels of a metric are, have columns of theirs."""
    settings: list[Row] = []
    for word, group in groupby(run, key=lambda row: row.word):
        same = list(group)
        if word and len(same) > 1 and all(len(_statement(row.parts)) > 1 for row in same):
            _pad(settings, _setting, (1,))
            _pad(same, _statement, (1, 1))
            settings = []
        else:
            settings += same
    _pad(settings, _setting, (1,))


def _is_field(row: Row, block: str) -> bool:
    kind = row.parts[1].node
    if block == "dataset" and isinstance(kind, Name):
        return kind.text in TYPES and not (len(row.parts) > 2 and isinstance(row.parts[2].node, Text))
    if isinstance(kind, CallExpr):
        return isinstance(kind.function, Name) and kind.function.text == "choice"
    return isinstance(kind, Name | Generic | OptionalExpr | RangeExpr | Record)


def _setting(parts: Sequence[HeadPart]) -> Cells:
    return [parts[0].text, _joined(parts[1:])] if len(parts) > 1 else [parts[0].text]


def _field(parts: Sequence[HeadPart]) -> Cells:
    if len(parts) == 1:
        return [parts[0].text]
    rest = parts[2:]
    secret = bool(rest) and isinstance(rest[0].node, Name) and rest[0].text == "secret"
    return [parts[0].text, parts[1].text, "secret" if secret else "", _joined(rest[secret:])]


def _labels(parts: Sequence[HeadPart]) -> Cells:
    found, index = [parts[0].text], 1
    while index < len(parts):
        size = _label_size(parts, index)
        if not size:
            return [*found, _joined(parts[index:])]
        found.append(_joined(parts[index : index + size]))
        index += size
    return found


def _statement(parts: Sequence[HeadPart]) -> Cells:
    """Head, value and condition of `score NAME = VALUE when COND`; what precedes the text of `level 7..8 "…"`."""
    equals = next((index for index, part in enumerate(parts) if part.node == _symbol(part, "=")), None)
    if equals is None:
        if len(parts) > 2 and not isinstance(parts[1].node, Text) and _label_size(parts, 2):
            return [_joined(parts[:2]), _joined(parts[2:])]
        return [_joined(parts)]
    when = next((i for i in range(equals + 2, len(parts)) if parts[i].text == "when"), len(parts))
    return [_joined(parts[:equals]), _joined(parts[equals:when]), _joined(parts[when:])]


def _symbol(part: HeadPart, text: str) -> SymbolExpr | None:
    return part.node if isinstance(part.node, SymbolExpr) and part.node.text == text else None


def _label_size(parts: Sequence[HeadPart], index: int) -> int:
    """Return how many parts from `index` on are one label: a string, or a name and a string; 0 where none begins
    there."""
    if isinstance(parts[index].node, Text):
        return 1
    named = isinstance(parts[index].node, Name) and index + 1 < len(parts)
    return 2 if named and isinstance(parts[index + 1].node, Text) else 0


def _joined(parts: Sequence[HeadPart]) -> str:
    return " ".join(part.text for part in parts)


def _pad(
    run: Sequence[Row], cells_of: Callable[[Sequence[HeadPart]], Cells], gaps: tuple[int, ...], wide: int | None = None
) -> None:
    """Write every row of a run in columns. `gaps[i]` is the least space after column i; the last holds for more. A cell
    of the column `wide` that is too wide takes its row out of the columns that follow."""
    grid = [cells_of(row.parts) for row in run]
    for row, found in zip(run, grid, strict=True):
        while len(found) > 1 and not found[-1]:
            found.pop()
        found[-1] += row.tail
    texts = [found[0] for found in grid]
    out: set[int] = set()
    for column in range(1, max(map(len, grid), default=0)):
        gap = gaps[min(column, len(gaps)) - 1]
        if wide is not None and column == wide + 1:
            out = {
                index
                for index, found in enumerate(grid)
                if len(found) > column and display_width(found[wide]) > WIDE_TYPE
            }
        reached = [index for index, found in enumerate(grid) if len(found) > column and index not in out]
        start = max((display_width(texts[index]) for index in reached), default=0) + gap
        pushed = any(_pushed(run[index], texts[index], grid[index][column:], gap, start) for index in reached)
        for index, found in enumerate(grid):
            if len(found) > column and found[column]:
                natural = display_width(texts[index]) + gap
                before = natural if pushed or index in out else start
                texts[index] += " " * (before - display_width(texts[index])) + found[column]
    for row, text in zip(run, texts, strict=True):
        row.text = text


def _pushed(row: Row, text: str, rest: Cells, gap: int, start: int) -> bool:
    """Return true if a row that has room would have none if its next column began at `start`."""
    width = sum(display_width(cell) + 1 for cell in rest if cell) - 1
    return row.indent + start + width > WIDEST and row.indent + display_width(text) + gap + width <= WIDEST
