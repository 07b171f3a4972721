"""Pieces of SQL: quoted names, text literals, and the DuckDB type of an Arrow type."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa


def name(text: str) -> str:
    """Return `text` as a quoted SQL name.

    >>> name('edu"bench')
    '"edu""bench"'
    """
    return '"' + text.replace('"', '""') + '"'


def text(value: str) -> str:
    """Return `value` as a SQL text literal.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def optional_text(value: str | None) -> str:
    """Return a SQL text literal or NULL, with the type VARCHAR in either case.

    >>> optional_text("a"), optional_text(None)
    ("'a'::varchar", 'NULL::varchar')
    """
    return "NULL::varchar" if value is None else f"{text(value)}::varchar"


def texts(values: Iterable[str]) -> str:
    """Return a SQL list of text literals in the given order, for `in` and for `read_parquet`.

    >>> texts(["b", "a"])
    "['b', 'a']"
    """
    return "[" + ", ".join(text(value) for value in values) + "]"


def type_of(type: pa.DataType) -> str:
    """Return the DuckDB type of an Arrow type that a table schema uses. Raises `ValueError` for any other type.

    >>> type_of(pa.list_(pa.string()))
    'VARCHAR[]'
    """
    if pa.types.is_string(type):
        return "VARCHAR"
    if pa.types.is_int64(type):
        return "BIGINT"
    if pa.types.is_float64(type):
        return "DOUBLE"
    if pa.types.is_boolean(type):
        return "BOOLEAN"
    if pa.types.is_timestamp(type):
        return "TIMESTAMP"
    if pa.types.is_list(type):
        return f"{type_of(type.value_type)}[]"
    if pa.types.is_map(type):
        return f"MAP({type_of(type.key_type)}, {type_of(type.item_type)})"
    raise ValueError(f"no SQL type for {type}")
