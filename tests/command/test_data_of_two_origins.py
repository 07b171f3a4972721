"""Sample rows that ship with a benchmark, beside published data from a folder that was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
dataset shown from "shown.jsonl" { question text, answer text }%s
scenario quiz {
  over item
  ask reply by candidate {
    shots 1 from shown as s { prompt "{{ s.question }}", reply "{{ s.answer }}" }
    prompt "{{ item.question }}"
  }
  score right = contains(reply.text, item.answer)
}
"""
ROWS = {
    "items.jsonl": [{"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(10, 14)],
    "shown.jsonl": [{"question": "Which planet is nearest to the sun?", "answer": "Mercury"}],
}


def lay(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in ROWS[name]), "utf-8")


@pytest.fixture
def quiz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "quiz.tripos").write_text(SPEC % "", "utf-8")
    lay(tmp_path / "data", *ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", ["check", "plan", "run"])
def test_sample_rows_beside_given_ones_are_told(quiz: Path, tripos: Command, verb: str) -> None:
    lay(quiz / "given", "items.jsonl")
    more = ["--model", "mock/careful"] if verb == "run" else []
    done = tripos(verb, "quiz.tripos", "--data", "given", *more)
    told = " ".join(f"{done.out} {done.err}".split())
    assert done.code == 0, told
    assert told.count("W1011") == 1
    assert "the rows of `shown` ship with the benchmark, and those of `item` come from a given folder" in told
    assert "put `shown.jsonl` into the folder of --data" in told


@pytest.mark.parametrize("given", [(), tuple(ROWS)])
def test_all_of_one_origin_is_not_told(quiz: Path, tripos: Command, given: tuple[str, ...]) -> None:
    lay(quiz / "given", *given)
    done = tripos("check", "quiz.tripos", "--data", "given")
    assert done.code == 0
    assert "W1011" not in done.out + done.err


def test_what_lies_beside_the_spec_is_part_of_it(quiz: Path, tripos: Command) -> None:
    lay(quiz, "shown.jsonl")
    lay(quiz / "given", "items.jsonl")
    done = tripos("check", "quiz.tripos", "--data", "given")
    assert "W1011" not in done.out + done.err


def test_sample_rows_that_are_meant_are_allowed_and_others_can_be_denied(quiz: Path, tripos: Command) -> None:
    lay(quiz / "given", "items.jsonl")
    assert tripos("check", "quiz.tripos", "--data", "given", "--deny", "W1011").code == 2
    (quiz / "quiz.tripos").write_text(SPEC % "  # allow W1011: the example is ours", "utf-8")
    done = tripos("check", "quiz.tripos", "--data", "given")
    assert "warning[W1011]" not in done.out + done.err
    assert "silenced: W1011 at quiz.tripos:4 (the example is ours)" in done.out + done.err
