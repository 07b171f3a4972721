"""Sheets that come back: checked whole, kept as a judge's grades would be, and only once."""

from __future__ import annotations

import json
from datetime import date
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook

from tests.annotation.conftest import JUDGE, Rows, cells, fill, grades_sheet
from tests.conftest import Command
from tests.lengths import spread

HUMAN = "select metric, value, status, scorer, model from quiz.scores where evaluator = 'human/anna'"


@pytest.fixture
def handed(ran: Path, once: Command) -> Path:
    assert once("annotate", "--name", "anna").code == 0
    return ran


def commits() -> int:
    return len(list(Path("results/commits").glob("*.json")))


def test_grades_become_scores_of_a_person_beside_those_of_the_judges(handed: Path, tripos: Command, ask: Rows) -> None:
    assert "people" not in tripos("report").out.split("by_metric")[0]
    fill("anna.xlsx")
    done = tripos("annotate", "--take", "anna.xlsx")
    assert (done.code, done.out) == (0, "human/anna: 10 replies graded, 0 changed, 0 as before\n")
    found = ask(HUMAN)
    assert len(found) == 16
    assert {(row["value"], row["status"], row["scorer"]) for row in found} == {(7.0, "scored", "rubric")}
    query = "select sample_id, metric, fingerprint, model from quiz.scores where evaluator = '{}' order by all"
    assert ask(query.format("human/anna")) == ask(query.format(JUDGE))
    assert tripos("report", "--json").data["people"] == {"human/anna": 16}
    assert "human/anna (16 scores)" in tripos("report").out


def test_taking_twice_keeps_only_what_changed(handed: Path, tripos: Command, ask: Rows) -> None:
    fill("anna.xlsx")
    told = tripos("annotate", "--take", "anna.xlsx", "--json").data
    assert told | {"batch": ""} == {
        "batch": "", "evaluator": "human/anna", "new": 10, "changed": 0, "same": 0, "open": 0, "faults": [],
    }  # fmt: skip
    before = commits()
    done = tripos("annotate", "--take", "anna.xlsx")
    assert (done.code, done.out) == (0, "human/anna: 0 replies graded, 0 changed, 10 as before\n")
    assert commits() == before
    fill("anna.xlsx", E3=2)
    done = tripos("annotate", "--take", "anna.xlsx")
    assert done.out == "human/anna: 0 replies graded, 1 changed, 9 as before\n"
    assert sorted(row["value"] for row in ask(HUMAN)) == [2.0, *[7.0] * 15]
    assert tripos("store", "check").code == 0
    assert tripos("store", "gc", "--grace", "0").code == 0
    fill("anna.xlsx", E3=2, E4=None)
    done = tripos("annotate", "--take", "anna.xlsx", "--partial")
    assert done.out.splitlines() == [
        "human/anna: 0 replies graded, 0 changed, 9 as before, 1 not graded yet",
        "1 of the 1 not graded yet keep the grades of an earlier file",
    ]


def test_a_person_shows_also_where_one_run_is_asked_for(handed: Path, tripos: Command) -> None:
    fill("anna.xlsx", G3="well put")
    tripos("annotate", "--take", "anna.xlsx")
    queries = {
        "scores": "select count(*) as n from quiz.scores where evaluator = 'human/anna'",
        "judgements": "select count(*) as n from quiz.judgements where evaluator = 'human/anna'",
        "reasons": "select count(distinct judgement_id) as n from quiz.rationales where reason = 'well put'",
    }
    run = json.loads(tripos("list", "--json").out)[0]["run_id"]
    found = {}
    for name, query in queries.items():
        assert tripos("sql", query, "--run", run, "-o", "n.json").code == 0
        found[name] = json.loads(Path("n.json").read_text("utf-8"))[0]["n"]
    assert found == {"scores": 16, "judgements": 10, "reasons": 1}


