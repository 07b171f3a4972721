"""Rows that do not count, since another row of their key does: those that failed first, and those that came again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import duckdb

from tripos_warehouse import sql
from tripos_warehouse.store import FAILED, TableSchema
from tripos_warehouse.views.run_rows import INTERNAL


def with_doubles(
    connection: duckdb.DuckDBPyConnection,
    sources: Mapping[str, str],
    large: Collection[str],
    keys: Mapping[str, Sequence[str]],
) -> set[str]:
    """Return the tables in which several rows may have one of the `keys`. Of those that are not `large` they are found
    in one query: each costs more than what it reads."""
    # By hash: of a million keys that takes a tenth of the memory. Two keys of one hash are told apart afterwards.
    parts = (
        f"""select {sql.text(name)} where exists (
          select 1 from {source} group by hash({", ".join(keys[name])}) having count(*) > 1)"""
        for name, source in sources.items()
        if name not in large
    )
    query = " union all ".join(parts)
    found = {name for (name,) in connection.execute(query).fetchall()} if query else set()
    return found | {name for name in large if _has_doubles(connection, keys[name], sources[name])}


def _has_doubles(connection: duckdb.DuckDBPyConnection, key: Sequence[str], source: str) -> bool:
    """Return true if several rows of a large table may have one key: sorted, their hashes take 8 bytes a row, of which
    DuckDB takes 80 to group them."""
    import numpy as np

    [(rows,)] = connection.execute(f"select count(*) from {source}").fetchall()
    hashes, place = np.empty(rows, np.uint64), 0
    for batch in connection.sql(f"select hash({', '.join(key)}) as hashed from {source}").to_arrow_reader(2**17):
        hashes[place : place + len(batch)] = batch.column(0).to_numpy()
        place += len(batch)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


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
    failed_last = f"status = {sql.text(FAILED)}, " if "status" in table.schema.names else ""
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


def is_none_of(lost: str) -> str:
    """Return the condition that a row of a table is none of the lost ones."""
    return (
        f"where not exists (from {lost} as lost"
        " where lost.file_index = part.file_index and lost.file_row_number = part.file_row_number)"
    )


def lost_name(table: str) -> str:
    """Return the name of the table of the rows of a table that do not count."""
    return f"{sql.name(INTERNAL)}.{sql.name(f'lost {table}')}"
