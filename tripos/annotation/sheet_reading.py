"""Reads a spreadsheet that came back. Columns are known by their keys, rows by their names: both are hidden there."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from openpyxl import Workbook, load_workbook
from openpyxl.utils import get_column_letter
from openpyxl.utils.escape import unescape
from openpyxl.utils.exceptions import InvalidFileException

from tripos.annotation.answers import Answers, Entry
from tripos.annotation.sheet import ABOUT, FIRST_ROW, KEYS_ROW, MARK_KEY, RATIONALE_KEY, ROW_KEY, SHEET_FORMAT
from tripos.failure import Failure


def read_sheet(path: Path) -> Answers:
    """What stands in a spreadsheet. Empty cells are no entries.

    Raises `Failure` W0706 where it cannot be read or is not one that `tripos annotate` wrote.
    """
    try:
        # Row by row: a person may have formatted whole columns, a million cells each.
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            return _read(path, book)
        finally:
            book.close()
    except (OSError, InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, TypeError, ParseError) as error:
        told = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise Failure(
            "W0706", f"`{path}` cannot be read ({told})", "save it as .xlsx once more, and try again"
        ) from error


def _read(path: Path, book: Workbook) -> Answers:
    about = list(book[ABOUT].iter_rows(max_row=1, max_col=2, values_only=True)) if ABOUT in book.sheetnames else []
    if not about or about[0][0] != SHEET_FORMAT or len(about[0]) < 2:
        raise Failure(
            "W0706",
            f"`{path}` is no sheet of `tripos annotate`",
            "give the file that it wrote; a sheet that was copied into another file cannot be taken",
        )
    rows: dict[str, str] = {}
    entries: list[Entry] = []
    rationales: dict[str, str] = {}
    wrong: list[tuple[str, str]] = []
    for sheet in book.worksheets:
        lines = sheet.iter_rows(values_only=True)
        keys = {_text(value): column for column, value in enumerate(next(lines, ())) if _text(value)}
        if sheet.title == ABOUT or ROW_KEY not in keys:
            continue
        for place, line in enumerate(lines, KEYS_ROW + 1):
            if place < FIRST_ROW:
                continue
            found = {key: line[column] if column < len(line) else None for key, column in keys.items()}
            name = _text(found[ROW_KEY])
            if not name:
                if any(_filled(found)):
                    wrong.append((f"{sheet.title}!{place}", "grades on a row that has lost its name"))
                continue
            if name in rows:
                wrong.append((f"{sheet.title}!{place}", f"this reply stands at {rows[name]} already"))
                continue
            rows[name] = f"{sheet.title}!{place}"
            for key, value in found.items():
                address = f"{sheet.title}!{get_column_letter(keys[key] + 1)}{place}"
                if key.startswith(MARK_KEY) and not _empty(value):
                    entries.append(Entry(name, key.removeprefix(MARK_KEY), value, address))
                elif key == RATIONALE_KEY and not _empty(value):
                    rationales[name] = unescape(str(value)).strip()
    return Answers(_text(about[0][1]), rows, tuple(entries), rationales, tuple(wrong))


def _filled(found: dict[str, Any]) -> Iterator[bool]:
    return (not _empty(value) for key, value in found.items() if key.startswith(MARK_KEY) or key == RATIONALE_KEY)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
