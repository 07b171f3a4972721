"""People who label each element of a list, as a judge does: handed out one by one, counted apart from the models, and
held against them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import Rows, cells, grades_sheet
from tests.conftest import Command

LABELS = ("SUPPORTED", "REFUTED", "UNKNOWN")
SPEC = """
benchmark claims "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" {
  question  text
  claims    list<{ text text, label choice(SUPPORTED, REFUTED, UNKNOWN) }> secret
}
scorer label(reply: text, claim: text) by judge {
  prompt "A reply: {{ reply }} Does it say this? {{ claim }}"
  gives  choice(SUPPORTED, REFUTED, UNKNOWN)
}
scenario claims {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score verdict = label(reply.text, c.text) each c in item.claims
  measure macro    = f1(verdict, c.label)
  measure by_rater = f1(verdict, c.label) by evaluator
  measure right    = accuracy(verdict, c.label) by evaluator
}
measure agreed = cohen_kappa(claims.verdict) across judge
"""
CLAIMS = [{"text": f"claim {n}.{m}", "label": LABELS[(n * m + n) % 3]} for n in range(5) for m in range(1 + n % 3)]


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("spec.tripos").write_text(SPEC, "utf-8")
    rows = [
        {"question": f"What of {n}?", "claims": [c for c in CLAIMS if c["text"].startswith(f"claim {n}.")]}
        for n in range(5)
    ]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(tripos)
    return tmp_path


def run(tripos: Command, judges: str = "mock/careful:a") -> None:
    done = tripos("run", "spec.tripos", "--model", "mock/careful", "--role", f"judge={judges}")
    assert done.code == 0, done.err


def given(claim: str) -> str:
    """Return the label that Anna gives."""
    return LABELS[sum(map(ord, claim)) % 3]


def fill(path: str) -> list[str]:
    """Label every claim of a sheet; return the claims in its order."""
    book = load_workbook(path)
    sheet = grades_sheet(book)
    shown = [str(cell.value) for row in sheet.iter_rows(3) for cell in row if str(cell.value).startswith("claim ")]
    for claim, cell in zip(shown, cells(sheet, "mark:verdict"), strict=True):
        cell.value = given(claim)
    book.save(path)
    return shown


def figures(tripos: Command) -> dict[str, dict[str, float]]:
    report = tripos("report", "--json").data
    return {
        each["name"]: {row.get("evaluator", ""): row["value"] for row in each["rows"]} for each in report["measures"]
    }


def macro(labels: dict[str, str]) -> float:
    """Return the mean of the F-measures of the classes that stand in the claims, by its definition."""
    scores = []
    for name in sorted({each["label"] for each in CLAIMS} | set(labels.values())):
        hit = sum(each["label"] == labels[each["text"]] == name for each in CLAIMS)
        said, true = sum(each == name for each in labels.values()), sum(each["label"] == name for each in CLAIMS)
        scores.append(2 * hit / (said + true))
    return float(np.mean(scores))


def test_a_person_labels_each_element_and_no_figure_of_models_moves(claims: Path, tripos: Command, ask: Rows) -> None:
    before = figures(tripos)
    done = tripos("annotate", "--name", "anna")
    assert done.code == 0, done.err
    shown = fill("anna.xlsx")
    assert sorted(shown) == sorted(each["text"] for each in CLAIMS)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    after = figures(tripos)
    assert after["claims.macro"] == before["claims.macro"]
    labels = {each["text"]: given(each["text"]) for each in CLAIMS}
    assert after["claims.by_rater"]["human/anna"] == pytest.approx(macro(labels))
    assert {k: v for k, v in after["claims.by_rater"].items() if k != "human/anna"} == before["claims.by_rater"]
    right = np.mean([each["label"] == labels[each["text"]] for each in CLAIMS])
    assert after["claims.right"]["human/anna"] == pytest.approx(right)
    rows = ask(
        "select element_value ->> '$.text' as claim, choice, status from claims.scores where evaluator = 'human/anna'"
    )
    assert {row["claim"]: row["choice"] for row in rows} == labels and len(rows) == len(labels)
    assert tripos("annotate", "--name", "anna").code != 0  # all of it is graded
    assert figures(tripos) == after
    assert tripos("store", "check").code == 0


def test_people_beside_the_models_agree_by_element(claims: Path, tripos: Command, ask: Rows) -> None:
    Path("spec.tripos").write_text(SPEC.replace("role judge panel", "role judge panel with people"), "utf-8")
    run(tripos)
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    kept = ask("select element_value ->> '$.text' as claim, choice from claims.scores where evaluator like 'mock/%'")
    model = {row["claim"]: row["choice"] for row in kept}
    pairs = [(model[each["text"]], given(each["text"])) for each in CLAIMS]
    same = float(np.mean([one == other for one, other in pairs]))
    shares = [[np.mean([pair[side] == name for pair in pairs]) for name in LABELS] for side in (0, 1)]
    chance = float(np.dot(shares[0], shares[1]))
    assert figures(tripos)["agreed"][""] == pytest.approx((same - chance) / (1 - chance))


def test_elements_that_a_reply_lists_are_handed_out_and_a_share_of_them_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, ask: Rows
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = SPEC.replace(
        'prompt "{{ item.question }}" }', 'prompt "{{ item.question }}", returns { facts list<text> } }'
    )
    spec = spec.replace(
        "label(reply.text, c.text) each c in item.claims", "label(c, c) each c in reply.facts at most 9"
    )
    spec = "".join(line for line in spec.splitlines(keepends=True) if "measure" not in line)
    Path("spec.tripos").write_text(spec + "measure share = share(claims.verdict == SUPPORTED) by evaluator\n", "utf-8")
    Path("items.jsonl").write_text(
        "".join(json.dumps({"question": f"q{n}", "claims": []}) + "\n" for n in range(6)), "utf-8"
    )
    run(tripos)
    listed = len(ask("select * from claims.scores where element_place is not null"))
    assert listed > 6
    done = tripos("annotate", "--name", "ben", "--sample", "4")
    assert done.code == 0, done.err
    book = load_workbook("ben.xlsx")
    sheet = grades_sheet(book)
    marks = list(cells(sheet, "mark:verdict"))
    assert len(marks) == 4
    for cell in marks:
        cell.value = "REFUTED"
    book.save("ben.xlsx")
    assert tripos("annotate", "--take", "ben.xlsx").code == 0
    assert figures(tripos)["share"]["human/ben"] == 0
    assert len(ask("select score_id from claims.scores where evaluator = 'human/ben'")) == 4


def test_a_second_round_is_apart_from_the_first(claims: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    assert tripos("annotate", "--name", "anna", "--round", "2").code == 0
    fill("anna-round2.xlsx")
    assert tripos("annotate", "--take", "anna-round2.xlsx").code == 0
    rows = [row["round"] for row in ask("select round from claims.scores where evaluator = 'human/anna'")]
    assert (rows.count(None), rows.count(2)) == (len(CLAIMS), len(CLAIMS))
