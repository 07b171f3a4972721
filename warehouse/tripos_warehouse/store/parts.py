"""Parts: Parquet files that hold the rows of one table, from rows to Arrow to a checked file and back.

A part is written once, never changed, and read with the current schema. An Arrow schema cannot require that lists have
no nulls and that JSON has the right shape. Both are checked in rows that this process did not make: those in the
journal of another process, and those of parts in `tripos store check` and after a reader failed.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from tripos_compiler.files import sync
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.commits import Commit, ParquetPart
from tripos_warehouse.store.digests import HashingFile, sha256_of
from tripos_warehouse.store.paths import part_path
from tripos_warehouse.store.schemas import COMPRESSION, COMPRESSION_LEVEL, TABLES, TableSchema

PARTS = "parts"
GROUP_ROWS = 4096
"""The number of rows of a row group. Texts are long, and reading one row decompresses all texts of its group."""

FORMER = {("runs", "items_of"): "run_id"}
"""The column of an earlier schema version that has the values of a newer column."""


@dataclass(frozen=True)
class NewPart:
    """A part that is being written: its path below the root of the store, and its file."""

    table: str
    path: str
    file: HashingFile

    def finish(self, rows: int) -> ParquetPart:
        """Return the description of the part after all of its rows were written."""
        version = TABLES[self.table].version
        return ParquetPart(self.table, self.path, rows, self.file.tell(), version, self.file.hexdigest())


@contextmanager
def new_part(root: Path, table: str, stem: str) -> Iterator[NewPart]:
    """Open a new part of `table`. At the end it is synced and made read-only; after a failure it is removed.

    `stem` is the name of the commit that will list the part, so that it is known which process writes an unlisted part.
    """
    path = f"{PARTS}/{table}/{stem}.{uuid.uuid4().hex[:12]}.parquet"
    full = root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    try:
        with full.open("xb") as file:
            yield NewPart(table, path, HashingFile(file))
            file.flush()
            os.fsync(file.fileno())
        full.chmod(0o444)
        sync(full.parent)
    except BaseException:
        full.unlink(missing_ok=True)
        raise


def write_part(root: Path, table: str, stem: str, content: pa.Table) -> ParquetPart:
    """Write a part and return its description. Raises `OSError` if it cannot be written; the file is then removed."""
    with new_part(root, table, stem) as part:
        pq.write_table(content, part.file, row_group_size=GROUP_ROWS, **layout(table))
    return part.finish(content.num_rows)


def layout(table: str) -> dict[str, Any]:
    """Return the physical layout of a table as options of `pyarrow.parquet`.

    Nullable texts without a dictionary have no statistics. If a row group has one value and nulls, DuckDB 2.0 takes the
    column for a constant by its statistics, and `error is null` keeps every row.
    """
    without = _without_statistics(table)
    return {
        "compression": COMPRESSION,
        "compression_level": COMPRESSION_LEVEL,
        "use_dictionary": list(TABLES[table].repeating),
        "write_page_checksum": True,
        "write_statistics": [name for name in TABLES[table].schema.names if name not in without],
    }


def has_wrong_statistics(table: str, file: pq.ParquetFile) -> bool:
    """Return true if a part has the statistics that `layout` leaves out; earlier versions of Tripos wrote them."""
    without = _without_statistics(table)
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    return any(column.path_in_schema in without and column.is_stats_set for column in columns)


def _without_statistics(table: str) -> set[str]:
    """Return the columns whose statistics are not written: nullable texts without a dictionary."""
    schema, repeating = TABLES[table].schema, TABLES[table].repeating
    return {field.name for field in schema if field.nullable and pa.types.is_string(field.type)}.difference(repeating)


def stem_of(path: Path) -> str:
    """Return the name of the commit for which a part was written.

    >>> stem_of(Path("parts/scores/20260301T080000000000-0123456789ab.fedcba987654.parquet"))
    '20260301T080000000000-0123456789ab'
    """
    return path.name.rpartition(".")[0].rpartition(".")[0]


def discard(root: Path, parts: Sequence[ParquetPart], stem: str) -> None:
    """Remove the parts that were written for a commit which was not published. Parts of earlier commits, which a
    compaction lists unchanged, stay.
    """
    for part in parts:
        if stem_of(Path(part.path)) == stem:
            (root / part.path).unlink(missing_ok=True)


def check_part(root: Path, part: ParquetPart, commit: Commit) -> Path:
    """Return the path of a committed part, after its size and schema version were checked.

    Raises `StoreError`: S0103 if the file is missing or has another size, S0104 if its schema is newer than ours.
    """
    path = root / part_path(part.table, part.path)
    if part.version > (known := TABLES[part.table].version):
        raise StoreError(
            "S0104",
            f"`{part.table}` has version {part.version} in commit `{commit.name}`; this Tripos knows {known}",
            "update Tripos",
        )
    try:
        status = os.lstat(path)
    except OSError as error:
        raise unreadable_part(path, f"commit `{commit.name}` lists it: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise unreadable_part(path, f"commit `{commit.name}` lists it, and it is no regular file")
    if status.st_size != part.size:
        raise unreadable_part(path, f"commit `{commit.name}` says {part.size} bytes, the file has {status.st_size}")
    return path


def verify_part(root: Path, part: ParquetPart, commit: Commit) -> Path:
    """Return the path of a committed part, after its content was compared with the digest in its commit, if there is
    one.

    Raises what `check_part` does, and `StoreError` S0103 if the content has changed.
    """
    path = check_part(root, part, commit)
    try:
        changed = part.sha256 is not None and sha256_of(path) != part.sha256
    except OSError as error:
        raise unreadable_part(path, str(error)) from error
    if changed:
        raise changed_part(path, commit.name)
    return path


@contextmanager
def open_part(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a part. Raises `StoreError` S0103 if it is damaged; also inside the context, if a page does not match its
    checksum.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise unreadable_part(path, str(error)) from error


def conform(table: str, columns: Sequence[str], content: pa.Table) -> pa.Table:
    """Return `columns` of a part in this order. A column that the part's schema version lacks comes from `FORMER`, or
    is null.
    """
    schema = TABLES[table].schema
    fields = [schema.field(name) for name in columns]
    return pa.Table.from_arrays([_column(table, field, content) for field in fields], schema=pa.schema(fields))


def _column(table: str, field: pa.Field[Any], content: pa.Table) -> Any:
    """Return a column of a part with the current or an earlier schema version."""
    for name in (field.name, FORMER.get((table, field.name))):
        if name in content.schema.names:
            return content[name]
    return pa.nulls(content.num_rows, field.type)


_RESTORE = "restore the file from a backup, or delete the commit that lists it: its calls are then made again"


def unreadable_part(path: Path, why: str) -> StoreError:
    """Return the error of a part that cannot be read."""
    return StoreError("S0103", f"the part `{path}` is missing or unreadable ({why})", _RESTORE)


def changed_part(path: Path, commit: str) -> StoreError:
    """Return the error of a part whose content differs from the one that a commit listed."""
    return StoreError("S0103", f"bytes of the part `{path}` have changed since commit `{commit}` listed it", _RESTORE)


def count_rows(paths: Iterable[Path], column: str, text: str) -> int:
    """Return how many rows of the parts have `text` in `column`. Raises `StoreError` S0103 if a part cannot be read.

    >>> count_rows([], "run_id", "r1")
    0
    """
    import pyarrow.compute as pc

    count = 0
    for path in paths:
        with open_part(path) as file:
            index = file.schema_arrow.get_field_index(column)
            for number in range(file.num_row_groups):
                statistics = file.metadata.row_group(number).column(index).statistics
                if statistics is not None and statistics.has_min_max and not statistics.min <= text <= statistics.max:
                    continue
                values = file.read_row_group(number, [column])[column]
                count += pc.sum(pc.equal(values, pa.scalar(text))).as_py() or 0
    return count


# Rows to Arrow
Row = Mapping[str, Any]

_ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError, OverflowError)
_NONE = type(None)


def get_table(name: str) -> TableSchema:
    """Return the schema of a table. Raises `StoreError` S0105 if there is no such table."""
    if name not in TABLES:
        raise StoreError("S0105", f"no table `{name}`", f"the tables are {', '.join(sorted(TABLES))}")
    return TABLES[name]


def to_arrow(table: str, rows: Sequence[Row]) -> pa.Table:
    """Return `rows` as an Arrow table with exactly the schema of `table`.

    A nullable column that is missing in a row is null. Times must have a zone. A map column takes a mapping. A lone
    surrogate, which a model can send and UTF-8 cannot encode, becomes `\\ufffd`.

    Raises `StoreError` S0105 with the table, the column and the value that does not fit.

    >>> to_arrow("run_items", [{"run_id": "r", "scenario": "QA", "item_id": "1"}]).num_rows
    1
    >>> to_arrow("run_items", [{"run_id": "r", "scenario": "QA", "item_id": 1}])
    Traceback (most recent call last):
    tripos_warehouse.errors.StoreError: S0105: `run_items.item_id` takes string, not `1`
    """
    schema = get_table(table).schema
    names = set(schema.names)
    are_complete = True
    for row in rows:
        if row.keys() != names:
            check_columns(table, row)
            are_complete = False
    columns = []
    for field in schema:
        name = field.name
        values = list(map(itemgetter(name), rows)) if are_complete else [row.get(name) for row in rows]
        columns.append(_to_arrow_column(table, field, values))
    return pa.Table.from_arrays(columns, schema=schema)


def check_columns(table: str, row: Row) -> None:
    """Raise `StoreError` S0105 if a row has an unknown column or lacks a required one."""
    schema = get_table(table).schema
    names = set(schema.names)
    if unknown := sorted(row.keys() - names):
        raise StoreError("S0105", f"`{table}` has no column `{unknown[0]}` (value `{_show(row[unknown[0]])}`)")
    if missing := sorted(name for name in names - row.keys() if not schema.field(name).nullable):
        raise StoreError("S0105", f"a row of `{table}` lacks the column `{missing[0]}`")


def _to_arrow_column(table: str, field: pa.Field[Any], values: list[Any]) -> pa.Array[Any]:
    """Return the values of a column as an Arrow array. Raises `StoreError` S0105 for a value that does not fit."""
    # The set of types in a column decides whether its values must be checked one by one.
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
    except _ARROW_ERRORS:
        _refuse(table, field, values, lambda value: not _fits(value, field.type))
        raise
    return array


def _refuse(table: str, field: pa.Field[Any], values: list[Any], is_wrong: Callable[[Any], bool]) -> None:
    """Raise `StoreError` S0105 with the first wrong value, if there is one."""
    for value in values:
        if value is not None and is_wrong(value):
            raise StoreError("S0105", f"`{table}.{field.name}` takes {field.type}, not `{_show(value)}`")


def _fits(value: Any, type: pa.DataType) -> bool:
    """Return true if Arrow takes a value for a type."""
    try:
        pa.array([value], type=type)
    except _ARROW_ERRORS:
        return False
    return True


def encodable(value: Any) -> Any:
    """Return `value` with `\\ufffd` in place of every lone surrogate, at any depth."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return type(value)(encodable(part) for part in value)
    if isinstance(value, Mapping):
        return {encodable(key): encodable(part) for key, part in value.items()}
    return value


