"""Commits and lines of a journal as somebody else may have written them: with a digest, whatever they say."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from tripos_warehouse.store.digests import SEAL, sealed, sha256_of


def write_commit(path: Path, body: dict[str, Any]) -> None:
    """Write a commit file with a seal that fits."""
    if path.exists():
        path.chmod(0o644)
    path.write_bytes(sealed({name: value for name, value in body.items() if name != SEAL}))


def change_parts(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a commit file says of each part."""
    body = orjson.loads(path.read_bytes())
    for part in body["parts"]:
        change(part)
    write_commit(path, body)


def take_as_written(root: Path) -> None:
    """Let every commit say the sizes and the digests of its parts as they lie in the store."""

    def take(part: dict[str, Any]) -> None:
        path = root / part["path"]
        part |= {"bytes": path.stat().st_size, "sha256": sha256_of(path)}

    for commit in (root / "commits").glob("*.json"):
        change_parts(commit, take)


def journal_line(rows: bytes) -> bytes:
    """Return a line of a journal that holds these bytes, with a checksum that fits."""
    return b'{"crc32":"%08x","rows":%b}' % (zlib.crc32(rows), rows)
