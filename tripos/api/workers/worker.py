"""A worker: the process that makes a share of a run's calls and reports to the main process of the run, called the run.

The run has the budget: a worker requests each call before it makes it. In a run with early stopping, workers finish
cases in any order, and the run reads their scores in the order of the cases.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import field, replace
from threading import Thread
from typing import Any

from tripos.api.workers.messages import (
    ORPHAN_GRACE_S,
    ActiveModels,
    AllCasesDone,
    BudgetReply,
    BudgetRequest,
    BudgetSettlement,
    CaseScored,
    DataMade,
    NothingToTake,
    Stop,
    WorkerAssignment,
    WorkerDied,
    WorkerEnded,
    WorkerState,
    pack,
    read,
)
from tripos.runs.interrupts import TO_WORKER, end_evaluations_on
from tripos.runs.job import Job, RunObserver
from tripos.runs.preparation import damage_note, prepare
from tripos.runs.records import open_others
from tripos.settings.runtime import limits_share
from tripos_compiler.errors import TriposError
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.datasets.cases import Case, SubsetTags
from tripos_runtime.drivers.engine import Share, membership_row
from tripos_runtime.drivers.sequential_stopping import ItemScore, OrderedCases, StoppingRule
from tripos_runtime.models.base import Price, Reply
from tripos_runtime.models.catalog import set_file_variables
from tripos_runtime.scheduling.budget import Budget, Cost, Debit, Halted, OutOfBudget
from tripos_warehouse.store.store import Store

Send = Callable[[object], None]


# The shared budget
class WorkerBudget(Budget):
    """The budget of a worker, which asks the run by messages before each call. Requests, `_answers` that are awaited,
    and the calls in `_open`, which may be made, are identified by number."""

    def __init__(self, usd: float | None, tokens: int | None, calls: int | None, send: Send) -> None:
        super().__init__(usd, tokens, calls)
        self._send = send
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[None]] = {}
        self._open: dict[Debit, int] = {}

    async def debit(self, cost: Cost, name: str) -> Debit:
        """Wait until the run has reserved the cost of a call. Raises `OutOfBudget` if it refuses."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(BudgetRequest(number, cost, name))
        try:
            await answer
        except asyncio.CancelledError:
            self._send(BudgetSettlement(number, None))
            raise
        finally:
            del self._answers[number]
        debit = Debit(cost, name, (0, 0, 0))
        self._open[debit] = number
        return debit

    def answer(self, answer: BudgetReply) -> None:
        """Handle the run's answer to a request."""
        future = self._answers.get(answer.number)
        if future is None or future.done():
            return
        if answer.refusal is None:
            future.set_result(None)
        else:
            future.set_exception(OutOfBudget(*answer.refusal))

    def abandon(self) -> None:
        """Refuse every waiting call, because the run is gone."""
        for future in self._answers.values():
            if not future.done():
                future.set_exception(Halted())

    def settle(self, debit: Debit, reply: Reply, price: Price | None) -> None:
        """Report the usage of a reply to the run."""
        without_texts = replace(
            reply,
            text="",
            further_choices=tuple(replace(further_choice, text="") for further_choice in reply.further_choices),
        )
        self._send(BudgetSettlement(self._open.pop(debit), without_texts, price))

    def give_back(self, debit: Debit) -> None:
        """Report to the run that a call has no reply."""
        self._send(BudgetSettlement(self._open.pop(debit), None))


@dataclass
class BudgetServer:
    """Answers the requests of one worker from the budget of the run. `_waiting` are the requests that are not answered
    yet, `_debits` the reserved costs of calls that have not ended, by the number of the request."""

    budget: Budget
    send: Send
    _waiting: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _debits: dict[int, Debit] = field(default_factory=dict)

    def reserve(self, request: BudgetRequest) -> None:
        """Begin to reserve the maximum cost of a call. The worker is answered once it is reserved or refused."""
        self._waiting[request.number] = asyncio.create_task(self._reserve(request))

    async def _reserve(self, request: BudgetRequest) -> None:
        refusal = None
        try:
            self._debits[request.number] = await self.budget.debit(request.cost, request.model)
        except OutOfBudget as error:
            refusal = (error.code, error.message, error.hint or "")
        finally:
            self._waiting.pop(request.number, None)
        self.send(BudgetReply(request.number, refusal))

    def settle(self, settlement: BudgetSettlement) -> None:
        """Replace a reservation by the actual usage, or release it if the call has no reply. A request that still waits
        is withdrawn."""
        if (waiting := self._waiting.pop(settlement.number, None)) is not None:
            waiting.cancel()
        debit = self._debits.pop(settlement.number, None)
        if debit is None:
            return
        if settlement.reply is None:
            self.budget.give_back(debit)
        else:
            self.budget.settle(debit, settlement.reply, settlement.price)

    async def close(self) -> None:
        """Release the reservations of a worker that is gone, since no replies to these calls will be known."""
        waiting = list(self._waiting.values())
        for task in waiting:
            task.cancel()
        for task in waiting:
            with suppress(asyncio.CancelledError):
                await task
        for debit in self._debits.values():
            self.budget.give_back(debit)
        self._debits.clear()


