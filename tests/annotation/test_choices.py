"""People who choose among names, as a judge that gives a choice does: handed out, taken, counted, imported."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import Rows, cells, grades_sheet
from tests.conftest import Command

SPEC = """
benchmark facts "1.0.0" { languages en }
role candidate compared
role judge panel with people
dataset item from "items.jsonl" { question text }
scorer grade(question: text, reply: text) by judge {
  prompt "Question: {{ question }} Reply: {{ reply }} Is it right?"
  gives choice(CORRECT, INCORRECT, NOT_ATTEMPTED)
}
scorer style(reply: text) by judge {
  prompt "How is it written? {{ reply }}"
  gives  choice(good: 1, fair: 0.5, poor: 0)
}
scenario facts {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score verdict = grade(item.question, reply.text)
  score style   = style(reply.text)
}
measure correct = share(facts.verdict == CORRECT) by evaluator
measure writing = mean(facts.style) by evaluator
measure agreed  = cohen_kappa(facts.verdict) across judge
"""
ITEMS = 8
VERDICTS = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")
STYLES = {"good": 1.0, "fair": 0.5, "poor": 0.0}


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> Path:
    """The folder of a run of one model on eight items, judged by one model."""
    monkeypatch.chdir(tmp_path)
    Path("facts.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("".join(json.dumps({"question": f"What is {n}?"}) + "\n" for n in range(ITEMS)))
    done = once("run", "facts.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a")
    assert done.code == 0, done.err
    return tmp_path


def fill(path: str, verdicts: tuple[object, ...], styles: tuple[object, ...]) -> None:
    """Write grades into a sheet, one after the other."""
    book = load_workbook(path)
    sheet = grades_sheet(book)
    for key, given in (("mark:verdict", verdicts), ("mark:style", styles)):
        for place, cell in enumerate(each for each in cells(sheet, key) if not each.protection.locked):
            cell.value = given[place % len(given)]
    book.save(path)


def measures(tripos: Command) -> dict[str, dict[str, float]]:
    """Return the value of every measure by its evaluator."""
    report = tripos("report", "--json").data
    return {
        each["name"]: {row.get("evaluator", ""): row["value"] for row in each["rows"]} for each in report["measures"]
    }


def test_a_sheet_lists_the_names_and_what_a_person_chose_is_counted_as_a_judge_s(
    facts: Path, tripos: Command, ask: Rows
) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    book = load_workbook("anna.xlsx")
    lists = {each.formula1 for each in grades_sheet(book).data_validations.dataValidation}
    assert lists == {'"CORRECT,INCORRECT,NOT_ATTEMPTED"', '"good,fair,poor"'}
    assert {row[3].value for row in book["Rubric"].iter_rows(2)} == {*VERDICTS, *STYLES}
    fill("anna.xlsx", ("CORRECT", "incorrect ", 3), ("good", "fair", "poor", 1))
    taken = tripos("annotate", "--take", "anna.xlsx")
    assert taken.code == 0, taken.err
    again = tripos("annotate", "--take", "anna.xlsx", "--json").data
    assert (again["new"], again["changed"]) == (0, 0)
    kept = ask("select metric, choice, value from facts.scores where evaluator = 'human/anna'")
    assert {row["choice"] for row in kept if row["metric"] == "verdict"} == set(VERDICTS)
    assert all(row["value"] is None for row in kept if row["metric"] == "verdict")
    assert all(STYLES[row["choice"]] == row["value"] for row in kept if row["metric"] == "style")
    own = [row["choice"] for row in kept if row["metric"] == "verdict"]
    found = measures(tripos)
    assert found["correct"]["human/anna"] == pytest.approx(own.count("CORRECT") / ITEMS)
    styles = [row["value"] for row in kept if row["metric"] == "style"]
    assert found["writing"]["human/anna"] == pytest.approx(sum(styles) / ITEMS)
    assert found["agreed"] == {"": pytest.approx(_kappa(ask))}


def _kappa(ask: Rows) -> float:
    query = """select one.choice as one, other.choice as other from facts.scores as one
      join facts.scores as other using (sample_id, metric)
      where metric = 'verdict' and one.evaluator = 'human/anna' and other.evaluator = 'mock/careful:a'"""
    pairs = [(row["one"], row["other"]) for row in ask(query)]
    same = sum(one == other for one, other in pairs) / len(pairs)
    chance = (
        sum(sum(one == name for one, _ in pairs) * sum(other == name for _, other in pairs) for name in VERDICTS)
        / len(pairs) ** 2
    )
    return (same - chance) / (1 - chance)


def test_what_is_no_name_is_refused_and_a_changed_name_takes_the_place(facts: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx", ("PERHAPS", 4), ("good",))
    refused = tripos("annotate", "--take", "anna.xlsx")
    assert refused.code == 1
    told = " ".join(refused.out.split()) + " ".join(refused.err.split())
    assert "`PERHAPS` is not on the scale: CORRECT, INCORRECT, NOT_ATTEMPTED, or 1 to 3" in told
    assert "4 is not on the scale" in told
    for verdict in ("CORRECT", "INCORRECT"):
        fill("anna.xlsx", (verdict,), ("good",))
        assert tripos("annotate", "--take", "anna.xlsx").code == 0
        kept = ask("select choice from facts.scores where evaluator = 'human/anna' and metric = 'verdict'")
        assert [row["choice"] for row in kept] == [verdict] * ITEMS


def test_a_second_round_has_names_of_its_own(facts: Path, tripos: Command, ask: Rows) -> None:
    for more in ((), ("--round", "2")):
        assert tripos("annotate", "--name", "anna", *more).code == 0
        path = "anna-round2.xlsx" if more else "anna.xlsx"
        fill(path, ("CORRECT", "INCORRECT"), ("poor",))
        assert tripos("annotate", "--take", path).code == 0
    kept = ask(
        "select round, choice, count(*) as n from facts.scores where evaluator = 'human/anna' and status = 'scored' group by all"
    )
    assert sorted((int(row["round"] or 0), row["choice"], row["n"]) for row in kept) == [
        (turn, choice, count)
        for turn in (0, 2)
        for choice, count in (("CORRECT", ITEMS // 2), ("INCORRECT", ITEMS // 2), ("poor", ITEMS))
    ]


def test_names_of_a_file_are_imported_and_others_rejected(facts: Path, tripos: Command, ask: Rows) -> None:
    rows = [{"question": f"What is {n}?", "verdict": VERDICTS[n % 3].lower(), "style": "fair"} for n in range(ITEMS)]
    with Path("panel.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    done = tripos("import", "scores", "panel.csv", "--evaluator", "human/bob")
    assert done.code == 0, done.err
    kept = ask("select metric, choice, value from facts.scores where evaluator = 'human/bob' and status = 'scored'")
    assert len(kept) == 2 * ITEMS
    assert {(row["choice"], row["value"]) for row in kept if row["metric"] == "style"} == {("fair", 0.5)}
    assert {row["choice"] for row in kept if row["metric"] == "verdict"} == set(VERDICTS)
    assert measures(tripos)["correct"]["human/bob"] == 3 / ITEMS
    Path("panel.csv").write_text('question,verdict\n"What is 1?",MAYBE\n', "utf-8")
    refused = tripos("import", "scores", "panel.csv", "--evaluator", "human/bob", "--replace")
    assert refused.code != 0
    assert "not one of CORRECT, INCORRECT, NOT_ATTEMPTED" in " ".join((refused.out + refused.err).split())


def test_another_run_under_another_worth_has_what_people_chose(facts: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx", ("CORRECT",), ("fair",))
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    Path("facts.tripos").write_text(SPEC.replace("fair: 0.5", "fair: 0.25"), "utf-8")
    done = tripos("run", "facts.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a")
    assert done.code == 0, done.err
    assert measures(tripos)["writing"]["human/anna"] == 0.25


def test_a_number_that_is_a_name_is_the_name_and_no_position(
    facts: Path, tripos: Command, once: Command, ask: Rows
) -> None:
    """A person who types 1 for the choice `1` means it, although it is the second of the names."""
    spec = SPEC.replace("choice(CORRECT, INCORRECT, NOT_ATTEMPTED)", 'choice("0", "1", "not, attempted")')
    Path("facts.tripos").write_text(spec.replace("verdict == CORRECT", 'verdict == "1"'), "utf-8")
    done = once("run", "facts.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a")
    assert done.code == 0, done.err
    assert tripos("annotate", "--name", "anna").code == 0
    book = load_workbook("anna.xlsx")
    (names,) = (
        check.formula1
        for check in grades_sheet(book).data_validations.dataValidation
        if check.formula1.startswith("'Rubric'")
    )
    first, last = (int(end) for end in names.replace("$", "").removeprefix("'Rubric'!D").split(":D"))
    listed = [book["Rubric"].cell(row, 4).value for row in range(first, last + 1)]
    assert listed == ["0", "1", "not, attempted"]
    fill("anna.xlsx", (1, "0", 0.0, "1 ", "not, attempted"), ("good",))
    taken = tripos("annotate", "--take", "anna.xlsx")
    assert taken.code == 0, taken.err
    kept = ask(
        "select choice, count(*) as n from facts.scores where evaluator = 'human/anna' and metric = 'verdict' group by all"
    )
    assert {row["choice"]: row["n"] for row in kept} == {"1": 3, "0": 4, "not, attempted": 1}
    fill("anna.xlsx", (2,), ("good",))
    refused = tripos("annotate", "--take", "anna.xlsx")
    assert refused.code == 1
    assert "`2` is not on the scale: 0, 1, not, attempted" in " ".join((refused.out + refused.err).split())
