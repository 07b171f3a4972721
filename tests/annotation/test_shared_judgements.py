"""A question that several scores ask a judge is graded by a person once, and counts in each score that applies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import Rows, grades_sheet
from tests.conftest import Command

SPEC = """\
benchmark shared "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, flag bool }
scorer marks(reply: text) by judge { prompt "Grade {{ reply }}", gives 1..5 }
scenario s {
  over item
  ask answer by candidate { prompt "{{ item.question }}" }
  score flagged = marks(answer.text) when item.flag
  score every   = marks(answer.text)
  score others  = marks(answer.text) when not item.flag
}
measure m = mean(every)
"""
FLAGS = (True, False, False)


@pytest.mark.parametrize("kept", ["flagged every others", "flagged others"])
def test_a_grade_counts_in_every_score_that_applies(
    kept: str, tmp_path: Path, tripos: Command, ask: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = SPEC.splitlines()
    written = [line for line in lines if not line.startswith("  score") or line.split()[1] in kept.split()]
    Path("s.tripos").write_text(
        "\n".join(written).replace("mean(every)", f"mean({kept.split(maxsplit=1)[0]})"), "utf-8"
    )
    rows = [{"question": f"question {place}", "flag": flag} for place, flag in enumerate(FLAGS)]
    Path("items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    done = tripos("run", "s.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a")
    assert done.code == 0, done.err
    assert ask("select count(distinct judgement_id) as n, count(*) as every from shared.judgements") == [
        {"n": 3, "every": 3}
    ]
    done = tripos("annotate", "--name", "anna")
    assert done.code == 0 and done.out.startswith("3 replies"), done.out
    book = load_workbook("anna.xlsx")
    sheet = grades_sheet(book)
    columns = [cell.column for cell in sheet[1] if str(cell.value).startswith("mark:")]
    for place in range(3, sheet.max_row + 1):
        for column in columns:
            if not sheet.cell(place, column).protection.locked:
                sheet.cell(place, column).value = 4
    book.save("anna.xlsx")
    done = tripos("annotate", "--take", "anna.xlsx")
    assert done.code == 0, done.err
    found = ask("select metric, value from shared.scores where evaluator = 'human/anna' and value is not null")
    wanted = {"flagged": 1, "every": 3, "others": 2}
    assert sorted(row["metric"] for row in found) == sorted(name for name in kept.split() for _ in range(wanted[name]))
    assert {row["value"] for row in found} == {4.0}
    again = tripos("annotate", "--name", "anna", "-o", "again.xlsx")
    assert again.code == 2 and "has graded all of it already" in again.err
