"""Tables as text for a terminal, aligned also with wide characters. Widths are in cells: a wide character takes two.

A table that does not fit becomes narrower in steps: columns of counts become a note, names in headings become letters,
intervals become their half-width (`±`), then intervals are left out. If that is not enough, every row becomes a block
of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, chop_cells, set_cell_size

from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import wrap
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.model import DAGGER, Column, Table, number_of
from tripos_warehouse.tables.values import (
    LONGEST,
    NULL_TEXT,
    Interval,
    Range,
    cell_text,
    decimals_of,
    has_decimals,
    on_one_line,
    range_text,
    values_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


def wrapped(text: str, width: int) -> str:
    """Return `text` broken at spaces into lines of at most `width` cells; a longer word is a line of its own, and a
    number keeps its `%`.

    >>> wrapped("one two three", 7), wrapped("it is 4.7 % sharper", 10)
    ('one two\\nthree', 'it is\\n4.7 %\\nsharper')
    """
    if not text.isascii():  # Chinese text has no spaces
        return "\n".join(wrap(text, width))
    lines = [""]
    for word in re.split(r" (?!%)", text):
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)


NAME_BREAKS = "/-_:@"
"""The signs after which a long name in a table is cut, rather than elsewhere."""


def fold(line: str, room: int, breaks: str = "") -> list[str]:
    """Return a line cut into lines of at most `room` cells, between words if possible; a word that is too long, after
    one of the signs `breaks` if possible.

    >>> fold("the sum is forty-two", 10), fold("四十二就是答案", 6), fold("", 6)
    (['the sum is', 'forty-two'], ['四十二', '就是答', '案'], [''])
    >>> fold("openai/gpt-4o-mini", 13), fold("openai/gpt-4o-mini", 13, NAME_BREAKS)
    (['openai/gpt-4o', '-mini'], ['openai/gpt-', '4o-mini'])
    """
    lines: list[str] = []
    while cell_len(line) > room:
        head = chop_cells(line[: room + 1], room)[0]
        space = head.rfind(" ") if line[len(head) : len(head) + 1] != " " else len(head)
        sign = max((head.rfind(each) for each in breaks), default=-1)
        end = space if space > 0 and head[:space].strip() else sign + 1 if sign > 0 else len(head)
        lines.append(line[:end].rstrip())
        line = line[end:].lstrip(" ")
    return [*lines, line]


GAP = "  "
"""What separates columns."""
NARROWEST = 8
"""The least width of a text column; if there is less room, each row becomes a block of lines."""
UNBOUNDED = 1_000_000
"""A width at which nothing is cut or broken."""
READABLE = 12
"""The least width of a column of a query result; if there is less room, columns are left out."""
LABEL_ROOM, WORD_ROOM = 16, 24
"""The width of a column of labels from which it is easy to read, unless it has longer words; and the width up to which
words should not be broken."""
NARROW_HEADING = 14
"""The width at which a heading is broken into lines, if its column allows that."""


# Grids
@dataclass(frozen=True)
class TextColumn:
    """A column of texts with a heading, which may have several lines.

    `right`: the texts are right-aligned and never cut, as numbers are. `shrinks_last`: the column becomes narrower only
    after others. `whole`: it never does. `fold`: long texts continue on the next lines; otherwise they are cut.
    """

    heading: str
    cells: tuple[str, ...]
    right: bool = False
    shrinks_last: bool = False
    whole: bool = False
    fold: bool = True
    most: int | None = None
    """The maximum width."""
    extra: int = 0
    """Cells that the full width has beside its texts, for a heading above several columns."""

    @cached_property
    def width(self) -> int:
        """The full width: that of the widest text or line of the heading, and at most `most`; and `extra`."""
        widest = max(map(cell_len, (*self.heading.split("\n"), *self.cells)))
        return (widest if self.most is None else min(widest, self.most)) + self.extra

    @cached_property
    def least(self) -> int:
        """The least width: for numbers, that of the widest number or word of the heading; for texts, a few cells."""
        if self.right:
            return max(map(cell_len, (*self.heading.split(), *self.cells)))
        return self.width if self.whole else min(self.width, NARROWEST)

    @cached_property
    def needed(self) -> int:
        """The least width at which the column is easy to read: its words are not broken."""
        if self.right:
            return self.width - self.extra
        return min(self.width, max(LABEL_ROOM, min(self._longest_word, WORD_ROOM)))

    @cached_property
    def unbroken(self) -> int:
        """The least width at which no word of the cells and of the heading is broken."""
        if self.right:
            return self.width - self.extra
        longest = max(self._longest_word, *map(cell_len, self.heading.split()), NARROWEST)
        return self.width if self.whole else min(self.width, longest)

    @cached_property
    def _longest_word(self) -> int:
        return max((cell_len(word) for cell in self.cells for word in cell.split()), default=0)


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
    head, rows = _heading_and_rows(columns, width)
    return [*(head if rule else head[:-1]), *(line for row in rows for line in row)]


def _heading_and_rows(columns: Sequence[TextColumn], width: int) -> tuple[list[str], list[list[str]]]:
    """Return the lines of the heading, the last of which is the rule, and the lines of every row. If the columns do not
    fit, every row is a block of lines, and there is no heading."""
    widths = fit(columns, width)
    if widths is None:
        return [], list(_blocks(columns, width))
    headings = [
        [part for line in column.heading.split("\n") for part in fold(line, room)]
        for column, room in zip(columns, widths, strict=True)
    ]
    height = max(map(len, headings))
    head = [  # headings are aligned at the bottom
        _row([parts[line - height] if len(parts) >= height - line else "" for parts in headings], widths, columns)
        for line in range(height)
    ]
    head.append(GAP.join("─" * room for room in widths).rstrip())
    rows = []
    for cells in zip(*(column.cells for column in columns), strict=True):
        folded = [
            fold(text, room, NAME_BREAKS) if column.fold and not column.right else [text]
            for text, room, column in zip(cells, widths, columns, strict=True)
        ]
        height = max(map(len, folded))
        rows.append(
            [
                _row([parts[line] if line < len(parts) else "" for parts in folded], widths, columns)
                for line in range(height)
            ]
        )
    return head, rows


def _row(texts: Sequence[str], widths: Sequence[int], columns: Sequence[TextColumn]) -> str:
    """Return one line with a text for each column."""
    padded = [pad(text, room, column.right) for text, room, column in zip(texts, widths, columns, strict=True)]
    return GAP.join(padded).rstrip()


def _blocks(columns: Sequence[TextColumn], width: int) -> Iterator[list[str]]:
    """Yield the lines of every row: for each cell that is not empty its heading and its text, and an empty line between
    two rows."""
    headings = [" ".join(column.heading.split()) for column in columns]
    room = min(max(map(cell_len, headings)), max(width // 2, 1))
    for number, cells in enumerate(zip(*(column.cells for column in columns), strict=True)):
        lines = [""] if number else []
        for heading, text in zip(headings, cells, strict=True):
            if text.strip():
                left, right = fold(heading, room), fold(text.strip(), max(width - room - len(GAP), 2))
                for left_part, right_part in zip_longest(left, right, fillvalue=""):
                    lines.append(f"{pad(left_part, room)}{GAP}{right_part}".rstrip())
        yield lines


def fit(columns: Sequence[TextColumn], width: int) -> list[int] | None:
    """Return column widths whose sum, with the gaps, is at most `width`; None if there are none. Columns shrink as long
    as no word is broken, and further only if that is not enough: the widest columns of texts first, then those with
    `shrinks_last`, and then columns of numbers, whose headings are broken.

    >>> name, note = TextColumn("name", ("x" * 30,)), TextColumn("note", ("y" * 10,))
    >>> fit([name, note, TextColumn("n", ("1234",), right=True)], 40), fit([name, note], 12)
    ([22, 10, 4], None)
    >>> fit([TextColumn("name", ("x" * 12,)), TextColumn("note", ("yes or no",))], 22)
    [12, 8]
    """
    widths = [column.width for column in columns]
    spare = width - len(GAP) * (len(widths) - 1) - sum(widths)
    texts = [not column.right for column in columns]
    first = [not column.right and not column.shrinks_last for column in columns]
    unbroken, least = [column.unbroken for column in columns], [column.least for column in columns]
    every = [True] * len(widths)
    steps = ((first, unbroken), (texts, unbroken), (first, least), (texts, least), (every, least))
    for may_shrink, narrowest in steps:
        while spare < 0:
            shrinkable = [at for at, allowed in enumerate(may_shrink) if allowed and widths[at] > narrowest[at]]
            if not shrinkable:
                break
            widest = max(shrinkable, key=lambda index: widths[index])
            widths[widest] -= 1
            spare += 1
    return widths if spare >= 0 else None


# Layouts of tables
TEXT_MARKS = ("*", "+")
"""The signs after the best and the second best value."""


@dataclass(frozen=True)
class TextLines:
    """A table as lines: its heading with the rule below it, the lines of every row, and notes about what the layout
    does not show. The heading is empty if rows are blocks of lines."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def lines(self, *, rule: bool = True) -> list[str]:
        """Return all lines, without the rule if `rule` is false."""
        return [*(self.head if rule else self.head[:-1]), *(line for row in self.rows for line in row), *self.notes]


