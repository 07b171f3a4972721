"""`tripos store merge` as it is typed: what runs on several machines left is, merged, what one run leaves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.kills.contents import contents
from tests.kills.work import KEPT, Work
from tests.lengths import sized
from tripos.cli.main import run_command

Say = pytest.CaptureFixture[str]
MODELS = ["--model", "mock/careful,mock/careless"]
PARTS = {
    "first half": ["--shard", "1/2"],
    "second half": ["--shard", "2/2"],
    "a few": ["--limit", "2"],
    "one model": ["--model", "mock/careful"],
}


class Laptops:
    """Stores of several machines, each of a part of the work, and one of all of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        work = Work(folder / "work", rows=5)
        work.write()
        self.command = ["run", str(work.folder / "kills.tripos"), "--json"]
        for name, part in PARTS.items():
            models = [] if "--model" in part else MODELS
            assert run_command([*self.command, *part, *models, "--store", str(folder / name)]) == 0
        assert run_command([*self.command, *MODELS, "--store", str(folder / "all")]) == 0
        self.expected = contents(folder / "all")

    def is_whole(self, store: Path) -> bool:
        """Return true if a run in a store leaves what the one run left."""
        found = contents(store)
        return all(found[table] == self.expected[table] for table in KEPT)

    def run(self, store: Path) -> None:
        """Run the whole work in a store."""
        assert run_command([*self.command, *MODELS, "--store", str(store)]) == 0


@pytest.fixture(scope="module")
def laptops(tmp_path_factory: pytest.TempPathFactory) -> Laptops:
    return Laptops(tmp_path_factory.mktemp("laptops"))


def merge(stores: Sequence[Path], into: Path) -> int:
    return run_command(["store", "merge", *map(str, stores), "--into", str(into)])


def commits(store: Path) -> set[str]:
    return {path.name for path in (store / "commits").iterdir()}


@settings(max_examples=sized(4, 150), deadline=None)
@given(data=st.data())
def test_merged_stores_have_what_one_run_leaves(laptops: Laptops, data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from([*PARTS, "all"]), min_size=1, max_size=5))
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "merged"
        if data.draw(st.booleans()):
            shutil.copytree(laptops.folder / data.draw(st.sampled_from(tuple(PARTS))), target)
        stores = [laptops.folder / each for each in names]
        while stores:
            count = data.draw(st.integers(1, len(stores)))
            assert merge(stores[:count], target) == 0
            stores = stores[count:]
            if data.draw(st.booleans()):
                assert run_command(["store", "compact", "--store", str(target)]) == 0
        before = commits(target)
        assert merge([laptops.folder / each for each in names], target) == 0
        assert commits(target) == before, "merging twice changes nothing"
        found = contents(target)
        for table in KEPT:
            assert set(found[table]) <= set(laptops.expected[table])
        if "all" in names or {"first half", "second half"} <= set(names):
            assert found == laptops.expected
        assert run_command(["store", "check", "--store", str(target)]) == 0


def test_a_store_that_is_named_twice_is_merged_once(laptops: Laptops, tmp_path: Path, capsys: Say) -> None:
    capsys.readouterr()
    store = laptops.folder / "first half"
    assert merge([store, store], tmp_path / "merged") == 0
    twice = capsys.readouterr().out
    assert merge([store], tmp_path / "once") == 0
    assert twice == capsys.readouterr().out
    assert contents(tmp_path / "merged") == contents(store)


def figures(store: Path, capsys: Say) -> list[object]:
    """Return the measures of the last run of a store."""
    capsys.readouterr()
    run_command(["report", "--store", str(store), "--json"])
    return list(json.loads(capsys.readouterr().out)["measures"])


def test_the_figures_of_merged_stores_are_those_of_one_run(laptops: Laptops, tmp_path: Path, capsys: Say) -> None:
    merge([laptops.folder / name for name in PARTS], tmp_path / "merged")
    again = [*laptops.command, *MODELS, "--store", str(tmp_path / "merged"), "--budget", "1calls"]
    assert run_command(again) == 0  # nothing is asked
    assert figures(tmp_path / "merged", capsys) == figures(laptops.folder / "all", capsys) != []


def test_a_damaged_source_is_told_and_the_rest_of_it_is_merged(laptops: Laptops, tmp_path: Path, capsys: Say) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(laptops.folder / "all", damaged)
    part = max((damaged / "parts" / "scores").iterdir(), key=lambda path: path.stat().st_size)
    part.unlink()
    assert merge([damaged, laptops.folder / "first half"], tmp_path / "merged") == 1
    assert capsys.readouterr().err.startswith("warning[S0103]: the part `")
    laptops.run(tmp_path / "merged")
    assert laptops.is_whole(tmp_path / "merged")


@pytest.mark.parametrize("stores", [["nowhere"], ["first half", "nowhere"]])
def test_a_store_that_is_not_there_is_refused_and_nothing_is_made(
    stores: list[str], laptops: Laptops, tmp_path: Path, capsys: Say
) -> None:
    assert merge([laptops.folder / each for each in stores], tmp_path / "merged") == 2
    assert "S0101" in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()


KILL = """
import os, sys
import tripos_warehouse.store.store as store
store.publish = lambda *_, **__: os._exit(9)
from tripos.cli.main import run_command
run_command(sys.argv[1:])
"""


def test_a_merge_that_is_killed_before_it_commits_is_repeated(laptops: Laptops, tmp_path: Path) -> None:
    target, stores = tmp_path / "merged", [laptops.folder / "first half", laptops.folder / "one model"]
    killed = [sys.executable, "-c", KILL, "store", "merge", *map(str, stores), "--into", str(target)]
    assert subprocess.run(killed, capture_output=True, check=False).returncode == 9
    assert list((target / "parts").rglob("*.parquet")), "the parts were written"
    assert not commits(target)
    assert merge(stores, target) == 0
    assert merge(stores, tmp_path / "undisturbed") == 0
    assert contents(target) == contents(tmp_path / "undisturbed")
    assert run_command(["store", "gc", "--store", str(target), "--grace", "0"]) == 0
    assert run_command(["store", "check", "--store", str(target)]) == 0
