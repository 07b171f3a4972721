"""The context of a command, which opens what the command needs, and its outcome, which is printed in one place.

A store that is only read is opened tolerantly: damaged parts are reported and skipped. The context keeps these stores,
so that the command can be run again without the damaged rows.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tripos.settings.options import (
    ALLOW_OUTSIDE,
    FORMAT,
    INTERVAL,
    JSON,
    LANGUAGE,
    MODEL,
    RELEASES,
    STORE,
    RunParameters,
)
from tripos.settings.trust import trust_of
from tripos.terminal import (
    discard_output,
    is_colored,
    print_stderr,
    show_diagnostic,
    show_json,
    show_message,
    show_output,
    show_text,
    terminal_width,
)
from tripos_compiler.errors import ExitCode, TriposError

if TYPE_CHECKING:
    from tripos.runs.compilation import CompiledSpec, SpecSource
    from tripos.runs.preparation import RunWarning
    from tripos.runs.selection import RunRequest
    from tripos.settings.config import Config
    from tripos.settings.load import ChosenSettings
    from tripos_compiler.compile import Compilation
    from tripos_compiler.diagnostics.diagnostic import Diagnostic
    from tripos_compiler.plan import Plan
    from tripos_runtime.datasets.data_files import DataFolders
    from tripos_runtime.datasets.trust import Trust
    from tripos_runtime.scheduling.budget import Budget
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.store.store import Store
    from tripos_warehouse.tables.model import Table


# Outcomes
class Styled(str):
    """A line whose colours are ours. In any other line, control characters are escaped."""


class Output(str):
    """A text for another program, printed unchanged and without a line end of ours."""


class Remark(str):
    """A line for standard error."""


class Outcome(NamedTuple):
    """The result of a command. Only the form that the user asked for is made and printed.

    `data` returns the value for `--json`, or a text that is JSON already. `lines` are the text for a terminal.
    `formats` returns the text of other values of `--format`, and `tables` what the formats for papers and pages show.
    A `failure` is printed after the outcome, and its exit code is that of the command.
    """

    data: Callable[[], Any] | None = None
    lines: Iterable[str] = ()
    formats: Mapping[str, Callable[[], str]] = {}
    tables: Callable[[], Sequence[Table]] | None = None
    exit_code: ExitCode = ExitCode.SUCCESS
    failure: TriposError | None = None

    def show(self, form: str, interval: Any = None) -> None:
        """Print the outcome in a form: `text`, `json`, or another value of `--format`. If the reader of standard output
        closes it, as `| head` does, discard the rest."""
        try:
            self._print(form, interval)
            sys.stdout.flush()
        except BrokenPipeError:
            discard_output(sys.stdout)

    def _print(self, form: str, interval: Any) -> None:
        if form in JSON_FORMATS:
            if self.data is not None:
                show_json(json_text(self.data()))
        elif form in self.formats:
            show_output(self.formats[form]())
        elif self.tables is not None and form in PAPER_FORMATS:
            from tripos.terminal import table_width
            from tripos_warehouse.tables.render import RENDERERS, RenderOptions

            show_text(RENDERERS[form](self.tables(), RenderOptions(interval or "ci", table_width())), end="")
        else:
            for line in list(self.lines):  # all of them first: an error leaves no half of a text
                if isinstance(line, Output):
                    show_output(line)
                elif isinstance(line, Remark):
                    print_stderr(line)
                else:
                    show_text(line, styled=isinstance(line, Styled))


def json_text(data: Any) -> str:
    """Return a value as indented JSON, in which an infinite number is null. A text is returned as it is."""
    if isinstance(data, str):
        return data
    try:
        return json.dumps(data, ensure_ascii=False, indent=2, default=_plain, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(data), ensure_ascii=False, indent=2, default=_plain)


def _finite(value: Any) -> Any:
    """Return a value with null in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_finite, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """Return a value that JSON lacks, such as a time, as text."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


JSON_FORMATS = ("json", "sarif")
"""Formats that are JSON."""
PAPER_FORMATS = ("md", "latex", "html")
"""Formats for people, in which a value is followed by its interval."""


def output_format(options: Namespace) -> str:
    """Return the output format. Raises `TriposError` R0202 if `--json` or `--interval` does not apply to it."""
    form = str(getattr(options, "format", None) or "text")
    if JSON.of(options) and form not in ("text", "table", "json"):
        raise TriposError("R0202", f"`{JSON}` and `{FORMAT} {form}` exclude each other", "give one of them")
    form = "json" if JSON.of(options) else form
    if INTERVAL.of(options) is not None and form not in PAPER_FORMATS:
        message = f"`{INTERVAL}` has no use with `{FORMAT} {form}`"
        raise TriposError(
            "R0202", message, f"it is for {', '.join(PAPER_FORMATS)}; csv and json have both ends of an interval"
        )
    return form


# Contexts
MOST_SHOWN = 4
"""The maximum number of places that a warning names. The rest are counted."""
COMMITTED_DAMAGE = ("S0103", "S0402")
"""Codes of damage that removes committed rows, so that figures lack them."""


class InvalidSpec(Exception):
    """A spec has errors, whose diagnostics were printed. The command ends with the exit code for wrong usage."""


class Context:
    """The inputs of one command: its options, settings, stores and specs."""

    def __init__(self, options: Namespace, arguments: Sequence[str] = ()) -> None:
        self.options = options
        self.arguments = tuple(arguments)
        """The command as typed, without `tripos`."""
        self.is_shown = False
        """True once an outcome was printed, which must not be printed again."""
        self._read: list[Store] = []
        self._written: list[Store] = []
        self._damage: list[StoreError] = []

    budget: Budget | None = None
    """A budget that earlier runs of this process have spent from; None for that of the settings."""

    def check_models(self, names: Iterable[str]) -> None:
        """Raise `TriposError` for a model that this command may not ask. A command in a terminal may ask any."""

    @property
    def trust(self) -> Trust:
        """The trust in the benchmark."""
        return trust_of(self.options)

    @cached_property
    def form(self) -> str:
        """The form of the outcome: `text`, `json`, or another value of `--format`."""
        return output_format(self.options)

    def show(self, outcome: Outcome) -> ExitCode:
        """Print an outcome, and return the exit code: that of the outcome, or `SOME_FAILED` for a success whose answer
        lacks committed rows of a damaged store. Raises the failure of the outcome."""
        outcome.show(self.form, INTERVAL.of(self.options))
        self.is_shown = True
        if outcome.failure is not None:
            raise outcome.failure
        lacks_rows = any(error.code in COMMITTED_DAMAGE for error in self._damage)
        return ExitCode.SOME_FAILED if outcome.exit_code == ExitCode.SUCCESS and lacks_rows else outcome.exit_code

    # Languages
    def read_in(self, plans: Iterable[Plan]) -> None:
        """Show titles in the language of `--language`, which Tripos or one of the plans must have. Raises
        `TriposError`."""
        from tripos_compiler.diagnostics.i18n import choose_language
        from tripos_warehouse.views.dimensions import reader_language_in

        if (wanted := LANGUAGE.of(self.options)) is not None:
            choose_language(reader_language_in(wanted, plans))

    # Settings
    @cached_property
    def settings(self) -> ChosenSettings:
        """The effective settings, with `.env` and the options of the command. Warn on standard error of unknown
        variables that look like ours. Raises `TriposError`."""
        from tripos.settings.env_file import UNKNOWN_VARIABLE
        from tripos.settings.load import chosen_settings

        chosen = chosen_settings(self.options)
        for message, hint in chosen.warnings:
            show_diagnostic("warning", UNKNOWN_VARIABLE, message, hint)
        return chosen

    @property
    def config(self) -> Config:
        """The values of the effective settings. Raises `TriposError`."""
        return self.settings.config

    @cached_property
    def project_config(self) -> Config:
        """The settings of a command that makes no calls: without `.env` and options. Raises `TriposError`."""
        from tripos.settings.load import load_config

        return load_config(Path.cwd(), trust=self.trust)

    @property
    def request(self) -> RunRequest:
        """The models and cases that the options name. Raises `TriposError`."""
        from tripos.runs.selection import request_of

        return request_of(self.options)

    def denied(self, config: Config) -> dict[str, str]:
        """Return the codes of warnings that count as errors, each with what denies it. Raises `TriposError`."""
        from tripos.settings.config import chosen_denials

        return chosen_denials(self.options, config)

    def warn(self, warning: RunWarning | None) -> None:
        """Print a warning about a run, if there is one. Raises `TriposError` if it is denied."""
        from tripos.runs.preparation import check_denied

        if warning is None:
            return
        check_denied(warning, self.denied(self.config))
        places = list(warning.places[:MOST_SHOWN])
        if len(warning.places) > MOST_SHOWN:
            places.append(f"and {len(warning.places) - MOST_SHOWN:,} more")
        show_diagnostic("warning", warning.code, warning.message, warning.hint, places)

    # Specs
    def source(self, path: str, config: Config | None = None) -> SpecSource:
        """Return the spec at a path, to be compiled. Raises `TriposError`."""
        from tripos.releases.network_policy import policy_of
        from tripos.runs.compilation import find_spec

        options, config = self.options, config or self.config
        reach = policy_of(options)
        return find_spec(
            path,
            options.data,
            config.data,
            (*RELEASES.of(options), *config.releases),
            replace(reach, local_files=False) if RunParameters.fetch.of(options) else None,
            allow_outside=ALLOW_OUTSIDE.of(options),
            trust=self.trust,
            reach=reach,
        )

    def compile(self, path: str, config: Config | None = None) -> tuple[Compilation, DataFolders]:
        """Compile a spec and print its diagnostics. Return the compilation and its data folders. Raises
        `TriposError`."""
        config = config or self.config
        spec = self.source(path, config)
        compilation = spec.compile(self.denied(config))
        show_diagnostics(compilation.diagnostics)
        return compilation, spec.folders

    def compiled(self, path: str, config: Config | None = None) -> CompiledSpec:
        """Compile a spec and print its diagnostics. Raises `InvalidSpec` if it has errors, and `TriposError`."""
        from tripos.runs.compilation import CompiledSpec
        from tripos_compiler.diagnostics.renderers import summary

        compilation, folders = self.compile(path, config)
        if compilation.plan is None:
            print_stderr(summary(compilation.diagnostics))
            raise InvalidSpec(path)
        return CompiledSpec(path, compilation, compilation.plan, folders)

    def earlier_spec(self, path: str, config: Config) -> CompiledSpec:
        """Compile one of several versions of a benchmark, a spec or a release, without printing diagnostics. Raises
        `TriposError`."""
        from tripos.runs.compilation import CompiledSpec, describe_errors

        source = self.source(path, config)
        compilation = source.compile()
        if compilation.plan is None:
            raise TriposError(*describe_errors(path, compilation.diagnostics))
        return CompiledSpec(path, compilation, compilation.plan, source.folders)

    def earlier_plan(self, path: str, config: Config) -> Plan:
        """Return the plan of an earlier version: of a spec, a release, or the output of `tripos plan --json`. Raises
        `TriposError`."""
        if not path.endswith(".json"):
            return self.earlier_spec(path, config).plan
        from tripos.files import read_untrusted
        from tripos_compiler.plan import Plan

        try:
            return Plan.model_validate_json(read_untrusted(Path(path)))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no plan of this version of Tripos"
            hint = f"give a spec, or what `tripos plan {JSON}` printed"
            raise TriposError("E0108", f"cannot read `{path}`: {reason}", hint) from error

    # Stores
    def store(self, *, writes: bool = False, on_bucket: bool = True) -> Store:
        """Return the store of `--store`, of the settings, or `results`.

        Report damaged parts on standard error and skip them. A store that the command writes to must be undamaged.
        Raises `TriposError` if there is no store, and S0113 for a store on a bucket if `on_bucket` is false.
        """
        from tripos_warehouse.store.paths import address_of
        from tripos_warehouse.store.store import Store

        root = self.config.store
        if not on_bucket and address_of(root):
            hint = f"use a store in a folder, with {STORE}"
            raise TriposError("S0113", f"this command does not write to a store on a bucket yet: `{root}`", hint)
        if not writes:
            place = address_of(root) or str(Path(root).expanduser().resolve())
            for store in self._read:
                if store.place == place:
                    return store
        store = Store.open(root, create=False, on_damage=self._report_damage, tolerant=not writes)
        (self._written if writes else self._read).append(store)
        return store

    def found_damage(self) -> bool:
        """Check the stores that this command reads, and return true if rows are damaged. The command then skips these
        rows."""
        damaged = [store.sweep() for store in self._read]  # every store, also after a damaged one
        return any(damaged)

    def first_damage(self) -> StoreError | None:
        """Return the first damage in a store of the command: a possible reason of an unforeseen failure. A command with
        `--store` that opened none through its context, such as a run, has the store of its settings."""
        stores = [*self._read, *self._written]
        if not stores and hasattr(self.options, STORE.name):
            from tripos_warehouse.store.store import Store

            with contextlib.suppress(TriposError):
                stores = [Store.open(self.config.store, create=False, tolerant=True, writes=False)]
        return next(filter(None, (store.first_damage() for store in stores)), None)

    def _report_damage(self, error: StoreError) -> None:
        """Print damage of a store, and remember it for the exit code."""
        from tripos_compiler.diagnostics.i18n import localized

        message = f"{localized(error.message)}{localized(': ')}{localized('what it held is left out')}"
        show_diagnostic("error", error.code, message, error.hint)
        self._damage.append(error)


def with_mock_models(request: RunRequest, chosen: ChosenSettings, spec: CompiledSpec) -> ChosenSettings:
    """Return the settings with mock models for a benchmark that comes with Tripos, if no model is given. They come from
    the `tripos.toml` beside its main file. A message says so."""
    from tripos.runs.compilation import is_shipped
    from tripos.runs.selection import names_any_model
    from tripos.settings.config import SETTINGS_FILE
    from tripos.settings.load import load_config

    folder = spec.main.parent
    if names_any_model(request, chosen.config) or not is_shipped(folder):
        return chosen
    if not (folder / SETTINGS_FILE).is_file():
        return chosen
    config = load_config(folder, environ={})
    show_message(f"no model is given: mock models reply; name real ones with {MODEL}", stderr=True)
    return replace(chosen, config=chosen.config.model_copy(update={"models": config.models, "roles": config.roles}))


def show_diagnostics(diagnostics: Iterable[Diagnostic], *, every: bool = False) -> None:
    """Print diagnostics on standard error: the first hundred, or all with `every`."""
    from tripos.settings.options import CheckParameters
    from tripos_compiler.diagnostics.renderers import MAX_SHOWN, render_text

    most, others = None if every else MAX_SHOWN, f": `tripos check {CheckParameters.all}` shows them"
    text = render_text(diagnostics, color=is_colored(sys.stderr), width=terminal_width(), most=most, others=others)
    if text:
        show_text(text, stderr=True, styled=True)
