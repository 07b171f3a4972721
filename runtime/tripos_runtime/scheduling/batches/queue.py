"""The queue of one model: requests wait for the end of their level, go out in batches, and come back as replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import digest
from tripos_runtime.models import ModelError, Request
from tripos_runtime.models.batches import BatchedModel, BatchLine
from tripos_runtime.scheduling.batches.collecting import (
    BatchCollector,
    BatchReply,
    Patience,
    WaitingBatch,
    WatchedBatch,
    counted_requests,
    ended_with,
)
from tripos_runtime.scheduling.batches.level import BatchLevel, Pauses
from tripos_runtime.scheduling.batches.records import COLLECTED, DROPPED, BatchBook, OpenBatch, request_name
from tripos_runtime.scheduling.budget import Budget, OutOfBudget
from tripos_runtime.scheduling.errors import Halted, Stopped
from tripos_runtime.scheduling.times import Times

MOST_ATTEMPTS = 3
"""So many batches may have a request before it counts as failed."""


@dataclass
class BatchProgress:
    """The counts of a queue: batches under way, requests in them, and how many of these are done."""

    batches: int = 0
    requests: int = 0
    done: int = 0


class BatchQueue:
    """The requests to one model. Whatever ends the run is raised to everybody who waits."""

    def __init__(
        self,
        model: BatchedModel,
        book: BatchBook,
        level: BatchLevel,
        budget: Budget | None,
        notes: Callable[[str], None],
        pauses: Pauses,
        times: Times,
        patience_s: float,
        ready: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        """`ready` is awaited before anything is submitted."""
        self.model = model
        self._ready = ready
        self._book = book
        self._level = level
        self._budget = budget
        self._notes = notes
        self._pauses = pauses
        self._times = times
        self._patience_s = patience_s
        self._patience = Patience(times, pauses, patience_s)
        self._collector = BatchCollector(model, book, budget, notes, self._patience)
        self._unanswered: set[WaitingBatch] = set()
        self._new: list[WaitingBatch] = []
        self._held_back: list[WaitingBatch] = []
        """Requests that the budget has no room for until others are answered."""
        self._watched: dict[str, WatchedBatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._placing: asyncio.Task[None] | None = None
        self._only_waits = False
        """True while requests wait for room in the budget, and for nothing else."""
        self._error: BaseException | None = None

    @property
    def idle(self) -> bool:
        """True while nothing is to be done but to wait for the provider, which was asked about each batch."""
        placing = self._placing is not None and not self._placing.done()
        return (
            (self._only_waits or not placing)
            and not self._new
            and all(each.state is not None for each in self._watched.values())
        )

    @property
    def progress(self) -> BatchProgress:
        """Return how the batches under way are coming along."""
        states = [each.state for each in self._watched.values() if each.state is not None]
        requests = sum(len(each.batch.requests) for each in self._watched.values())
        return BatchProgress(len(self._watched), requests, sum(state.done for state in states))

    async def check(self) -> None:
        """Make sure that the server has batches. Raises `Stopped` where it has none."""
        await self._patience.ask(self.model.service.check)

    async def call(self, request: Request) -> BatchReply:
        """Return the reply to a request, in how many batches it was, and the last. Raises as `Caller.call` does."""
        if self._error is not None:
            raise self._error
        body = self.model.body_of(request)
        waiting = WaitingBatch(request_name(request), request, body, asyncio.get_running_loop().create_future())
        self._unanswered.add(waiting)
        try:
            self._wait(waiting)
            return await waiting.future
        finally:
            self._unanswered.discard(waiting)

    def halt(self, error: BaseException) -> None:
        """Raise an error to everybody who waits, and to all who come. A submission under way is finished."""
        if self._error is None:
            self._error = error
        ended_with(list(self._unanswered), self._error)
        self._new, self._held_back = [], []
        for task in self._tasks:
            if task is not self._placing:
                task.cancel()

    async def close(self, *, finished: bool) -> None:
        """Let go of everything. Batches of which everything was taken by a run that `finished`, and kept, are noted
        as collected."""
        if self._placing is not None:
            await asyncio.gather(self._placing, return_exceptions=True)
        self.halt(Halted())
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for batch in list(self._book.open) if finished else ():
            if not batch.left:
                self._book.close(batch, COLLECTED, self._times.now())

    def _wait(self, waiting: WaitingBatch) -> None:
        self._new.append(waiting)
        self._level.stir()
        if self._placing is None or self._placing.done():
            self._placing = self._begin(self._place_all())

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin a task. What goes wrong in it ends the run."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                self.halt(error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _place_all(self) -> None:
        """Give every new request its place in a batch, level by level."""
        while self._error is None and (self._new or self._held_back):
            if self._new:
                await self._level.complete()
            else:  # until replies of any model leave room in the budget
                self._only_waits = True
                await self._times.sleep(self._pauses.again_s)
                self._only_waits = False
            new, self._new, self._held_back = [*self._held_back, *self._new], [], []
            await self._place(new)

    async def _place(self, new: Sequence[WaitingBatch]) -> None:
        """Join requests to the batches that have them already, and submit the others."""
        self._book.refresh(self._times.now())
        fresh: list[WaitingBatch] = []
        for waiting in new:
            while (batch := self._book.holder(waiting.name)) is not None and batch.batch_id is None:
                await self._look_for(batch)
            if batch is None:
                fresh.append(waiting)
            else:
                self._reserve(waiting, anyway=True)
                self._join(batch, [waiting])
        if fresh:
            await self._ready()
        for part in self._parts(self._affordable(fresh)):
            if self._error is not None:
                return
            await self._submit(part)

    def _affordable(self, fresh: Iterable[WaitingBatch]) -> list[WaitingBatch]:
        """Return the requests that the budget has room for; the others wait for replies. Raises `OutOfBudget` where
        none can come."""
        found: list[WaitingBatch] = []
        for waiting in fresh:
            (found if self._reserve(waiting) else self._held_back).append(waiting)
        if self._held_back and not found and self._budget is not None and not self._budget.awaits_replies:
            first = self._held_back[0]
            raise self._budget.refusal(self._budget.highest(first.request, self.model), self.model.name)
        return found

    def _reserve(self, waiting: WaitingBatch, *, anyway: bool = False) -> bool:
        if self._budget is None:
            return True
        cost = self._budget.highest(waiting.request, self.model)
        waiting.debit = self._budget.hold(cost, self.model.name, anyway=anyway)
        return waiting.debit is not None

    def _parts(self, fresh: Sequence[WaitingBatch]) -> Iterator[list[WaitingBatch]]:
        """Yield the requests in parts that fit into one batch each."""
        service = self.model.service
        part: list[WaitingBatch] = []
        size = 0
        for waiting in fresh:
            length = len(waiting.body) + 200
            if part and (len(part) >= service.most_lines or size + length > service.most_bytes):
                yield part
                part, size = [], 0
            part.append(waiting)
            size += length
        if part:
            yield part

    async def _submit(self, part: list[WaitingBatch]) -> None:
        """Submit a batch: its requests are in the store before, and what the provider calls it right after."""
        names, now = [each.name for each in part], self._times.now()
        marker = digest([self.model.name, now.isoformat(), names])
        batch = self._book.intend(marker, names, now)
        try:
            batch_id = await self._submitted(batch, [BatchLine(each.name, each.body) for each in part])
        except ModelError as error:
            if not error.retryable:  # else nobody knows if it was taken: the next run looks for it
                self._book.close(batch, DROPPED, self._times.now(), str(error))
            if error.fatal or error.retryable:
                raise Stopped(error.code, error.message, error.hint) from error
            ended_with(part, error)
            return
        self._book.submitted(batch, batch_id, self._times.now())
        self._notes(f"{self.model.name}: batch {batch_id} with {counted_requests(len(part))} is submitted")
        self._join(batch, part)

    async def _submitted(self, batch: OpenBatch, lines: Sequence[BatchLine]) -> str:
        """Return what the provider calls a batch. After an error that leaves open whether it was taken, it is looked
        for before it is submitted again."""
        began = self._times.clock()
        while True:
            try:
                return await self.model.service.submit(batch.marker, lines)
            except ModelError as error:
                given_up = self._error is not None or self._times.clock() - began > self._patience_s
                if not error.retryable or given_up:
                    raise
                delay_s = error.retry_after_s or self._pauses.again_s
            found = await self._found(batch, self._times.clock() + self._pauses.grace_s)
            if found is not None:
                return found
            await self._times.sleep(delay_s)

    async def _look_for(self, batch: OpenBatch) -> None:
        """Find out what became of a batch whose submission another process did not see the end of."""
        age_s = (self._times.now() - batch.created_at).total_seconds()
        found = await self._found(batch, self._times.clock() + max(0.0, self._pauses.grace_s - age_s))
        if found is None:
            self._book.close(batch, DROPPED, self._times.now(), "it was never submitted")
        else:
            self._book.submitted(batch, found, self._times.now())

    async def _found(self, batch: OpenBatch, until: float) -> str | None:
        """Return what the provider calls a batch, which is looked for until a time at least."""
        others = [each.batch_id for each in self._book.open if each.batch_id is not None]
        while True:
            found: str | None = await self._patience.ask(
                lambda: self.model.service.find(batch.marker, batch.requests, batch.created_at, others)
            )
            if found is not None or self._times.clock() >= until:
                return found
            await self._times.sleep(min(self._pauses.quiet_s, max(0.0, until - self._times.clock())))

    def _join(self, batch: OpenBatch, part: Iterable[WaitingBatch]) -> None:
        """Let requests wait for a batch, which is watched from now on."""
        watched = self._watched.get(batch.marker)
        if watched is None:
            watched = self._watched[batch.marker] = WatchedBatch(batch)
            self._begin(self._watch(watched))
        watched.waiting.update({each.name: each for each in part})

    async def _watch(self, watched: WatchedBatch) -> None:
        """Wait for a batch to end. Requests with transient errors go into another batch, and the others are told."""
        found = await self._collector.collect(watched)
        del self._watched[watched.batch.marker]
        self._level.stir()
        again = [waiting for waiting, error in found.failed if error.retryable and waiting.attempts < MOST_ATTEMPTS]
        for waiting, error in found.failed:
            if error.fatal:
                raise Stopped(error.code, error.message, error.hint) from error
            if waiting not in again:
                ended_with([waiting], error)
        if again:
            await self._times.sleep(self._pauses.again_s)
        for waiting in (*again, *found.freed):
            self._wait(waiting)


__all__ = ["BatchQueue", "OutOfBudget", "WaitingBatch"]
