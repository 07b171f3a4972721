"""A run as a workbook for spreadsheets: a sheet a table, texts as texts, and nothing that is cut in silence.

A sheet has at most 1,048,576 rows and a cell at most 32,767 UTF-16 units. A table with more rows goes on in a further
sheet, and a longer text in further columns beside its own, so that everything is there.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.exports.files import appearing
from tripos_warehouse.exports.tables import TableSource, WrittenTable, open_fields
from tripos_warehouse.query import Connection, cell
from tripos_warehouse.views import RunRecord

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell import Cell


_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")


def written(text: str) -> str:
    """Return a text as the XML of a workbook has it: what XML cannot hold escaped, and what looks like such an escape
    too. Half of a surrogate pair, which nothing can hold, becomes U+FFFD.

    >>> written("a\\x07b"), written("a_x0007_b"), written("two\\r\\nlines")
    ('a_x0007_b', 'a_x005F_x0007_b', 'two_x000D_\\nlines')
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", _ESCAPED.sub("_x005F_", whole))


def put_text(cell: Cell, text: str) -> None:
    """Put a text of at most 32,767 characters into a cell, where it is never a formula, a number or an escape."""
    cell.value = ""
    # Set as a value, it would be read for what it looks like, and cut where its escapes make it longer.
    cell._value = written(text)  # type: ignore[attr-defined]
    cell.data_type = "s"


SHORT = 16_000
"""A text of so many characters fits into a cell whatever they are."""


def longest_texts(connection: Connection, plan: Plan, run: RunRecord, name: str) -> dict[str, int]:
    """Return the length of the longest text of each column of the table `name` that may not fit into a cell."""
    schema = sql.name(run.benchmark)
    match name:
        case "samples":
            columns = {each: each for each in ("messages", "reply", "parsed", "error")}
        case "items":
            fields = dict.fromkeys(field for own in open_fields(plan, True).values() for field in own)
            paths = {each: '$."' + each + '"' for each in fields}
            columns = {each: f"(fields ->> {sql.text(path)})" for each, path in paths.items()}
        case _:
            return {}
    if not columns:
        return {}
    longest = ", ".join(f"coalesce(max({_units(each)}), 0)" for each in columns.values())
    [found] = connection.execute(f"select {longest} from {schema}.{name}").fetchall()
    return {each: units for each, units in zip(columns, found, strict=True) if units > SHORT}


def _units(text: str) -> str:
    """SQL for the length of a text; a character beyond the first plane takes two units."""
    beyond = f"length(regexp_replace({text}, '[^\\x{{10000}}-\\x{{10FFFF}}]', '', 'g'))"
    return f"length({text}) + case when length({text}) > {SHORT} then {beyond} else 0 end"


MOST_ROWS = 1_048_576
MOST_UNITS = 32_767
TIME = "yyyy-mm-dd hh:mm:ss"


def write_workbook(
    tables: Iterable[TableSource], path: Path, longest: Callable[[str], dict[str, int]], most_rows: int = MOST_ROWS
) -> list[WrittenTable]:
    """Write the tables into one workbook. `longest` says of a table, by column, how many UTF-16 units its longest text
    has, where that may be too many for a cell.

    Raises `StoreError` S0604 where the disk refuses.
    """
    from openpyxl import Workbook

    # Row by row to the disk. Only the packed file is in memory: one that a full disk refuses could not be closed.
    book = Workbook(write_only=True)
    packed = io.BytesIO()
    with appearing(path) as new:
        told = [_write(book, source, path, longest(source.name), most_rows) for source in tables]
        book.save(packed)
        new.write_bytes(packed.getbuffer())
    return told


def _write(book: Workbook, source: TableSource, path: Path, longest: dict[str, int], most_rows: int) -> WrittenTable:
    # A piece may end a unit early, so that no character is cut in two.
    parts = {name: max(1, math.ceil(longest.get(name, 0) / (MOST_UNITS - 2))) for name in source.schema.names}
    titles = [
        name if part == 0 else f"{name} {part + 1}" for name in source.schema.names for part in range(parts[name])
    ]
    sheet, sheets, row, rows, cut = None, 0, 0, 0, 0
    for batch in source.batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if sheet is None or row >= most_rows:
                sheets += 1
                sheet, row = _sheet(book, source.name if sheets == 1 else f"{source.name} {sheets}", titles), 1
            cells: list[Any] = []
            for name, value in zip(source.schema.names, values, strict=True):
                pieces = split(cell(value)) if isinstance(value, str | dict | list) else [value]
                cut += len(pieces) > 1
                cells += [_cell(sheet, piece) for piece in pieces] + [None] * (parts[name] - len(pieces))
            sheet.append(cells)
            row += 1
            rows += 1
    if sheet is None:
        _sheet(book, source.name, titles)
    notes = []
    if sheets > 1:
        notes.append(f"more rows than a sheet has: they go on in {_listed(source.name, sheets)}")
    if cut:
        further = [name for name, count in parts.items() if count > 1]
        notes.append(f"{cut:,} texts are longer than a cell: they go on in the columns beside {', '.join(further)}")
    return WrittenTable(source.name, path, rows, tuple(notes))


def _sheet(book: Workbook, name: str, titles: Sequence[str]) -> Any:
    from openpyxl.styles import Font

    sheet = book.create_sheet(name)
    sheet.freeze_panes = "A2"
    cells = [_cell(sheet, title) for title in titles]
    for each in cells:
        each.font = Font(bold=True)
    sheet.append(cells)
    return sheet


def _cell(sheet: Any, value: Any) -> Any:
    """Return a value as a row of a sheet takes it: a number as it is, a text in a cell that says that it is one."""
    from openpyxl.cell import WriteOnlyCell

    match value:
        case None | "":
            return None
        case bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case datetime():
            made = WriteOnlyCell(sheet, value.replace(tzinfo=None))
            made.number_format = TIME
            return made
    made = WriteOnlyCell(sheet)
    put_text(made, str(value))
    return made


def split(text: str, most: int = MOST_UNITS - 1) -> list[str]:
    """Return a text in pieces of at most `most` UTF-16 units, no character cut in two.

    >>> split("abcde", 2), split("a😀b", 2), split("")
    (['ab', 'cd', 'e'], ['a', '😀', 'b'], [''])
    """
    if len(text) * 2 <= most:
        return [text]
    pieces, start, units = [], 0, 0
    for place, char in enumerate(text):
        size = 2 if ord(char) > 0xFFFF else 1
        if units + size > most:
            pieces.append(text[start:place])
            start, units = place, 0
        units += size
    return [*pieces, text[start:]]


def _listed(name: str, sheets: int) -> str:
    return ", ".join(f"`{name} {number}`" for number in range(2, sheets + 1))
