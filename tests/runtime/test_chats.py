"""Chats: a dialogue is sent as messages, seen from the side of who is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runtime.small_runs import SmallRun, run_small
from tripos_runtime.asking.prompts import chat_messages

SPEC = """\
benchmark tutoring "1.0.0" {{ languages en }}
role {role} compared
dataset talk from "talks.jsonl" {{ history dialogue from "talk", good text secret }}
scenario turn {{
  over talk as t
  ask reply by {role} {{
    {ask}
  }}
  score same = exact(reply.text, t.good)
}}
"""
TALK = [("Student", "It is 18."), ("Teacher", "What did you do first?"), ("Student", "I added.")]


def chatted(
    folder: Path, ask: str, talk: list[tuple[str, str]] = TALK, role: str = "candidate", **options: Any
) -> SmallRun:
    turns = [{"speaker": speaker, "text": text} for speaker, text in talk]
    rows = [{"talk": turns, "good": "And then?"}]
    return run_small(folder, SPEC.format(role=role, ask=ask), {"talks.jsonl": rows}, **options)


def only(run: SmallRun) -> list[tuple[str, str]]:
    (sent,) = run.sent("a")
    return list(sent)


def test_the_reply_is_the_next_turn_so_who_spoke_last_is_the_other_side(tmp_path: Path) -> None:
    assert only(chatted(tmp_path, 'system "You teach."\n    chat t.history')) == [
        ("system", "You teach."),
        ("user", "It is 18."),
        ("assistant", "What did you do first?"),
        ("user", "I added."),
    ]


def test_a_speaker_that_has_the_name_of_the_role_is_the_role(tmp_path: Path) -> None:
    sent = only(chatted(tmp_path, 'chat t.history\n    prompt "Now explain it."', role="student"))
    assert [role for role, _ in sent] == ["assistant", "user", "assistant", "user"]
    assert sent[-1] == ("user", "Now explain it.")


@pytest.mark.parametrize("own", ["assistant", "gpt"])
def test_a_speaker_that_data_sets_call_the_assistant_is_the_role(own: str) -> None:
    turns = [{"speaker": own, "text": "Hello."}, {"speaker": "user", "text": "Hi."}, {"speaker": own, "text": "Well?"}]
    assert [message.role for message in chat_messages(turns, "candidate")] == ["assistant", "user", "assistant"]


def test_turns_of_one_side_are_one_message(tmp_path: Path) -> None:
    talk = [("Teacher", "Listen."), ("Teacher", "What is 2 + 2?"), ("Student", "Four."), ("Student", "I think.")]
    assert only(chatted(tmp_path, "chat t.history", talk)) == [
        ("assistant", "Listen.\n\nWhat is 2 + 2?"),
        ("user", "Four.\n\nI think."),
    ]


def test_a_prompt_behind_the_turn_of_the_other_side_is_one_message_with_it(tmp_path: Path) -> None:
    sent = only(chatted(tmp_path, 'chat t.history\n    prompt "Reply as the teacher."'))
    assert sent[-1] == ("user", "I added.\n\nReply as the teacher.")


def test_where_several_others_speak_each_is_named(tmp_path: Path) -> None:
    talk = [("Ann", "It is 18."), ("Teacher", "Why?"), ("Bob", "Because."), ("Teacher", "Hm?"), ("Ann", "I added.")]
    sent = only(chatted(tmp_path, "chat t.history", talk, role="teacher"))
    assert [text for role, text in sent if role == "user"] == ["Ann: It is 18.", "Bob: Because.", "Ann: I added."]


def test_a_part_of_a_dialogue_is_one(tmp_path: Path) -> None:
    assert only(chatted(tmp_path, "chat without_last(t.history)")) == [
        ("assistant", "It is 18."),
        ("user", "What did you do first?"),
    ]


def test_who_begins_a_dialogue_is_told_what_to_do_as_a_user(tmp_path: Path) -> None:
    ask = 'system "You teach."\n    chat without_last(t.history)'
    assert only(chatted(tmp_path, ask, TALK[:1])) == [("user", "You teach.")]


def test_where_there_is_nothing_to_say_nobody_is_asked(tmp_path: Path) -> None:
    run = chatted(tmp_path, "chat without_last(t.history)", TALK[:1])
    assert run.asked == {"a": 0}
    assert [row["status"] for row in run.table("scores")] == ["not_applicable"]


def test_the_format_of_the_reply_is_asked_for_at_the_end(tmp_path: Path) -> None:
    run = chatted(tmp_path, "chat t.history\n    returns { said text }", script=lambda request: '{"said": "And then?"}')
    role, text = only(run)[-1]
    assert role == "user"
    assert text.startswith("I added.\n\n")
    assert '"said"' in text


def test_a_chat_stands_behind_the_shots(tmp_path: Path) -> None:
    spec = """\
benchmark tutoring "1.0.0" { languages en }
role candidate compared
dataset talk from "talks.jsonl" { history dialogue from "talk", good text secret }
dataset worked from "worked.jsonl" { opening text, good text }
scenario turn {
  over talk as t
  ask reply by candidate {
    shots 1 from worked as w { prompt "{{ w.opening }}", reply "{{ w.good }}" }
    chat t.history
  }
  score same = exact(reply.text, t.good)
}
"""
    turns = [{"speaker": speaker, "text": text} for speaker, text in TALK]
    files = {
        "talks.jsonl": [{"talk": turns, "good": "x"}],
        "worked.jsonl": [{"opening": "It is 7.", "good": "How so?"}],
    }
    sent = only(run_small(tmp_path, spec, files))
    assert sent[:3] == [("user", "It is 7."), ("assistant", "How so?"), ("user", "It is 18.")]


def test_a_changed_turn_asks_anew(tmp_path: Path) -> None:
    first = chatted(tmp_path, "chat t.history")
    assert chatted(tmp_path, "chat t.history", before=first).asked == {"a": 0}
    assert chatted(tmp_path, "chat without_last(t.history)", before=first).asked == {"a": 1}
