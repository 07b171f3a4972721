"""The batched calls of a run: a queue for each model, and callers that replace the live ones.

The requests that a run can make before it has any of their replies are a level. When the level is complete, its
requests are submitted in batches. Each batch is polled until it ends, and its replies go to the waiting callers.

A batch holds a request until it has ended without a reply to it, or its replies are collected. A live run in a store
with open batches does not send requests that one of them holds."""

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
"""If a sleep takes more than this many times its length, the process itself was held up, so that no request could come
meanwhile."""


@dataclass(frozen=True)
class Pauses:
    """The pauses of batches, in seconds."""

    quiet_s: float = 1.0
    """How long no request may come until a level counts as complete."""
    first_look_s: float = 5.0
    """The delay before the second poll of a batch; later delays are longer."""
    longest_look_s: float = 60.0
    """The longest delay between polls."""
    grace_s: float = 15.0
    """How long the provider is searched for a batch whose submission is uncertain."""
    again_s: float = 5.0
    """The delay before transient errors are retried."""


class BatchLevel:
    """The current level of all batched models. It is complete when no further request can come."""

    def __init__(self, pauses: Pauses, times: Times, busy: Callable[[], bool]) -> None:
        """`busy` returns whether live calls are in flight, whose replies may lead to further requests."""
        self._quiet_s = pauses.quiet_s
        self._times = times
        self._busy = busy
        self._last_event_at = times.clock()

    def touch(self) -> None:
        """Record a request or a reply."""
        self._last_event_at = self._times.clock()

    async def complete(self) -> None:
        """Wait until no request has come for a while and none can come."""
        while True:
            began = self._times.clock()
            await self._times.sleep(self._quiet_s)
            held_up = self._times.clock() - began > HELD_UP * self._quiet_s + 0.05
            if self._last_event_at <= began and not held_up and not self._busy():
                return


BatchReply = tuple[Reply, int, str | None]
"""A reply, the number of batches that its request was in, and the provider's id of the last one."""


@dataclass(eq=False)
class WaitingRequest:
    """A request whose caller waits for a batch."""

    name: str
    request: Request
    future: asyncio.Future[BatchReply]
    body: bytes = b""
    """The request as the provider takes it; empty until it is first submitted."""
    attempts: int = 0
    """The number of batches that it was in."""
    lost: list[Reply] = field(default_factory=list)
    """The reported usage of outcomes that were not replies."""
    debit: Debit | None = None
    """Its reservation of the budget."""


@dataclass(eq=False)
class WatchedBatch:
    """A submitted batch that is polled, and the requests whose callers wait for it, by name. `state` is None before the
    first poll."""

    batch: OpenBatch
    waiting: dict[str, WaitingRequest] = field(default_factory=dict)
    state: BatchState | None = None


@dataclass
class Unanswered:
    """Requests that a batch has no reply to: failed ones with their errors, and freed ones, which are asked again as if
    the batch had never existed."""

    failed: list[tuple[WaitingRequest, ModelError]] = field(default_factory=list)
    freed: list[WaitingRequest] = field(default_factory=list)


