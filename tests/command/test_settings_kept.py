"""Settings of a run are told wherever its replies are: by `why`, in exports, and in a recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.runtime.test_settings import VALUES
from tripos_compiler.plan import Settings
from tripos_warehouse.exports.every_eval_ever import AGGREGATE, check
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

ALONE = ("chat_template",)
"""Settings that others exclude: a prompt `plain` is no question for a judge."""
TOGETHER = {name: each for name, each in VALUES.items() if name not in ALONE}
WRITTEN = "\n    ".join(written for _, written in TOGETHER.values())
SPEC = f"""\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role judge
dataset item from "items.jsonl" {{ a text }}
scorer fair(said: text) by judge {{
  prompt "Rate {{{{ said }}}}"
  gives 1..5
    {WRITTEN}
}}
scenario s {{
  over item
  ask reply by candidate {{
    prompt "{{{{ item.a }}}}"
    samples 2
    {WRITTEN}
  }}
  score rated = fair(reply.text)
}}
measure quality = mean(rated)
"""
EVERY = Settings(**{name: value for name, (value, _) in TOGETHER.items()}).given
"""Every setting, as JSON values."""


@pytest.fixture(autouse=True)
def _ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, once: Command) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("\n".join(json.dumps({"a": f"Question {n}?"}) for n in range(3)), "utf-8")
    done = once("run", "demo.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:j")
    assert done.code == 0, done.err


def first(table: str, key: str) -> str:
    connection = connect(Store.open("results", create=False))
    try:
        return str(connection.execute(f"select min({key}) from main.{table}").fetchall()[0][0])
    finally:
        connection.close()


@pytest.mark.parametrize(("table", "key"), [("samples", "sample_id"), ("judgements", "judgement_id")])
def test_why_tells_every_setting(tripos: Command, table: str, key: str) -> None:
    told = tripos("why", first(table, key), "--json")
    assert told.code == 0, told.err
    assert json.dumps(EVERY, sort_keys=True) in json.dumps(told.data, sort_keys=True)


def test_an_export_tells_every_setting_of_who_replied_and_of_who_judged(tripos: Command) -> None:
    assert tripos("export", "eee", "-o", "eee").code == 0
    [found] = [json.loads(path.read_text("utf-8")) for path in Path("eee").rglob("*.json")]
    check(found, AGGREGATE)
    result: dict[str, Any] = next(each for each in found["evaluation_results"] if "generation_config" in each)
    config = result["generation_config"]
    more = {name: json.loads(value) for name, value in config["additional_details"].items()}
    assert config["generation_args"] | more == EVERY
    scoring = result["metric_config"]["llm_scoring"]
    assert json.loads(scoring["additional_details"]["settings"]) == EVERY


def test_training_data_tells_every_setting(tripos: Command) -> None:
    done = tripos("export", "distillation", "-o", "t.jsonl")
    assert done.code == 0, done.err
    assert json.loads(Path("t.jsonl.provenance.json").read_text("utf-8"))["settings"] == {"s.reply": EVERY}


def test_a_recording_answers_what_was_sent_with_every_setting_and_nothing_else(tripos: Command) -> None:
    done = tripos("run", "demo.tripos", "--model", "replay/results", "--store", "again", "--json")
    assert done.code == 0, done.out
    Path("demo.tripos").write_text(SPEC.replace("repetition_penalty 1.1", "repetition_penalty 1.2"), "utf-8")
    assert tripos("run", "demo.tripos", "--model", "replay/results", "--store", "other", "--json").code == 1
