"""A view is made when a query first names it, and whoever asks sees no difference."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from tests.each import each
from tests.lengths import ALL
from tripos.api.results import Results
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import StoreConnection, Views
from tripos_warehouse.query.statements import tables_and_macros
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import connect as connections, view_cache
from tripos_warehouse.views.connect import connect, snippet

Build = Callable[..., dict[str, list[dict[str, Any]]]]


def eager(store: Store) -> duckdb.DuckDBPyConnection:
    """Return a database in which all is made."""
    connection = connect(store)
    connection.make_views()
    return connection.database


@pytest.fixture
def every(full: Store) -> duckdb.DuckDBPyConnection:
    """A database over that store in which all is made."""
    return eager(full)


def made(connection: StoreConnection) -> set[str]:
    """Return the views and macros that are there."""
    found = connection.database.execute(
        """select schema_name || '.' || view_name from duckdb_views() where not internal
        union all select schema_name || '.' || function_name from duckdb_functions()
        where function_type = 'table_macro' and not internal"""
    ).fetchall()
    return {name for (name,) in found}


def test_every_view_and_macro_gets_all_that_it_needs_and_no_query_fails_first(full: Store) -> None:
    every = eager(full)
    names = tables_and_macros(every)
    assert {"scores", "edubench.scores", "edubench.means()", "spending()"} <= names.keys()
    statements = snippet(full)
    for number, name in enumerate(names):
        written = name.replace("subset_gap()", "subset_gap('half')")  # the one macro that has to be told something
        query = f"from {written} order by all"
        wanted = every.execute(query).fetchall()
        with duckdb.connect() as alone:
            for statement in Views(statements).needed(query):
                alone.execute(statement)
            if "tripos_" not in query:
                assert alone.execute(query).fetchall() == wanted, name
        if ALL or number % 5 == 0:
            with connect(full) as connection:
                assert connection.execute(query).fetchall() == wanted, name


def test_a_query_makes_no_more_than_it_names(full: Store) -> None:
    connection = connect(full)
    before = made(connection)
    assert not {name for name in before if name.startswith("edubench.")}
    connection.execute("select count(*) from edubench.metrics")
    assert made(connection) - before == {"edubench.metrics"}
    connection.execute("from edubench.means()")
    assert {"edubench.means", "edubench.scores"} <= made(connection)
    assert not {"edubench.worst", "edubench.turns", "main.vectors"} & made(connection)


@each(
    "query",
    [
        "select count(*) from EduBench.SCORES",
        'select count(*) from "edubench" . "scores"',
        "select count(*) from\n edubench\n.\nscores",
        "select count(*) from edubench /* of today */ . /* all */ scores",
        "select count(*) from memory.edubench.scores",
        "select count(*) from query_table('edubench.sco' || 'res')",
        "select count(*) from query('from edubench.sco' || 'res')",
        "with kept as (from edubench.scores) select count(*) from kept",
        "pivot (select count(*) as n from edubench.scores) on n using first(n)",
    ],
)
def test_a_view_is_found_however_it_is_named(full: Store, every: duckdb.DuckDBPyConnection, query: str) -> None:
    with connect(full) as connection:
        assert connection.execute(query).fetchall() == every.execute(query).fetchall()


@each(
    "query",
    [
        "show tables",
        "show all tables",
        "describe",
        "desc",
        "/* all */ desc;",
        "from (describe)",
        "describe edubench.scores",
        "select table_schema, table_name from information_schema.tables order by all",
        "select schema_name, view_name from duckdb_views() where not internal order by all",
        "select table_name, column_name from duckdb_columns() where not internal order by all",
        "select function_name from duckdb_functions() where not internal order by all",
        "select tablename from pg_catalog.pg_tables order by all",
        "select name from sqlite_master order by all",
        "from query('from duckdb_' || 'views()') order by all",
    ],
)
def test_who_asks_what_there_is_sees_all(full: Store, every: duckdb.DuckDBPyConnection, query: str) -> None:
    with connect(full) as connection:
        lazy = connection.execute(query).fetchall()
    wanted = every.execute(query).fetchall()
    assert [_without_place(row) for row in lazy] == [_without_place(row) for row in wanted] != []


def _without_place(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the texts of a row: numbers of the catalogue tell in which order things were made."""
    return tuple(each for each in row if isinstance(each, str | list))


def test_a_name_that_is_nowhere_is_an_error_as_ever(full: Store) -> None:
    connection = connect(full)
    for query, error in (("from edubench.nothing", duckdb.CatalogException), ("select x", duckdb.BinderException)):
        for ask in (connection.execute, connection.sql):
            with pytest.raises(error):
                ask(query)


def test_cursors_and_threads_make_a_view_once(full: Store) -> None:
    connection = connect(full)
    queries = [f"select count(*) from edubench.{view}" for view in ("scores", "samples", "rationales", "items")] * 4
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda query: connection.cursor().execute(query).fetchall(), queries))
    every = eager(full)
    assert found == [every.execute(query).fetchall() for query in queries]


def test_rows_that_are_fetched_bit_by_bit_outlive_a_view_that_is_made(full: Store) -> None:
    connection = connect(full)
    reader = connection.cursor().sql("from edubench.scores").to_arrow_reader(1)
    assert reader is not None
    first = reader.read_next_batch()
    connection.execute("from edubench.judgements").fetchall()
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 16


def test_a_relation_takes_a_condition_that_names_another_view(full: Store) -> None:
    with Results(full) as results:
        scores = results.sql("from edubench.scores")
        assert len(scores.filter("item_id in (select item_id from edubench.items)").fetchall()) == 16
        assert len(scores.filter("item_id in (select transcript from edubench.conversations)").fetchall()) == 0


def test_a_store_that_cannot_be_read_is_told_when_it_is_opened(full: Store) -> None:
    connect(full)
    part = full.parts("scores")[0]
    size = part.stat().st_size
    part.chmod(0o644)
    part.write_bytes(b"\0" * size)
    assert view_cache.read(full.root) is None  # the views of a store whose bytes have changed are made anew
    with pytest.raises(StoreError, match="the store cannot be read") as raised:
        connect(full)
    assert raised.value.code == "S0103"


def test_a_view_that_cannot_be_made_is_an_error_of_the_store(full: Store) -> None:
    connection = connect(full)
    part = full.parts("judgements")[0]
    part.chmod(0o644)
    part.unlink()
    with pytest.raises((StoreError, duckdb.Error)) as raised:
        connection.execute("from edubench.judgements")
    assert isinstance(raised.value, duckdb.Error) or raised.value.code == "S0103"


def test_a_second_attempt_without_damaged_rows_has_its_own_run(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = iter(["lost", "left"])

    def find_run(_connection: object, _text: str | None) -> SimpleNamespace:
        return SimpleNamespace(run_id=next(attempts), benchmark="demo")

    def connect_twice(_store: object, chosen: Callable[[object], str], **_options: object) -> list[str]:
        return [chosen(None), chosen(None)]

    monkeypatch.setattr(connections, "find_run", find_run)
    monkeypatch.setattr(connections, "_connect", connect_twice)
    shown, run = connections.connect_run(object())  # type: ignore[arg-type]
    assert (shown, run.run_id) == (["lost", "left"], "left")
