"""Conversations that are run: who is asked what, what is kept turn by turn, and what builds on it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.runtime import small_runs
from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import Script, SmallRun, run_small
from tripos_runtime.models.base import ModelError, Request

ROWS = [{"topic": "halves", "question": "1/2 of 1/4?", "answer": "1/8"}]
LESSONS = """\
benchmark lessons "1.0.0" { languages en }
role teacher compared
role student
arm teaching { none, lesson }
dataset item from "items.jsonl" { topic text, question text secret, answer text secret }
scenario gain {
  over item as q
  arms teaching
  converse talk when teaching == lesson {
    teacher {
      system "Teach {{ q.topic }}, then say LESSON OVER."
      max_tokens 300
    }
    student { system "You learn {{ q.topic }}." }
    opens  teacher
    until  teacher says "lesson over"
    limit  LIMIT turns
    repeat 3
  }
  ask sitting by student {
    continue talk
    prompt "{{ q.question }}"
    samples SAMPLES
  }
  score learnt = contains(sitting.text, q.answer)
  score short  = turns(talk) < 4 when teaching == lesson
}
"""


def spec(limit: int = 9, samples: int = 4) -> str:
    return LESSONS.replace("LIMIT", str(limit)).replace("SAMPLES", str(samples))


def lesson(last: int = 5) -> Script:
    """Teachers end the lesson with their turn number `last` of the dialogue; everybody else answers."""

    def said(request: Request) -> str | ModelError:
        spoken = sum(message.role != "system" for message in request.messages)
        if request.model.startswith("t"):
            return f"**Lesson\u3000over**, says {request.model}" if spoken >= last else f"Listen: {spoken}"
        return f"{request.model} hears {spoken}: 1/8"

    return said


def hold(
    folder: Path,
    text: str | None = None,
    script: Script | None = None,
    models: tuple[str, ...] = ("t1", "t2"),
    before: SmallRun | None = None,
    rows: list[dict[str, str]] | None = None,
) -> SmallRun:
    return run_small(
        folder,
        text or spec(),
        {"items.jsonl": rows or ROWS},
        models=models,
        script=script or lesson(),
        before=before,
        student="s",
    )


def talks(run: SmallRun) -> list[dict[str, Any]]:
    return [{**row, **json.loads(row["parsed"])} for row in run.table("samples") if row["step"] == "talk"]


def test_a_conversation_goes_on_until_one_says_what_ends_it(tmp_path: Path) -> None:
    run = hold(tmp_path)
    assert len(talks(run)) == 2 * 3
    assert {(row["status"], row["ended"], row["ended_by"], len(row["turns"])) for row in talks(run)} == {
        ("ok", "said", "teacher", 5)
    }


def test_a_conversation_ends_at_its_limit(tmp_path: Path) -> None:
    run = hold(tmp_path, spec(limit=4), lesson(last=100))
    assert {(row["ended"], row["ended_by"], len(row["turns"])) for row in talks(run)} == {("limit", "student", 4)}


def test_every_turn_is_kept_before_the_next_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    keep = MemoryLedger.keep

    def noted(self: MemoryLedger, rows: Any) -> None:
        order.extend(f"kept {row['number']}" for row in rows.get("turns", ()))
        keep(self, rows)

    def said(request: Request) -> str | ModelError:
        if request.messages[0].content.startswith(("Teach", "You learn")):
            order.append("asked")
        return lesson()(request)

    monkeypatch.setattr(MemoryLedger, "keep", noted)
    run = hold(tmp_path, spec(samples=1).replace("repeat 3", "repeat 1"), said, ("t1",))
    assert order == [each for number in range(1, 6) for each in ("asked", f"kept {number}")]
    assert [row["role"] for row in run.table("turns")] == ["teacher", "student", "teacher", "student", "teacher"]


def test_either_side_sees_its_own_system_message_and_the_dialogue_from_its_side(tmp_path: Path) -> None:
    run = hold(tmp_path, models=("t1",))
    longest = max(run.sent("t1"), key=len)
    assert longest[:4] == (
        ("system", "Teach halves, then say LESSON OVER."),
        ("user", "Please begin."),
        ("assistant", "Listen: 1"),
        ("user", "s hears 1: 1/8"),
    )
    assert min((sent for sent in run.sent("s") if sent[0][0] == "system"), key=len) == (
        ("system", "You learn halves."),
        ("user", "Listen: 1"),
    )


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    first = hold(tmp_path)
    second = hold(tmp_path, before=first)
    assert sum(second.asked.values()) == 0
    assert sum(second.engine.tally.reused.values()) == sum(first.asked.values())
    assert second.engine.tally.done == second.engine.tally.total


def test_the_samples_are_shared_out_among_the_conversations(tmp_path: Path) -> None:
    run = hold(tmp_path, models=("t1",))
    assert run.asked["s"] - 3 * 2 == 2 * 4  # four sittings in either arm
    sent = [row["messages"] for row in run.table("samples") if row["step"] == "sitting"]
    assert len(sent) == 8
    assert run.calls == {"teacher": 3 * 3, "student": 3 * 2 + 2 * 4}
    assert run.engine.tally.done == run.engine.tally.total


def test_a_score_of_an_answer_after_a_lesson_is_about_that_answer(tmp_path: Path) -> None:
    run = hold(tmp_path, models=("t1",))
    rows = run.table("samples")
    sittings = {row["sample_id"] for row in rows if row["step"] == "sitting"}
    assert {row["sample_id"] for row in run.table("scores") if row["metric"] == "learnt"} == sittings
    assert {row["sample_id"] for row in run.table("scores") if row["metric"] == "short"} == {
        row["sample_id"] for row in rows if row["step"] == "talk"
    }


def test_what_involves_no_teacher_is_asked_once_and_not_once_a_teacher(tmp_path: Path) -> None:
    run = hold(tmp_path)
    sittings = [row for row in run.table("samples") if row["step"] == "sitting"]
    assert len(sittings) == 4 + 2 * 4


def test_the_teacher_is_never_sent_the_question(tmp_path: Path) -> None:
    run = hold(tmp_path)
    told = [text for sent in (*run.sent("t1"), *run.sent("t2")) for _, text in sent]
    assert told
    assert not any(ROWS[0]["question"] in text for text in told)


def test_a_run_that_is_stopped_in_a_conversation_goes_on_with_the_next_turn(tmp_path: Path) -> None:
    def fatal_at(turn: int) -> Script:
        def said(request: Request) -> str | ModelError:
            if request.model == "t1" and sum(each.role != "system" for each in request.messages) >= turn:
                return ModelError("R0102", "the key was refused", "", fatal=True)
            return lesson()(request)

        return said

    whole = hold(tmp_path / "whole", models=("t1",))
    cut = hold(tmp_path / "cut", models=("t1",), script=fatal_at(3))
    again = hold(tmp_path / "cut", models=("t1",), before=cut)
    kept = [row for row in cut.table("turns") if row["status"] == "ok"]
    assert 0 < len(kept) < len(whole.table("turns"))
    assert again.asked["t1"] == whole.asked["t1"] - sum(row["role"] == "teacher" for row in kept)
    assert {row["turn_id"]: row["text"] for row in again.table("turns") if row["status"] == "ok"} == {
        row["turn_id"]: row["text"] for row in whole.table("turns")
    }


@pytest.mark.parametrize("status", ["refused", "provider_error"])
def test_a_turn_that_is_not_answered_ends_the_conversation_with_its_status(tmp_path: Path, status: Any) -> None:
    def said(request: Request) -> str | ModelError:
        if request.model == "t1" and len(request.messages) > 2:
            return ModelError("R0108", "no", "", status=status)
        return lesson()(request)

    run = hold(tmp_path, models=("t1",), script=said)
    assert {(row["status"], row["ended"], row["ended_by"]) for row in talks(run)} == {(status, status, "teacher")}
    assert {row["status"] for row in run.table("scores") if row["metric"] == "short"} == {status}
    assert len([row for row in run.table("samples") if row["step"] == "sitting"]) == 4  # of the arm without a lesson
    assert run.engine.tally.done == run.engine.tally.total


def test_a_dialogue_that_passes_the_context_loses_turns_after_the_first_exchange(tmp_path: Path) -> None:
    def said(request: Request) -> str | ModelError:
        if request.model == "t1" and len(request.messages) > 8:
            return ModelError("R0107", "too long", "")
        return "Listen." if request.model == "t1" else f"I hear {len(request.messages)}."

    run = hold(tmp_path, spec(limit=9), said, models=("t1",))
    rows = {row["number"]: row for row in run.table("turns") if row["conversation_number"] == 0}
    assert [rows[number]["left_out"] for number in range(1, 10)] == [0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert {row["ended"] for row in talks(run)} == {"limit"}
    last = max(run.sent("t1"), key=len)
    assert len(last) == 10  # it was tried whole


def test_a_reply_that_continues_too_long_a_dialogue_is_asked_for_with_less_of_it(tmp_path: Path) -> None:
    def said(request: Request) -> str | ModelError:
        sitting = "1/2 of 1/4?" in request.messages[-1].content
        if sitting and len(request.messages) > 5:
            return ModelError("R0107", "too long", "")
        return lesson(last=100)(request)

    run = hold(tmp_path, spec(limit=8), said, models=("t1",))
    sittings = [row for row in run.table("samples") if row["step"] == "sitting"]
    assert {row["status"] for row in sittings} == {"ok"}
    sent = max((json.loads(row["messages"]) for row in sittings), key=len)
    assert [each["role"] for each in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[-1]["content"] == ROWS[0]["question"]


def test_samples_after_one_dialogue_are_asked_for_in_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_runs, "ScriptedModel", partial(small_runs.ScriptedModel, most_samples=4))
    numbers: list[int] = []

    def said(request: Request) -> str | ModelError:
        numbers.append(request.samples)
        return lesson()(request)

    run = hold(tmp_path, spec(samples=7), said, models=("t1",))
    # seven without a lesson; of the seven after one, three follow the first conversation and two each of the others
    assert sorted(each for each in numbers if each > 1) == [2, 2, 3, 3, 4]
    assert len([row for row in run.table("samples") if row["step"] == "sitting"]) == 7 + 7


def test_the_order_of_the_items_changes_nothing(tmp_path: Path) -> None:
    rows = [*ROWS, {"topic": "sums", "question": "1+1?", "answer": "2"}]
    one = hold(tmp_path / "one", rows=rows)
    other = hold(tmp_path / "other", rows=rows[::-1])
    for table, key in (("turns", "turn_id"), ("samples", "sample_id"), ("scores", "score_id")):
        assert {row[key]: row["status"] for row in one.table(table)} == {
            row[key]: row["status"] for row in other.table(table)
        }


def test_a_conversation_without_a_compared_role_is_held_once(tmp_path: Path) -> None:
    text = """\
benchmark lessons "1.0.0" { languages en }
role candidate compared
role student
role tutor
dataset item from "items.jsonl" { topic text, question text secret, answer text secret }
scenario gain {
  over item as q
  converse talk {
    tutor { system "Teach {{ q.topic }}." }
    student { system "Learn {{ q.topic }}." }
    opens  student
    until  tutor says "lesson over"
    limit  6 turns
    repeat 2
  }
  ask view by candidate { prompt "Is this a good lesson? {{ talk.text }}" }
  score long = length(view.text) + turns(talk)
}
"""
    run = run_small(tmp_path, text, {"items.jsonl": ROWS}, models=("a", "b"), student="s", tutor="t")
    assert run.asked == {"a": 2, "b": 2, "s": 2 * 3, "t": 2 * 3}
    assert {row["role"] for row in run.table("samples") if row["step"] == "talk"} == {"student"}
