"""CSV and TSV to records, as spreadsheets of any country write them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import IO, Any

from tripos_compiler.data import DataError
from tripos_compiler.semantics.rows import EMPTY_CELL

LONGEST_CELL = 2**31 - 1
"""The longest text that a cell may hold, in characters."""
OTHERS = (";", "\t")
"""What parts the cells of a `.csv` where commas are part of numbers, besides the comma."""
TWICE = 'a quotation mark inside of a cell is written twice, and the cell stands in quotation marks: `"say ""A"""`'

Opened = Callable[[], IO[bytes]]
"""Opens the file, from its beginning."""


def delimited_rows(opened: Opened, shown: str, delimiter: str | None = None) -> Iterator[dict[str, Any]]:
    """The records of a file, named by its first line; without a `delimiter` it is told from that line.

    A cell that a short row lacks is None. A row with more in it than there are columns is refused, for what is too much
    may well be the end of a text with a comma in it. Raises `DataError`, and what reading a damaged file raises.

    >>> list(delimited_rows(lambda: io.BytesIO(b"name;marks\\nAnna;1,5\\n"), "a.csv"))
    [{'name': 'Anna', 'marks': '1,5'}]
    """
    csv.field_size_limit(LONGEST_CELL)
    mark = delimiter or _delimiter(opened)
    with closing(_text(opened)) as file:
        reader = csv.DictReader(file, strict=True, delimiter=mark)
        begin = 1
        while True:
            try:
                begin = reader.line_num + 1 if reader.fieldnames else 1
                row = next(reader, None)
            except csv.Error as error:
                raise _misquoted(shown, begin, error) from error
            if row is None:
                return
            surplus: Any = row.pop(None, [])  # what is over stands under no name
            if any(cell.strip() for cell in surplus):
                raise _too_long(shown, begin, len(row), len(row) + len(surplus), mark)
            yield {name: EMPTY_CELL if cell == "" else cell for name, cell in row.items()}


def _text(opened: Opened) -> IO[str]:
    return io.TextIOWrapper(opened(), encoding="utf-8-sig", newline="")


def _delimiter(opened: Opened) -> str:
    """The comma, unless the first line is one cell by it and several by another."""
    if _columns(opened, ",") > 1:
        return ","
    best = max(OTHERS, key=lambda mark: _columns(opened, mark))
    return best if _columns(opened, best) > 1 else ","


def _columns(opened: Opened, delimiter: str) -> int:
    with closing(_text(opened)) as file:
        try:
            return len(next(csv.reader(file, strict=True, delimiter=delimiter), []))
        except csv.Error:
            return 0


def _misquoted(shown: str, line: int, error: csv.Error) -> DataError:
    if "end of data" in str(error):
        return DataError(f"line {line} of {shown}: a quotation mark is never closed", f"close it; {TWICE}")
    if "expected after" in str(error):
        return DataError(f"line {line} of {shown}: text stands behind a closing quotation mark", TWICE)
    return DataError(f"line {line} of {shown} cannot be read: {error}", "mend that line")


def _too_long(shown: str, line: int, columns: int, cells: int, mark: str) -> DataError:
    named = "tab" if mark == "\t" else f"`{mark}`"
    message = f"line {line} of {shown} has {cells} cells, its first line {columns}"
    return DataError(message, f"put a text that has a {named} in it in quotation marks, or name the column")
