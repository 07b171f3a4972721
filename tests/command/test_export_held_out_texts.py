"""Pairs of data without the rows that have a text which is kept out, whatever the fields are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

LAST = "Why did you multiply the number of boxes by the number of crayons?"
PROBLEM = (
    "A box holds 12 crayons. How many crayons are there in 7 boxes of this kind, if none of them is broken or lost?"
)
SPEC = """\
benchmark talks "1.0.0" { languages en }
role tutor compared
dataset talk from "talks.jsonl" {
  problem  text
  good     text
  bad      text
}
dataset asked from "asked.jsonl" {
  task  text
  said  dialogue
}
dataset own from "own.jsonl" { question text }
scenario turn {
  over own
  ask reply by tutor { prompt "{{ own.question }}" }
  score same = reply == "42"
}
export better {
  pairs     from talk as t
  HOLDS
  group     t.problem
  prompt    "{{ t.problem }}"
  reply     t.good worth 1
  reply     t.bad worth 0
}
"""
TALKS = [
    {"problem": "What is 2 + 2, and why is it as much as that?", "good": LAST.upper() + " !", "bad": "No."},
    {"problem": PROBLEM.replace("12", "13"), "good": "What is asked?", "bad": "No."},
    {
        "problem": "What is half of seven, and what is left over of it in the end?",
        "good": "How do you know that?",
        "bad": "No.",
    },
    {
        "problem": "What is half of nine, and what is left over of it in the end?",
        "good": "Tell me your solution.",
        "bad": "It is 4.",
    },
]
ASKED = [
    {
        "task": PROBLEM,
        "said": [{"speaker": "T", "text": "What is half of seven, and what is left over of it in the end?"}],
    },
    {"task": "Short.", "said": [{"speaker": "S", "text": TALKS[3]["problem"]}, {"speaker": "T", "text": LAST}]},
]


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("talks", TALKS), ("asked", ASKED), ("own", [{"question": "What is 6 × 7?"}])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tmp_path


def test_a_row_is_left_out_for_its_group_or_a_reply_and_for_the_last_turn_of_a_dialogue(
    talks: Path, tripos: Command
) -> None:
    Path("talks.tripos").write_text(SPEC.replace("HOLDS", "holds out asked"), "utf-8")
    checked = tripos("check", "talks.tripos")
    assert checked.code == 0
    told = " ".join((checked.out + checked.err).split())
    assert "3 rows of `talk` have a text of `asked`, which is held out: they are left out" in told
    done = tripos("export", "better", "--spec", "talks.tripos", "-o", "pairs.jsonl")
    assert done.code == 0, done.err
    kept = [json.loads(line)["prompt"] for line in Path("pairs.jsonl").read_text("utf-8").splitlines()]
    assert kept == [TALKS[3]["problem"]]  # an earlier turn of a dialogue is no text to beat
    said = json.loads(Path("pairs.jsonl.provenance.json").read_text("utf-8"))
    assert said["left_out"] == {"rows with a text that is kept out": 3}


def test_a_row_that_is_asked_elsewhere_and_learned_is_warned_of(talks: Path, tripos: Command) -> None:
    spec = SPEC.replace("HOLDS", "").replace("over own\n", "over asked\n").replace("own.question", "asked.task")
    Path("talks.tripos").write_text(spec, "utf-8")
    checked = tripos("check", "talks.tripos")
    told = " ".join((checked.out + checked.err).split())
    assert "W1008" in told
    assert "3 rows of `talk` have a text of `asked`, which scenario `turn` asks about: they are learned" in told
    assert "write `holds out asked` in the export" in told


@pytest.mark.parametrize(("named", "code"), [("nobody", "E0201"), ("turn", "E0201"), ("1", "E0106")])
def test_what_is_held_out_must_be_a_data_set(talks: Path, tripos: Command, named: str, code: str) -> None:
    Path("talks.tripos").write_text(SPEC.replace("HOLDS", f"holds out {named}"), "utf-8")
    checked = tripos("check", "talks.tripos")
    assert checked.code == 2
    assert f"error[{code}]" in checked.err + checked.out
