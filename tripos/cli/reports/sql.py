"""`tripos sql`: DuckDB over the store; a shell without a query."""

from __future__ import annotations

from argparse import Namespace

from tripos.cli.reports.sql_fastpath import quick_answer
from tripos.failure import GOOD, Failure


def main(options: Namespace) -> int:
    """Answers one query, or every query of a shell. Exit code 2 where nobody types them and one of them fails."""
    if quick_answer(options):
        return GOOD
    from tripos.cli.inputs import open_store
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.views.views import connect, connect_run, snippet

    store = open_store(options)
    try:
        if options.snippet or options.duckdb is not None:
            from tripos.cli.reports.sql_snippet import print_snippet, write_database

            statements = snippet(store)
            return print_snippet(statements) if options.duckdb is None else write_database(statements, options.duckdb)
        connection = connect_run(store, options.run, macros=True)[0] if options.run else connect(store)
        if options.query is None:
            from tripos.cli.reports.sql_shell import Shell

            return Shell(connection, options.output).run()
        from tripos.cli.reports.sql_shell import show_answer

        show_answer(connection, options.query, options.output)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return GOOD
