"""Files that appear whole or not at all, and the time of what they hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every entry of a zip: the earliest that a zip can have, so that its bytes do not depend on a clock."""


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """Yield an unused path in the folder of `path`. A file that is still there at the end is removed."""
    new = path.with_suffix(f".{os.urandom(6).hex()}.tmp")
    try:
        yield new
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


@contextmanager
def atomic_path(path: Path, *, durable: bool = False, mode: int | None = None) -> Iterator[Path]:
    """Yield an unused path in the folder of `path`. The file that is written there replaces `path` at the end; after a
    failure it is removed, and `path` is unchanged.

    A `durable` file survives a power failure once this has returned. Without a `mode`, the umask applies. Raises
    `OSError`.
    """
    with temporary_path(path) as new:
        yield new
        if mode is not None:
            new.chmod(mode)
        if durable:
            sync(new)
        new.replace(path)
        if durable:
            sync(path.parent)


def write_atomically(path: Path, content: bytes, *, durable: bool = False, mode: int | None = None) -> None:
    """Write a file as `atomic_path` does."""
    with atomic_path(path, durable=durable, mode=mode) as new:
        new.write_bytes(content)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk. Does nothing for a folder on Windows, which cannot open one."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
