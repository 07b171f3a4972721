"""The workers of a run as the main process sees them: started, counted, replaced if they die, and stopped together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import field, replace

from tripos.api.workers.messages import (
    AllCasesDone,
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
from tripos.api.workers.worker import BudgetServer, CaseServer
from tripos.runs.compilation import CompiledSpec
from tripos.runs.interrupts import TO_WORKER
from tripos.runs.job import Job, RunResult
from tripos.runs.selection import RunRequest
from tripos.settings.config import Config
from tripos.settings.options import RunParameters
from tripos.settings.runtime import check_divisible
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.drivers.engine import part_size
from tripos_runtime.models.catalog import file_variables
from tripos_runtime.scheduling.endpoint import Snapshot
from tripos_runtime.scheduling.limits import Limits
from tripos_warehouse.store.paths import address_of

MOST_DEATHS = 3
"""The maximum number of consecutive deaths of workers without an answered call in between. After that no worker is
started."""
DIED = "R0411"
KILL_GRACE_S = 5.0
"""The time in seconds after which workers that were told to stop at once are killed."""


@dataclass(eq=False)
class _WorkerProcess:
    """A worker process, and what it has reported. `budget` serves its requests, if the run has a budget."""

    number: int
    process: asyncio.subprocess.Process
    budget: BudgetServer | None
    tally: RunProgress = field(default_factory=RunProgress)
    endpoints: tuple[Snapshot, ...] = ()
    functions: dict[str, tuple[int, str]] = field(default_factory=dict)
    idle: int = -1
    """The number of deaths that it knew of when it last had nothing left to take; -1 if there was no such time."""
    ended: WorkerEnded | None = None

    def send(self, message: object) -> None:
        """Send a message, unless the worker is gone."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):
            self.process.stdin.write(pack(message))


