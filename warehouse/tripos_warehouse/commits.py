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
COMMITS = "commits"

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
    """Parts that became visible together. `repeated`: the name had been committed before, by whomever."""

    name: str
    written_at: datetime
    parts: tuple[Part, ...]
    repeated: bool = False


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
    body = {"format": COMMIT_FORMAT, "name": commit.name, "written_at": written_at, "parts": parts}
    return orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_commit(path: Path) -> Commit:
    """The commit that a file holds.

    Raises `StoreError` W0103 where the file is damaged, W0104 where a newer Tripos wrote it.
    """
    try:
        body = orjson.loads(path.read_bytes())
        if body["format"] != COMMIT_FORMAT:
            raise StoreError(
                "W0104", f"`{path}` has the format `{body['format']}`", "update Tripos: this store is newer than it"
            )
        parts = tuple(
            Part(part["table"], part["path"], part["rows"], part["bytes"], part["version"]) for part in body["parts"]
        )
        return Commit(body["name"], datetime.fromisoformat(body["written_at"]), parts)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            "W0103",
            f"the commit `{path}` is unreadable ({error})",
            "restore the file from a backup, or delete it: what it made visible is then asked for again",
        ) from error


def publish(root: Path, commit: Commit) -> Commit:
    """Writes the commit file if its name is free; otherwise gives the commit that has the name.

    Raises `OSError` or an `obstore` error where the disk refuses.
    """
    path = root / COMMITS / f"{commit.name}.json"
    try:
        obstore.put(LocalStore(prefix=root), f"{COMMITS}/{commit.name}.json", to_json(commit), mode="create")
    except AlreadyExistsError:
        return replace(read_commit(path), repeated=True)
    sync(path)
    sync(path.parent)
    return commit


def sync(path: Path) -> None:
    """Waits until the file or folder is on the disk itself. A folder cannot be opened on Windows: nothing then."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
