"""`tripos run` (one run, or its shards on a cluster) and `tripos teach` (a person replies in place of the model)."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import shlex
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TextIO

from tripos.api.run import Run, conclude, open_run
from tripos.cli.context import Context, Outcome, Remark, with_mock_models
from tripos.cli.progress import (
    Events,
    ProgressMonitor,
    RunSummary,
    summary_data,
    summary_lines,
    views_of,
    wrap_labelled,
)
from tripos.cli.report import check_xml_place, exit_code_of, headline_lines, store_options, write_junit
from tripos.errors import is_interrupt
from tripos.releases.frozen import withheld_note
from tripos.runs.clusters import Sharding, array_script, job_manifest, manifest_text, run_shards, shard_command, submit
from tripos.runs.compilation import CompiledSpec
from tripos.runs.interrupts import interrupt_handler
from tripos.runs.job import Job, RunObserver, RunResult
from tripos.runs.preparation import binding_warnings, prepare
from tripos.runs.selection import RunRequest
from tripos.settings.config import Config
from tripos.settings.load import ChosenSettings
from tripos.settings.options import (
    DRY_RUN,
    EVENTS,
    IMAGE,
    JSON,
    JUNIT,
    MODEL,
    PATIENCE,
    SHARD,
    SHARDS,
    TIME_LIMIT,
    TIMEOUT,
    RunParameters,
)
from tripos.settings.runtime import check_divisible, limits_of
from tripos.settings.secrets import without_keys
from tripos.terminal import escape_controls, hanging_indent, message, print_stderr, show_message, terminal_width
from tripos_compiler.diagnostics.i18n import localized, titles_language
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.drivers.human import HumanModel
from tripos_runtime.drivers.prepared import PreparedRun
from tripos_runtime.models.base import Message, Model
from tripos_runtime.models.catalog import all_variables
from tripos_runtime.scheduling.budget import Budget
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.tables.text import fold


# One run
def run_one(context: Context, path: str) -> Outcome:
    """Run a benchmark. If several are true, the exit code is that of the first: it was interrupted, its batches were
    submitted, calls or functions failed or the run had to stop, an `expect` failed."""
    return run_compiled(context, context.compiled(path), context.request, context.settings, budget=context.budget)


def run_compiled(
    context: Context,
    spec: CompiledSpec,
    request: RunRequest,
    chosen: ChosenSettings,
    *,
    people: Mapping[str, Model] = {},
    budget: Budget | None = None,
) -> Outcome:
    """Run a compiled benchmark, with an exit code as that of `run_one`. `people` maps names of people who take part to
    their models. `budget` is one that earlier runs have spent from; by default it is that of the settings. Raises
    `TriposError`."""
    options = context.options
    chosen = with_mock_models(request, chosen, spec)
    config = chosen.config
    prepared = prepare(spec, request, config, people=people, budget=budget, locked=options.locked)
    context.check_models(prepared.binding.all_models)
    if options.dry_run:
        return _dry_run(context, prepared, config)
    if options.junit:
        check_xml_place(options.junit)
    workers, detach = RunParameters.workers.of(options), RunParameters.detach.of(options)
    run = open_run(spec, request, prepared, config, context.warn, workers=workers, detach=detach)
    with contextlib.ExitStack() as stack:
        stack.callback(prepared.wiring.close)
        events = stack.enter_context(Events.open(options.events, chosen.secrets)) if options.events else None
        return _Run(run, options, chosen, events, context.arguments, interactive=bool(people)).go()


def _dry_run(context: Context, prepared: PreparedRun, config: Config) -> Outcome:
    """Return the forecast of a run, without making calls or creating a store. Raises `TriposError` if the store or a
    data file cannot be read."""
    from tripos.cli.forecast_text import forecast_lines
    from tripos.runs.forecast import check_model_names, forecast_batches, forecast_data, forecast_run
    from tripos.runs.planning import headline_detection
    from tripos.runs.preparation import damage_warning

    check_model_names([name for name in prepared.binding.all_models if name not in prepared.wiring.recorded], config)
    for warning in binding_warnings(prepared):
        context.warn(warning)
    estimate = forecast_run(prepared, config, lambda error: context.warn(damage_warning(error)))
    budget, batches = prepared.budget, forecast_batches(estimate, prepared, config)

    def data() -> dict[str, Any]:
        detection = headline_detection(prepared.plan, prepared.source, prepared.selection)
        withheld = prepared.source.withheld_counts(prepared.selection)
        return forecast_data(estimate, budget, withheld, batches, None if detection is None else detection.to_json())

    return Outcome(data, forecast_lines(estimate, prepared.plan, terminal_width(), budget, batches))


@dataclass
class _Run(RunObserver):
    """One run with its output to the terminal and to the event log. It observes the calls of the run."""

    run: Run
    options: Namespace
    chosen: ChosenSettings
    events: Events | None
    arguments: Sequence[str]
    """The command as typed, without `tripos`."""
    interactive: bool = False
    """True if a person replies in the terminal, so that no progress may be drawn there."""
    _handlers: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _monitor: ProgressMonitor | None = None

    @property
    def job(self) -> Job:
        """The job of the run."""
        return self.run.job

    def _write_junit(self, report: Report | None) -> None:
        """Write the results of the expectations as JUnit XML, also for a run that stopped. Without a report, remove the
        file, so that it never shows an earlier run."""
        if report is None:
            with contextlib.suppress(StoreError):
                report = self.run.report()
        if report is None:
            with contextlib.suppress(OSError):
                Path(self.options.junit).unlink()
        else:
            write_junit(report, self.options.junit)

    def go(self) -> Outcome:
        """Run, and return the summary and the headline."""
        job, started = self.job, time.monotonic()
        self._header()
        try:
            ending = asyncio.run(self.run.go(self))
        except StoreError as error:
            error.exit_code = ExitCode.SOME_FAILED
            raise
        report, failure, interrupted = None, ending.failure, False
        if failure is None:
            try:
                report = conclude(self.run)
            except StoreError as error:  # the summary of calls and cost is still printed
                failure = error.with_exit_code(ExitCode.SOME_FAILED)
            except TriposError as error:
                report, failure = self.run.report(), error
            except BaseException as error:
                if not is_interrupt(error):
                    raise
                interrupted = True
        if self.options.junit and not interrupted:
            self._write_junit(report)
        summary = self._summary(ending, failure, time.monotonic() - started)
        if self.events is not None:
            self.events.finished(_summary_json(summary, report))
        remarks = self._interrupted_remarks() if interrupted else []
        if self.options.json:  # which prints no lines
            for remark in remarks:
                print_stderr(remark)
        code = ExitCode.SUCCESS if report is None else exit_code_of(report)
        if interrupted or ending.status == "interrupted":
            code = ExitCode.INTERRUPTED
        elif ending.status == "submitted":
            code = ExitCode.SUBMITTED
        elif job.tally.failed or job.failed_functions():
            code = ExitCode.SOME_FAILED  # the next run may fix it; until then the expectations do not count
        return Outcome(
            None if self._events_on_stdout else lambda: _summary_json(summary, report),
            self._lines(summary, report, remarks),
            exit_code=code,
            failure=failure,
        )

    def _lines(self, summary: RunSummary, report: Report | None, remarks: Sequence[Remark]) -> Iterator[str]:
        """Yield the summary, the headline, and remarks."""
        yield Remark("\n".join(summary_lines(summary)))
        if report is not None and self.job.tally.samples and not self._events_on_stdout:
            yield from headline_lines(report, self.options)
        yield from remarks

    def _interrupted_remarks(self) -> list[Remark]:
        """Return the remarks that the results are stored, and which command makes the report that was interrupted."""
        where = store_options(self.options)
        again = " ".join(["tripos", "report", self.job.run_id, *([where] if where else [])])
        texts = (
            "interrupted after the last call: all results are kept, and nothing is asked again",
            f"  for the figures: {again}",
        )
        return [Remark(localized(text)) for text in texts]

    @property
    def _events_on_stdout(self) -> bool:
        return self.events is not None and self.events.on_stdout

    def _header(self) -> None:
        """Print the run, its store, its models and its restrictions, and write the first event."""
        job = self.job
        benchmark, store = job.plan.benchmark, _relative_place(job.store.place)
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
            head = f"{_benchmark_title(job.plan)}, run {job.run_id}"
            gap = ", kept in " if len(head) + len(store) + 10 <= width else "\n  kept in "
            lines = [hanging_indent("", line, sys.stderr) for line in localized(f"{head}{gap}{store}").split("\n")]
            for role, models in job.binding.models.items():
                lines += wrap_labelled(f"  {role}: ", ", ".join(models), "    ") if models else ()
            if (shard := job.selection.shard) is not None:
                lines.append(localized(f"  shard {shard} of the items; without {SHARD} a run has them all"))
            if text := withheld_note(job.source, job.selection):
                lines.append(hanging_indent("  ", localized(text), sys.stderr))
            print_stderr("\n".join(lines))

    def _summary(self, ending: RunResult, failure: TriposError | None, elapsed_s: float) -> RunSummary:
        """Return the summary of the run."""
        return RunSummary(
            run_id=self.job.run_id,
            status=ending.status,
            tally=self.job.tally,
            elapsed_s=elapsed_s,
            code=None if failure is None else failure.code,
            budget=self.job.budget,
            functions=tuple(self.job.failed_functions()),
            command=without_keys(shlex.join(["tripos", *self.arguments]), self.chosen.secrets),
        )

    def started(self, job: Job) -> None:
        """Show progress from now on. The first Ctrl-C finishes the calls in progress; the second stops at once."""

        def interrupted() -> None:
            if job.interrupt():
                print_stderr(localized("\nfinishing the calls under way; Ctrl-C again stops at once"))

        self._handlers.enter_context(interrupt_handler(interrupted))
        quiet = self.options.json or self._events_on_stdout or self.interactive
        self._monitor = ProgressMonitor(
            job.tally,
            views_of(self.events, quiet=quiet),
            job.endpoints,
            job.budget,
            self.options.verbose,
            self.chosen.secrets,
        )

    def progress(self, job: Job, elapsed_s: float) -> None:
        """Show the state of the run."""
        if self._monitor is not None:
            self._monitor.look(elapsed_s, job.new_notes())

    def finished(self) -> None:
        """Remove the display of the progress."""
        if self._monitor is not None:
            self._monitor.close()
        self._handlers.close()


def _summary_json(summary: RunSummary, report: Report | None) -> dict[str, Any]:
    """Return the summary of a run for `--json` and the event log, with the results of its expectations."""
    gates = [] if report is None else [gate.to_json() for gate in report.expectations]
    return {**summary_data(summary), "expectations": gates}


def _benchmark_title(plan: Plan) -> str:
    """Return the title of a benchmark in the reader's language, with its version."""
    benchmark = plan.benchmark
    title = plan.title_of("benchmark", benchmark.name, titles_language()) or benchmark.title
    return f"{title} {benchmark.version}"


