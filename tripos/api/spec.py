"""A compiled spec for Python, with its plans and runs, and the keywords of a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from tripos.api.errors import RunError, SpecError, for_python, raised_as
from tripos.api.run import Callback, ProgressCallback, Run, conclude, open_run, run_blocking
from tripos.releases.network_policy import USER_GIVEN
from tripos.runs.compilation import CompiledSpec, describe_errors, find_spec
from tripos.runs.planning import RunPlan, plan_run
from tripos.runs.preparation import RunWarning, check_denied, prepare
from tripos.runs.selection import RunRequest
from tripos.settings.config import Config, denied_codes
from tripos.settings.load import ChosenSettings, allowing_programs, project_settings, with_values
from tripos.settings.option import Option
from tripos.settings.options import ALLOW_PROGRAM, ALLOW_UNSANDBOXED, STORE, RunParameters
from tripos.settings.trust import trust_in
from tripos_compiler.diagnostics.diagnostic import nearest
from tripos_compiler.errors import TriposError
from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    from tripos_compiler.diagnostics.diagnostic import Diagnostic
    from tripos_compiler.plan import Plan


Places = str | Path | Sequence[str | Path]
"""One path, or several."""


def paths_of(given: Places) -> list[str]:
    """Return the paths as a list of texts.

    >>> paths_of("data"), paths_of(["data", "more"])
    (['data'], ['data', 'more'])
    """
    return [str(each) for each in ([given] if isinstance(given, str | Path) else given)]


Names = str | Sequence[str]
"""One name, or several."""


class CaseOptions(TypedDict, total=False):
    """The cases of a run; all cases by default."""

    scenarios: Names
    only: Mapping[str, Names]
    """Values of axes, such as `{"tone": ["warm", "plain"]}`."""
    subset: str | None
    limit: int | None
    """The maximum number of items of each scenario: the first ones, or with `seed` a random sample."""
    seed: int | None
    shard: str | None
    """`"1/3"` is the first of three parts, assigned by a hash of the item."""
    reuse: Places
    """Stores whose replies are reused. They are only read."""
    budget: Names
    """The maximum to spend: `"5usd"`, `"200000tokens"`, `"1000calls"`."""
    batch: bool
    """Send calls in batches of their providers: half the price, with replies within a day."""
    until: Literal["settled", "end"] | None
    """`"settled"`: take items in random order, and stop once every comparison and expectation is settled. `"end"`: go
    on to the last item, even if the spec says `until settled`."""
    margin: float | None
    """With `until`: stop once every measure is this close to its value over all items."""


class RunOptions(CaseOptions, total=False):
    """The cases of a run, and how its calls are made."""

    max_connections: int
    max_retries: int
    timeout_s: float
    patience_s: float
    allow_programs: Names
    """Programs that scorers may start, as in `--allow-program`."""
    allow_unsandboxed: Names
    """Programs that may execute code of models without a sandbox."""
    locked: str | Path | None
    """The lock file that the run must match."""
    workers: int
    """The number of processes that make the calls. They share the limits and the budget."""
    detach: bool
    """With `batch`: submit the batches and return with the status `submitted`. The same run collects them later."""


@dataclass(frozen=True)
class Spec:
    """A benchmark that compiled without errors."""

    path: str
    """The path as given: a file, a folder, or a release."""
    compiled: CompiledSpec = field(repr=False)
    """The compilation, and the folders of its data."""
    settings: ChosenSettings = field(repr=False)
    """The effective settings: `tripos.toml`, its profile, and the environment."""
    denied: Mapping[str, str] = field(repr=False)
    """Codes of warnings that count as errors."""

    @property
    def compiled_plan(self) -> Plan:
        """The plan of the spec: its whole content, with a digest."""
        return self.compiled.plan

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings of the compiler."""
        return self.compiled.compilation.diagnostics

    @property
    def name(self) -> str:
        """The name of the benchmark."""
        return self.compiled_plan.benchmark.name

    @property
    def version(self) -> str:
        """The version of the benchmark."""
        return self.compiled_plan.benchmark.version

    @property
    def digest(self) -> str:
        """The SHA-256 of the plan. Two specs with the same digest are the same benchmark."""
        return self.compiled_plan.digest

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles that models fill, including the compared role."""
        return tuple(role.name for role in self.compiled_plan.roles)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The names of the scenarios."""
        return tuple(scenario.name for scenario in self.compiled_plan.scenarios)

    def plan(
        self,
        models: Names = (),
        *,
        roles: Mapping[str, Names] = {},
        store: str | Path | None = None,
        **options: Unpack[CaseOptions],
    ) -> RunPlan:
        """Plan a run: its items, calls, tokens and cost. No model is called, and no key is needed.

        The parameters are those of `run`. Without models, the plan has one model in each role and no cost.

        Raises `RunError`.
        """
        warnings: list[RunWarning] = []
        with raised_as(RunError):
            choices, config = request_of_keywords(
                self.settings.config, models, roles, store, options, CaseOptions.__annotations__
            )
            run_plan = plan_run(self.compiled, choices, config, self._warner(warnings))
        return replace(run_plan, warnings=tuple(warnings))

    def run(
        self,
        models: Names = (),
        *,
        roles: Mapping[str, Names] = {},
        store: str | Path | None = None,
        progress: Callback | None = None,
        **options: Unpack[RunOptions],
    ) -> Run:
        """Run the benchmark, store every result, and return the run with its report.

        `models` fill the compared role, `roles` the others by name; the rest comes from `tripos.toml`. Calls whose
        results are in the store are not repeated. `progress` is called a few times a second with a `Progress`. Further
        keywords are those of `RunOptions`.

        In a notebook, whose thread has a running event loop, the run gets its own thread, and the cell waits for it.
        `await spec.run_async(…)` does not block the notebook.

        Raises `RunError`, with the run in `run` if it had to stop; `StoreError` if the report cannot be made.
        """
        started: list[Run] = []

        def stop() -> None:
            for run in started:
                run.stop()

        return run_blocking(lambda: self._run(started, models, roles, store, progress, options), stop)

    async def run_async(
        self,
        models: Names = (),
        *,
        roles: Mapping[str, Names] = {},
        store: str | Path | None = None,
        progress: Callback | None = None,
        **options: Unpack[RunOptions],
    ) -> Run:
        """Run the benchmark in the running event loop, as `run` does. If the task is cancelled, calls in progress are
        abandoned; earlier results are kept."""
        return await self._run([], models, roles, store, progress, options)

    async def _run(
        self,
        started: list[Run],
        models: Names,
        roles: Mapping[str, Names],
        store: str | Path | None,
        progress: Callback | None,
        options: RunOptions,
    ) -> Run:
        warnings: list[RunWarning] = []
        with raised_as(RunError):
            choices, config = request_of_keywords(
                self.settings.config, models, roles, store, options, RunOptions.__annotations__
            )
            prepared = prepare(self.compiled, choices, config, locked=options.get("locked"))
            workers, detach = options.get("workers", 1), options.get("detach", False)
            run = open_run(
                self.compiled, choices, prepared, config, self._warner(warnings), workers=workers, detach=detach
            )
        run.warnings = tuple(warnings)
        started.append(run)
        observer = ProgressCallback(run, progress, self.settings.secrets)
        with raised_as(RunError):
            ending = await run.go(observer)
        if observer.error is not None:
            raise observer.error
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        if ending.failure is not None:
            failure = ending.failure
            raise RunError(failure.code, for_python(failure.message), for_python(failure.hint), run) from failure
        try:
            await asyncio.to_thread(conclude, run)
        except StoreError:
            raise
        except TriposError as failure:
            raise RunError(failure.code, for_python(failure.message), for_python(failure.hint), run) from failure
        return run

    def _warner(self, warnings: list[RunWarning]) -> Warner:
        return Warner(self.denied, warnings)


