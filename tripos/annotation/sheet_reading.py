"""Reads a spreadsheet that came back. Columns are known by their keys, rows by their names: both are hidden there."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter
from openpyxl.utils.exceptions import InvalidFileException

from tripos.annotation.answers import Answers, Entry
from tripos.annotation.sheet import ABOUT, FIRST_ROW, KEYS_ROW, MARK_KEY, RATIONALE_KEY, ROW_KEY, SHEET_FORMAT
from tripos.failure import Failure


def read_sheet(path: Path) -> Answers:
    """What stands in a spreadsheet. Empty cells are no entries.

    Raises `Failure` W0706 where it cannot be read or is not one that `tripos annotate` wrote.
    """
    try:
        book = load_workbook(path, read_only=False, data_only=True)
    except (OSError, InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, ParseError) as error:
        told = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise Failure(
            "W0706", f"`{path}` cannot be read ({told})", "save it as .xlsx once more, and try again"
        ) from error
    if ABOUT not in book.sheetnames or book[ABOUT]["A1"].value != SHEET_FORMAT:
        raise Failure(
            "W0706",
            f"`{path}` is no sheet of `tripos annotate`",
            "give the file that it wrote; a sheet that was copied into another file cannot be taken",
        )
    rows: dict[str, str] = {}
    entries: list[Entry] = []
    rationales: dict[str, str] = {}
    twice: list[tuple[str, str]] = []
    for sheet in book.worksheets:
        keys = {_text(cell.value): column for column, cell in enumerate(sheet[KEYS_ROW], 1) if _text(cell.value)}
        if sheet.title == ABOUT or ROW_KEY not in keys:
            continue
        for place in range(FIRST_ROW, sheet.max_row + 1):
            found = {key: sheet.cell(place, column).value for key, column in keys.items()}
            name = _text(found[ROW_KEY])
            if not name:
                if any(_filled(found)):
                    twice.append((f"{sheet.title}!{place}", "grades on a row that has lost its name"))
                continue
            if name in rows:
                twice.append((f"{sheet.title}!{place}", f"this reply stands at {rows[name]} already"))
                continue
            rows[name] = f"{sheet.title}!{place}"
            for key, value in found.items():
                address = f"{sheet.title}!{get_column_letter(keys[key])}{place}"
                if key.startswith(MARK_KEY) and not _empty(value):
                    entries.append(Entry(name, key.removeprefix(MARK_KEY), value, address))
                elif key == RATIONALE_KEY and not _empty(value):
                    rationales[name] = str(value).strip()
    return Answers(str(book[ABOUT]["B1"].value or ""), rows, tuple(entries), rationales, tuple(twice))


def _filled(found: dict[str, Any]) -> Iterator[bool]:
    return (not _empty(value) for key, value in found.items() if key.startswith(MARK_KEY) or key == RATIONALE_KEY)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
