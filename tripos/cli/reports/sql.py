"""`tripos sql`: DuckDB over the store; a shell without a query."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from tripos.failure import GOOD, Failure
from tripos.ui import show_json, show_output, show_text, table_width
from tripos_warehouse.query import Connection
from tripos_warehouse.store import address_of

MAX_ROWS = 40
MOST_ROWS = 2_000
"""More are counted faster in Arrow, which need not make a Python value of each."""
SETTINGS = ("tripos.toml", ".env")
PREFIX = "TRIPOS_"
LANGUAGES = (("TRIPOS_LANG", "en"), ("TRIPOS_LANG", "zh"))
"""Variables that are right as they are, and tell nothing of a store."""


def quick_answer(options: Namespace) -> bool:
    """Return true if the query was answered."""
    if (
        options.query is None
        or options.format != "text"
        or any((options.run, options.output, options.snippet, options.duckdb))
    ):
        return False
    root = _store_of(options)
    if root is None or _has_left_over(root):
        return False
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.formats import UNBOUNDED, render_columns
    from tripos_warehouse.query import duckdb, statements_of
    from tripos_warehouse.views import connect_kept

    try:
        connection = connect_kept(root)
        if connection is None:
            return False
        try:
            names: list[str] = []
            rows: list[tuple[object, ...]] = []
            for statement in statements_of(connection, options.query):
                answer = connection.execute(statement.query)
                names = [column[0] for column in answer.description or ()]
                rows = answer.fetchmany(MOST_ROWS + 1)
        finally:
            connection.close()
    except (duckdb.Error, StoreError):
        return False
    if len(rows) > MOST_ROWS:
        return False
    width = table_width()
    most = MAX_ROWS if width < UNBOUNDED else len(rows)
    shown = [[row[place] for row in rows[:most]] for place in range(len(names))]
    show_text(render_columns(names, shown, len(rows), width))
    return True


def _store_of(options: Namespace) -> Path | None:
    """Return the folder of the store; `None` where it is not plain which one that is, since there are settings."""
    here = Path.cwd()
    set_ = any(name.startswith(PREFIX) and (name, value) not in LANGUAGES for name, value in os.environ.items())
    if address_of(options.store or ""):
        return None
    if options.profile or set_ or any((each / name).exists() for each in (here, *here.parents) for name in SETTINGS):
        from tripos.settings import chosen_settings

        return Path(chosen_settings(options).config.store).expanduser().resolve()
    return Path(options.store or "results").expanduser().resolve()


def _has_left_over(root: Path) -> bool:
    """Return true if a process may have died with something that is to be committed first."""
    try:
        return any(path.suffix == ".jsonl" for path in (root / "journal").iterdir())
    except OSError:
        return False


def main(options: Namespace) -> int:
    """Answer one query, or every query of a shell. Exit code 2 where nobody types them and one of them fails."""
    if quick_answer(options):
        return GOOD
    from tripos.cli.inputs import open_store
    from tripos_warehouse.errors import StoreError
    from tripos_warehouse.views import connect, connect_run, snippet

    store = open_store(options)
    try:
        if options.snippet or options.duckdb is not None:
            from tripos.cli.reports.sql_snippet import print_snippet, write_database

            statements = snippet(store)
            return print_snippet(statements) if options.duckdb is None else write_database(statements, options.duckdb)
        connection = connect_run(store, options.run)[0] if options.run else connect(store)
        if options.format != "text":
            _show_formatted(connection, options)
            return GOOD
        if options.query is None:
            from tripos.cli.reports.sql_shell import Shell

            return Shell(connection, options.output).run()
        from tripos.cli.reports.sql_shell import show_answer

        show_answer(connection, options.query, options.output)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return GOOD


def _show_formatted(connection: Connection, options: Namespace) -> None:
    """Print the whole answer of a query in the format that is wanted."""
    from tripos.cli.reports.formats import chosen_format, show_tables
    from tripos_warehouse.formats import answer_table
    from tripos_warehouse.query import encode_answer, run_query

    form = chosen_format(options, text_only={"--output": options.output is not None})
    if options.query is None:
        raise Failure("R0202", f"`--format {form}` prints the answer of one query", "write the query: tripos sql QUERY")
    answer = run_query(connection, options.query)
    if form == "json":
        show_json(encode_answer(answer, form))
    elif form == "csv":
        show_output(encode_answer(answer, form))
    else:
        show_tables([answer_table(answer)], form, options)
