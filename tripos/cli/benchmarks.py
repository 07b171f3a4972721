"""`tripos run` and `tripos plan` for one or several benchmarks, one after another and under one budget."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tripos.runs.compilation import has_benchmark, has_shared_parts
from tripos.settings.load import ChosenSettings, chosen_settings
from tripos.settings.options import EVENTS, JSON, JUNIT
from tripos.terminal import print_stderr, show_json, show_text, terminal_width
from tripos_compiler.compile import Compilation
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.plan import Role
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.datasets.data_files import DataFolders

Action = Callable[[Namespace, ChosenSettings, Compilation, DataFolders], ExitCode]
"""The action for one compiled benchmark. It returns an exit code, or raises `TriposError`."""
EXIT_CODE_PRECEDENCE = (ExitCode.INTERRUPTED, ExitCode.USAGE, ExitCode.SOME_FAILED, ExitCode.EXPECTATION_FAILED)
"""Exit codes by precedence. The exit code of several runs is the first of these that any run has."""


@dataclass(frozen=True)
class _LoadedBenchmark:
    """A benchmark read from a path: compiled, or the failure that prevented it."""

    path: str
    compiled: tuple[Compilation, DataFolders] | None = None
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
        plan = None if self.compiled is None else self.compiled[0].plan
        return None if plan is None else plan.benchmark.name

    def _roles(self) -> Sequence[Role]:
        plan = None if self.compiled is None else self.compiled[0].plan
        return () if plan is None else plan.roles


def main(options: Namespace) -> ExitCode:
    """Run every benchmark that was named. Return the exit code of `run.main`; for several benchmarks the worst of 130,
    2, 1, 100.

    Raises `TriposError` if only one benchmark was named and it cannot be run.
    """
    from tripos.cli import run

    gc.freeze()  # imported modules stay: exclude them from garbage collection
    if options.on is not None:
        return run.run_on_cluster(options)
    if len(options.paths) == 1:
        options.path = options.paths[0]
        return run.main(options)
    from tripos_runtime.scheduling.budget import Budget

    _refuse_shared_files(options)
    chosen = chosen_settings(options)
    budget = Budget.parse(chosen.config.budget) if chosen.config.budget else None
    together = None if options.json or options.dry_run else partial(_show_together, options)
    return run_each(options, chosen, partial(run.run_compiled, budget=budget), together)


def _show_together(options: Namespace, names: Sequence[str]) -> None:
    """Print the leaderboards of several benchmarks in one table, if at least two of them rank models."""
    from tripos.cli.context import open_store
    from tripos.cli.leaderboard import joint_leaderboard
    from tripos.cli.report import store_options
    from tripos_compiler.language.plan_diff import are_comparable
    from tripos_warehouse.report.named_boards import stored_leaderboard

    try:
        boards = stored_leaderboard(open_store(options), {}, benchmarks=names, comparable=are_comparable)
    except TriposError:
        return  # each run has already reported why it cannot be read
    if len(boards) > 1:
        show_text("\n".join(["", *(line.rstrip() for line in joint_leaderboard(boards, terminal_width())), ""]))
        show_text(f"{localized('with intervals')}  tripos leaderboard {store_options(options)}".rstrip())


def run_each(
    options: Namespace, chosen: ChosenSettings, do: Action, after: Callable[[Sequence[str]], None] | None = None
) -> ExitCode:
    """Call `do` for every benchmark that was named, then `after` with the names of those that compiled. Return the
    worst exit code. Raises `TriposError` if no path has a benchmark, or if a role is given that no benchmark has."""
    benchmarks = [_read(options, path, chosen) for path in _benchmark_paths(options.paths)]
    if not benchmarks:
        raise TriposError(
            "E0108", "none of the paths holds a benchmark", "give .tripos files, or folders that hold one"
        )
    _check_roles(options, benchmarks)
    every = frozenset().union(*(loaded_benchmark.roles for loaded_benchmark in benchmarks))
    codes: list[tuple[str, ExitCode]] = []
    for place, benchmark in enumerate(benchmarks):
        if not options.json:
            sys.stdout.flush()  # keep the line after the output of the previous benchmark
            print_stderr(("\n" if place else "") + f"[{place + 1}/{len(benchmarks)}] {benchmark.path}")
        code = _run_one(
            benchmark, _options_for(benchmark, options, benchmarks), _settings_for(benchmark, chosen, every), do
        )
        codes.append((benchmark.path, code))
        if code == ExitCode.INTERRUPTED:
            break
    worst = next((code for code in EXIT_CODE_PRECEDENCE if any(code == had for _, had in codes)), ExitCode.SUCCESS)
    if not options.json:
        sys.stdout.flush()
        print_stderr("\n" + "\n".join(_outcome_lines(benchmarks, codes)))
    if after is not None and worst != ExitCode.INTERRUPTED:
        after(
            [
                loaded_benchmark.name
                for loaded_benchmark, (_, code) in zip(benchmarks, codes, strict=True)
                if loaded_benchmark.name and code != ExitCode.USAGE
            ]
        )
    return worst


def _run_one(each: _LoadedBenchmark, options: Namespace, chosen: ChosenSettings, do: Action) -> ExitCode:
    """Run one benchmark. A failure is printed (with `--json` as one line) and becomes its exit code."""
    from tripos.cli.parser import show_failure

    printed, failure = io.StringIO(), each.failure
    code = ExitCode.USAGE
    with contextlib.redirect_stdout(printed) if options.json else contextlib.nullcontext():
        if each.compiled is not None:
            try:
                code = do(options, chosen, *each.compiled)
            except TriposError as stopped:
                failure = stopped
    if failure is not None:
        show_failure(failure)
        code = failure.exit_code
    if options.json:
        outcome = json.loads(printed.getvalue() or "{}")
        if failure is not None:
            outcome["error"] = {"code": failure.code, "message": failure.message, "hint": failure.hint or None}
        show_json(json.dumps({"path": each.path, "exit_code": code, **outcome}, ensure_ascii=False))
    return code


def _outcome_lines(benchmarks: Sequence[_LoadedBenchmark], codes: Sequence[tuple[str, ExitCode]]) -> list[str]:
    """Return one line with the outcome of each benchmark."""
    from rich.cells import cell_len

    from tripos_warehouse.tables.text import pad

    words = {
        ExitCode.SUCCESS: "good",
        ExitCode.SOME_FAILED: "something failed",
        ExitCode.EXPECTATION_FAILED: "an `expect` did not hold",
        ExitCode.USAGE: "not run",
        ExitCode.INTERRUPTED: "interrupted",
    }
    width = max(cell_len(benchmark.path) for benchmark in benchmarks)
    lines = [f"{pad(path, width)}  {words.get(code, f'exit code {code}')}" for path, code in codes]
    return lines + [f"{pad(benchmark.path, width)}  not begun" for benchmark in benchmarks[len(codes) :]]


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


def _read(options: Namespace, path: str, chosen: ChosenSettings) -> _LoadedBenchmark:
    from tripos.cli.context import compile_command_spec

    try:
        return _LoadedBenchmark(path, compile_command_spec(Namespace(**{**vars(options), "path": path}), chosen.config))
    except TriposError as failure:
        return _LoadedBenchmark(path, failure=failure)


def _options_for(each: _LoadedBenchmark, options: Namespace, benchmarks: Sequence[_LoadedBenchmark]) -> Namespace:
    """Return the options for one benchmark, with its roles only. If `--model` is given and another benchmark uses the
    name of its compared role for another role, a `--role` of that name is dropped."""
    others = {name for other in benchmarks for name in other.roles if name != other.compared}
    mine = each.roles - ({each.compared} & others if options.model else set())
    role = [text for text in options.role if _role(text) in mine or not each.roles]
    return Namespace(**{**vars(options), "path": each.path, "role": role})


def _settings_for(each: _LoadedBenchmark, chosen: ChosenSettings, every: frozenset[str]) -> ChosenSettings:
    """Return the settings without the roles that only other benchmarks have."""
    roles = {name: models for name, models in chosen.config.roles.items() if name not in every - each.roles}
    return replace(chosen, config=chosen.config.model_copy(update={"roles": roles}))


def _check_roles(options: Namespace, benchmarks: Sequence[_LoadedBenchmark]) -> None:
    """Raise `TriposError` R0201 for a role that no benchmark has."""
    every = sorted(frozenset().union(*(benchmark.roles for benchmark in benchmarks)))
    for name in map(_role, options.role):
        if every and name not in every:
            hint = suggest(name, every, f"their roles are {', '.join(every)}")
            raise TriposError("R0201", f"none of the benchmarks has a role `{name}`", hint)


def _role(text: str) -> str:
    return str(text.partition("=")[0])


def _refuse_shared_files(options: Namespace) -> None:
    """Raise `TriposError` R0202 for an output file that each run would overwrite."""
    for option in (JUNIT, EVENTS):
        given = option.of(options)
        if given and given != "-":
            message = f"`{option} {given}` holds the results of one run, but {len(options.paths)} paths are given"
            raise TriposError("R0202", message, "run one benchmark at a time with it")
    if options.json and options.events:
        raise TriposError("R0202", f"`{EVENTS} -` and `{JSON}` both write on standard output", "leave one of them out")
