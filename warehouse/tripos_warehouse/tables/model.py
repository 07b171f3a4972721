"""The table that every format is written from: columns of texts, numbers, or values with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.tables.text import NULL_TEXT, cell_text, decimals_of

if TYPE_CHECKING:
    import pyarrow as pa


Interval = Literal["ci", "pm", "none"]
"""How an interval is shown: `ci`, its ends in brackets; `pm`, its half-width after `±`; `none`, not at all."""
LARGE = 1e16
"""Numbers from here on are written with an exponent."""
NOTES: Mapping[Interval, str] = {
    "ci": "In brackets: intervals of 95 %.",
    "pm": "±: how far the interval of 95 % reaches, on its longer side where it is uneven.",
    "none": "",
}
BEST = "Bold: better than every other model beyond error (5 %, Holm)."


@dataclass(frozen=True)
class PaperEstimate:
    """A value with the ends of its interval, if it has one. `best`: it is significantly better than all others in its
    comparison.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    best: bool = False

    @property
    def half_width(self) -> float | None:
        """The half-width of the interval, on its longer side.

        >>> PaperEstimate(0.9, 0.6, 1.0).half_width
        0.30000000000000004
        """
        if self.value is None or self.low is None or self.high is None:
            return None
        return max(self.value - self.low, self.high - self.value)


Cell = str | int | float | PaperEstimate | None


@dataclass(frozen=True)
class PaperColumn:
    """A column with a heading. Numbers share their decimals: `decimals`, or as many as they need."""

    heading: str
    cells: tuple[Cell, ...]
    decimals: int | None = None

    @property
    def is_text(self) -> bool:
        """True if a cell is a text, or all are empty."""
        return any(isinstance(each, str) for each in self.cells) or all(each is None for each in self.cells)

    @property
    def has_intervals(self) -> bool:
        """True if a value has an interval."""
        return any(isinstance(each, PaperEstimate) and each.half_width is not None for each in self.cells)

    @property
    def places(self) -> int:
        """The number of decimals."""
        if self.decimals is not None:
            return self.decimals
        known = [each.value if isinstance(each, PaperEstimate) else each for each in self.cells]
        if all(each is None or isinstance(each, int | str) for each in known):
            return 0
        return decimals_of([each for each in known if isinstance(each, int | float)])

    def number(self, value: float) -> str:
        """Return a number with the decimals of the column. A number that rounds to zero has no sign.

        >>> PaperColumn("n", (0.5, -0.25)).number(-0.25), PaperColumn("n", (), 2).number(-0.001)
        ('-0.250', '0.00')
        """
        if abs(value) >= LARGE:
            return f"{value:.6g}"
        shown = f"{value:.{self.places}f}"
        return shown.removeprefix("-") if math.isfinite(value) and float(shown) == 0 else shown


@dataclass(frozen=True)
class PaperTable:
    """A table with a caption, and notes below it. Texts refer to it by its `name`."""

    name: str
    caption: str
    columns: tuple[PaperColumn, ...]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells of every row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))

    def notes_for(self, interval: Interval) -> list[str]:
        """Return the notes, preceded by the meaning of intervals and bold values if there are any."""
        cells = [each for column in self.columns for each in column.cells if isinstance(each, PaperEstimate)]
        told = [NOTES[interval]] if any(column.has_intervals for column in self.columns) else []
        best = [BEST] if any(each.best for each in cells) else []
        return [each if each.endswith((".", ":")) else f"{each}." for each in (*told, *best, *self.notes) if each]


def answer_table(
    answer: pa.Table, name: str = "answer", longest: int | None = None, notes: tuple[str, ...] = ()
) -> PaperTable:
    """Return the result of a query as a table, with texts of at most `longest` characters.

    >>> import pyarrow as pa
    >>> [column.cells for column in answer_table(pa.table({"n": [1, None], "who": ["a", "b"]})).columns]
    [(1, None), ('a', 'b')]
    """
    from tripos_warehouse.tables.text import values_of

    columns = []
    for heading, column in zip(answer.column_names, answer.columns, strict=True):
        values = [float(each) if isinstance(each, Decimal) else each for each in values_of(column)]
        numbers = all(each is None or (isinstance(each, int | float) and not isinstance(each, bool)) for each in values)
        cells = values if numbers else [None if each is None else _cut(cell_text(each), longest) for each in values]
        columns.append(PaperColumn(cell_text(heading), tuple(cells)))
    return PaperTable(name, "", tuple(columns), notes)


def _cut(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"


def plain(column: PaperColumn, cell: Cell, interval: Interval) -> str:
    """Return a cell as text, with its interval.

    >>> column = PaperColumn("value", (PaperEstimate(0.875, 0.473, 0.997),))
    >>> [plain(column, column.cells[0], each) for each in ("ci", "pm", "none")]
    ['0.875 [0.473, 0.997]', '0.875 ± 0.402', '0.875']
    """
    match cell:
        case None:
            return NULL_TEXT
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case int():
            return f"{cell:,}" if column.places == 0 else column.number(cell)
        case float():
            return column.number(cell)
    if cell.value is None:
        return NULL_TEXT
    shown = column.number(cell.value)
    if interval == "none" or cell.low is None or cell.high is None or cell.half_width is None:
        return shown
    if interval == "pm":
        return f"{shown} ± {column.number(cell.half_width)}"
    return f"{shown} [{column.number(cell.low)}, {column.number(cell.high)}]"
