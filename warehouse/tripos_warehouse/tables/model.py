"""The table from which every format is written: columns of texts, numbers, ranges and estimates, with notes.

A table has data: values, estimates, headings in English, and which rows or values stand out. The renderers format
numbers and intervals, translate headings and fit columns to the width (`tables.render`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from tripos_compiler.diagnostics.i18n import chosen_language, localized
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.values import (
    FORMATS,
    NULL_TEXT,
    Interval,
    Kind,
    Range,
    cell_text,
    decimals_of,
    fixed,
    interval_text,
    range_text,
    values_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


Cell = str | bool | int | float | Range | Estimate | None
"""A cell: a text, a truth value, a number, a range or an estimate; None for an empty one."""
INTERVAL_NOTES: Mapping[Interval, str] = {
    "ci": "In brackets: intervals of 95 %.",
    "pm": "±: how far the interval of 95 % reaches, on its longer side where it is uneven.",
    "none": "",
}
"""The sentence below a table that explains its intervals, by their notation."""
DAGGER = "†"
"""The sign of a value that differs significantly."""
BETTER_THAN_ALL = "better than every other model beyond error (5 %, Holm)"
"""The meaning of the first rank in reports and boards."""


@dataclass(frozen=True)
class Column:
    """A column of one kind of values. Any column of numbers may have estimates.

    >>> shares = Column("value", (Estimate(0.875, low=0.473, high=0.997), Estimate(None, "no items")), "number")
    >>> [shares.text(row) for row in range(2)]
    ['0.875 [0.473, 0.997]', '—']
    """

    key: str
    """The name in JSON, CSV and on the page, which is never translated."""
    cells: tuple[Cell, ...]
    kind: Kind = "text"
    _: KW_ONLY
    heading: str | None = None
    """The heading in English; by default the key, with spaces for underscores."""
    is_name: bool = False
    """True if the heading is a name, such as that of a model: it is not translated, and a letter may replace it."""
    group: str | None = None
    """The heading above this column and its neighbours of the same group."""
    unit: str | None = None
    decimals: int | Sequence[int] | None = None
    """The decimals of all numbers, or those of each row; None for as many as the column needs."""
    signed: bool | frozenset[int] = False
    """True if positive numbers have a sign, or the rows whose numbers have one."""
    emphasis: Mapping[int, int] = field(default_factory=dict)
    """The rank of each row that stands out: 1 for the best value, 2 for the second best (`Table.marks`)."""
    p_values: Mapping[int, float] = field(default_factory=dict)
    """The corrected p-value of each row that was tested (`Table.tested`)."""
    level: float = 0.05
    """A value with a p-value below this is marked with a dagger."""
    is_count: bool = False
    """True for the numbers of scores or items behind values: on a narrow terminal a note replaces the column."""
    hides_repeats: bool = False
    """True if a value is not shown again in the next rows as long as it, and the values to its left, are the same."""
    has_code: bool = False
    """True if texts in backticks are names of a spec, which Markdown and HTML write in the font of code."""
    right: bool = False
    """True if texts are aligned like numbers."""
    shrinks: Literal["first", "last", "never"] = "first"
    """Whether the column becomes narrower before other columns on a narrow terminal, after them, or not at all: names
    that people copy."""
    wraps: bool = True
    """True if long texts continue on the next lines of a terminal; otherwise they are cut."""
    breaks_heading: bool = False
    """True if the heading takes several lines of a terminal, and breaks at `.`, `_` and spaces."""
    max_width: int | None = None
    """The largest width in cells of a terminal."""

    @property
    def title(self) -> str:
        """The heading in English, with the unit."""
        heading = self.key.replace("_", " ") if self.heading is None else self.heading
        return heading if self.unit is None else f"{heading} ({self.unit})"

    @cached_property
    def is_text(self) -> bool:
        """True if the column has texts, aligned to the left."""
        return self.kind == "text" and not self.right

    @cached_property
    def has_intervals(self) -> bool:
        """True if a value has an interval."""
        return any(isinstance(cell, Estimate) and cell.half_width is not None for cell in self.cells)

    @cached_property
    def _shared_decimals(self) -> int:
        """The number of decimals of all numbers, if `decimals` is None."""
        numbers = [number_of(cell) for cell in self.cells]
        return 0 if all(number is None or isinstance(number, int) for number in numbers) else decimals_of(numbers)

    def is_significant(self, row: int) -> bool:
        """Return true if a row has a p-value below the level."""
        return row in self.p_values and self.p_values[row] < self.level

    @cached_property
    def has_daggers(self) -> bool:
        """True if a value is marked as significantly different."""
        return any(map(self.is_significant, self.p_values))

    def is_signed(self, row: int) -> bool:
        """Return true if positive numbers of a row have a sign."""
        return self.signed if isinstance(self.signed, bool) else row in self.signed

    def places(self, row: int) -> int:
        """Return the number of decimals of a row."""
        if self.kind != "number":
            return 0
        if self.decimals is None:
            return self._shared_decimals
        return self.decimals if isinstance(self.decimals, int) else self.decimals[row]

    def number(self, value: float, row: int = 0) -> str:
        """Return a number in the format of this column.

        >>> Column("n", (0.5, -0.25), "number").number(-0.25), Column("n", (0.5,), "share").number(0.5)
        ('-0.250', '50%')
        """
        if not math.isfinite(value):
            return FORMATS["money"](value) if self.kind == "money" else str(value)
        form = FORMATS.get(self.kind)
        return form(value) if form is not None else self._fixed(value, row)

    def _fixed(self, value: float, row: int) -> str:
        """Return a number with the decimals of its row."""
        return fixed(value, self.places(row), signed=self.is_signed(row), thousands=True)

    def parts(self, row: int, interval: Interval = "ci") -> tuple[str, str]:
        """Return the text of a cell, and that of its interval."""
        match self.cells[row]:
            case None:
                return NULL_TEXT, ""
            case str() as text:
                return text, ""
            case bool() as truth:
                return "true" if truth else "false", ""
            case Range() as ends:
                return range_text(ends, lambda value: self.number(value, row)), ""
            case Estimate() as estimate:
                value = NULL_TEXT if estimate.value is None else self.number(estimate.value, row)
                unsigned = replace(self, signed=False) if interval == "pm" else self
                return value, interval_text(estimate, lambda end: unsigned.number(end, row), interval)
            case number:
                return self.number(number, row), ""

    def text(self, row: int, interval: Interval = "ci") -> str:
        """Return the text of a cell with its interval."""
        return " ".join(filter(None, self.parts(row, interval)))


@dataclass(frozen=True)
class Table:
    """Columns of the same length, with a caption, and notes below them. Texts refer to the table by its `name`.

    The notes of a table without columns say why there is nothing to show.
    """

    columns: tuple[Column, ...]
    name: str = ""
    caption: str = ""
    notes: tuple[str, ...] = ()
    _: KW_ONLY
    marks: tuple[str, ...] = (BETTER_THAN_ALL,)
    """The meaning of each rank of emphasis, the best first."""
    tested: str | None = None
    """The meaning of a dagger, if values were tested."""
    totals: frozenset[int] = frozenset()
    """The rows with sums or means of other rows."""
    separators: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Sentences before a row, for example that the values below have another meaning; those with the number of rows as
    their key come after the last row."""

    def __post_init__(self) -> None:
        if len({len(column.cells) for column in self.columns}) > 1:
            lengths = [len(column.cells) for column in self.columns]
            raise ValueError(f"columns of one table have different lengths: {lengths}")

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.columns[0].cells) if self.columns else 0

    @property
    def groups(self) -> list[tuple[str | None, int]]:
        """The groups of columns in order, each with the number of its columns; a column without a group is one with the
        name None. Empty if no column has a group."""
        groups: list[tuple[str | None, int]] = []
        for column in self.columns:
            if groups and column.group is not None and groups[-1][0] == column.group:
                groups[-1] = column.group, groups[-1][1] + 1
            else:
                groups.append((column.group, 1))
        return groups if any(name is not None for name, _ in groups) else []

    @property
    def has_intervals(self) -> bool:
        """True if a value has an interval."""
        return any(column.has_intervals for column in self.columns)

    def without_repeats(self) -> Table:
        """Return the table with empty cells in place of repeated values of columns with `hides_repeats`. Values below a
        separator are shown again."""
        if not any(column.hides_repeats for column in self.columns):
            return self
        columns: list[Column] = []
        hidden = [row > 0 and row not in self.separators for row in range(self.height)]
        for column in self.columns:
            if column.hides_repeats:
                cells = column.cells
                hidden = [hides and cells[row] == cells[row - 1] for row, hides in enumerate(hidden)]
                shown = tuple("" if hides else cell for hides, cell in zip(hidden, cells, strict=True))
                columns.append(replace(column, cells=shown))
            else:
                columns.append(column)
        return replace(self, columns=tuple(columns))

    def reading_notes(self, interval: Interval, marks: Sequence[str]) -> list[str]:
        """Return the notes as sentences, preceded by the meaning of intervals and of emphasis. `marks` are the words of
        a format for each rank, such as "Bold"."""
        ranks = {rank for column in self.columns for rank in column.emphasis.values()}
        notes = [INTERVAL_NOTES[interval]] if self.has_intervals else []
        meanings = enumerate(zip(marks, self.marks, strict=False), 1)
        notes += [f"{mark}: {meaning}" for rank, (mark, meaning) in meanings if rank in ranks]
        if self.tested is not None:
            shows_none = any(column.p_values for column in self.columns) and not any(
                column.has_daggers for column in self.columns
            )
            notes.append(f"No value {self.tested}" if shows_none else f"{DAGGER}: {self.tested}")
        return [note if note.endswith((".", ":")) else f"{note}." for note in (*notes, *self.notes) if note]

    def in_chosen_language(self) -> Table:
        """Return the table of a file: its own words in the language that the reader chose, or unchanged."""
        if chosen_language() is None:
            return self
        columns = (
            column if column.is_name else replace(column, heading=localized(column.title), unit=None, is_name=True)
            for column in self.columns
        )
        separators = {row: tuple(map(localized, texts)) for row, texts in self.separators.items()}
        return replace(self, columns=tuple(columns), caption=localized(self.caption), separators=separators)


