"""`tripos run` and `tripos plan` for one or several benchmarks, one after another and under one budget."""

from __future__ import annotations

import gc
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tripos.cli.context import Context, InvalidSpec, Outcome, Remark
from tripos.runs.compilation import CompiledSpec, has_benchmark, has_shared_parts
from tripos.runs.selection import RunRequest
from tripos.settings.load import ChosenSettings
from tripos.settings.options import EVENTS, JSON, JUNIT
from tripos.terminal import print_stderr, show_json, terminal_width
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Role
from tripos_compiler.source.data_classes import dataclass

Action = Callable[[CompiledSpec, RunRequest, ChosenSettings], Outcome]
"""The action for one compiled benchmark, with the models and cases to run and the settings. It raises `TriposError`."""
EXIT_CODE_PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.SUBMITTED,
    ExitCode.SOME_FAILED,
    ExitCode.EXPECTATION_FAILED,
)
"""Exit codes by precedence. The exit code of several runs is the first of these that any run has."""


@dataclass(frozen=True)
class _LoadedBenchmark:
    """A benchmark read from a path: compiled, or the failure that prevented it."""

    path: str
    spec: CompiledSpec | None = None
    failure: TriposError | None = None

    @property
    def roles(self) -> frozenset[str]:
        """The names of its roles; empty if it has no plan."""
        return frozenset(role.name for role in self._roles())

    @property
    def compared(self) -> str | None:
        """The name of the role that `--model` fills."""
        return next((role.name for role in self._roles() if role.kind == "compared"), None)

    @property
    def name(self) -> str | None:
        """The name of the benchmark; None if it has no plan."""
        return None if self.spec is None else self.spec.plan.benchmark.name

    def _roles(self) -> Sequence[Role]:
        return () if self.spec is None else self.spec.plan.roles


def main(context: Context) -> Outcome:
    """Run every benchmark that was named. The exit code is that of `run.run_one`; for several benchmarks the first of
    `EXIT_CODE_PRECEDENCE` that one of them has.

    Raises `TriposError` if only one benchmark was named and it cannot be run.
    """
    from tripos.cli import run

    options = context.options
    gc.freeze()  # imported modules stay: exclude them from garbage collection
    if options.on is not None:
        return run.run_on_cluster(context)
    if len(options.paths) == 1:
        return run.run_one(context, options.paths[0])
    from tripos_runtime.scheduling.budget import Budget

    _refuse_shared_files(options)
    budget = Budget.parse(context.config.budget) if context.config.budget else None

    def run_next(spec: CompiledSpec, request: RunRequest, chosen: ChosenSettings) -> Outcome:
        return run.run_compiled(context, spec, request, chosen, budget=budget)

    return run_each(context, run_next, None if options.dry_run else lambda names: _joint_lines(context, names))


def _joint_lines(context: Context, names: Sequence[str]) -> Iterator[str]:
    """Yield the leaderboards of several benchmarks in one table, if at least two of them rank models."""
    from tripos.cli.leaderboard import joint_leaderboard
    from tripos.cli.report import store_options
    from tripos_compiler.language.plan_diff import are_comparable
    from tripos_warehouse.report.named_boards import stored_leaderboard

    try:
        boards = stored_leaderboard(context.store(), {}, benchmarks=names, comparable=are_comparable)
    except TriposError:
        return  # each run has already reported why it cannot be read
    if len(boards) > 1:
        yield from ("", *(line.rstrip() for line in joint_leaderboard(boards, terminal_width())), "")
        yield f"{localized('with intervals')}  tripos leaderboard {store_options(context.options)}".rstrip()


def run_each(context: Context, do: Action, after: Callable[[Sequence[str]], Iterator[str]] | None = None) -> Outcome:
    """Call `do` for every benchmark that was named, and print its outcome: with `--json` as one line. Then call `after`
    with the names of those that compiled. The exit code is the worst one. Raises `TriposError` if no path has a
    benchmark, or if a role is given that no benchmark has."""
    request, chosen, as_json = context.request, context.settings, context.form == "json"
    benchmarks = [_read(context, path) for path in _benchmark_paths(context.options.paths)]
    if not benchmarks:
        raise TriposError(
            "E0108", "none of the paths holds a benchmark", "give .tripos files, or folders that hold one"
        )
    _check_roles(request, benchmarks)
    every = frozenset().union(*(benchmark.roles for benchmark in benchmarks))
    codes: list[ExitCode] = []
    for place, benchmark in enumerate(benchmarks):
        if not as_json:
            sys.stdout.flush()  # keep the line after the output of the previous benchmark
            print_stderr(("\n" if place else "") + f"[{place + 1}/{len(benchmarks)}] {benchmark.path}")
        own = _settings_for(benchmark, chosen, every)
        codes.append(_run_one(context, benchmark, _request_for(benchmark, request, benchmarks), own, do))
        if codes[-1] == ExitCode.INTERRUPTED:
            break
    worst = next((code for code in EXIT_CODE_PRECEDENCE if code in codes), ExitCode.SUCCESS)
    begun = list(zip(benchmarks, codes, strict=False))
    names = [benchmark.name for benchmark, code in begun if benchmark.name and code != ExitCode.USAGE]

    def lines() -> Iterator[str]:
        yield Remark("\n" + "\n".join(_outcome_lines(benchmarks, codes)))
        if after is not None and worst != ExitCode.INTERRUPTED:
            yield from after(names)

    sys.stdout.flush()
    return Outcome(lines=lines(), exit_code=worst)