# Cases of a run with early stopping
@dataclass
class RemoteReader:
    """The worker's side of early stopping: sends the cases that it has finished, and knows how far the run has read."""

    send: Callable[[object], None]
    asked: Collection[str]
    """The compared models that are still asked."""
    read: int = 0
    """The number of cases whose scores the run has read."""
    patience_s: float = 1.0

    @property
    def settled(self) -> bool:
        """True if no model is asked any more."""
        return not self.asked

    def take(self, place: int, case: Case, scores: Sequence[ItemScore]) -> None:
        """Send the scores of a case."""
        self.send(CaseScored(place, tuple(score._replace(arms=dict(score.arms)) for score in scores)))

    def hear(self, message: ActiveModels) -> None:
        """Update the state from the run's message."""
        self.read, self.asked = message.read, message.models


class CaseServer:
    """The run's side of early stopping: reads finished cases in the order of the run, and records them as its cases."""

    def __init__(self, job: Job, settler: StoppingRule) -> None:
        self._job = job
        self._next_cases = job.source.cases(job.selection)
        self._cases: list[Case | None] = []
        """The cases up to the furthest one that is finished, in order; `None` for those whose scores have arrived."""
        self._tags = SubsetTags(job.source, job.source.drawn())
        self._rows: list[dict[str, Any]] = []
        models = frozenset(job.binding.of(job.binding.compared))
        self._ordered = OrderedCases(settler, models, self._list)

    @property
    def state(self) -> ActiveModels:
        """How far the run has read, and which models it still asks."""
        return ActiveModels(self._ordered.read, tuple(self._ordered.asked))

    def take(self, message: CaseScored) -> bool:
        """Add a finished case. Return true if the run could read further."""
        while len(self._cases) <= message.place:
            self._cases.append(next(self._next_cases))
        case, before = self._cases[message.place], self._ordered.read
        if case is not None:
            self._cases[message.place] = None
            self._ordered.take(message.place, case, list(message.scores))
        return self._ordered.read > before

    def commit(self) -> None:
        """Commit the list of cases that were read. Raises `StoreError`."""
        rows, self._rows = self._rows, []
        if rows:
            self._job.store.append({"run_items": rows})

    def _list(self, case: Case, models: Collection[str] | None) -> None:
        self._rows.append(membership_row(self._job.run_id, case, self._tags, models))


ALIVE_POLL_S = 1.0
"""The interval in seconds at which a worker checks that the run is still alive."""
CLOSE_POLL_S = 0.025
"""The interval in seconds at which a worker checks that its last messages are sent."""


