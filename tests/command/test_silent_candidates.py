"""A conversation that its other side ends before the candidate had a turn: nothing of the candidate is graded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SPEC = """benchmark talks "1.0.0" { languages en }
role teacher compared
role student
role judge
dataset item from "items.jsonl" { name text, key name }
scorer kind(talk: text) by judge { prompt "Is the teacher kind? {{ talk }}", gives bool }
scenario lesson {
  over item
  converse talk {
    teacher { system "Teach {{ item.name }}." }
    student { system "Learn {{ item.name }}." }
    opens student
    until student says "goodbye"
    limit 3 turns
  }
  ask sitting by student { continue talk, prompt "What did you learn?" }
  score short = turns(talk) < 4
  score learnt = contains(sitting.text, "much")
  score kind = kind(talk.text)
}
measure short  = mean(short)
measure learnt = mean(learnt)
measure kind   = mean(kind)
measure zero   = mean(short, missing: zero)
"""
ITEMS = ("a", "b", "c", "d")


def write(name: str, rows: list[dict[str, Any]]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return f"mock/replies:{name}"


@pytest.mark.parametrize("silent", [(), ("b",), ITEMS])
def test_what_depends_on_a_conversation_without_the_candidate_is_undefined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, silent: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talks.tripos").write_text(SPEC, "utf-8")
    write("items.jsonl", [{"name": name} for name in ITEMS])
    student = write(
        "student.jsonl",
        [
            {"ask": "talk", "reply": "Tell me more."},
            *({"ask": "talk", "item": name, "turn": 1, "reply": "Goodbye!"} for name in silent),
            {"ask": "sitting", "reply": "Much."},
        ],
    )
    roles = ("--role", f"student={student}", "--role", f"judge={write('judge.jsonl', [{'reply': {'value': True}}])}")
    command = ("run", "talks.tripos", "--model", write("teacher.jsonl", [{"reply": "Listen."}]), *roles, "--json")
    done = tripos(*command)
    assert done.data["calls"]["asked"] == (4 - len(silent)) * 5 + len(silent)
    assert tripos(*command).data["calls"]["asked"] == 0
    report = tripos("report", "--json").data
    heard = 1 - len(silent) / 4
    for measure in report["measures"]:
        [row] = measure["rows"]
        if measure["name"] == "zero":
            assert row["value"] == heard
        else:
            assert (row["value"], row["coverage"]) == (1 if heard else None, heard), measure["name"]
    tripos(
        "sql",
        "select step, status, finish_reason, error, count(*) as n from talks.samples group by all",
        "-o",
        "s.json",
    )
    rows = {(row["step"], row["status"]): row for row in json.loads(Path("s.json").read_text("utf-8"))}
    assert {key: row["n"] for key, row in rows.items()} == {
        key: n
        for step in ("talk", "sitting")
        for key, n in (((step, "ok"), 4 - len(silent)), ((step, "undefined"), len(silent)))
        if n
    }
    if silent:
        assert rows["talk", "undefined"]["finish_reason"] == "said"
        assert rows["talk", "undefined"]["error"] == "the conversation ended before `teacher` had a turn"
        assert "the conversation ended before `teacher` had a turn" in tripos("report").out
