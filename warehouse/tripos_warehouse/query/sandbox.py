"""The box: a DuckDB that can read the files it is given, and has no other file, no network and no settings to change.

It is shut before any statement of a store runs in it, so that nothing that lies in a store can open it.
Imports nothing but DuckDB's engine, since every command that asks for something waits for it: the Python layer over it,
which makes relations, takes 13 MB and 60 ms.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb as duckdb  # noqa: PLC0414 - others import it from here
else:
    try:
        duckdb = importlib.import_module("_duckdb")
    except ImportError:
        duckdb = importlib.import_module("duckdb")


def as_relation(
    connection: duckdb.DuckDBPyConnection, query: str | duckdb.Statement, params: object = None
) -> duckdb.DuckDBPyRelation:
    """Return a query as a relation: what comes as columns of Arrow, or bit by bit."""
    importlib.import_module("duckdb")  # gives connections what makes relations
    return connection.sql(query, params=params)


SMALL_BYTES = 8 * 2**20
SMALL: dict[str, str | int | float | list[str]] = {
    "threads": 1,
    "allocator_bulk_deallocation_flush_threshold": "256KB",
}
"""Fewer bytes are read by one thread, for more would take memory and no less time; and what a query has freed goes back
to the system once it is 256 KB, else every query of a report adds to the memory of the process. To hand back every page
would take a sixth of the time of a small report in a process that made others before, and save no more memory."""

LARGE_BYTES = 256 * 2**20
"""The feet of files that are larger together are read anew by every query: to hold them would take a sixth of what they
say, 100 MB of ten million samples with a score."""


def open_box(files: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB that may read `files`.

    >>> open_box([]).execute("select current_setting('enable_external_access')").fetchall()
    [(False,)]
    """
    # Large sorts spill here; the folder exists only while they do.
    folder = f"{tempfile.gettempdir()}/tripos-{os.urandom(16).hex()}"
    connection = duckdb.connect(
        ":memory:",
        config={
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "temp_directory": folder,
            **(SMALL if _bytes_of(files) < SMALL_BYTES else {}),
        },
    )
    try:
        if files:
            quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            connection.execute(f"set allowed_paths = [{quoted}]")
        # A view reads the foot of its files when it is made, and so does every view over it, and every query.
        if _bytes_of(files) < LARGE_BYTES:
            connection.execute("set parquet_metadata_cache = true")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


def _bytes_of(files: Sequence[str]) -> int:
    """Return how large the files are together, those that are gone left out."""
    total = 0
    for file in files:
        with suppress(OSError):
            total += Path(file).stat().st_size
    return total
