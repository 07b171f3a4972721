"""Results of read-only queries as Arrow tables or rows, and the files that they are written to."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tripos_compiler.files import write_atomically
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.statements import statements_of, translate_errors
from tripos_warehouse.tables.data import csv_text, json_text
from tripos_warehouse.tables.values import values_of

if TYPE_CHECKING:
    import duckdb


def run_query(connection: Connection, sql: str, most: int | None = None) -> pa.Table:
    """Return the result table of a query, or its first `most` rows; of several statements, that of the last.

    Raises `StoreError` S0203 for a statement that could do more than read, and what `translate_errors` raises.

    >>> import duckdb
    >>> run_query(duckdb.connect(), "select 1 as one").to_pylist()
    [{'one': 1}]
    """
    answer = pa.table({})
    for statement in statements_of(connection, sql):
        answer = translate_errors(connection, partial(_table, connection, statement.query, most))
    return answer


def query_rows(connection: Connection, sql: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the column names and the rows of a query, with the values of `run_query`. It is faster for few rows, since
    nothing is converted to Arrow. Raises what `run_query` raises.

    >>> import duckdb
    >>> query_rows(duckdb.connect(), "select 1 as one, 'a' as letter")
    (['one', 'letter'], [{'one': 1, 'letter': 'a'}])
    """
    answer: tuple[list[str], list[dict[str, Any]]] = [], []
    for statement in statements_of(connection, sql):
        answer = translate_errors(connection, partial(_rows, connection, statement))
    return answer


def _rows(connection: Connection, query: duckdb.Statement) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the column names and the rows of a statement."""
    result = connection.execute(query)  # the statement, not its text, which would be parsed once more
    columns = [name for name, *_ in result.description or ()]
    huge = [name for name, kind, *_ in result.description or () if str(kind) in _HUGE]
    rows = [dict(zip(columns, row, strict=True)) for row in result.fetchall()]
    for row in rows:
        row |= {name: None if row[name] is None else Decimal(row[name]) for name in huge}
    return columns, rows


_HUGE = ("HUGEINT", "UHUGEINT")
"""Integer types that Arrow represents as decimals."""


def _table(connection: Connection, query: str, most: int | None) -> pa.Table:
    """Return the first rows of the result of a statement; an empty table for a statement without one."""
    relation = connection.sql(query)
    if relation is not None and most is not None:
        relation = relation.limit(most)
    return pa.table({}) if relation is None else _plain_texts(relation.to_arrow_table())


def _plain_texts(table: pa.Table) -> pa.Table:
    """Return a table with texts in place of enumerations, which Arrow represents as dictionary-encoded columns."""
    plain = [
        pa.field(field.name, pa.string()) if pa.types.is_dictionary(field.type) else field for field in table.schema
    ]
    return table if pa.schema(plain).equals(table.schema) else table.cast(pa.schema(plain))


def write_answer(table: pa.Table, path: str | Path) -> None:
    """Write `table` to `path` in the format of its extension: `.csv`, `.parquet`, `.json` (one array) or `.jsonl`.

    The file is written atomically. Raises `StoreError`: S0202 for another extension, S0102 if it cannot be written.
    """
    target = Path(path)
    if (form := _FORMS.get(target.suffix.lower())) is None:
        forms = ", ".join(f"`{suffix}`" for suffix in _FORMS)
        raise StoreError("S0202", f"cannot write `{target.suffix or target.name}` files", f"end the name in {forms}")
    content = form(table)
    try:
        write_atomically(target, content, mode=0o644)
    except OSError as error:
        raise StoreError("S0102", f"cannot write `{target}`: {error.strerror}", "write it somewhere else") from error


def encode_answer(table: pa.Table, form: str) -> str:
    """Return `table` as text: `csv`, `json` (one array) or `jsonl`.

    >>> encode_answer(pa.table({"n": [1, 2], "who": ["=a", None]}), "csv")
    "n,who\\n1,'=a\\n2,\\n"
    """
    return _FORMS[f".{form}"](table).decode()


def _csv(table: pa.Table) -> bytes:
    """Return a table as CSV."""
    batches = ([values_of(column, maps=None) for column in batch.columns] for batch in table.to_batches())
    rows = (row for columns in batches for row in zip(*columns, strict=True))
    return csv_text(table.column_names, rows).encode()


def _parquet(table: pa.Table) -> bytes:
    """Return a table as Parquet. Raises `StoreError` S0202 for a type that Parquet does not have."""
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        text = str(error).splitlines()[0]
        raise StoreError("S0202", f"Parquet cannot hold the answer: {text}", "cast the column to varchar") from error
    return sink.getvalue()


def _json(table: pa.Table) -> bytes:
    """Return a table as a JSON array, with one row per line."""
    lines = [json_text(row) for row in _records(table)]
    return ("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n").encode()


def _jsonl(table: pa.Table) -> bytes:
    """Return a table as JSON lines."""
    return "".join(json_text(row) + "\n" for row in _records(table)).encode()


def _records(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries."""
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


_FORMS: dict[str, Callable[[pa.Table], bytes]] = {".csv": _csv, ".parquet": _parquet, ".json": _json, ".jsonl": _jsonl}
