"""A run against a server on loopback that plays every row of the table of endings: what is kept is what it says."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.conftest import Command
from tests.json_server import json_server
from tripos_compiler.plan import Content, Ending, Form, ending_of, reply_status
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

SPEC = """\
benchmark endings "1.0.0" { languages en }
role candidate compared
role judge panel
role partner
dataset item from "items.jsonl" { question text }
scorer fair(said: text) by judge { prompt "Rate {{ said }}", gives 1..5 }
tool add "Adds" { n integer? }
scenario plain {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, "4")
}
scenario typed {
  over item
  ask reply by candidate { prompt "typed {{ item.question }}", returns 1..5 }
  score right = reply
}
scenario called {
  over item
  ask reply by candidate { prompt "tools {{ item.question }}", tools add }
  score right = length(reply.calls)
}
scenario spoken {
  over item
  converse talk {
    candidate { system "Talk." }
    partner { system "Listen." }
    opens candidate
    until candidate says "4"
    limit 2 turns
  }
  score right = turns(talk)
}
scenario many {
  over item
  ask reply by candidate { prompt "many {{ item.question }}", samples 3, temperature 0.5 }
  score right = contains(reply.text, "4")
}
scenario judged {
  over item
  ask reply by candidate { prompt "judged {{ item.question }}" }
  score rated = fair(reply.text)
}
measure accuracy = mean(right)
"""
CONTENTS = {"answer": "4", "empty": "", "null": None}
WORDS = ("stop", "length", "tool_calls", "content_filter", "error", "abort", "halted")
MODELS = [f"{word}.{content}" for word, content in product(WORDS, CONTENTS)]


class Played:
    """The server: a model's name says how its replies end and what is in them. It counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.passes_over_n = False

    def choice(self, model: str, tools: bool = False) -> dict[str, Any]:
        word, _, content = model.partition(".")
        message: dict[str, Any] = {"role": "assistant", "content": CONTENTS.get(content, "4")}
        if content == "call" or (tools and content == "null"):
            call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": None}}
            message["tool_calls"] = [call]
        return {"index": 0, "finish_reason": word, "message": message}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        model, samples = body["model"], body.get("n", 1)
        self.asked[model] += 1
        choices = [self.choice(model, "tools" in body)]
        if samples > 1 and not self.passes_over_n:  # the last of several is the one that ends so
            choices = [self.choice("stop.answer")] * (samples - 1) + choices
        usage = {"prompt_tokens": 9, "completion_tokens": 3 * len(choices), "total_tokens": 9 + 3 * len(choices)}
        return {"id": "1", "object": "chat.completion", "model": model, "choices": choices, "usage": usage}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    played = Played()

    monkeypatch.chdir(tmp_path)
    Path("endings.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text(json.dumps({"question": "2 + 2?"}), "utf-8")
    with json_server(lambda posted: played.answer(posted.data)) as address:
        Path("tripos.toml").write_text(f'[endpoints."hosted_vllm"]\nbase_url = "{address}"\n', "utf-8")
        yield played


def run(tripos: Command, models: list[str], judges: list[str], *options: str) -> dict[str, Any]:
    """Run the spec with models of the server, and return the summary."""
    told = ["--model", ",".join(f"hosted_vllm/{each}" for each in models)]
    told += ["--role", "judge=" + ",".join(f"hosted_vllm/{each}" for each in judges)]
    told += ["--role", "partner=hosted_vllm/stop.answer"]
    done = tripos("run", "endings.tripos", *told, "--max-retries", "1", "--json", *options)
    assert done.out, done.err
    found: dict[str, Any] = done.data
    return found


def rows(tripos: Command, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in tripos("sql", query, "--json").data]


def expected(model: str, form: Form) -> tuple[str, bool]:
    """Return the status of a reply of a model, and whether a score of it has a value."""
    word, _, content = model.rpartition("/")[2].partition(".")
    has: Content = "answer" if content == "answer" else "calls" if (form, content) == ("tools", "null") else "empty"
    found = reply_status(ending_of(word), has, form, "read" if has != "empty" else "unread")
    return found.status, found.scored


FORMS: dict[str, Form] = {"plain": "text", "typed": "typed", "called": "tools", "spoken": "turn"}


def test_a_run_keeps_what_the_table_says(server: Played, tripos: Command) -> None:
    run(tripos, MODELS, MODELS)
    samples = "select scenario, model, sample_number, status, finish_reason from endings.samples"
    seen = 0
    for scenario, model, number, status, word in rows(tripos, samples):
        form = FORMS.get(scenario, "text")
        alone = expected(model, form)[0]
        if (scenario == "many" and number < 2) or (form == "turn" and expected(model, form)[1]):
            alone = "ok"  # a conversation goes on after a turn that was cut off
        assert status == alone, (scenario, model, number, word)
        seen += 1
    assert seen == len(MODELS) * (len(FORMS) + 3 + 1)
    for model, status in rows(tripos, "select model, status from endings.turns where number = 1"):
        assert status == expected(model, "turn")[0], model
    scored = "select scenario, model, status, value from endings.scores where metric = 'right' and scenario <> 'many'"
    for scenario, model, status, value in rows(tripos, scored):
        told, has_value = expected(model, FORMS[scenario])
        assert (status == "scored", value is not None) == (has_value, has_value), (scenario, model, status, value)
        assert has_value or status == told, (scenario, model, status)
    graded = "select evaluator, status, value from endings.scores where metric = 'rated' and model like '%stop.answer'"
    judged = rows(tripos, graded)
    assert len(judged) == len(MODELS)
    for judge, status, value in judged:
        told, _ = expected(judge, "typed")
        assert (status, value) == (("scored", 4.0) if told == "ok" else (told, None)), judge


def test_the_next_run_asks_for_what_broke_off_and_nothing_else(server: Played, tripos: Command) -> None:
    run(tripos, MODELS, ["stop.answer"])
    server.asked.clear()
    run(tripos, MODELS, ["stop.answer"])
    assert {model.partition(".")[0] for model in server.asked} == {"error", "abort"}


def test_a_filter_s_cut_is_not_repaired(server: Played, tripos: Command) -> None:
    run(tripos, ["content_filter.answer", "stop.empty"], ["stop.answer"], "--scenario", "typed")
    assert server.asked == {"content_filter.answer": 1, "stop.empty": 2}


def test_a_server_that_passes_over_n_is_asked_singly_from_then_on(server: Played, tripos: Command) -> None:
    server.passes_over_n = True
    Path("items.jsonl").write_text("\n".join(json.dumps({"question": f"{n}?"}) for n in range(5)), "utf-8")
    told = run(tripos, ["stop.answer"], ["stop.answer"], "--scenario", "many", "--max-connections", "1")
    assert (told["calls"]["asked"], told["calls"]["failed"]) == (15, 0)
    assert rows(tripos, "select distinct status, error from endings.samples") == [("ok", None)]
    assert server.asked == {"stop.answer": 15}, "the first request was for three, and every reply was kept"


def test_a_reply_that_broke_off_among_several_is_asked_for_alone(server: Played, tripos: Command) -> None:
    told = run(tripos, ["error.answer", "content_filter.null"], ["stop.answer"], "--scenario", "many")
    found = "select model, status, count(*) from endings.samples group by all order by all"
    assert rows(tripos, found) == [
        ("hosted_vllm/content_filter.null", "ok", 2),
        ("hosted_vllm/content_filter.null", "refused", 1),
        ("hosted_vllm/error.answer", "ok", 2),
        ("hosted_vllm/error.answer", "provider_error", 1),
    ]
    assert told["calls"]["failed"] == 1


def test_a_reply_of_an_earlier_version_that_broke_off_is_asked_for_again(server: Played, tripos: Command) -> None:
    """With what builds on it: it was taken for an answer, and judged."""
    run(tripos, ["stop.answer"], ["stop.answer"], "--scenario", "judged")
    kept = Store.open("results", create=False)
    tables = {
        name: [row for part in kept.parts(name) for row in pq.read_table(part).to_pylist(maps_as_pydicts="strict")]
        for name in TABLES
    }
    for row in tables["samples"]:
        row |= {"finish_reason": "abort", "reply": "The"}
    shutil.move("results", "other")
    Store.open("results", create=True).append({name: rows for name, rows in tables.items() if rows})
    planned = tripos("plan", "endings.tripos", "--model", "hosted_vllm/stop.answer", "--role", "judge=hosted_vllm/stop.answer", "--role", "partner=hosted_vllm/stop.answer", "--scenario", "judged")  # fmt: skip
    assert planned.code == 0, planned.err
    server.asked.clear()
    told = run(tripos, ["stop.answer"], ["stop.answer"], "--scenario", "judged")
    assert (told["calls"]["asked"], server.asked) == (2, {"stop.answer": 2})
    assert rows(tripos, "select status, finish_reason, reply from endings.samples") == [("ok", "stop", "4")]
    assert rows(tripos, "select status, value from endings.scores where metric = 'rated'") == [("scored", 4.0)]
    assert run(tripos, ["stop.answer"], ["stop.answer"], "--scenario", "judged")["calls"]["asked"] == 0


@pytest.mark.parametrize("ending", [each for each in Ending if each is not Ending.UNKNOWN])
def test_every_ending_is_played(ending: Ending) -> None:
    assert ending in {ending_of(word) for word in WORDS}
