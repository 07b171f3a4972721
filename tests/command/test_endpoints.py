"""Runs against several endpoints under one model's name: what each answered is its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.answers import fetch
from tests.conftest import Command
from tests.json_server import json_server
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { a text }
scorer fair(said: text) by judge { prompt "Rate {{ said }}", gives 1..5 }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.a }}" }
  score right = contains(reply.text, "yes")
  score rated = fair(reply.text)
}
measure accuracy = mean(right)
"""
ITEMS = 3
SECRET = "s3cr3t-in-the-address"


@dataclass
class Answering:
    """A server that always says the same, under a snapshot's name, and writes down what it was sent."""

    said: str
    snapshot: str = "snapshot-1"
    asked: list[dict[str, Any]] = field(default_factory=list)
    address: str = ""

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body)
        said = '{"score": 4, "reason": "so"}' if "response_format" in body else self.said
        message = {"role": "assistant", "content": said}
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "1", "object": "chat.completion", "model": self.snapshot, "choices": [choice], "usage": usage}


@contextmanager
def served(said: str, snapshot: str = "snapshot-1") -> Iterator[Answering]:
    answering = Answering(said, snapshot)

    with json_server(lambda posted: answering.answer(posted.data)) as answering.address:
        yield answering


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-nobody")
    Path("demo.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("\n".join(json.dumps({"a": f"Question {n}?"}) for n in range(ITEMS)), "utf-8")


def configure(address: str, *more: str) -> None:
    lines = ['[endpoints."openai/a"]', f'base_url = "{address}"', *more]
    Path("tripos.toml").write_text("\n".join(lines), "utf-8")


def run(tripos: Command, *options: str, judge: str = "mock/careful") -> dict[str, Any]:
    done = tripos("run", "demo.tripos", "--model", "openai/a", "--role", f"judge={judge}", "--json", *options)
    assert done.code == 0, done.err
    found: dict[str, Any] = done.data
    return found


def test_a_model_at_another_address_is_asked_all_again(tripos: Command) -> None:
    with served("yes") as one, served("no") as other:
        configure(one.address)
        first = run(tripos)
        assert f"candidate  openai/a @ {one.address}" in tripos("report").out
        configure(other.address)
        second = run(tripos)
        assert (len(one.asked), len(other.asked)) == (ITEMS, ITEMS)
        configure(one.address)
        run(tripos)
        assert (len(one.asked), len(other.asked)) == (ITEMS, ITEMS)
    kept = fetch("select model, identity, reply, count(*) from main.samples group by all order by reply")
    assert kept == [
        ("openai/a", f"openai/a @ {other.address}", "no", ITEMS),
        ("openai/a", f"openai/a @ {one.address}", "yes", ITEMS),
    ]
    told = fetch("select run_id, identities from main.runs order by started_at")
    assert [(name, json.loads(by)["openai/a"]) for name, by in told[:2]] == [
        (first["run_id"], f"openai/a @ {one.address}"),
        (second["run_id"], f"openai/a @ {other.address}"),
    ]


def test_the_forecast_knows_that_another_address_is_somebody_else(tripos: Command) -> None:
    with served("yes") as one:
        configure(one.address)
        run(tripos)
        configure("http://127.0.0.1:9/v1")
        planned = run(tripos, "--dry-run")
        assert planned["total"]["reused"] == 0
        assert planned["why"][0]["text"] == "answered by another before: openai/a @ http://127.0.0.1:9/v1"
        configure(one.address)
        total = run(tripos, "--dry-run")["total"]
        assert (total["reused"], total["at_least"]) == (2 * ITEMS, 0)


def test_a_judge_at_another_address_grades_again(tripos: Command) -> None:
    with served("yes") as one, served("yes") as other:
        configure(one.address)
        run(tripos, judge="openai/a")
        assert len(one.asked) == 2 * ITEMS
        configure(other.address)
        run(tripos, judge="openai/a")
        assert len(other.asked) == 2 * ITEMS
    assert fetch("select count(distinct judgement_id), count(distinct identity) from main.judgements") == [
        (2 * ITEMS, 2)
    ]


@pytest.mark.parametrize("named", ["before", "later"])
def test_a_deployment_that_moves_under_a_stable_name_is_asked_nothing(tripos: Command, named: str) -> None:
    """A name that is given later may be the address of before."""
    with served("yes") as one, served("no") as other:
        configure(one.address, *(['name = "lab-a100"'] if named == "before" else []))
        run(tripos)
        configure(other.address, f'name = "{"lab-a100" if named == "before" else one.address}"')
        run(tripos)
        assert (len(one.asked), len(other.asked)) == (ITEMS, 0)


def test_no_key_of_an_address_is_kept(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    with served("yes") as one:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{one.address}?api_key={SECRET}")
        run(tripos)
    assert fetch("select distinct identity from main.samples") == [(f"openai/a @ {one.address}",)]
    for path in Path("results").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def test_a_replay_gives_what_its_own_run_was_answered(tripos: Command) -> None:
    with served("yes") as one, served("no") as other:
        configure(one.address)
        first = run(tripos)
        configure(other.address)
        run(tripos)
    done = tripos("run", "demo.tripos", "--model", f"replay/results:{first['run_id']}", "--store", "again", "--json")
    assert done.code == 0, done.err
    connection = connect(Store.open("again", create=False))
    assert connection.execute("select distinct reply, identity from main.samples").fetchall() == [
        ("yes", f"openai/a @ {one.address}")
    ]
    connection.close()


@pytest.mark.parametrize(("spec", "role"), [("SPEC", "judge=mock/careful"), ("TALK", "student=mock/careful")])
def test_replies_by_two_snapshots_are_told(tripos: Command, spec: str, role: str) -> None:
    Path("demo.tripos").write_text({"SPEC": SPEC, "TALK": TALK}[spec], "utf-8")
    command = ("run", "demo.tripos", "--model", "openai/a", "--role", role)
    with served("yes", "a-0513") as one, served("yes", "a-0806") as other:
        configure(one.address, 'name = "lab"')
        assert tripos(*command, "--limit", "2").code == 0
        assert "snapshots" not in tripos("report").out
        configure(other.address, 'name = "lab"')
        assert tripos(*command).code == 0
    text = "replies of openai/a by 2 snapshots, which the figures mix: 2 by a-0513, 1 by a-0806"
    assert text in " ".join(tripos("report").out.split())
    assert {"kind": "snapshots", "text": text} in tripos("report", "--json").data["remarks"]


TALK = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role student
dataset item from "items.jsonl" { a text }
scenario s {
  over item
  converse talk {
    candidate { system "Teach {{ item.a }}." }
    student { system "Learn." }
    opens candidate, until student says "done", limit 2 turns
  }
  score long = words(talk.text) > 0
}
measure lengths = mean(long)
"""


@pytest.mark.long
def test_every_turn_says_who_spoke_and_a_replay_finds_it(tripos: Command) -> None:
    Path("demo.tripos").write_text(TALK, "utf-8")
    with served("yes") as one, served("no") as other:
        for each in (one, other):
            configure(each.address)
            done = tripos("run", "demo.tripos", "--model", "openai/a", "--role", "student=mock/careful")
            assert done.code == 0, done.err
            assert len(each.asked) == ITEMS
    assert fetch("select distinct identity from main.turns where model = 'openai/a' order by 1") == sorted(
        (f"openai/a @ {each.address}",) for each in (one, other)
    )
    done = tripos("run", "demo.tripos", "--model", "replay/results", "--store", "again", "--json")
    assert done.code == 0, done.out
    connection = connect(Store.open("again", create=False))
    said = connection.execute("select distinct text from main.turns where model = 'openai/a'").fetchall()
    connection.close()
    assert said == [("no",)]
