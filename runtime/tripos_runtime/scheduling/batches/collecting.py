"""The end of a batch: it is watched until then, and what came of each of its requests is handed out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from tripos_runtime.models import ModelError, Reply, Request
from tripos_runtime.models.batches import LOST, UNDONE, BatchedModel, BatchState
from tripos_runtime.models.over_http import HttpAnswer
from tripos_runtime.scheduling.batches.level import Pauses
from tripos_runtime.scheduling.batches.records import DROPPED, EXPIRY, BatchBook, OpenBatch
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.costs import Debit
from tripos_runtime.scheduling.errors import Stopped
from tripos_runtime.scheduling.times import Times

BatchReply = tuple[Reply, int, str | None]
"""A reply, in how many batches its request was, and the last of them, as its provider calls it."""


@dataclass(eq=False)
class WaitingBatch:
    """A request that somebody waits for: its name, its body, and how many batches had it so far."""

    name: str
    request: Request
    body: bytes
    future: asyncio.Future[BatchReply]
    attempts: int = 0
    lost: list[Reply] = field(default_factory=list)
    """The usage of outcomes that were no replies, as far as the provider reported it."""
    debit: Debit | None = None


@dataclass(eq=False)
class WatchedBatch:
    """A batch under way, and who waits for its requests."""

    batch: OpenBatch
    waiting: dict[str, WaitingBatch] = field(default_factory=dict)
    state: BatchState | None = None


@dataclass
class Unanswered:
    """Requests that a batch gave no reply to, with their errors, and those that are asked again as if the batch had
    never been."""

    failed: list[tuple[WaitingBatch, ModelError]] = field(default_factory=list)
    freed: list[WaitingBatch] = field(default_factory=list)


@dataclass(frozen=True)
class Patience:
    """Asks a provider again for as long as an error may pass."""

    times: Times
    pauses: Pauses
    patience_s: float

    async def ask(self, ask: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Return what the provider answers. Raises `Stopped`, and `ModelError` for a batch that it does not know."""
        began, delay_s = self.times.clock(), self.pauses.again_s
        while True:
            try:
                return await ask()
            except ModelError as error:
                if error.code == LOST:
                    raise
                if not error.retryable or self.times.clock() - began > self.patience_s:
                    raise Stopped(error.code, error.message, error.hint) from error
                wait_s = error.retry_after_s or delay_s
            await self.times.sleep(wait_s)
            delay_s = min(delay_s * 2, self.pauses.longest_look_s)


class BatchCollector:
    """Takes the outcomes of the batches of one model."""

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
        """Wait for the end of a batch, and give its replies to those who wait for them. The requests that it did not
        answer are noted, also those that nobody waits for now: from then on it holds them no more."""
        try:
            state = await self._ended(watched)
            answered, failed, garbled = await self._outcomes(watched, state)
        except ModelError as error:
            return self._lost(watched, error)
        why, again = state.trouble or "it has no outcome for it", state.may_pass or state.trouble is None
        if garbled:
            why = f"{why}; {garbled:,} of the lines that it gave cannot be read"
        for waiting in watched.waiting.values():
            message = f"no batch answered this request to `{self._model.name}`: {why}"
            failed.append((waiting, ModelError(UNDONE, message, "run the same command again", retryable=again)))
        for waiting, failure in failed:
            waiting.attempts += 1
            waiting.lost += [] if failure.took is None else [failure.took]
            self._give_back(waiting, failure.took)
            failure.attempts = waiting.attempts
            failure.took = waiting.lost[0].taking(waiting.lost[1:]) if waiting.lost else None
        unanswered = (watched.batch.requests - answered) | {waiting.name for waiting, _ in failed}
        self._book.unanswered(watched.batch, unanswered, self._times.now())
        return Unanswered(failed)

    async def _ended(self, watched: WatchedBatch) -> BatchState:
        """Look at a batch until it has ended."""
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
        """Hand out the replies of a batch; return which requests have one, which failed, and how many lines cannot be
        read. A file that breaks off is read again, and a request whose line is there twice has its reply, if one of
        them is one."""
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
                error = self._hand_out(watched, waiting, outcome)
                if error is None:
                    del watched.waiting[name]
                    failed.pop(name, None)
                else:
                    failed.setdefault(name, (waiting, error))

        await self._patience.ask(read)
        for name in failed:
            del watched.waiting[name]
        return answered, list(failed.values()), garbled

    def _hand_out(
        self, watched: WatchedBatch, waiting: WaitingBatch, outcome: HttpAnswer | ModelError
    ) -> ModelError | None:
        """Give a reply to who waits for it; return the error of a request that failed."""
        try:
            if isinstance(outcome, ModelError):
                raise outcome
            reply = self._model.reply_in(waiting.request, outcome)
        except ModelError as error:
            return error
        waiting.attempts += 1
        self._book.settle(watched.batch, waiting.name)
        if self._budget is not None and waiting.debit is not None:
            self._budget.settle(waiting.debit, reply, self._model.price)
        if not waiting.future.done():
            whole = reply.taking(waiting.lost) if waiting.lost else reply
            waiting.future.set_result((whole, waiting.attempts, watched.batch.batch_id))
        return None

    def _lost(self, watched: WatchedBatch, error: ModelError) -> Unanswered:
        """Return the requests of a batch that the provider does not know. Once it has expired for sure, they are free:
        before, it may be that only this account does not know it, and that its replies are paid for."""
        batch, now, waiting = watched.batch, self._times.now(), list(watched.waiting.values())
        held = counted_requests(len(batch.requests))
        for each in waiting:
            self._give_back(each)
        if now - batch.created_at > EXPIRY:
            self._book.close(batch, DROPPED, now, "the provider does not know it any more")
            told = f"{self._model.name}: batch {batch.batch_id} with {held} is lost"
            self._notes(f"{told}, the provider does not know it any more: what it had is asked again")
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


def ended_with(waiting: Iterable[WaitingBatch], error: BaseException) -> None:
    """Raise an error to everybody who waits for these requests."""
    for each in waiting:
        if not each.future.done():
            each.future.set_exception(error)
            each.future.exception()  # seen: nobody else may be waiting
