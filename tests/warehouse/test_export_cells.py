"""Cells of CSV that a spreadsheet would take for formulas, in all that is written as CSV."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from tripos_warehouse.query.results import _csv
from tripos_warehouse.tables.data import export_cell

RISKY = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-")


@pytest.mark.parametrize("text", RISKY)
def test_a_text_that_begins_like_a_formula_gets_an_apostrophe(text: str) -> None:
    assert export_cell(text) == f"'{text}".replace("\r", "\n")


@pytest.mark.parametrize("value", ["-5", "+1.5e3", "-.5", -5, 1.5, "a=b", " =1", "", "one"])
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert export_cell(value) == value


def test_the_answer_of_a_query_has_no_formula() -> None:
    written = _csv(pa.table({"text": list(RISKY), "number": [-1.5] * len(RISKY)})).decode()
    rows = list(csv.reader(io.StringIO(written, newline="")))[1:]
    assert [text for text, _ in rows] == [f"'{text}".replace("\r", "\n") for text in RISKY]
    assert {number for _, number in rows} == {"-1.5"}
