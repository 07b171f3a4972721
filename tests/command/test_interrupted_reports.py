"""Ctrl-C while the report of a run is made: everything is kept, and it is said how the figures are had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tripos as api
from tests.conftest import Command
from tripos_compiler.errors import ExitCode

RUN = ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a")
ERRORS = (KeyboardInterrupt(), RuntimeError("Query interrupted"))


@pytest.fixture(params=ERRORS, ids=["ctrl-c", "database"])
def interrupted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are interrupted, by Python or in the middle of a query."""

    def report(*_: Any) -> None:
        raise request.param

    monkeypatch.setattr("tripos_warehouse.report.run_report._report", report)


@pytest.mark.usefixtures("interrupted")
def test_an_interrupt_after_the_last_call_says_what_is_kept_and_how_to_go_on(quiz: Path, tripos: Command) -> None:
    done = tripos(*RUN, "--store", "kept")
    assert done.code == ExitCode.INTERRUPTED
    run = api.open("kept").runs()[0].run.run_id
    assert "finished: 10 calls asked" in done.err
    assert "interrupted after the last call: all results are kept, and nothing is asked again" in done.err
    assert f"tripos report {run} --store kept" in done.err
    assert "Traceback" not in done.err and "internal error" not in done.err


@pytest.mark.usefixtures("interrupted")
def test_machines_are_told_all_counts(quiz: Path, tripos: Command) -> None:
    done = tripos(*RUN, "--json")
    assert done.code == ExitCode.INTERRUPTED
    data = json.loads(done.out)
    assert (data["status"], data["calls"]["asked"], data["expectations"]) == ("finished", 10, [])


def test_the_command_that_is_told_shows_the_figures(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("tripos_warehouse.report.run_report._report", _interrupt)
        done = tripos(*RUN)
    command = done.err.rsplit("for the figures: tripos ", 1)[1].split()
    assert tripos(*command, "--json").data["measures"]


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("interrupted")
def test_python_gets_a_clear_interrupt(quiz: Path, tripos: Command) -> None:
    tripos(*RUN)
    with api.open("results") as results, pytest.raises(KeyboardInterrupt) as raised:
        results.report()
    assert "was interrupted: the results are kept, and asking again makes it" in str(raised.value)
    assert raised.value.__cause__ is None and raised.value.__suppress_context__


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "mock/careful", "--role", "judge=mock/careful:a"),
        ("--model", "mock/careless,mock/refuses", "--role", "judge=mock/careless:b,mock/broken-json"),
        ("--model", "mock/careful,mock/fails-1", "--role", "judge=mock/careful:a", "--max-retries", "0"),
        ("--model", "mock/down", "--role", "judge=mock/careful:a", "--max-retries", "0"),
        ("--model", "mock/careful", "--role", "judge=mock/down", "--max-retries", "0"),
    ],
)
def test_the_counts_of_calls_add_up(quiz: Path, tripos: Command, arguments: tuple[str, ...]) -> None:
    """Of a run that is finished nothing is left; of one that stopped what it did not come to."""
    for _ in range(2):
        done = json.loads(tripos("run", "quiz.tripos", *arguments, "--json").out)
        calls = done["calls"]
        parts = [calls[name] for name in ("asked", "reused", "skipped", "failed", "left")]
        assert min(parts) >= 0 and calls["planned"] == sum(parts)
        assert calls["left"] == 0 or done["status"] != "finished"
