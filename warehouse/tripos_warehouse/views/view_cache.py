"""Cached views: the statements that create the views of a store, stored for the next time that it is opened.

To make the statements, every key and every plan must be read. The file records the commits, the folder and the version
of the code for which it is valid, and is made again if one of them differs. Its statements run in the sandbox, so those
in a foreign store can do no more harm than its data. This module imports nothing large but DuckDB, since every query
waits for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.files import code_version
from tripos_warehouse.query.connection import StoreConnection, Views, duckdb, open_sandbox
from tripos_warehouse.store.derived import DerivedFiles
from tripos_warehouse.store.digests import VERIFIED_BYTES, sha256_of
from tripos_warehouse.store.paths import is_plain, part_path

NAME = "views.json"
MOST_MOMENTS = 5_000
"""The most sums for means that are cached; reading more would take as long as computing them."""
_MOMENTS = re.compile(r'create or replace table ("tripos internal"\."moments of (?:[^"]|"")*") as\nwith ')


@dataclass(frozen=True)
class CachedViews:
    """The statements for schema `main` (`tables`), for the benchmarks and for their sums, the files that they read, and
    the `values` of each benchmark's enumerations by column. `state` identifies the state of the store for which they
    are valid.
    """

    state: str
    files: tuple[str, ...]
    tables: tuple[str, ...]
    benchmarks: tuple[str, ...]
    sums: tuple[str, ...]
    values: dict[str, dict[str, list[str]]]


def state_of(root: Path) -> str:
    """Return a digest of what the views depend on: the path of the store, its commits, and the version of the code."""
    digest = hashlib.blake2b(str(root).encode(), digest_size=16)
    with suppress(FileNotFoundError):
        digest.update((root / "tripos-store.json").read_bytes())
        names = sorted(entry.name for entry in os.scandir(root / "commits") if entry.name.endswith(".json"))
        digest.update("\n".join(names).encode())
    digest.update(code_version().encode())
    return digest.hexdigest()


def read(root: Path) -> CachedViews | None:
    """Return the cached views for the current state of the store; None if there are none, or one of their files is
    damaged.
    """

    def load(body: dict[str, Any]) -> CachedViews | None:
        files = [Path(file) for file in body["files"]]
        for file in files:
            part_path(file.parent.name, file.relative_to(root).as_posix())
        if not all(map(is_plain, files)) or [file.stat().st_size for file in files] != body["sizes"]:
            return None
        if _digests(files, body["sizes"]) != body["digests"]:
            return None
        lists = {name: tuple(map(str, body[name])) for name in ("files", "tables", "benchmarks", "sums")}
        values = {
            str(name): {str(column): list(map(str, texts)) for column, texts in columns.items()}
            for name, columns in body["values"].items()
        }
        return CachedViews(state, values=values, **lists)

    try:
        state = state_of(root)
    except OSError:
        return None
    return DerivedFiles(root).read(NAME, state, load)


def connect_cached(root: Path) -> StoreConnection | None:
    """Return a connection like that of `views.connect.connect`, from cached views; None if there are none. Python
    functions are missing, so a query that fails here may succeed on a full connection. Raises `duckdb.Error`.
    """
    cached_views = read(root)
    if cached_views is None:
        return None
    views = Views((*cached_views.tables, *cached_views.benchmarks))
    cache_moments(root, cached_views, views)
    return StoreConnection(open_sandbox(cached_views.files), views)


def write(root: Path, cached: CachedViews) -> None:
    """Cache views, if the store can be written to."""
    with suppress(OSError):
        sizes = [Path(file).stat().st_size for file in cached.files]
        checks = {"sizes": sizes, "digests": _digests([*map(Path, cached.files)], sizes)}
        DerivedFiles(root).write(NAME, cached.state, asdict(cached) | checks)


def cache_moments(root: Path, cached: CachedViews, views: Views) -> None:
    """Register callbacks that also cache the sums for means once a query has created them. The next connection creates
    a table of a few rows, and reads no scores.
    """
    for statement in cached.benchmarks:
        if (match := _MOMENTS.match(statement)) is not None:
            views.after(statement, partial(_write_moments, root, cached.state, statement, match[1]))


def _write_moments(root: Path, state: str, statement: str, table: str, database: duckdb.DuckDBPyConnection) -> None:
    """Replace the statement that computes a table of sums, in the cached views of a state, by one with its rows."""
    types = {name: type_ for name, type_, *_ in database.execute(f"describe {table}").fetchall()}
    rows = database.execute(f"from {table} limit {MOST_MOMENTS + 1}").fetchall()
    views = read(root)  # other sums may have been cached since
    if len(rows) > MOST_MOMENTS or views is None or views.state != state:
        return
    from tripos_warehouse import sql  # which needs Arrow

    with suppress(ValueError):  # JSON has no infinity and no NaN
        text = json.dumps([dict(zip(types, row, strict=True)) for row in rows], ensure_ascii=False, allow_nan=False)
        query = f"select unnest(from_json({sql.text(text)}, {sql.text(json.dumps([types]))}), recursive := true)"
        with_rows = f"create or replace table {table} as {query}"
        benchmarks = tuple(with_rows if existing == statement else existing for existing in views.benchmarks)
        write(root, replace(views, benchmarks=benchmarks))


def _digests(files: Sequence[Path], sizes: Sequence[int]) -> list[str]:
    """Return the digests of the files of a small store, which is verified whenever it is opened; empty for a large one.
    Raises `OSError`.
    """
    return [*map(sha256_of, files)] if sum(sizes) <= VERIFIED_BYTES else []
