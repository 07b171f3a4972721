"""A quiz that two models answered and one graded, for people to grade too."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.cell.cell import Cell
from openpyxl.worksheet.worksheet import Worksheet

from tests import answers
from tests.conftest import Command

MODELS = ("mock/careful", "mock/careful:b")
JUDGE = "mock/careful:a"
Rows = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def ran(quiz: Path, tripos: Command, once: Command) -> Path:
    """The folder of the quiz after a run: 10 replies, 16 grades."""
    done = once("run", "quiz.tripos", "--model", ",".join(MODELS), "--role", f"judge={JUDGE}", "--json")
    assert done.code == 0, done.err
    return quiz


@pytest.fixture
def ask(tripos: Command) -> Rows:
    """Answer a query with its rows."""
    return functools.partial(answers.ask, tripos)


def batches() -> list[dict[str, Any]]:
    """Return the records of what was handed out."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(Path("results/annotations").glob("*.json"))]


def grades_sheet(book: Workbook) -> Worksheet:
    """Return the sheet with the grades."""
    found = book.worksheets[0]
    assert isinstance(found, Worksheet)
    return found


def cells(sheet: Worksheet, key: str) -> list[Cell]:
    """Return the cells of a column, found by its hidden key, without its heading."""
    (column,) = [cell.column for cell in sheet[1] if cell.value == key]
    return [sheet.cell(place, column) for place in range(3, sheet.max_row + 1)]


def fill(path: str, value: int = 7, **changes: object) -> None:
    """Return every grade that is asked for, and then change cells by their address."""
    book = load_workbook(path)
    sheet = grades_sheet(book)
    for key in [cell.value for cell in sheet[1] if str(cell.value).startswith("mark:")]:
        for cell in cells(sheet, str(key)):
            if not cell.protection.locked:
                cell.value = value
    for address, changed in changes.items():
        sheet[address] = changed
    book.save(path)