def _run_one(
    context: Context, benchmark: _LoadedBenchmark, request: RunRequest, chosen: ChosenSettings, do: Action
) -> ExitCode:
    """Run one benchmark and print its outcome. A failure is printed too, and becomes its exit code."""
    from tripos.cli.parser import show_failure

    outcome = Outcome(exit_code=ExitCode.USAGE, failure=benchmark.failure)
    if benchmark.spec is not None:
        try:
            outcome = do(benchmark.spec, request, chosen)
        except TriposError as error:
            outcome = Outcome(failure=error)
    failure = outcome.failure
    code = outcome.exit_code if failure is None else failure.exit_code
    if context.form != "json":
        outcome.show(context.form)
    if failure is not None:
        show_failure(failure)
    if context.form == "json":
        data = outcome.data() if outcome.data is not None else {}
        data = json.loads(data) if isinstance(data, str) else data
        if failure is not None:
            data = {
                **data,
                "error": {"code": failure.code, "message": failure.message, "hint": failure.hint or None},
            }
        show_json(json.dumps({"path": benchmark.path, "exit_code": code, **data}, ensure_ascii=False))
    return code


def _outcome_lines(benchmarks: Sequence[_LoadedBenchmark], codes: Sequence[ExitCode]) -> list[str]:
    """Return one line with the outcome of each benchmark."""
    from rich.cells import cell_len

    from tripos_warehouse.tables.text import pad

    words = {
        ExitCode.SUCCESS: "good",
        ExitCode.SOME_FAILED: "something failed",
        ExitCode.EXPECTATION_FAILED: "an `expect` did not hold",
        ExitCode.USAGE: "not run",
        ExitCode.SUBMITTED: "batches are under way",
        ExitCode.INTERRUPTED: "interrupted",
    }
    width = max(cell_len(benchmark.path) for benchmark in benchmarks)
    outcomes = [words.get(code, f"exit code {code}") for code in codes]
    outcomes += ["not begun"] * (len(benchmarks) - len(codes))
    return [f"{pad(benchmark.path, width)}  {text}" for benchmark, text in zip(benchmarks, outcomes, strict=True)]


def _benchmark_paths(paths: Sequence[str]) -> list[str]:
    """Return the paths that have a benchmark. Others, which a shell pattern may include, are reported, except folders
    of declarations that benchmarks share."""
    kept = []
    for path in dict.fromkeys(path.rstrip("/") or path for path in paths):
        if not Path(path).exists() or has_benchmark(Path(path)):
            kept.append(path)
        elif not has_shared_parts(Path(path)):
            print_stderr(f"passed over {path}: it holds no benchmark")
    return kept


def _read(context: Context, path: str) -> _LoadedBenchmark:
    try:
        return _LoadedBenchmark(path, context.compiled(path))
    except InvalidSpec:
        return _LoadedBenchmark(path)
    except TriposError as failure:
        return _LoadedBenchmark(path, failure=failure)


def _request_for(
    benchmark: _LoadedBenchmark, request: RunRequest, benchmarks: Sequence[_LoadedBenchmark]
) -> RunRequest:
    """Return the request for one benchmark, with its roles only. If `--model` is given and another benchmark uses the
    name of its compared role for another role, a `--role` of that name is dropped."""
    others = {name for other in benchmarks for name in other.roles if name != other.compared}
    mine = benchmark.roles - ({benchmark.compared} & others if request.models else set())
    roles = {name: models for name, models in request.roles.items() if name in mine or not benchmark.roles}
    return replace(request, roles=roles)


def _settings_for(each: _LoadedBenchmark, chosen: ChosenSettings, every: frozenset[str]) -> ChosenSettings:
    """Return the settings without the roles that only other benchmarks have."""
    roles = {name: models for name, models in chosen.config.roles.items() if name not in every - each.roles}
    return replace(chosen, config=chosen.config.model_copy(update={"roles": roles}))


def _check_roles(request: RunRequest, benchmarks: Sequence[_LoadedBenchmark]) -> None:
    """Raise `TriposError` R0201 for a role that no benchmark has."""
    every = sorted(frozenset().union(*(benchmark.roles for benchmark in benchmarks)))
    for name in request.roles:
        if every and name not in every:
            hint = suggest(name, every, f"their roles are {', '.join(every)}")
            raise TriposError("R0201", f"none of the benchmarks has a role `{name}`", hint)


def _refuse_shared_files(options: Namespace) -> None:
    """Raise `TriposError` R0202 for an output file that each run would overwrite."""
    for option in (JUNIT, EVENTS):
        given = option.of(options)
        if given and given != "-":
            message = f"`{option} {given}` holds the results of one run, but {len(options.paths)} paths are given"
            raise TriposError("R0202", message, "run one benchmark at a time with it")
    if options.json and options.events:
        raise TriposError("R0202", f"`{EVENTS} -` and `{JSON}` both write on standard output", "leave one of them out")
