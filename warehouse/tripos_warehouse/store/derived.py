"""Indexes that runs made of what they look through, kept in the store for the runs that follow.

What lies here can be made again at any time: a file that is missing, damaged or cannot be written costs time, and
nothing else. A file appears whole, under its name, or not at all, and ends with the SHA-256 of the rest.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.store.paths import read_plain

SHELF = "indexes"
INDEX_CACHE_SUFFIX = ".npz"
UNUSED_S = 30 * 24 * 3600.0
"""An index that nobody read for so long is taken away."""
MOST_BYTES = 4 * 2**30
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class StoredIndexes:
    """The indexes of the store at `root`, by their names.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shelf = StoredIndexes(Path(folder))
    ...     shelf.put("bm25-0a", b"index")
    ...     shelf.get("bm25-0a"), shelf.get("bm25-0b")
    (b'index', None)
    """

    root: Path

    def get(self, name: str) -> bytes | None:
        """Return what was kept under a name; None where nothing was, or it cannot be read."""
        path = self.root / SHELF / f"{name}{INDEX_CACHE_SUFFIX}"
        try:
            kept = read_plain(path, MOST_BYTES)
        except OSError:
            return None
        kept, digest = kept[:-_DIGEST_BYTES], kept[-_DIGEST_BYTES:]
        if hashlib.sha256(kept).digest() != digest:
            return None
        with suppress(OSError):
            os.utime(path)  # it was of use
        return kept

    def put(self, name: str, kept: bytes) -> None:
        """Keep something under a name, unless the disk refuses."""
        folder = self.root / SHELF
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(kept)
                file.write(hashlib.sha256(kept).digest())
            Path(file.name).replace(folder / f"{name}{INDEX_CACHE_SUFFIX}")
        except OSError:
            return
