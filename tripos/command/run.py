"""`tripos run`: compiles a benchmark, runs it, keeps everything, and reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tripos.command.check import compile_given
from tripos.command.choices import chosen_binding, chosen_cases, warn_of_kin
from tripos.command.progress import counts, shown_progress
from tripos.command.report import make_report, show_report
from tripos.config import Config
from tripos.failure import GOOD, INTERRUPTED, SOME_FAILED, USAGE, Failure
from tripos.running import Ending, Job
from tripos.settings import chosen_settings
from tripos_runtime.binding import Binding
from tripos_runtime.budget import Budget, BudgetError, check_prices
from tripos_runtime.calling import Limits
from tripos_runtime.cases import CaseSource
from tripos_runtime.engine import new_run_id
from tripos_runtime.models import Endpoint, Model, ModelError, open_model
from tripos_runtime.plugins import PluginError, load_plugins
from tripos_runtime.runnable import NotRunnable, check_runnable
from tripos_runtime.tally import Tally
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store


def main(options: Namespace) -> int:
    """Runs a benchmark. Exit code 1 where calls failed or the run had to stop, 130 where it was interrupted."""
    config = chosen_settings(options).config
    compilation, folders = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    binding = chosen_binding(options, config, plan)
    selection = chosen_cases(options, plan)
    try:
        check_runnable(plan, selection.chosen(plan))
        functions = load_plugins(plan, Path(compilation.sources[0].path).parent)
        budget = Budget.parse(config.budget) if config.budget else None
    except (NotRunnable, PluginError, BudgetError) as error:
        raise Failure(error.code, error.message, error.hint) from error
    warn_of_kin(plan, binding, options, config)
    models = _open_models(binding, config)
    try:
        check_prices(models.values(), budget)
        store = Store.open(Path(config.store), create=True)
    except (BudgetError, StoreError) as error:
        raise Failure(error.code, error.message, error.hint) from error
    job = Job(
        plan=plan,
        binding=binding,
        selection=selection,
        source=CaseSource(plan, folders, tuple(each.path for each in compilation.sources)),
        functions=functions,
        store=store,
        run_id=new_run_id(datetime.now(UTC)),
        limits=_limits(config),
        budget=budget,
    )
    return _run(job, models, options)


def _run(job: Job, models: Mapping[str, Model], options: Namespace) -> int:
    say = _Say(quiet=options.json)
    say.header(job)
    try:
        ending = asyncio.run(job.run(models, _shown))
        report = None if ending.failure is not None else make_report(job.store, job.run_id)
        if report is not None and report.measures:
            job.store.append({"measures": report.to_measure_rows()})
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint, SOME_FAILED) from error
    if options.json:
        print(json.dumps(_summary(job, ending), indent=2))
    else:
        say.ending(job.tally, ending, job.failed_functions())
        if report is not None and job.tally.samples:
            show_report(report, sql=False, store=options.store)
    if ending.failure is not None:
        raise ending.failure
    if ending.status == "interrupted":
        print(f"go on with the same command: what was answered is kept in {job.store.root}", file=sys.stderr)
        return INTERRUPTED
    return SOME_FAILED if job.tally.failed or job.failed_functions() else GOOD


def _open_models(binding: Binding, config: Config) -> dict[str, Model]:
    endpoints = {name: Endpoint(each.base_url, each.api_key_env) for name, each in config.endpoints.items()}
    try:
        return {name: open_model(name, endpoints) for name in binding.every}
    except ModelError as error:
        raise Failure(error.code, error.message, error.hint) from error


def _limits(config: Config) -> Limits:
    limits, endpoints = config.limits, config.endpoints
    return Limits(
        max_connections=limits.max_connections,
        max_retries=limits.max_retries,
        timeout_s=limits.timeout_s,
        patience_s=limits.patience_s,
        requests_per_minute={k: e.requests_per_minute for k, e in endpoints.items() if e.requests_per_minute is not None},
        tokens_per_minute={k: e.tokens_per_minute for k, e in endpoints.items() if e.tokens_per_minute is not None},
        connections={k: e.max_connections for k, e in endpoints.items() if e.max_connections is not None},
    )


@contextlib.asynccontextmanager
async def _shown(job: Job) -> AsyncIterator[None]:
    """Shows how the run goes. Ctrl-C once finishes what is under way, twice stops at once."""

    def interrupted() -> None:
        if job.interrupt():
            print("\nfinishing the calls under way; Ctrl-C again stops at once", file=sys.stderr)

    with contextlib.suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
    async with shown_progress(job.tally):
        yield


def _summary(job: Job, ending: Ending) -> dict[str, Any]:
    tally = job.tally
    return {
        "run_id": job.run_id,
        "status": ending.status,
        "calls": {
            name: sum(getattr(tally, name).values()) for name in ("planned", "asked", "reused", "skipped", "failed")
        },
        "samples": dict(sorted(tally.samples.items())),
        "scores": dict(sorted(tally.scores.items())),
        "errors": dict(sorted(tally.errors.items())),
        "functions": job.failed_functions(),
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "cost_usd": None if tally.cost_unknown else round(tally.cost_usd, 6),
    }


class _Say:
    """What a run says to people on standard error, apart from its progress."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console

        width = shutil.get_terminal_size((80, 24)).columns
        self.console = Console(stderr=True, width=width, highlight=False, quiet=quiet, markup=False)

    def header(self, job: Job) -> None:
        """What is run, by whom, and where it is kept."""
        benchmark, binding = job.plan.benchmark, job.binding
        self.console.print(f"{benchmark.title} {benchmark.version}, run {job.run_id}, kept in {job.store.root}")
        for role, models in binding.models.items():
            if models:
                self.console.print(f"  {role}: {', '.join(models)}")

    def ending(self, tally: Tally, ending: Ending, functions: list[str]) -> None:
        """What was asked, reused, failed and spent."""
        cost = f"{tally.cost_usd:.4f} USD" if not tally.cost_unknown else "unknown"
        tokens = f"{tally.tokens_in:,} tokens in, {tally.tokens_out:,} out"
        self.console.print(f"{ending.status}: {counts(tally)}; {tokens}; cost {cost}")
        for code, count in sorted(tally.errors.items()):
            self.console.print(f"  {count:,} failed with {code}: `tripos explain {code}`")
        for line in functions:
            self.console.print(f"  {line}")
