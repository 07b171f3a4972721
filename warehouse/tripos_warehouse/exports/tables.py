"""Tables of a run for other programs, as Parquet, CSV or a workbook: items, samples, scores, measures, and people's
notes.

Axes and arms are columns. Secret fields of items, and what was said to and by other roles than the compared one, are
left out unless requested, since these roles may know what is secret. Notes are written only if they are named: they are
what people wrote for each other.

In a workbook each table has a sheet, texts are never read as formulas, and nothing is cut silently. A sheet has at most
1,048,576 rows and a cell at most 32,767 UTF-16 units: further rows go to further sheets, and longer texts continue in
additional columns.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.exports.replies import place_columns
from tripos_warehouse.files import export_path
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import with_sequential_intervals
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.tables.data import csv_cell, export_cell
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.runs import RunRecord

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.cell import Cell


STANDARD_TABLES = ("items", "samples", "scores", "measures")
"""The tables that are written if none is named."""
TABLES = (*STANDARD_TABLES, "notes")
BATCH = 10_000
"""Rows in memory at once."""
CALL_COLUMNS = ("reply", "parsed", "logprobs", "messages", "error")
"""The columns of a sample with the content of the call."""


@dataclass(frozen=True)
class TableSource:
    """A table to write: its schema, and its rows in batches."""

    name: str
    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]


def sources(
    connection: Connection, plan: Plan, run: RunRecord, names: Sequence[str], secrets: bool
) -> Iterator[TableSource]:
    """Yield the tables called `names` in order; read each to its end before the next one."""
    schema = sql.name(run.benchmark)
    for name in names:
        match name:
            case "items":
                yield _items(connection, plan, run, secrets)
            case "samples":
                yield _queried(connection, name, _samples(schema, plan, run, secrets))
            case "scores":
                order = _order(plan, "scenario, item_id, model, metric, evaluator, score_id")
                columns = "*" if secrets else "* replace (NULL::varchar as element_value)"  # it may contain a secret
                yield _queried(connection, name, f"select {columns} from {schema}.scores {order}")
            case "notes":
                order = _order(plan, "scenario, item_id, model, step, sample_number, sample_id, created_at, note_id")
                yield _queried(connection, name, f"from {schema}.notes {order}")
            case _:
                yield _measures(connection, plan, run)


def _queried(connection: Connection, name: str, query: str) -> TableSource:
    reader = connection.sql(query).to_arrow_reader(BATCH)
    return TableSource(name, reader.schema, reader)


def _order(plan: Plan, columns: str) -> str:
    return f"order by {', '.join([columns, *map(sql.name, arm_columns(plan))])}"


def _samples(schema: str, plan: Plan, run: RunRecord, secrets: bool) -> str:
    order = _order(plan, "scenario, item_id, model, step, sample_number, sample_id")
    if secrets:
        return f"from {schema}.samples {order}"
    own = f"role = {sql.text(run.compared_role)}"
    columns = ", ".join(f"case when {own} then {name} end as {name}" for name in CALL_COLUMNS)
    return f"select * replace ({columns}) from {schema}.samples {order}"


def open_fields(plan: Plan, secrets: bool) -> dict[str, dict[str, None]]:
    """Return the fields of every data set that may be shown, in plan order."""
    by_name = {dataset.name: dataset.fields for dataset in plan.datasets} | {
        dataset.name: dataset.fields for dataset in plan.made
    }
    return {
        name: {field.name: None for field in fields if secrets or not field.secret} for name, fields in by_name.items()
    }


def _items(connection: Connection, plan: Plan, run: RunRecord, secrets: bool) -> TableSource:
    """Return the items with a column for each field. A field that is an axis shares its column; one with the name of a
    fixed column is `field_NAME`.
    """
    fields = open_fields(plan, secrets)
    shown = dict.fromkeys(name for field in fields.values() for name in field)
    fixed = [name for name in place_columns(plan) if name not in {arm.name for arm in plan.arms}]
    columns = {name: f"field_{name}" if name in ("dataset", "item_id") else name for name in shown if name not in fixed}
    plain = [*fixed, "dataset", "item_id"]
    schema = pa.schema([(name, pa.string()) for name in (*plain, *columns.values())])
    reader = connection.sql(
        f"""select {", ".join(map(sql.name, plain))}, fields from {sql.name(run.benchmark)}.items
        order by scenario, item_id"""
    ).to_arrow_reader(BATCH)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            rows = batch.to_pylist()
            for row in rows:
                own = orjson.loads(row.pop("fields"))
                allowed = fields.get(row["dataset"], {})
                row |= {column: _text(own.get(name)) for name, column in columns.items() if name in allowed}
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return TableSource("items", schema, batches())


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _measures(connection: Connection, plan: Plan, run: RunRecord) -> TableSource:
    tables = [with_sequential_intervals(run, evaluate(connection, plan, measure)) for measure in plan.measures]
    rows = [row for table in tables for row in table.to_rows()]
    dims = list(dict.fromkeys(name for measure in plan.measures for name in measure.by))
    numbers = {"value": pa.float64(), "standard_error": pa.float64(), "low": pa.float64(), "high": pa.float64()}
    counts = {"items": pa.int64(), "n": pa.int64(), "total": pa.int64(), "coverage": pa.float64()}
    texts = {name: pa.string() for name in ("measure", "model", *dims)}
    schema = pa.schema([*texts.items(), *numbers.items(), *counts.items()])
    converted = [
        {name: _text(row.get(name)) if name in texts else row.get(name) for name in schema.names} for row in rows
    ]
    return TableSource("measures", schema, [pa.RecordBatch.from_pylist(converted, schema=schema)])


@dataclass(frozen=True)
class WrittenTable:
    """A table that was written: its rows, and notes for the user."""

    name: str
    path: Path
    rows: int
    notes: tuple[str, ...] = ()


def write_parquet(source: TableSource, path: Path) -> WrittenTable:
    """Write a table as Parquet. Raises `StoreError` S0604 if the disk refuses."""
    rows = 0
    with export_path(path) as new, pq.ParquetWriter(new, source.schema, compression="zstd") as writer:
        for batch in source.batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return WrittenTable(source.name, path, rows)


def write_csv(source: TableSource, path: Path, raw: bool) -> WrittenTable:
    """Write a table as CSV in UTF-8. Unless `raw`, texts that a spreadsheet would read as a formula are prefixed with
    an apostrophe; numbers are not. Raises `StoreError` S0604 if the disk refuses.
    """
    rows = marked = 0
    with export_path(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(source.schema.names)
        for batch in source.batches:
            columns = []
            for values in batch.columns:
                cells = [csv_cell(value) for value in values.to_pylist()]
                if not raw and pa.types.is_string(values.type):
                    safe = [export_cell(text) for text in cells]
                    marked += sum(one is not two for one, two in zip(cells, safe, strict=True))
                    cells = safe
                columns.append(cells)
            writer.writerows(zip(*columns, strict=True))
            rows += batch.num_rows
    notes = (f"{marked:,} texts begin like a formula: an apostrophe stands before them",) if marked else ()
    return WrittenTable(source.name, path, rows, notes)


def to_data(tables: Sequence[WrittenTable]) -> list[Mapping[str, Any]]:
    """Return the tables as JSON values."""
    return [
        {"table": table.name, "path": str(table.path), "rows": table.rows, "notes": table.notes} for table in tables
    ]


# Workbooks
_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]")


def escape_xml(text: str) -> str:
    """Return a text in the escaping of workbook XML, which also covers texts that look like an escape. Half of a
    surrogate pair becomes U+FFFD.

    >>> escape_xml("a\\x07b"), escape_xml("a_x0007_b"), escape_xml("two\\r\\nlines")
    ('a_x0007_b', 'a_x005F_x0007_b', 'two_x000D_\\nlines')
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _CONTROL.sub(lambda match: f"_x{ord(match[0]):04X}_", _ESCAPED.sub("_x005F_", whole))