def _show(value: Any) -> str:
    """Return the beginning of a value's representation, for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


# Validation of rows that this process did not make
_BATCH = 16384
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last microsecond of the years 1 to 9999, relative to 1970."""


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
"""The columns of JSON text, with the type of their content."""


def content_problem(table: str, content: pa.Table | pa.RecordBatch) -> str | None:
    """Return what is wrong with rows of a table, or with some of its columns; None if they are valid."""
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
    """Raise `StoreError` S0103 if a part has invalid rows or columns that its table lacks."""
    with open_part(path) as file:
        schema = file.schema_arrow
        check_schema(table, path, schema)
        names = [name for name in TABLES[table].schema.names if name in schema.names]
        for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
            if (wrong := content_problem(table, batch)) is not None:
                raise unreadable_part(path, f"a row of `{table}`: {wrong}")


def check_schema(table: str, path: Path, schema: pa.Schema) -> None:
    """Raise `StoreError` S0103 if a part has a column that its table lacks."""
    known = TABLES[table].schema
    for field in schema:
        if field.name not in known.names or known.field(field.name).type != field.type:
            raise unreadable_part(path, f"it has a column `{field.name}` of {field.type}, which `{table}` has not")


def fits(table: str, content: pa.Table) -> None:
    """Raise `StoreError` S0105 if rows that are about to be written are invalid."""
    if (wrong := content_problem(table, content)) is not None:
        raise StoreError("S0105", f"a row of `{table}`: {wrong}")


