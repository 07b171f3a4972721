"""Lessons over a server on loopback: how many requests they take, and in what order."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.kills.counting_server import Asked, serving

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
    teacher { system "Teach {{ q.topic }}." }
    student { system "You know nothing of {{ q.topic }} yet." }
    opens  teacher
    until  teacher says "lesson over"
    limit  4 turns
    repeat 3
  }
  ask untaught by student when teaching == none {
    prompt  "{{ q.question }}"
    samples 5
  }
  ask taught by student when teaching == lesson {
    continue talk
    prompt  "{{ q.question }}"
    samples 15
  }
  score correct = contains(untaught.text, q.answer) when teaching == none
  score correct = contains(taught.text, q.answer)   when teaching == lesson
  measure right = mean(correct) by teaching
}
"""
ITEMS = 3
STUDENT = "hosted_vllm/student"
"""Of a provider that gives several replies to one request."""
TEACHER = "openai/teacher"
"""At an address where nobody knows that it does."""


@pytest.fixture(autouse=True)
def _lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "key")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    Path("lessons.tripos").write_text(SPEC, "utf-8")
    rows = ({"topic": f"topic {n}", "question": f"Question {n}?", "answer": "the"} for n in range(ITEMS))
    Path("items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")


def asked(tripos: Command, served: str, *models: str) -> list[Asked]:
    """Return what the server of a model was asked in a run, without what it refused for a while."""
    with serving(latency_s=0) as server:
        settings = f'[endpoints."{served}"]\nbase_url = "{server.address("lessons", "one")}"\nname = "lab"\n'
        Path("tripos.toml").write_text(settings, "utf-8")
        run = tripos("run", "lessons.tripos", *models)
        assert run.code == 0, run.err
        return [each for each in server.of("lessons") if each.status == 200]


def test_the_answers_after_one_lesson_are_one_request_where_the_provider_has_several(tripos: Command) -> None:
    requests = asked(tripos, STUDENT, "--model", "mock/teacher", "--role", f"student={STUDENT}")
    replies = Counter(each.replies for each in requests)
    # Five answers of somebody untaught, and five after each of three lessons; two turns of each lesson are the student's.
    assert replies == {5: ITEMS * (1 + 3), 1: ITEMS * 3 * 2}


def test_what_follows_one_conversation_is_asked_for_in_a_row(tripos: Command) -> None:
    # Here the teacher is asked, and a mock student says something else in each of three conversations.
    spec = SPEC.replace("ask taught by student", "ask taught by teacher").replace(
        "question text secret", "question text"
    )
    Path("lessons.tripos").write_text(spec, "utf-8")
    models = ("--model", TEACHER, "--role", "student=mock/student", "--max-connections", "1")
    asked(tripos, TEACHER, *models)
    again = spec.replace('prompt  "{{ q.question }}"', 'prompt  "Now: {{ q.question }}"')
    Path("lessons.tripos").write_text(again, "utf-8")  # the lessons are kept, and what is asked after them is new
    bodies = [each.body for each in asked(tripos, TEACHER, *models)]
    assert set(Counter(bodies).values()) == {5}
    assert len(list(itertools.groupby(bodies))) == ITEMS * 3