@dataclass(frozen=True)
class Warner:
    """A collector of warnings. Raises `TriposError` for a warning that counts as an error."""

    denied: Mapping[str, str]
    warnings: list[RunWarning]

    def __call__(self, warning: RunWarning) -> None:
        check_denied(warning, self.denied)
        self.warnings.append(warning)


def compile(  # noqa: A001 - `tripos.compile` is its name
    path: str | Path,
    *,
    data: Places = (),
    releases: Places = (),
    deny: Names = (),
    profile: str | None = None,
    allow_outside: bool = False,
    untrusted: bool = False,
    signed: bool = False,
    allow_private: bool = False,
) -> Spec:
    """Compile a spec: a `.tripos` file, a folder with one, a release, or the name of a benchmark that comes with
    Tripos.

    `data` and `releases` are further folders for data files and for releases that the spec extends. `deny` lists codes
    of warnings that count as errors. `profile` is a profile of `tripos.toml`. With `allow_outside` the spec may read
    files outside of its folder, its project and `data`; `untrusted` restricts it as `--untrusted` does on the command
    line. A release at a URL is fetched without your keys unless `signed`, and from public addresses only unless
    `allow_private`. Settings are read as on the command line: `tripos.toml` of the working directory or above it,
    `.env`, and the environment.

    Raises `SpecError`, whose `diagnostics` list all errors.
    """
    with raised_as(SpecError):
        trust = trust_in(untrusted, os.environ)
        chosen = project_settings(Path.cwd(), profile, trust)
        config = chosen.config
        denied = denied_codes(_names(deny), config)
        extended = [*paths_of(releases), *config.releases]
        source = find_spec(
            str(path),
            paths_of(data),
            config.data,
            extended,
            allow_outside=allow_outside,
            trust=trust,
            reach=replace(USER_GIVEN, private=allow_private, signed=signed),
        )
        compilation = source.compile(denied)
    plan = compilation.plan
    if plan is None:
        raise SpecError(*describe_errors(str(path), compilation.diagnostics), compilation.diagnostics)
    compiled = CompiledSpec(str(path), compilation, plan, source.folders)
    return Spec(str(path), compiled, chosen, denied)


