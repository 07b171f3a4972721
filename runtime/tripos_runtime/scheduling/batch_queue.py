"""The batched calls of a run: a queue for each model, and callers that replace the live ones.

Requests wait for the end of their level, which is the moment from which no further request can come before a reply
does. They are then submitted in batches; each batch is polled to its end and its outcomes are handed out. A live run in
a store with open batches does not ask again what one of them holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tripos_compiler.plan import digest
from tripos_runtime.models.base import Model, ModelError, Reply, Request
from tripos_runtime.models.batches import LOST, UNDONE, BatchedModel, BatchLine, BatchState
from tripos_runtime.models.http import HttpAnswer
from tripos_runtime.models.replay import ReplayModel
from tripos_runtime.scheduling.batch_records import (
    COLLECTED,
    DROPPED,
    EXPIRY,
    BatchBook,
    BatchLog,
    OpenBatch,
    request_name,
)
from tripos_runtime.scheduling.budget import Budget, Debit, Halted, Stopped
from tripos_runtime.scheduling.calling import NO_LANE, Called, Caller, Lane
from tripos_runtime.scheduling.endpoint import Times
from tripos_runtime.scheduling.limits import Limits

HELD_UP = 2.0
"""A pause that took this many times its length was a pause of the whole process: nobody could have asked meanwhile."""


@dataclass(frozen=True)
class Pauses:
    """The pauses of batches, in seconds: until a level counts as complete, between polls, and how long a batch of
    unknown submission is searched for."""

    quiet_s: float = 1.0
    first_look_s: float = 5.0
    longest_look_s: float = 60.0
    grace_s: float = 15.0
    again_s: float = 5.0
    """The delay before transient errors are retried."""


class BatchLevel:
    """The current level: the requests of all batched models, until no more can come."""

    def __init__(self, pauses: Pauses, times: Times, busy: Callable[[], bool]) -> None:
        """`busy` returns whether live calls are in flight, whose replies may lead to further requests."""
        self._quiet_s = pauses.quiet_s
        self._times = times
        self._busy = busy
        self._stirred_at = times.clock()

    def touch(self) -> None:
        """Record a request or a reply."""
        self._stirred_at = self._times.clock()

    async def complete(self) -> None:
        """Wait until no request has come for a while and none can come."""
        while True:
            began = self._times.clock()
            await self._times.sleep(self._quiet_s)
            held_up = self._times.clock() - began > HELD_UP * self._quiet_s + 0.05
            if self._stirred_at <= began and not held_up and not self._busy():
                return


BatchReply = tuple[Reply, int, str | None]
"""A reply, the number of batches that its request was in, and the provider's id of the last one."""


@dataclass(eq=False)
class WaitingBatch:
    """A request with a waiting caller: its name, its body, and the number of batches that it was in."""

    name: str
    request: Request
    future: asyncio.Future[BatchReply]
    body: bytes = b""
    """Written before its first batch is submitted."""
    attempts: int = 0
    lost: list[Reply] = field(default_factory=list)
    """The reported usage of outcomes that were not replies."""
    debit: Debit | None = None


@dataclass(eq=False)
class WatchedBatch:
    """A submitted batch, and the callers that wait for its requests."""

    batch: OpenBatch
    waiting: dict[str, WaitingBatch] = field(default_factory=dict)
    state: BatchState | None = None


@dataclass
class Unanswered:
    """Requests without a reply: failed ones with their errors, and freed ones, which are asked again as if the batch
    had never existed."""

    failed: list[tuple[WaitingBatch, ModelError]] = field(default_factory=list)
    freed: list[WaitingBatch] = field(default_factory=list)


