"""The records of batches in a store, and which open batch holds which request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Final, Protocol

import orjson

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import Request

INTENDED: Final = "intended"
"""Written before a batch is submitted, with its requests."""
SUBMITTED: Final = "submitted"
"""Written once the provider's id of the batch is known."""
UNANSWERED: Final = "unanswered"
"""Written once a batch has ended, with all requests that it did not answer. It no longer holds these."""
COLLECTED: Final = "collected"
"""Written once every request of the batch was answered or failed and the replies are kept."""
DROPPED: Final = "dropped"
"""Written if the batch never reached the provider, was deleted there, or was given up."""
EXPIRY: Final = timedelta(hours=25)
"""The age at which every batch has ended: providers allow a day, and clocks differ."""
KEPT: Final = timedelta(days=30)
"""The time that providers keep replies, roughly. An older batch holds no request."""


@dataclass(frozen=True)
class BatchRecord:
    """One record of a batch. The state `INTENDED` has the names of all its requests, `UNANSWERED` the names of those
    that it no longer holds."""

    marker: str
    state: str
    model: str
    endpoint: str
    created_at: datetime
    batch_id: str | None = None
    requests: tuple[str, ...] = ()
    message: str | None = None


class BatchLog(Protocol):
    """The records of a store."""

    def load(self) -> Sequence[BatchRecord]:
        """Return the records of all processes. Later calls return the same records, followed by new ones."""
        ...

    def peek(self) -> Sequence[BatchRecord]:
        """Return the records of `load` that are visible on this machine. If nothing is new this takes microseconds."""
        ...

    def note(self, record: BatchRecord) -> None:
        """Keep a record. It survives this process once this returns."""
        ...


@dataclass(eq=False)
class OpenBatch:
    """A batch that is not collected. Without a `batch_id` it is unknown whether it was submitted."""

    marker: str
    created_at: datetime
    requests: frozenset[str]
    batch_id: str | None = None
    left: set[str] = field(default_factory=set)
    """The requests whose outcome no caller has received yet."""
    unanswered: set[str] = field(default_factory=set)
    """The requests to which the ended batch has no reply."""


class BatchBook:
    """The batches of one model at one endpoint, or at any if no endpoint is named."""

    def __init__(self, log: BatchLog, model: str, endpoint: str = "") -> None:
        self._log = log
        self._model = model
        self._endpoint = endpoint
        self._open: dict[str, OpenBatch] = {}
        self._closed: set[str] = set()
        self._record_count = 0
        """How many records of the log have been read."""
        self._holders: dict[str, OpenBatch] = {}
        """The last batch that holds each request, by the request's name."""

    @property
    def open(self) -> Iterable[OpenBatch]:
        """The batches that are not collected or dropped."""
        return self._open.values()

    def refresh(self, now: datetime, *, peek: bool = False) -> None:
        """Read the records of all processes, and forget batches whose replies have been deleted."""
        records = self._log.peek() if peek else self._log.load()
        new, self._record_count = records[self._record_count :], len(records)
        for record in new:
            if record.model == self._model and self._endpoint in (record.endpoint, ""):
                self._take(record)
        for batch in [open_batch for open_batch in self._open.values() if now - open_batch.created_at > KEPT]:
            self._let_go(batch.marker)

    def holder(self, request: str) -> OpenBatch | None:
        """Return the open batch that holds a request, if any."""
        return self._holders.get(request)

    def request_count(self, batch: OpenBatch) -> int:
        """Return how many requests a batch holds."""
        return sum(self._holders.get(request) is batch for request in batch.requests)

    def settle(self, batch: OpenBatch, request: str) -> None:
        """Record that a request got its reply from the batch."""
        batch.left.discard(request)

    def unanswered(self, batch: OpenBatch, requests: Iterable[str], now: datetime) -> None:
        """Record that a batch has ended without a reply to these requests. Other batches or calls may send them."""
        unanswered = batch.unanswered | set(requests)
        if unanswered != batch.unanswered:
            names = tuple(sorted(unanswered))  # including earlier ones: only the last such record of a batch counts
            self._note(BatchRecord(batch.marker, UNANSWERED, self._model, self._endpoint, now, batch.batch_id, names))

    def note_intent(self, marker: str, requests: Sequence[str], now: datetime) -> OpenBatch:
        """Record that a batch is about to be submitted."""
        self._note(BatchRecord(marker, INTENDED, self._model, self._endpoint, now, None, tuple(requests)))
        return self._open[marker]

    def submitted(self, batch: OpenBatch, batch_id: str, now: datetime) -> None:
        """Record the provider's id of a batch."""
        self._note(BatchRecord(batch.marker, SUBMITTED, self._model, self._endpoint, now, batch_id))

    def close(self, batch: OpenBatch, state: str, now: datetime, message: str | None = None) -> None:
        """Record that a batch is collected or dropped."""
        self._note(BatchRecord(batch.marker, state, self._model, self._endpoint, now, batch.batch_id, (), message))

    def _note(self, record: BatchRecord) -> None:
        self._log.note(record)
        self._take(record)

    def _take(self, record: BatchRecord) -> None:
        marker = record.marker
        if marker in self._closed:
            return
        if record.state in (COLLECTED, DROPPED):
            self._let_go(marker)
            return
        if record.state == INTENDED:
            if marker in self._open:
                return
            requests = frozenset(record.requests)
            batch = self._open[marker] = OpenBatch(marker, record.created_at, requests, None, set(requests))
            self._holders.update(dict.fromkeys(requests, batch))
        elif record.state == SUBMITTED and marker in self._open:
            self._open[marker].batch_id = record.batch_id
        elif record.state == UNANSWERED and marker in self._open:
            batch = self._open[marker]
            batch.unanswered.update(record.requests)
            batch.left.difference_update(record.requests)
            self._free(batch, record.requests)

    def _let_go(self, marker: str) -> None:
        self._closed.add(marker)
        batch = self._open.pop(marker, None)
        if batch is not None:
            self._free(batch, batch.requests)

    def _free(self, batch: OpenBatch, requests: Iterable[str]) -> None:
        for request in requests:
            if self._holders.get(request) is batch:
                del self._holders[request]


def request_name(request: Request) -> str:
    """Return the name of a request in batches: a digest of the name of its result, its sample number, its messages and
    its tools."""
    content = [[message.role, message.content] for message in request.messages]
    if request.tools:
        content.append(list(request.tools))
    text = orjson.dumps([request.name, request.number, content], default=str)
    return hashlib.blake2b(text, digest_size=16).hexdigest()
