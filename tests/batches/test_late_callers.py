"""A caller that joins a batch while its outcomes are read gets the reply that is there, and it is not paid for again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from tripos_runtime.models.base import Message, Reply, Request
from tripos_runtime.models.batches import BatchedModel, BatchState
from tripos_runtime.models.http import HttpAnswer
from tripos_runtime.scheduling.batch_queue import BatchCollector, Patience, Pauses, WaitingRequest, WatchedBatch
from tripos_runtime.scheduling.batch_records import BatchBook, BatchRecord
from tripos_runtime.scheduling.endpoint import Times

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Records:
    """The records of a store, in memory."""

    def __init__(self) -> None:
        self.all: list[BatchRecord] = []

    def load(self) -> list[BatchRecord]:
        return self.all

    def peek(self) -> list[BatchRecord]:
        return self.all

    def note(self, record: BatchRecord) -> None:
        self.all.append(record)


def test_a_caller_that_joins_while_outcomes_are_read_gets_its_reply() -> None:
    records = Records()
    book = BatchBook(cast("Any", records), "m")

    async def run() -> tuple[list[str], set[str]]:
        loop = asyncio.get_running_loop()
        halfway, joined = asyncio.Event(), asyncio.Event()

        class Service:
            async def state(self, batch_id: str) -> BatchState:
                return BatchState(batch_id, ended=True, done=2, total=2)

            async def outcomes(self, state: BatchState) -> AsyncIterator[tuple[str, HttpAnswer]]:
                yield "early", HttpAnswer(200, {}, b"early")
                halfway.set()
                await joined.wait()
                yield "late", HttpAnswer(200, {}, b"late")

        async def reply_in(request: Request, answer: HttpAnswer) -> Reply:
            return Reply(answer.body.decode(), "m", "stop", 1, 1, 0.0)

        def waiting(name: str) -> WaitingRequest:
            return WaitingRequest(name, Request("m", (Message("user", name),)), loop.create_future())

        model = SimpleNamespace(name="m", price=None, service=Service(), reply_in=reply_in)
        times = Times(loop.time, asyncio.sleep, lambda: NOW)
        patience = Patience(times, Pauses(), 1.0)
        collector = BatchCollector(cast("BatchedModel", model), book, None, lambda note: None, patience)
        batch = book.note_intent("marker", ["early", "late"], NOW)
        book.submitted(batch, "batch_1", NOW)
        first, second = waiting("late"), waiting("early")
        watched = WatchedBatch(batch, {"late": first})
        collecting = asyncio.create_task(collector.collect(watched))
        await halfway.wait()
        watched.waiting["early"] = second  # its line has been read
        joined.set()
        unanswered = await collecting
        assert not unanswered.failed
        return [future.result()[0].text for future in (first.future, second.future)], batch.unanswered

    assert asyncio.run(run()) == (["late", "early"], set())
