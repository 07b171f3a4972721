"""Files of a store that are derived from its parts, and can be rebuilt: objects in JSON, larger files, and indexes.

If a file is missing, damaged, of another state or cannot be written, its content is computed again, which only takes
time. Files are written atomically. Each has a digest of its content, in the file or in its name, which is compared
whenever the file is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from tripos_compiler.files import temporary_path, write_atomically
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.digests import sealed, sha256_of, unsealed
from tripos_warehouse.store.paths import check_links, is_plain, read_plain

CACHE = "cache"
"""The folder of the store with derived objects."""
Value = TypeVar("Value")
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, StoreError)
"""What reading a damaged or foreign object may raise."""


@dataclass(frozen=True)
class DerivedFiles:
    """The JSON objects that are derived from the store at `root`. Each is valid for one state of the store, a text."""

    root: Path

    def read(self, name: str, state: str, load: Callable[[dict[str, Any]], Value]) -> Value | None:
        """Return what `load` returns for the object of a name; `None` if there is none for this state, if it is
        damaged, or if `load` raises one of `UNREADABLE`.
        """
        try:
            check_links(self.root)
            body = unsealed(read_plain(self.root / CACHE / name))
            return load(body) if body.pop("state") == state else None
        except UNREADABLE:
            return None

    def write(self, name: str, state: str, body: Mapping[str, Any]) -> None:
        """Write an object for a state. If it is no JSON or the file cannot be written, nothing happens."""
        path = self.root / CACHE / name
        with suppress(OSError, ValueError, TypeError):
            for folder in (self.root / CACHE, path.parent):
                folder.mkdir(exist_ok=True)
            write_atomically(path, sealed({"state": state, **body}, lines=False))


def write_named(path: Path, write: Callable[[Path], object], ending: str = "") -> Path:
    """Write a file whose name is that of `path`, the SHA-256 of its content and an ending; return its path. `write`
    gets a temporary path. Raises `OSError` and what `write` raises.
    """
    with temporary_path(path) as new:
        write(new)
        new.chmod(0o644)
        named = path.with_name(f"{path.name}.{sha256_of(new)}{ending}")
        new.replace(named)
    return named


def is_as_named(path: Path, name: str, ending: str = "") -> bool:
    """Return true if `path` is a regular file that `write_named` wrote for this name, and it is unchanged. Raises
    `OSError`.
    """
    return is_plain(path) and path.name == f"{name}.{sha256_of(path)}{ending}"


# Indexes
INDEX_FOLDER = "indexes"
INDEX_CACHE_SUFFIX = ".npz"
UNUSED_S = 30 * 24 * 3600.0
"""An index that was not read for this long is removed."""
MOST_BYTES = 4 * 2**30
"""The size limit of an index that is read."""
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class StoredIndexes:
    """The indexes of the store at `root`, by name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     indexes = StoredIndexes(Path(folder))
    ...     indexes.put("bm25-0a", b"index")
    ...     indexes.get("bm25-0a"), indexes.get("bm25-0b")
    (b'index', None)
    """

    root: Path

    def get(self, name: str) -> bytes | None:
        """Return the content of an index; None if there is none or it is damaged."""
        path = self.root / INDEX_FOLDER / f"{name}{INDEX_CACHE_SUFFIX}"
        try:
            stored = read_plain(path, MOST_BYTES)
        except OSError:
            return None
        content, digest = stored[:-_DIGEST_BYTES], stored[-_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            return None
        with suppress(OSError):
            os.utime(path)  # marks it as used
        return content

    def put(self, name: str, content: bytes) -> None:
        """Store the content of an index. If the file cannot be written, nothing is stored."""
        folder = self.root / INDEX_FOLDER
        try:
            folder.mkdir(exist_ok=True)
            write_atomically(folder / f"{name}{INDEX_CACHE_SUFFIX}", content + hashlib.sha256(content).digest())
        except OSError:
            return
