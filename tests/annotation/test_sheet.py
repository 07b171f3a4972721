"""The spreadsheet, opened again: what it asks for, what is locked, and that texts stay texts."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.utils.escape import unescape

from tests.annotation.conftest import MODELS, Rows, cells, grades_sheet
from tests.conftest import Command
from tripos.annotation.batch import AssignedReply, Batch, RequestedGrade
from tripos.annotation.replies import GradableReply, ShownReply, ShownScale
from tripos.annotation.sheet import sheet_bytes


@pytest.fixture
def book(ran: Path, once: Command) -> Workbook:
    assert once("annotate", "--name", "anna").code == 0
    return load_workbook("anna.xlsx")


def test_a_row_is_a_reply_and_a_column_a_metric(book: Workbook, tripos: Command) -> None:
    sheet = grades_sheet(book)
    headings = [cell.value for cell in sheet[2]]
    assert headings[:4] == ["No.", "Scenario", "Task", "Response"]
    assert headings[4:7] == ["Clarity\n(CLEAR)", "Correctness\n(RIGHT)", "Rationale"]
    assert [cell.value for cell in sheet["A"][2:]] == list(range(1, 11))
    assert {cell.number_format for cell in cells(sheet, "rationale")} == {"@"}, "it stays the text that is typed"
    assert (sheet.freeze_panes, sheet.row_dimensions[1].hidden) == ("B3", True)
    assert sheet.column_dimensions["H"].hidden
    assert sheet["C3"].alignment.wrap_text
    assert book["tripos"].sheet_state == "veryHidden"
    lines = [[cell.value for cell in line] for line in book["Rubric"].iter_rows()]
    assert lines[0] == ["Criterion", "Asks", "Score", "Level"]
    assert ["Clarity (CLEAR)", "Is the reply clear?", "1–10", None] in lines
    assert book["Rubric"].protection.sheet
    before = Path("anna.xlsx").read_bytes()
    done = tripos("annotate", "--name", "anna")
    assert done.code == 2 and "error[S0703]" in done.err
    assert Path("anna.xlsx").read_bytes() == before, "a file is never written over"


def test_a_grade_is_chosen_from_the_values_of_the_scale(book: Workbook) -> None:
    sheet = grades_sheet(book)
    found = {validation.promptTitle: validation for validation in sheet.data_validations.dataValidation}
    clear = found["Clarity"]
    assert (clear.type, clear.formula1) == ("list", '"1,2,3,4,5,6,7,8,9,10"')
    assert (clear.prompt, clear.errorStyle, clear.showErrorMessage) == ("Is the reply clear?", "stop", True)
    assert all(cell.coordinate in clear.sqref for cell in cells(sheet, "mark:CLEAR"))
    right = found["Correctness"]
    assert [cell.coordinate in right.sqref for cell in cells(sheet, "mark:RIGHT")] == [
        cell.value == "Sums" for cell in sheet["B"][2:]
    ]


def test_only_grades_of_allocated_metrics_and_rationales_are_unlocked(book: Workbook) -> None:
    sheet = grades_sheet(book)
    assert sheet.protection.sheet
    scenarios = [cell.value for cell in sheet["B"][2:]]
    opened = {
        (sheet.cell(1, cell.column).value, scenarios[cell.row - 3])
        for line in sheet.iter_rows()
        for cell in line
        if not cell.protection.locked
    }
    both = {(key, scenario) for key in ("mark:CLEAR", "rationale") for scenario in ("Sums", "Words")}
    assert opened == {*both, ("mark:RIGHT", "Sums")}


def test_nothing_in_the_file_names_a_model_a_sample_or_an_item(ran: Path, tripos: Command, ask: Rows) -> None:
    tripos("annotate", "--name", "anna")
    secrets = {*MODELS, *(row["s"] for row in ask("select sample_id as s from main.samples"))}
    secrets |= {row["i"] for row in ask("select item_id as i from main.items")}
    with zipfile.ZipFile("anna.xlsx") as file:
        content = "".join(file.read(name).decode() for name in file.namelist())
    assert not [secret for secret in secrets if secret in content]


@pytest.fixture
def one(tmp_path: Path) -> Callable[..., Workbook]:
    """Make a sheet with one reply and one metric."""

    def made(text: str, language: str = "en", scale: ShownScale | None = None) -> Workbook:
        scale = scale or ShownScale("CLEAR", "Clarity", "Clear?", 1, 5, True, ((3, 5, "yes"), (1, 2, "no")))
        mark = RequestedGrade(scale.metric, scale.metric, "s", scale.low, scale.high, scale.whole)
        row = AssignedReply("r1", "sums", "i", language, "s", "m", "b", "rubric", "j", "jf", "f", (mark,))
        batch = Batch("b1", "run", "quiz", "judge", "anna", 0, "2026-03-01T08:00:00+00:00", {}, (row,))
        shown = ShownReply(language, language, "Sums", (("Task", text),), (scale,), cast("GradableReply", None))
        path = tmp_path / "one.xlsx"
        path.write_bytes(sheet_bytes(batch, {"r1": shown}, datetime(2026, 3, 1, 8, 0, tzinfo=UTC)))
        return load_workbook(path)

    return made


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        *[(text, text) for text in ("=1+1", '=HYPERLINK("http://a","b")', "+1", "-1", "@sum", "#REF!", "007", "TRUE")],
        ("a_x0041_b", "a_x005F_x0041_b"),
        ("a\x00b\x1b[31m\ud800c\r\nd", "a\ufffdb\ufffd[31m\ufffdc\nd"),
    ],
)
def test_a_text_is_never_a_formula_a_number_or_an_escape(text: str, stored: str, one: Callable[..., Workbook]) -> None:
    cell = grades_sheet(one(text))["C3"]
    assert (cell.value, cell.data_type) == (stored, "s")
    assert unescape(stored) == ("a_x0041_b" if "_x005F_" in stored else stored)


def test_a_text_longer_than_a_row_is_tall_stands_whole_on_a_sheet_of_its_own(one: Callable[..., Workbook]) -> None:
    text = "\n".join(f"line {number} {'x' * 60}" for number in range(800))
    book = one(text)
    sheet = grades_sheet(book)
    assert len(sheet["C3"].value) < 32_767
    assert "Long texts" in sheet["C3"].value[-60:]
    lines = [cell.value for cell in book["Long texts"]["A"] if cell.value is not None]
    assert "\n".join(lines[1:]) == text
    assert sheet["A3"].hyperlink is not None and "Long texts" in str(sheet["A3"].hyperlink.location)
    assert sheet.row_dimensions[3].height <= 409


def test_a_scale_without_a_list_of_values_takes_numbers_within_its_bounds(one: Callable[..., Workbook]) -> None:
    wide = one("a", scale=ShownScale("P", "Points", "", 0, 100, True, ()))
    (validation,) = grades_sheet(wide).data_validations.dataValidation
    assert (validation.type, validation.formula1, validation.formula2) == ("whole", "0", "100")


def test_an_item_is_shown_in_its_language(one: Callable[..., Workbook]) -> None:
    book = one("一加一", "zh")
    assert book.sheetnames[:2] == ["评分", "评分标准"]
    assert [cell.value for cell in grades_sheet(book)[2]][:2] == ["序号", "场景"]


TWO = """\
benchmark two "1.0.0" { languages en, zh }
role candidate compared
role judge panel
dataset item from "two.jsonl" { language, question text }
dimension quality en "Quality" zh "质量" {
  metric CLEAR en "Clarity" zh "清晰" {
    scale 1..2
    asks en "Clear?" zh "清楚吗？"
    level 2..2 en "Clear." zh "清楚。"
    level 1..1 en "Not." zh "不清楚。"
  }
}
scorer rubric(response: text) by judge {
  prompt en "{{ metrics }} {{ response }}"
  prompt zh "{{ metrics }} {{ response }}"
  gives allocated metrics
}
allocate rubric {
  |      | CLEAR |
  | sums |   x   |
}
scenario sums en "Sums" zh "算术" {
  context language
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score rubric(response: reply.text)
}
measure m = mean(rubric)
"""


def test_each_language_has_a_sheet_and_a_rubric_in_it(quiz: Path, tripos: Command) -> None:
    (quiz / "two.tripos").write_text(TWO, "utf-8")
    (quiz / "two.jsonl").write_text(
        '{"language": "en", "question": "One?"}\n{"language": "zh", "question": "一？"}\n', "utf-8"
    )
    done = tripos("run", "two.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json")
    assert done.code == 0, done.err
    assert tripos("annotate", "--name", "anna").code == 0
    book = load_workbook("anna.xlsx")
    assert {"Grades en", "Rubric en", "评分 zh", "评分标准 zh"} < set(book.sheetnames)
    assert book["评分 zh"]["D2"].value == "清晰\n(CLEAR)"
    assert [cell.value for cell in book["评分标准 zh"]["D"]] == ["等级说明", "清楚。", "不清楚。"]
