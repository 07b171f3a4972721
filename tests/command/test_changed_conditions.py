"""A reply is named by what was sent and not by the condition under which it was asked for, so a run with another
condition finds it: it must neither show it nor build on it where it would not ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

SPEC = """\
benchmark asked "1.0.0" {{ languages en }}
role candidate compared
role judge
dataset item from "items.jsonl" {{ question text, answer text secret }}
scorer grader(response: text) by judge {{
  prompt "Grade: {{{{ response }}}}"
  gives  1..10
}}
arm hint {{ few, many }}
scenario s {{
  over item
  arms hint
  ask one by candidate {{ prompt "{{{{ item.question }}}}" }}
  ask two by candidate when {condition} {{ prompt "Sure? {{{{ one.text }}}}" }}
  ask three by candidate {{ prompt "Again: {{{{ two.text }}}}" }}
  score long  = length(three.text) > 0
  score first = length(one.text) > 0
  score good  = grader(response: three.text)
  measure long = mean(long) by hint
}}
"""
ALWAYS, NEVER = "length(one.text) > 0", "length(one.text) > 10000"
ONE_ARM = "(hint == few and length(one.text) > 0) or (hint == many and length(one.text) > 10000)"
RULED_OUT = {("two", "few"), ("two", "many"), ("three", "few"), ("three", "many")}


def _run(tripos: Command, folder: Path, condition: str, store: str) -> dict[str, Any]:
    (folder / "quiz.tripos").write_text(SPEC.format(condition=condition), "utf-8")
    models = ("--model", "mock/careful:a", "--role", "judge=mock/careful:b")
    done = tripos("run", "quiz.tripos", *models, "--store", store, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = {"asked": json.loads(done.out)["calls"]["asked"]}
    for name, query in {
        "samples": "select step, hint, item_id, reply from asked.samples",
        "judgements": "select hint, item_id, reply from asked.judgements",
        "scores": "select metric, hint, item_id, value, status from asked.scores",
    }.items():
        assert tripos("sql", query, "--store", store, "-o", "rows.json").code == 0
        rows = json.loads((folder / "rows.json").read_text("utf-8"))
        found[name] = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return found


@pytest.mark.parametrize("condition", (NEVER, ONE_ARM))
def test_replies_that_a_changed_condition_rules_out_are_neither_shown_nor_built_on(
    quiz: Path, tripos: Command, condition: str
) -> None:
    everything = _run(tripos, quiz, ALWAYS, "results")
    narrowed, fresh = (_run(tripos, quiz, condition, store) for store in ("results", "fresh"))
    assert narrowed.pop("asked") == 0
    fresh.pop("asked")
    assert narrowed == fresh
    shown = {(row["step"], row["hint"]) for row in map(json.loads, narrowed["samples"])}
    left_out = RULED_OUT if condition == NEVER else {each for each in RULED_OUT if each[1] == "many"}
    assert shown.isdisjoint(left_out)
    statuses = {row["status"] for row in map(json.loads, narrowed["scores"]) if row["metric"] == "long"}
    assert statuses == ({"not_applicable"} if condition == NEVER else {"scored", "not_applicable"})
    again = _run(tripos, quiz, ALWAYS, "results")
    assert again == {**everything, "asked": 0}
