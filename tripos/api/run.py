"""A run for Python: its progress, and then its status, report and measures."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from tripos.api.workers.pool import worker_pool
from tripos.errors import explain_interrupt
from tripos.releases.opening import origin_of
from tripos.runs.compilation import CompiledSpec
from tripos.runs.early_stopping import EarlyStopper
from tripos.runs.job import Job, RunObserver, RunResult
from tripos.runs.preparation import RunWarning, binding_warnings, damage_note, damage_warning
from tripos.runs.records import open_others
from tripos.runs.selection import RunRequest
from tripos.settings.config import Config
from tripos.settings.options import BATCH, RunParameters
from tripos.settings.secrets import without_keys
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Grade
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.datasets.selection import StopRule
from tripos_runtime.drivers.engine import new_run_id
from tripos_runtime.drivers.prepared import PreparedRun
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import compact_if_needed
from tripos_warehouse.store.store import Store

if TYPE_CHECKING:
    from tripos.api.results import Results
    from tripos.plots.plot import PlotChoices
    from tripos.settings.options import PlotKind
    from tripos_warehouse.query.relations import Table
    from tripos_warehouse.report.run_report import Report

Value = TypeVar("Value")


class Run:
    """A run of a benchmark. `spec.run(…)` and `spec.run_async(…)` return it when it is over."""

    def __init__(self, prepared: PreparedRun, job: Job) -> None:
        self.prepared = prepared
        """The plan, the models, the cases and the budget of the run."""
        self.job = job
        self.warnings: tuple[RunWarning, ...] = ()
        """Warnings about the models: judges of their own family, settings that a model does not take."""
        self._ending: RunResult | None = None
        self._report: Report | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def id(self) -> str:
        """The id of the run in its store."""
        return self.job.run_id

    @property
    def status(self) -> str:
        """`running`, or how the run ended: `finished`, `interrupted`, `stopped`, `submitted` or `failed`."""
        return "running" if self._ending is None else self._ending.status

    @property
    def models(self) -> Mapping[str, tuple[str, ...]]:
        """The models of every role."""
        return self.prepared.binding.models

    @property
    def store(self) -> Path:
        """The folder of the store with the results, or of its local copy."""
        return self.job.store.root

    @property
    def asked(self) -> int:
        """The number of calls that models answered in this run."""
        return self.job.tally.asked.total()

    @property
    def reused(self) -> int:
        """The number of calls that were reused from earlier runs."""
        return self.job.tally.reused.total()

    @property
    def failed(self) -> int:
        """The number of calls that failed. Running the same again repeats these calls only."""
        return self.job.tally.failed.total()

    @property
    def cost_usd(self) -> float | None:
        """The cost of this run's calls in USD; `None` if the price of a model is unknown."""
        return None if self.job.tally.cost_unknown else self.job.tally.cost_usd

    @property
    def measures(self) -> Table:
        """The measures as a DuckDB relation, as from `Results.sql`, with one row for each value.

        Its columns are `measure`, `model`, a column for each dimension of any measure, `value`, `standard_error`, `low`
        and `high` (the 95 % interval), `items`, `n`, `total`, `coverage`, `method` and `reason`.
        """
        from tripos.api.results import measure_table

        return measure_table(self.report())

    def report(self) -> Report:
        """Return the report: every measure with its standard error and interval. Raises `StoreError`."""
        if self._report is None:
            from tripos.api.results import ShownReport
            from tripos_warehouse.report.run_report import report
            from tripos_warehouse.views.connect import connect_run
            from tripos_warehouse.views.runs import get_selected

            connection, record = connect_run(self.job.store, self.id, sums=True)
            with explain_interrupt(f"the report of run {self.id}"), connection:
                self._report = ShownReport.of(report(connection, get_selected(connection, record), record))
        return self._report

    def results(self) -> Results:
        """Open the store of the run, as `tripos.open` does. Raises `StoreError`."""
        from tripos.api.results import open as open_results

        return open_results(self.job.store.place)

    @property
    def samples(self) -> Table:
        """The replies of the compared role as a table, with their prompts, status, tokens and cost."""
        from tripos_warehouse import sql
        from tripos_warehouse.query.relations import read_only
        from tripos_warehouse.views.connect import connect_run

        connection, record = connect_run(self.job.store, self.id)
        role, schema = sql.text(record.compared_role), sql.name(record.benchmark)
        relation: Table = read_only(connection.sql(f"from {schema}.samples where role = {role}"))
        return relation

    def plot(self, kind: PlotKind, **choices: Unpack[PlotChoices]) -> Any:
        """Return a plot of this run as an Altair chart, as `Results.plot` does. Raises `StoreError`."""
        from tripos.plots.plot import plot

        return plot(self.job.store, kind, self.id, choices).chart

    def stop(self) -> None:
        """Finish the calls in progress and stop. May be called from another thread or from a progress callback."""
        if self._loop is not None and self._ending is None:
            self._loop.call_soon_threadsafe(self.job.interrupt)

    async def go(self, observer: RunObserver) -> RunResult:
        """Make the calls, of which the observer is told, and commit how the run ended. Raises `StoreError`."""
        self._loop = asyncio.get_running_loop()
        try:
            self._ending = await self.job.run(self.prepared.models, observer)
        finally:
            self.prepared.wiring.close()
        return self._ending

    def keep_report(self) -> Report:
        """Compute the report, and store its measures. Raises `StoreError`."""
        store = self.job.store
        with contextlib.suppress(StoreError):  # optional: a store works without it
            compact_if_needed(store)  # fewer parts make the report faster
        self._report = None
        report = self.report()
        if report.measures:
            release = {"release": self.job.origin.release}
            store.append({"measures": [{**row, **release} for row in report.to_measure_rows()]})
        return report

    def check_served(self) -> None:
        """Raise `TriposError` R0261 if the run is locked and its replies came from other models."""
        if self.prepared.lock is not None:
            self.prepared.lock.check_served(self.id)

    def __repr__(self) -> str:
        benchmark = self.prepared.plan.benchmark
        counts = f"{self.asked:,} asked, {self.reused:,} reused, {self.failed:,} failed"
        return f"<Run {self.id} of {benchmark.name} {benchmark.version}: {self.status}, {counts}>"

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        from tripos.api.results import notebook_formats, shortened

        return notebook_formats(repr(self)[1:-1], [] if self._ending is None else shortened(self.report()))


