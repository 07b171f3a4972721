"""The contents of a store, in a form in which two stores of the same work are equal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import orjson

from tests.kills.work import KEPT
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

Contents = Mapping[str, list[bytes]]
"""The rows of each table as sorted lines of JSON, without what depends on when and by whom they were made."""


def contents(store: Path) -> Contents:
    """Return what SQL shows of a store."""
    connection = connect(Store.open(store, create=False))
    try:
        return {table: _lines(connection, table) for table in KEPT}
    finally:
        connection.close()


def _lines(connection: duckdb.DuckDBPyConnection, table: str) -> list[bytes]:
    columns = TABLES[table].content
    rows = connection.execute(f"select {', '.join(columns)} from main.{table}").fetchall()
    return sorted(orjson.dumps(dict(zip(columns, row, strict=True)), option=orjson.OPT_SORT_KEYS) for row in rows)


def differences(found: Contents, expected: Contents) -> list[str]:
    """For every table that is not as expected, how many rows are too many and too few, and the first of each."""
    told = []
    for table in KEPT:
        more = sorted(set(found[table]) - set(expected[table]))
        less = sorted(set(expected[table]) - set(found[table]))
        if found[table] != expected[table]:
            counts = f"{len(found[table])} rows for {len(expected[table])}, {len(more)} others, {len(less)} missing"
            told.append(f"`{table}` has {counts}\n  found    {more[:1]}\n  expected {less[:1]}")
    return told


def doubles(store: Path) -> list[str]:
    """Return the tables in whose parts a name occurs more than once."""
    opened = Store.open(store, create=False)
    told = []
    for table in ("samples", "judgements", "scores"):
        paths = [str(path) for path in opened.parts(table)]
        if not paths:
            continue
        (key,) = TABLES[table].key
        query = f"select count(*), count(distinct {key}) from read_parquet(?)"
        row = duckdb.connect().execute(query, [paths]).fetchone()
        assert row is not None
        if row[0] != row[1]:
            told.append(f"`{table}` has {row[0]} rows of {row[1]} names")
    return told
