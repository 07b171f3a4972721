"""The records of batches in a store: each is committed before the batch goes on."""

from __future__ import annotations

from typing import Any

from tripos_warehouse.errors import unwritable
from tripos_warehouse.store import BATCHES, Row, Store, Ticks, reading


class StoredBatches:
    """The rows of `batches`. What other processes wrote is seen with the next `rows`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: set[str] = set()
        self._ticks: Ticks | None = None

    def add(self, row: Row) -> None:
        """Commit a row. Raises `StoreError` S0102 where the store cannot be written."""
        self._store.append({BATCHES.name: [row]})

    def ticks(self) -> int:
        """Return how often there was something new in the store, as far as this machine has seen it. Raises
        `StoreError` S0102."""
        if self._ticks is None:
            try:
                self._ticks = Ticks(self._store.root)
            except OSError as error:
                raise unwritable(self._store.root, error) from error
        return self._ticks.count()

    def new_rows(self) -> list[dict[str, Any]]:
        """Return the rows that were committed since this was called last, in the order in which they were. Raises
        `StoreError` S0103 where the store cannot be read."""
        if self._store.bucket is not None:
            self._store.bucket.sync()
        found: list[dict[str, Any]] = []
        for path in self._store.parts(BATCHES.name):
            if path.name not in self._read:
                with reading(path) as file:
                    found += file.read().to_pylist()
                self._read.add(path.name)
        return sorted(found, key=lambda row: row["created_at"])
