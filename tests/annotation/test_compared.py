"""People who say which of two replies is better: what they are handed, and what becomes of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import Rows, batches, cells, grades_sheet
from tests.conftest import Command

SPEC = """
benchmark duel "1.0.0" {
  languages en
  headline won
}
role tutor compared
role judge panel
dataset item from "items.jsonl" { question text }
scorer better(question: text, one: text, two: text) by judge {
  prompt "Question: {{ question }} One: {{ one }} Two: {{ two }} Which is better?"
  gives choice(one, two, tie)
}
scenario explain {
  over item
  ask reply by tutor { prompt "{{ item.question }}" }
  compare preferred using better(item.question, first.reply.text, second.reply.text)
}
measure won      = win_rate(preferred) corrected by people
measure strength = bradley_terry(preferred) corrected by people
"""
MODELS = "mock/careful,mock/careless,mock/slow"
ITEMS = 12


@pytest.fixture
def duel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> Path:
    """The folder of a run of three models on twelve items."""
    monkeypatch.chdir(tmp_path)
    Path("duel.tripos").write_text(SPEC, "utf-8")
    rows = [{"question": f"Why is {n} + {2 * n} the same as {2 * n} + {n}?"} for n in range(ITEMS)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = once("run", "duel.tripos", "--model", MODELS, "--role", "judge=mock/careful:a")
    assert done.code == 0, done.err
    return tmp_path


def compare(path: str) -> None:
    """Prefer the longer reply to an even question, and the shorter one to another."""
    book = load_workbook(path)
    sheet = grades_sheet(book)
    asked, ones, twos = ([cell.value for cell in column] for column in sheet.iter_cols(3, 5, 3))
    for question, one, two, cell in zip(asked, ones, twos, cells(sheet, "mark:preferred"), strict=True):
        longer = len(str(one)) > len(str(two))
        even = int(str(question).split()[2]) % 2 == 0
        cell.value = 3 if len(str(one)) == len(str(two)) else 1 if longer == even else 2
    book.save(path)


def test_a_person_sees_two_replies_and_no_model(duel: Path, tripos: Command) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    rows = batches()[0]["rows"]
    assert len(rows) == 3 * ITEMS
    pairs = Counter(tuple(sorted((row["model"], row["other"]["model"]))) for row in rows)
    assert set(pairs.values()) == {ITEMS}
    firsts = Counter(row["model"] < row["other"]["model"] for row in rows)
    assert min(firsts.values()) >= ITEMS / 2, "replies stand first in either order"
    assert {row["drawn_of"] for row in rows} == {ITEMS}
    book = load_workbook("anna.xlsx")
    shown = [str(cell.value) for sheet in book.worksheets for row in sheet.iter_rows() for cell in row]
    assert not any("mock/" in text for text in shown)
    assert [cell.value for cell in grades_sheet(book)[2]][2:6] == ["Question", "One", "Two", "preferred"]
    assert {"one", "two", "tie"} <= set(shown)


def test_verdicts_of_a_random_part_correct_win_rates_and_strengths(duel: Path, tripos: Command, ask: Rows) -> None:
    assert tripos("annotate", "--name", "anna", "--sample", "18").code == 0
    assert {row["drawn_of"] for row in batches()[0]["rows"]} == {ITEMS}
    compare("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx", "--json").code == 0
    again = json.loads(tripos("annotate", "--take", "anna.xlsx", "--json").out)
    assert (again["new"], again["changed"], again["same"]) == (0, 0, 18)
    kept = ask("select value, choice from duel.comparisons where evaluator = 'human/anna'")
    assert len(kept) == 18
    worth = {"one": 1.0, "two": 0.0, "tie": 0.5}
    assert all(worth[row["choice"]] == row["value"] for row in kept)
    report = json.loads(tripos("report", "--json").out)
    assert report["people_apart"] == ["human/anna"]
    rows = {row["model"]: row for each in report["measures"] if each["name"] == "won" for row in each["rows"]}
    assert all(row["value"] is not None for each in report["measures"] for row in each["rows"])
    by_hand: dict[str, list[float]] = {}
    query = "select first_model, second_model, value from duel.comparisons where evaluator = 'human/anna'"
    for row in ask(query):
        by_hand.setdefault(row["first_model"], []).append(row["value"])
        by_hand.setdefault(row["second_model"], []).append(1 - row["value"])
    assert {model: row["n"] for model, row in rows.items()} == {model: len(by_hand[model]) for model in by_hand}
    judged = {model: row["judged"] for model, row in rows.items()}
    both = "select unnest([first_model, second_model]) as model, unnest([value, 1 - value]) as value, evaluator"
    means = ask(
        f"select model, avg(value) as value from ({both} from duel.comparisons) where evaluator = 'mock/careful:a' group by all"
    )
    assert judged == pytest.approx({row["model"]: row["value"] for row in means})


def test_a_person_is_asked_what_the_judge_is_asked(duel: Path, tripos: Command) -> None:
    assert tripos("annotate", "--name", "anna", "--sample", "3").code == 0
    rubric = load_workbook("anna.xlsx")["Rubric"]
    assert rubric["B2"].value == "Question: … One: … Two: … Which is better?"


def test_models_are_compared_and_ranked_by_what_people_say(duel: Path, tripos: Command) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    book = load_workbook("anna.xlsx")
    sheet = grades_sheet(book)
    names = {row["row"]: (row["model"], row["other"]["model"]) for row in batches()[0]["rows"]}
    order = MODELS.split(",")
    for name, cell in zip(cells(sheet, "row"), cells(sheet, "mark:preferred"), strict=True):
        first, second = names[str(name.value)]
        cell.value = 1 if order.index(first) < order.index(second) else 2
    book.save("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    [board] = [b for b in json.loads(tripos("leaderboard", "--json").out)["boards"] if b["measure"] == "won"]
    assert [each["model"] for each in board["models"]] == order
    assert [each["rank"] for each in board["models"]] == [1, 2, 3]
    compared = tripos("compare", "--models", "mock/careful,mock/slow")
    assert compared.code == 0, compared.err
    assert "won: A is better by 1" in compared.out
    assert "scores by human/anna correct won, and are no part of other figures" in " ".join(compared.out.split())
    assert "no part of these figures" not in compared.out


def test_a_second_round_is_of_the_same_replies(duel: Path, tripos: Command, ask: Rows) -> None:
    for more in ((), ("--round", "2")):
        assert tripos("annotate", "--name", "anna", "--sample", "6", *more).code == 0
        path = "anna-round2.xlsx" if more else "anna.xlsx"
        compare(path)
        assert tripos("annotate", "--take", path).code == 0
    kept = ask(
        "select round, count(distinct judgement_id) as n from duel.comparisons where evaluator = 'human/anna' group by all order by all"
    )
    assert {(row["round"], row["n"]) for row in kept} == {(None, 6), (2, 6)} and len(kept) == 2
    one, two = (sorted((row["sample_id"], row["other"]["sample_id"]) for row in each["rows"]) for each in batches())
    assert one == two


def test_people_choose_among_the_five_levels_that_the_judge_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, ask: Rows
) -> None:
    monkeypatch.chdir(tmp_path)
    levels = {"A>>B": 3, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -3}
    named = ", ".join(f'"{name}": {worth}' for name, worth in levels.items())
    spec = SPEC.replace("choice(one, two, tie)", f"choice({named})")
    Path("duel.tripos").write_text(spec, "utf-8")
    Path("items.jsonl").write_text("".join(json.dumps({"question": f"Why {n}?"}) + "\n" for n in range(ITEMS)), "utf-8")
    done = tripos("run", "duel.tripos", "--model", "mock/careful,mock/slow", "--role", "judge=mock/careful:a")
    assert done.code == 0, done.err
    assert tripos("annotate", "--name", "anna").code == 0
    book = load_workbook("anna.xlsx")
    shown = [str(cell.value) for sheet in book.worksheets for row in sheet.iter_rows() for cell in row]
    assert {*levels} <= {*shown} and "-3" not in shown, "the names are shown, and not their values"
    sheet = grades_sheet(book)
    for at, cell in enumerate(cells(sheet, "mark:preferred")):
        cell.value = at % 5 + 1
    book.save("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    kept = ask("select choice, value, count(*) as n from duel.comparisons where evaluator = 'human/anna' group by all")
    assert {row["choice"] for row in kept} == {*levels} and sum(row["n"] for row in kept) == ITEMS
    assert all(row["value"] == 0.5 + (levels[row["choice"]] > 0) / 2 - (levels[row["choice"]] < 0) / 2 for row in kept)
    report = json.loads(tripos("report", "--json").out)
    assert all(row["value"] is not None for each in report["measures"] for row in each["rows"])