def _relative_place(place: str) -> str:
    """Return a path relative to the current folder if it lies below it, or else unchanged."""
    here, path = Path.cwd(), Path(place)
    return os.fspath(path.relative_to(here)) if path.is_relative_to(here) else place


PROGRAMS = {"slurm": ("sbatch",), "k8s": ("kubectl", "create", "-f", "-")}
"""The commands that submit a run to a cluster, given its script or manifest on standard input."""


# A run on a cluster
def run_on_cluster(context: Context) -> Outcome:
    """Return the script or the manifest of a run, and submit it with `--submit`; with `--on ray`, make the run. The
    first shard is prepared here, so that mistakes are reported before anything is submitted. Raises `TriposError`."""
    options = context.options
    if len(options.paths) > 1:
        raise TriposError(
            "R0202", f"`{RunParameters.on} {options.on}` takes one benchmark at a time", "submit each by itself"
        )
    for option in (SHARD, JUNIT, EVENTS):
        if option.is_in(options):
            hint = f"give it to the command that ends the run, without {RunParameters.on}"
            raise TriposError("R0202", f"`{option}` is not shared by shards", hint)
    sharding = _sharding(context, options.paths[0])
    if options.on == "ray":
        return _run_on_ray(context, sharding)
    script = _text(options.on, sharding, context.settings)
    if options.write is not None:
        _write(Path(options.write), script)
    submits = options.submit and not options.dry_run
    reply = submit(PROGRAMS[options.on], script) if submits else None
    shards = SHARDS.setting_in(sharding.config)
    shown = [message(reply)] if reply is not None else [script.rstrip("\n")] if options.write is None else []
    then = message(f"when its {shards} shards are done: {sharding.whole_command}", sys.stderr)
    return Outcome(
        lambda: {"script": script, "submitted": reply, "shards": shards, "then": sharding.whole_command},
        [*shown, Remark(then)],
    )


