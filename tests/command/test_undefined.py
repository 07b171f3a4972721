"""Values that are undefined because of what a reply says: counted as failed, shown with their reason, never left out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.answers import fetch
from tests.conftest import Command
from tests.lengths import spread
from tripos.cli.progress import RunSummary, summary_data, summary_lines
from tripos_runtime.asking.progress import RunProgress

SPEC = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = SCORE
  measure accuracy = mean(right)
  measure zeroed   = mean(right, missing: zero)
  measure whole    = mean(right, missing: fail)
}
"""
SCORES = {
    'trim(nth(split(reply.text, "ANSWER:"), 1)) == item.answer': "`nth` has no value: a list of 1 has no item at position 1",
    'last(lines(replace(reply.text, "?", ""))) == item.answer': "`last` has no value: a list of 0 has no item at position 0",
    "1 / (words(reply.text) - 1)": "`/` has no value: division by zero",
}
PROPER = {"split": "ANSWER: 4", "lines": "4", "words": "one two"}
SHY = {"split": "I do not know", "lines": "???", "words": "no"}
ITEMS = 10


def bring(folder: Path, tripos: Command, score: str, model: str = "shy", right: int = 1) -> None:
    """Put the replies of a model into the store, of which the first are proper ones and the others say nothing."""
    rows = (json.dumps({"question": f"2+2 ({n})", "answer": "4"}) for n in range(ITEMS))
    (folder / "items.jsonl").write_text("\n".join(rows), "utf-8")
    (folder / "s.tripos").write_text(SPEC.replace("SCORE", score), "utf-8")
    kind = next(name for name in PROPER if name in score)
    replies = [
        {"question": f"2+2 ({n})", "model": model, "reply": (PROPER if n < right else SHY)[kind]} for n in range(ITEMS)
    ]
    (folder / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)), "utf-8")
    done = tripos("import", "samples", "replies.jsonl", "--spec", "s.tripos")
    assert done.code == 0, done.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def measures(tripos: Command) -> dict[str, dict[str, Any]]:
    done = tripos("report", "--json")
    assert done.code == 0, done.err
    return {each["name"].removeprefix("one."): each["rows"][0] for each in done.data["measures"]}


@pytest.mark.parametrize("score", spread(SCORES, 1))
def test_a_score_that_a_reply_leaves_undefined_is_counted_as_missing(folder: Path, tripos: Command, score: str) -> None:
    bring(folder, tripos, score)
    found = fetch("select status, error, count(*) from sums.scores group by all order by all")
    assert [(status, count) for status, _, count in found] == [("scored", 1), ("undefined", 9)]
    assert [error for _, error, _ in found] == [None, SCORES[score]]
    told = measures(tripos)
    assert [told["accuracy"][key] for key in ("value", "n", "total", "coverage")] == [1.0, 1, 10, 0.1]
    assert [told["zeroed"][key] for key in ("value", "n", "total")] == [0.1, 1, 10]
    assert told["whole"]["value"] is None
    assert told["whole"]["reason"] == "9 of 10 scores are missing, which `missing: fail` forbids: undefined"
    assert f"9 of 10 right: {SCORES[score]}" in " ".join(tripos("report").out.split())


def test_a_score_that_the_item_leaves_undefined_is_not_applicable(folder: Path, tripos: Command) -> None:
    bring(folder, tripos, 'reply.text == nth(split(item.answer, ";"), 1) and words(reply.text) > 0')
    assert fetch("select status, error, count(*) from sums.scores group by all") == [
        ("not_applicable", "`nth` has no value: a list of 1 has no item at position 1", 10)
    ]


def test_the_leaderboard_says_on_how_many_scores_a_model_stands(folder: Path, tripos: Command) -> None:
    score = next(iter(SCORES))
    bring(folder, tripos, score, "shy", 1)
    bring(folder, tripos, score, "bold", ITEMS)
    said = tripos("leaderboard").out
    assert "shy: 1.00 on 1 of 10 scores; 0.10 if the 9 unread ones count as wrong" in " ".join(said.split())
    assert "bold: " not in said


def test_what_is_undefined_fails_a_test_of_junit(folder: Path, tripos: Command) -> None:
    bring(folder, tripos, next(iter(SCORES)))
    assert tripos("report", "--junit", "found.xml").code == 0
    [failure] = ElementTree.parse(folder / "found.xml").getroot().iter("failure")
    assert (failure.get("type"), (failure.get("message") or "")[:28]) == ("undefined", "undefined: 9 of 10 right: `n")


def test_the_end_of_a_run_says_what_was_not_asked_and_why() -> None:
    tally = RunProgress(unasked=Counter({("helper", "`nth` has no value"): 1, ("judge", "`/` has no value"): 2}))
    said = "\n".join(summary_lines(RunSummary("r1", "finished", tally, 1.0)))
    assert "unasked  2 calls of judge: `/` has no value" in said
    assert "unasked  1 call of helper: `nth` has no value" in said
    assert summary_data(RunSummary("r1", "finished", tally, 1.0))["unasked"] == [
        {"role": "helper", "reason": "`nth` has no value", "calls": 1},
        {"role": "judge", "reason": "`/` has no value", "calls": 2},
    ]
