"""`tripos sql`: DuckDB over the store, a shell without a query, and its views for a DuckDB without Tripos."""

from __future__ import annotations

import os
import uuid
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tripos.ui import GOOD, Failure, show_json, show_message, show_output, show_text, table_width
from tripos_warehouse.query import Connection
from tripos_warehouse.store import address_of

HEAD = """\
-- The views and macros of a Tripos store, for DuckDB {version} or later: paste it, or `duckdb -init FILE`.
-- It names the files that are committed now; make it again after a run.
-- Afterwards: show all tables; from {benchmark}.means();"""


def print_snippet(statements: Sequence[str]) -> int:
    """Print the statements, each ended by `;`."""
    show_text(snippet_text(statements))
    return GOOD


def snippet_text(statements: Sequence[str]) -> str:
    """Return the statements as a file, with a head that says what it is."""
    import duckdb

    schemas = [
        each.removeprefix("create schema if not exists ") for each in statements if each.startswith("create sch")
    ]
    version = ".".join(duckdb.__version__.split(".")[:2])
    head = HEAD.format(version=version, benchmark=schemas[1] if len(schemas) > 1 else "BENCHMARK")
    return "\n".join([head, *(f"{statement.strip()};" for statement in statements)])


def write_database(statements: Sequence[str], path: str) -> int:
    """Write a database that has them; it appears whole or not at all. Raises `Failure` S0206 where there is a file of
    the name already that is none of ours, S0102 where the disk refuses."""
    import duckdb

    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    if target.exists() and not _is_ours(target):
        raise Failure("S0206", f"`{target}` is there already and was not made by `--duckdb`", "choose another name")
    try:
        with duckdb.connect(str(temporary)) as database:
            for statement in statements:
                database.execute(statement)
        temporary.replace(target)
    except (OSError, duckdb.IOException) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise Failure("S0102", f"cannot write `{target}`: {reason}", "write it somewhere else") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    show_message(f"{target} has the views and macros; the data stay in the store")
    return GOOD


def _is_ours(path: Path) -> bool:
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True) as database:
            found = database.execute("select 1 from duckdb_schemas() where schema_name = 'tripos internal'").fetchall()
            return bool(found)
    except duckdb.Error:
        return False


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
        or any((options.json, options.run, options.output, options.snippet, options.duckdb))
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
            statements = snippet(store)
            return print_snippet(statements) if options.duckdb is None else write_database(statements, options.duckdb)
        connection = connect_run(store, options.run)[0] if options.run else connect(store)
        if options.format != "text" or options.json:
            _show_formatted(connection, options)
            return GOOD
        if options.query is None:
            from tripos.cli.reports.sql_shell import SqlShell

            return SqlShell(connection, options.output).run()
        from tripos.cli.reports.sql_shell import show_answer

        show_answer(connection, options.query, options.output)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return GOOD


def _show_formatted(connection: Connection, options: Namespace) -> None:
    """Print the whole answer of a query in the format that is wanted."""
    from tripos.ui import chosen_format, show_tables
    from tripos_warehouse.formats import answer_table
    from tripos_warehouse.query import encode_answer, run_query

    form = chosen_format(options)
    if options.output is not None:  # the ending of the file says its format
        raise Failure("R0202", f"`--output` has no use with `--format {form}`", "leave one of them out")
    if options.query is None:
        raise Failure("R0202", f"`--format {form}` prints the answer of one query", "write the query: tripos sql QUERY")
    answer = run_query(connection, options.query)
    if form == "json":
        show_json(encode_answer(answer, form))
    elif form == "csv":
        show_output(encode_answer(answer, form))
    else:
        show_tables([answer_table(answer)], form, options)
