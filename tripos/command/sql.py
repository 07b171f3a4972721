"""`tripos sql`: DuckDB over the store; a shell without a query."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace

import duckdb

from tripos.command.opening import open_store
from tripos.failure import GOOD, USAGE, Failure
from tripos_warehouse.answers import render_table, run_query, write_answer
from tripos_warehouse.errors import StoreError
from tripos_warehouse.views import connect, connect_run

PROMPT, MORE = "tripos> ", "   ...> "
HELP = "end a query with `;`, leave with `exit` or Ctrl-D; `show all tables;` lists what there is"


def main(options: Namespace) -> int:
    """Answers one query, or every query of a shell. Exit code 2 where one could not be answered and nobody types."""
    store = open_store(options)
    try:
        connection = connect_run(store, options.run)[0] if options.run else connect(store)
        if options.query is None:
            return _shell(connection, options.output)
        _answer(connection, options.query, options.output)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return GOOD


def _answer(connection: duckdb.DuckDBPyConnection, query: str, output: str | None) -> None:
    table = run_query(connection, query)
    if output is None:
        print(render_table(table, shutil.get_terminal_size((80, 24)).columns))
    else:
        write_answer(table, output)
        print(f"{table.num_rows:,} rows written to {output}", file=sys.stderr)


def _shell(connection: duckdb.DuckDBPyConnection, output: str | None) -> int:
    interactive = sys.stdin.isatty()
    if interactive:
        import readline  # noqa: F401 - arrows and history in `input`

        print(HELP)
    waiting: list[str] = []
    failed = False
    while True:
        try:
            line = input((MORE if waiting else PROMPT) if interactive else "")
        except EOFError:
            break
        if not waiting and line.strip().casefold().rstrip(";") in ("exit", "quit"):
            break
        waiting.append(line)
        if line.rstrip().endswith(";"):
            failed |= not _try(connection, "\n".join(waiting), output)
            waiting = []
    if "".join(waiting).strip():
        failed |= not _try(connection, "\n".join(waiting), output)
    # Whoever types sees each mistake and mends it; a script would not know.
    return USAGE if failed and not interactive else GOOD


def _try(connection: duckdb.DuckDBPyConnection, query: str, output: str | None) -> bool:
    """Whether the query was answered; the shell goes on in any case."""
    try:
        _answer(connection, query, output)
    except StoreError as error:
        print(f"error[{error.code}]: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  = help: {error.hint}", file=sys.stderr)
        return False
    return True
