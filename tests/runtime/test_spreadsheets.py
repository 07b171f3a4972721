"""Workbooks as people save them: sheets, blanks, dates, formulas, and clear errors."""

from __future__ import annotations

import io
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from tripos_compiler.language.rows import row_number
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets import formats
from tripos_runtime.datasets.formats import delimited_rows, rows_in


def book_of(**sheets: list[list[Any]]) -> Workbook:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for line in lines:
            sheet.append(line)
    return book


def read(book: Workbook, folder: Path) -> list[dict[str, Any]]:
    book.save(folder / "a.xlsx")
    return list(rows_in(folder / "a.xlsx", "a.xlsx"))


def test_the_first_row_names_the_columns_and_an_empty_cell_is_nothing(tmp_path: Path) -> None:
    book = book_of(scores=[["q", None, "n"], ["1,000 个", "aside", 1], ["two\nlines", None, None]])
    assert read(book, tmp_path) == [{"q": "1,000 个", "n": 1}, {"q": "two\nlines", "n": None}]


def test_rows_with_nothing_in_them_are_left_out(tmp_path: Path) -> None:
    assert read(book_of(scores=[["q"], ["a"], [None], [""], ["b"]]), tmp_path) == [{"q": "a"}, {"q": "b"}]


def test_a_date_is_text_and_a_truth_value_one(tmp_path: Path) -> None:
    book = book_of(scores=[["day", "moment", "good"], [date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), True]])
    [row] = read(book, tmp_path)
    assert row == {"day": "2026-01-02", "moment": "2026-01-02T03:04:00", "good": True}


def test_further_sheets_count_where_they_have_the_same_columns(tmp_path: Path) -> None:
    book = book_of(scores=[["q"], ["a"]], notes=[["remarks"], ["none"]], more=[["q"], ["b"]])
    assert read(book, tmp_path) == [{"q": "a"}, {"q": "b"}]


def test_a_later_sheet_may_have_its_columns_in_another_order_but_not_miss_one(tmp_path: Path) -> None:
    first = [["q", "answer", "points"], ["a", "b", 1]]
    assert read(book_of(first=first, then=[["answer", "points", "q"], ["d", 2, "c"]]), tmp_path) == [
        {"q": "a", "answer": "b", "points": 1},
        {"q": "c", "answer": "d", "points": 2},
    ]
    book = book_of(first=first, then=[["q", "anwser", "points"], ["c", "d", 2]], other=[["q", "remark"], ["a", "good"]])
    with pytest.raises(DataError) as caught:
        read(book, tmp_path)
    assert caught.value.message == (
        "sheets `first` and `then` of a.xlsx do not have the same columns: only one has `answer`, `anwser`"
    )
    book["then"].sheet_state = "hidden"
    assert read(book, tmp_path) == [{"q": "a", "answer": "b", "points": 1}]
    with pytest.raises(DataError, match="do not have the same columns"):
        read(book_of(first=[["q", "answer"], ["a", "b"]], then=[["q", "anwser"], ["c", "d"]]), tmp_path)


def test_hidden_sheets_do_not_count(tmp_path: Path) -> None:
    book = book_of(lists=[["q"], ["hidden"]], scores=[["q"], ["a"]])
    book["lists"].sheet_state = "hidden"
    assert read(book, tmp_path) == [{"q": "a"}]


def test_a_formula_without_its_value_is_no_empty_cell(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(book_of(scores=[["q", "mean"], ["a", "=AVERAGE(1,2)"]]), tmp_path)
    assert caught.value.message == "row 2 of a.xlsx has a formula under `mean` whose value was not saved"


@pytest.mark.parametrize("error", ["#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?"])
def test_a_cell_with_an_error_is_no_text(tmp_path: Path, error: str) -> None:
    book = book_of(scores=[["q", "answer", None], ["a", "b", None], ["c", error, None]])
    with pytest.raises(DataError, match=r"row 3 of a\.xlsx has the error") as caught:
        read(book, tmp_path)
    assert f"`{error}` under `answer`" in caught.value.message
    book["scores"]["B3"].data_type = "s"  # a text about the error
    assert read(book, tmp_path)[1] == {"q": "c", "answer": error}


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"two columns of a\.xlsx, sheet scores are called `q`"):
        read(book_of(scores=[["q", "q "], ["a", "b"]]), tmp_path)
    for lines in (b"q;n;q\na;1;b\n", b"q;n;q\n"):
        with pytest.raises(DataError, match=r"two columns of a\.csv are called `q`"):
            list(delimited_rows(lambda lines=lines: io.BytesIO(lines), "a.csv"))
    assert list(delimited_rows(lambda: io.BytesIO(b"q,,\na,,\n"), "a.csv")) == [{"q": "a", "": None}]


