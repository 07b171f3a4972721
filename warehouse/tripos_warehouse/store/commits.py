"""Commit files: what a commit says, its JSON form, and the put-if-absent that makes it visible."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import obstore
import orjson
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore

from tripos_warehouse.errors import StoreError

COMMIT_FORMAT = "tripos.commit/1"
REPLACING_FORMAT = "tripos.commit/2"
"""The format of a commit that replaces others. A reader that knows it not must stop: it would count rows twice."""
COMMITS = "commits"
TICKS = "ticks"
"""A file that grows with every commit and every new journal segment: who knows its length knows whether to look."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class Part:
    """One Parquet file: `path` below the store's root, `size` in bytes, `version` of the table's schema."""

    table: str
    path: str
    rows: int
    size: int
    version: int


@dataclass(frozen=True)
class Commit:
    """Parts that became visible together. `repeated`: the name had been committed before, by whomever. `replaces`:
    commits whose rows are in these parts, and which nobody reads any more."""

    name: str
    written_at: datetime
    parts: tuple[Part, ...]
    repeated: bool = False
    replaces: tuple[str, ...] = ()


def check_name(name: str) -> str:
    """`name` itself. Raises `ValueError` where it cannot be the name of a file everywhere."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a commit name: {name!r}")
    return name


def to_json(commit: Commit) -> bytes:
    """The bytes of a commit file."""
    parts = [
        {"table": part.table, "path": part.path, "rows": part.rows, "bytes": part.size, "version": part.version}
        for part in commit.parts
    ]
    written_at = commit.written_at.astimezone(UTC).isoformat(timespec="microseconds")
    format_ = REPLACING_FORMAT if commit.replaces else COMMIT_FORMAT
    body = {"format": format_, "name": commit.name, "written_at": written_at, "parts": parts}
    if commit.replaces:
        body["replaces"] = list(commit.replaces)
    return orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_commit(path: Path) -> Commit:
    """The commit that a file holds.

    Raises `StoreError` W0103 where the file is damaged, W0104 where a newer Tripos wrote it, and `FileNotFoundError`
    where it is gone.
    """
    try:
        body = orjson.loads(path.read_bytes())
        if body["format"] not in (COMMIT_FORMAT, REPLACING_FORMAT):
            raise StoreError(
                "W0104", f"`{path}` has the format `{body['format']}`", "update Tripos: this store is newer than it"
            )
        parts = tuple(
            Part(part["table"], part["path"], part["rows"], part["bytes"], part["version"]) for part in body["parts"]
        )
        replaces = tuple(str(name) for name in body.get("replaces", ()))
        return Commit(body["name"], datetime.fromisoformat(body["written_at"]), parts, replaces=replaces)
    except FileNotFoundError:
        raise
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            "W0103",
            f"the commit `{path}` is unreadable ({error})",
            "restore the file from a backup, or delete it: what it made visible is then asked for again",
        ) from error


def publish(root: Path, commit: Commit) -> Commit:
    """Writes the commit file if its name is free; otherwise gives the commit that has the name.

    Raises `OSError` or an `obstore` error where the disk refuses; whether the commit is there is then not known, and
    to publish it again settles it.
    """
    path = root / COMMITS / f"{commit.name}.json"
    try:
        obstore.put(LocalStore(prefix=root), f"{COMMITS}/{commit.name}.json", to_json(commit), mode="create")
    except AlreadyExistsError:
        tick(root)  # whoever published it may have died before it could
        return replace(read_commit(path), repeated=True)
    sync(path)
    sync(path.parent)
    tick(root)
    return commit


def tick(root: Path) -> None:
    """Says to every process that has the store open that there is something new. Raises `OSError`."""
    handle = os.open(root / TICKS, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(handle, b".")
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Waits until the file or folder is on the disk itself. A folder cannot be opened on Windows: nothing then."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
