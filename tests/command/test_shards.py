"""`--shard I/N`: parts of the items that a hash decides, which together are the whole."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.kills.contents import contents
from tests.kills.work import KEPT, Work
from tests.lengths import sized
from tripos.cli.main import run_command
from tripos_runtime.datasets.selection import Shard

MODELS = ["--model", "mock/careful,mock/careless"]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark of two scenarios with a helper and a judge."""
    work = Work(tmp_path / "work", rows=12)
    work.write()
    monkeypatch.chdir(tmp_path)
    return str(work.folder / "kills.tripos")


@settings(max_examples=sized(3, 12), deadline=None)
@given(rows=st.integers(2, 14), count=st.integers(1, 4), limit=st.none() | st.integers(2, 9))
def test_all_shards_together_leave_the_tables_of_one_run(rows: int, count: int, limit: int | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = Work(folder / "work", rows=rows)
        work.write()
        command = ["run", str(work.folder / "kills.tripos"), *MODELS, "--json"]
        command += [] if limit is None else ["--limit", str(limit)]
        assert run_command([*command, "--store", str(folder / "one")]) == 0
        for number in range(1, count + 1):
            assert run_command([*command, "--store", str(folder / "all"), "--shard", f"{number}/{count}"]) == 0
        assert run_command([*command, "--store", str(folder / "all"), "--budget", "1calls"]) == 0  # nothing is asked
        one, several = contents(folder / "one"), contents(folder / "all")
        assert {table: several[table] == one[table] for table in KEPT} == dict.fromkeys(KEPT, True)


@given(item=st.text(), count=st.integers(1, 50))
def test_an_item_is_in_one_shard(item: str, count: int) -> None:
    assert sum(Shard(number, count).has(item) for number in range(1, count + 1)) == 1


def test_a_run_of_a_shard_says_so_wherever_it_is_shown(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", spec, *MODELS, "--shard", "1/2"]) == 0
    assert "shard 1/2 of the items" in capsys.readouterr().err
    run_command(["report"])
    assert " items: --shard 1/2" in capsys.readouterr().out
    run_command(["list", "--json"])
    assert json.loads(capsys.readouterr().out)[0]["shard"] == "1/2"
    run_command(["list"])
    assert "shard 1/2" in capsys.readouterr().out


def test_a_plan_of_a_shard_counts_its_items_only(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    counts = []
    for more in ([], ["--shard", "1/2"], ["--shard", "2/2"]):
        assert run_command(["run", spec, *MODELS, *more, "--dry-run", "--json"]) == 0
        counts.append(sum(each["calls"]["expected"] for each in json.loads(capsys.readouterr().out)["calls"]))
    whole, *parts = counts
    assert sum(parts) == whole
    assert all(parts)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_a_shard_that_is_none_is_refused(spec: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", spec, *MODELS, "--shard", text]) == 2
    assert "is no shard" in capsys.readouterr().err