@dataclass(frozen=True)
class Patience:
    """Retries calls to a provider as long as an error may be transient."""

    times: Times
    pauses: Pauses
    patience_s: float

    async def ask(self, ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Return the provider's answer. Raises `Stopped`, and `ModelError` for an unknown batch."""
        began, delay_s = self.times.clock(), self.pauses.again_s
        while True:
            try:
                return await ask()
            except ModelError as error:
                if error.code == LOST:
                    raise
                if not error.retryable or self.times.clock() - began > self.patience_s:
                    raise Stopped.because(error) from error
                wait_s = error.retry_after_s or delay_s
            await self.times.sleep(wait_s)
            delay_s = min(delay_s * 2, self.pauses.longest_look_s)


class BatchCollector:
    """Collects the outcomes of the batches of one model."""

    def __init__(
        self,
        model: BatchedModel,
        book: BatchBook,
        budget: Budget | None,
        notes: Callable[[str], None],
        patience: Patience,
    ) -> None:
        self._model = model
        self._book = book
        self._budget = budget
        self._notes = notes
        self._patience = patience
        self._times, self._pauses = patience.times, patience.pauses

    async def collect(self, watched: WatchedBatch) -> Unanswered:
        """Wait for the end of a batch, and give its replies to the waiting callers. Unanswered requests are noted even
        if no caller waits for them: the batch no longer holds them."""
        try:
            state = await self._ended(watched)
            answered, failed, garbled = await self._outcomes(watched, state)
        except ModelError as error:
            return self._unknown_batch(watched, error)
        why, again = state.trouble or "it has no outcome for it", state.may_pass or state.trouble is None
        if garbled:
            why = f"{why}; {garbled:,} of the lines that it gave cannot be read"
        for waiting in watched.waiting.values():
            message = f"no batch answered this request to `{self._model.name}`: {why}"
            failed.append((waiting, ModelError(UNDONE, message, "run the same command again", retryable=again)))
        for waiting, failure in failed:
            waiting.attempts += 1
            waiting.lost += [] if failure.usage is None else [failure.usage]
            self._give_back(waiting, failure.usage)
            failure.attempts = waiting.attempts
            failure.usage = waiting.lost[0].with_usage_of(waiting.lost[1:]) if waiting.lost else None
        unanswered = (watched.batch.requests - answered) | {waiting.name for waiting, _ in failed}
        self._book.unanswered(watched.batch, unanswered, self._times.now())
        return Unanswered(failed)

    async def _ended(self, watched: WatchedBatch) -> BatchState:
        """Poll a batch until it has ended."""
        batch_id, delay_s = watched.batch.batch_id, self._pauses.first_look_s
        assert batch_id is not None
        while True:
            state: BatchState = await self._patience.ask(lambda: self._model.service.state(batch_id))
            if state.ended:
                done = f"{state.done:,} of {counted_requests(state.total)} answered"
                self._notes(f"{self._model.name}: batch {batch_id} has ended, {done}")
                return state
            watched.state = state
            await self._times.sleep(delay_s)
            delay_s = min(delay_s * 1.5, self._pauses.longest_look_s)

    async def _outcomes(
        self, watched: WatchedBatch, state: BatchState
    ) -> tuple[set[str], list[tuple[WaitingBatch, ModelError]], int]:
        """Hand out the replies of a batch. Return the requests with a reply, the failed ones with errors, and the
        number of unreadable lines. A file that breaks off is read again. A request with several lines has a reply if
        one of them is a reply."""
        answered: set[str] = set()
        failed: dict[str, tuple[WaitingBatch, ModelError]] = {}
        garbled = 0

        async def read() -> None:
            nonlocal garbled
            garbled = 0
            async for name, outcome in self._model.service.outcomes(state):
                waiting = watched.waiting.get(name)
                if name == "":
                    garbled += 1
                if not isinstance(outcome, ModelError) and outcome.status == 200:
                    answered.add(name)
                if waiting is None:
                    continue
                error = await self._hand_out(watched, waiting, outcome)
                if error is None:
                    del watched.waiting[name]
                    failed.pop(name, None)
                else:
                    failed.setdefault(name, (waiting, error))

        await self._patience.ask(read)
        for name in failed:
            del watched.waiting[name]
        return answered, list(failed.values()), garbled

    async def _hand_out(
        self, watched: WatchedBatch, waiting: WaitingBatch, outcome: HttpAnswer | ModelError
    ) -> ModelError | None:
        """Give a reply to its waiting caller; return the error of a request that failed."""
        try:
            if isinstance(outcome, ModelError):
                raise outcome
            reply = await self._model.reply_in(waiting.request, outcome)
        except ModelError as error:
            return error
        waiting.attempts += 1
        self._book.settle(watched.batch, waiting.name)
        if self._budget is not None and waiting.debit is not None:
            self._budget.settle(waiting.debit, reply, self._model.price)
        if not waiting.future.done():
            whole = reply.with_usage_of(waiting.lost) if waiting.lost else reply
            waiting.future.set_result((whole, waiting.attempts, watched.batch.batch_id))
        return None

    def _unknown_batch(self, watched: WatchedBatch, error: ModelError) -> Unanswered:
        """Return the requests of a batch that the provider does not know. Once it has certainly expired they are free;
        before, only this account may not know it, and its replies are paid for."""
        batch, now, waiting = watched.batch, self._times.now(), list(watched.waiting.values())
        held = counted_requests(len(batch.requests))
        for waiting_batch in waiting:
            self._give_back(waiting_batch)
        if now - batch.created_at > EXPIRY:
            self._book.close(batch, DROPPED, now, "the provider does not know it any more")
            text = f"{self._model.name}: batch {batch.batch_id} with {held} is lost"
            self._notes(f"{text}, the provider does not know it any more: what it had is asked again")
            return Unanswered(freed=waiting)
        until = f"{batch.created_at + EXPIRY:%Y-%m-%d %H:%M} UTC"
        command = f"`tripos store batches --give-up {batch.batch_id}`"
        message = f"{error.message}, which holds {held}: it counts as lost from {until} on, or after {command}"
        hint = "check that the key is of the account that submitted it, as what it answered may be paid for twice"
        self._notes(f"{message}; {hint}")
        return Unanswered([(each, ModelError(LOST, message, hint)) for each in waiting])

    def _give_back(self, waiting: WaitingBatch, took: Reply | None = None) -> None:
        if self._budget is not None and waiting.debit is not None:
            self._budget.end(waiting.debit, took, self._model.price)
        waiting.debit = None


def counted_requests(count: int) -> str:
    """Return a number of requests in words.

    >>> counted_requests(1), counted_requests(1200)
    ('1 request', '1,200 requests')
    """
    return f"{count:,} request{'' if count == 1 else 's'}"


def fail_all(waiting: Iterable[WaitingBatch], error: BaseException) -> None:
    """Raise an error in all callers that wait for these requests."""
    for batch in waiting:
        if not batch.future.done():
            batch.future.set_exception(error)
            batch.future.exception()  # mark as retrieved: nobody else may await it


MOST_ATTEMPTS = 3
"""The number of batches that a request may be in before it counts as failed."""


@dataclass
class BatchProgress:
    """The counts of a queue: open batches, their requests, and how many of these are done."""

    batches: int = 0
    requests: int = 0
    done: int = 0


class BatchQueue:
    """The queue of requests to one model. An error that ends the run is raised in all waiting callers."""

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
        """Requests that wait for room in the budget until others are answered."""
        self._watched: dict[str, WatchedBatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._placing: asyncio.Task[None] | None = None
        self._only_waits = False
        """True while requests wait only for room in the budget."""
        self._error: BaseException | None = None

    @property
    def idle(self) -> bool:
        """True if there is nothing to do but wait for the provider, and each batch was polled."""
        placing = self._placing is not None and not self._placing.done()
        return (
            (self._only_waits or not placing)
            and not self._new
            and all(batch.state is not None for batch in self._watched.values())
        )

    @property
    def progress(self) -> BatchProgress:
        """Return the counts of the open batches."""
        states = [batch.state for batch in self._watched.values() if batch.state is not None]
        requests = sum(len(batch.batch.requests) for batch in self._watched.values())
        return BatchProgress(len(self._watched), requests, sum(state.done for state in states))

    async def check(self) -> None:
        """Raise `Stopped` if the server has no batches."""
        await self._patience.ask(self.model.service.check)

    async def call(self, request: Request) -> BatchReply:
        """Return the reply to a request, the number of its batches, and the last one. Raises as `Caller.call` does."""
        if self._error is not None:
            raise self._error
        waiting = WaitingBatch(request_name(request), request, asyncio.get_running_loop().create_future())
        self._unanswered.add(waiting)
        try:
            self._wait(waiting)
            return await waiting.future
        finally:
            self._unanswered.discard(waiting)

    def halt(self, error: BaseException) -> None:
        """Raise an error in all waiting and future callers. A submission in progress is finished."""
        if self._error is None:
            self._error = error
        fail_all(list(self._unanswered), self._error)
        self._new, self._held_back = [], []
        for task in self._tasks:
            if task is not self._placing:
                task.cancel()

    async def close(self, *, finished: bool) -> None:
        """Close everything. Batches whose replies were all taken and kept by a `finished` run are noted as
        collected."""
        if self._placing is not None:
            await asyncio.gather(self._placing, return_exceptions=True)
        self.halt(Halted())
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for batch in list(self._book.open) if finished else ():
            if not batch.left:
                self._book.close(batch, COLLECTED, self._times.now())

    def _wait(self, waiting: WaitingBatch) -> None:
        self._new.append(waiting)
        self._level.touch()
        if self._placing is None or self._placing.done():
            self._placing = self._begin(self._place_all())

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task. An error in it ends the run."""

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
        """Put every new request into a batch, level by level."""
        while self._error is None and (self._new or self._held_back):
            if self._new:
                await self._level.complete()
            else:  # wait until replies of any model leave room in the budget
                self._only_waits = True
                await self._times.sleep(self._pauses.again_s)
                self._only_waits = False
            new, self._new, self._held_back = [*self._held_back, *self._new], [], []
            await self._place(new)

    async def _place(self, new: Sequence[WaitingBatch]) -> None:
        """Join requests to the batches that hold them already, and submit the others."""
        self._book.refresh(self._times.now())
        fresh: list[WaitingBatch] = []
        for waiting in new:
            while (batch := self._book.holder(waiting.name)) is not None and batch.batch_id is None:
                await self._recover(batch)
            if batch is None:
                fresh.append(waiting)
            else:
                self._reserve(waiting, anyway=True)
                self._join(batch, [waiting])
        fresh = [waiting for waiting in fresh if await self._write(waiting)]
        if fresh:
            await self._ready()
        for part in self._parts(self._affordable(fresh)):
            if self._error is not None:
                return
            await self._submit(part)

    async def _write(self, waiting: WaitingBatch) -> bool:
        """Write the body of a request. If that fails, its caller gets the error."""
        try:
            waiting.body = waiting.body or await self.model.request_body(waiting.request)
        except ModelError as error:
            fail_all([waiting], error)
            return False
        return True

    def _affordable(self, fresh: Iterable[WaitingBatch]) -> list[WaitingBatch]:
        """Return the requests that fit into the budget; the others wait for replies. Raises `OutOfBudget` if none can
        come."""
        batches: list[WaitingBatch] = []
        for waiting in fresh:
            (batches if self._reserve(waiting) else self._held_back).append(waiting)
        if self._held_back and not batches and self._budget is not None and not self._budget.has_reservations:
            first = self._held_back[0]
            raise self._budget.refusal(self._budget.highest(first.request, self.model), self.model.name)
        return batches

    def _reserve(self, waiting: WaitingBatch, *, anyway: bool = False) -> bool:
        if self._budget is None:
            return True
        cost = self._budget.highest(waiting.request, self.model)
        waiting.debit = self._budget.hold(cost, self.model.name, anyway=anyway)
        return waiting.debit is not None

    def _parts(self, fresh: Sequence[WaitingBatch]) -> Iterator[list[WaitingBatch]]:
        """Yield the requests in parts that each fit into one batch."""
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
        """Submit a batch. Its requests are in the store before, and the provider's id right after."""
        names, now = [waiting_batch.name for waiting_batch in part], self._times.now()
        marker = digest([self.model.name, now.isoformat(), names])
        batch = self._book.note_intent(marker, names, now)
        try:
            batch_id = await self._submitted(
                batch, [BatchLine(waiting_batch.name, waiting_batch.body) for waiting_batch in part]
            )
        except ModelError as error:
            if not error.retryable:  # otherwise it may have been accepted: the next run searches for it
                self._book.close(batch, DROPPED, self._times.now(), error.message)
            if error.fatal or error.retryable:
                raise Stopped.because(error) from error
            fail_all(part, error)
            return
        self._book.submitted(batch, batch_id, self._times.now())
        self._notes(f"{self.model.name}: batch {batch_id} with {counted_requests(len(part))} is submitted")
        self._join(batch, part)

    async def _submitted(self, batch: OpenBatch, lines: Sequence[BatchLine]) -> str:
        """Return the provider's id of a batch. After an error that leaves its submission open, it is searched for
        before it is submitted again."""
        began = self._times.clock()
        while True:
            try:
                return await self.model.service.submit(batch.marker, lines)
            except ModelError as error:
                given_up = self._error is not None or self._times.clock() - began > self._patience_s
                if not error.retryable or given_up:
                    raise
                delay_s = error.retry_after_s or self._pauses.again_s
            found = await self._find(batch, self._times.clock() + self._pauses.grace_s)
            if found is not None:
                return found
            await self._times.sleep(delay_s)

    async def _recover(self, batch: OpenBatch) -> None:
        """Find a batch whose submission another process did not see the end of."""
        age_s = (self._times.now() - batch.created_at).total_seconds()
        found = await self._find(batch, self._times.clock() + max(0.0, self._pauses.grace_s - age_s))
        if found is None:
            self._book.close(batch, DROPPED, self._times.now(), "it was never submitted")
        else:
            self._book.submitted(batch, found, self._times.now())

    async def _find(self, batch: OpenBatch, until: float) -> str | None:
        """Return the provider's id of a batch, searching at least until a time."""
        others = [open_batch.batch_id for open_batch in self._book.open if open_batch.batch_id is not None]
        while True:
            found: str | None = await self._patience.ask(
                lambda: self.model.service.find(batch.marker, batch.requests, batch.created_at, others)
            )
            if found is not None or self._times.clock() >= until:
                return found
            await self._times.sleep(min(self._pauses.quiet_s, max(0.0, until - self._times.clock())))

    def _join(self, batch: OpenBatch, part: Iterable[WaitingBatch]) -> None:
        """Let requests wait for a batch, which is polled from now on."""
        watched = self._watched.get(batch.marker)
        if watched is None:
            watched = self._watched[batch.marker] = WatchedBatch(batch)
            self._begin(self._watch(watched))
        watched.waiting.update({waiting_batch.name: waiting_batch for waiting_batch in part})

    async def _watch(self, watched: WatchedBatch) -> None:
        """Wait for a batch to end. Requests with transient errors go into another batch; the others fail."""
        unanswered = await self._collector.collect(watched)
        del self._watched[watched.batch.marker]
        self._level.touch()
        again = [
            waiting for waiting, error in unanswered.failed if error.retryable and waiting.attempts < MOST_ATTEMPTS
        ]
        for waiting, error in unanswered.failed:
            if error.fatal:
                raise Stopped.because(error) from error
            if waiting not in again:
                fail_all([waiting], error)
        if again:
            await self._times.sleep(self._pauses.again_s)
        for waiting in (*again, *unanswered.freed):
            self._wait(waiting)


USUAL = Pauses()


class BatchCaller(Caller):
    """Calls one model in batches. It keeps the gate of the live caller that it replaces, for its state."""

    def __init__(self, live: Caller, queue: BatchQueue) -> None:
        self.model: Model = queue.model
        self.gate = live.gate
        self.memory = live.memory
        self._queue = queue

    def halt(self) -> None:
        """Stop waiting for batches: submitted ones are collected by a later run."""
        self._queue.halt(Halted())

    async def call(self, request: Request, lane: Lane = NO_LANE) -> Called:
        """Wait for the batch with the request. Raises as `Caller.call` does."""
        reply, attempts, batch_id = await self._queue.call(request)
        return Called(reply, attempts, None, batch_id)


@dataclass
class BatchCalls:
    """The batches of a run. With `detach`, `leave` is called as soon as the run waits only for providers."""

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
        """Return the callers of a run, with batch callers for the batched models."""
        times = Times(time.monotonic, asyncio.sleep, lambda: datetime.now(UTC))
        gates = [caller.gate for caller in live.values() if not isinstance(caller.model, BatchedModel)]
        level = BatchLevel(self.pauses, times, lambda: any(gate.in_flight or gate.snapshot().waiting for gate in gates))
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
        """Return the counts of the open batches of each model."""
        return {name: queue.progress for name, queue in self.queues.items()}

    async def close(self, *, finished: bool) -> None:
        """Close everything. `finished`: the run has kept every reply that it was given."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        for queue in self.queues.values():
            await queue.close(finished=finished)

    async def _ready(self) -> None:
        """Wait until every server is known to have batches; nothing is submitted before."""
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        for queue in self.queues.values():
            await queue.check()

    async def _leave(self, level: BatchLevel) -> None:
        """Leave as soon as there is nothing to do but wait."""
        while True:
            await level.complete()
            if all(queue.idle for queue in self.queues.values()) and any(
                progress.batches for progress in self.progress.values()
            ):
                self.left = True
                self.leave()
                return


HELD = "R0123"
"""The error code of a live run that reaches a request which a batch holds."""


class LiveCaller(Caller):
    """Calls one model live. A request that a batch holds ends the run before it is asked."""

    def __init__(self, live: Caller, log: BatchLog) -> None:
        self.model = live.model
        self.gate = live.gate
        self.memory = live.memory
        self._live = live
        self._book = BatchBook(log, live.model.name)
        self._refresh()

    def halt(self) -> None:
        """Make no further calls."""
        self._live.halt()

    async def call(self, request: Request, lane: Lane = NO_LANE) -> Called:
        """Ask. Raises as `Caller.call` does, and `Stopped` R0123 if a batch holds the request."""
        self._refresh()
        batch = self._holder(request)
        if batch is not None:
            name = batch.batch_id or batch.marker
            message = f"a batch of `{self.model.name}` under way holds requests of this run: {name}"
            hint = f"run the same command with --batch, or give the batch up: `tripos store batches --give-up {name}`"
            raise Stopped(HELD, message, hint)
        return await self._live.call(request, lane)

    def _refresh(self) -> None:
        """Read the records of other processes. A process that claims a case sees every earlier batch of it."""
        self._book.refresh(datetime.now(UTC), peek=True)
        if self._book.open:
            model: Any = self.model
            model.most_samples = 1  # as in batches, where each sample has a name of its own

    def _holder(self, request: Request) -> OpenBatch | None:
        """Return the batch that holds a request. For several samples at once this is unknown: any batch counts."""
        if not self._book.open:
            return None
        return next(iter(self._book.open)) if request.samples > 1 else self._book.holder(request_name(request))


def refuse_batched_requests(callers: Mapping[str, Caller], log: BatchLog) -> dict[str, Caller]:
    """Return callers that do not ask for requests which a batch in the store holds. Recorded models are free and
    stay."""
    return {
        name: caller if isinstance(caller.model, ReplayModel) else LiveCaller(caller, log)
        for name, caller in callers.items()
    }
