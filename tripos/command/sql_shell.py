"""The shell of `tripos sql`: queries over several lines, completion, history, and commands that begin with a dot."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import duckdb

from tripos.command.sql_completion import Completer
from tripos.failure import GOOD, USAGE
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.statements import names_of

PROMPT, MORE = "tripos> ", "   ...> "
WELCOME = "end a query with `;`, leave with `exit` or Ctrl-D; `.help` lists the commands, Tab completes names"
HELP = """\
.tables          every table and macro that can be asked
.schema NAME     the columns and types of a table, or the parameters of a macro
.help            this text
exit             leave; so does Ctrl-D, and Ctrl-C drops what is being typed
query;           DuckDB SQL over as many lines as it takes, up to `;`"""
HISTORY_LINES = 2_000


class Shell:
    """Reads queries and answers them, from a terminal or from a file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, output: str | None) -> None:
        self.connection = connection
        self.output = output
        self.names = names_of(connection)

    def run(self) -> int:
        """Answers until the end. Exit code 2 where nobody types the queries and one could not be answered."""
        interactive = sys.stdin.isatty()
        if interactive:
            _prepare_terminal(Completer(self.names))
            print(WELCOME)
        waiting: list[str] = []
        failed = False
        while True:
            try:
                line = input((MORE if waiting else PROMPT) if interactive else "")
            except EOFError:
                break
            except KeyboardInterrupt:
                if not interactive:
                    raise
                print()
                waiting = []
                continue
            if not waiting and line.strip().casefold().rstrip(";") in ("exit", "quit", ".exit", ".quit"):
                break
            if not waiting and line.lstrip().startswith("."):
                failed |= not self._try(partial(self._command, line.split()))
                continue
            waiting.append(line)
            if line.rstrip().endswith(";"):
                failed |= not self._answer("\n".join(waiting))
                waiting = []
        if "".join(waiting).strip():
            failed |= not self._answer("\n".join(waiting))
        # Whoever types sees each mistake and mends it; a script would not know.
        return USAGE if failed and not interactive else GOOD

    def _answer(self, query: str) -> bool:
        if query.strip().rstrip(";").strip().casefold() == "help":  # no query of SQL is that
            print(HELP)
            return True
        return self._try(lambda: show_answer(self.connection, query, self.output))

    def _try(self, do: Callable[[], None]) -> bool:
        """Whether it went well; the shell goes on in any case."""
        try:
            do()
        except StoreError as error:
            print(f"error[{error.code}]: {error.message}", file=sys.stderr)
            if error.hint:
                print(f"  = help: {error.hint}", file=sys.stderr)
            return False
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return False
        return True

    def _command(self, words: list[str]) -> None:
        match words:
            case [".help"]:
                print(HELP)
            case [".tables"]:
                print("\n".join(sorted(self.names)))
            case [".schema", name]:
                self._schema(name.rstrip(";").removesuffix("()"))
            case [".schema"]:
                raise StoreError("W0207", "`.schema` needs a name", "such as `.schema samples`; `.tables` lists them")
            case _:
                raise StoreError("W0207", f"no command `{words[0]}`", "`.help` lists the commands")

    def _schema(self, name: str) -> None:
        if f"{name}()" in self.names:
            print(f"{name}({', '.join(self.names[f'{name}()'])})")
            return
        show_answer(self.connection, f"select column_name, column_type from (describe {name})", None)


def _prepare_terminal(completer: Completer) -> None:
    """Arrows, history and completion, where this Python has readline."""
    try:
        import atexit
        import readline
    except ImportError:  # Windows
        return
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tripos"
    history = state / "sql_history"
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(HISTORY_LINES)

    def keep() -> None:
        with suppress(OSError):
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.write_history_file(history)

    atexit.register(keep)
    found: list[str] = []

    def complete(text: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            found = completer.complete(readline.get_line_buffer()[: readline.get_endidx()])
        return found[number] if number < len(found) else None

    # A name with a point is one word, and a quote begins one.
    readline.set_completer_delims(" \t\n,;()=<>+-*/|")
    readline.set_completer(complete)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")


def show_answer(connection: duckdb.DuckDBPyConnection, query: str, output: str | None) -> None:
    """Prints what a query gives, or writes it to `output`. Raises `StoreError`."""
    from tripos.command.terminal import columns
    from tripos_warehouse.query.answers import render_table, run_query, write_answer

    table = run_query(connection, query)
    if output is None:
        print(render_table(table, columns()))
    else:
        write_answer(table, output)
        print(f"{table.num_rows:,} row{'' if table.num_rows == 1 else 's'} written to {output}", file=sys.stderr)
