"""A worker: the process that makes a share of a run's calls, and tells the run how it goes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from threading import Thread

from tripos.api.job import Job
from tripos.api.preparation import damage_note, prepare
from tripos.api.workers.budgets import WorkerBudget
from tripos.api.workers.messages import (
    STOPS_S,
    DataMade,
    Debited,
    Idle,
    LookAgain,
    Over,
    StillAsked,
    Stop,
    WorkerAssignment,
    WorkerEnded,
    WorkerState,
    pack,
    read,
)
from tripos.api.workers.reading import RemoteReader
from tripos.runs import TO_WORKER, end_evaluations_on, open_others
from tripos.settings import divided
from tripos.ui import Failure
from tripos_runtime.asking import CallCounters
from tripos_runtime.asking.functions import PluginError
from tripos_runtime.drivers import Share
from tripos_runtime.models import ModelError
from tripos_runtime.models.catalog import give_variables
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store

TELL_S = 0.25
"""The time between two messages about how things stand."""
LOOK_S = 1.0
"""The time between two looks whether the run is still there."""


def main() -> None:
    """Work for the run whose messages come on standard input, and answer on standard output."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # these reach the run too, and that says when to stop
    if TO_WORKER is not None:
        end_evaluations_on(TO_WORKER)
        Thread(target=_outlive, args=(os.getppid(), TO_WORKER), daemon=True).start()
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed is no message
    asyncio.run(_work(answers))


def _outlive(run: int, number: signal.Signals) -> None:
    """End what is evaluated once the run is gone: its messages end then, of which the event loop hears only after."""
    while os.getppid() == run:
        time.sleep(LOOK_S)
    os.kill(os.getpid(), number)


async def _work(answers: int) -> None:
    loop = asyncio.get_running_loop()
    messages = asyncio.StreamReader(limit=2**30)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(messages), sys.stdin)
    transport, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(answers, "wb"))
    assignment = await read(messages)
    if assignment is None:
        return
    worker = _Worker(assignment, messages, transport)
    try:
        ended = await worker.work()
    except Failure as failure:
        ended = WorkerEnded("failed", (failure.code, failure.message, failure.hint))
    except (PluginError, ModelError, StoreError) as error:
        ended = WorkerEnded("failed", (error.code, error.message, error.hint))
    worker.send(ended)
    transport.close()  # after what is written
    while not transport.is_closing() or transport.get_write_buffer_size():
        await asyncio.sleep(TELL_S / 10)


class _Worker:
    def __init__(
        self, assignment: WorkerAssignment, messages: asyncio.StreamReader, transport: asyncio.WriteTransport
    ) -> None:
        self.assignment = assignment
        self._messages = messages
        self._transport = transport
        self._made = asyncio.Event()
        self._news = asyncio.Event()
        self._deaths = self._told_deaths = assignment.deaths
        self._stopping = self._done = False
        self._noted = 0
        self._reader: RemoteReader | None = None
        bounds = assignment.budget
        self._budget = None if bounds is None else WorkerBudget(*bounds, self.send)

    def send(self, message: object) -> None:
        """Send a message to the run; one that is gone hears nothing."""
        if not self._transport.is_closing():
            self._transport.write(pack(message))

    async def work(self) -> WorkerEnded:
        """Make the calls of this worker's share. Raises what preparing a run and opening a store raise."""
        given = self.assignment
        give_variables(given.variables)
        config = given.config.model_copy(update={"budget": ()})
        prepared = prepare(given.spec, given.choices, config, approved=False)
        store, tally = Store.open(config.store, create=False), CallCounters()
        self.job = Job(
            plan=prepared.plan,
            binding=prepared.binding,
            selection=prepared.selection,
            source=prepared.source,
            functions=prepared.functions,
            store=store,
            run_id=given.run_id,
            limits=divided(prepared.limits, given.number, given.workers),
            budget=self._budget,
            origin=given.origin,
            others=open_others(config.reuse, store.place, damage_note(tally)),
            tally=tally,
        )
        if prepared.selection.until is not None:
            self._reader = RemoteReader(self.send, prepared.binding.of(prepared.binding.compared))
        share = Share(given.run_id, given.part_size, given.number == 0, self._when_made, self._rest)
        reading = asyncio.create_task(self._read())
        try:
            ending = await self.job.work(prepared.models, self._around, share, self._reader)
        finally:
            reading.cancel()
            prepared.wiring.close()
        self._tell()
        failure = ending.failure
        return WorkerEnded(ending.status, None if failure is None else (failure.code, failure.message, failure.hint))

    async def _read(self) -> None:
        """Do what the run says; without a run finish the calls under way."""
        while (message := await read(self._messages)) is not None:
            match message:
                case Debited() if self._budget is not None:
                    self._budget.answer(message)
                case StillAsked() if self._reader is not None:
                    self._reader.hear(message)
                    self.job.look_again()
                case DataMade():
                    self._made.set()
                case LookAgain(deaths=deaths):
                    self._deaths = deaths
                    self._news.set()
                case Over():
                    self._done = True
                    self._news.set()
                case Stop(at_once=at_once):
                    self._stop(at_once=at_once)
        self._stop()
        await asyncio.sleep(STOPS_S)
        self._stop(at_once=True)

    def _stop(self, *, at_once: bool = False) -> None:
        if at_once or not self._stopping:
            self.job.interrupt(at_once=at_once)
        self._stopping = True
        if self._budget is not None and self._messages.at_eof():
            self._budget.abandon()
        self._made.set()
        self._news.set()

    async def _when_made(self) -> None:
        if self.assignment.number == 0:
            self.send(DataMade())
        else:
            await self._made.wait()

    async def _rest(self) -> bool:
        """Say that there is nothing left, until the run knows more."""
        while not self._stopping and not self._done:
            if self._deaths > self._told_deaths:
                self._told_deaths = self._deaths
                return True
            self._news.clear()
            self._tell()
            self.send(Idle(self._told_deaths))
            await self._news.wait()
        return False

    @contextlib.asynccontextmanager
    async def _around(self, job: Job) -> AsyncIterator[None]:
        task = asyncio.create_task(self._tell_often())
        try:
            yield
        finally:
            task.cancel()

    async def _tell_often(self) -> None:
        while True:
            await asyncio.sleep(TELL_S)
            self._tell()

    def _tell(self) -> None:
        tally: CallCounters = self.job.tally
        notes = tally.notes[self._noted :]
        self._noted = len(tally.notes)
        failed = {name: (each.failed, each.first) for name, each in self.job.functions.items() if each.failed}
        self.send(WorkerState(replace(tally, notes=notes), tuple(self.job.endpoints()), failed))
