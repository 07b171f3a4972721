"""The views and macros of a store for a DuckDB without Tripos: as a text to paste, or as a database file."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import duckdb

from tripos.failure import GOOD, Failure
from tripos.ui import show_message, show_text

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
    schemas = [
        each.removeprefix("create schema if not exists ") for each in statements if each.startswith("create sch")
    ]
    version = ".".join(duckdb.__version__.split(".")[:2])
    head = HEAD.format(version=version, benchmark=schemas[1] if len(schemas) > 1 else "BENCHMARK")
    return "\n".join([head, *(f"{statement.strip()};" for statement in statements)])


def write_database(statements: Sequence[str], path: str) -> int:
    """Write a database that has them; it appears whole or not at all. Raises `Failure` S0206 where there is a file of
    the name already that is none of ours, S0102 where the disk refuses."""
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
    try:
        with duckdb.connect(str(path), read_only=True) as database:
            found = database.execute("select 1 from duckdb_schemas() where schema_name = 'tripos internal'").fetchall()
            return bool(found)
    except duckdb.Error:
        return False