class WorkerPool:
    """The workers of one run."""

    def __init__(self, spec: CompiledSpec, choices: RunRequest, config: Config, workers: int) -> None:
        self._spec = spec
        self._choices = choices
        self._config = config
        self.workers = workers
        self._living: list[_WorkerProcess] = []
        self._ended: list[_WorkerProcess] = []
        """The workers that have ended properly, or died while the run was stopping."""
        self._lost: list[RunProgress] = []
        """The counters of workers that died."""
        self._deaths = 0
        """The number of workers that died."""
        self._deaths_in_a_row = 0
        """The number of last deaths between which no call was answered."""
        self._answered = 0
        """The number of answered calls at the last death."""
        self._stopping = False
        self._generated = False
        """True if the generated data sets are complete."""
        self._failure: TriposError | None = None
        self._reading: CaseServer | None = None
        """The cases of a run with early stopping, whose scores are read in order."""
        self._tasks: set[asyncio.Task[None]] = set()

    def check(self, limits: Limits) -> None:
        """Raise `TriposError` R0202 if a limit leaves nothing for some worker."""
        check_divisible(limits, self.workers)

    def interrupt(self) -> bool:
        """Finish the calls in progress and stop; if called again, stop at once. Return true for the first call."""
        first = not self._stopping
        self._stop(at_once=not first)
        return first

    def endpoints(self) -> list[Snapshot]:
        """Return the state of each endpoint, summed over the workers."""
        snapshots: dict[str, Snapshot] = {}
        for worker in self._living:
            for endpoint in worker.endpoints:
                snapshots[endpoint.endpoint] = (
                    endpoint
                    if endpoint.endpoint not in snapshots
                    else snapshots[endpoint.endpoint].combined_with(endpoint)
                )
        return list(snapshots.values())

    async def run(self, job: Job) -> RunResult:
        """Make the calls of a run. No worker is left when it returns."""
        self._job = job
        size = part_size(sum(job.source.counts(job.selection).values()), self.workers)
        if job.settler is not None:
            size, self._reading = 1, CaseServer(job, job.settler)  # neighbours in the order go to different workers
        bounds = None if job.budget is None else (job.budget.usd, job.budget.tokens, job.budget.calls)
        self._assignment = WorkerAssignment(
            self._spec, self._choices, self._config, job.run_id, job.origin, size, 0, self.workers, 0, bounds,
            file_variables(),
        )  # fmt: skip
        try:
            for number in range(self.workers):
                await self._start(number)
            await self._all_gone()
        except asyncio.CancelledError:
            self._stop(at_once=True)
            await self._all_gone()
            raise
        finally:
            self._kill()
            if self._reading is not None:
                self._reading.commit()
        self._count()
        if self._failure is not None:
            return RunResult("failed", self._failure)
        order = ("failed", "stopped", "interrupted", "finished")
        worst = min(
            (process.ended for process in self._ended if process.ended), key=lambda ended: order.index(ended.status)
        )
        first = next(
            (process.ended for process in self._ended if process.ended and process.ended.status == worst.status), worst
        )
        return RunResult(
            first.status, None if first.failure is None else TriposError(*first.failure, ExitCode.SOME_FAILED)
        )

    async def _all_gone(self) -> None:
        """Wait until every worker is gone, including those that are started meanwhile."""
        while self._tasks:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                self._tasks.discard(task)
                task.result()

    async def _start(self, number: int) -> None:
        """Start a worker, send it the state of the run, and follow it in a task."""
        command = (sys.executable, "-P", "-m", "tripos.api.workers")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, limit=2**30, env=_environment(), start_new_session=True
        )
        worker = _WorkerProcess(number, process, None)
        if self._job.budget is not None:
            worker.budget = BudgetServer(self._job.budget, worker.send)
        self._living.append(worker)
        worker.send(replace(self._assignment, number=number, deaths=self._deaths))
        if self._generated:
            worker.send(DataMade())
        if self._reading is not None:
            worker.send(self._reading.state)
        if self._stopping:
            worker.send(Stop())
        task = asyncio.create_task(self._follow(worker))
        self._tasks.add(task)

    async def _follow(self, worker: _WorkerProcess) -> None:
        """Handle the messages of a worker until it is gone."""
        assert worker.process.stdout is not None
        while (message := await read(worker.process.stdout)) is not None:
            match message:
                case WorkerState():
                    self._job.tally.notes += [note for note in message.tally.notes if note not in self._job.tally.notes]
                    worker.tally, worker.endpoints, worker.functions = (
                        message.tally,
                        message.endpoints,
                        message.functions,
                    )
                    self._count()
                case BudgetRequest() if worker.budget is not None:
                    worker.budget.reserve(message)
                case BudgetSettlement() if worker.budget is not None:
                    worker.budget.settle(message)
                case CaseScored() if self._reading is not None:
                    if self._reading.take(message):
                        self._send_all(self._reading.state)
                case DataMade():
                    self._generated = True
                    self._send_all(DataMade())
                case NothingToTake(deaths=deaths):
                    worker.idle = deaths
                    self._end_if_done()
                case WorkerEnded():
                    worker.ended = message
                    if message.failure is not None:
                        self._stop()
        await worker.process.wait()
        if worker.budget is not None:
            await worker.budget.close()
        self._living.remove(worker)
        if worker.ended is not None:
            self._ended.append(worker)
            return
        await self._died(worker)

    async def _died(self, worker: _WorkerProcess) -> None:
        """Let other workers take over the cases of a dead one, and start a replacement. If `MOST_DEATHS` workers have
        died in a row, stop the run."""
        self._deaths += 1
        self._lost.append(worker.tally)
        self._count()
        answered = self._job.tally.asked.total()
        self._deaths_in_a_row = self._deaths_in_a_row + 1 if answered == self._answered else 1
        self._answered = answered
        code = worker.process.returncode
        if self._stopping:
            worker.ended = WorkerEnded("interrupted")
            worker.tally = RunProgress()  # its counters are among the lost ones
            self._ended.append(worker)
            return
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        if self._deaths_in_a_row >= MOST_DEATHS:
            message = f"{self._deaths_in_a_row} workers in a row ended {how} before any call was answered"
            hint = f"run without {RunParameters.workers}, and see what is wrong"
            self._failure = TriposError(DIED, message, hint, ExitCode.SOME_FAILED)
            self._stop()
            return
        self._job.tally.notes.append(f"a worker ended {how}; others take what it had, and another one is started")
        self._send_all(WorkerDied(self._deaths))
        await self._start(worker.number)

    def _end_if_done(self) -> None:
        """Tell all workers that the run is over, if none has anything left to take since the last death."""
        if len(self._living) == self.workers and all(process.idle == self._deaths for process in self._living):
            self._send_all(AllCasesDone())

    def _send_all(self, message: object) -> None:
        for worker in self._living:
            worker.send(message)

    def _stop(self, *, at_once: bool = False) -> None:
        self._stopping = True
        self._send_all(Stop(at_once))
        if TO_WORKER is not None:
            self._signal(TO_WORKER)
        if at_once:
            asyncio.get_running_loop().call_later(KILL_GRACE_S, self._kill)

    def _kill(self) -> None:
        for worker in self._living:
            with contextlib.suppress(ProcessLookupError):
                worker.process.kill()  # no reply is lost: those that have arrived are in the ledger

    def _signal(self, number: signal.Signals) -> None:
        for worker in self._living:
            with contextlib.suppress(ProcessLookupError):
                worker.process.send_signal(number)

    def _count(self) -> None:
        """Update the job's counters with the sum over the workers."""
        processes = [*self._living, *self._ended]
        self._job.tally.gather([process.tally for process in processes], self._lost)
        for name, function in self._job.functions.items():
            failures = [process.functions[name] for process in processes if name in process.functions]
            function.failed = sum(count for count, _ in failures)
            function.first = next((first for _, first in failures), "")


def worker_pool(spec: CompiledSpec, choices: RunRequest, config: Config, workers: int) -> WorkerPool | None:
    """Return a pool with this number of workers, or None for one, as the run then needs no other process. Raises
    `TriposError` R0202 for several workers if the store is on a bucket."""
    if workers > 1 and address_of(config.store):
        message = f"`{RunParameters.workers}` shares a store in a folder, and `{config.store}` is on a bucket"
        raise TriposError("R0202", message, "run the same command several times instead: each is a worker of its own")
    return WorkerPool(spec, choices, config, workers) if workers > 1 else None


def _environment() -> dict[str, str]:
    """Return the environment of a worker, with the same module search path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
