"""Doubles: rows of a table that another row of their key replaces."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query import as_relation, duckdb
from tripos_warehouse.store import TableSchema, is_failed

Numbers = npt.NDArray[np.int64]
NO_ROWS: Numbers = np.empty(0, np.int64)


def open_database() -> duckdb.DuckDBPyConnection:
    """Return a DuckDB in memory that spills large sorts to a folder of its own."""
    folder = str(Path(tempfile.gettempdir()) / f"tripos-{uuid.uuid4().hex}")
    return duckdb.connect(":memory:", config={"temp_directory": folder, "autoload_known_extensions": False})


def lost_rows(database: duckdb.DuckDBPyConnection, table: TableSchema, paths: Sequence[Path]) -> dict[Path, Numbers]:
    """Return the numbers of the rows of each part that do not count, ascending; parts without any are absent.

    `database` is what `open_database` returned, and `paths` are in the order of their commits. Of the rows of one key
    the last counts that did not fail, or else the last. Raises `StoreError` S0103 where a part cannot be read.
    """
    if not paths:
        return {}
    source = f"read_parquet({sql.texts([str(path) for path in paths])}, union_by_name = true)"
    key = ", ".join(table.key)
    failed_last = f"{is_failed(table.schema.names)}, " if "status" in table.schema.names else ""
    query = f"""select file_index, file_row_number from (
          select file_index, file_row_number,
            row_number() over (partition by {key}
              order by {failed_last}file_index desc, file_row_number desc) as place
          from {source} semi join (select {key} from {source} group by {key} having count(*) > 1) using ({key}))
        where place > 1 order by all"""
    try:
        found: Any = as_relation(database, query).to_arrow_table()
    except duckdb.Error as error:
        message = f"the table `{table.name}` cannot be read: {' '.join(str(error).split())}"
        raise StoreError("S0103", message, "find the damaged file with `tripos store check`") from error
    parts: Numbers = found["file_index"].to_numpy().astype(np.int64)
    rows: Numbers = found["file_row_number"].to_numpy().astype(np.int64)
    return {paths[part]: rows[parts == part] for part in np.unique(parts).tolist()}


def without(batch: pa.RecordBatch, first: int, lost: Numbers | None) -> pa.RecordBatch:
    """Return the rows of a batch that count; its first row has the number `first` in its part."""
    if lost is None:
        return batch
    here = lost[(lost >= first) & (lost < first + batch.num_rows)] - first
    if not len(here):
        return batch
    keep: Any = np.ones(batch.num_rows, bool)
    keep[here] = False
    return batch.filter(pa.array(keep))
