"""Each fault of a network happens to a call of a run: the run does what the table promises, and the next run the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.faults.network import AGAIN, FAILED, FAULTS, KEPT, REFUSED, STOPS, Fault, Promise
from tests.faults.server import FaultServer, serving

SPEC = """\
benchmark faults "1.0.0" {
  languages en
}
role candidate compared
dataset item from "items.jsonl" {
  question text
}
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = words(reply.text) > 1
}
measure m = mean(long)
"""
MODEL = ("--model", "hosted_vllm/m", "--max-connections", "1", "--max-retries", "1", "--patience", "0.05")


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving({fault.name: fault.does for fault in FAULTS}) as server:
        yield server


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "faults.tripos").write_text(SPEC, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tripos_runtime.scheduling.calling.FIRST_DELAY_S", 0.001)
    return tmp_path


def write(bench: Path, address: str, *questions: str) -> None:
    """Write the rows, and where the model is."""
    (bench / "items.jsonl").write_text("\n".join(json.dumps({"question": each}) for each in questions), "utf-8")
    (bench / "tripos.toml").write_text(f'[endpoints."hosted_vllm"]\nbase_url = "{address}"\n', "utf-8")


def kept(tripos: Command) -> dict[str, str]:
    """Return the status of the reply to each question."""
    return {row["question"]: row["status"] for row in rows_of(tripos)}


def rows_of(tripos: Command) -> list[dict[str, str]]:
    """Return the question, the status and the error of each sample."""
    query = "select messages->>'$[0].content' as question, status, error from samples"
    told = tripos("sql", query, "-o", "answer.json")
    assert told.code == 0, told.err
    rows: list[dict[str, str]] = json.loads(Path("answer.json").read_text("utf-8"))
    Path("answer.json").unlink()
    return rows


def named(promises: Iterable[Promise], slow: bool = False) -> list[Fault]:
    """Return the faults with one of these promises; those that are found out by a timeout are apart."""
    return [each for each in FAULTS if each.promise in promises and (each.code == "R0109") == slow]


RUNS = {
    "faults that leave no trace": (named((AGAIN, KEPT, REFUSED)), "30"),
    "faults that fail a call": (named((FAILED,)), "30"),
    "faults that take too long": (named((FAILED,), slow=True), "0.2"),
    **{f"a fault that ends a run: {each.name}": ([each], "30") for each in named((STOPS,))},
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_does_what_the_table_promises(name: str, bench: Path, tripos: Command, server: FaultServer) -> None:
    """A call that goes well comes before each fault. The same command again asks what is promised, and nothing else."""
    faults, timeout_s = RUNS[name]
    rows = [question for fault in faults for question in (f"before: {fault.name}", fault.name)]
    write(bench, f"http://127.0.0.1:{server.port}/v1", *rows)
    done = tripos("run", "faults.tripos", *MODEL, "--timeout", timeout_s, "--json")
    assert "Traceback" not in done.err
    asked = {row: server.asked[row] for row in rows}
    promised = {fault.name: fault.promise for fault in faults}
    assert asked == {row: promised[row].asked if row in promised else 1 for row in rows}
    assert kept(tripos) == {
        row: promised[row].kept if row in promised else "ok"
        for row in rows
        if row not in promised or promised[row].kept is not None
    }
    assert (done.data["status"], done.code) in {(fault.promise.run, fault.promise.exit) for fault in faults}, done.err
    errors = {row["question"]: row["error"] for row in rows_of(tripos)}
    for fault in faults:
        if fault.code is not None:
            assert fault.code in (errors.get(fault.name) or done.err)

    again = tripos("run", "faults.tripos", *MODEL, "--json")
    assert (again.code, again.data["status"]) == (0, "finished"), again.err
    later = {row: server.asked[row] - asked[row] for row in rows}
    assert later == {row: promised[row].later if row in promised else 0 for row in rows}
