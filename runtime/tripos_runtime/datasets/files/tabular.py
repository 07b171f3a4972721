"""CSV and TSV to records, as spreadsheets of any country write them."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZipFile

from tripos_compiler.language import DateCell
from tripos_compiler.source import DataError
from tripos_runtime.datasets.files.decompression import too_large

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet


MOST_ROWS = 2**20
"""Of a sheet, in every program."""
SHOWN = "visible"
LONGEST_REASON = 300
"""Characters of what a library says of a damaged file, which may be the file itself."""
RESAVE = "open it in a spreadsheet program, and save it as .xlsx once more"


def workbook_rows(path: Path, shown: str, most: int) -> Iterator[dict[str, Any]]:
    """Yield the rows below the first row of a sheet, which has the names of the columns. Rows and columns with nothing
    in them are left out; an empty cell is `None`, a date its text in ISO 8601, a formula what it came to. The parts of
    the workbook may have `most` bytes in all.

    `shown` is what the file is called in messages. Raises `DataError`.
    """
    try:
        with ZipFile(path) as parts:  # no more of a part is unpacked than its size says
            size = sum(each.file_size for each in parts.infolist())
        if size > most:
            raise too_large(shown, most, f"{size:,} bytes once it is unpacked")
        # What openpyxl warns of, such as a missing style, is nothing that a row has.
        with path.open("rb") as file, path.open("rb") as again, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(_found(file, again, shown))
    except DataError:
        raise
    except Exception as error:
        # Whatever openpyxl and the parsers below it make of a damaged file, it cannot be read.
        told = " ".join(str(error).split())[:LONGEST_REASON]
        raise DataError(f"cannot read {shown} ({told})", RESAVE) from error
    yield from found


def _found(file: IO[bytes], again: IO[bytes], shown: str) -> Iterator[dict[str, Any]]:
    from openpyxl import load_workbook

    # Row by row: whole columns may be formatted, a million cells each.
    values = load_workbook(file, read_only=True, data_only=True)
    formulas = load_workbook(again, read_only=True)
    columns: list[str] | None = None
    for sheet in values.worksheets:
        lines = sheet.iter_rows(values_only=True)
        names = _names(next(lines, ()), f"{shown}, sheet {sheet.title}") if sheet.sheet_state == SHOWN else []
        if any(names) and columns in (None, names):
            columns = names
            yield from _rows(lines, formulas[sheet.title], names, shown)


def _names(line: Sequence[Any], where: str) -> list[str]:
    """Return the names of the columns, empty for those without one. Raises `DataError` where a name stands twice."""
    names = ["" if value is None else str(_json_value(value)).strip() for value in line]
    while names and not names[-1]:
        names.pop()
    _tell_apart(names, where)
    return names


def _tell_apart(names: Sequence[str], where: str) -> None:
    """Raise `DataError` where two columns have one name: no field can say which of them it reads."""
    twice = next((name for place, name in enumerate(names) if name and name in names[:place]), None)
    if twice is not None:
        raise DataError(f"two columns of {where} are called `{twice}`", "give each column a name of its own")


def _rows(
    lines: Iterator[Sequence[Any]], formulas: Worksheet, names: Sequence[str], shown: str
) -> Iterator[dict[str, Any]]:
    told = formulas.iter_rows(min_row=2, values_only=True)
    for number, (line, written) in enumerate(zip(lines, told, strict=False), 2):
        if number > MOST_ROWS:  # a row says its own number, and those before it are made up
            raise DataError(f"{shown} has a row {number:,}, and a sheet has at most {MOST_ROWS:,}", RESAVE)
        row: dict[str, Any] = {}
        for place, name in enumerate(names):
            value = line[place] if place < len(line) else None
            if value is None and place < len(written) and written[place] is not None:
                # A program that only wrote the formula did not say what it comes to; it is no empty cell.
                message = f"row {number} of {shown} has a formula under `{name}` whose value was not saved"
                raise DataError(message, RESAVE)
            if name:
                row[name] = _json_value(value)
        if any(value is not None for value in row.values()):
            yield row


def _json_value(value: Any) -> Any:
    """Return a value as JSON knows it. A text has the characters that a workbook can only escape."""
    match value:
        case datetime() | date() | time():
            return DateCell(value.isoformat())
        case str():
            from openpyxl.utils.escape import unescape

            return unescape(value) or None
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)


LONGEST_CELL = 2**31 - 1
"""The longest text that a cell may hold, in characters."""
LONGEST_HEAD = 2**20
"""The number of characters of the first line that are read to tell what parts its cells."""
OTHERS = (";", "\t")
"""The separators of cells in a `.csv` where commas are part of numbers, besides the comma."""
TWICE = 'a quotation mark inside of a cell is written twice, and the cell stands in quotation marks: `"say ""A"""`'

Opened = Callable[[], IO[bytes]]
"""Opens the file, from its beginning."""


def delimited_rows(
    opened: Opened, shown: str, delimiter: str | None = None, most: int = LONGEST_CELL
) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, named by its first line; without a `delimiter` it is told from that line.

    An empty cell is None, as one that a short row lacks; a row of empty cells alone is left out. A row with more in it
    than there are columns is refused, for what is too much may well be the end of a text with a comma in it. A line may
    have `most` characters. Raises `DataError`, and what reading a damaged file raises.

    >>> list(delimited_rows(lambda: io.BytesIO(b"name;marks\\nAnna;1,5\\n"), "a.csv"))
    [{'name': 'Anna', 'marks': '1,5'}]
    """
    csv.field_size_limit(min(LONGEST_CELL, most))
    mark = delimiter or _delimiter(opened)
    with closing(_text(opened)) as file:
        reader = csv.DictReader(_lines(file, shown, most), strict=True, delimiter=mark)
        begin, first = 1, True
        while True:
            try:
                begin = reader.line_num + 1 if reader.fieldnames else 1
                row = next(reader, None)
            except csv.Error as error:
                raise _misquoted(shown, begin, error) from error
            if first:
                _tell_apart(reader.fieldnames or (), shown)
                first = False
            if row is None:
                return
            surplus: Any = row.pop(None, [])  # what is over stands under no name
            if any(cell.strip() for cell in surplus):
                raise _too_long(shown, begin, len(row), len(row) + len(surplus), mark)
            if any(row.values()):
                yield {name: cell or None for name, cell in row.items()}


def _lines(file: IO[str], shown: str, most: int) -> Iterator[str]:
    while line := file.readline(most):
        if len(line) == most:
            raise too_large(f"a line of {shown}", most, f"{most:,} characters or more")
        yield line


def _text(opened: Opened) -> IO[str]:
    return io.TextIOWrapper(opened(), encoding="utf-8-sig", newline="")


def _delimiter(opened: Opened) -> str:
    """Return the comma, unless the first line is one cell by it and several by another."""
    if _columns(opened, ",") > 1:
        return ","
    best = max(OTHERS, key=lambda mark: _columns(opened, mark))
    return best if _columns(opened, best) > 1 else ","


def _columns(opened: Opened, delimiter: str) -> int:
    with closing(_text(opened)) as file:
        try:
            lines = iter(lambda: file.readline(LONGEST_HEAD), "")
            return len(next(csv.reader(lines, strict=True, delimiter=delimiter), []))
        except csv.Error:
            return 0


def _misquoted(shown: str, line: int, error: csv.Error) -> DataError:
    if "end of data" in str(error):
        return DataError(f"line {line} of {shown}: a quotation mark is never closed", f"close it; {TWICE}")
    if "expected after" in str(error):
        return DataError(f"line {line} of {shown}: there is text after a closing quotation mark", TWICE)
    return DataError(f"line {line} of {shown} cannot be read: {error}", "mend that line")


def _too_long(shown: str, line: int, columns: int, cells: int, mark: str) -> DataError:
    named = "tab" if mark == "\t" else f"`{mark}`"
    message = f"line {line} of {shown} has {cells} cells, its first line {columns}"
    return DataError(message, f"put a text that has a {named} in it in quotation marks, or name the column")
