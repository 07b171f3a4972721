"""Elements without a value, and keys that name no option: the row alone says which scores apply, whatever is replied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.small_runs import run_small
from tripos_runtime.models.base import ModelError, Request

RUBRIC = """\
benchmark rubric "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, parts list<{ weight integer, used bool }> secret }
scenario rubric {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score every = sum(readable(last_number(reply.text)) / c.weight each c in item.parts)
  score some  = sum(readable(last_number(reply.text)) / c.weight each c in item.parts where c.used)
}
"""
KEYS = """\
benchmark keys "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, options list<text>, answer integer secret }
scenario keys {
  over item
  options put from item.options with key item.answer
  ask reply by candidate { prompt "{{ item.question }} {{ put.text }}" }
  score right = length(reply.text) == put.right
}
"""


def said(request: Request) -> str | ModelError:
    """Refuse, say a number or say none."""
    text = request.messages[-1].content.split()[0]
    return ModelError("R0108", "declined", "", status="refused") if text == "refuse" else text


@pytest.mark.parametrize("says", ["7", "none", "refuse"])
def test_a_row_without_a_value_goes_before_a_reply_without_one(tmp_path: Path, says: str) -> None:
    parts = [{"weight": 1, "used": True}, {"weight": 0, "used": True}]
    found = run_small(tmp_path, RUBRIC, {"items.jsonl": [{"question": says, "parts": parts}]}, script=said)
    statuses = {row["metric"]: row["status"] for row in found.table("scores")}
    assert statuses == {"every": "not_applicable", "some": "not_applicable"}


def test_a_position_past_the_options_makes_no_reply_wrong(tmp_path: Path) -> None:
    items = [{"question": "x", "options": ["a", "b"], "answer": place} for place in (-1, 0, 1, 2)]
    found = run_small(tmp_path, KEYS, {"items.jsonl": items}, script=said)
    answers = {row["item_id"]: json.loads(row["fields"])["answer"] for row in found.table("items")}
    told = {answers[row["item_id"]]: (row["value"], row["status"]) for row in found.table("scores")}
    assert told == {
        -1: (None, "not_applicable"),
        0: (0.0, "scored"),
        1: (1.0, "scored"),
        2: (None, "not_applicable"),
    }
