"""Reads the rows of an Excel workbook: the first sheet that is shown, and those that go on with the same columns."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from tripos_compiler.data import DataError

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

SHOWN = "visible"
RESAVE = "open it in a spreadsheet program, and save it as .xlsx once more"


def workbook_rows(path: Path, shown: str) -> Iterator[dict[str, Any]]:
    """The rows below the first row of a sheet, which has the names of the columns. Rows and columns with nothing in
    them are left out; an empty cell is `None`, a date its text in ISO 8601, a formula what it came to.

    `shown` is what the file is called in messages. Raises `DataError`.
    """
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        # What openpyxl warns of, such as a missing style, is nothing that a row has.
        with path.open("rb") as file, path.open("rb") as again, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(_found(file, again, shown))
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, TypeError, ParseError) as error:
        told = " ".join(str(error).split())
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
    """The names of the columns, empty for those without one. Raises `DataError` where a name stands twice."""
    names = ["" if value is None else str(_plain(value)).strip() for value in line]
    while names and not names[-1]:
        names.pop()
    twice = next((name for place, name in enumerate(names) if name and name in names[:place]), None)
    if twice is not None:
        raise DataError(f"two columns of {where} are called `{twice}`", "give each column a name of its own")
    return names


def _rows(
    lines: Iterator[Sequence[Any]], formulas: Worksheet, names: Sequence[str], shown: str
) -> Iterator[dict[str, Any]]:
    told = formulas.iter_rows(min_row=2, values_only=True)
    for number, (line, written) in enumerate(zip(lines, told, strict=False), 2):
        row: dict[str, Any] = {}
        for place, name in enumerate(names):
            value = line[place] if place < len(line) else None
            if value is None and place < len(written) and written[place] is not None:
                # A program that only wrote the formula did not say what it comes to; it is no empty cell.
                message = f"row {number} of {shown} has a formula under `{name}` whose value was not saved"
                raise DataError(message, RESAVE)
            if name:
                row[name] = _plain(value)
        if any(value is not None for value in row.values()):
            yield row


def _plain(value: Any) -> Any:
    """A value as JSON knows it. A text has the characters that a workbook can only escape."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case str():
            from openpyxl.utils.escape import unescape

            return unescape(value) or None
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)
