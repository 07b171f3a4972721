"""Rows to Arrow: checks each against its table's schema and says which value does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import pyarrow as pa

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.table_schema import TableSchema

Row = Mapping[str, Any]

_ARROW_REFUSES = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError, OverflowError)
_NONE = type(None)


def get_table(name: str) -> TableSchema:
    """Return the table of that name. Raises `StoreError` S0105 where there is none."""
    if name not in TABLES:
        raise StoreError("S0105", f"no table `{name}`", f"the tables are {', '.join(sorted(TABLES))}")
    return TABLES[name]


def to_arrow(table: str, rows: Sequence[Row]) -> pa.Table:
    """`rows` as an Arrow table with exactly the schema of `table`.

    A nullable column that is not given is null; times are aware. A map column takes a mapping. A lone surrogate, which
    a model can send and UTF-8 cannot hold, becomes `\\ufffd`.

    Raises `StoreError` S0105 that names the table, the column and the value.

    >>> to_arrow("run_items", [{"run_id": "r", "scenario": "QA", "item_id": "1"}]).num_rows
    1
    >>> to_arrow("run_items", [{"run_id": "r", "scenario": "QA", "item_id": 1}])
    Traceback (most recent call last):
    tripos_warehouse.errors.StoreError: S0105: `run_items.item_id` takes string, not `1`
    """
    schema = get_table(table).schema
    names = set(schema.names)
    whole = True
    for row in rows:
        if row.keys() != names:
            check_columns(table, row)
            whole = False
    columns = []
    for field in schema:
        name = field.name
        values = list(map(itemgetter(name), rows)) if whole else [row.get(name) for row in rows]
        columns.append(_column(table, field, values))
    return pa.Table.from_arrays(columns, schema=schema)


def check_columns(table: str, row: Row) -> None:
    """Raise `StoreError` S0105 where a row has a column that its table lacks, or lacks one that must have a value."""
    schema = get_table(table).schema
    names = set(schema.names)
    if unknown := sorted(row.keys() - names):
        raise StoreError("S0105", f"`{table}` has no column `{unknown[0]}` (value `{_show(row[unknown[0]])}`)")
    if missing := sorted(name for name in names - row.keys() if not schema.field(name).nullable):
        raise StoreError("S0105", f"a row of `{table}` lacks the column `{missing[0]}`")


def _column(table: str, field: pa.Field[Any], values: list[Any]) -> pa.Array[Any]:
    # One pass over the types of a column says whether a closer look at its values is needed.
    types = set(map(type, values))
    if pa.types.is_timestamp(field.type):
        if types <= {datetime, _NONE}:
            _refuse(table, field, values, lambda value: value.tzinfo is None)
        else:
            _refuse(table, field, values, lambda value: not isinstance(value, datetime) or value.tzinfo is None)
    elif pa.types.is_map(field.type):
        if not types <= {dict, _NONE}:
            _refuse(table, field, values, lambda value: not isinstance(value, Mapping))
        values = [None if value is None else list(value.items()) for value in values]
    elif pa.types.is_floating(field.type) and bool in types:
        _refuse(table, field, values, lambda value: isinstance(value, bool))
    if not field.nullable and _NONE in types:
        raise StoreError("S0105", f"`{table}.{field.name}` must have a value, not `None`")
    array: pa.Array[Any]
    try:
        array = pa.array(values, type=field.type)
    except UnicodeEncodeError:
        array = pa.array([encodable(value) for value in values], type=field.type)
    except _ARROW_REFUSES:
        _refuse(table, field, values, lambda value: not _fits(value, field.type))
        raise
    return array


def _refuse(table: str, field: pa.Field[Any], values: list[Any], is_wrong: Callable[[Any], bool]) -> None:
    for value in values:
        if value is not None and is_wrong(value):
            raise StoreError("S0105", f"`{table}.{field.name}` takes {field.type}, not `{_show(value)}`")


def _fits(value: Any, type: pa.DataType) -> bool:
    try:
        pa.array([value], type=type)
    except _ARROW_REFUSES:
        return False
    return True


def encodable(value: Any) -> Any:
    """`value` with `\\ufffd` for every lone surrogate, at any depth."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return type(value)(encodable(part) for part in value)
    if isinstance(value, Mapping):
        return {encodable(key): encodable(part) for key, part in value.items()}
    return value


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
