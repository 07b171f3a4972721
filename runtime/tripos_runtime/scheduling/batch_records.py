"""The records of batches in a store, and which open batch has which request."""

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
"""Written once the provider has said what it calls the batch."""
UNANSWERED: Final = "unanswered"
"""Written once a batch has ended, with every request so far that it gave no reply to: it holds them no more."""
COLLECTED: Final = "collected"
"""Every request of the batch was answered, or failed, and the replies are kept."""
DROPPED: Final = "dropped"
"""The batch never reached the provider, or the provider has it no more, or it was given up."""
EXPIRY: Final = timedelta(hours=25)
"""A batch has ended so long after it was made: providers give it a day, and clocks differ."""
KEPT: Final = timedelta(days=30)
"""Providers keep the replies of a batch for about so long. An older one holds no request."""


@dataclass(frozen=True)
class BatchRecord:
    """One record of a batch. The first has the names of its requests, and `UNANSWERED` those that it let go of."""

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
        """Return every record, those of other processes included: what was returned before, and then what is new."""
        ...

    def peek(self) -> Sequence[BatchRecord]:
        """Return what `load` does, as far as this machine has seen it. Where nothing is new it costs microseconds."""
        ...

    def note(self, record: BatchRecord) -> None:
        """Keep a record. It outlives this process from the moment that this returns."""
        ...


@dataclass(eq=False)
class OpenBatch:
    """A batch that is not collected. Without a `batch_id` it is not known if it was ever submitted."""

    marker: str
    created_at: datetime
    requests: frozenset[str]
    batch_id: str | None = None
    left: set[str] = field(default_factory=set)
    """Requests that nobody was given the outcome of so far."""
    unanswered: set[str] = field(default_factory=set)
    """Requests that it ended without a reply to."""


class BatchBook:
    """The batches of one model at one endpoint, or at any where none is named."""

    def __init__(self, log: BatchLog, model: str, endpoint: str = "") -> None:
        self._log = log
        self._model = model
        self._endpoint = endpoint
        self._open: dict[str, OpenBatch] = {}
        self._closed: set[str] = set()
        self._seen = 0
        self._holders: dict[str, OpenBatch] = {}
        """By request, the last batch that has it."""

    @property
    def open(self) -> Iterable[OpenBatch]:
        """Return the batches that are not collected."""
        return self._open.values()

    def refresh(self, now: datetime, *, peek: bool = False) -> None:
        """Take in what any process has noted, and let go of batches whose replies nobody has any more."""
        records = self._log.peek() if peek else self._log.load()
        new, self._seen = records[self._seen :], len(records)
        for record in new:
            if record.model == self._model and self._endpoint in (record.endpoint, ""):
                self._take(record)
        for batch in [each for each in self._open.values() if now - each.created_at > KEPT]:
            self._let_go(batch.marker)

    def holder(self, request: str) -> OpenBatch | None:
        """Return the open batch that has a request, if any."""
        return self._holders.get(request)

    def held(self, batch: OpenBatch) -> int:
        """Return how many requests a batch holds."""
        return sum(self._holders.get(request) is batch for request in batch.requests)

    def settle(self, batch: OpenBatch, request: str) -> None:
        """Say that a request got the reply that the batch has for it."""
        batch.left.discard(request)

    def unanswered(self, batch: OpenBatch, requests: Iterable[str], now: datetime) -> None:
        """Note that a batch has ended without a reply to these requests, if any: any batch or call may ask them."""
        found = batch.unanswered | set(requests)
        if found != batch.unanswered:
            names = tuple(sorted(found))  # all so far: of several such records of a batch the last counts
            self._note(BatchRecord(batch.marker, UNANSWERED, self._model, self._endpoint, now, batch.batch_id, names))

    def intend(self, marker: str, requests: Sequence[str], now: datetime) -> OpenBatch:
        """Note that a batch is about to be submitted."""
        self._note(BatchRecord(marker, INTENDED, self._model, self._endpoint, now, None, tuple(requests)))
        return self._open[marker]

    def submitted(self, batch: OpenBatch, batch_id: str, now: datetime) -> None:
        """Note what the provider calls a batch."""
        self._note(BatchRecord(batch.marker, SUBMITTED, self._model, self._endpoint, now, batch_id))

    def close(self, batch: OpenBatch, state: str, now: datetime, message: str | None = None) -> None:
        """Note that a batch is collected, or dropped."""
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
    """Return what a request is known by in batches: the result that it is for, and what is said."""
    said = [[each.role, each.content] for each in request.messages] + [list(request.tools)] * bool(request.tools)
    text = orjson.dumps([request.name, request.number, said], default=str)
    return hashlib.blake2b(text, digest_size=16).hexdigest()
