"""Thinking in replies: whatever reads a reply reads its answer, and `reply.thinking` and `reply.raw` have the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.reply_readers import TYPES
from tests.runtime.contract_server import answering, ask
from tests.runtime.small_runs import Script, SmallRun, run_small
from tripos.runs.compilation import find_spec
from tripos_compiler.lowering import fingerprints
from tripos_compiler.plan import BoolType, Settings, ToolCall, write_calls
from tripos_runtime.asking.plan_questions import calls_reader, reply_reader
from tripos_runtime.asking.questions import Question, ReadOutcome
from tripos_runtime.asking.replies import answer_of
from tripos_runtime.models.base import Reply, Request

ROWS = [{"question": "Which is right?", "key": "B"}]
SPEC = """\
benchmark thoughts "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, key choice(A, B) secret }
scorer clear(said: text) by judge {
  prompt "Is this clear?\\n[{{ said }}]"
  gives  1..5
}
scenario free {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  ask again by candidate {
    continue reply
    prompt "Sure?"
  }
  score right   = contains(reply.text, "42")
  score length  = words(reply.text)
  score bytes   = bytes(reply.raw)
  score thought = words(default(reply.thinking, ""))
  score clear   = clear(reply.text)
  score later   = words(again.text)
}
scenario letter {
  over item
  ask reply by candidate {
    prompt  "{{ item.question }} A or B?"
    returns choice(A, B)
  }
  score typed = reply == item.key
  score whole = bytes(reply.raw)
}
scenario named {
  over item
  ask reply by candidate {
    prompt  "Say more."
    returns { thinking text, raw integer }
  }
  score own = reply.raw when reply.thinking == "mine"
}
"""
THOUGHT = "<think>\nPerhaps 42, or A? No.\n</think>\n\n"


def replies(before: str = "", thinking: str | None = None) -> Script:
    """Reply to every question, after a thought in the reply or in a field of its own."""

    def said(request: Request) -> Reply:
        asked = request.messages[-1].content
        if "clear?" in asked:
            text = "4"
        elif "Say more" in asked:
            text = '{"thinking": "mine", "raw": 7}'
        else:
            text = "B" if "A or B" in asked else "It is 41."
        return Reply(before + text, request.model, "stop", 10, 5, 0.0, thinking=thinking)

    return said


def run(folder: Path, script: Script, before: SmallRun | None = None) -> SmallRun:
    return run_small(folder, SPEC, {"items.jsonl": ROWS}, script=script, before=before, judge="j")


def values(made: SmallRun) -> dict[str, Any]:
    return {row["metric"]: row["value"] if row["status"] == "scored" else row["status"] for row in made.table("scores")}


def test_scores_are_those_of_the_reply_without_its_thinking(tmp_path: Path) -> None:
    plain = values(run(tmp_path / "plain", replies()))
    inside = values(run(tmp_path / "inside", replies(THOUGHT)))
    apart = values(run(tmp_path / "apart", replies(thinking="Perhaps 42, or A? No.")))
    assert plain == {
        "right": 0.0,
        "length": 3.0,
        "bytes": 9.0,
        "thought": 0.0,
        "clear": 4.0,
        "later": 3.0,
        "typed": 1.0,
        "whole": 1.0,
        "own": 7.0,
    }
    told = {"thought": 5.0}
    assert apart == {**plain, **told}
    assert inside == {**plain, **told, "bytes": 9.0 + len(THOUGHT), "whole": 1.0 + len(THOUGHT)}


def test_a_judge_and_a_later_prompt_are_shown_the_answer(tmp_path: Path) -> None:
    made = run(tmp_path, replies(THOUGHT))
    assert [chat[-1][1] for chat in made.sent("j")] == ["Is this clear?\n[It is 41.]" + note(made)]
    [continued] = [chat for chat in made.sent("a") if chat[-1][1] == "Sure?"]
    assert [content for _, content in continued] == ["Which is right?", "It is 41.", "Sure?"]


def note(made: SmallRun) -> str:
    return made.sent("j")[0][-1][1].removeprefix("Is this clear?\n[It is 41.]")


def test_the_store_has_the_reply_byte_for_byte_and_the_thinking_of_its_own_field(tmp_path: Path) -> None:
    made = run(tmp_path, replies(THOUGHT, "From a field."))
    kept = {(row["reply"], row["thinking"]) for table in ("samples", "judgements") for row in made.table(table)}
    assert (THOUGHT + "It is 41.", "From a field.") in kept and (THOUGHT + "4", "From a field.") in kept
    assert values(made)["thought"] == 5.0 + 3.0


def test_nothing_but_thinking_is_no_answer(tmp_path: Path) -> None:
    made = run(tmp_path, lambda request: "<think>Perhaps 42")
    assert {row["status"] for row in made.table("samples")} == {"parse_failure"}
    assert {row["error"] for row in made.table("samples")} == {"the reply is nothing but thinking"}


def test_kept_replies_are_scored_anew_by_a_new_reader_and_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "READER_VERSION", 1)
    old = run(tmp_path, replies(THOUGHT))
    monkeypatch.undo()
    new = run(tmp_path, replies("never asked"), before=old)
    assert sum(new.asked.values()) == 0
    assert values(new) == values(old)
    prints = [{row["fingerprint"] for row in made.table("scores")} for made in (old, new)]
    assert prints[0] < prints[1] and len(prints[1]) == 2 * len(prints[0])


def test_a_score_that_looks_at_no_reply_is_kept_whatever_reads_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = """\
benchmark asked "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, key choice(A, B) secret }
scenario free {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score asked = words(reply.prompt)
  score said  = words(reply.text)
}
"""
    found = {}
    for number in (1, 2):
        monkeypatch.setattr(fingerprints, "READER_VERSION", number)
        plan = run_small(tmp_path, spec, {"items.jsonl": ROWS}, script=replies()).plan
        steps = plan.scenarios[0].treatments[0].steps
        found[number] = {step.name: step.fingerprint for step in steps}
    assert {name for name in found[1] if found[1][name] != found[2][name]} == {"said"}


TALK = """\
benchmark talks "1.0.0" { languages en }
role tutor compared
role pupil
dataset item from "items.jsonl" { question text, key choice(A, B) secret }
scenario lesson {
  over item
  converse talk {
    tutor { system "Teach." }
    pupil { system "Learn." }
    opens tutor
    until tutor says "over"
    limit 4 turns
  }
  score length = words(talk.text)
}
"""


def test_in_a_conversation_the_other_side_is_shown_the_answer(tmp_path: Path) -> None:
    """The end of a conversation is looked for in the answer too."""

    def said(request: Request) -> Reply:
        number = sum(each.role != "system" for each in request.messages)
        return Reply(f"<think>over? {number}</think>Turn {number}.", request.model, "stop", 1, 1, 0.0, thinking="Hm.")

    made = run_small(tmp_path, TALK, {"items.jsonl": ROWS}, script=said, pupil="p")
    sent = [content for name in ("a", "p") for chat in made.sent(name) for _, content in chat]
    assert sent and not any("think" in content or "Hm." in content for content in sent)
    turns = made.table("turns")
    assert [row["text"] for row in turns] == [f"<think>over? {each}</think>Turn {each}." for each in (1, 1, 3, 3)]
    assert {row["thinking"] for row in turns} == {"Hm."}
    [talk] = made.table("samples")
    assert "think" not in talk["reply"] and "Turn 3." in talk["reply"]
    again = run_small(tmp_path, TALK, {"items.jsonl": ROWS}, script=said, pupil="p", before=made)
    assert sum(again.asked.values()) == 0


OPENAI = "hosted_vllm/m"
CLAUDE = "anthropic/claude-3-5-haiku-20241022"
GEMINI = "gemini/gemini-2.0-flash"
OLLAMA = "ollama_chat/m"


def openai(message: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    return {"model": "m", "choices": [{"message": message, "finish_reason": "stop", "index": 0}], "usage": usage}


def claude(*blocks: dict[str, Any]) -> dict[str, Any]:
    told = {"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    return {**told, "content": list(blocks), "usage": {"input_tokens": 5, "output_tokens": 2}}


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}


FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "reasoning_content": (OPENAI, openai({"content": "B", "reasoning_content": "A? No."})),
    "reasoning": (OPENAI, openai({"content": "B", "reasoning": "A? No."})),
    "details": (
        OPENAI,
        openai({"content": "B", "reasoning_details": [
            {"type": "reasoning.text", "text": "A? No."}, {"type": "reasoning.encrypted", "data": "x"}]}),
    ),
    "both": (
        OPENAI,
        openai({"content": "B", "reasoning": "A? No.", "reasoning_details": [{"type": "reasoning.text", "text": "A? No."}]}),
    ),
    "parts": (
        OPENAI,
        openai({"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "A? No."}]}, {"type": "text", "text": "B"}]}),
    ),
    "claude": (CLAUDE, claude({"type": "thinking", "thinking": "A? No.", "signature": "s"}, {"type": "text", "text": "B"})),
    "gemini": (GEMINI, gemini({"text": "A? No.", "thought": True}, {"text": "B"})),
    "ollama": (
        OLLAMA,
        {"model": "m", "message": {"role": "assistant", "content": "B", "thinking": "A? No."}, "done": True,
         "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", FIELDS)
def test_thinking_in_fields_of_a_provider_is_kept_apart(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTRACT_KEY", "contract-secret")
    name, body = FIELDS[which]
    under = "" if name in (CLAUDE, GEMINI, OLLAMA) else "/v1"
    reply, _ = ask(name, answering(body), key_env="CONTRACT_KEY", under=under)
    assert (reply.text, reply.thinking) == ("B", "A? No.")


THOUGHTS = st.text(st.characters(exclude_characters="<>[]◁▷|`~", exclude_categories=("Cs",)), max_size=60)
MARKS = st.sampled_from([("<think>", "</think>"), ("<THINKING>", "</THINKING>"), ("[THINK]", "[/THINK]")])
ANSWERS = st.one_of(
    st.sampled_from(["B", "The answer is B.", "42", "Answer: 7", "**3.5**", "true", "No.", "1", "", "A, B", "3/4"]),
    st.builds(json.dumps, st.dictionaries(st.sampled_from("ab"), st.sampled_from(["A", "x", 1, [1, 2], ["A"]]))),
    st.text(st.characters(exclude_characters="<>[]◁▷|`~", exclude_categories=("Cs",)), max_size=40),
)
FORMS: list[Callable[[], Question]] = [
    *(lambda of=of: Question(None, None, Settings(), {}, reply_reader(of, (), "en"), "typed") for of in TYPES),
    lambda: Question(None, None, Settings(), None, reply_reader(None, (), "en")),
    lambda: Question(None, None, Settings(), None, calls_reader(()), "tools"),
]  # fmt: skip


def told(outcome: ReadOutcome) -> tuple[Any, ...]:
    """Return what is read, with one reason for a reply without an answer."""
    error = None if outcome.error is None else outcome.error.replace("nothing but thinking", "empty")
    return outcome.value, outcome.parsed, outcome.status, outcome.scored, error


@given(st.integers(0, len(FORMS) - 1), ANSWERS, THOUGHTS, MARKS, st.sampled_from(["stop", "length", None]))
def test_a_closed_thought_before_a_reply_changes_nothing(
    form: int, answer: str, thought: str, marks: tuple[str, str], ended: str | None
) -> None:
    question, answer = FORMS[form](), answer.strip()
    plain = question.read({"reply": answer, "finish_reason": ended})
    after = question.read({"reply": f"{marks[0]}{thought}{marks[1]}\n\n{answer}", "finish_reason": ended})
    assert told(after) == told(plain)


PINGED = """\
benchmark pinged "1.0.0" { languages en }
role candidate compared
tool ping from "shop.py:ping" pure "Ping" { place text }
dataset item from "items.jsonl" { question text, key choice(A, B) secret, shop json }
scenario one {
  over item
  ask reply by candidate {
    tools  ping
    prompt "{{ item.question }}"
    state  item.shop at most 2 turns
  }
  score calls = length(reply.calls)
  score said  = words(reply.text)
}
"""


def test_a_model_that_calls_tools_is_shown_the_answer_of_its_own_turn(tmp_path: Path) -> None:
    """The thinking stands in the text beside the calls."""

    def said(request: Request) -> str:
        text = "<think>Perhaps.</think> Done." if len(request.messages) > 1 else "<think>A? No.</think> I ask."
        made = [] if len(request.messages) > 1 else [ToolCall("ping", {"place": "Rome"})]
        return write_calls(text, made)

    files = {"items.jsonl": [{**ROWS[0], "shop": {}}], "shop.py": "def ping(state, place):\n    return 1\n"}
    came = SimpleNamespace(state={}, text="pong", failed=False)
    made = run_small(tmp_path, PINGED, files, script=said, functions={"tool ping": lambda state, given: came})
    assert values(made) == {"calls": 1.0, "said": 1.0}
    assert not any("think" in content for chat in made.sent("a") for _, content in chat)
    assert any("<think>" in row["reply"] for row in made.table("samples"))


LEAK = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role tutor
dataset item from "items.jsonl" { question text, key choice(A, B) secret }
scenario sums {
  over item
  ask hint by tutor { prompt "Give a hint for {{ item.question }}, whose answer is {{ item.key }}." }
  ask reply by candidate { prompt "{{ item.question }} Hint: {{ HINT }}" }
  score right = contains(reply.text, item.key)
}
"""


