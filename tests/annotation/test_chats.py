"""Chats that end early: a person grades the last reply, a file may score it, and an export takes it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import Rows, cells, grades_sheet
from tests.conftest import Command

SPEC = """\
benchmark riddles "1.0.0" { languages en }
role candidate compared
role judge
dataset riddle from "riddles.jsonl" { hints list<text> }
scorer sensible(said: text) by judge { prompt "Is this sensible? {{ said }}", gives 1..5 }
scenario guess {
  over riddle as r
  ask game by candidate { prompts r.hints at most 3, until contains(game.text, "detail") }
  score last = sensible(game.text)
  measure sensible = mean(last)
}
export taught {
  best of candidate by guess.sensible
  rows game
}
"""
RIDDLES = [{"hints": [f"Hint {place} of {number}." for place in range(3)]} for number in range(12)]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> None:
    """A run of chats of which some end after each turn."""
    monkeypatch.chdir(tmp_path)
    Path("spec.tripos").write_text(SPEC, "utf-8")
    Path("riddles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RIDDLES), "utf-8")
    done = once("run", "spec.tripos", "--model", "mock/careful:a", "--role", "judge=mock/fair:j", "--json")
    assert done.code == 0, done.err


LAST = "select item_id, max(step) as step, max_by(sample_id, step) as sample_id from riddles.samples group by item_id"
GRADED = "select judged.sample_id from riddles.judgements as judged where judged.evaluator = 'human/anna' order by all"


def last_replies(ask: Rows) -> list[str]:
    """Return the names of the last replies, of which each turn has some."""
    rows = ask(LAST)
    assert set(Counter(row["step"] for row in rows)) == {"game(1)", "game(2)", "game(3)"}
    assert len(rows) == len(RIDDLES)
    return sorted(row["sample_id"] for row in rows)


@pytest.mark.parametrize("round", [(), ("--round", "2")], ids=["first", "second"])
def test_a_person_grades_the_last_reply_of_a_chat(
    round: tuple[str, ...], played: None, tripos: Command, ask: Rows
) -> None:
    assert tripos("annotate", "--name", "anna", *round).code == 0
    (path,) = Path().glob("anna*.xlsx")
    book = load_workbook(path)
    for cell in cells(grades_sheet(book), "mark:last"):
        cell.value = 3
    book.save(path)
    assert tripos("annotate", "--take", str(path)).code == 0
    assert [row["sample_id"] for row in ask(GRADED)] == last_replies(ask)


def test_a_file_scores_the_last_reply_and_what_it_leaves_out_is_missing(
    played: None, tripos: Command, ask: Rows
) -> None:
    last = last_replies(ask)
    earlier = next(
        row["sample_id"] for row in ask("select sample_id from riddles.samples") if row["sample_id"] not in last
    )
    for name, given in (("some.jsonl", last[1:]), ("earlier.jsonl", [earlier])):
        rows = [{"sample_id": each, "metric": "last", "value": 2, "evaluator": "bob"} for each in given]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert tripos("import", "scores", "some.jsonl").code == 0
    refused = tripos("import", "scores", "earlier.jsonl")
    assert refused.code != 0
    assert "no such reply that is graded" in refused.out + refused.err
    found = ask("select sample_id, status from riddles.scores where evaluator = 'bob' order by all")
    assert [(row["sample_id"], row["status"]) for row in found] == [
        (name, "scored" if place else "not_given") for place, name in enumerate(last)
    ]


@pytest.mark.parametrize("what", [("taught",), ("distillation", "--by", "sensible")], ids=["spec", "options"])
def test_an_export_takes_the_last_reply_of_each_chat(
    what: tuple[str, ...], played: None, tripos: Command, ask: Rows
) -> None:
    done = tripos("export", *what, "-o", "chats.jsonl")
    assert done.code == 0, done.err
    kept = json.loads(Path("chats.jsonl.provenance.json").read_text("utf-8"))
    assert sorted(name for line in kept["lines"] for name in line["samples"]) == last_replies(ask)
    assert kept["left_out"] == {}
