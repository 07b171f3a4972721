"""Parts of an earlier version of a schema are read as if they were of today."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.warehouse.keeping import PRINTS, name, sample, unit
from tests.warehouse.rewriting import change_parts, take_as_written
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.store.parts import conform
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]


@pytest.fixture
def old(store: Store) -> Store:
    """A store whose first samples were written before `tokens_reasoning` was thought of."""
    commit = store.append({"samples": [sample("old")]})
    [part] = commit.parts
    path = store.root / part.path
    content = pq.read_table(path).drop_columns(["tokens_reasoning"])
    path.unlink()
    pq.write_table(content, path)
    listed = store.root / "commits" / f"{commit.name}.json"
    change_parts(listed, lambda part: part.update(version=1))
    take_as_written(store.root)
    return Store.open(store.root, create=False)


@pytest.mark.parametrize("also_new", [False, True])
def test_sql_sees_a_newer_column_of_an_old_part_as_null(old: Store, also_new: bool) -> None:
    if also_new:
        old.append({"samples": [sample("new", tokens_reasoning=7)]})
    found = connect(old).sql("select tokens_reasoning from samples order by all").fetchall()
    assert found == ([(7,), (None,)] if also_new else [(None,)])


@pytest.mark.parametrize("also_new", [False, True])
def test_a_column_that_an_old_key_lacks_is_null_in_it(store: Store, run_rows: Build, also_new: bool) -> None:
    """The rows of an old table are told apart by the columns that it has, and are the same as before."""
    query = "select binding, fingerprint, model, other, condition from run_steps where run_id = 'r1' order by all"
    commit = store.append(run_rows("r1", ("m1", "m2")))
    wanted = connect(store).sql(query).fetchall()
    [place] = [place for place, part in enumerate(commit.parts) if part.table == "run_steps"]
    path = store.root / commit.parts[place].path
    content = pq.read_table(path).drop_columns(["condition"])
    path.unlink()
    pq.write_table(content, path)
    listed = store.root / "commits" / f"{commit.name}.json"
    change_parts(listed, lambda part: part["table"] == "run_steps" and part.update(version=1))
    take_as_written(store.root)
    old = Store.open(store.root, create=False)
    if also_new:
        old.append(run_rows("r2", ("m1", "m2"), minutes=1))
    assert connect(old).sql(query).fetchall() == wanted != []


def test_the_ledger_gives_rows_of_old_parts_with_every_column(old: Store) -> None:
    with open_ledger(old, PRINTS) as ledger:
        assert ledger.rows("samples", [name("sample", "old")]) == {name("sample", "old"): sample("old")}


def test_compaction_brings_old_parts_up_to_date(old: Store) -> None:
    old.append(unit("new"))
    assert compact(old) is not None
    [path] = old.parts("samples")
    assert pq.read_schema(path).names == TABLES["samples"].schema.names
    assert old.outdated(old.files()) == set()


def test_a_run_of_old_listed_its_own_items(tmp_path: Path) -> None:
    content = pa.table({"run_id": ["r1", "r2"]})
    assert conform("runs", ["items_of"], content)["items_of"].to_pylist() == ["r1", "r2"]
