"""Results of queries: tables from read-only queries, their files, and relations that only read.

The sandbox keeps SQL from other files, but must allow DuckDB the store's own files, which it could then write. So the
permitted methods of relations are listed, and methods of later DuckDB versions are refused until they are. This
prevents accidents and foreign SQL; a user who can run Python can write files without DuckDB.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos_compiler.files import write_atomically
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.statements import statements_of, translate_errors
from tripos_warehouse.tables.text import values_of

if TYPE_CHECKING:
    import duckdb


def run_query(connection: Connection, sql: str) -> pa.Table:
    """Return the result table of a query; of several statements, that of the last.

    Raises `StoreError` S0203 for a statement that could do more than read, and what `translate_errors` raises.

    >>> import duckdb
    >>> run_query(duckdb.connect(), "select 1 as one").to_pylist()
    [{'one': 1}]
    """
    answer = pa.table({})
    for statement in statements_of(connection, sql):
        answer = translate_errors(connection, partial(_table, connection, statement.query))
    return answer


def query_rows(connection: Connection, sql: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the column names and the rows of a query, with the values of `run_query`. It needs neither Arrow nor
    relations, and is meant for few rows. Raises what `run_query` raises.

    >>> import duckdb
    >>> query_rows(duckdb.connect(), "select 1 as one, 'a' as letter")
    (['one', 'letter'], [{'one': 1, 'letter': 'a'}])
    """
    answer: tuple[list[str], list[dict[str, Any]]] = [], []
    for statement in statements_of(connection, sql):
        answer = translate_errors(connection, partial(_rows, connection, statement))
    return answer


def _rows(connection: Connection, query: duckdb.Statement) -> tuple[list[str], list[dict[str, Any]]]:
    found = connection.execute(query)  # the statement, not its text, which would be parsed once more
    columns = [name for name, *_ in found.description or ()]
    huge = [name for name, kind, *_ in found.description or () if str(kind) in _HUGE]
    rows = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    for row in rows:
        row |= {name: None if row[name] is None else Decimal(row[name]) for name in huge}
    return columns, rows


_HUGE = ("HUGEINT", "UHUGEINT")
"""Integer types that Arrow represents as decimals."""


def _table(connection: Connection, query: str) -> pa.Table:
    relation = connection.sql(query)
    return pa.table({}) if relation is None else _plain_texts(relation.to_arrow_table())


def _plain_texts(table: pa.Table) -> pa.Table:
    """Return the table with texts in place of enumerations, which Arrow has as dictionary-encoded columns."""
    plain = [
        pa.field(field.name, pa.string()) if pa.types.is_dictionary(field.type) else field for field in table.schema
    ]
    return table if pa.schema(plain).equals(table.schema) else table.cast(pa.schema(plain))


def write_answer(table: pa.Table, path: str | Path) -> None:
    """Write `table` to `path` in the format of its extension: `.csv`, `.parquet`, `.json` (one array) or `.jsonl`.

    The file appears whole or not at all. Raises `StoreError`: S0202 for another extension, S0102 if the disk refuses.
    """
    target = Path(path)
    if (form := _FORMS.get(target.suffix.lower())) is None:
        forms = ", ".join(f"`{each}`" for each in _FORMS)
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
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches():
        for row in zip(*(values_of(column, maps=None) for column in batch.columns), strict=True):
            writer.writerow([export_cell(value) for value in row])
    return text.getvalue().encode()


RISKY = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a text that a spreadsheet may read as a formula when it opens a CSV file (OWASP, CSV injection)."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def export_cell(value: Any) -> Any:
    """Return a value as a CSV cell that no spreadsheet reads as a formula: a text that begins like one is prefixed with
    an apostrophe; a number is not.

    >>> export_cell("=1+1"), export_cell("-5"), export_cell("- one"), export_cell(-5), export_cell(None)
    ("'=1+1", '-5', "'- one", -5, '')
    """
    written = cell(value)
    if not isinstance(written, str):
        return written
    marked = f"'{written}" if written.startswith(RISKY) and not _NUMBER.fullmatch(written) else written
    # Before Python 3.13 a carriage return is not quoted, so the rest of the text would begin a new row.
    return marked.replace("\r\n", "\n").replace("\r", "\n") if "\r" in marked else marked


def cell(value: Any) -> Any:
    """Return a value as a CSV cell: empty for null, `true` and `false`, and JSON for a nested value.

    >>> cell(None), cell(True), cell(["a"]), cell(1.5)
    ('', 'true', '["a"]', 1.5)
    """
    if isinstance(value, dict | list):
        return _json_text(value)
    return {None: "", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else value


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        told = str(error).splitlines()[0]
        raise StoreError("S0202", f"Parquet cannot hold the answer: {told}", "cast the column to varchar") from error
    return sink.getvalue()


def _json(table: pa.Table) -> bytes:
    lines = [_json_text(row) for row in _records(table)]
    return ("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n").encode()


def _jsonl(table: pa.Table) -> bytes:
    return "".join(_json_text(row) + "\n" for row in _records(table)).encode()


def _records(table: pa.Table) -> list[dict[str, Any]]:
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _json_text(value: Any) -> str:
    options = orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z
    return orjson.dumps(value, default=_json_number, option=options).decode()


def _json_number(value: Any) -> Any:
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    return str(value)


_FORMS: dict[str, Callable[[pa.Table], bytes]] = {".csv": _csv, ".parquet": _parquet, ".json": _json, ".jsonl": _jsonl}
