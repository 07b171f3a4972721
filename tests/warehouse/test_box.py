"""A query that tries to get out: files, the network, extensions, settings, writing. Each is refused with a code."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.each import each
from tripos.api.results import Results
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query import connection as box, relations
from tripos_warehouse.query.results import run_query
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]
SECRET = "what nobody may read"

READS = [
    "select * from read_csv('{secret}')",
    "select * from read_csv_auto('{secret}')",
    "select * from sniff_csv('{secret}')",
    "select * from read_text('{secret}')",
    "select * from read_blob('{secret}')",
    "select * from read_json('{secret}')",
    "select * from read_json_auto('{secret}')",
    "select * from read_ndjson_objects('{secret}')",
    "select * from read_parquet('{secret}')",
    "select * from parquet_scan('{secret}')",
    "select * from parquet_metadata('{secret}')",
    "select * from parquet_schema('{secret}')",
    "select * from parquet_kv_metadata('{secret}')",
    "select * from parquet_file_metadata('{secret}')",
    "select * from '{secret}'",
    'select * from "{secret}"',
    "select * from glob('{folder}/*')",
    "select * from glob('/etc/*')",
    "select * from read_text('/proc/self/environ')",
    "select * from read_text('/proc/self/fd/0')",
    "select * from read_text(['{part}', '{secret}'])",
    "select * from read_text('{part}/../../../../{secret_name}')",
    "select * from read_text('file://{secret}')",
    "select * from read_parquet('{store}/parts/scores/*.parquet')",
    "select * from read_text('{store}/tripos-store.json')",
    "select * from read_text('{link}')",
    "with x as (from read_text('{secret}')) select * from x",
    "select (select content from read_text('{secret}'))",
    "select * from query('from read_text(''{secret}'')')",
    "select * from query_table('{secret}')",
    "from edubench.scores where value = (select count(*) from read_csv('{secret}'))",
    "summarize '{secret}'",
    "describe '{secret}'",
    "explain analyze select * from read_text('{secret}')",
    "pivot '{secret}' on x",
]
NETWORK = [
    "select * from read_csv('http://127.0.0.1:{port}/x.csv')",
    "select * from read_parquet('https://127.0.0.1:{port}/x.parquet')",
    "select * from 'http://127.0.0.1:{port}/x.csv'",
    "select * from read_parquet('s3://bucket/x.parquet')",
    "select * from read_parquet('gcs://bucket/x.parquet')",
    "select * from read_parquet('hf://datasets/a/b.parquet')",
    "select * from read_text('azure://x/y')",
    "select * from iceberg_scan('http://127.0.0.1:{port}/x')",
    "select * from delta_scan('http://127.0.0.1:{port}/x')",
    "select * from sqlite_scan('{secret}', 't')",
    "select * from postgres_scan('host=127.0.0.1 port={port}', 'public', 't')",
    "select * from sqlsmith()",
]
INSIDE = [
    "select getenv('HOME')",
    "select * from secret_variable",
    "select * from secret_frame",
    "select * from which_secret('s3://x', 's3')",
]
DOES = [
    "copy scores to '{out}'",
    "copy (select 1) to '{out}' (use_tmp_file false)",
    "copy (select 1) to '{part}' (use_tmp_file false)",
    "copy (select 1) to '{part}' (format csv, use_tmp_file false)",
    "with x as (copy (select 1) to '{part}' (use_tmp_file false, format csv)) from x",
    "with x as materialized (copy (select 1) to '{part}' (use_tmp_file false)) select 1",
    "with x as (\u200bcopy (select 1) to '{part}' (use_tmp_file false)) from x",
    "with x as (/* ) */ copy/**/(select 1) to '{part}' (use_tmp_file false)) from x",
    "with ü as (select 'ü' as a), x as (copy ü to '{part}' (use_tmp_file false)) from x",
    "with x as (copy (select 1) to '{part}' (use_tmp_file false)) pivot x on Count",
    "explain analyze with x as (copy (select 1) to '{part}' (use_tmp_file false)) from x",
    "from query('with x as (copy (select 1) to ''{part}'' (use_tmp_file false)) from x')",
    "select * from (with x as (copy (select 1) to '{part}' (use_tmp_file false)) from x)",
    "with x as (insert into main.runs select * from main.runs returning run_id) from x",
    "with x as (delete from main.runs returning run_id) from x",
    "with x as (update main.runs set run_id = 'x' returning run_id) from x",
    "copy (pivot edubench.scores on model using avg(value)) to '{out}'",
    "copy scores to '{folder}' (partition_by (model))",
    "copy scores from '{secret}'",
    "copy scores to '/dev/stdout'",
    "explain analyze copy scores to '{out}'",
    "explain /* select */ analyze copy (select 1) to '{part}' (use_tmp_file false)",
    "call pragma_version()",
    "drop view main.scores",
    "export database '{folder}/all'",
    "import database '{folder}/all'",
    "attach '{out}' as x",
    "attach '{secret}' as x (type sqlite)",
    "attach ':memory:' as x",
    "attach 'http://127.0.0.1:{port}/x.db' as x",
    "install httpfs",
    "force install httpfs from 'http://127.0.0.1:{port}'",
    "load httpfs",
    "load '{secret}'",
    "update extensions",
    "create secret s (type s3, key_id 'x', secret 'y')",
    "create persistent secret s (type http)",
    "set enable_external_access = true",
    "set global allowed_directories = ['/']",
    "set lock_configuration = false",
    "set variable x = 1",
    "reset allowed_paths",
    "set temp_directory = '{folder}'",
    "set log_query_path = '{out}'",
    "set profiling_output = '{out}'",
    "set home_directory = '{folder}'",
    "set custom_extension_repository = 'http://127.0.0.1:{port}'",
    "pragma enable_profiling = 'json'",
    "pragma profiling_output = '{out}'",
    "pragma database_list",
    "call enable_logging(storage = 'file', storage_config = {{'path': '{out}'}})",
    "checkpoint",
    "vacuum",
    "create table t as from scores",
    "create view v as from scores",
    "create macro m() as 1",
    "create or replace macro edubench.means() as table select 1",
    "create type edubench.metric as enum ('x')",
    "drop schema edubench cascade",
    "insert into scores select * from scores",
    "update scores set value = 10",
    "delete from scores",
    "alter table scores add column x int",
    "begin",
    "prepare x as copy scores to '{out}'",
    "execute x",
    "deallocate x",
    "use edubench",
    "comment on table scores is 'x'",
    "select 1; copy scores to '{out}'",
    "/* select */ copy scores to '{out}'",
    "-- from\ncopy scores to '{out}'",
]

secret_variable = SECRET


@pytest.fixture
def places(store: Store, run_rows: Build, tmp_path: Path) -> dict[str, Any]:
    """A store, files beside it, and a port on which nobody is ever heard."""
    store.append(run_rows("r1"))
    secret, folder, link = tmp_path / "secret.csv", tmp_path / "folder", tmp_path / "link.csv"
    secret.write_text(SECRET)
    folder.mkdir()
    link.symlink_to(secret)
    [part] = store.parts("scores")
    names = {"secret": secret, "secret_name": secret.name, "folder": folder, "link": link, "out": folder / "out.csv"}
    return names | {"store": store.root, "part": part}


@pytest.fixture
def connection(store: Store, places: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    return connect(store)


@pytest.fixture
def results(store: Store, places: dict[str, Any]) -> Iterator[Results]:
    with Results(store) as opened:
        yield opened


def content(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(root.rglob("*"))}


@each("query", [*READS, *NETWORK, *INSIDE])
def test_a_query_that_reaches_out_is_refused_and_reaches_nothing(
    connection: duckdb.DuckDBPyConnection, places: dict[str, Any], tmp_path: Path, query: str
) -> None:
    secret_frame = {"x": [SECRET]}
    before = content(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(StoreError) as caught:
            run_query(connection, query.format(port=server.getsockname()[1], **places))
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    outside = query in READS and "query_table" not in query
    assert caught.value.code in (("S0205",) if outside else ("S0201", "S0204", "S0205"))
    assert SECRET not in str(caught.value)
    assert content(tmp_path) == before
    assert secret_frame


@each("query", DOES)
def test_a_statement_that_does_something_is_refused_before_it_is_run(
    connection: duckdb.DuckDBPyConnection, places: dict[str, Any], tmp_path: Path, query: str
) -> None:
    before = content(tmp_path)
    with pytest.raises(StoreError) as caught:
        run_query(connection, query.format(port=9, **places))
    assert caught.value.code in ("S0203", "S0201", "S0205")
    assert content(tmp_path) == before
    assert run_query(connection, "from edubench.scores").num_rows == 16


@each("query", DOES)
def test_the_results_in_python_refuse_the_same(
    results: Results, places: dict[str, Any], tmp_path: Path, query: str
) -> None:
    before = content(tmp_path)
    with pytest.raises(StoreError):
        results.sql(query.format(port=9, **places))
    assert content(tmp_path) == before


def test_names_that_are_words_of_statements_can_be_asked_for(store: Store) -> None:
    query = "select count(copy), (update), sum(insert + 1) from (select 1 as copy, 2 as update, 3 as insert) group by 2"
    assert run_query(connect(store), query).num_rows == 1


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "create": lambda relation, path: relation.create("t"),
    "create_view": lambda relation, path: relation.create_view("v"),
    "insert": lambda relation, path: relation.insert([1]),
    "insert_into": lambda relation, path: relation.insert_into("t"),
    "query": lambda relation, path: relation.query("r", f"copy r to '{path}' (use_tmp_file false)"),
    "to_csv": lambda relation, path: relation.to_csv(path, use_tmp_file=False),
    "to_parquet": lambda relation, path: relation.to_parquet(path, use_tmp_file=False),
    "to_table": lambda relation, path: relation.to_table("t"),
    "to_view": lambda relation, path: relation.to_view("v"),
    "update": lambda relation, path: relation.update({"value": 10}),
    "write_csv": lambda relation, path: relation.write_csv(path, use_tmp_file=False),
    "write_parquet": lambda relation, path: relation.write_parquet(path, use_tmp_file=False),
}
"""Every method of a relation that does more than read, and how it is called."""


def methods() -> set[str]:
    """Return what can be called of a relation of DuckDB."""
    kind = duckdb.DuckDBPyRelation
    return {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}


def test_every_method_of_a_relation_is_known_to_read_or_not() -> None:
    assert methods() - relations.READS == set(WAYS)


@each("way", WAYS)
def test_a_relation_does_nothing_but_read(results: Results, places: dict[str, Any], tmp_path: Path, way: str) -> None:
    made = results.sql("from edubench.scores").filter("value is not null")
    before = content(tmp_path)
    for relation in (made, made.limit(3), made["value"], made.value, made.group_by("model").agg("model, avg(value)")):
        for place in ("out", "part"):
            with pytest.raises(StoreError, match="S0205"):
                WAYS[way](relation, str(places[place]))
    assert content(tmp_path) == before
    assert results.sql("from edubench.scores").shape[0] == 16


ASKED: dict[str, Callable[[Any, str], Any]] = {
    "aggregate": lambda relation, asked: relation.aggregate(asked),
    "filter": lambda relation, asked: relation.filter(asked),
    "join": lambda relation, asked: relation.set_alias("a").join(relation.set_alias("b"), asked),
    "order": lambda relation, asked: relation.order(asked),
    "project": lambda relation, asked: relation.project(asked),
    "select": lambda relation, asked: relation.select(duckdb.SQLExpression(asked)),
    "sum": lambda relation, asked: relation.sum(asked),
}
TRICKS = [
    "(select content from read_text('{secret}')) is not null",
    "(with x as (copy (select 1) to '{part}' (use_tmp_file false)) select true from x)",
    "true; copy (select 1) to '{part}' (use_tmp_file false)",
    "true) from (select 1); copy (select 1) to '{part}' (use_tmp_file false); select (1",
]


@each("way", ASKED)
def test_an_expression_of_a_relation_reaches_nothing(
    results: Results, places: dict[str, Any], tmp_path: Path, way: str
) -> None:
    relation = results.sql("from edubench.scores")
    before = content(tmp_path)
    for trick in TRICKS:
        with pytest.raises((duckdb.Error, StoreError)) as caught:
            ASKED[way](relation, trick.format(**places)).fetchall()
        assert SECRET not in str(caught.value)
        assert content(tmp_path) == before


def test_what_reads_still_does(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    with Results(store) as results:
        relation = results.sql("select model, value from edubench.scores")
        assert isinstance(relation, duckdb.DuckDBPyRelation)
        assert relation.union(relation).count("*").fetchall() == [(32,)]
        assert pa.table(relation).num_rows == 16


def test_a_small_store_is_read_by_one_thread_and_a_large_one_by_as_many_as_there_are(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(box.SMALL_BYTES)
    query = "select current_setting('threads')"
    assert box.open_sandbox([str(small)]).execute(query).fetchone() == (1,)
    assert box.open_sandbox([str(large)]).execute(query).fetchone() == duckdb.connect().execute(query).fetchone()