@pytest.mark.parametrize("part", ["hint.text", "hint.raw", "default(hint.thinking, item.question)"])
def test_every_part_of_a_reply_is_as_secret_as_the_reply(tmp_path: Path, part: str) -> None:
    (tmp_path / "items.jsonl").write_text(json.dumps(ROWS[0]), "utf-8")
    (tmp_path / "s.tripos").write_text(LEAK.replace("HINT", part), "utf-8")
    assert {each.code for each in find_spec(str(tmp_path / "s.tripos")).compile().diagnostics} == {"E0501"}


def test_an_adopted_reply_keeps_its_thinking(tmp_path: Path) -> None:
    """Another name of the scenario asks for nothing."""
    old = run(tmp_path, replies(thinking="Let me see."))
    renamed = SPEC.replace("scenario free", "scenario open").replace("scenario letter", "scenario chosen")
    new = run_small(tmp_path, renamed, {"items.jsonl": ROWS}, script=replies(), before=old, judge="j")
    assert sum(new.asked.values()) == 0
    assert {row["thinking"] for row in new.table("samples")} == {"Let me see."}
    assert values(new)["thought"] == 3.0


@pytest.mark.parametrize(("kept", "now"), [("parse_failure", "ok"), ("ok", "ok"), ("refused", "refused")])
def test_a_kept_reply_has_the_status_of_its_reading_but_one_that_was_refused(kept: str, now: str) -> None:
    question = Question(None, None, Settings(), {}, reply_reader(BoolType(), (), "en"), "typed")
    row = {"reply": f"{THOUGHT}Yes.", "finish_reason": "stop", "status": kept, "messages": "[]", "error": None}
    found = answer_of(row, question)
    assert (found.status, found.text, found.value, found.raw) == (now, "Yes.", True, f"{THOUGHT}Yes.")
