"""Soundness of rows that somebody else may have written: lists without holes, and JSON of the shape that readers need.

An Arrow schema says neither. Rows of our own writers are not looked at again: those of a journal that a process left
behind are, and those of parts by `tripos store check`, and by a reader that failed over one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.parts import broken, reading
from tripos_warehouse.store.rows import Row, to_arrow
from tripos_warehouse.store.schemas import TABLES

_BATCH = 16384
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999


class _Options(TypedDict, total=False):
    """The options of a run that readers use."""

    only: dict[str, list[str]] | None
    withheld: dict[str, int] | None


_SHAPES: dict[str, dict[str, Any]] = {
    "runs": {"plan": dict, "roles": dict[str, list[str]], "identities": dict[str, str], "options": _Options},
    "items": {"fields": dict[str, Any], "rejections": list[Any]},
    "slots": {"rejections": list[Any]},
    "samples": {"messages": list[Any], "parsed": Any},
    "judgements": {"messages": list[Any], "parsed": Any},
    "drafts": {"messages": list[Any]},
    "scores": {"given": Any},
    "measures": {"dims": dict[str, Any]},
}
"""The columns of JSON text, and what each holds."""


def content_problem(table: str, content: pa.Table | pa.RecordBatch) -> str | None:
    """Return what is wrong with rows of a table, or with some columns of them, in words; None where they are sound."""
    import pyarrow.compute as pc

    for field in TABLES[table].schema:
        if field.name not in content.schema.names:
            continue
        column: Any = content[field.name]
        if not field.nullable and column.null_count:
            return f"`{field.name}` has no value"
        if pa.types.is_timestamp(field.type) and not _is_of_a_calendar(column):
            return f"`{field.name}` has a time before the year 1 or after 9999"
        if pa.types.is_list(field.type) and pc.list_flatten(column).null_count:
            return f"`{field.name}` has a list with a hole"
    for name in _SHAPES.get(table, {}):
        if name in content.schema.names:
            for text in pc.unique(content[name]).to_pylist():
                if text is not None and (wrong := _text_problem(table, name, text)):
                    return f"`{name}` {wrong}"
    return None


def check_rows(table: str, path: Path) -> None:
    """Raise `StoreError` S0103 where a part holds rows that are not sound, or have other columns than its table."""
    with reading(path) as file:
        schema = file.schema_arrow
        check_schema(table, path, schema)
        names = [name for name in TABLES[table].schema.names if name in schema.names]
        for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
            if (wrong := content_problem(table, batch)) is not None:
                raise broken(path, f"a row of `{table}`: {wrong}")


def check_schema(table: str, path: Path, schema: pa.Schema) -> None:
    """Raise `StoreError` S0103 where a part has a column that its table has not."""
    known = TABLES[table].schema
    for each in schema:
        if each.name not in known.names or known.field(each.name).type != each.type:
            raise broken(path, f"it has a column `{each.name}` of {each.type}, which `{table}` has not")


def fits(table: str, content: pa.Table) -> None:
    """Raise `StoreError` S0105 where rows that are on their way to a part are not sound."""
    if (wrong := content_problem(table, content)) is not None:
        raise StoreError("S0105", f"a row of `{table}`: {wrong}")


def _is_of_a_calendar(column: Any) -> bool:
    """Return true if Python has a date for each of the times."""
    import pyarrow.compute as pc

    ends = pc.min_max(column.cast(pa.int64())).as_py()
    return ends["min"] is None or (ends["min"] >= _FIRST_US and ends["max"] <= _LAST_US)


def _text_problem(table: str, name: str, text: str) -> str | None:
    try:
        _adapter(table, name).validate_python(orjson.loads(text))
    except orjson.JSONDecodeError:
        return "is no JSON"
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"]))
        return f"has JSON of another shape ({f'{where}: ' if where else ''}{problem['msg']})"
    return None


@cache
def _adapter(table: str, name: str) -> TypeAdapter[Any]:
    shape = _SHAPES[table][name]
    return TypeAdapter(shape, config=None if shape is _Options else ConfigDict(strict=True))


UNFIT = (StoreError, pa.ArrowException, TypeError, ValueError, OverflowError)
"""The errors of rows that do not fit."""


def sound_tables(rows: Mapping[str, Sequence[Row]]) -> dict[str, pa.Table]:
    """Return rows that somebody kept, as Arrow tables. Raises one of `UNFIT` where they do not fit."""
    tables = {table: to_arrow(table, batch) for table, batch in rows.items() if batch}
    for table, content in tables.items():
        fits(table, content)
    return tables


def fitting_lines(lines: Sequence[dict[str, list[Row]]]) -> set[int]:
    """Return the places of the lines that fit their tables."""
    found = set()
    for place, line in enumerate(lines):
        with suppress(*UNFIT):
            sound_tables(line)
            found.add(place)
    return found