# The process
def main() -> None:
    """Work for the run whose messages arrive on standard input, and answer on standard output."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the run gets these signals too, and tells its workers to stop
    if TO_WORKER is not None:
        end_evaluations_on(TO_WORKER)
        Thread(target=_end_with_run, args=(os.getppid(), TO_WORKER), daemon=True).start()
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # other output must not mix with the messages
    asyncio.run(_work(answers))


def _end_with_run(run: int, number: signal.Signals) -> None:
    """Send this process the signal that ends evaluations once the process `run` is gone. Such an evaluation blocks the
    event loop, which would notice only afterwards."""
    while os.getppid() == run:
        time.sleep(ALIVE_POLL_S)
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
    except TriposError as error:
        ended = WorkerEnded("failed", (error.code, error.message, error.hint))
    worker.send(ended)
    transport.close()  # flushes pending messages first
    while not transport.is_closing() or transport.get_write_buffer_size():
        await asyncio.sleep(CLOSE_POLL_S)


class _Worker(RunObserver):
    def __init__(
        self, assignment: WorkerAssignment, messages: asyncio.StreamReader, transport: asyncio.WriteTransport
    ) -> None:
        self.assignment = assignment
        self._messages = messages
        self._transport = transport
        self._generated = asyncio.Event()
        self._news = asyncio.Event()
        self._deaths = assignment.deaths
        """The number of dead workers of which the run has told this one."""
        self._considered_deaths = assignment.deaths
        """The number of deaths after which it last looked for cases to take over."""
        self._stopping = self._done = False
        self._reader: RemoteReader | None = None
        bounds = assignment.budget
        self._budget = None if bounds is None else WorkerBudget(*bounds, self.send)

    def send(self, message: object) -> None:
        """Send a message to the run, unless it is gone."""
        if not self._transport.is_closing():
            self._transport.write(pack(message))

    async def work(self) -> WorkerEnded:
        """Make the calls of this worker's share. Raises the errors of preparing a run and opening a store."""
        assignment = self.assignment
        set_file_variables(assignment.variables)
        config = assignment.config.model_copy(update={"budget": ()})
        prepared = prepare(assignment.spec, assignment.choices, config, approved=False)
        store, tally = Store.open(config.store, create=False), RunProgress()
        self.job = Job(
            plan=prepared.plan,
            binding=prepared.binding,
            selection=prepared.selection,
            source=prepared.source,
            functions=prepared.functions,
            store=store,
            run_id=assignment.run_id,
            limits=limits_share(prepared.limits, assignment.number, assignment.workers),
            budget=self._budget,
            origin=assignment.origin,
            other_replies=open_others(config.reuse, store.place, damage_note(tally)),
            tally=tally,
        )
        if prepared.selection.until is not None:
            self._reader = RemoteReader(self.send, prepared.binding.of(prepared.binding.compared))
        share = Share(assignment.run_id, assignment.part_size, assignment.number == 0, self._when_made, self._rest)
        reading = asyncio.create_task(self._read())
        try:
            ending = await self.job.work(prepared.models, self, share, self._reader)
        finally:
            reading.cancel()
            prepared.wiring.close()
        self._send_state()
        failure = ending.failure
        return WorkerEnded(ending.status, None if failure is None else (failure.code, failure.message, failure.hint))

    async def _read(self) -> None:
        """Handle the messages of the run. If the run is gone, finish the calls in progress."""
        while (message := await read(self._messages)) is not None:
            match message:
                case BudgetReply() if self._budget is not None:
                    self._budget.answer(message)
                case ActiveModels() if self._reader is not None:
                    self._reader.hear(message)
                    self.job.look_again()
                case DataMade():
                    self._generated.set()
                case WorkerDied(deaths=deaths):
                    self._deaths = deaths
                    self._news.set()
                case AllCasesDone():
                    self._done = True
                    self._news.set()
                case Stop(at_once=at_once):
                    self._stop(at_once=at_once)
        self._stop()
        await asyncio.sleep(ORPHAN_GRACE_S)
        self._stop(at_once=True)

    def _stop(self, *, at_once: bool = False) -> None:
        if at_once or not self._stopping:
            self.job.interrupt(at_once=at_once)
        self._stopping = True
        if self._budget is not None and self._messages.at_eof():
            self._budget.abandon()
        self._generated.set()
        self._news.set()

    async def _when_made(self) -> None:
        """Announce that the generated data sets are complete, if this is the worker that makes them; else wait for
        that."""
        if self.assignment.number == 0:
            self.send(DataMade())
        else:
            await self._generated.wait()

    async def _rest(self) -> bool:
        """Report that nothing is left to take, and wait for the run's answer. Return true if there may be more."""
        while not self._stopping and not self._done:
            if self._deaths > self._considered_deaths:
                self._considered_deaths = self._deaths
                return True
            self._news.clear()
            self._send_state()
            self.send(NothingToTake(self._considered_deaths))
            await self._news.wait()
        return False

    def progress(self, job: Job, elapsed_s: float) -> None:
        """Send the state to the run."""
        self._send_state()

    def _send_state(self) -> None:
        tally: RunProgress = self.job.tally
        failed = {
            name: (function.failed, function.first) for name, function in self.job.functions.items() if function.failed
        }
        self.send(WorkerState(replace(tally, notes=self.job.new_notes()), tuple(self.job.endpoints()), failed))