def conclude(run: Run) -> Report:
    """Finish a run whose calls ended without a failure: make the report and store its measures, then check that the
    replies came from the models of the lock file. Return the report. Raises `StoreError`, and `TriposError` R0261 for
    other models."""
    report = run.keep_report()
    run.check_served()
    return report


def open_run(
    spec: CompiledSpec,
    request: RunRequest,
    prepared: PreparedRun,
    config: Config,
    warn: Callable[[RunWarning], None],
    *,
    workers: int = 1,
    detach: bool = False,
) -> Run:
    """Return a run that is ready to make its calls: create or open its store, and check its limits and budget.

    `warn` receives warnings about the models and the store. With more than one of `workers`, that many other processes
    make the calls. With `detach`, batches are submitted without waiting for them. Raises `TriposError`.
    """
    pool = worker_pool(spec, request, config, workers)
    if pool is not None and prepared.wiring.batch:
        raise TriposError(
            "R0202", f"`{BATCH}` and `{RunParameters.workers}` do not go together", f"leave out {RunParameters.workers}"
        )
    run_id = new_run_id(datetime.now(UTC))
    try:
        functions = prepared.functions
        if functions:
            from tripos.runs.records import allow_user_aggregates

            allow_user_aggregates(prepared.plan, prepared.wiring.plugin_folder, prepared.wiring.release_folders)
        for warning in binding_warnings(prepared):
            warn(warning)
        limits = prepared.limits
        if pool is not None:
            pool.check(limits)
        prepared.check_budget()
        opened = Store.open(config.store, create=True)
        for damage in opened.damages.values():
            warn(damage_warning(damage))
        tally = RunProgress()
        replies = open_others(config.reuse, opened.place, damage_note(tally))
    except TriposError:
        prepared.wiring.close()
        raise
    batches = None
    if prepared.wiring.batch:
        from tripos.runs.records import RecordedBatches
        from tripos_runtime.scheduling.batch_queue import BatchCalls

        batches = BatchCalls(RecordedBatches(opened, run_id), detach=detach)
    until = prepared.selection.until
    settler = None if until is None else _settler(prepared, until)
    if settler is not None and settler.unsupported_measures:
        names = ", ".join(settler.unsupported_measures)
        tally.notes.append(f"no sequence follows these measures, so they have no interval if the run stops: {names}")
    if settler is not None and not settler.asks:
        tally.notes.append("one model alone is compared with none: the run goes on to its last item")
    job = Job(
        plan=prepared.plan,
        binding=prepared.binding,
        selection=prepared.selection,
        source=prepared.source,
        functions=functions,
        store=opened,
        run_id=run_id,
        limits=limits,
        budget=prepared.budget,
        other_replies=replies,
        tally=tally,
        origin=origin_of(spec.path, spec.main, spec.compilation.sources),
        pool=pool,
        batches=batches,
        settler=settler,
        after=_carry_scores,
    )
    return Run(prepared, job)