def put_text(cell: Cell, text: str) -> None:
    """Store a text of at most 32,767 characters in a cell, so that it is never a formula, a number or an escape."""
    cell.value = ""
    # Set as a value, it would be parsed, and cut if its escapes make it too long.
    cell._value = escape_xml(text)  # type: ignore[attr-defined]
    cell.data_type = "s"


SHORT = 16_000
"""A text of this many characters fits into a cell, whatever they are."""


def longest_texts(connection: Connection, plan: Plan, run: RunRecord, name: str) -> dict[str, int]:
    """Return the length of the longest text of each column of the table `name` that may not fit into a cell."""
    schema = sql.name(run.benchmark)
    match name:
        case "samples":
            columns = {column: column for column in ("messages", "reply", "parsed", "error")}
        case "notes":
            columns = {"note_text": "note_text"}
        case "items":
            fields = dict.fromkeys(field for open_field in open_fields(plan, True).values() for field in open_field)
            paths = {field: '$."' + field + '"' for field in fields}
            columns = {column: f"(fields ->> {sql.text(path)})" for column, path in paths.items()}
        case _:
            return {}
    if not columns:
        return {}
    longest = ", ".join(f"coalesce(max({_units(column)}), 0)" for column in columns.values())
    [lengths] = connection.execute(f"select {longest} from {schema}.{name}").fetchall()
    return {column: units for column, units in zip(columns, lengths, strict=True) if units > SHORT}


