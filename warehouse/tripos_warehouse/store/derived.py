"""Retrieval indexes that runs built, kept in the store for later runs.

Every file here can be rebuilt. A file that is missing, damaged or cannot be written costs time and nothing else. Files
are written atomically and end with the SHA-256 of their content.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from tripos_compiler.files import write_atomically
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.store.paths import read_plain

INDEX_FOLDER = "indexes"
INDEX_CACHE_SUFFIX = ".npz"
UNUSED_S = 30 * 24 * 3600.0
"""An index that was not read for this long is removed."""
MOST_BYTES = 4 * 2**30
_DIGEST_BYTES = 32


@dataclass(frozen=True)
class StoredIndexes:
    """The indexes of the store at `root`, by name.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shelf = StoredIndexes(Path(folder))
    ...     shelf.put("bm25-0a", b"index")
    ...     shelf.get("bm25-0a"), shelf.get("bm25-0b")
    (b'index', None)
    """

    root: Path

    def get(self, name: str) -> bytes | None:
        """Return the content of a name; None if there is none or it is damaged."""
        path = self.root / INDEX_FOLDER / f"{name}{INDEX_CACHE_SUFFIX}"
        try:
            kept = read_plain(path, MOST_BYTES)
        except OSError:
            return None
        kept, digest = kept[:-_DIGEST_BYTES], kept[-_DIGEST_BYTES:]
        if hashlib.sha256(kept).digest() != digest:
            return None
        with suppress(OSError):
            os.utime(path)  # marks it as used
        return kept

    def put(self, name: str, kept: bytes) -> None:
        """Store the content of a name. If the disk refuses, nothing is stored."""
        folder = self.root / INDEX_FOLDER
        try:
            folder.mkdir(exist_ok=True)
            write_atomically(folder / f"{name}{INDEX_CACHE_SUFFIX}", kept + hashlib.sha256(kept).digest())
        except OSError:
            return
