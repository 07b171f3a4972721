"""Copies of the views that measures read, in memory for as long as many queries are asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

from tripos_warehouse import sql
from tripos_warehouse.query import Connection

COPIED = ("scores", "columns")
"""Each is a join over the whole run, which every query would do again."""
MOST_ROWS = 300_000
"""More are read from the store each time: they would take more memory than they save time."""


@contextmanager
def copied_scores(connection: Connection, benchmark: str) -> Iterator[None]:
    """Show the scores of a benchmark out of a copy in memory, and at the end out of the store again. Where they are
    copied already, or too many, nothing changes."""
    schema = sql.name(benchmark)
    places = {view: (f"{schema}.{view}", sql.name(f"{view} in the store")) for view in COPIED}
    if not _are_few(connection, schema) or _are_copied(connection, benchmark):
        yield
        return
    for view, (shown, stored) in places.items():
        connection.execute(f"create or replace table main.{_copy(benchmark, view)} as from {shown}")
        connection.execute(f"alter view {shown} rename to {stored}")
        connection.execute(f"create view {shown} as from main.{_copy(benchmark, view)}")
    try:
        yield
    finally:
        with suppress(duckdb.ConnectionException):  # what was closed has no copy any more
            for view, (shown, stored) in places.items():
                connection.execute(f"drop view {shown}")
                connection.execute(f"alter view {schema}.{stored} rename to {view}")
                connection.execute(f"drop table main.{_copy(benchmark, view)}")


def _are_few(connection: Connection, schema: str) -> bool:
    counts = " + ".join(f"(select count(*) from {schema}.{view})" for view in COPIED)
    [(rows,)] = connection.execute(f"select {counts}").fetchall()
    return bool(rows <= MOST_ROWS)


def _are_copied(connection: Connection, benchmark: str) -> bool:
    name = f"{benchmark} {COPIED[0]} in memory"
    return bool(connection.execute("select 1 from duckdb_tables() where table_name = ?", [name]).fetchall())


def _copy(benchmark: str, view: str) -> str:
    """Return the name of the copy; with a space in it, it is nobody's table."""
    return sql.name(f"{benchmark} {view} in memory")
