"""The measures of a report as one table."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from tripos_warehouse.report.report import Report

FIRST = {"measure": pa.string(), "model": pa.string()}
LAST = {
    "value": pa.float64(),
    "standard_error": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
    "items": pa.int64(),
    "n": pa.int64(),
    "total": pa.int64(),
    "coverage": pa.float64(),
    "method": pa.string(),
    "reason": pa.string(),
}


def measure_table(report: Report) -> duckdb.DuckDBPyRelation:
    """Return every value of every measure as a row. A dimension that a measure does not have is null in its rows."""
    named = dict.fromkeys(name for table in report.measures for name in table.measure.by)
    dimensions = {name: pa.string() for name in named if name not in {*FIRST, *LAST}}
    rows: list[dict[str, Any]] = [row for table in report.measures for row in table.to_rows()]
    types = {**FIRST, **dimensions, **LAST}
    columns = {
        name: pa.array([_text(row.get(name)) if name in dimensions else row.get(name) for row in rows], type_)
        for name, type_ in types.items()
    }
    return duckdb.connect().from_arrow(pa.table(columns))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
