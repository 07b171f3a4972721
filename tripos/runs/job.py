"""The execution of one run, from its plan to its last row, without any output to the user."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from tripos.releases.opening import WORKING_TREE, RunOrigin
from tripos.runs.records import RecordedBatches, media_store, run_row, step_rows
from tripos_compiler.diagnostics.text_format import counted
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.evaluation import EvaluationStopped
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError
from tripos_runtime.asking.functions.calling import LoadedPlugin
from tripos_runtime.asking.ledger import NOTHING_KEPT, OtherReplies
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.datasets.cases import CaseSource, drawn_counts
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import Engine, Share, work_name
from tripos_runtime.drivers.lookup import MOST_UNITS
from tripos_runtime.drivers.sequential_stopping import BATCHES, LIVE, CaseReader, StoppingRule
from tripos_runtime.models.base import Model, ModelError
from tripos_runtime.models.catalog import plugin_of
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.scheduling.budget import Budget, Stopped
from tripos_runtime.scheduling.calling import Caller, open_callers, snapshot
from tripos_runtime.scheduling.endpoint import Snapshot
from tripos_runtime.scheduling.limits import Limits, most_at_once
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.derived import StoredIndexes
from tripos_warehouse.store.store import Store

if TYPE_CHECKING:
    from tripos_runtime.scheduling.batch_queue import BatchCalls


@dataclass(frozen=True)
class RunResult:
    """How a run ended: `finished`, `interrupted`, `stopped` (a model is unavailable, or the budget is spent),
    `submitted` (its batches are at their providers) or `failed` (the store)."""

    status: str
    failure: TriposError | None = None


class Pool(Protocol):
    """Other processes that make the calls of a job."""

    def check(self, limits: Limits) -> None:
        """Raise `TriposError` if these limits cannot be divided."""
        ...

    async def run(self, job: Job) -> RunResult:
        """Make the calls of a job, and return how it ended."""
        ...

    def interrupt(self) -> bool:
        """Finish the calls in progress and stop; if called again, stop at once. Return true for the first call."""
        ...

    def endpoints(self) -> Sequence[Snapshot]:
        """Return the state of each endpoint."""
        ...


@dataclass
class Job:
    """A run without its models: what to run, where to store it, and its state."""

    plan: Plan
    binding: RoleBinding
    selection: Selection
    source: CaseSource
    functions: Mapping[str, LoadedPlugin]
    store: Store
    run_id: str
    limits: Limits
    budget: Budget | None
    origin: RunOrigin = WORKING_TREE
    """The release or working tree that the plan comes from."""
    other_replies: OtherReplies = NOTHING_KEPT
    """Other stores whose replies are reused."""
    tally: RunProgress = field(default_factory=RunProgress)
    callers: Mapping[str, Caller] = field(default_factory=dict)
    """How each model is called, set when the run starts."""
    pool: Pool | None = None
    """The other processes that make the calls, if any."""
    batches: BatchCalls | None = None
    """The batches that contain the calls, if any."""
    settler: StoppingRule | None = None
    """The stopping rule of a run that may stop early."""
    after: Callable[[Job], None] = lambda job: None
    """Called after the last call of a run, before its end is committed."""
    settled: Mapping[str, Any] | None = None
    """For a run with a stopping rule, what was settled after how many items; set when the run is over."""
    _engine: Engine | None = None
    _running: asyncio.Task[None] | None = None
    _interrupted: bool = False
    _seen_notes: int = 0

    def new_notes(self) -> list[str]:
        """Return the notes of the run since the last call."""
        notes = self.tally.notes[self._seen_notes :]
        self._seen_notes += len(notes)
        return notes

    def endpoints(self) -> Sequence[Snapshot]:
        """Return the state of each endpoint."""
        return snapshot(self.callers) if self.pool is None else self.pool.endpoints()

    def interrupt(self, *, at_once: bool = False) -> bool:
        """Finish the calls in progress and stop; if called again or with `at_once`, stop at once. Return true for the
        first call."""
        if self.pool is not None:
            return self.pool.interrupt()
        if self._engine is None or self._running is None or self._running.done():
            return False
        if self._interrupted or at_once:
            self._running.cancel()
            return False
        self._interrupted = True
        self._engine.stop()
        return True

    def look_again(self) -> None:
        """Let the engine check again whether cases may begin that wait for the scores of other workers' cases."""
        if self._engine is not None:
            self._engine.look_again()

    async def run(self, models: Mapping[str, Model], observer: RunObserver) -> RunResult:
        """Run to the end, and return how the run ended. If the store has all results of an earlier run of the same
        work, no call is made, and the observer is not called."""
        ledger = open_ledger(self.store, self.plan.fingerprints, self.origin.release)
        ending: RunResult | None = None
        try:
            done = self._done(ledger)
            self._begin(self.run_id if done is None else done["run_id"])
            if done is None:
                ending = await self._call(ledger, models, observer)
            else:
                self.tally.reuse(done)
                self.settled = done.get("settled")
                ending = RunResult("finished")
            if ending.status == "finished" and self.settler is not None and done is None:
                self.settled = self.settler.state()
            try:
                if done is None and ending.failure is None:
                    self.after(self)
                self._end(ending)
            except StoreError as error:  # calls and cost are still reported
                ending = RunResult("failed", error.with_exit_code(ExitCode.SOME_FAILED))
        finally:
            for function in self.functions.values():
                function.close()
            with _suppress_after_failure(ending):
                ledger.close()
            self.source.reader.media.close()
        return _with_losses(ending, ledger.lost)

    async def work(
        self, models: Mapping[str, Model], observer: RunObserver, share: Share, reader: CaseReader | None = None
    ) -> RunResult:
        """Make the calls of a share of a run, whose begin and end another process commits. With a `reader`, that
        process decides when the run stops. Raises `StoreError` if results cannot be committed."""
        ledger = open_ledger(self.store, self.plan.fingerprints, self.origin.release)
        ending: RunResult | None = None
        try:
            ending = await self._call(ledger, models, observer, share, reader)
        finally:
            for function in self.functions.values():
                function.close()
            with _suppress_after_failure(ending):
                ledger.close()
            self.source.reader.media.close()
        return _with_losses(ending, ledger.lost)

    def _done(self, ledger: RunLedger) -> Mapping[str, Any] | None:
        """Return the row of an earlier finished run of the same work, if the store has all of its results and its list
        of items."""
        work = ledger.work(work_name(self.plan, self.binding, self.selection, self.source.withheld)).finished()
        if work is None or ledger.item_count(work["run_id"]) < work.get("items", math.inf):
            return None
        return work

    async def _call(
        self,
        ledger: RunLedger,
        models: Mapping[str, Model],
        observer: RunObserver,
        share: Share | None = None,
        reader: CaseReader | None = None,
    ) -> RunResult:
        thresholds, finished = gc.get_threshold(), False
        try:
            if self.pool is not None:
                async with observed(self, observer):
                    return await self.pool.run(self)
            for model in models.values():
                await model.warm_up()
            notes = self.tally.notes.append
            self.callers = open_callers(models, self.limits, self.budget, notes)
            if self.batches is not None:
                self.callers = self.batches.callers(self.callers, self.limits, self.budget, notes)
            else:
                from tripos_runtime.scheduling.batch_queue import refuse_batched_requests

                self.callers = refuse_batched_requests(self.callers, RecordedBatches(self.store, self.run_id))
            self.source.reader.media.store = media_store(self.store)
            engine = self._engine = Engine(
                plan=self.plan,
                binding=self.binding,
                source=self.source,
                selection=self.selection,
                callers=self.callers,
                ledger=ledger,
                functions=self.functions,
                run_id=self.run_id,
                shelf=StoredIndexes(self.store.root),
                others=self.other_replies,
                workers=self._most_at_once(models),
                tally=self.tally,
                share=share,
                settler=self.settler,
                reader=reader,
                lookahead=LIVE if self.batches is None else BATCHES,
            )
            if self.batches is not None:
                self.batches.leave = engine.stop
            self._running = asyncio.create_task(engine.run())
            # Objects created before the first call live to the end, and calls leave few cycles. Collecting after
            # every few hundred objects would cost a tenth of the time.
            gc.collect()
            gc.freeze()
            gc.set_threshold(20_000, 20, 50)
            async with observed(self, observer):
                await self._running
                if not engine.stopping:
                    for name, model in models.items():
                        partial = share is not None or self._reused_replies(name)
                        self.tally.notes += model.end_notes(partial=partial)
            finished = not engine.stopping or (self.batches is not None and self.batches.left)
        except (ModelError, Stopped) as error:
            return RunResult("stopped", error.with_exit_code(ExitCode.SOME_FAILED))
        except (StoreError, DataError) as error:
            return RunResult("failed", error.with_exit_code(ExitCode.SOME_FAILED))
        except (asyncio.CancelledError, EvaluationStopped):
            return RunResult("interrupted")
        finally:
            gc.unfreeze()
            gc.set_threshold(*thresholds)
            if self.batches is not None:
                await self.batches.close(finished=finished)
            await asyncio.gather(*(model.close() for model in models.values()), return_exceptions=True)
        if self.batches is not None and self.batches.left:
            return RunResult("submitted")
        return RunResult("interrupted" if engine.stopping else "finished")

    def _reused_replies(self, model: str) -> bool:
        """Return true if a role that the model fills reused replies."""
        roles = {role for role, names in self.binding.models.items() if model in names}
        return any(count and role in roles for (role, _), count in self.tally.reused.items())

    def _most_at_once(self, models: Mapping[str, Model]) -> int:
        """Return the total number of concurrent calls that the endpoints allow. With batches it is larger: all calls
        that do not depend on each other go into the same batches."""
        if self.batches is not None:
            return MOST_UNITS
        by_endpoint: dict[str, list[Model]] = {}
        for model in models.values():
            by_endpoint.setdefault(model.endpoint, []).append(model)
        return sum(most_at_once(sharing, self.limits) for sharing in by_endpoint.values())

    def _begin(self, items_of: str) -> None:
        """Commit the row of the run. `items_of` is the run whose list of items counts for it: itself, or the earlier
        run of the same work."""
        selection = self.selection
        chosen: dict[str, Any] = {"limit": selection.limit, "seed": selection.seed, "only": dict(selection.only)}
        chosen |= {"subset": selection.subset.name} if selection.subset is not None else {}
        chosen |= {"shard": str(selection.shard)} if selection.shard is not None else {}
        if (until := selection.until) is not None:
            rule = "spec" if until.declared else "settled"
            chosen["until"] = {"rule": rule, "margin": until.margin, "seed": until.seed}
        if items_of == self.run_id and (drawn := drawn_counts(self.source)):
            chosen["drawn"] = drawn
        if withheld := self.source.withheld_counts(selection):
            chosen["withheld"] = withheld
        models = self.binding.all_models
        if plugins := {model.partition("/")[0]: package for model in models if (package := plugin_of(model))}:
            chosen["plugins"] = plugins
        scenarios = selection.chosen(self.plan)
        names = [scenario.name for scenario in scenarios]
        row = run_row(self.plan, self.binding, self.run_id, items_of, names, chosen, self.store.next_time())
        steps = step_rows(self.plan, self.binding, self.run_id, scenarios) if items_of == self.run_id else []
        self.store.append({"runs": [row | self.origin.columns], "run_steps": steps})

    def _end(self, ending: RunResult) -> None:
        """Commit how the run ended. If the run has already failed, ignore a second error of the store."""
        tally = self.tally
        failed = "; ".join(self.failed_functions()) if ending.failure is None else ending.failure.message
        row = {
            "run_id": self.run_id,
            "status": ending.status,
            "message": failed or None,
            "asked": sum(tally.asked.values()),
            "reused": sum(tally.reused.values()),
            "failed": sum(tally.failed.values()),
            "cost_usd": None if tally.cost_unknown else tally.cost_usd,
            "finished_at": self.store.next_time(),
            "settled": None if self.settled is None else json.dumps(self.settled, sort_keys=True),
        }
        with _suppress_after_failure(ending):
            self.store.append({"run_ends": [row]})

    def failed_functions(self) -> list[str]:
        """Return a line for each Python function that failed: the number of failures and the first error."""
        return [
            f"`{name}` failed {function.failed:,} {'time' if function.failed == 1 else 'times'}, "
            f"first with {function.first}"
            for name, function in self.functions.items()
            if function.failed
        ]