def _is_of_a_calendar(column: Any) -> bool:
    """Return true if Python can represent each of the times."""
    import pyarrow.compute as pc

    ends = pc.min_max(column.cast(pa.int64())).as_py()
    return ends["min"] is None or (ends["min"] >= _FIRST_US and ends["max"] <= _LAST_US)


def _text_problem(table: str, name: str, text: str) -> str | None:
    """Return what is wrong with the text of a JSON column; None if it is valid."""
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
    """Return the validator of a JSON column."""
    shape = _SHAPES[table][name]
    return TypeAdapter(shape, config=None if shape is _Options else ConfigDict(strict=True))


INVALID_ROWS = (StoreError, pa.ArrowException, TypeError, ValueError, OverflowError)
"""The errors that are raised for rows that do not fit their tables."""


def valid_tables(rows: Mapping[str, Sequence[Row]]) -> dict[str, pa.Table]:
    """Return rows as valid Arrow tables, by table. Raises one of `INVALID_ROWS` if they do not fit."""
    tables = {table: to_arrow(table, batch) for table, batch in rows.items() if batch}
    for table, content in tables.items():
        fits(table, content)
    return tables


def valid_lines(lines: Sequence[dict[str, list[Row]]]) -> set[int]:
    """Return the indices of the journal lines that fit their tables."""
    valid = set()
    for number, line in enumerate(lines):
        with suppress(*INVALID_ROWS):
            valid_tables(line)
            valid.add(number)
    return valid
