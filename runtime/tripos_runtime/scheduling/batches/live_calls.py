"""Live calls in a store that has batches under way: a request that one of them holds is not asked again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tripos_runtime.models import Request
from tripos_runtime.models.mocks import ReplayModel
from tripos_runtime.scheduling.batches.records import BatchBook, BatchLog, OpenBatch, request_name
from tripos_runtime.scheduling.calling import NO_LANE, Called, Caller, Lane
from tripos_runtime.scheduling.errors import Stopped

HELD = "R0123"
"""The error of a live run that comes to a request which a batch holds."""


class LiveCaller(Caller):
    """Calls one model live, but for requests that a batch holds: these end the run before they are asked."""

    def __init__(self, live: Caller, log: BatchLog) -> None:
        self.model = live.model
        self.gate = live.gate
        self.memory = live.memory
        self._live = live
        self._book = BatchBook(log, live.model.name)
        self._refresh()

    def halt(self) -> None:
        """Make no further call."""
        self._live.halt()

    async def call(self, request: Request, lane: Lane = NO_LANE) -> Called:
        """Ask. Raises what `Caller.call` does, and `Stopped` R0123 where a batch holds the request."""
        self._refresh()
        batch = self._holder(request)
        if batch is not None:
            name = batch.batch_id or batch.marker
            message = f"a batch of `{self.model.name}` under way holds requests of this run: {name}"
            hint = f"run the same command with --batch, or give the batch up: `tripos store batches --give-up {name}`"
            raise Stopped(HELD, message, hint)
        return await self._live.call(request, lane)

    def _refresh(self) -> None:
        """Take in what others noted. Who claims a case sees every batch that had it before."""
        self._book.refresh(datetime.now(UTC), peek=True)
        if self._book.open:
            model: Any = self.model
            model.most_samples = 1  # as in batches, which know each sample by a name of its own

    def _holder(self, request: Request) -> OpenBatch | None:
        """Return the batch that holds a request. Of several samples at once nobody can tell: then it is any batch."""
        if not self._book.open:
            return None
        return next(iter(self._book.open)) if request.samples > 1 else self._book.holder(request_name(request))


def beside_batches(callers: Mapping[str, Caller], log: BatchLog) -> dict[str, Caller]:
    """Return callers that ask for nothing which a batch in the store holds. Recordings are asked at no cost."""
    return {
        name: caller if isinstance(caller.model, ReplayModel) else LiveCaller(caller, log)
        for name, caller in callers.items()
    }
