"""`tripos store`: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.warehouse.keeping import name, unit
from tripos.cli.main import run_command
from tripos_warehouse.store.store import Store

Say = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a store with three commits, seen on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    store = Store.open(tmp_path / "results", create=True)
    for number in range(3):
        store.append(unit(number))
    return store.root


def orphan(root: Path, age_s: float) -> Path:
    path = root / "parts/scores/stranger.parquet"
    path.write_bytes(b"rubbish")
    then = path.stat().st_mtime - age_s
    os.utime(path, (then, then))
    return path


def test_check_shows_every_table_and_that_all_is_well(root: Path, capsys: Say) -> None:
    assert run_command(["store", "check", "--store", str(root)]) == 0
    said = capsys.readouterr()
    assert "the store is whole" in said.out
    assert "3 commits" in said.out
    assert said.err == ""
    assert max(map(len, said.out.splitlines())) <= 80
    assert run_command(["store", "check", "--store", str(root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["whole"] is True
    assert {table["table"]: table["rows"] for table in found["tables"] if table["rows"]} == {"samples": 3, "scores": 3}


def test_check_ends_with_1_and_names_the_damage(root: Path, capsys: Say) -> None:
    Store.open(root, create=False).parts("samples")[0].unlink()
    assert run_command(["store", "check", "--store", str(root)]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error[S0401]: the part `")
    assert "1 damage found" in said.out


def test_compact_says_what_became_of_what(root: Path, capsys: Say) -> None:
    assert run_command(["store", "compact", "--store", str(root)]) == 0
    assert capsys.readouterr().out.startswith("commits: 3 became 1\nparts: 6 became 2\n0 doubles dropped\n")
    assert run_command(["store", "compact", "--store", str(root)]) == 0
    assert capsys.readouterr().out == "nothing to compact\n"
    assert run_command(["store", "compact", "--store", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"compacted": False}
    Store.open(root, create=False).append(unit(3))
    assert run_command(["store", "compact", "--store", str(root), "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["compacted"], done["parts_after"]) == (True, 2)
    assert len(Store.open(root, create=False).rows("samples", [name("sample", number) for number in range(4)])) == 4


def test_gc_removes_what_is_older_than_the_grace(root: Path, capsys: Say) -> None:
    path = orphan(root, age_s=1800)
    assert run_command(["store", "gc", "--store", str(root)]) == 0
    assert capsys.readouterr().out == "nothing to remove\n"
    assert run_command(["store", "gc", "--store", str(root), "--grace", "10m"]) == 0
    told = capsys.readouterr().out
    assert told == "1 file in parts/: no commit lists it, 7 bytes\n1 file removed, 7 bytes\n"
    assert not path.exists()


def test_gc_can_only_say_what_it_would_do(root: Path, capsys: Say) -> None:
    path = orphan(root, age_s=7200)
    assert run_command(["store", "gc", "--store", str(root), "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith("1 file would be removed, 7 bytes\n")
    assert run_command(["store", "gc", "--store", str(root), "--dry-run", "--json"]) == 0
    [removed] = json.loads(capsys.readouterr().out)["removed"]
    assert removed == {"path": "parts/scores/stranger.parquet", "size": 7, "why": "no commit lists it"}
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        *((f"gc --grace={grace}", "R0202") for grace in ("soon", "-1", "h", "nan", "inf")),
        ("check --store nowhere", "S0101"),
        ("", "R0202"),
    ],
)
def test_a_wrong_command_is_refused(root: Path, capsys: Say, arguments: str, code: str) -> None:
    assert run_command(["store", *arguments.split(), *(["--store", str(root)] if "gc" in arguments else [])]) == 2
    assert code in capsys.readouterr().err
