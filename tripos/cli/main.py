"""The entry point of the `tripos` command: runs one command and turns what it raises into an exit code.

Starting must be fast, so heavy modules are imported only by the commands that need them.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import ENAMETOOLONG
from types import ModuleType
from typing import TYPE_CHECKING

from tripos.cli.parser import COMMANDS, Command, build_parser, show_failure
from tripos.errors import disk_failure, is_interrupt
from tripos.settings.environment import check_language
from tripos.settings.options import UNTRUSTED
from tripos.settings.secrets import key_values, without_keys
from tripos.settings.trust import time_limit, trust_in
from tripos.terminal import replace_unencodable, show_message
from tripos_compiler.diagnostics.i18n import reading_in
from tripos_compiler.errors import ExitCode, TriposError

if TYPE_CHECKING:
    from tripos.cli.context import Context

BUG = "this is a bug of Tripos: please report it with the command you typed and the lines above"

GC_SHORT = (500_000, 20, 50)
"""Thresholds of the garbage collector for imports and commands that only read. They leave no cycles worth collecting,
and one full collection costs `check` 13 ms."""

GC_LONG = (50_000, 20, 50)
"""Thresholds of the garbage collector for commands that may work on a store for long."""

NO_PLUGINS = ModuleType("pydantic.plugin._loader")
"""A module in place of pydantic's plug-in loader that finds no plug-ins. Importing the real one takes 20 ms."""
NO_PLUGINS.get_plugins = tuple  # type: ignore[attr-defined]

READ_ONLY = ("check", "plan", "describe", "diff", "verify")
"""The commands that only read, and may therefore be stopped at any time."""


def run_command(arguments: Sequence[str]) -> ExitCode:
    """Run a command and return its exit code. Errors are printed, and raised only with TRIPOS_DEBUG."""
    try:
        check_language(os.environ)
        first = next((argument for argument in arguments if argument != "--"), "")
        parser = build_parser(first)
        options = parser.parse_args(arguments)
        if options.verb is None:
            parser.print_help()
            return ExitCode.USAGE
        options.trust = trust_in(UNTRUSTED.of(options), os.environ)
        from tripos.cli.context import Context  # not needed for --help

        return run_verb(COMMANDS[options.verb], Context(options, arguments))
    except TriposError as failure:
        show_failure(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        show_message("interrupted", stderr=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.SUCCESS
    except Exception as error:
        if os.environ.get("TRIPOS_DEBUG"):
            raise
        show_bug(error)
        return ExitCode.INTERNAL


def show_bug(error: Exception) -> None:
    """Print an exception that Tripos did not foresee: its place in the code, without a trace and without API keys."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    from tripos_runtime.models.catalog import all_variables

    where = f"{place.tb_frame.f_globals.get('__name__')}:{place.tb_lineno}" if place is not None else "?"
    text = without_keys(f"{type(error).__name__}: {error}", key_values(all_variables()))
    show_message(f"internal error: {text} ({where})", stderr=True)
    show_message(f"  help: {BUG}; TRIPOS_DEBUG=1 shows the whole trace", stderr=True)


def run_verb(command: Command, context: Context) -> ExitCode:
    """Run a command and print its outcome. If it fails because rows of a store are damaged, run it again without
    them."""
    with reading_in(None), refused_long_paths():  # until the command chooses a language
        return _run_verb(command, context)


@contextmanager
def refused_long_paths() -> Iterator[None]:
    """Raise `TriposError` R0202 for a path that is too long for the system, such as a spec in place of its path."""
    try:
        yield
    except OSError as error:
        if error.errno != ENAMETOOLONG:
            raise
        from tripos_compiler.diagnostics.text_format import shorten

        message = f"a path is too long: `{shorten(str(error.filename))}`"
        raise TriposError("R0202", message, "give the path of a file, not its content") from error


def _run_verb(command: Command, context: Context) -> ExitCode:
    from tripos.cli.context import InvalidSpec

    verb, trust = context.options.verb, context.trust
    if verb not in (*READ_ONLY, "run"):  # a run sets its own thresholds while it makes calls
        gc.set_threshold(*GC_LONG)
    function = getattr(importlib.import_module(f"tripos.cli.{command.module}"), command.main)
    try:
        with time_limit(trust.limits.seconds if verb in READ_ONLY else None):
            context.form  # noqa: B018 - options that exclude each other are refused before any work
            return context.show(function(context))
    except InvalidSpec:
        return ExitCode.USAGE
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if (full := disk_failure(error)) is not None:
            raise full from error
        damaged = ("S0103",) if verb == "sql" else ("S0103", "S0201")  # S0201: maybe a bad query
        may_be_damage = not isinstance(error, TriposError) or error.code in damaged
        if may_be_damage and not context.is_shown and context.found_damage():
            return context.show(function(context))
        if not isinstance(error, TriposError) and (damage := context.first_damage()) is not None:
            raise damage from error
        raise


def main() -> None:
    """Run the command of `sys.argv` and end the process. This is the entry point of the `tripos` script."""
    ended: list[int] = []
    atexit.register(_exit_fast, ended)  # registered first, so that it runs last
    gc.set_threshold(*GC_SHORT)
    # Arrow's own pool keeps freed memory, which only makes the process larger.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Otherwise pydantic reads the metadata of every installed package.
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
        sys.modules.setdefault(NO_PLUGINS.__name__, NO_PLUGINS)
    _reexec_in_utf8()
    replace_unencodable()
    ended.append(run_command(sys.argv[1:]))
    sys.exit(ended[0])


def _exit_fast(ended: Sequence[int]) -> None:
    """End the process after all other exit handlers, when threads have ended and files are written.

    Python would destroy every module and object first, which takes a seventh of the time of a short run.
    """
    if not ended or sys.gettrace() is not None or sys.getprofile() is not None:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # let Python report that the output could not be written
    os._exit(ended[0])


def _reexec_in_utf8() -> None:
    """Restart in Python's UTF-8 mode if the locale cannot encode every file name, as with `LC_ALL=C` and that mode off.
    Output keeps the encoding of the locale."""
    if sys.getfilesystemencoding() == "utf-8":
        return
    environ = {"PYTHONIOENCODING": sys.stdout.encoding or "ascii", **os.environ}
    os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environ)