def test_what_a_person_has_graded_is_not_handed_out_again(handed: Path, tripos: Command, once: Command) -> None:
    fill("anna.xlsx")
    tripos("annotate", "--take", "anna.xlsx")
    done = tripos("annotate", "--name", "anna", "-o", "again.xlsx")
    assert done.code == 2 and "`anna` has graded all of it already" in done.err
    models = "mock/careful,mock/careful:b,mock/careful:c"
    assert once("run", "quiz.tripos", "--model", models, "--role", f"judge={JUDGE}", "--json").code == 0
    done = tripos("annotate", "--name", "anna", "-o", "more.xlsx")
    assert done.out.startswith("5 replies of run") and "not assigned again: 10 replies that anna has graded" in done.out


def test_a_sheet_of_which_whole_columns_were_formatted_is_read(handed: Path, tripos: Command) -> None:
    fill("anna.xlsx")
    book = load_workbook("anna.xlsx")
    grades_sheet(book).cell(900_000, 5).number_format = "0"
    book.save("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0


@pytest.mark.parametrize(
    ("value", "reason"),
    spread(
        [
            (11, "11 is not on the scale: a whole number from 1 to 10"),
            (7.5, "7.5 is not on the scale: a whole number from 1 to 10"),
            ("7,5", "7.5 is not on the scale: a whole number from 1 to 10"),
            ("7,500", "`7,500` is not on the scale: a whole number from 1 to 10"),
            (0, "0 is not on the scale: a whole number from 1 to 10"),
            ("good", "`good` is not on the scale: a whole number from 1 to 10"),
            (True, "`True` is not on the scale: a whole number from 1 to 10"),
            ("nan", "`nan` is not on the scale: a whole number from 1 to 10"),
            ("1_0", "`1_0` is not on the scale: a whole number from 1 to 10"),
            (date(2026, 4, 3), "`2026-04-03 00:00:00` is not on the scale: a whole number from 1 to 10"),
            (None, "no grade for `CLEAR`"),
        ],
        4,
    ),
)
def test_a_bad_cell_is_listed_with_its_address_and_nothing_is_kept(
    handed: Path, tripos: Command, ask: Rows, value: object, reason: str
) -> None:
    fill("anna.xlsx", E4=value)
    done = tripos("annotate", "--take", "anna.xlsx")
    address = "Grades!4" if value is None else "Grades!E4"
    assert done.code == 1
    assert done.out == f"{address}  {reason}\n"
    assert "error[S0705]: 1 thing in `anna.xlsx` cannot be taken, so nothing was" in done.err
    assert ask("select count(*) as n from main.scores where evaluator = 'human/anna'") == [{"n": 0}]


def test_text_and_full_width_digits_are_numbers_too(handed: Path, tripos: Command, ask: Rows) -> None:
    fill("anna.xlsx", E3=" 7 ", E4="７")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    assert {row["value"] for row in ask(HUMAN)} == {7.0}


def test_replies_that_nobody_got_to_are_left_out_where_that_is_asked_for(
    handed: Path, tripos: Command, ask: Rows
) -> None:
    book = load_workbook("anna.xlsx")
    sheet = grades_sheet(book)
    for key in ("mark:CLEAR", "mark:RIGHT"):
        for cell in cells(sheet, key)[:4]:
            if not cell.protection.locked:
                cell.value = 5
    book.save("anna.xlsx")
    done = tripos("annotate", "--take", "anna.xlsx")
    assert done.code == 1 and done.out.count("nothing is graded") == 6
    done = tripos("annotate", "--take", "anna.xlsx", "--partial")
    assert (done.code, done.out) == (0, "human/anna: 4 replies graded, 0 changed, 0 as before, 6 not graded yet\n")
    assert len({row["value"] for row in ask(HUMAN)}) == 1


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"H4": "H3"}, ("Grades!4", "this reply is at Grades!3 already")),
        ({"H4": "0123456789ab"}, ("`0123456789ab` is no reply of this batch",)),
        ({"I1": "mark:CLEAR", "I3": 2}, ("Grades!E1", "same hidden name, `mark:CLEAR`")),
    ],
    ids=["a copied row", "a row of another batch", "two columns of a metric"],
)
def test_rows_and_columns_that_were_not_handed_out_are_refused(
    handed: Path, tripos: Command, changed: dict[str, Any], told: tuple[str, ...]
) -> None:
    reply = grades_sheet(load_workbook("anna.xlsx"))["H3"].value
    fill("anna.xlsx", **{cell: reply if value == "H3" else value for cell, value in changed.items()})
    done = tripos("annotate", "--take", "anna.xlsx")
    assert done.code == 1 and all(each in done.out for each in told), done.out


