"""`tripos run`: compiles a benchmark, runs it, keeps everything, and reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dotenv import load_dotenv

from tripos import __version__
from tripos.command.check import compile_given
from tripos.command.choices import chosen_binding, chosen_cases, warn_of_kin
from tripos.command.progress import counts, shown_progress
from tripos.command.report import make_report, show_report
from tripos.config import Config, load_config
from tripos.failure import GOOD, INTERRUPTED, SOME_FAILED, USAGE, Failure
from tripos_compiler.data import DataError
from tripos_compiler.plan import Plan
from tripos_runtime.binding import Binding
from tripos_runtime.calling import Caller, Stopped
from tripos_runtime.cases import CaseSource, Selection
from tripos_runtime.engine import Engine, new_run_id
from tripos_runtime.models import Endpoint, Model, ModelError, open_model
from tripos_runtime.plugins import Loaded, PluginError, load_plugins
from tripos_runtime.runnable import NotRunnable, check_runnable
from tripos_runtime.tally import Tally
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store
from tripos_warehouse.writer import Writer


@dataclass(frozen=True)
class Ending:
    """How a run ended: `finished`, `interrupted`, `stopped` (a model could not be had) or `failed` (the store)."""

    status: str
    failure: Failure | None = None


@dataclass(frozen=True)
class Job:
    """Everything about one run but its models."""

    plan: Plan
    binding: Binding
    selection: Selection
    source: CaseSource
    functions: Mapping[str, Loaded]
    store: Store
    run_id: str
    connections: int
    retries: int
    tally: Tally = field(default_factory=Tally)


class Ledger:
    """The store as the runtime sees it."""

    def __init__(self, store: Store) -> None:
        writer = Writer(store)
        self.known, self.rows = store.known, store.rows
        self.add_all, self.flush = writer.add_all, writer.flush


def main(options: Namespace) -> int:
    """Runs a benchmark. Exit code 1 where calls failed or the run had to stop, 130 where it was interrupted."""
    config = load_config(Path.cwd())
    compilation, folders = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    load_dotenv(Path.cwd() / ".env")  # where keys may stand, beside the environment
    binding = chosen_binding(options, config, plan)
    selection = chosen_cases(options, plan)
    try:
        check_runnable(plan, selection.chosen(plan))
    except NotRunnable as error:
        raise Failure(error.code, error.message, error.hint) from error
    warn_of_kin(plan, binding, options, config)
    functions = _load_functions(plan, compilation.sources[0].path)
    models = _open_models(binding, config)
    root = Path(options.store or config.store)
    try:
        store = Store.open(root, create=True)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    job = Job(
        plan=plan,
        binding=binding,
        selection=selection,
        source=CaseSource(plan, folders, tuple(each.path for each in compilation.sources)),
        functions=functions,
        store=store,
        run_id=new_run_id(datetime.now(UTC)),
        connections=options.max_connections or config.max_connections,
        retries=config.max_retries if options.max_retries is None else options.max_retries,
    )
    say = _Say(quiet=options.json)
    say.header(job, root)
    try:
        _begin(job)
        ending = asyncio.run(_run(job, models))
        _end(job, ending)
        report = None if ending.failure is not None else make_report(store, job.run_id)
        if report is not None and report.measures:
            store.append({"measures": report.to_measure_rows()})
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint, SOME_FAILED) from error
    if options.json:
        print(json.dumps(_summary(job, ending), indent=2))
    else:
        say.ending(job.tally, ending, _failed_functions(job))
        if report is not None and job.tally.samples:
            show_report(report, sql=False, store=options.store)
    if ending.failure is not None:
        raise ending.failure
    if ending.status == "interrupted":
        print(f"go on with the same command: what was answered is kept in {root}", file=sys.stderr)
        return INTERRUPTED
    return SOME_FAILED if job.tally.failed or _failed_functions(job) else GOOD


def _load_functions(plan: Plan, main_file: str) -> dict[str, Loaded]:
    try:
        return load_plugins(plan, Path(main_file).parent)
    except PluginError as error:
        raise Failure(error.code, error.message, error.hint) from error


def _open_models(binding: Binding, config: Config) -> dict[str, Model]:
    endpoints = {name: Endpoint(each.base_url, each.api_key_env) for name, each in config.endpoints.items()}
    try:
        return {name: open_model(name, endpoints) for name in binding.every}
    except ModelError as error:
        raise Failure(error.code, error.message, error.hint) from error


async def _run(job: Job, models: dict[str, Model]) -> Ending:
    callers = {
        name: Caller(model, asyncio.Semaphore(min(job.connections, model.slots or job.connections)), job.retries)
        for name, model in models.items()
    }
    engine = Engine(
        plan=job.plan,
        binding=job.binding,
        source=job.source,
        selection=job.selection,
        callers=callers,
        ledger=Ledger(job.store),
        functions=job.functions,
        run_id=job.run_id,
        workers=job.connections,
        tally=job.tally,
    )
    running = asyncio.create_task(engine.run())
    _handle_interrupts(engine, running)
    try:
        async with shown_progress(job.tally):
            await running
    except Stopped as error:
        return Ending("stopped", Failure(error.code, error.message, error.hint, SOME_FAILED))
    except StoreError as error:
        return Ending("failed", Failure(error.code, error.message, error.hint, SOME_FAILED))
    except DataError as error:
        return Ending("failed", Failure("E0307", error.message, error.help, SOME_FAILED))
    except asyncio.CancelledError:
        return Ending("interrupted")
    finally:
        await asyncio.gather(*(model.close() for model in models.values()), return_exceptions=True)
    return Ending("interrupted" if engine.stopping else "finished")


def _handle_interrupts(engine: Engine, running: asyncio.Task[None]) -> None:
    """Ctrl-C once finishes what is under way, twice stops at once."""

    def interrupted() -> None:
        if engine.stopping:
            running.cancel()
        else:
            engine.stopping = True
            print("\nfinishing the calls under way; Ctrl-C again stops at once", file=sys.stderr)

    with contextlib.suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)


def _begin(job: Job) -> None:
    plan, binding, selection = job.plan, job.binding, job.selection
    fingerprints = {each for scenario in plan.scenarios for each in scenario.fingerprints}
    row = {
        "run_id": job.run_id,
        "benchmark": plan.benchmark.name,
        "version": plan.benchmark.version,
        "plan_digest": plan.digest,
        "plan": plan.to_json(),
        "fingerprints": sorted(fingerprints),
        "roles": json.dumps({role: list(models) for role, models in binding.models.items()}, sort_keys=True),
        "compared_role": binding.compared,
        "models": list(binding.of(binding.compared)),
        "scenarios": [scenario.name for scenario in selection.chosen(plan)],
        "options": json.dumps(
            {"limit": selection.limit, "seed": selection.seed, "only": dict(selection.only)}, sort_keys=True
        ),
        "tool_version": __version__,
        "started_at": datetime.now(UTC),
    }
    job.store.append({"runs": [row]})


def _failed_functions(job: Job) -> list[str]:
    """For every Python function that failed, how often it did and what was wrong first."""
    return [
        f"`{name}` failed {each.failed:,} {'time' if each.failed == 1 else 'times'}, first with {each.first}"
        for name, each in job.functions.items()
        if each.failed
    ]


def _end(job: Job, ending: Ending) -> None:
    """Commits how the run ended; where the store cannot be written the first failure is the one to tell."""
    tally = job.tally
    row = {
        "run_id": job.run_id,
        "status": ending.status,
        "message": ending.failure.message if ending.failure is not None else "; ".join(_failed_functions(job)) or None,
        "asked": sum(tally.asked.values()),
        "reused": sum(tally.reused.values()),
        "failed": sum(tally.failed.values()),
        "cost_usd": None if tally.cost_unknown else tally.cost_usd,
        "finished_at": datetime.now(UTC),
    }
    with contextlib.suppress(StoreError) if ending.failure is not None else contextlib.nullcontext():
        job.store.append({"run_ends": [row]})


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
        "functions": _failed_functions(job),
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

    def header(self, job: Job, root: Path) -> None:
        """What is run, by whom, and where it is kept."""
        benchmark, binding = job.plan.benchmark, job.binding
        self.console.print(f"{benchmark.title} {benchmark.version}, run {job.run_id}, kept in {root}")
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
