"""`tripos teach`: a person in the place of the model that teaches."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command, Outcome

SPEC = """\
benchmark lessons "1.0.0" { languages en }
role teacher compared
role student
arm teaching { none, lesson }
dataset item from "items.jsonl" { topic text, question text secret, answer text secret }
scenario gain {
  over item as q
  arms teaching
  converse talk when teaching == lesson {
    teacher { system "Teach {{ q.topic }}. When it is understood, say LESSON OVER." }
    student { system "You know nothing of {{ q.topic }} yet." }
    opens  teacher
    until  teacher says "lesson over"
    limit  20 turns
    repeat 2
  }
  ask sitting by student {
    continue talk
    prompt  "{{ q.question }}"
    samples 2
  }
  score learnt = contains(sitting.text, q.answer)
  measure pass = mean(learnt) by teaching
}
"""
ROWS = ({"topic": "halves", "question": "1/2 of 1/4?", "answer": "1/8"},)


@pytest.fixture(autouse=True)
def _lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("lessons.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")


@pytest.fixture
def teach(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> Any:
    def typed(said: str, *more: str) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
        return tripos("teach", "lessons.tripos", "--name", "anna", "--role", "student=mock/student", *more)

    return typed


def turns(tripos: Command) -> list[dict[str, Any]]:
    query = "select conversation_number as talk, number, role, model, text from lessons.turns order by 1, 2"
    assert tripos("sql", query, "-o", "turns.json").code == 0
    rows: list[dict[str, Any]] = json.loads(Path("turns.json").read_text("utf-8"))
    return rows


WHOLE = "A half is one of two.\nIt is.\n\nThat is all: lesson over\n\nAgain. **LESSON OVER**\n\n"


def test_a_person_teaches_one_lesson_after_another(tripos: Command, teach: Any) -> None:
    taught = teach(WHOLE)
    assert taught.code == 0, taught.err
    said = [(row["talk"], row["number"], row["model"]) for row in turns(tripos)]
    assert said == [(0, 1, "human/anna"), (0, 2, "mock/student"), (0, 3, "human/anna"), (1, 1, "human/anna")]
    assert turns(tripos)[0]["text"] == "A half is one of two.\nIt is."
    # They are told what a model would be, and never the question; of a lesson that goes on, what was said since.
    assert taught.out.count("your instructions") == 2 and "A half is one of two." not in taught.out
    shown = taught.out.partition("lessons 1.0.0: ")[0]
    assert "Teach halves. When it is understood, say LESSON OVER." in shown
    assert ROWS[0]["question"] not in shown
    assert max(map(len, shown.splitlines())) <= 80
    again = teach("")
    assert (again.code, "your instructions" in again.out) == (0, False), "both lessons are finished"


def test_whoever_leaves_goes_on_with_the_next_turn(tripos: Command, teach: Any) -> None:
    left = teach("A half is one of two.\n\n")
    assert left.code == 1
    assert "R0250" in left.err
    assert "Traceback" not in left.err
    assert len([row for row in turns(tripos) if row["text"]]) == 2
    again = teach("lesson over\n\nlesson over\n\n")
    assert again.code == 0
    assert "you said\n  A half is one of two." in again.out
    assert [row["number"] for row in turns(tripos) if row["talk"] == 0 and row["text"]] == [1, 2, 3]


def test_a_person_is_no_model_that_a_run_could_ask(tripos: Command) -> None:
    run = tripos("run", "lessons.tripos", "--model", "human/anna", "--role", "student=mock/student")
    assert run.code == 2
    assert "R0251" in run.err
    assert "tripos teach" in run.err


@pytest.mark.parametrize("more", [("--model", "mock/teacher"), ("--dry-run",)])
def test_what_makes_no_sense_with_a_person_is_refused(teach: Any, more: tuple[str, ...]) -> None:
    refused = teach("", *more)
    assert refused.code == 2
    assert "R0202" in refused.err


@pytest.mark.parametrize("name", ["a,b", "a/b", "", " anna", "a b", "_anna", "x" * 64, "..", "a:b"])
def test_a_name_is_one_that_may_grade(tripos: Command, teach: Any, name: str) -> None:
    refused = teach("", "--name", name)
    assert refused.code == 2
    assert "S0702" in refused.err


@pytest.mark.parametrize(("ctrl_d", "said"), [(True, None), (False, "It is not")])
def test_a_turn_that_is_left_is_not_sent(ctrl_d: bool, said: str | None) -> None:
    from tripos.cli.run import Terminal

    class Typed(io.StringIO):
        def isatty(self) -> bool:
            return ctrl_d

    terminal = Terminal(Typed("A half.\n\nIt is not\n"), io.StringIO())
    assert [terminal.say(), terminal.say()] == ["A half.", said]


def test_control_characters_of_a_student_are_spelt_out(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from tripos.cli.run import Terminal
    from tripos_runtime.models.base import Message

    shown = io.StringIO()
    Terminal(io.StringIO(), shown).hear((Message("user", "\x1b[2J gone"),))
    assert "\x1b" not in shown.getvalue()


def test_whoever_teaches_fills_no_other_role_in_which_the_question_is_seen(
    tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(WHOLE))
    refused = tripos("teach", "lessons.tripos", "--name", "anna")
    assert (refused.code, refused.out) == (2, "")
    assert "error[R0201]: no model fills the role `student`" in refused.err
    assert "--role student=PROVIDER/MODEL" in refused.err


def test_a_byte_that_is_no_text_does_not_end_a_lesson(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    said = b"A half \xff is.\n\nlesson over\n\nlesson over\n\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said), "utf-8"))
    assert tripos("teach", "lessons.tripos", "--name", "anna", "--role", "student=mock/student").code == 0
    assert turns(tripos)[0]["text"] == "A half \ufffd is."
