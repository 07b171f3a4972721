"""The records of batches that a run keeps in its store."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_runtime.scheduling.batches import BatchRecord
from tripos_warehouse.ledger import StoredBatches
from tripos_warehouse.store import Store


class RecordedBatches:
    """The log of batches of one run, in a store that others may write to."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._stored = StoredBatches(store)
        self._run_id = run_id
        self._records: list[BatchRecord] = []
        self._ticks = -1

    def peek(self) -> Sequence[BatchRecord]:
        """Return what `load` does, and look for it only if there is something new in the store. Raises `StoreError`."""
        ticks = self._stored.ticks()
        if ticks != self._ticks:
            self._ticks = ticks
            self.load()
        return self._records

    def load(self) -> Sequence[BatchRecord]:
        """Return every record so far: those that were returned before, and then what is new. Raises `StoreError`."""
        for row in self._stored.new_rows():
            told = {name: value for name, value in row.items() if name != "run_id"}
            self._records.append(BatchRecord(**{**told, "requests": tuple(told["requests"])}))
        return self._records

    def note(self, record: BatchRecord) -> None:
        """Commit a record. Raises `StoreError`."""
        self._stored.add({**vars(record), "requests": list(record.requests), "run_id": self._run_id})
