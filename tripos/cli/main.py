"""The `tripos` command: its verbs and options. Nothing heavy is imported before a verb needs it."""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from tripos.cli.parser import VERBS, build_parser, show_failure
from tripos.errors import GOOD, INTERRUPTED, SOME_FAILED, USAGE, Failure, disk_failure, is_interrupt
from tripos.settings.environment import check_language
from tripos.settings.secrets import key_values, without_keys
from tripos.settings.trust import time_limit, trust_in
from tripos.terminal import show_message, write_every_character

BUG = "this is a bug of Tripos: please report it with the command you typed and the lines above"

HARDLY = (500_000, 20, 50)
"""Imports leave no cycles worth collecting, nor do verbs that only read and then end: one look at all objects is 13 ms
of a check."""

RARELY = (50_000, 20, 50)
"""The thresholds of verbs that may work for long on what a store has."""

NO_PLUGINS = ModuleType("pydantic.plugin._loader")
"""What finds plug-ins of pydantic where there shall be none: its own takes 20 ms to import what reads metadata."""
NO_PLUGINS.get_plugins = tuple  # type: ignore[attr-defined]

TIMED = ("check", "plan", "describe", "diff", "verify")
"""The verbs that only read, which may be stopped at any time."""


def run_command(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. Never raises for a mistake of the user's."""
    try:
        check_language(os.environ)
        first = next((each for each in arguments if each != "--"), "")
        parser = build_parser(first)
        options = parser.parse_args(arguments)
        if options.verb is None:
            parser.print_help()
            return USAGE
        options.trust = trust_in(getattr(options, "untrusted", False), os.environ)
        options.arguments = tuple(arguments)
        verb = VERBS[options.verb]
        return _main(getattr(importlib.import_module(f"tripos.cli.{verb.module}"), verb.main), options)
    except Failure as failure:
        show_failure(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        show_message("interrupted", stderr=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except Exception as error:
        if os.environ.get("TRIPOS_DEBUG"):
            raise
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        from tripos_runtime.models.catalog import every_variable

        where = f"{place.tb_frame.f_globals.get('__name__')}:{place.tb_lineno}" if place is not None else "?"
        shown = without_keys(f"{type(error).__name__}: {error}", key_values(every_variable()))
        show_message(f"internal error: {shown} ({where})", stderr=True)
        show_message(f"  help: {BUG}; TRIPOS_DEBUG=1 shows the whole trace", stderr=True)
        return 70


def _main(verb: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a verb. One that fails over rows of a store that are not sound is run again without them."""
    # A store that an earlier command of this process had open is no reason for a failure of this one.
    if "tripos_warehouse.store.store" in sys.modules:
        sys.modules["tripos_warehouse.store.store"].forget_opened()
    if options.verb not in (*TIMED, "run"):  # a run sets its own while it asks
        gc.set_threshold(*RARELY)
    try:
        with time_limit(options.trust.limits.seconds if options.verb in TIMED else None):
            return _ended(int(verb(options)))
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if (full := disk_failure(error)) is not None:
            raise full from error
        inputs = sys.modules.get("tripos.cli.context")
        damaged = ("S0103",) if options.verb == "sql" else ("S0103", "S0201")  # in SQL a person makes mistakes
        if inputs is not None and (not isinstance(error, Failure) or error.code in damaged) and inputs.found_damage():
            return _ended(int(verb(options)))
        stores = None if isinstance(error, Failure) else sys.modules.get("tripos_warehouse.store.store")
        if stores is not None and (damage := stores.damage_of_opened()) is not None:
            raise Failure(damage.code, damage.message, damage.hint) from error
        raise
    finally:
        if "tripos.cli.context" in sys.modules:
            sys.modules["tripos.cli.context"].forget()


def _ended(code: int) -> int:
    """Return the exit code of a command: an answer without rows that a store had committed is no success."""
    inputs = sys.modules.get("tripos.cli.context")
    return SOME_FAILED if code == GOOD and inputs is not None and inputs.left_out() else code


def main() -> None:
    """The entry point of the `tripos` script. Ends the process."""
    ended: list[int] = []
    atexit.register(_leave, ended)  # first, so that it comes last
    gc.set_threshold(*HARDLY)
    # Else Arrow keeps what it has freed, and the process is larger for nothing.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # Else pydantic reads the metadata of every package there is.
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
        sys.modules.setdefault(NO_PLUGINS.__name__, NO_PLUGINS)
    _name_every_file()
    write_every_character()
    ended.append(run_command(sys.argv[1:]))
    sys.exit(ended[0])


def _leave(ended: Sequence[int]) -> None:
    """End the process once a command has ended, and everything that was to happen at the end has: threads are over and
    files written. Python would take apart every module and object, which takes a seventh of the time of a short run."""
    if not ended or sys.gettrace() is not None or sys.getprofile() is not None:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return  # Python says what became of the output
    os._exit(ended[0])


def _name_every_file() -> None:
    """Begin again in Python's UTF-8 mode where its locale has not the characters of every file name, as with `LC_ALL=C`
    and without that mode. What is printed keeps the encoding of the locale."""
    if sys.getfilesystemencoding() == "utf-8":
        return
    environ = {"PYTHONIOENCODING": sys.stdout.encoding or "ascii", **os.environ}
    os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environ)
