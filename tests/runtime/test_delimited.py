"""CSV as spreadsheets write it: by semicolons, in other encodings, with quotation marks that do not pair."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.formats import rows_in


def rows(folder: Path, content: str | bytes, name: str = "a.csv") -> list[dict[str, Any]]:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return list(rows_in(folder / name, name))


def refusal(folder: Path, content: str | bytes, name: str = "a.csv") -> DataError:
    with pytest.raises(DataError) as caught:
        rows(folder, content, name)
    return caught.value


@pytest.mark.parametrize("mark", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_the_first_line_tells_what_parts_the_cells(tmp_path: Path, mark: str) -> None:
    assert rows(tmp_path, f"q{mark}a\r\nOne?{mark}1\r\n") == [{"q": "One?", "a": "1"}]


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ("q;a\n1,5;x\n", {"q": "1,5", "a": "x"}),
        ("q;r,a\nx,y;z\n", {"q;r": "x", "a": "y;z"}),
        ("q\nx; y\n", {"q": "x; y"}),
        ("q,a\nx,y,,\n", {"q": "x", "a": "y"}),
        ("q,a\nx\n", {"q": "x", "a": None}),
    ],
    ids=[
        "commas between semicolons", "semicolons between commas", "one column", "empty cells at the end",
        "a cell less",
    ],
)  # fmt: skip
def test_the_mark_of_the_first_line_alone_parts_cells(tmp_path: Path, content: str, row: dict[str, str | None]) -> None:
    assert rows(tmp_path, content) == [row]


def test_a_row_with_more_cells_than_columns_is_refused_by_its_line(tmp_path: Path) -> None:
    error = refusal(tmp_path, "q,a\nx,y\nRome, or Paris?,y\n")
    assert error.message == "line 3 of a.csv has 3 cells, its first line 2"


def test_an_unclosed_quotation_mark_is_told_by_the_line_on_which_its_row_begins(tmp_path: Path) -> None:
    assert refusal(tmp_path, 'q,a\nx,y\n"z,y\nx,y\n').message == "line 3 of a.csv: a quotation mark is never closed"


def test_a_lone_quotation_mark_in_a_quoted_cell_is_told_how_it_is_written(tmp_path: Path) -> None:
    error = refusal(tmp_path, 'q,a\n"say "A" now",y\n')
    assert error.message == "line 2 of a.csv: there is text after a closing quotation mark"
    assert "written twice" in error.hint


def test_an_unclosed_quotation_mark_in_the_first_line_is_a_mistake_of_line_1(tmp_path: Path) -> None:
    assert refusal(tmp_path, '"q,a\nx,y\n').message == "line 1 of a.csv: a quotation mark is never closed"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_text_in_another_encoding_is_told_by_its_line(tmp_path: Path, name: str) -> None:
    content = "q,a\nx,y\nCafé,y\n".encode("latin-1")
    error = refusal(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    assert error.message == f"line 3 of {name} is not UTF-8, but likely Windows-1252"
    assert "UTF-8" in error.hint


def test_utf_16_is_called_so(tmp_path: Path) -> None:
    assert refusal(tmp_path, "q,a\n".encode("utf-16")).message == "a.csv is UTF-16, not UTF-8"
