"""`tripos run`: compiles a benchmark, runs it, keeps everything, and ends with its headline."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from tripos.api import (
    CompiledSpec,
    Job,
    Run,
    RunEnding,
    RunWarning,
    choices_of,
    family_warning,
    open_run,
    prepare,
    settings_warning,
    sight_warning,
    store_failure,
    worker_pool,
)
from tripos.cli.inputs import compile_given, warning_printer, with_stand_ins
from tripos.cli.progress import Ended, Events, shown_progress, summary_data, summary_lines, wrapped
from tripos.cli.reports import show_headline, store_options, write_junit
from tripos.releases.frozen import withheld_note
from tripos.runs import heard
from tripos.settings import ChosenSettings, Config, chosen_settings, without_keys
from tripos.ui import (
    GOOD,
    INTERRUPTED,
    NOT_HELD,
    SOME_FAILED,
    SUBMITTED,
    USAGE,
    Failure,
    hung,
    is_interrupt,
    print_json,
    print_stderr,
    show_json,
    show_text,
    terminal_width,
    to_nowhere,
)
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics import localized, reader_language
from tripos_compiler.plan import Plan
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import DataFolders
from tripos_runtime.drivers import PreparedRun
from tripos_runtime.models import Model
from tripos_runtime.scheduling import Budget
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import Report


def main(options: Namespace, people: Mapping[str, Model] = {}) -> int:
    """Run a benchmark; `people` are those who take part, by their names.

    Exit code 1 where calls failed or the run had to stop, 100 where an `expect` did not hold, 130 where it was
    interrupted."""
    chosen = chosen_settings(options)
    compilation, folders = compile_given(options, chosen.config)
    return run_compiled(options, chosen, compilation, folders, people=people)


def run_compiled(
    options: Namespace,
    chosen: ChosenSettings,
    compilation: Compilation,
    folders: DataFolders,
    *,
    people: Mapping[str, Model] = {},
    budget: Budget | None = None,
) -> int:
    """Run a benchmark that was compiled; return the exit code as `main` does. A `budget` is one that runs before this
    one have spent of; without one it is that of the settings. Raises `Failure`."""
    plan = compilation.plan
    if plan is None:
        return USAGE
    chosen = with_stand_ins(options, chosen, compilation)
    config = chosen.config
    spec, warn = CompiledSpec(options.path, compilation, plan, folders), warning_printer(options, config)
    choices = choices_of(options)
    prepared = prepare(spec, choices, config, people=people, budget=budget, locked=options.locked)
    if options.dry_run:
        return _dry_run(prepared, options, config, warn)
    pool = worker_pool(spec, choices, config, options.workers)
    run = open_run(spec, prepared, config, warn, pool, detach=options.detach)
    with contextlib.ExitStack() as stack:
        stack.callback(prepared.wiring.close)
        events = stack.enter_context(Events.open(options.events, chosen.secrets)) if options.events else None
        code = _Run(run, options, chosen, events, talking=bool(people)).go()
    run.check_served()
    return code


def _dry_run(
    prepared: PreparedRun, options: Namespace, config: Config, warn: Callable[[RunWarning | None], None]
) -> int:
    """Print the forecast of a run, as text or as JSON, and ask no model. A store that is not there is not made. Raises
    `Failure` where the store or a data file cannot be read."""
    from tripos.api import (
        check_model_names,
        damage_warning,
        forecast_json,
        foresee_batches,
        foresee_run,
        headline_detection,
    )
    from tripos.cli.runs.forecast_text import lines_of

    check_model_names([name for name in prepared.binding.every if name not in prepared.wiring.recorded], config)
    warn(family_warning(prepared))
    warn(settings_warning(prepared))
    warn(sight_warning(prepared))
    detection = headline_detection(prepared.plan, prepared.source, prepared.selection) if options.json else None
    found, budget = foresee_run(prepared, config, lambda error: warn(damage_warning(error))), prepared.budget
    withheld = prepared.source.withheld_counts(prepared.selection)
    batches = foresee_batches(found, prepared, config)
    if options.json:
        detects = None if detection is None else detection.to_json()
        show_json(forecast_json(found, budget, withheld, batches, detects))
    else:
        show_text("\n".join(lines_of(found, prepared.plan, terminal_width(), budget, batches)))
    return GOOD


@dataclass(frozen=True)
class _Run:
    """One run and whom it tells what."""

    run: Run
    options: Namespace
    chosen: ChosenSettings
    events: Events | None
    talking: bool = False
    """Whether somebody talks in the terminal, where no picture of the run may stand."""

    @property
    def job(self) -> Job:
        """Return what is run."""
        return self.run.job

    def _write_junit(self, report: Report | None) -> None:
        """Write what came of the expectations, of a run that stopped too. The file of an earlier run is never left."""
        if report is None:
            with contextlib.suppress(StoreError):
                report = self.run.report()
        if report is None:
            with contextlib.suppress(OSError):
                Path(self.options.junit).unlink()
        else:
            write_junit(report, self.options.junit)

    def go(self) -> int:
        """Run, tells how it went, and gives the exit code."""
        job, started = self.job, time.monotonic()
        self._header()
        try:
            ending = asyncio.run(self.run.go(self._shown))
        except StoreError as error:
            raise store_failure(error) from error
        report, unreported, cut = None, None, False
        if ending.failure is None:
            try:
                report = self._report()
            except StoreError as error:  # what was asked and what it cost is told all the same
                unreported = store_failure(error)
            except BaseException as error:
                if not is_interrupt(error):
                    raise
                cut = True
        if self.options.junit and not cut:
            self._write_junit(report)
        failure = ending.failure or unreported
        ended = self._ended(ending, failure, time.monotonic() - started)
        if self.events is not None:
            self.events.finished(_machines(ended, report))
        try:
            self._tell(ended, report)
        except BrokenPipeError:  # as `| head` does: how the run went is in the exit code all the same
            to_nowhere(sys.stdout)
        if failure is not None:
            raise failure
        if cut:
            self._tell_cut()
        if cut or ending.status == "interrupted":
            return INTERRUPTED
        if ending.status == "submitted":
            return SUBMITTED
        if job.tally.failed or job.failed_functions():
            return SOME_FAILED  # the next run may mend it, and only then do the figures count
        if report is not None and report.failed:
            return SOME_FAILED
        return GOOD if report is None or report.passed else NOT_HELD

    def _tell(self, ended: Ended, report: Report | None) -> None:
        """Print the summary and the headline. Raises `BrokenPipeError` where nobody reads them any more."""
        if self.options.json and not self._events_on_stdout:
            print_json(_machines(ended, report))
        elif not self.options.json:
            print_stderr("\n".join(summary_lines(ended)))
            if report is not None and self.job.tally.samples and not self._events_on_stdout:
                show_headline(report, sql=self.options.sql, options=self.options)
                sys.stdout.flush()

    def _tell_cut(self) -> None:
        """Say what is kept of a run whose report was interrupted, and which command makes the report."""
        where = store_options(self.options)
        again = " ".join(["tripos", "report", self.job.run_id, *([where] if where else [])])
        print_stderr(localized("interrupted after the last call: all results are kept, and nothing is asked again"))
        print_stderr(localized(f"  for the figures: {again}"))

    def _report(self) -> Report:
        """Return the report, whose measures are kept. Raises `StoreError`."""
        return self.run.keep_report()

    @property
    def _events_on_stdout(self) -> bool:
        return self.events is not None and self.events.on_stdout

    def _header(self) -> None:
        """Add the options of items, models and the store."""
        job = self.job
        benchmark, store = job.plan.benchmark, _short(job.store.place)
        if self.events is not None:
            self.events.started(
                run_id=job.run_id,
                benchmark=benchmark.name,
                benchmark_version=benchmark.version,
                store=job.store.place,
                roles=job.binding.models,
                budget=job.budget,
            )
        if not self.options.json:
            width = shutil.get_terminal_size((80, 24)).columns
            head = f"{_called(job.plan)}, run {job.run_id}"
            gap = ", kept in " if len(head) + len(store) + 10 <= width else "\n  kept in "
            lines = [hung("", line, sys.stderr) for line in localized(f"{head}{gap}{store}").split("\n")]
            for role, models in job.binding.models.items():
                lines += wrapped(f"  {role}: ", ", ".join(models), "    ") if models else ()
            if (shard := job.selection.shard) is not None:
                lines.append(localized(f"  shard {shard} of the items; without --shard a run has them all"))
            if told := withheld_note(job.source, job.selection):
                lines.append(hung("  ", localized(told), sys.stderr))
            print_stderr("\n".join(lines))

    def _ended(self, ending: RunEnding, failure: Failure | None, elapsed_s: float) -> Ended:
        return Ended(
            run_id=self.job.run_id,
            status=ending.status,
            tally=self.job.tally,
            elapsed_s=elapsed_s,
            code=None if failure is None else failure.code,
            budget=self.job.budget,
            functions=tuple(self.job.failed_functions()),
            command=without_keys(shlex.join(["tripos", *sys.argv[1:]]), self.chosen.secrets),
        )

    @contextlib.asynccontextmanager
    async def _shown(self, job: Job) -> AsyncIterator[None]:
        """Show how the run goes. Ctrl-C once finishes what is under way, twice stops at once."""

        def interrupted() -> None:
            if job.interrupt():
                print_stderr(localized("\nfinishing the calls under way; Ctrl-C again stops at once"))

        progress = shown_progress(
            job.tally,
            endpoints=job.endpoints,
            budget=job.budget,
            verbose=self.options.verbose,
            events=self.events,
            quiet=self.options.json or self._events_on_stdout or self.talking,
            secrets=self.chosen.secrets,
        )
        with heard(interrupted):
            async with progress:
                yield


def _machines(ended: Ended, report: Report | None) -> dict[str, Any]:
    """Return what machines are told at the end."""
    gates = [] if report is None else [gate.to_json() for gate in report.gates]
    return {**summary_data(ended), "expectations": gates}


def _called(plan: Plan) -> str:
    """Return the title of a benchmark in the reader's language, with its version."""
    benchmark = plan.benchmark
    title = plan.title_of("benchmark", benchmark.name, reader_language()) or benchmark.title
    return f"{title} {benchmark.version}"


def _short(place: str) -> str:
    """Return a path as it is written from here, where it lies below."""
    here, path = Path.cwd(), Path(place)
    return os.fspath(path.relative_to(here)) if path.is_relative_to(here) else place