@pytest.mark.parametrize("content", [b"", b"q,n\n1,2\n", b"PK\x03\x04 broken"])
def test_what_is_no_workbook_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot read a\.xlsx"):
        list(rows_in(tmp_path / "a.xlsx", "a.xlsx"))


TITLED: list[list[list[Any]]] = [
    [["History, class 9b", None, None], [None, None, None], ["No.", "Question", "Marks"], [1, "Why?", 2.5]],
    [["History, class 9b"], ["Question", "Answer"], ["Why?", "Hunger"]],
    [["Tasks", None, "About"], ["No.", "Question", "Topic", "Marks"], [1, "Why?", "1789", 2.5]],
]
"""Tables under a title, under a title of two columns, and under a second row of merged headings."""


@pytest.mark.parametrize("lines", TITLED, ids=["title", "title of two columns", "merged headings"])
def test_a_title_above_the_names_of_the_columns_is_refused(tmp_path: Path, lines: list[list[Any]]) -> None:
    wide = max(map(len, lines))
    text = "\n".join(
        ";".join("" if cell is None else str(cell) for cell in [*line, *[None] * (wide - len(line))]) for line in lines
    )
    for refused in (
        lambda: read(book_of(scores=lines), tmp_path),
        lambda: list(delimited_rows(lambda: io.BytesIO(text.replace(", ", " ").encode()), "a.csv")),
    ):
        with pytest.raises(
            DataError, match=r"row \d of a\.(xlsx|csv) has \d cells, and row 1 names \d of them"
        ) as caught:
            refused()
        assert "delete what stands above the names of the columns" in caught.value.hint


def test_an_index_without_a_name_and_asides_are_no_title(tmp_path: Path) -> None:
    assert read(book_of(scores=[[None, "q"], [0, "a"]]), tmp_path) == [{"q": "a"}]
    assert read(book_of(scores=[["q", "n"], ["a", 1, "an aside"]]), tmp_path) == [{"q": "a", "n": 1}]
    assert list(delimited_rows(lambda: io.BytesIO(b",q\n0,a\n"), "a.csv")) == [{"": "0", "q": "a"}]


def test_a_comma_in_the_title_of_a_file_with_semicolons_is_named(tmp_path: Path) -> None:
    lines = b"History, class 9b;;\n;;\nNo.;Question;Marks\n1;Why, and when?;2,5\n"
    with pytest.raises(DataError, match=r"line 4 of a\.csv has 3 cells, its first line 2") as caught:
        list(delimited_rows(lambda: io.BytesIO(lines), "a.csv"))
    assert "if semicolons part the cells, name the columns in the first line without a comma" in caught.value.hint


def test_rows_have_the_numbers_of_the_spreadsheet_and_empty_ones_above_the_names_are_skipped(tmp_path: Path) -> None:
    lines = [[None, None], ["q", "n"], ["a", 1], [None, None], ["two\nlines", 2], ["c", 3]]
    rows = read(book_of(scores=lines), tmp_path)
    assert [(row["q"], row_number(row, 0)) for row in rows] == [("a", 3), ("two\nlines", 5), ("c", 6)]
    for empty in (b"", b";"):
        content = empty + b"\nq;n\na;1\n" + empty + b'\n"two\nlines";2\nc;3\n'
        rows = list(delimited_rows(lambda content=content: io.BytesIO(content), "a.csv"))
        assert [(row["q"], row_number(row, 0)) for row in rows] == [("a", 3), ("two\nlines", 5), ("c", 6)]
    assert row_number({"q": "a"}, 7) == 7


def test_a_row_far_below_an_empty_beginning_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_ROWS", 5)
    with pytest.raises(DataError, match=r"a\.xlsx has a row 6, and a sheet has at most 5"):
        read(book_of(scores=[*[[None]] * 6, ["q"], ["a"]]), tmp_path)