def _units(text: str) -> str:
    """Return the SQL of the length of a text in UTF-16 units; a character beyond the first plane takes two."""
    beyond = f"length(regexp_replace({text}, '[^\\x{{10000}}-\\x{{10FFFF}}]', '', 'g'))"
    return f"length({text}) + case when length({text}) > {SHORT} then {beyond} else 0 end"


MOST_ROWS = 1_048_576
MOST_UNITS = 32_767
TIME = "yyyy-mm-dd hh:mm:ss"


def write_workbook(
    tables: Iterable[TableSource], path: Path, longest: Callable[[str], dict[str, int]], most_rows: int = MOST_ROWS
) -> list[WrittenTable]:
    """Write the tables into one workbook. `longest` returns for a table, by column, the length of the longest text in
    UTF-16 units, if it may exceed a cell.

    Raises `StoreError` S0604 if the disk refuses.
    """
    from openpyxl import Workbook

    # Rows go to the disk one by one. The packed file is in memory: on a full disk it could not be closed.
    book = Workbook(write_only=True)
    packed = io.BytesIO()
    with export_path(path) as new:
        written_tables = [_write(book, source, path, longest(source.name), most_rows) for source in tables]
        book.save(packed)
        new.write_bytes(packed.getbuffer())
    return written_tables


def _write(book: Workbook, source: TableSource, path: Path, longest: dict[str, int], most_rows: int) -> WrittenTable:
    # A piece may end a unit early to avoid splitting a character.
    parts = {name: max(1, math.ceil(longest.get(name, 0) / (MOST_UNITS - 2))) for name in source.schema.names}
    titles = [
        name if part == 0 else f"{name} {part + 1}" for name in source.schema.names for part in range(parts[name])
    ]
    sheet, sheets, row, rows, cut = None, 0, 0, 0, 0
    for batch in source.batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if sheet is None or row >= most_rows:
                sheets += 1
                sheet, row = _sheet(book, source.name if sheets == 1 else f"{source.name} {sheets}", titles), 1
            cells: list[Any] = []
            for name, value in zip(source.schema.names, values, strict=True):
                pieces = split(csv_cell(value)) if isinstance(value, str | dict | list) else [value]
                cut += len(pieces) > 1
                cells += [_cell(sheet, piece) for piece in pieces] + [None] * (parts[name] - len(pieces))
            sheet.append(cells)
            row += 1
            rows += 1
    if sheet is None:
        _sheet(book, source.name, titles)
    notes = []
    if sheets > 1:
        notes.append(f"more rows than a sheet has: they go on in {_listed(source.name, sheets)}")
    if cut:
        further = [name for name, count in parts.items() if count > 1]
        notes.append(f"{cut:,} texts are longer than a cell: they go on in the columns beside {', '.join(further)}")
    return WrittenTable(source.name, path, rows, tuple(notes))


def _sheet(book: Workbook, name: str, titles: Sequence[str]) -> Any:
    from openpyxl.styles import Font

    sheet = book.create_sheet(name)
    sheet.freeze_panes = "A2"
    cells = [_cell(sheet, title) for title in titles]
    for cell in cells:
        cell.font = Font(bold=True)
    sheet.append(cells)
    return sheet


def _cell(sheet: Any, value: Any) -> Any:
    """Return a value for a row of a sheet: a number unchanged, a text in a cell marked as text."""
    from openpyxl.cell import WriteOnlyCell

    match value:
        case None | "":
            return None
        case bool() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case datetime():
            made = WriteOnlyCell(sheet, value.replace(tzinfo=None))
            made.number_format = TIME
            return made
    made = WriteOnlyCell(sheet)
    put_text(made, str(value))
    return made


def split(text: str, most: int = MOST_UNITS - 1) -> list[str]:
    """Return a text in pieces of at most `most` UTF-16 units, without splitting a character.

    >>> split("abcde", 2), split("a😀b", 2), split("")
    (['ab', 'cd', 'e'], ['a', '😀', 'b'], [''])
    """
    if len(text) * 2 <= most:
        return [text]
    pieces, start, units = [], 0, 0
    for place, char in enumerate(text):
        size = 2 if ord(char) > 0xFFFF else 1
        if units + size > most:
            pieces.append(text[start:place])
            start, units = place, 0
        units += size
    return [*pieces, text[start:]]


def _listed(name: str, sheets: int) -> str:
    return ", ".join(f"`{name} {number}`" for number in range(2, sheets + 1))