def _carry_scores(job: Job) -> None:
    """Store the scores of a run's replies that follow from judgements by people and files."""
    steps = (step for scenario in job.plan.scenarios for way in scenario.treatments for step in way.steps)
    if any(isinstance(step, Grade) for step in steps):
        from tripos.annotation.carry_over import carry_over_scores

        carry_over_scores(job.store, job.plan, job.run_id)


def _settler(prepared: PreparedRun, until: StopRule) -> EarlyStopper:
    compared = prepared.binding.of(prepared.binding.compared)
    return EarlyStopper(prepared.plan, compared, prepared.source, prepared.selection, until)


def run_blocking(make: Callable[[], Coroutine[Any, Any, Value]], stop: Callable[[], None]) -> Value:
    """Run a coroutine to its end and return its value. If this thread has a running event loop, as in a notebook, use
    another thread and wait for it. `stop` is called if Ctrl-C or a notebook's interrupt ends the wait."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    over = threading.Event()
    done: list[Value] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            done.append(asyncio.run(make()))
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="tripos-run")
    thread.start()
    try:
        over.wait()  # not `thread.join()`, which considers the thread dead after an interrupt
    except KeyboardInterrupt:
        stop()
        over.wait()
        raise
    if errors:
        raise errors[0]
    return done[0]


# Progress callbacks
@dataclass(frozen=True)
class Progress:
    """The state of a run at one time. `done` of `total` calls are settled: asked, reused, skipped or failed."""

    run: Run
    done: int
    total: int
    asked: int
    reused: int
    skipped: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    """The cost in USD of the calls whose price is known."""
    elapsed_s: float
    notes: tuple[str, ...] = ()
    """Notes since the last call of the callback, such as that an endpoint does not respond."""

    def stop(self) -> None:
        """Finish the calls in progress and stop the run. Its results are kept."""
        self.run.stop()


Callback = Callable[[Progress], object]


class ProgressCallback(RunObserver):
    """An observer that calls a callback. An exception of the callback stops the run and is stored in `error`."""

    def __init__(self, run: Run, callback: Callback | None, secrets: Sequence[str] = ()) -> None:
        self.run = run
        self.secrets = secrets
        self.callback = callback
        self.error: Exception | None = None

    def progress(self, job: Job, elapsed_s: float) -> None:
        """Call the callback."""
        if self.callback is None or self.error is not None:
            return
        tally = job.tally
        progress = Progress(
            run=self.run,
            done=tally.done,
            total=tally.total,
            asked=tally.asked.total(),
            reused=tally.reused.total(),
            skipped=tally.skipped.total(),
            failed=tally.failed.total(),
            tokens_in=tally.tokens_in,
            tokens_out=tally.tokens_out,
            cost_usd=tally.cost_usd,
            elapsed_s=elapsed_s,
            notes=tuple(without_keys(text, self.secrets) for text in job.new_notes()),
        )
        try:
            self.callback(progress)
        except Exception as error:
            self.error = error
            self.run.stop()
