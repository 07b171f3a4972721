"""Mocks reply what the scores of their spec can read, if the prompt states no form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos_compiler.library.registry import FUNCTIONS
from tripos_runtime.models.mocks import CHINESE, ENGLISH, answer_as_read

MORE: dict[str, tuple[Any, ...]] = {"chosen_option": (["red", "green"],), "after": ("Result:",)}
READERS = [function for function in FUNCTIONS.values() if function.replies]
HEAD = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { text text, options list<text>, gold text }
measure read = mean(read) by scenario
"""
SCENARIO = """\
scenario {name} {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.text }}}}" }}
  score read = {score}
}}
"""
SCORES = {
    "final": "default(final_number(reply.text), -1) >= 0",
    "number": "default(number(reply.text), -1) >= 0",
    "marked": 'default(number(default(after(reply.text, "So:"), "")), -1) >= 0',
    "verdict": "default(is_yes(reply.text), false) or not default(is_yes(reply.text), true)",
    "option": 'chosen_option(reply.text, item.options) in ("A", "B")',
    "boxed": 'length(default(boxed(reply.text), "")) > 0',
    "letters": "length(option_letters(reply.text)) > 0",
}


@pytest.mark.parametrize("name", [function.name for function in READERS])
def test_a_function_reads_the_replies_of_its_entry(name: str) -> None:
    function = FUNCTIONS[name]
    read: Callable[..., Any] = function.python
    for reply in function.replies:
        for text in ("", " ".join(ENGLISH), "".join(CHINESE)):
            for key in "abcde":
                said = answer_as_read(text, [reply.replace("{marker}", "Result:")], key)
                assert read(said, *MORE.get(name, ())) not in (None, [], set(), ""), said


def test_a_first_run_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"text": f"What is it, {n}?", "options": ["x", "y"], "gold": "x"} for n in range(6)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    scenarios = (SCENARIO.format(name=name, score=score) for name, score in SCORES.items())
    Path("quiz.tripos").write_text(HEAD + "".join(scenarios), "utf-8")
    done = tripos("run", "quiz.tripos", "--model", "mock/careful")
    assert done.code == 0, done.err
    (measure,) = tripos("report", "--json").data["measures"]
    assert {row["scenario"]: row["value"] for row in measure["rows"]} == dict.fromkeys(SCORES, 1)
