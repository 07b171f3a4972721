"""The results of an opening, kept in the store for the next one: the statements that make its views.

To make them means to read every key of the store, and every plan. The file is disposable: it says for which commits,
which folder and which Tripos it holds, and is made again where one of them is another. Its statements run in the box
(`box`), so that a store of somebody else can do no more with them than with its data.
Imports nothing large but DuckDB, since every query waits for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query import StoreConnection, Views, duckdb, open_box
from tripos_warehouse.store import VERIFIED_BYTES, check_links, is_plain, part_path, read_plain, sha256_of

CACHE = "cache"
NAME = "views.json"
MOST_MOMENTS = 5_000
"""More sums are made anew each time: to read them takes as long."""
_MOMENTS = re.compile(r'create or replace table ("tripos internal"\."moments of (?:[^"]|"")*") as\nwith ')


@dataclass(frozen=True)
class CachedViews:
    """The statements for schema `main`, for the benchmarks' and for their sums, the files that they read, and the
    `values` of each benchmark's enumerations by column. `state` is what they hold for."""

    state: str
    files: tuple[str, ...]
    tables: tuple[str, ...]
    benchmarks: tuple[str, ...]
    sums: tuple[str, ...]
    values: dict[str, dict[str, list[str]]]


def state_of(root: Path) -> str:
    """Return a digest of what the views depend on: the store's place, its commits, and this Tripos."""
    digest = hashlib.blake2b(str(root).encode(), digest_size=16)
    with suppress(FileNotFoundError):
        digest.update((root / "tripos-store.json").read_bytes())
        names = sorted(entry.name for entry in os.scandir(root / "commits") if entry.name.endswith(".json"))
        digest.update("\n".join(names).encode())
    digest.update(repr(_made_by()).encode())
    return digest.hexdigest()


def _made_by() -> list[tuple[str, int, int]]:
    """Return the name, the time and the size of each file of this package: the SQL of views comes from many rooms."""
    told = []
    package = Path(__file__).parent.parent
    for room in (package, *(Path(each) for each in os.scandir(package) if each.is_dir())):
        with os.scandir(room) as entries:
            found = [(each, each.stat()) for each in entries if each.name.endswith(".py")]
        told += [(f"{room.name}/{each.name}", stat.st_mtime_ns, stat.st_size) for each, stat in found]
    return sorted(told)


def read(root: Path) -> CachedViews | None:
    """Return what is kept for the store as it is now; `None` where there is nothing of use, or a file of it is not
    whole."""
    try:
        check_links(root)
        body = json.loads(read_plain(root / CACHE / NAME))
        if body["state"] != state_of(root):
            return None
        sizes, digests, digest = body.pop("sizes"), body.pop("digests"), body.pop("digest")
        if digest != _digest(body):
            return None
        files = [Path(file) for file in body["files"]]
        for file in files:
            part_path(file.parent.name, file.relative_to(root).as_posix())
        if not all(map(is_plain, files)) or [file.stat().st_size for file in files] != sizes:
            return None
        if _digests(files, sizes) != digests:
            return None
        lists = {name: tuple(map(str, body[name])) for name in ("files", "tables", "benchmarks", "sums")}
        values = {
            str(name): {str(column): list(map(str, some)) for column, some in columns.items()}
            for name, columns in body["values"].items()
        }
        return CachedViews(body["state"], values=values, **lists)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, StoreError):
        return None


def connect_kept(root: Path) -> StoreConnection | None:
    """As `views.connect` of the store at `root`, from what is kept; `None` where there is nothing of use. Functions in
    Python are not there, so a query that fails here may yet succeed on the other. Raises `duckdb.Error`."""
    kept = read(root)
    if kept is None:
        return None
    views = Views((*kept.tables, *kept.benchmarks))
    keep_moments(root, kept, views)
    return StoreConnection(open_box(kept.files), views)


def write(root: Path, kept: CachedViews) -> None:
    """Keep it, where the store can be written to."""
    folder = root / CACHE
    temporary = folder / f"{os.urandom(16).hex()}.part"
    try:
        folder.mkdir(exist_ok=True)
        sizes = [Path(file).stat().st_size for file in kept.files]
        body = asdict(kept)
        told = {"sizes": sizes, "digests": _digests([*map(Path, kept.files)], sizes), "digest": _digest(body)}
        text = json.dumps(body | told, ensure_ascii=False)
        temporary.write_text(text, "utf-8")
        temporary.replace(folder / NAME)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def keep_moments(root: Path, kept: CachedViews, views: Views) -> None:
    """Have the sums that means are taken from kept as well, once a query has them made: then they are a table of a few
    rows, and no score is read for them."""
    for statement in kept.benchmarks:
        if (made := _MOMENTS.match(statement)) is not None:
            views.after(statement, partial(_keep_moments, root, kept.state, statement, made[1]))


def _keep_moments(root: Path, state: str, statement: str, table: str, database: duckdb.DuckDBPyConnection) -> None:
    from tripos_warehouse import sql  # it imports pyarrow, which takes as long as a query

    types = {name: type_ for name, type_, *_ in database.execute(f"describe {table}").fetchall()}
    rows = database.execute(f"from {table} limit {MOST_MOMENTS + 1}").fetchall()
    kept = read(root)  # other sums may have been kept since
    if len(rows) > MOST_MOMENTS or kept is None or kept.state != state:
        return
    with suppress(ValueError):  # a sum that is no finite number is none of JSON's
        told = json.dumps([dict(zip(types, row, strict=True)) for row in rows], ensure_ascii=False, allow_nan=False)
        own = f"select unnest(from_json({sql.text(told)}, {sql.text(json.dumps([types]))}), recursive := true)"
        made = f"create or replace table {table} as {own}"
        write(root, replace(kept, benchmarks=tuple(made if each == statement else each for each in kept.benchmarks)))


def _digests(files: Sequence[Path], sizes: Sequence[int]) -> list[str]:
    """Return the digests of the files of a small store, which is held to them whenever it is opened. Raises
    `OSError`."""
    return [*map(sha256_of, files)] if sum(sizes) <= VERIFIED_BYTES else []


def _digest(body: Mapping[str, object]) -> str:
    """Return a digest of what is kept: a figure among it that a disk spoilt would be a figure like another."""
    text = json.dumps({name: body[name] for name in sorted(body)}, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
