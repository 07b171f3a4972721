"""Mirrors of a store as Iceberg or Delta Lake tables, which other engines read without a copy of the rows.

Only metadata is written. Each time a store is mirrored, a table whose parts have changed gets a new snapshot with
exactly the parts that count now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tripos_warehouse.errors import StoreError, store_write_error
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import Table


NAMESPACE = "tripos"
CATALOG = "catalog.db"
NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True)
class MirroredTable:
    """A table of a mirror: the number of its parts, and how many were added and removed."""

    table: str
    parts: int
    added: int
    removed: int


def mirror_iceberg(store: Store, folder: Path) -> list[MirroredTable]:
    """Publish the tables of a store as Iceberg tables, with an SQLite catalog.

    Raises `StoreError`: S0102 if the folder cannot be written, S0103 and S0104 as `Store.verify` does, S0114 if the
    library is missing.
    """
    with _library("pyiceberg", "iceberg", folder):
        from pyiceberg.catalog.sql import SqlCatalog

        logging.getLogger("pyiceberg").setLevel(logging.ERROR)  # it warns about each column without statistics
        folder.mkdir(parents=True, exist_ok=True)
        catalog = SqlCatalog(NAMESPACE, uri=f"sqlite:///{folder / CATALOG}", warehouse=folder.as_uri())
        catalog.create_namespace_if_not_exists(NAMESPACE)
        try:
            return [_iceberg_table(catalog, store, table, paths) for table, paths in store.files().items()]
        finally:
            catalog.close()


def _iceberg_table(catalog: SqlCatalog, store: Store, name: str, paths: Sequence[Path]) -> MirroredTable:
    """Publish the parts of one table in a catalog."""
    from pyiceberg.io.pyarrow import parquet_files_to_data_files

    table: Table = catalog.create_table_if_not_exists(f"{NAMESPACE}.{name}", schema=_schema(name))
    with table.update_schema() as update:
        update.union_by_name(_schema(name))
    mapping = table.schema().name_mapping.model_dump_json()  # parts have column names, not field ids
    if table.properties.get(NAME_MAPPING) != mapping:
        with table.transaction() as change:
            change.set_properties({NAME_MAPPING: mapping})
    present = {_path_of(task.file.file_path): task.file for task in table.scan().plan_files()}
    new = [path for path in paths if path not in present]
    store.verify(new)
    old = [file for path, file in present.items() if path not in set(paths)]
    if new or old:
        with table.transaction() as change, change.update_snapshot().overwrite() as snapshot:
            for file in old:
                snapshot.delete_data_file(file)
            addresses = iter([f"file://{path}" for path in new])  # pyiceberg decodes no escapes in a path
            for file in parquet_files_to_data_files(table.io, change.table_metadata, addresses):
                snapshot.append_data_file(file)
    return MirroredTable(name, len(paths), len(new), len(old))


def mirror_delta(store: Store, folder: Path) -> list[MirroredTable]:
    """Publish the tables of a store as Delta Lake tables, each in its own folder.

    Raises `StoreError`: S0102 if the folder cannot be written, S0103 and S0104 as `Store.verify` does, S0114 if the
    library is missing, or if the path of the store has blanks.
    """
    if store.root.as_uri() != f"file://{store.root}":
        # The library would take the encoded path for another part, and not remove it from the table.
        message = f"Delta Lake cannot name the parts of `{store.root}`: the path has blanks or other special characters"
        raise StoreError("S0114", message, "move the store, or use --iceberg")
    with _library("deltalake", "delta", folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [_delta_table(folder / table, store, table, paths) for table, paths in store.files().items()]


def _delta_table(folder: Path, store: Store, name: str, paths: Sequence[Path]) -> MirroredTable:
    """Publish the parts of one table in its folder."""
    from deltalake import DeltaTable, Schema
    from deltalake.transaction import AddAction, RemoveAction

    schema = Schema.from_arrow(_schema(name))
    table: DeltaTable = DeltaTable.create(folder, schema, mode="ignore")
    known = {field.name for field in table.schema().fields}
    if missing := [field for field in schema.fields if field.name not in known]:
        table.alter.add_columns(missing)
    actions = pa.table(table.get_add_actions(flatten=True)).select(["path", "size_bytes"]).to_pylist()
    present = {_path_of(action["path"]): action for action in actions}
    new = [path for path in paths if path not in present]
    store.verify(new)
    old = [action for path, action in present.items() if path not in set(paths)]
    if new or old:
        now = int(time.time() * 1000)
        added = [
            AddAction(f"file://{path}", path.stat().st_size, {}, int(path.stat().st_mtime * 1000), True, "{}")
            for path in new
        ]
        removed = [RemoveAction(action["path"], True, now, action["size_bytes"], {}) for action in old]
        table.create_write_transaction([*removed, *added], "append", table.schema())
    return MirroredTable(name, len(paths), len(new), len(old))


def _schema(table: str) -> pa.Schema:
    """Return the columns of a table, all nullable, since parts of earlier Tripos versions lack some."""
    return pa.schema([field.with_nullable(True) for field in TABLES[table].schema])


def _path_of(address: str) -> Path:
    """Return the path of a file by its address in a mirror.

    >>> _path_of("file:///a%20b/c.parquet")
    PosixPath('/a b/c.parquet')
    """
    return Path(unquote(urlsplit(address).path))


@contextmanager
def _library(module: str, extra: str, folder: Path) -> Iterator[None]:
    """Raise `StoreError` S0114 if a library is missing, and S0102 if the folder cannot be written."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreError("S0114", f"a mirror needs `{module}`", f"pip install 'tripos[{extra}]'") from error
    except OSError as error:
        raise store_write_error(folder, error) from error
