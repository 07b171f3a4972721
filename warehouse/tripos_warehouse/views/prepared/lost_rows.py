"""Rows that do not count, since another row of their key does: those that failed first, and those that came again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tripos_warehouse import sql
from tripos_warehouse.query import StoreConnection, duckdb
from tripos_warehouse.store import TableSchema, is_failed
from tripos_warehouse.views.run_rows import INTERNAL


def with_doubles(
    connection: duckdb.DuckDBPyConnection, sources: Mapping[str, str], keys: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the tables in which several rows may have one of the `keys`, found in one query: each costs more than what
    it reads. Of large tables `has_doubles` says so."""
    # By hash: of a million keys that takes a tenth of the memory. Two keys of one hash are told apart afterwards.
    parts = (
        f"""select {sql.text(name)} where exists (
          select 1 from {source} group by hash({", ".join(keys[name])}) having count(*) > 1)"""
        for name, source in sources.items()
    )
    query = " union all ".join(parts)
    return {name for (name,) in connection.execute(query).fetchall()} if query else set()


def without_lost(
    connection: duckdb.DuckDBPyConnection,
    table: TableSchema,
    source: str,
    places: Sequence[int],
    columns: Sequence[str],
) -> tuple[list[str], str]:
    """Return a condition without the rows that another row of their key, which is in `columns`, replaces, and the
    statement that lists those; empty where there are none.

    The row that did not fail wins, then the one committed last. The places of the others are kept, so
    that a view over wide rows needs no sort: doubles are few, as only failed units are tried again.
    """
    key = ", ".join(columns)
    # By hash: of a million keys that takes a tenth of the memory. Two keys of one hash are told apart by `partition`.
    doubles = f"select hash({key}) as hashed from {source} group by hashed having count(*) > 1"
    failed_last = f"{is_failed(table.schema.names)}, " if "status" in table.schema.names else ""
    committed = "file_index" if [*places] == sorted(places) else f"({[*places]})[file_index::bigint + 1]"
    found = connection.execute(
        f"""select file_index, file_row_number from (
          select file_index, file_row_number,
            row_number() over (partition by {key}
              order by {failed_last}{committed} desc, file_row_number desc) as place
          from {source} where hash({key}) in ({doubles}))
        where place > 1 order by all"""
    ).fetchall()
    if not found:
        return [], ""
    lost = lost_name(table.name)
    files, rows = ([row[place] for row in found] for place in (0, 1))
    made = f"create or replace table {lost} as select unnest({files}) as file_index, unnest({rows}) as file_row_number"
    return [made], is_none_of(lost)


def rows_beside(
    connection: StoreConnection,
    tables: Sequence[str],
    table: str,
    source: str,
    read: Sequence[Path],
    kept: Collection[Path],
) -> tuple[str, list[Path]]:
    """Return a query for the rows of a table, of the files `read`, that are in none of the parts of which all rows
    count, and these parts: those of which something is kept, and in which no row does not count, since another of its
    key does. `tables` are the statements that make the tables."""
    lost, condition, spoilt = lost_name(table), "", set()
    if any(each.startswith(f"create or replace table {lost} ") for each in tables):
        condition = is_none_of(lost)
        spoilt = {place for (place,) in connection.execute(f"select distinct file_index from {lost}").fetchall()}
    whole = {place: path for place, path in enumerate(read) if path in kept and place not in spoilt}
    if whole:
        others = f"part.file_index not in ({', '.join(map(str, whole))})"
        condition = f"{condition} and {others}" if condition else f"where {others}"
    return f"select * from {source} as part {condition}", [*whole.values()]


def is_none_of(lost: str) -> str:
    """Return the condition that a row of a table is none of the lost ones."""
    return (
        f"where not exists (from {lost} as lost"
        " where lost.file_index = part.file_index and lost.file_row_number = part.file_row_number)"
    )


def lost_name(table: str) -> str:
    """Return the name of the table of the rows of a table that do not count."""
    return f"{sql.name(INTERNAL)}.{sql.name(f'lost {table}')}"
