"""Prompts filled by replies that are not there yet: a forecast bounds them, or says why it cannot; also where an event loop runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import tripos as package
from tests.conftest import Command

FILLED = """\
benchmark filled "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { topic text }
function material from "material.py:material"
scenario reading {
  over item
  ask reply by candidate { prompt "Read this: {{ material(item.topic) }}", max_tokens 50 }
  score long = words(reply.text) > 3
}
"""
MATERIAL = """\
def material(topic: str) -> str:
    return f"all about {topic} " * 4000
"""
WRITTEN = """\
benchmark written "1.0.0" { languages en }
role candidate compared
role author
axis level { easy, hard }
dataset item by author {
  context level
  count 3
  prompt "Write an exercise that is {{ level }}."
  returns { question text, solution text secret }
}
dataset loud from item { let shout = upper(item.question) }
scenario exercises {
  context level
  over item
  ask reply by candidate { prompt "{{ level }} {{ item.question }}" }
  score right = contains(reply.text, item.solution)
}
scenario shouted {
  context level
  over loud
  ask again by candidate { prompt "{{ level }} {{ loud.shout }}" }
  score long = words(again.text) > 3
}
"""
OPTIONAL = """\
benchmark optional "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { topic text, options list<text> }
scorer fine(option: text, said: text) by judge { prompt "{{ option }} {{ said }}", gives bool }
scenario choosing {
  over item
  ask first_ by candidate { prompt "{{ item.topic }}" }
  ask second_ by candidate { prompt "{{ item.topic }} {{ nth(item.options, 1) }}" }
  score fine = fine(nth(item.options, 1), second_.text)
}
"""
MODEL = ("--model", "mock/careful")
AUTHOR = (*MODEL, "--role", "author=mock/author")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    items = [{"topic": "sums", "options": ["a", "b"]}, {"topic": "angles", "options": ["a"]}]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    (tmp_path / "material.py").write_text(MATERIAL, "utf-8")
    for name, text in (("filled", FILLED), ("written", WRITTEN), ("optional", OPTIONAL)):
        (tmp_path / f"{name}.tripos").write_text(text, "utf-8")
    return tmp_path


def foreseen(tripos: Command, spec: str, *options: str) -> dict[str, Any]:
    done = tripos("run", spec, *options, "--dry-run", "--json")
    assert done.code == 0, done.err
    data: dict[str, Any] = done.data
    return data


def test_what_a_python_function_fills_has_no_bound_until_it_was_called(
    folder: Path, tripos: Command, once: Command
) -> None:
    total = foreseen(tripos, "filled.tripos", *MODEL)["total"]
    assert total["tokens_in"]["high"] is None
    assert total["unbounded"] == ["the function `material`"]
    assert total["tokens_out"]["high"] == 2 * 50
    text = " ".join(tripos("plan", "filled.tripos", *MODEL).out.split())
    assert "High is unknown, because nothing bounds the function `material`." in text
    assert once("run", "filled.tripos", *MODEL, "--json").code == 0
    tripos("sql", "select sum(tokens_in) as used from filled.samples", "-o", "used.json")
    assert json.loads(Path("used.json").read_text("utf-8"))[0]["used"] > 10_000
    assert foreseen(tripos, "filled.tripos", *MODEL)["total"]["unbounded"] == []


def test_a_budget_is_not_said_to_be_enough_for_what_has_no_bound(folder: Path, tripos: Command) -> None:
    found = foreseen(tripos, "filled.tripos", *MODEL, "--budget", "9000000tokens")
    assert found["budget"] == {"tokens": {"most": 9_000_000, "enough_for": "expected"}}


def test_what_rows_that_are_yet_to_be_made_fill_is_as_long_as_their_author_may_write(
    folder: Path, tripos: Command
) -> None:
    [line] = [each for each in foreseen(tripos, "written.tripos", *AUTHOR)["calls"] if each["step"] == "reply"]
    done = tripos("run", "written.tripos", *AUTHOR, "--json")
    assert done.code == 0, done.err
    query = "select sum(tokens_in) as used from written.samples where step = 'reply'"
    tripos("sql", query, "-o", "used.json")
    [row] = json.loads(Path("used.json").read_text("utf-8"))
    assert line["tokens_in"]["low"] <= row["used"] <= line["tokens_in"]["high"]
    assert line["tokens_in"]["expected"] > 6 * 20  # the exercises themselves are in it


def test_what_is_made_of_rows_that_are_yet_to_be_made_has_no_bound(folder: Path, tripos: Command) -> None:
    [line] = [each for each in foreseen(tripos, "written.tripos", *AUTHOR)["calls"] if each["step"] == "again"]
    assert (line["at_least"], line["at_most"]) == (0, 6)
    assert line["unbounded"] == ["rows of `loud` that are yet to be made"]


@pytest.mark.parametrize("store", ["empty", "one model", "whole"])
def test_the_table_of_a_plan_says_what_the_forecast_beneath_it_says(folder: Path, tripos: Command, store: str) -> None:
    roles = ("--role", "judge=mock/careful:j")
    if store != "empty":
        tripos("run", "optional.tripos", "--model", "mock/careful:b", *roles, "--json")
    models = ("--model", "mock/careful:b" if store == "whole" else "mock/careful:b,mock/careful", *roles)
    lines = foreseen(tripos, "optional.tripos", *models)["calls"]
    [total] = [line.split() for line in tripos("plan", "optional.tripos", *models).out.splitlines() if "total" in line]
    for place, role in ((3, "candidate"), (4, "judge")):
        own = [line for line in lines if line["role"] == role]
        least, most = (sum(line["reused"] + line[bound] for line in own) for bound in ("at_least", "at_most"))
        assert total[place] == (f"{most}" if least == most else f"{least}..{most}")
    asked = tripos("run", "optional.tripos", *models, "--json").data["calls"]["asked"]
    assert sum(line["at_least"] for line in lines) <= asked <= sum(line["at_most"] for line in lines)


def test_a_hole_without_a_value_is_known_to_spare_its_calls(folder: Path, tripos: Command) -> None:
    [total] = [line.split() for line in tripos("plan", "optional.tripos").out.splitlines() if line.startswith("total")]
    assert total == ["total", "1", "2", "3", "0..1"]  # the second row has one option


def test_a_forecast_needs_no_event_loop_and_bears_one(folder: Path, tripos: Command) -> None:
    async def notebook() -> None:
        assert tripos("plan", "written.tripos", *AUTHOR).code == 0
        assert tripos("run", "written.tripos", *AUTHOR, "--dry-run").code == 0

    asyncio.run(notebook())


def test_results_are_read_and_forecast_from_where_an_event_loop_runs(
    folder: Path, tripos: Command, once: Command
) -> None:
    assert once("run", "written.tripos", *AUTHOR, "--json").code == 0

    async def server() -> None:
        assert foreseen(tripos, "written.tripos", *AUTHOR)["total"]["at_most"] == 0
        with package.open("results") as results:
            assert results.sql("select count(*) from written.samples").fetchall()
            assert results.report().measures == ()
        done = tripos("release", "written.tripos", "--store", "results", "-o", "frozen")
        assert "cannot be called from a running event loop" not in done.err

    asyncio.run(server())