def _sharding(context: Context, path: str) -> Sharding:
    """Return the shards of a run. Raises `TriposError` if the first shard cannot be prepared."""
    config, spec = context.config, context.compiled(path)
    command = shard_command(context.arguments, context.settings.secrets)
    check_divisible(limits_of(config, {}), SHARDS.setting_in(config), "shards")
    first = replace(context.request, shard=f"1/{SHARDS.setting_in(config)}", divide=True)
    prepare(spec, first, config, locked=context.options.locked).wiring.close()
    return Sharding(spec.plan.benchmark.name, command, config)


def _run_on_ray(context: Context, sharding: Sharding) -> Outcome:
    """Run all shards, then the whole run, which finds every result in the store. Raises `TriposError` R0413 if a shard
    failed."""
    options = context.options
    for option in (RunParameters.submit, RunParameters.write, TIME_LIMIT, IMAGE):
        if option.is_in(options):
            raise TriposError("R0202", f"`{option}` does nothing with {RunParameters.on} ray", "leave it out")
    if options.dry_run:
        return Outcome(lambda: {"then": sharding.whole_command}, [sharding.whole_command])
    count, ended, asked = SHARDS.setting_in(sharding.config), 0, 0
    failed: list[int] = []
    for end in run_shards(sharding, Path.cwd()):
        ended, asked = ended + 1, asked + end.asked
        failed += [] if end.is_good else [end.number]
        show_message(f"{ended} of {count} shards done, {asked:,} calls asked", stderr=True)
        if end.error:
            show_message(f"  shard {end.number}: {end.error}", stderr=True)
    if failed:
        fault = f"{len(failed)} of {count} shards did not end well"
        hint = "run the same command again: what was answered is kept"
        raise TriposError("R0413", fault, hint, ExitCode.SOME_FAILED)
    return run_one(context, options.paths[0])


