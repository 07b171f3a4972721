"""Tables of a run for other programs: items, samples, scores and measures, with axes and arms as columns.

What the spec marks as secret is left out unless it is asked for: secret fields of items, and what was said to and by
other roles than the compared one, who may be told what is secret.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.exports.files import appearing
from tripos_warehouse.exports.replies import place_columns
from tripos_warehouse.measures import as_told, evaluate
from tripos_warehouse.query import Connection, cell, export_cell
from tripos_warehouse.views import RunRecord, arm_columns

TABLES = ("items", "samples", "scores", "measures")
BATCH = 10_000
"""Rows that are in memory at once."""
TOLD = ("reply", "parsed", "logprobs", "messages", "error")
"""The columns of a sample that say what was told."""


@dataclass(frozen=True)
class TableSource:
    """A table to write: its schema, and its rows in batches."""

    name: str
    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]


def sources(
    connection: Connection, plan: Plan, run: RunRecord, names: Sequence[str], secrets: bool
) -> Iterator[TableSource]:
    """Yield the tables called `names`, one after the other; read each to its end before the next is taken."""
    schema = sql.name(run.benchmark)
    for name in names:
        match name:
            case "items":
                yield _items(connection, plan, run, secrets)
            case "samples":
                yield _queried(connection, name, _samples(schema, plan, run, secrets))
            case "scores":
                order = _order(plan, "scenario, item_id, model, metric, evaluator, score_id")
                columns = "*" if secrets else "* replace (NULL::varchar as element_value)"  # it may tell a secret
                yield _queried(connection, name, f"select {columns} from {schema}.scores {order}")
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
    columns = ", ".join(f"case when {own} then {name} end as {name}" for name in TOLD)
    return f"select * replace ({columns}) from {schema}.samples {order}"


def open_fields(plan: Plan, secrets: bool) -> dict[str, dict[str, None]]:
    """Return the fields of every data set that may be shown, in the plan's order."""
    found = {each.name: each.fields for each in plan.datasets} | {each.name: each.fields for each in plan.made}
    return {name: {each.name: None for each in fields if secrets or not each.secret} for name, fields in found.items()}


def _items(connection: Connection, plan: Plan, run: RunRecord, secrets: bool) -> TableSource:
    """Return items with a column for each field; a field that is an axis too has that one, and one that is called like
    a column of ours is `field_NAME`."""
    fields = open_fields(plan, secrets)
    shown = dict.fromkeys(name for own in fields.values() for name in own)
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
    tables = [as_told(run, evaluate(connection, plan, measure)) for measure in plan.measures]
    rows = [row for table in tables for row in table.to_rows()]
    dims = list(dict.fromkeys(name for measure in plan.measures for name in measure.by))
    numbers = {"value": pa.float64(), "standard_error": pa.float64(), "low": pa.float64(), "high": pa.float64()}
    counts = {"items": pa.int64(), "n": pa.int64(), "total": pa.int64(), "coverage": pa.float64()}
    texts = {name: pa.string() for name in ("measure", "model", *dims)}
    schema = pa.schema([*texts.items(), *numbers.items(), *counts.items()])
    told = [{name: _text(row.get(name)) if name in texts else row.get(name) for name in schema.names} for row in rows]
    return TableSource("measures", schema, [pa.RecordBatch.from_pylist(told, schema=schema)])


@dataclass(frozen=True)
class WrittenTable:
    """A table that was written: its rows, and what was done to it that somebody should know."""

    name: str
    path: Path
    rows: int
    notes: tuple[str, ...] = ()


def write_parquet(source: TableSource, path: Path) -> WrittenTable:
    """Write a table as Parquet. Raises `StoreError` S0604 where the disk refuses."""
    rows = 0
    with appearing(path) as new, pq.ParquetWriter(new, source.schema, compression="zstd") as writer:
        for batch in source.batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return WrittenTable(source.name, path, rows)


def write_csv(source: TableSource, path: Path, raw: bool) -> WrittenTable:
    """Write a table as CSV in UTF-8. Texts that a spreadsheet would take for a formula get an apostrophe before them,
    unless `raw`; numbers do not. Raises `StoreError` S0604 where the disk refuses."""
    rows = marked = 0
    with appearing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(source.schema.names)
        for batch in source.batches:
            columns = []
            for values in batch.columns:
                cells = [cell(value) for value in values.to_pylist()]
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
    return [{"table": each.name, "path": str(each.path), "rows": each.rows, "notes": each.notes} for each in tables]
