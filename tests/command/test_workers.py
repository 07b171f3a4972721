"""`--workers`: one run in several processes, which looks like one and keeps to the same limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tripos
from tests.kills.contents import contents
from tests.kills.work import KEPT, Work
from tripos.cli.main import run_command
from tripos.settings.runtime import limits_share
from tripos_runtime.scheduling.limits import Limits

MODELS = ["--model", "mock/careful,mock/careless"]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A benchmark of two scenarios with a helper and a judge."""
    made = Work(tmp_path / "work", rows=12)
    made.write()
    monkeypatch.chdir(tmp_path)
    return made


def run(work: Work, store: str, *more: str) -> int:
    return run_command(["run", str(work.folder / "kills.tripos"), *MODELS, "--store", store, "--json", *more])


def rounded(figures: Any) -> Any:
    """Give figures to twelve digits: the rows of a sum stand in no order, which its last digit may show."""
    if isinstance(figures, dict):
        return {name: rounded(figure) for name, figure in figures.items()}
    if isinstance(figures, list):
        return [rounded(figure) for figure in figures]
    return float(f"{figures:.12g}") if isinstance(figures, float) else figures


def test_two_workers_make_one_run_with_the_tables_of_one_process(
    work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(work, "one") == 0
    alone = json.loads(capsys.readouterr().out)
    assert run(work, "two", "--workers", "2") == 0
    shared = json.loads(capsys.readouterr().out)
    for key in ("status", "calls", "samples", "judgements", "scores", "tokens_in", "tokens_out", "repaired"):
        assert shared[key] == alone[key], key
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert {table: two[table] == one[table] for table in KEPT} == dict.fromkeys(KEPT, True)
    assert run_command(["report", "--store", "two", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["measures"]
    run_command(["report", "--store", "one", "--json"])
    assert rounded(figures) == rounded(json.loads(capsys.readouterr().out)["measures"])


def test_the_budget_of_all_workers_together_is_kept(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(work, "bounded", "--workers", "2", "--budget", "20calls") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["code"] == "R0402"
    assert told["calls"]["asked"] == told["budget"]["calls"]["spent"] == 20


def test_a_limit_that_leaves_nothing_for_a_worker_is_refused(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(work, "narrow", "--workers", "3", "--max-connections", "2") == 2
    assert "3 workers cannot divide 2 connections of `--max-connections`" in capsys.readouterr().err


def test_workers_of_the_python_api_are_counted_as_one_run(work: Work) -> None:
    seen: list[int] = []
    made = tripos.compile(work.folder / "kills.tripos").run(
        ["mock/careful", "mock/careless"], store="api", workers=2, progress=lambda now: seen.append(now.asked)
    )
    assert made.status == "finished"
    assert made.asked == seen[-1] > 0
    assert made.report().measures


def test_parts_of_limits_add_up_to_the_whole() -> None:
    whole = Limits(max_connections=7, connections={"a": 5}, requests_per_minute={"a": 60}, tokens_per_minute={"*": 900})
    parts = [limits_share(whole, number, 3) for number in range(3)]
    assert sum(part.max_connections for part in parts) == 7
    assert sum(part.connections["a"] for part in parts) == 5
    assert sum(part.requests_per_minute["a"] for part in parts) == pytest.approx(60)
    assert sum(part.tokens_per_minute["*"] for part in parts) == pytest.approx(900)
