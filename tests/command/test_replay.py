"""`tripos run --model replay/…`: any run is a recording."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.answers import ask
from tests.conftest import QUIZ, Command
from tripos.runs.records import open_recording
from tripos_runtime.models.base import Reply, Request
from tripos_runtime.models.mocks import MockModel
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careful:b")
PROMPT = 'prompt "{{ item.question }}"'
CONTENT = ("items", "samples", "judgements", "scores")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise AssertionError(f"a replay connects to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)


def record(tripos: Command, *options: str, store: str = "recorded") -> str:
    """Return the name of a run that is recorded."""
    done = tripos("run", "quiz.tripos", *options, "--store", store, "--json")
    assert done.code == 0, done.err
    return str(done.data["run_id"])


def replay(tripos: Command, which: str, *options: str) -> Any:
    return tripos("run", "quiz.tripos", "--model", f"replay/{which}", "--json", *options)


def content(store: str, table: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table without what differs from run to run, sorted."""
    connection = connect(Store.open(store, create=False))
    columns = ", ".join(TABLES[table].content)
    rows: list[tuple[Any, ...]] = connection.execute(f"select {columns} from main.{table} order by all").fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize(
    "judges",
    [
        "mock/careful:a,mock/careful:b",
        pytest.param("mock/careless:a,mock/careless:b,mock/careless:c", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    "model",
    [
        "mock/careful",
        pytest.param("mock/broken-json", marks=pytest.mark.long),
        pytest.param("mock/careless", marks=pytest.mark.long),
        pytest.param("mock/refuses", marks=pytest.mark.long),
    ],
)
def test_a_replay_finds_out_what_the_recorded_run_did(
    quiz: Path, tripos: Command, once: Command, model: str, judges: str
) -> None:
    record(once, "--model", model, "--role", f"judge={judges}")
    done = replay(tripos, "recorded", "--store", "again")
    assert done.code == 0, done.err
    for table in CONTENT:
        rows = content("recorded", table)
        assert rows
        assert content("again", table) == rows


def test_a_reply_that_was_repaired_is_repaired_in_the_replay(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, "--model", "mock/careless", "--role", "judge=mock/broken-json,mock/careless:a")
    replay(tripos, "recorded", "--store", "again")
    drafts = content("recorded", "drafts")
    assert drafts
    assert content("again", "drafts") == drafts


def test_samples_of_one_question_are_replayed_each_as_itself(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MockModel.ask

    async def numbered(self: MockModel, request: Request) -> Reply:
        reply = await real(self, request)
        return reply if request.schema is not None else replace(reply, text=f"{reply.text} #{request.number}")

    spec = QUIZ.replace(PROMPT, f"{PROMPT}\n    samples 3")
    (quiz / "quiz.tripos").write_text(spec, "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(MockModel, "ask", numbered)
        record(tripos, *CAREFUL)
    replay(tripos, "recorded", "--store", "again")
    rows = ask(tripos, "select sample_number, reply from samples where scenario = 'sums'", "--store", "again")
    assert {(row["sample_number"], row["reply"].rpartition("#")[2]) for row in rows} == {(0, "0"), (1, "1"), (2, "2")}
    assert content("again", "scores") == content("recorded", "scores")


def test_a_replay_has_the_roles_models_and_measures_of_the_recorded_run_and_no_bill(
    quiz: Path, tripos: Command, once: Command
) -> None:
    record(once, *CAREFUL)
    done = replay(tripos, "recorded", "--store", "again")
    assert (done.data["calls"]["asked"], done.data["cost_usd"]) == (15, 0)
    assert ask(tripos, "select cost_usd from runs", "--store", "again") == [{"cost_usd": 0.0}]
    query = "select roles, models, compared_role from runs"
    assert ask(tripos, query, "--store", "again") == ask(tripos, query, "--store", "recorded")
    first, second = (tripos("report", "--json", "--store", store).data for store in ("recorded", "again"))
    assert first["measures"] == second["measures"]


def test_a_run_is_named_by_its_beginning_in_the_store_of_the_command(
    quiz: Path, tripos: Command, once: Command
) -> None:
    run = record(once, *CAREFUL, store="results")
    done = replay(tripos, run[:-2])
    assert done.code == 0, done.err
    assert done.data["calls"] == {"planned": 15, "asked": 0, "reused": 15, "skipped": 0, "failed": 0, "left": 0}


@pytest.mark.long
def test_a_run_of_a_store_elsewhere_is_named_after_its_folder(quiz: Path, tripos: Command, once: Command) -> None:
    few = record(once, *CAREFUL, "--limit", "1")
    record(once, *CAREFUL)
    done = replay(tripos, f"recorded:{few}", "--store", "again")
    assert (done.code, done.data["errors"]) == (1, {"R0113": 3})  # 2 sums and 1 word that the first run left out
    assert replay(tripos, f"recorded:{few}", "--store", "few", "--limit", "1").code == 0
    assert replay(tripos, "./recorded/", "--store", "whole").code == 0  # its last run


@pytest.mark.long
def test_replies_that_a_run_took_from_an_earlier_one_are_part_of_it(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, *CAREFUL)
    last = record(once, *CAREFUL)
    done = replay(tripos, f"recorded:{last}", "--store", "again")
    assert (done.code, done.data["calls"]["asked"]) == (0, 15)


@pytest.mark.parametrize(
    ("old", "new", "lacking", "samples"),
    [
        ("Say it in words", "Put it in words", 2, {"ok": 3, "provider_error": 2}),
        ("Is the reply right?", "Is the reply correct?", 6, {"ok": 5}),
        (PROMPT, f"{PROMPT}\n    temperature 0.5", 3, {"ok": 2, "provider_error": 3}),
    ],
)
def test_a_change_of_the_spec_lacks_what_it_asks_anew_and_nothing_else(
    quiz: Path, tripos: Command, once: Command, old: str, new: str, lacking: int, samples: dict[str, int]
) -> None:
    record(once, *CAREFUL)
    (quiz / "quiz.tripos").write_text(QUIZ.replace(old, new), "utf-8")
    done = replay(tripos, "recorded", "--store", "again")
    assert (done.code, done.data["errors"], done.data["samples"]) == (1, {"R0113": lacking}, samples)
    failed = ask(tripos, "select distinct step from samples where status = 'provider_error'", "--store", "again")
    assert failed == [{"step": "reply"}] * ("provider_error" in samples)


def test_a_new_row_lacks_its_replies(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, *CAREFUL)
    with (quiz / "items.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"question": "7 * 6", "answer": "42"}))
    done = replay(tripos, "recorded", "--store", "again")
    assert (done.code, done.data["errors"]) == (1, {"R0113": 2})


def test_calls_that_failed_are_not_recorded(quiz: Path, tripos: Command) -> None:
    options = ("--model", "mock/fails-1", "--role", "judge=mock/careful", "--max-retries", "0", "--store", "recorded")
    assert tripos("run", "quiz.tripos", *options, "--json").code == 1
    done = replay(tripos, "recorded", "--store", "again")
    assert (done.code, done.data["errors"]) == (1, {"R0113": 5})


def test_what_a_replay_lacked_a_real_run_asks(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, *CAREFUL, "--limit", "1")
    assert replay(tripos, "recorded", "--store", "again").code == 1
    done = tripos("run", "quiz.tripos", *CAREFUL, "--store", "again", "--json")
    assert done.code == 0
    assert done.data["calls"]["reused"] == 6


def test_a_renamed_scenario_is_replayed(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, *CAREFUL)
    renamed = QUIZ.replace("scenario sums", "scenario plus").replace("| sums ", "| plus ")
    (quiz / "quiz.tripos").write_text(renamed, "utf-8")
    done = replay(tripos, "recorded", "--store", "again")
    assert (done.code, done.data["calls"]["asked"]) == (0, 15)


@pytest.mark.long
def test_of_a_recording_only_its_parts_and_commits_need_be_kept(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, *CAREFUL, "--limit", "2")
    for path in sorted((quiz / "recorded").rglob("*")):
        below = path.relative_to(quiz / "recorded")
        if path.is_file() and below.parts[0] in ("tripos-store.json", "commits", "parts"):
            (quiz / "tests/cassette" / below).parent.mkdir(parents=True, exist_ok=True)
            path.rename(quiz / "tests/cassette" / below)
    assert replay(tripos, "tests/cassette", "--limit", "2").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--model", "mock/careful,replay/recorded"), "R0202", "cannot stand beside `mock/careful`"),
        (("--model", "replay/recorded", "--model", "replay/other"), "R0202", "cannot stand beside `replay/other`"),
        (("--model", "mock/careful", "--role", "judge=replay/recorded"), "R0202", "cannot fill the role `judge`"),
        (("--model", "replay/"), "R0202", "names no run"),
        (("--model", "replay/nowhere/at/all"), "S0101", "no store at"),
        (("--model", "replay/record", "--store", "fresh"), "S0101", "`replay/record` is no folder with a store"),
        (("--model", "replay/recorded:1999"), "S0301", "no run `1999`"),
    ],
)
def test_a_wrong_recording_says_how_to_mend_it(
    quiz: Path, tripos: Command, once: Command, arguments: tuple[str, ...], code: str, words: str
) -> None:
    record(once, *CAREFUL)
    done = tripos("run", "quiz.tripos", *arguments)
    assert (done.code, f"error[{code}]" in done.err, words in done.err) == (2, True, True), done.err
    assert "help:" in done.err


def test_a_new_judge_is_asked_about_the_recorded_replies(quiz: Path, tripos: Command, once: Command) -> None:
    record(once, *CAREFUL)
    done = replay(tripos, "recorded", "--store", "again", "--role", "judge=mock/careful:new")
    assert (done.code, done.data["calls"]["asked"]) == (0, 10)
    assert content("again", "samples") == content("recorded", "samples")
    rows = ask(tripos, "select evaluator, count(*) as n from judgements group by all", "--store", "again")
    assert rows == [{"evaluator": "mock/careful:new", "n": 5}]


def test_the_models_of_the_project_file_do_not_take_part_in_a_replay(
    quiz: Path, tripos: Command, once: Command
) -> None:
    record(once, *CAREFUL)
    (quiz / "tripos.toml").write_text('models = ["mock/down"]\n[roles]\njudge = ["mock/down"]\n')
    assert replay(tripos, "recorded", "--store", "again").code == 0


def test_opening_a_recording_reads_no_reply(quiz: Path, once: Command) -> None:
    record(once, *CAREFUL)
    cassette = open_recording("replay/recorded", "results")
    assert cassette is not None
    for part in (quiz / "recorded/parts/samples").iterdir():
        part.unlink()
    cassette.open("mock/careful")
    cassette.close()