def request_of_keywords(
    config: Config,
    models: Names,
    roles: Mapping[str, Names],
    store: str | Path | None,
    options: Mapping[str, Any],
    known: Collection[str],
) -> tuple[RunRequest, Config]:
    """Return the request in the keywords of a run or plan, and the settings with those that replace one. Raises
    `TypeError` for an unknown keyword, and `TriposError` R0202 for a value that does not fit."""
    _check_known(options, known)
    given = {option: options[option.keyword] for option in RunParameters.options if _is_given(option, options)}
    RunParameters.check_needs(given.__contains__, python=True)
    for option, value in given.items():
        if not option.repeated and (fault := option.kind.fault(value, option.keyword)):
            raise TriposError("R0202", fault, f"give another `{option.keyword}`, or leave it out")
    choices = RunRequest(
        models=_names(models),
        roles={role: _names(each) for role, each in (roles or {}).items()},
        scenario=_names(options.get("scenarios", ())),
        only=tuple(f"{axis}={','.join(_names(each))}" for axis, each in (options.get("only") or {}).items()),
        subset=options.get("subset"),
        limit=options.get("limit"),
        seed=options.get("seed"),
        shard=options.get("shard"),
        until=options.get("until"),
        margin=options.get("margin"),
        batch=options.get("batch", False),
    )
    return choices, _with_options(config, store, given)


def _is_given(option: Option[Any], keywords: Mapping[str, Any]) -> bool:
    """Return true if the keyword of an option is given, and is not its default."""
    value = keywords.get(option.keyword) if option.keyword else None
    return value is not None and value is not False and value != ()


def _with_options(config: Config, store: str | Path | None, given: Mapping[Option[Any], Any]) -> Config:
    """Return the settings with the keywords that replace one."""
    values = {option: value for option, value in given.items() if option.setting and not option.combined}
    values = {option: paths_of(value) if option.repeated else value for option, value in values.items()}
    if store is not None:
        values[STORE] = str(store)
    programs = (_names(given.get(option, ())) for option in (ALLOW_PROGRAM, ALLOW_UNSANDBOXED))
    return allowing_programs(with_values(config, values), *programs)


def _names(given: Names | None) -> tuple[str, ...]:
    """Return names as a tuple; none for None, as for a keyword that is left out."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def _check_known(options: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `TypeError` for an unknown keyword."""
    for name in options:
        if name not in known:
            close = nearest(name, known)
            hint = f"; did you mean `{close}`?" if close else ""
            raise TypeError(f"there is no keyword `{name}`{hint}")