INTERVALS: tuple[Interval, ...] = ("ci", "pm", "none")
"""The notations of intervals, from the widest to the narrowest."""


@dataclass(frozen=True)
class _Step:
    """A form of a table: the notation of intervals, whether columns of counts are shown, and whether letters replace
    names in headings."""

    interval: Interval = "ci"
    counts: bool = True
    letters: bool = False


def table_lines(table: Table, width: int, *, rule: bool = True) -> list[str]:
    """Return a table as lines of at most `width` cells, without its caption and its own notes.

    >>> values = Column("value", (Estimate(0.82, low=0.75, high=0.88), Estimate(0.5, "one item")), "number")
    >>> table = Table((Column("model", ("a", "数学")), values, Column("n", (1200, 1), "count", is_count=True)))
    >>> print("\\n".join(table_lines(table, 40)))
    model          value [95 %]      n
    ─────  ────────────────────  ─────
    a      0.820 [0.750, 0.880]  1,200
    数学   0.500                     1
    >>> print("\\n".join(table_lines(table, 30)))
    model          value [95 %]
    ─────  ────────────────────
    a      0.820 [0.750, 0.880]
    数学   0.500
    n 1–1,200
    """
    return lay_out(table, width).lines(rule=rule)


def lay_out(table: Table, width: int, *, marks: bool = False) -> TextLines:
    """Return a table in the widest form that fits, if possible without breaking words of labels, or with a block of
    lines for each row. With `marks`, signs follow the values that stand out."""
    if not marks:
        table = replace(table, columns=tuple(replace(column, emphasis={}, p_values={}) for column in table.columns))
    if (layout := fitted(table, width)) is not None:
        return layout
    table = table.without_repeats()
    steps = list(_steps(table))
    widest = next((step for step in steps if fit(_text_columns(table, step), width) is not None), steps[0])
    return _laid_out(table, widest, width)


