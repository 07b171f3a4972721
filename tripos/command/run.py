"""`tripos run`: compiles a benchmark, runs it, keeps everything, and reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tripos.cassettes import Cassette
from tripos.command.aside import aside, to_nowhere
from tripos.command.check import compile_given
from tripos.command.choices import (
    artefacts_here,
    check_people,
    chosen_binding,
    chosen_cases,
    warn_of_kin,
    warn_of_untaken,
    with_subset,
)
from tripos.command.events import Events
from tripos.command.held import check_served_in, locked
from tripos.command.progress import shown_progress
from tripos.command.report import make_report, show_report, write_junit
from tripos.command.summary import Ended, summary, summary_lines, wrapped
from tripos.failure import GOOD, INTERRUPTED, NOT_HELD, SOME_FAILED, USAGE, Failure
from tripos.releases.artefact_roles import open_artefact
from tripos.releases.origins import origin_of
from tripos.releases.public_rows import standing
from tripos.releases.thawing import thaw_given
from tripos.running import Ending, Job
from tripos.secrets import without_keys
from tripos.settings import Chosen, chosen_settings
from tripos.wiring import endpoints_of, limits_of, prices_of
from tripos_compiler.compile import Compilation
from tripos_compiler.plan import Plan
from tripos_runtime.binding import Binding, BindingError
from tripos_runtime.budget import Budget, BudgetError, check_prices
from tripos_runtime.calling import snapshot
from tripos_runtime.cases import CaseSource
from tripos_runtime.datasets import DataFolders
from tripos_runtime.engine import new_run_id
from tripos_runtime.majority import with_majority
from tripos_runtime.models import Model, ModelError, open_model
from tripos_runtime.models.embeddings import open_embedding
from tripos_runtime.plugins import PluginError, load_plugins
from tripos_runtime.retrieval.roles import NoEmbedding, check_embedding, embedding_roles
from tripos_runtime.runnable import NotApproved, check_approved
from tripos_warehouse.compaction import compact_if_needed
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import Report
from tripos_warehouse.store import Store


def main(options: Namespace, people: Mapping[str, Model] = {}) -> int:
    """Runs a benchmark; `people` are those who take part, by their names.

    Exit code 1 where calls failed or the run had to stop, 100 where an `expect` did not hold, 130 where it was
    interrupted."""
    chosen = chosen_settings(options)
    compilation, folders = compile_given(options, chosen.config)
    return run_compiled(options, chosen, compilation, folders, people=people)


def run_compiled(
    options: Namespace,
    chosen: Chosen,
    compilation: Compilation,
    folders: DataFolders,
    *,
    people: Mapping[str, Model] = {},
    budget: Budget | None = None,
) -> int:
    """Runs a benchmark that was compiled; gives the exit code as `main` does. A `budget` is one that runs before this
    one have spent of; without one it is that of the settings. Raises `Failure`."""
    config = chosen.config
    plan = compilation.plan
    if plan is None:
        return USAGE
    binding, cassette = chosen_binding(options, config, plan, compilation.releases)
    artefacts = artefacts_here(options, config, plan, compilation.releases)
    check_people(people.keys(), binding, options)
    source = CaseSource(plan, folders, tuple(each.path for each in compilation.sources))
    thaw_given(source, options.path, compilation.releases)
    selection = with_subset(options, source, chosen_cases(options, plan))
    try:
        check_approved(plan)
        check_embedding(selection.chosen(plan), binding.models)
        binding = with_majority(binding, plan, source, selection)
        if budget is None and config.budget:
            budget = Budget.parse(config.budget)
        lock = locked(options, config, plan, binding)
        recorded = {*artefacts} if cassette is None else {*artefacts, *cassette.models}
        if options.dry_run:
            from tripos.command.forecasts import check_names, dry_run

            check_names([name for name in binding.every if name not in recorded], config)
            warn_of_kin(plan, binding, options, config)
            warn_of_untaken(plan, binding, recorded, options, config)
            return dry_run(plan, source, selection, binding, config, options.json, recorded)
        functions = load_plugins(plan, Path(compilation.sources[0].path).parent, compilation.release_folders)
        warn_of_kin(plan, binding, options, config)
        models = _open_models(plan, binding, chosen, cassette, people, artefacts)
        warn_of_untaken(plan, binding, recorded, options, config)
        check_prices(models.values(), budget)
        store = Store.open(Path(config.store), create=True)
    except (NotApproved, NoEmbedding, PluginError, BudgetError, BindingError, ModelError, StoreError) as error:
        raise Failure(error.code, error.message, error.hint) from error
    job = Job(
        plan=plan,
        binding=binding,
        selection=selection,
        source=source,
        functions=functions,
        store=store,
        run_id=new_run_id(datetime.now(UTC)),
        limits=limits_of(config, models),
        budget=budget,
        origin=origin_of(options.path, Path(compilation.sources[0].path)),
    )
    with contextlib.ExitStack() as stack:
        if cassette is not None:
            stack.callback(cassette.close)
        events = stack.enter_context(Events.open(options.events, chosen.secrets)) if options.events else None
        code = _Run(job, options, chosen, events, talking=bool(people)).go(models)
    if lock is not None:
        check_served_in(lock, store, job.run_id)
    return code


@dataclass(frozen=True)
class _Run:
    """One run and whom it tells what."""

    job: Job
    options: Namespace
    chosen: Chosen
    events: Events | None
    talking: bool = False
    """Whether somebody talks in the terminal, where no picture of the run may stand."""

    def go(self, models: Mapping[str, Model]) -> int:
        """Runs, tells how it went, and gives the exit code."""
        job, started = self.job, time.monotonic()
        self._header()
        try:
            ending = asyncio.run(job.run(models, self._shown))
        except StoreError as error:
            raise _failure(error) from error
        report, unreported = None, None
        if ending.failure is None:
            try:
                report = self._report()
            except StoreError as error:  # what was asked and what it cost is told all the same
                unreported = _failure(error)
        if report is not None and self.options.junit:
            write_junit(report, self.options.junit)
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
        if ending.status == "interrupted":
            return INTERRUPTED
        if job.tally.failed or job.failed_functions():
            return SOME_FAILED  # the next run may mend it, and only then do the figures count
        if report is not None and report.failed:
            return SOME_FAILED
        return GOOD if report is None or report.held else NOT_HELD

    def _tell(self, ended: Ended, report: Report | None) -> None:
        """Prints the summary and the report. Raises `BrokenPipeError` where nobody reads them any more."""
        if self.options.json and not self._events_on_stdout:
            print(json.dumps(_machines(ended, report), ensure_ascii=False, indent=2), flush=True)
        elif not self.options.json:
            aside("\n".join(summary_lines(ended)))
            if report is not None and self.job.tally.samples and not self._events_on_stdout:
                show_report(report, sql=False, store=self.options.store)
                sys.stdout.flush()

    def _report(self) -> Report:
        """The report, whose measures are kept. Raises `StoreError`."""
        store = self.job.store
        with contextlib.suppress(StoreError):  # it takes room for a while; a store that has not been compacted is whole
            compact_if_needed(store)  # first: a report on few parts takes less memory and less time
        report = make_report(store, self.job.run_id)
        if report.measures:
            release = {"release": self.job.origin.release}
            store.append({"measures": [{**row, **release} for row in report.to_measure_rows()]})
        return report

    @property
    def _events_on_stdout(self) -> bool:
        return self.events is not None and self.events.on_stdout

    def _header(self) -> None:
        """What is run, by whom, and where it is kept."""
        job = self.job
        benchmark, store = job.plan.benchmark, _short(job.store.root)
        if self.events is not None:
            self.events.started(
                run_id=job.run_id,
                benchmark=benchmark.name,
                benchmark_version=benchmark.version,
                store=str(job.store.root),
                roles=job.binding.models,
                budget=job.budget,
            )
        if not self.options.json:
            width = shutil.get_terminal_size((80, 24)).columns
            head = f"{benchmark.title} {benchmark.version}, run {job.run_id}"
            gap = ", kept in " if len(head) + len(store) + 10 <= width else "\n  kept in "
            lines = [f"{head}{gap}{store}"]
            for role, models in job.binding.models.items():
                lines += wrapped(f"  {role}: ", ", ".join(models), "    ") if models else ()
            if told := standing(job.source, job.selection):
                lines.append(f"  {told}")
            aside("\n".join(lines))

    def _ended(self, ending: Ending, failure: Failure | None, elapsed_s: float) -> Ended:
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
        """Shows how the run goes. Ctrl-C once finishes what is under way, twice stops at once."""

        def interrupted() -> None:
            if job.interrupt():
                aside("\nfinishing the calls under way; Ctrl-C again stops at once")

        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
        async with shown_progress(
            job.tally,
            endpoints=lambda: snapshot(job.callers),
            budget=job.budget,
            verbose=self.options.verbose,
            events=self.events,
            quiet=self.options.json or self._events_on_stdout or self.talking,
            secrets=self.chosen.secrets,
        ):
            yield


def _machines(ended: Ended, report: Report | None) -> dict[str, Any]:
    """What machines are told at the end."""
    gates = [] if report is None else [gate.to_json() for gate in report.gates]
    return {**summary(ended), "expectations": gates}


def _open_models(
    plan: Plan,
    binding: Binding,
    chosen: Chosen,
    cassette: Cassette | None,
    people: Mapping[str, Model],
    artefacts: Mapping[str, Path],
) -> dict[str, Model]:
    """The models of all roles, those that were recorded from the recording, and those of a release from their folders.
    Raises `ModelError`."""
    config = chosen.config
    endpoints, prices = endpoints_of(config), prices_of(config)
    embedding = {name for role in embedding_roles(plan.scenarios) for name in binding.of(role)}

    def opened(name: str) -> Model:
        if name in people:
            return people[name]
        if cassette is not None and name in cassette.models:
            return cassette.open(name)
        if name in artefacts:
            return open_artefact(name, artefacts[name])
        if name in embedding:
            return open_embedding(name, endpoints, prices=prices, timeout_s=config.limits.timeout_s)
        return open_model(name, endpoints, prices=prices, timeout_s=config.limits.timeout_s)

    return {name: opened(name) for name in binding.every}


def _failure(error: StoreError) -> Failure:
    return Failure(error.code, error.message, error.hint, SOME_FAILED)


def _short(path: Path) -> str:
    """A path as it is written from here, where it lies below."""
    here = Path.cwd()
    return os.fspath(path.relative_to(here)) if path.is_relative_to(here) else str(path)
