"""What an opening leaves for the next: as good as the opening itself, and never out of date."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.each import each
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import StoreConnection
from tripos_warehouse.store.digests import SEAL, sealed
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import view_cache
from tripos_warehouse.views.connect import connect, snippet

Build = Callable[..., dict[str, list[dict[str, Any]]]]
ALL = "from edubench.{} order by all"
VIEWS = ("scores", "samples", "judgements", "items", "metrics", "rationales")


def kept(root: Path) -> StoreConnection:
    connection = view_cache.connect_cached(root)
    assert connection is not None
    return connection


def _signed(body: dict[str, Any]) -> dict[str, Any]:
    """Return the kept file with its digest, as one who changes it by intention writes it."""
    body.pop(SEAL)
    return json.loads(sealed(body))


def test_a_query_gives_the_same_from_what_is_kept(full: Store) -> None:
    opened = connect(full)  # the first, which finds nothing kept
    for query in (*(f"from edubench.{view} order by all" for view in VIEWS), "from edubench.means()"):
        wanted = opened.execute(query).fetchall()
        assert wanted, query
        assert kept(full.root).execute(query).fetchall() == wanted, query


def test_a_commit_a_move_and_a_tripos_whose_queries_changed_make_it_out_of_date(
    full: Store, run_rows: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert view_cache.connect_cached(full.root) is None, "nothing was opened yet"
    connect(full)
    with monkeypatch.context() as patch:
        patch.setattr(view_cache, "code_version", lambda: "a later one")
        assert view_cache.connect_cached(full.root) is None
    full.append(run_rows("r2", ("late",), minutes=2))
    assert view_cache.connect_cached(full.root) is None
    models = connect(full).execute("select distinct model from edubench.scores order by 1").fetchall()
    assert ("late",) in models
    kept(full.root).close()
    full.root.rename(tmp_path / "elsewhere")
    assert view_cache.connect_cached(tmp_path / "elsewhere") is None


@each("text", ["", "{", "[]", "{}", '{"state": 1}', "\x00"])
def test_a_file_that_is_damaged_counts_as_none(full: Store, text: str) -> None:
    connect(full)
    (full.root / "cache/views.json").write_text(text)
    assert view_cache.read(full.root) is None
    assert connect(full).execute("select count(*) from edubench.scores").fetchall() == [(16,)]


def test_a_part_of_another_size_counts_as_none(full: Store) -> None:
    connect(full)
    part = full.parts("scores")[0]
    part.chmod(0o644)
    part.write_bytes(part.read_bytes() + b"x")
    assert view_cache.read(full.root) is None


@pytest.mark.parametrize(
    "evil",
    ["copy (select 1) to '{out}/x.csv'", "create table t as from read_text('/etc/hostname')", "attach '{out}/x.db'"],
)
def test_statements_of_a_strangers_store_run_in_the_box(full: Store, tmp_path: Path, evil: str) -> None:
    connect(full)
    path = full.root / "cache/views.json"
    body = json.loads(path.read_text("utf-8"))
    body["tables"].insert(0, evil.format(out=tmp_path))
    path.write_text(json.dumps(_signed(body)), "utf-8")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match="the store cannot be read"):
        kept(full.root).execute("from t" if "table t" in evil else "select 1")
    assert sorted(tmp_path.rglob("*")) == before


def test_files_outside_the_store_are_not_let_in(full: Store, tmp_path: Path) -> None:
    connect(full)
    path = full.root / "cache/views.json"
    body = json.loads(path.read_text("utf-8"))
    other = tmp_path / "other.csv"
    other.write_text("1")
    body["files"].append(str(other))
    body["sizes"].append(1)
    path.write_text(json.dumps(_signed(body)), "utf-8")
    assert view_cache.read(full.root) is None


def test_a_store_that_cannot_be_written_is_read_all_the_same(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert connect(full).execute("select count(*) from edubench.scores").fetchall() == [(16,)]
    assert not (full.root / "cache").exists()


def test_the_snippet_makes_the_same_in_a_database_that_knows_nothing_of_us(full: Store) -> None:
    ours = connect(full)
    database = duckdb.connect()
    for _ in range(2):  # it may be pasted again
        database.execute(";\n".join(snippet(full)))
    for query in (
        *(ALL.format(view) for view in ("scores", "items", "rationales")),
        "from edubench.means()",
        "from spending()",
    ):
        assert database.execute(query).fetchall() == ours.execute(query).fetchall() != []
