"""The records of batches that a run keeps in its store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tripos_compiler.source import dataclass
from tripos_runtime.scheduling.batches import DROPPED, EXPIRY, BatchBook, BatchRecord, OpenBatch
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


@dataclass(frozen=True)
class BatchUnderWay:
    """A batch of a store that is not collected: its name at the provider, or its marker where it has none yet."""

    batch: str
    model: str
    endpoint: str
    requests: int
    """The requests that it holds: no other batch and no live call asks them."""
    made_at: datetime
    expires_at: datetime
    """From then on it has ended, whatever became of it."""


class BatchesUnderWay:
    """The batches of a store that are not collected."""

    def __init__(self, store: Store) -> None:
        log = RecordedBatches(store, "")
        places = dict.fromkeys((each.model, each.endpoint) for each in log.load())
        self._books = {place: BatchBook(log, *place) for place in places}
        for book in self._books.values():
            book.refresh(datetime.now(UTC))

    def __iter__(self) -> Iterator[BatchUnderWay]:
        """Yield them, the oldest first."""
        found = [
            BatchUnderWay(_name(each), model, endpoint, book.held(each), each.created_at, each.created_at + EXPIRY)
            for (model, endpoint), book in self._books.items()
            for each in book.open
        ]
        return iter(sorted(found, key=lambda batch: (batch.made_at, batch.batch)))

    def give_up(self, batch: BatchUnderWay) -> None:
        """Note that a batch is lost: from then on it holds nothing. Raises `StoreError`."""
        book = self._books[batch.model, batch.endpoint]
        found = next(each for each in book.open if _name(each) == batch.batch)
        book.close(found, DROPPED, datetime.now(UTC), "it was given up")


def _name(batch: OpenBatch) -> str:
    return batch.batch_id or batch.marker
