"""The values that large parts have in columns that are enumerations, kept in the store for each part."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from tripos_warehouse import sql
from tripos_warehouse.query import Connection, duckdb
from tripos_warehouse.store import VALUES, Store
from tripos_warehouse.views.prepared.part_files import PartFiles

Value = tuple[str, str, str]
"""A value of a column of a benchmark: benchmark, column, value."""
_OF_CONTEXT = """
  select benchmark, unnest(map_entries(context)).key as "column", unnest(map_entries(context)).value as value from found
  union all select benchmark, 'scenario', scenario from found"""
_FOUND = {
    "items": (
        "benchmark, scenario, language, context",
        f"{_OF_CONTEXT} union all select benchmark, 'language', language from found",
    ),
    "samples": ("benchmark, scenario, context", _OF_CONTEXT),
    "scores": (
        "benchmark, scenario, metric",
        "select benchmark, 'scenario' as \"column\", scenario as value from found"
        " union all select benchmark, 'metric', metric from found",
    ),
}
VALUED = tuple(_FOUND)
"""The tables with such columns."""


def _query(table: str, source: str) -> str:
    columns, found = _FOUND[table]
    return f"""with found as (select distinct {columns} from {source})
      select distinct benchmark, "column", value from ({found}) where value is not null order by all"""


def stored_values(
    connection: Connection, others: Mapping[str, tuple[str, Collection[Value]]] = {}
) -> dict[str, dict[str, list[str]]]:
    """Return by benchmark the values that the data have in columns that are enumerations: scenarios, metrics, axes.
    A plan lists those of today; an item that an earlier one had may have others.

    `others` are tables of which the values of some rows are known, with a query for the others.
    """
    every: set[Value] = set()
    for table in VALUED:
        source, known = others.get(table, (f"main.{table}", ()))
        every |= {*known, *connection.execute(_query(table, source)).fetchall()}
    found: dict[str, dict[str, list[str]]] = {}
    for benchmark, column, value in sorted(every):
        found.setdefault(benchmark, {}).setdefault(column, []).append(value)
    return found


def kept_values(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, parts: Sequence[Path]
) -> dict[Path, list[Value]]:
    """Return the values of each part that has a file of them; those that are missing are kept, where the store can be
    written to. Raises `StoreError` S0103 where a part has changed since it was written."""
    files = value_files(store, table)
    found: dict[Path, list[Value]] = {}
    with suppress(OSError):
        names = files.names(parts)
        kept = files.read(names)
        for part, name in names.items():
            if part in kept:
                found[part] = [(one, two, three) for one, two, three in json.loads(kept[part].read_text("utf-8"))]
                continue
            files.verify(part)
            rows = connection.execute(_query(table, f"read_parquet({sql.texts([str(part)])})")).fetchall()
            found[part] = rows
            told = json.dumps(rows, ensure_ascii=False).encode()
            files.write(name, partial(_write, told))
    return found


def _write(told: bytes, path: Path) -> None:
    path.write_bytes(told)


def value_files(store: Store, table: str) -> PartFiles:
    """Return the files of the values of a table."""
    return PartFiles(store.root, store.digests(), VALUES, _query(table, "part"), "json")
