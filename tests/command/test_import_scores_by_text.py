"""`tripos import scores` of a file with the text of the replies: a row is about the reply that has its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Outcome
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

TEXTS = {"lab/a": "two", "lab/b": "2", "lab/c": "two"}
"""What three models said to one item: two of them the same."""


@pytest.fixture
def replied(quiz: Path, tripos: Command) -> Path:
    """A folder whose store has the replies of three models to one item, and a record to another."""
    rows: list[dict[str, Any]] = [
        {"scenario": "sums", "question": "1+1", "model": model, "reply": text} for model, text in TEXTS.items()
    ]
    record = {"said": "forty-two", "sure": True}
    rows.append({"scenario": "words", "question": "12 + 30", "model": "lab/a", "reply": record})
    assert take(tripos, rows, "samples", "--spec", "quiz.tripos").code == 0
    return quiz


def take(tripos: Command, rows: list[dict[str, Any]], action: str = "scores", *more: str) -> Outcome:
    Path(f"{action}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    more = more or ("--evaluator", "human/ann")
    return tripos("import", action, f"{action}.jsonl", *more)


def given(text: Any, value: int, **more: Any) -> dict[str, Any]:
    """Return a row of scores."""
    return {"scenario": "sums", "question": "1+1", "response": text, "CLEAR": value, **more}


def scores() -> list[tuple[str, float]]:
    with connect(Store.open("results", create=False)) as connection:
        query = "select model, value from quiz.scores where metric = 'CLEAR' and status = 'scored' order by all"
        return connection.execute(query).fetchall()


def test_a_row_is_about_the_reply_that_has_its_text(replied: Path, tripos: Command) -> None:
    done = take(tripos, [given(" 2\n", 7)])
    assert done.code == 0, done.err
    assert scores() == [("lab/b", 7.0)]
    assert "not used" not in done.out


def test_rows_of_one_text_are_about_one_reply_each_whatever_they_give(replied: Path, tripos: Command) -> None:
    done = take(tripos, [given("two", 5), given("two", 5)])
    assert done.code == 0, done.err
    assert scores() == [("lab/a", 5.0), ("lab/c", 5.0)]
    assert "again" not in done.out


def test_two_evaluators_grade_the_same_replies(replied: Path, tripos: Command) -> None:
    rows = [given("two", value, evaluator=f"human/{name}") for name in "xy" for value in (3, 4)]
    done = tripos_of(tripos, rows)
    assert done.code == 0, done.err
    assert scores() == [("lab/a", 3.0), ("lab/a", 3.0), ("lab/c", 4.0), ("lab/c", 4.0)]


def tripos_of(tripos: Command, rows: list[dict[str, Any]]) -> Outcome:
    """Return an import of rows that say who evaluated."""
    Path("panel.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tripos("import", "scores", "panel.jsonl")


def test_model_and_text_agree_or_the_row_does_not_fit(replied: Path, tripos: Command) -> None:
    done = take(tripos, [given("two", 5, model="lab/c"), given("two", 5, model="lab/b"), given("three", 5)])
    assert done.code == 1
    assert "row 2: model `lab/b`: the reply with this text is by lab/a, lab/c" in done.err
    assert "row 3: reply `three`: the run has no reply to the item with this text" in done.err


def test_a_record_is_found_by_what_it_says(replied: Path, tripos: Command) -> None:
    row = {"scenario": "words", "question": "12 + 30", "reply": {"sure": True, "said": "forty-two"}, "CLEAR": 9}
    done = take(tripos, [row])
    assert done.code == 0, done.err
    assert scores() == [("lab/a", 9.0)]


def test_scores_that_rows_give_again_are_told(replied: Path, tripos: Command) -> None:
    rows = [{"scenario": "sums", "question": "1+1", "model": "lab/a", "CLEAR": 5, "RIGHT": 6} for _ in range(3)]
    done = take(tripos, rows)
    assert done.code == 0, done.err
    assert "2 scores of 1 reply by human/ann\n       2 new\n       4 given again by other rows" in done.out
    done = take(tripos, rows, "scores", "--evaluator", "human/ann", "--json")
    assert done.data["repeated"] == 4


def test_an_item_with_a_field_called_reply_is_told_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talks.jsonl").write_text('{"reply": "Yes."}\n{"reply": "No."}\n', "utf-8")
    Path("talks.tripos").write_text(
        """benchmark talks "1.0.0" { languages en }
role candidate compared
role judge panel
dataset talk from "talks.jsonl" { reply text }
scorer good(text: text) by judge { prompt "{{ text }}", gives 1..5 }
scenario go {
  over talk
  ask answer by candidate { prompt "{{ talk.reply }}" }
  score good = good(answer.text)
}
measure mean_good = mean(good)
""",
        "utf-8",
    )
    assert tripos("run", "talks.tripos", "--model", "mock/careful", "--role", "judge=mock/fair", "--json").code == 0
    Path("given.jsonl").write_text('{"reply": "Yes.", "metric": "good", "value": 4}\n', "utf-8")
    done = tripos("import", "scores", "given.jsonl", "--evaluator", "human/ann")
    assert done.code == 0, done.err
    assert "1 score of 1 reply" in done.out
