"""The calls of a run that go in batches: a queue for each model, and callers that stand in the place of live ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tripos_runtime.models import Model, Request
from tripos_runtime.models.batches import BatchedModel
from tripos_runtime.scheduling.batches.level import BatchLevel, Pauses
from tripos_runtime.scheduling.batches.queue import BatchProgress, BatchQueue
from tripos_runtime.scheduling.batches.records import BatchBook, BatchLog
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.calling import NO_LANE, Called, Caller, Lane
from tripos_runtime.scheduling.errors import Halted
from tripos_runtime.scheduling.limits import Limits
from tripos_runtime.scheduling.times import Times

USUAL = Pauses()


class BatchCaller(Caller):
    """Calls one model in batches. It has the gate of the live caller in whose place it stands, for looks at it."""

    def __init__(self, live: Caller, queue: BatchQueue) -> None:
        self.model: Model = queue.model
        self.gate = live.gate
        self.memory = live.memory
        self._queue = queue

    def halt(self) -> None:
        """Wait for no batch any more: those that are submitted are collected by a later run."""
        self._queue.halt(Halted())

    async def call(self, request: Request, lane: Lane = NO_LANE) -> Called:
        """Wait for the batch that has the request. Raises what `Caller.call` does."""
        reply, attempts, batch_id = await self._queue.call(request)
        return Called(reply, attempts, None, batch_id)


@dataclass
class BatchCalls:
    """The batches of a run. `detach`: as soon as only providers are waited for, `leave` is called."""

    log: BatchLog
    pauses: Pauses = field(default_factory=lambda: USUAL)
    detach: bool = False
    leave: Callable[[], None] = lambda: None
    queues: dict[str, BatchQueue] = field(default_factory=dict)
    left: bool = False
    """True if the run left its batches at their providers."""
    _watch: asyncio.Task[None] | None = None
    _checking: asyncio.Task[None] | None = None

    def callers(
        self, live: Mapping[str, Caller], limits: Limits, budget: Budget | None, notes: Callable[[str], None]
    ) -> dict[str, Caller]:
        """Return the callers of a run, those of models in batches in place of the live ones."""
        times = Times(time.monotonic, asyncio.sleep, lambda: datetime.now(UTC))
        gates = [caller.gate for caller in live.values() if not isinstance(caller.model, BatchedModel)]
        level = BatchLevel(self.pauses, times, lambda: any(each.in_flight or each.snapshot().waiting for each in gates))
        found = dict(live)
        for name, caller in live.items():
            model = caller.model
            if isinstance(model, BatchedModel):
                book = BatchBook(self.log, model.name, model.endpoint)
                queue = BatchQueue(
                    model, book, level, budget, notes, self.pauses, times, limits.patience_s, self._ready
                )
                self.queues[name] = queue
                found[name] = BatchCaller(caller, queue)
        if self.detach and self.queues:
            self._watch = asyncio.create_task(self._leave(level))
        return found

    @property
    def progress(self) -> dict[str, BatchProgress]:
        """Return how the batches of each model are coming along."""
        return {name: queue.progress for name, queue in self.queues.items()}

    async def close(self, *, finished: bool) -> None:
        """Let go of everything; `finished`: the run has kept every reply that it was given."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        for queue in self.queues.values():
            await queue.close(finished=finished)

    async def _ready(self) -> None:
        """Wait until every server was seen to have batches: before that nothing is submitted to any."""
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        for queue in self.queues.values():
            await queue.check()

    async def _leave(self, level: BatchLevel) -> None:
        """Leave as soon as nothing is to be done but to wait."""
        while True:
            await level.complete()
            if all(queue.idle for queue in self.queues.values()) and any(
                each.batches for each in self.progress.values()
            ):
                self.left = True
                self.leave()
                return