@dataclass(frozen=True)
class Patience:
    """Retries calls to a provider as long as an error may be transient."""

    times: Times
    pauses: Pauses
    patience_s: float

    async def ask(self, ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Return the result of `ask`. Raises `Stopped` after an error that lasts, and `ModelError` (`LOST`) if the
        provider does not know the batch."""
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
        """Wait for the end of a batch, and give its replies to the waiting callers. All unanswered requests are
        recorded, also those that no caller waits for: the batch no longer holds them."""
        try:
            state = await self._end_state(watched)
            answered, failed, unreadable = await self._read_outcomes(watched, state)
        except ModelError as error:
            return self._unknown_batch(watched, error)
        reason, retryable = state.trouble or "it has no outcome for it", state.may_pass or state.trouble is None
        if unreadable:
            reason = f"{reason}; {unreadable:,} of the lines that it gave cannot be read"
        for waiting in watched.waiting.values():
            message = f"no batch answered this request to `{self._model.name}`: {reason}"
            failed.append((waiting, ModelError(UNDONE, message, "run the same command again", retryable=retryable)))
        for waiting, failure in failed:
            waiting.attempts += 1
            waiting.lost += [] if failure.usage is None else [failure.usage]
            self._end_debit(waiting, failure.usage)
            failure.attempts = waiting.attempts
            failure.usage = waiting.lost[0].with_usage_of(waiting.lost[1:]) if waiting.lost else None
        unanswered = (watched.batch.requests - answered) | {waiting.name for waiting, _ in failed}
        self._book.unanswered(watched.batch, unanswered, self._times.now())
        return Unanswered(failed)

    async def _end_state(self, watched: WatchedBatch) -> BatchState:
        """Poll a batch until it has ended, and return its last state."""
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

    async def _read_outcomes(
        self, watched: WatchedBatch, state: BatchState
    ) -> tuple[set[str], list[tuple[WaitingRequest, ModelError]], int]:
        """Hand out the replies of a batch. Return the names of the requests with a reply, the failed requests with
        their errors, and the number of unreadable lines. A file that breaks off is read again. A request with several
        lines has a reply if one of them is a reply."""
        answered: set[str] = set()
        failed: dict[str, tuple[WaitingRequest, ModelError]] = {}
        read_names: set[str] = set()
        unreadable = 0

        async def read() -> None:
            nonlocal unreadable
            unreadable = 0
            async for name, outcome in self._model.service.outcomes(state):
                waiting = watched.waiting.get(name)
                read_names.add(name)
                if name == "":
                    unreadable += 1
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
        # A caller may have joined after the line of its request was read. Its reply must not be paid for twice. The
        # lines of a batch do not change, so a pass settles every caller that waited at its start, and the loop ends.
        while any(name in read_names and name not in failed for name in watched.waiting):
            await self._patience.ask(read)
        for name in failed:
            del watched.waiting[name]
        return answered, list(failed.values()), unreadable

    async def _hand_out(
        self, watched: WatchedBatch, waiting: WaitingRequest, outcome: HttpAnswer | ModelError
    ) -> ModelError | None:
        """Give a reply to its waiting caller. Return the error if the outcome is none."""
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
            with_usage = reply.with_usage_of(waiting.lost) if waiting.lost else reply
            waiting.future.set_result((with_usage, waiting.attempts, watched.batch.batch_id))
        return None

    def _unknown_batch(self, watched: WatchedBatch, error: ModelError) -> Unanswered:
        """Return the requests of a batch that the provider does not know. They are free once the batch has certainly
        expired. Before that they fail: the batch may belong to another account, and its replies are paid for."""
        batch, now, waiting = watched.batch, self._times.now(), list(watched.waiting.values())
        held = counted_requests(len(batch.requests))
        for waiting_request in waiting:
            self._end_debit(waiting_request)
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

    def _end_debit(self, waiting: WaitingRequest, usage: Reply | None = None) -> None:
        """Release the reservation of a request without a reply, and count its reported usage."""
        if self._budget is not None and waiting.debit is not None:
            self._budget.end(waiting.debit, usage, self._model.price)
        waiting.debit = None


def counted_requests(count: int) -> str:
    """Return a number of requests in words.

    >>> counted_requests(1), counted_requests(1200)
    ('1 request', '1,200 requests')
    """
    return f"{count:,} request{'' if count == 1 else 's'}"


def fail_all(waiting: Iterable[WaitingRequest], error: BaseException) -> None:
    """Raise an error in all callers that wait for these requests."""
    for request in waiting:
        if not request.future.done():
            request.future.set_exception(error)
            request.future.exception()  # mark as retrieved: its caller may be gone


MOST_ATTEMPTS = 3
"""The number of batches that a request may be in before it counts as failed."""


@dataclass
class BatchProgress:
    """The counts of a queue: open batches, their requests, and how many of these are answered."""

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
        """`ready` is awaited before anything is submitted. `patience_s` is how long transient errors are retried."""
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
        self._unanswered: set[WaitingRequest] = set()
        """All requests whose callers wait."""
        self._new: list[WaitingRequest] = []
        """Requests that are in no batch yet."""
        self._held_back: list[WaitingRequest] = []
        """Requests that wait for room in the budget until others are answered."""
        self._watched: dict[str, WatchedBatch] = {}
        """The batches that are polled, by their marker."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._placing: asyncio.Task[None] | None = None
        """The task that puts new requests into batches."""
        self._only_waits = False
        """True while requests wait only for room in the budget."""
        self._error: BaseException | None = None
        """The error that ended the queue."""

    @property
    def idle(self) -> bool:
        """True if the queue only waits for the provider and has polled each batch."""
        placing = self._placing is not None and not self._placing.done()
        return (
            (self._only_waits or not placing)
            and not self._new
            and all(batch.state is not None for batch in self._watched.values())
        )

    @property
    def progress(self) -> BatchProgress:
        """The counts of the open batches."""
        states = [batch.state for batch in self._watched.values() if batch.state is not None]
        requests = sum(len(batch.batch.requests) for batch in self._watched.values())
        return BatchProgress(len(self._watched), requests, sum(state.done for state in states))

    async def check(self) -> None:
        """Raise `Stopped` if the server has no batches."""
        await self._patience.ask(self.model.service.check)

    async def call(self, request: Request) -> BatchReply:
        """Wait for the reply to a request. Raises the errors of `Caller.call`."""
        if self._error is not None:
            raise self._error
        waiting = WaitingRequest(request_name(request), request, asyncio.get_running_loop().create_future())
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
        """End all tasks. If the run is `finished`, so that its replies are kept, record the batches without open
        requests as collected."""
        if self._placing is not None:
            await asyncio.gather(self._placing, return_exceptions=True)
        self.halt(Halted())
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for batch in list(self._book.open) if finished else ():
            if not batch.left:
                self._book.close(batch, COLLECTED, self._times.now())

    def _wait(self, waiting: WaitingRequest) -> None:
        self._new.append(waiting)
        self._level.touch()
        if self._placing is None or self._placing.done():
            self._placing = self._begin(self._place_all())

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task. An error in it is raised in all callers, which ends the run."""

        async def halting() -> None:
            try:
                await work
            except Exception as error:
                self.halt(error)

        task = asyncio.create_task(halting())
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

    async def _place(self, new: Sequence[WaitingRequest]) -> None:
        """Let requests wait for the batches that hold them already, and submit the others."""
        self._book.refresh(self._times.now())
        unsent: list[WaitingRequest] = []
        for waiting in new:
            while (batch := self._book.holder(waiting.name)) is not None and batch.batch_id is None:
                await self._recover(batch)
            if batch is None:
                unsent.append(waiting)
            else:
                self._reserve(waiting, anyway=True)
                self._join(batch, [waiting])
        unsent = [waiting for waiting in unsent if await self._set_body(waiting)]
        if unsent:
            await self._ready()
        for part in self._parts(self._affordable(unsent)):
            if self._error is not None:
                return
            await self._submit(part)

    async def _set_body(self, waiting: WaitingRequest) -> bool:
        """Set the body of a request, and return true. If that fails, its caller gets the error."""
        try:
            waiting.body = waiting.body or await self.model.request_body(waiting.request)
        except ModelError as error:
            fail_all([waiting], error)
            return False
        return True

    def _affordable(self, unsent: Iterable[WaitingRequest]) -> list[WaitingRequest]:
        """Return the requests that fit into the budget. The others are held back until replies leave room for them.
        Raises `OutOfBudget` if no reply can come."""
        affordable: list[WaitingRequest] = []
        for waiting in unsent:
            (affordable if self._reserve(waiting) else self._held_back).append(waiting)
        if self._held_back and not affordable and self._budget is not None and not self._budget.has_reservations:
            first = self._held_back[0]
            raise self._budget.refusal(self._budget.highest(first.request, self.model), self.model.name)
        return affordable

    def _reserve(self, waiting: WaitingRequest, *, anyway: bool = False) -> bool:
        """Reserve the highest cost of a request; return false if it does not fit into the budget. With `anyway`, it is
        reserved in any case."""
        if self._budget is None:
            return True
        cost = self._budget.highest(waiting.request, self.model)
        waiting.debit = self._budget.hold(cost, self.model.name, anyway=anyway)
        return waiting.debit is not None

    def _parts(self, unsent: Sequence[WaitingRequest]) -> Iterator[list[WaitingRequest]]:
        """Yield the requests in parts that each fit into one batch."""
        service = self.model.service
        part: list[WaitingRequest] = []
        size = 0
        for waiting in unsent:
            length = len(waiting.body) + 200  # the rest of the line, at most
            if part and (len(part) >= service.most_lines or size + length > service.most_bytes):
                yield part
                part, size = [], 0
            part.append(waiting)
            size += length
        if part:
            yield part

    async def _submit(self, part: list[WaitingRequest]) -> None:
        """Submit a batch. Its requests are recorded in the store before, and the provider's id right after."""
        names, now = [waiting.name for waiting in part], self._times.now()
        marker = digest([self.model.name, now.isoformat(), names])
        batch = self._book.note_intent(marker, names, now)
        try:
            batch_id = await self._submit_lines(batch, [BatchLine(waiting.name, waiting.body) for waiting in part])
        except ModelError as error:
            if not error.retryable:  # else the provider may have accepted it, and the next run searches for it
                self._book.close(batch, DROPPED, self._times.now(), error.message)
            if error.fatal or error.retryable:
                raise Stopped.because(error) from error
            fail_all(part, error)
            return
        self._book.submitted(batch, batch_id, self._times.now())
        self._notes(f"{self.model.name}: batch {batch_id} with {counted_requests(len(part))} is submitted")
        self._join(batch, part)

    async def _submit_lines(self, batch: OpenBatch, lines: Sequence[BatchLine]) -> str:
        """Submit a batch, and return the provider's id. After an error that may have come after the submission, the
        provider is searched for the batch before it is submitted again."""
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
        """Search for a batch whose process ended during its submission, and record the result."""
        age_s = (self._times.now() - batch.created_at).total_seconds()
        found = await self._find(batch, self._times.clock() + max(0.0, self._pauses.grace_s - age_s))
        if found is None:
            self._book.close(batch, DROPPED, self._times.now(), "it was never submitted")
        else:
            self._book.submitted(batch, found, self._times.now())

    async def _find(self, batch: OpenBatch, until: float) -> str | None:
        """Return the provider's id of a batch; None if it is not found until that time of the clock."""
        others = [open_batch.batch_id for open_batch in self._book.open if open_batch.batch_id is not None]
        while True:
            found: str | None = await self._patience.ask(
                lambda: self.model.service.find(batch.marker, batch.requests, batch.created_at, others)
            )
            if found is not None or self._times.clock() >= until:
                return found
            await self._times.sleep(min(self._pauses.quiet_s, max(0.0, until - self._times.clock())))

    def _join(self, batch: OpenBatch, part: Iterable[WaitingRequest]) -> None:
        """Let requests wait for a batch, which is polled from now on."""
        watched = self._watched.get(batch.marker)
        if watched is None:
            watched = self._watched[batch.marker] = WatchedBatch(batch)
            self._begin(self._watch(watched))
        watched.waiting.update({waiting.name: waiting for waiting in part})

    async def _watch(self, watched: WatchedBatch) -> None:
        """Collect a batch. Failed requests with transient errors go into another batch; the errors of the others are
        raised in their callers."""
        unanswered = await self._collector.collect(watched)
        del self._watched[watched.batch.marker]
        self._level.touch()
        retried = [
            waiting for waiting, error in unanswered.failed if error.retryable and waiting.attempts < MOST_ATTEMPTS
        ]
        for waiting, error in unanswered.failed:
            if error.fatal:
                raise Stopped.because(error) from error
            if waiting not in retried:
                fail_all([waiting], error)
        if retried:
            await self._times.sleep(self._pauses.again_s)
        for waiting in (*retried, *unanswered.freed):
            self._wait(waiting)


USUAL = Pauses()


class BatchCaller(Caller):
    """Calls one model in batches. It has the gate of the live caller that it replaces, which shows the state of the
    endpoint."""

    def __init__(self, live: Caller, queue: BatchQueue) -> None:
        self.model: Model = queue.model
        self.gate = live.gate
        self.memory = live.memory
        self._queue = queue

    def halt(self) -> None:
        """Stop waiting for batches: submitted ones are collected by a later run."""
        self._queue.halt(Halted())

    async def call(self, request: Request, lane: Lane = NO_LANE) -> Called:
        """Wait for the batch with the request. Raises the errors of `Caller.call`."""
        reply, attempts, batch_id = await self._queue.call(request)
        return Called(reply, attempts, None, batch_id)


@dataclass
class BatchCalls:
    """The batches of a run. With `detach`, `leave` is called as soon as the run only waits for providers."""

    log: BatchLog
    pauses: Pauses = field(default_factory=lambda: USUAL)
    detach: bool = False
    leave: Callable[[], None] = lambda: None
    queues: dict[str, BatchQueue] = field(default_factory=dict)
    left: bool = False
    """True if the run left its batches at their providers."""
    _leaving: asyncio.Task[None] | None = None
    _checking: asyncio.Task[None] | None = None

    def callers(
        self, live: Mapping[str, Caller], limits: Limits, budget: Budget | None, notes: Callable[[str], None]
    ) -> dict[str, Caller]:
        """Return the callers of a run, with batch callers for the batched models."""
        times = Times(time.monotonic, asyncio.sleep, lambda: datetime.now(UTC))
        gates = [caller.gate for caller in live.values() if not isinstance(caller.model, BatchedModel)]
        level = BatchLevel(self.pauses, times, lambda: any(gate.in_flight or gate.snapshot().waiting for gate in gates))
        callers = dict(live)
        for name, caller in live.items():
            model = caller.model
            if isinstance(model, BatchedModel):
                book = BatchBook(self.log, model.name, model.endpoint)
                queue = BatchQueue(
                    model, book, level, budget, notes, self.pauses, times, limits.patience_s, self._ready
                )
                self.queues[name] = queue
                callers[name] = BatchCaller(caller, queue)
        if self.detach and self.queues:
            self._leaving = asyncio.create_task(self._leave(level))
        return callers

    @property
    def progress(self) -> dict[str, BatchProgress]:
        """The counts of the open batches of each model."""
        return {name: queue.progress for name, queue in self.queues.items()}

    async def close(self, *, finished: bool) -> None:
        """End all tasks. `finished` is true if the run has kept every reply that it received."""
        if self._leaving is not None:
            self._leaving.cancel()
            await asyncio.gather(self._leaving, return_exceptions=True)
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)
        for queue in self.queues.values():
            await queue.close(finished=finished)

    async def _ready(self) -> None:
        """Check once that every server has batches. Nothing is submitted before."""
        if self._checking is None:
            self._checking = asyncio.create_task(self._check())
        await asyncio.shield(self._checking)

    async def _check(self) -> None:
        for queue in self.queues.values():
            await queue.check()

    async def _leave(self, level: BatchLevel) -> None:
        """Leave as soon as the run only waits for providers."""
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
    """Calls one model live. A request that a batch holds is not sent, and ends the run."""

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
        """Ask the model. Raises the errors of `Caller.call`, and `Stopped` (R0123) if a batch holds the request."""
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
            model.most_samples = 1  # as in batches, where each sample is a request of its own

    def _holder(self, request: Request) -> OpenBatch | None:
        """Return the batch that holds a request. A request for several samples has no name in batches, so any open
        batch counts."""
        if not self._book.open:
            return None
        return next(iter(self._book.open)) if request.samples > 1 else self._book.holder(request_name(request))


def refuse_batched_requests(callers: Mapping[str, Caller], log: BatchLog) -> dict[str, Caller]:
    """Return callers that do not send requests which a batch in the store holds. Callers of recorded models, whose
    calls cost nothing, are returned as they are."""
    return {
        name: caller if isinstance(caller.model, ReplayModel) else LiveCaller(caller, log)
        for name, caller in callers.items()
    }