POLL_S = 0.25
"""The interval in seconds between two calls of `RunObserver.progress`."""


class RunObserver:
    """An observer of the calls of a run: a terminal and an event log, a callback, or the process that started a
    worker."""

    def started(self, job: Job) -> None:
        """Begin to observe: the calls are about to be made in the running event loop."""

    def progress(self, job: Job, elapsed_s: float) -> None:
        """Look at the counters and the new notes of a job, `elapsed_s` seconds after `started`."""

    def finished(self) -> None:
        """End: there are no further calls, and the last call of `progress` has had the final state."""


@contextlib.asynccontextmanager
async def observed(job: Job, observer: RunObserver) -> AsyncIterator[None]:
    """Let an observer look at a job several times a second while the block runs, and once more at its end."""
    started = time.monotonic()

    async def poll() -> None:
        while True:
            observer.progress(job, time.monotonic() - started)
            await asyncio.sleep(POLL_S)

    observer.started(job)
    polling = asyncio.create_task(poll())
    try:
        yield
    finally:
        polling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await polling
        observer.progress(job, time.monotonic() - started)
        observer.finished()


def _with_losses(ending: RunResult, lost: int) -> RunResult:
    """Return the ending with a remark on replies that arrived but could not be stored."""
    if not lost or ending.failure is None:
        return ending
    message = f"{ending.failure.message}; {counted(lost, 'result')} that arrived could not be written"
    hint = "free some space and run the same command again: it asks for these again, and for nothing that is kept"
    return RunResult(ending.status, TriposError(ending.failure.code, message, hint, ending.failure.exit_code))


def _suppress_after_failure(ending: RunResult | None) -> contextlib.AbstractContextManager[None]:
    """Ignore errors of the store once the run has failed: the first failure is the one to report."""
    failed = ending is not None and ending.failure is not None
    return contextlib.suppress(StoreError) if failed else contextlib.nullcontext()
