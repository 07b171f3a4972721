"""Mirrors of a store: the library of the format reads the rows of the store, and no row is written."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.warehouse.keeping import unit
from tests.warehouse.rewriting import take_as_written
from tripos.cli.main import run_command
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.maintenance.mirroring import mirror_delta, mirror_iceberg
from tripos_warehouse.store.parts import conform
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

KINDS = ("iceberg", "delta")
LIBRARIES = {"iceberg": "pyiceberg", "delta": "deltalake"}


def mirror(kind: str, store: Store, folder: Path) -> tuple[int, int]:
    """Mirror a store, and return how many parts were added and removed."""
    pytest.importorskip(LIBRARIES[kind])
    done = (mirror_iceberg if kind == "iceberg" else mirror_delta)(store, folder)
    return sum(each.added for each in done), sum(each.removed for each in done)


def read(kind: str, folder: Path, table: str) -> pa.Table:
    """Return a table as the library of the format reads it."""
    if kind == "iceberg":
        from pyiceberg.catalog.sql import SqlCatalog

        catalog = SqlCatalog("tripos", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=folder.as_uri())
        return catalog.load_table(f"tripos.{table}").scan().to_arrow()
    from deltalake import DeltaTable, QueryBuilder

    return pa.table(QueryBuilder().register("t", DeltaTable(folder / table)).execute("select * from t").read_all())


def rows(content: pa.Table) -> list[str]:
    """Return rows in a form and an order that any reader gives."""
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in content.to_pylist(maps_as_pydicts="strict"))


def expected(store: Store, table: str) -> list[str]:
    """Return the rows of the parts that count."""
    names = TABLES[table].schema.names
    return rows(pa.concat_tables([conform(table, names, pq.read_table(path)) for path in store.parts(table)]))


def read_by_polars(folder: Path, table: str) -> pa.Table:
    """Return a table of Iceberg as polars reads it: its own reader of files and columns, after the library's plan."""
    pl = pytest.importorskip("polars")
    newest = max((folder / "tripos" / table / "metadata").glob("*.metadata.json"))
    return pl.scan_iceberg(str(newest), reader_override="native").collect().to_arrow()


def check(kind: str, store: Store, folder: Path) -> None:
    for table in ("samples", "scores"):
        assert rows(read(kind, folder, table)) == expected(store, table) != []


CHILD = """\
import sys
from pathlib import Path
from tripos_warehouse.maintenance.mirroring import mirror_delta, mirror_iceberg
from tripos_warehouse.store.store import Store
mirror = mirror_iceberg if sys.argv[1] == "iceberg" else mirror_delta
print("ready", flush=True)
while True:
    mirror(Store.open(sys.argv[2], create=False), Path(sys.argv[3]))
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_whoever_mirrors_may_be_killed_at_any_instant(kind: str, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[kind])
    store, folder, chance = Store.open(tmp_path / "store", create=True), tmp_path / "mirror", random.Random(7)
    store.append(unit(0))
    for number in range(1, 6):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, kind, str(store.root), str(folder)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        store.append(unit(number))
        time.sleep(chance.uniform(0.0, 0.4))
        if number % 2:
            compact(store)
        time.sleep(chance.uniform(0.0, 0.2))
        assert child.poll() is None
        child.kill()
        child.wait()
        child.stdout.close()
    mirror(kind, store, folder)
    check(kind, store, folder)
    assert mirror(kind, store, folder) == (0, 0)


@pytest.mark.long
def test_another_reader_of_iceberg_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    store, folder = Store.open(tmp_path / "store", create=True), tmp_path / "mirror"
    for number in range(3):
        store.append(unit(number))
        mirror("iceberg", store, folder)
    for _ in range(2):
        for table in ("samples", "scores"):
            assert rows(read_by_polars(folder, table)) == rows(read("iceberg", folder, table)) != []
        compact(store)
        mirror("iceberg", store, folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mirror_has_the_rows_of_the_store_after_commits_and_compaction(kind: str, tmp_path: Path) -> None:
    store = Store.open(tmp_path / ("a store" if kind == "iceberg" else "store"), create=True)
    store.append(unit(0))
    folder = tmp_path / "a mirror"
    assert mirror(kind, store, folder) == (2, 0)
    check(kind, store, folder)
    assert mirror(kind, store, folder) == (0, 0)
    store.append(unit(1))
    store.append(unit(2))
    assert mirror(kind, store, folder) == (4, 0)
    check(kind, store, folder)
    compact(store)
    assert mirror(kind, store, folder) == (2, 6)
    check(kind, store, folder)
    assert not [path for path in folder.rglob("*.parquet") if "checkpoint" not in path.name]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_an_earlier_tripos_lacks_columns_which_are_null(kind: str, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    older(store.root, store.append(unit(0)).parts, "reused_from")
    folder = tmp_path / "mirror"
    assert mirror(kind, store, folder) == (2, 0)
    store.append(unit(1))
    assert mirror(kind, store, folder) == (2, 0)
    check(kind, store, folder)


def older(root: Path, parts: Any, column: str) -> None:
    """Write the samples of a commit without a column."""
    (part,) = (part for part in parts if part.table == "samples")
    path = root / part.path
    path.chmod(0o644)
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    take_as_written(root)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_says_what_it_did(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(LIBRARIES[kind])
    Store.open(tmp_path / "store", create=True).append(unit(0))
    command = ["store", "mirror", f"--{kind}", str(tmp_path / "mirror"), "--store", str(tmp_path / "store")]
    assert run_command(command) == 0
    assert capsys.readouterr().out == "samples: 1 part added, 0 removed\nscores: 1 part added, 0 removed\n"
    assert run_command(command) == 0
    assert capsys.readouterr().out == "the mirror is up to date\n"


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_library_the_extra_is_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("pyiceberg", "pyiceberg.catalog", "pyiceberg.catalog.sql", "deltalake"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    Store.open(tmp_path / "store", create=True).append(unit(0))
    command = ["store", "mirror", f"--{kind}", str(tmp_path / "mirror"), "--store", str(tmp_path / "store")]
    assert run_command(command) == 2
    said = capsys.readouterr().err
    assert "error[S0114]" in said and f"pip install 'tripos[{kind}]'" in said


def test_a_store_whose_parts_delta_lake_cannot_name_is_refused(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "a store", create=True)
    store.append(unit(0))
    with pytest.raises(StoreError, match="S0114: Delta Lake cannot name the parts of"):
        mirror_delta(store, tmp_path / "mirror")
    assert not (tmp_path / "mirror").exists()