def fitted(table: Table, width: int) -> TextLines | None:
    """Return a table in the widest form that fits with all columns easy to read (`TextColumn.needed`); None if there is
    none."""
    table = table.without_repeats()
    for step in _steps(table):
        columns = _text_columns(table, step)
        if sum(column.needed for column in columns) + len(GAP) * (len(columns) - 1) <= width:
            return _laid_out(table, step, width)
    return None


def fits(table: Table, width: int, interval: Interval = "ci") -> bool:
    """Return true if a table fits with all columns, each at its full width."""
    columns = _text_columns(table.without_repeats(), _Step(interval))
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1) <= width


def _steps(table: Table) -> Iterator[_Step]:
    """Yield the forms of a table from the widest to the narrowest."""
    yield _Step()
    has_counts = any(column.is_count for column in table.columns)
    if has_counts:
        yield _Step(counts=False)
    has_names = any(map(_can_be_letter, table.columns))
    for interval in INTERVALS if table.has_intervals else INTERVALS[:1]:
        if interval != "ci":
            yield _Step(interval, counts=False)
        if has_names:
            yield _Step(interval, counts=False, letters=True)


def _can_be_letter(column: Column) -> bool:
    """Return true if a letter may replace the heading of a column."""
    return column.is_name and not column.is_text and not column.is_count