def number_of(cell: Cell) -> float | None:
    """Return the number in a cell; None for a text, a truth value, a range or an empty cell."""
    if isinstance(cell, Estimate):
        return cell.value
    return None if cell is None or isinstance(cell, str | bool | Range) else cell


def answer_table(
    answer: pa.Table, name: str = "answer", longest: int | None = None, notes: tuple[str, ...] = ()
) -> Table:
    """Return the result of a query as a table, with texts of at most `longest` characters.

    >>> import pyarrow as pa
    >>> [column.cells for column in answer_table(pa.table({"n": [1, None], "who": ["a", "b"]})).columns]
    [(1, None), ('a', 'b')]
    """
    columns = [
        _answer_column(cell_text(heading), values_of(column), longest)
        for heading, column in zip(answer.column_names, answer.columns, strict=True)
    ]
    return Table(tuple(columns), name, "", notes)


def _answer_column(heading: str, cells: Sequence[Any], longest: int | None) -> Column:
    """Return a column of a result of a query."""
    values = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
    present = [value for value in values if value is not None]
    if not present or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        texts = tuple(None if value is None else _cut(cell_text(value), longest) for value in values)
        return Column(heading, texts, heading=heading, is_name=True)
    are_integers = all(isinstance(value, int) for value in present)
    return Column(heading, tuple(values), "count" if are_integers else "number", heading=heading, is_name=True)


def _cut(text: str, longest: int | None) -> str:
    """Return a text of at most `longest` characters, cut with an ellipsis if needed."""
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
