"""Results of queries: tables from read-only queries, their files, and relations that only read.

The sandbox keeps SQL from other files, but must allow DuckDB the store's own files, which it could then write. So the
permitted methods of relations are listed, and methods of later DuckDB versions are refused until they are. This
prevents accidents and foreign SQL; a user who can run Python can write files without DuckDB.
"""

from __future__ import annotations

import csv
import functools
import io
import os
import re
import tempfile
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.statements import statements_of, translate_errors
from tripos_warehouse.tables.markup import to_html, to_markdown
from tripos_warehouse.tables.model import answer_table
from tripos_warehouse.tables.text import values_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from tripos_warehouse.tables.model import PaperTable


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
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
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


# Relations
SHOWN = 20
"""The number of rows that a notebook shows."""
LONGEST = 60
"""The longest text in a notebook, in characters."""


class Table(duckdb.DuckDBPyRelation):
    """A DuckDB relation whose first rows a notebook shows."""

    __slots__ = ()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame; pandas must be installed."""
        found: pd.DataFrame = self.df()
        return found

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a polars data frame; polars must be installed."""
        found: pl.DataFrame = self.pl()
        return found

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.to_arrow_table()

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, str]:
        shown = [preview(self)]
        return {"text/plain": str(self), "text/html": to_html(shown), "text/markdown": to_markdown(shown)}


def preview(relation: duckdb.DuckDBPyRelation, name: str = "answer") -> PaperTable:
    """Return the first rows of a relation as a table, with long texts cut.

    >>> table = preview(duckdb.sql("select range as n, repeat('a', 100) as long from range(30)"))
    >>> len(table.rows), len(table.columns[1].cells[0]), table.notes
    (20, 60, ('the first 20 rows; `.to_pandas()`, `.to_polars()` and `.to_arrow()` have all',))
    """
    rows = relation.limit(SHOWN + 1).to_arrow_table()
    more = rows.num_rows > SHOWN
    note = f"the first {SHOWN} rows; `.to_pandas()`, `.to_polars()` and `.to_arrow()` have all"
    return answer_table(rows.slice(0, SHOWN), name, longest=LONGEST, notes=(note,) if more else ())


def as_table(relation: duckdb.DuckDBPyRelation) -> Table:
    """Return the same relation as a `Table`."""
    relation.__class__ = Table
    return relation  # type: ignore[return-value]


_READS = """
    aggregate alias any_value apply arg_max arg_min arrow avg bit_and bit_or bit_xor bitstring_agg bool_and bool_or
    close columns count cross cume_dist dense_rank describe description df distinct drop dtypes except_ execute explain
    favg fetch_arrow_reader fetch_arrow_table fetch_df_chunk fetch_record_batch fetchall fetchdf fetchmany fetchnumpy
    fetchone filter first first_value fsum geomean group_by head histogram intersect iter_rows join lag last last_value
    lead limit list map materialize max mean median min mode n_tile nth_value offset order percent_rank pivot pl preview
    product project quantile quantile_cont quantile_disc rank rank_dense record_batch rename row_number sample select
    select_dtypes select_types set_alias shape show sort sql_query std stddev stddev_pop stddev_samp string_agg sum tf
    to_arrow_reader to_arrow_table to_df to_dicts torch type types union union_by_name unique unnest unpivot
    value_counts var var_pop var_samp variance with_columns
"""
READS = frozenset(_READS.split())
"""The permitted methods and attributes of a relation."""

_ASKED = ("__getitem__", "__getattr__")


class Relation(Table):
    """A DuckDB relation that only reads, as do all relations derived from it. Everything else raises `StoreError`
    S0205.
    """

    __slots__ = ()


class Groups:
    """The result of `group_by` on a relation: groups of rows, to be aggregated."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def agg(self, *arguments: Any, **named: Any) -> Any:
        """Aggregate the groups, as in DuckDB."""
        return read_only(self._groups.agg(*arguments, **named))


def read_only(found: Any) -> Any:
    """Return the same relation restricted to methods that read; any other object unchanged.

    >>> relation = read_only(duckdb.sql("select 1 as n"))
    >>> relation.filter("n = 1").fetchall()
    [(1,)]
    >>> relation.write_csv("n.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tripos_warehouse.errors.StoreError: S0205: ...
    """
    if isinstance(found, duckdb.DuckDBPyRelation):
        found.__class__ = Relation
    elif type(found).__name__ == "GroupedRelation":
        return Groups(found)
    return found


def _read_only_method(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def ask(*arguments: Any, **named: Any) -> Any:
        return read_only(function(*arguments, **named))

    return ask


def _refused_method(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        hint = "take the rows out, as with `.to_arrow_table()` or `.df()`, and go on with those"
        raise StoreError("S0205", f"`{name}` of a relation does more than read the store", hint)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in dir(duckdb.DuckDBPyRelation):
    _member = getattr(duckdb.DuckDBPyRelation, _name)
    if callable(_member) and (_name in _ASKED or not _name.startswith("_")):
        setattr(
            Relation, _name, _read_only_method(_member) if _name in READS or _name in _ASKED else _refused_method(_name)
        )