@pytest.mark.parametrize("hidden", [True, False])
def test_rows_may_be_sorted_if_the_hidden_column_goes_with_the_visible_ones(
    handed: Path, tripos: Command, ask: Rows, hidden: bool
) -> None:
    fill("anna.xlsx")
    book = load_workbook("anna.xlsx")
    sheet = grades_sheet(book)
    lines = [[cell.value for cell in line] for line in sheet.iter_rows(min_row=3)]
    for place, line in enumerate(reversed(lines), 3):
        for column, value in enumerate(line if hidden else line[:-1], 1):
            sheet.cell(place, column).value = value
    book.save("anna.xlsx")
    done = tripos("annotate", "--take", "anna.xlsx", "--partial")
    assert done.code == int(not hidden)
    said = "numbered 10, but its hidden name is that of reply 1" in " ".join(done.out.split())
    assert said is not hidden
    assert len(ask("select value from main.scores where evaluator = 'human/anna'")) == (16 if hidden else 0)


@pytest.mark.parametrize("partial", [(), ("--partial",)], ids=["all", "partial"])
@pytest.mark.parametrize("change", ["removed", "moved"])
def test_a_sheet_without_the_row_of_hidden_names_is_refused_once(
    handed: Path, tripos: Command, change: str, partial: tuple[str, ...]
) -> None:
    fill("anna.xlsx")
    book = load_workbook("anna.xlsx")
    sheet = grades_sheet(book)
    if change == "removed":
        sheet.delete_rows(1)
    else:
        sheet.insert_rows(1)
    book.save("anna.xlsx")
    done = tripos("annotate", "--take", "anna.xlsx", *partial)
    lost = "the hidden first row, which names the columns, was moved or removed: put it back"
    assert done.code == 1 and done.out.split() == ["Grades", *lost.split()]
    assert "error[S0705]: 1 thing in `anna.xlsx` cannot be taken, so nothing was" in done.err


def test_a_sheet_that_cannot_be_written_whole_leaves_no_file(
    ran: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def refuse(path: Path, mode: str = "r", *args: Any, **options: Any) -> Any:
        return FullDisk(path, mode) if mode == "xb" else opened(path, mode, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    assert "error[S0703]" in tripos("annotate", "--name", "anna").err
    assert not Path("anna.xlsx").exists()


class FullDisk(FileIO):
    """A file on a full disk."""

    def write(self, content: object, /) -> int:
        raise OSError(28, "No space left on device")


def test_a_file_that_is_none_of_ours_is_refused(handed: Path, tripos: Command) -> None:
    Workbook().save("other.xlsx")
    Path("torn.xlsx").write_bytes(Path("anna.xlsx").read_bytes()[:300])
    Path("other.jsonl").write_text('{"a": 1}\n', "utf-8")
    for name in ("other.xlsx", "torn.xlsx", "other.jsonl", "none.xlsx", "none.jsonl"):
        done = tripos("annotate", "--take", name)
        assert done.code == 2, name
        assert "error[S0706]" in done.err and name in done.err


def test_another_store_does_not_know_the_batch(handed: Path, tripos: Command) -> None:
    fill("anna.xlsx")
    Path("results/annotations").rename("elsewhere")
    done = tripos("annotate", "--take", "anna.xlsx")
    assert done.code == 2 and "error[S0704]" in done.err and "--store" in done.err