def _laid_out(table: Table, step: _Step, width: int) -> TextLines:
    """Return a table in one of its forms."""
    columns = _text_columns(table, step)
    head, rows = _heading_and_rows(columns, width)
    if head and table.groups:
        head = [_group_line(table, step, columns, width), *head]
    for at, sentences in sorted(table.separators.items(), reverse=True):
        rows[at:at] = [list(_separator(sentences, width))]
    notes = tuple(line for note in _layout_notes(table, step) for line in fold(note, width))
    return TextLines(tuple(head), tuple(map(tuple, rows)), notes)


def _separator(sentences: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of sentences before a row, after a mark."""
    for number, text in enumerate(sentences):
        first, *rest = wrapped(localized(text), width - 5).split("\n")
        yield f"{'   ' if number else '-- '}{first}"
        yield from (f"     {line}" for line in rest)


def _shown(table: Table, step: _Step) -> list[Column]:
    """Return the columns that a form shows."""
    return [column for column in table.columns if step.counts or not column.is_count]


def _text_columns(table: Table, step: _Step) -> list[TextColumn]:
    """Return the columns of a form as texts."""
    letters, shown = _letters(table) if step.letters else {}, _shown(table, step)
    columns = [_text_column(column, step.interval, letters.get(column.key)) for column in shown]
    at = 0
    for name, count in replace(table, columns=tuple(shown)).groups:
        room = sum(column.width for column in columns[at : at + count]) + len(GAP) * (count - 1)
        if name is not None and (lacking := cell_len(name) - room) > 0:
            columns[at] = replace(columns[at], extra=lacking)
        at += count
    return columns


def _text_column(column: Column, interval: Interval, letter: str | None) -> TextColumn:
    """Return a column as texts, in which values are aligned with each other, and so are intervals."""
    parts = [column.parts(row, interval) for row in range(len(column.cells))]
    marks = max(column.emphasis.values(), default=0)
    values = [f"{value}{_mark(column.emphasis.get(row))}" if marks else value for row, (value, _) in enumerate(parts)]
    if column.has_daggers:
        values = [f"{value}{DAGGER if column.is_significant(row) else ' '}" for row, value in enumerate(values)]
    if any(ends for _, ends in parts):
        room, ends_room = (max(map(cell_len, texts)) for texts in (values, [ends for _, ends in parts]))
        values = [
            f"{' ' * (room - cell_len(value))}{value} {ends}{' ' * (ends_room - cell_len(ends))}"
            for value, (_, ends) in zip(values, parts, strict=True)
        ]
    heading = letter or (column.title if column.is_name else localized(column.title))
    heading = broken_heading(heading) if column.breaks_heading else heading
    if column.has_intervals and interval == "ci" and not column.is_name:
        heading = f"{heading} [95 %]"
    return TextColumn(
        "\n".join(_plain(line) for line in heading.split("\n")),
        tuple(map(_plain, values)),
        right=not column.is_text,
        shrinks_last=column.shrinks == "last",
        whole=column.shrinks == "never",
        fold=column.wraps,
        most=column.max_width,
    )


def broken_heading(name: str) -> str:
    """Return a name of several words on several narrow lines.

    >>> broken_heading("solution_correctness.f1").split("\\n"), broken_heading("overall")
    (['solution_', 'correctness.f1'], 'overall')
    """
    lines = [""]
    for part in re.findall(r"[^._ ]*[._ ]?", name):
        if lines[-1] and len(lines[-1]) + len(part) > NARROW_HEADING:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)


def _mark(rank: int | None) -> str:
    """Return the sign after a value of a rank, a space for one that does not stand out."""
    return TEXT_MARKS[rank - 1] if rank is not None and rank <= len(TEXT_MARKS) else " "


def _plain(text: str) -> str:
    """Return a text of the same length with spaces in place of control characters."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def _letters(table: Table) -> dict[str, str]:
    """Return a letter for each column with a name: A to Z, then AA."""
    names = [column.key for column in table.columns if _can_be_letter(column)]
    return {name: letter(place) for place, name in enumerate(names)}


def letter(place: int) -> str:
    """Return the letter that replaces the name of a column: A to Z, then AA.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'AA')
    """
    return chr(ord("A") + place) if place < 26 else letter(place // 26 - 1) + letter(place % 26)


def _group_line(table: Table, step: _Step, columns: Sequence[TextColumn], width: int) -> str:
    """Return the line of the headings above groups of columns."""
    widths = fit(columns, width) or []
    line, at = "", 0
    for name, count in replace(table, columns=tuple(_shown(table, step))).groups:
        room = sum(widths[at : at + count]) + len(GAP) * (count - 1)
        line += pad(name or "", room) + GAP
        at += count
    return line.rstrip()


def _layout_notes(table: Table, step: _Step) -> Iterator[str]:
    """Yield the names that letters replace, the counts, and how far intervals reach, if the form does not show them."""
    if step.letters:
        names = {column.key: column.title for column in table.columns}
        yield from (f"{sign}  {_plain(names[key])}" for key, sign in _letters(table).items())
    if not step.counts and (counts := counts_note(table)):
        yield counts
    half_widths = [
        (half_width, column.number(half_width, row).lstrip("+"))
        for column in table.columns
        for row, cell in enumerate(column.cells)
        if isinstance(cell, Estimate) and (half_width := cell.half_width) is not None
    ]
    if step.interval == "pm":
        yield localized("±: how far the interval of 95 % reaches on its longer side")
    if step.interval == "none" and half_widths:
        yield localized(f"95 % intervals: at most ±{max(half_widths)[1]}")


def without_counts(table: Table) -> Table:
    """Return a table without its columns of counts."""
    return replace(table, columns=tuple(column for column in table.columns if not column.is_count))


def counts_note(table: Table) -> str:
    """Return the columns of counts as a sentence, with the least and the greatest number of each outside of rows of
    totals."""
    parts = []
    for column in table.columns:
        if column.is_count:
            cells = [cell for row, cell in enumerate(column.cells) if row not in table.totals]
            ends = [end for cell in cells for end in (cell if isinstance(cell, Range) else (number_of(cell),))]
            parts.append(f"{localized(column.title)} {range_text(Range.of(ends), column.number)}")
    return localized(", ").join(parts)


# Results of queries
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
    """Return the text of `render_table` from the `values` of each column. They are those of the rows to show; `rows` is
    the number of all rows.

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
    shown = len(columns)
    while shown > 1 and sum(min(column.width, READABLE) for column in columns[:shown]) + len(GAP) * (shown - 1) > width:
        shown -= 1
    lines = grid(columns[:shown], width) if columns else []
    count = "1 row" if rows == 1 else f"{rows:,} rows"
    notes = [count]
    if columns and rows > len(columns[0].cells):
        notes = [f"{count}, the first {len(columns[0].cells)} shown; `limit`, or `-o FILE` for all of them"]
    if shown < len(columns):
        hidden = ", ".join(column.heading for column in columns[shown:])
        notes.append(wrapped(f"no room for {hidden}", width))
    return "\n".join([*lines, "", *notes])


def _column(name: str, cells: Sequence[Any], longest: int | None) -> TextColumn:
    """Return a column of a query result as texts."""
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, float) or has_decimals(cell) for cell in present):
        decimals = decimals_of([None if cell is None else float(cell) for cell in cells])
        texts = tuple(NULL_TEXT if cell is None else f"{cell:.{decimals}f}" for cell in cells)
        return TextColumn(on_one_line(name, longest), texts, True)
    right = bool(present) and all(isinstance(cell, int | Decimal) and not isinstance(cell, bool) for cell in present)
    return TextColumn(on_one_line(name, longest), tuple(cell_text(cell, longest) for cell in cells), right, fold=False)


def pad(text: str, room: int, right: bool = False) -> str:
    """Return a text that is exactly `room` cells wide: padded with spaces, or cut with an ellipsis.

    >>> pad("数学", 6), pad("7", 3, right=True), pad("one two", 5)
    ('数学  ', '  7', 'one… ')
    """
    size = cell_len(text)
    if size > room:
        return set_cell_size(set_cell_size(text, room - 1).rstrip() + "…", room)
    return " " * (room - size) + text if right else text + " " * (room - size)
