"""The keys of the rows of large parts, as sorted hashes that a store keeps: no key of its parts is read twice.

Parts whose keys all differ are listed, so an opening after a commit compares the rows of that commit with the others'.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tripos_warehouse import sql
from tripos_warehouse.query import as_relation, duckdb
from tripos_warehouse.store import KEYS, Store, read_plain
from tripos_warehouse.views.prepared.part_files import PartFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]


def has_doubles(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, parts: Sequence[Path], key: Sequence[str]
) -> bool:
    """Return true if several rows of these parts may have one key: two keys of one hash are told apart afterwards.
    Raises `StoreError` S0103 where a part has changed since it was written."""
    import numpy as np

    keys = _Keys(connection, key_files(store, key), list_of(store.root, table), parts)
    new = [part for part in parts if keys.names.get(part) not in keys.apart]
    if not new:
        return False
    [(rows,)] = connection.execute(f"select count(*) from {_source(new)}").fetchall()
    added, place = np.empty(rows, np.uint64), 0
    for hashes in keys.hashes(new):
        if place + len(hashes) <= rows:
            added[place : place + len(hashes)] = hashes
        place += len(hashes)
    added.sort()
    if place != rows or bool((added[1:] == added[:-1]).any()):
        return True
    for hashes in keys.hashes([part for part in parts if part not in new]):
        places = np.searchsorted(hashes, added)
        if len(hashes) and bool((hashes[np.minimum(places, len(hashes) - 1)] == added).any()):
            return True
    keys.tell()
    return False


def key_files(store: Store, key: Sequence[str]) -> PartFiles:
    """Return the files of the hashes of a key."""
    return PartFiles(store.root, store.digests(), KEYS, f"hash({', '.join(key)})", "keys")


def list_of(root: Path, table: str) -> Path:
    """Return the list of the parts of a table whose keys all differ."""
    return root / KEYS / f"{table}.json"


class _Keys:
    """The hashes of the keys of each part, from the store where it has them, and the `names` of parts; of those `apart`
    it is known that all keys differ."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, files: PartFiles, told: Path, parts: Sequence[Path]
    ) -> None:
        self._connection = connection
        self._files = files
        self._told = told
        self.names: Mapping[Path, str] = {}
        self.apart: frozenset[str] = frozenset()
        self.names = {part: files.name(part) for part in parts if part in files.digests}
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            body = json.loads(read_plain(told))
            if body["digest"] == _digest(body["parts"]):
                self.apart = frozenset(body["parts"])

    def hashes(self, parts: Sequence[Path]) -> Iterator[Hashes]:
        """Yield the hashes of the keys of parts, in order: those of each large part, and those of all others."""
        import numpy as np

        small = [part for part in parts if not self._files.is_large(part)]
        others = [part for part in parts if part not in small]
        kept: Mapping[Path, Path] = {}
        with suppress(OSError):
            kept = self._files.read({part: self.names[part] for part in others if part in self.names})
        for some in [*([part] for part in others), *([small] if small else [])]:
            if some[0] in kept:
                yield np.fromfile(kept[some[0]], "<u8")
                continue
            is_kept = some != small and some[0] in self.names
            if is_kept:
                self._files.verify(some[0])
            query = f"select {self._files.made_by} as hashed from {_source(some)}"
            batches = as_relation(self._connection, query).to_arrow_reader(2**17)
            hashes = np.concatenate([np.empty(0, np.uint64), *(batch.column(0).to_numpy() for batch in batches)])
            hashes.sort()
            if is_kept:
                with suppress(OSError):
                    self._files.write(self.names[some[0]], hashes.astype("<u8", copy=False).tofile)
            yield hashes

    def tell(self) -> None:
        """Note that the keys of all parts differ."""
        names = sorted(self.names.values())
        temporary = self._told.with_name(f"{os.urandom(16).hex()}.part")
        with suppress(OSError):
            temporary.write_text(json.dumps({"parts": names, "digest": _digest(names)}), "utf-8")
            temporary.replace(self._told)


def _source(parts: Sequence[Path]) -> str:
    return f"read_parquet({sql.texts([str(part) for part in parts])})"


def _digest(names: object) -> str:
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).hexdigest()