def _text(on: str, sharding: Sharding, chosen: ChosenSettings) -> str:
    """Return the Slurm script or the Kubernetes manifest."""
    if on == "slurm":
        return array_script(sharding, Path.cwd())
    return manifest_text(job_manifest(sharding, chosen.config.store, all_variables()))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise TriposError("R0208", f"cannot write `{path}`: {error.strerror}", "give another FILE") from error
    show_message(f"written to {path}", stderr=True)


PATIENCE_S = 30 * 86_400.0
"""The timeout for a person's reply: in effect none."""
# The text at the beginning of a session, and the indentation of messages.
HELP = "end a turn with an empty line; Ctrl-D leaves, and the same command goes on from there"
INDENT = "  "


# A person in place of the model
def teach_main(context: Context) -> Outcome:
    """Run a benchmark with a person in the compared role. Exit codes are those of `tripos run`."""
    from tripos.annotation.assignment import check_name

    options = context.options
    name = f"human/{options.name}"
    check_name(options.name)
    if options.model:
        raise TriposError(
            "R0202", f"`{MODEL}` fills the role that you take yourself", "leave it out, or use `tripos run`"
        )
    if options.dry_run or options.json:
        raise TriposError("R0202", f"nothing is taught with `{DRY_RUN}` or `{JSON}`", "use `tripos run` for these")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a byte that is not UTF-8 must not end the session
    chosen, request = context.settings, replace(context.request, models=(name,))
    limits = chosen.config.limits.model_copy(update={option.key: PATIENCE_S for option in (TIMEOUT, PATIENCE)})
    chosen = replace(chosen, config=chosen.config.model_copy(update={"limits": limits}))
    person = HumanModel(name, Terminal(sys.stdin, sys.stdout))
    return run_compiled(context, context.compiled(options.path), request, chosen, people={name: person})


@dataclass
class Terminal:
    """A person at a terminal, or at both ends of a pipe."""

    input: TextIO
    output: TextIO
    _first: bool = True

    def begin(self, messages: tuple[Message, ...]) -> None:
        """Show the instructions and all messages so far."""
        lines = ["", "─" * min(terminal_width(), 80)]
        if self._first:
            lines += [*fold(localized(HELP), terminal_width()), ""]
        self._first = False
        self._write(lines)
        self.hear(messages)

    def hear(self, messages: tuple[Message, ...]) -> None:
        """Show messages, including the person's own in a continued conversation."""
        heads = {"system": "your instructions", "user": "to you", "assistant": "you said"}
        for each in messages:
            self._write([localized(heads[each.role]), *_indented(each.content), ""])

    def say(self) -> str | None:
        """Return the lines up to an empty line, of which at least one is not empty; None at the end of the input. The
        end of a file ends its last turn; Ctrl-D within a turn leaves, and the turn is not sent."""
        lines: list[str] = []
        self._prompt()
        while line := self.input.readline():
            if line.strip():
                lines.append(line.rstrip("\r\n"))
            elif lines:
                return "\n".join(lines)
            self._prompt()
        return None if self.input.isatty() else "\n".join(lines) or None

    def _prompt(self) -> None:
        self.output.write("> ")
        self.output.flush()

    def _write(self, lines: list[str]) -> None:
        self.output.write("".join(f"{line}\n" for line in lines))
        self.output.flush()


def _indented(text: str) -> list[str]:
    room = terminal_width() - len(INDENT)
    return [f"{INDENT}{part}" for line in escape_controls(text).splitlines() for part in fold(line, room)]
