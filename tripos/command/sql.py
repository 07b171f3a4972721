"""`tripos sql`: DuckDB over the store; a shell without a query."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from tripos.command.quick import quick_answer
from tripos.failure import GOOD, Failure

if TYPE_CHECKING:
    import duckdb


def main(options: Namespace) -> int:
    """Answers one query, or every query of a shell. Exit code 2 where nobody types them and one of them fails."""
    if quick_answer(options):
        return GOOD
    from tripos.command.opening import open_store
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.views import connect, connect_run, snippet

    store = open_store(options)
    try:
        if options.snippet or options.duckdb is not None:
            from tripos.command.sql_elsewhere import print_snippet, write_database

            statements = snippet(store)
            return print_snippet(statements) if options.duckdb is None else write_database(statements, options.duckdb)
        connection = connect_run(store, options.run)[0] if options.run else connect(store)
        if options.query is None:
            from tripos.command.sql_shell import Shell

            return Shell(connection, options.output).run()
        show_answer(connection, options.query, options.output)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return GOOD


def show_answer(connection: duckdb.DuckDBPyConnection, query: str, output: str | None) -> None:
    """Prints what a query gives, or writes it to `output`. Raises `StoreError`."""
    from tripos.command.terminal import columns
    from tripos_warehouse.answers import render_table, run_query, write_answer

    table = run_query(connection, query)
    if output is None:
        print(render_table(table, columns()))
    else:
        write_answer(table, output)
        print(f"{table.num_rows:,} row{'' if table.num_rows == 1 else 's'} written to {output}", file=sys.stderr)
