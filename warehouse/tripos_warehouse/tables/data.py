"""Tables as CSV and JSON, in which an estimate has the fields value, low, high, method and reason."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import orjson

from tripos_warehouse.statistics.estimate import JSON_FIELDS, Estimate
from tripos_warehouse.tables.model import Cell, Column, Table
from tripos_warehouse.tables.values import Range

RISKY = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a text that a spreadsheet may read as a formula when it opens a CSV file (OWASP, CSV injection)."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def to_csv(tables: Sequence[Table]) -> str:
    """Return tables as CSV, with an empty line between two. A column of estimates becomes several columns, one for each
    field, whose names begin with the key of the column unless that is `value`.

    >>> value = Column("value", (Estimate(0.5, low=0.25, high=0.75, method="t"), Estimate(None, "no items")), "number")
    >>> print(to_csv([Table((Column("model", ("=a", "b")), value))]).rstrip())
    model,value,low,high,method,reason
    '=a,0.5,0.25,0.75,t,
    b,,,,,no items
    """
    return "\n".join(csv_text(*_flat(table)) for table in tables)


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV in which a spreadsheet reads no text as a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([export_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _flat(table: Table) -> tuple[list[str], list[list[Any]]]:
    """Return the headings and the rows of a table, with several columns for a column of estimates or ranges."""
    headings: list[str] = []
    columns: list[Sequence[Any]] = []
    for key, column in zip(unique_keys(table), table.columns, strict=True):
        fields = _fields_of(column)
        if fields:
            headings += [_heading(key, name) for name in fields]
            columns += [[_field(cell, name) for cell in column.cells] for name in fields]
            if column.p_values:
                headings.append(_heading(key, "p"))
                columns.append([column.p_values.get(row) for row in range(len(column.cells))])
        else:
            headings.append(key)
            columns.append(column.cells)
    return headings, [list(row) for row in zip(*columns, strict=True)]


def _heading(key: str, name: str) -> str:
    """Return the heading of the field `name` of a column."""
    return name if key == "value" else key if name == "value" else f"{key}_{name}"


def _fields_of(column: Column) -> tuple[str, ...]:
    """Return the fields of a column of estimates or ranges; empty for other columns."""
    if any(isinstance(cell, Estimate) for cell in column.cells):
        return JSON_FIELDS
    return ("low", "high") if any(isinstance(cell, Range) for cell in column.cells) else ()


def _field(cell: Cell, name: str) -> Any:
    """Return a field of a cell; a number or text has only `value`."""
    if isinstance(cell, Estimate | Range):
        return getattr(cell, name)
    return cell if name == "value" else None


def to_json(tables: Sequence[Table]) -> str:
    """Return tables as JSON: for each its columns, and its rows by the keys of the columns.

    >>> written = json.loads(to_json([Table((Column("n", (Estimate(0.5, "one item"),), "share", unit="s"),), "t")]))
    >>> written["tables"][0]["columns"]
    [{'key': 'n', 'heading': 'n (s)', 'kind': 'share', 'unit': 's'}]
    >>> written["tables"][0]["rows"]
    [{'n': {'value': 0.5, 'low': None, 'high': None, 'method': None, 'reason': 'one item'}}]
    """
    return json.dumps({"tables": [table_json(table) for table in tables]}, ensure_ascii=False, indent=2) + "\n"


def table_json(table: Table) -> dict[str, Any]:
    """Return a table as JSON values."""
    keys = unique_keys(table)
    rows = zip(*(column.cells for column in table.columns), strict=True)
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": [_column_json(key, column) for key, column in zip(keys, table.columns, strict=True)],
        "rows": [dict(zip(keys, map(_value, row), strict=True)) for row in rows],
        "marks": list(table.marks),
        **({} if table.tested is None else {"tested": table.tested}),
        "notes": list(table.notes),
    }


def page_json(table: Table) -> dict[str, Any]:
    """Return a table as a page shows it: cells as texts, with their intervals, ranks and marks, and all notes.

    >>> value = Column("v", (Estimate(0.5, low=0.25, high=0.75), None), "number", emphasis={0: 1}, p_values={0: 0.01})
    >>> found = page_json(Table((Column("model", ("a", "b")), value)))
    >>> found["rows"][0]
    [{'shown': 'a'}, {'shown': '0.500', 'interval': '[0.250, 0.750]', 'rank': 1, 'differs': True}]
    """
    table = table.without_repeats()
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": [
            {"heading": column.title, "group": column.group, "is_text": column.is_text} for column in table.columns
        ],
        "rows": [[_page_cell(column, row) for column in table.columns] for row in range(table.height)],
        "separators": [[row, list(texts)] for row, texts in sorted(table.separators.items())],
        "notes": table.reading_notes("ci", ("Bold", "Underlined")),
    }


def _page_cell(column: Column, row: int) -> dict[str, Any]:
    shown, interval = column.parts(row)
    cell = column.cells[row]
    reason = cell.reason if isinstance(cell, Estimate) and cell.value is None else None
    more = {
        "interval": interval,
        "rank": column.emphasis.get(row),
        "differs": column.is_significant(row),
        "reason": reason,
    }
    return {"shown": shown, **{name: value for name, value in more.items() if value}}


def unique_keys(table: Table) -> list[str]:
    """Return the keys of the columns, with a number added to a repeated one: a model may have the name of a column."""
    keys: list[str] = []
    for column in table.columns:
        key, number = column.key, 1
        while key in keys:
            number += 1
            key = f"{column.key}_{number}"
        keys.append(key)
    return keys


def _column_json(key: str, column: Column) -> dict[str, Any]:
    more: dict[str, Any] = {
        "unit": column.unit,
        "group": column.group,
        "emphasis": {str(row): n for row, n in column.emphasis.items()},
    }
    if column.p_values:
        more |= {"level": column.level, "p": {str(row): p for row, p in column.p_values.items()}}
    return {"key": key, "heading": column.title, "kind": column.kind, **{k: v for k, v in more.items() if v}}


def _value(cell: Cell) -> Any:
    """Return a cell as JSON values."""
    if isinstance(cell, Estimate):
        return cell.to_json()
    return cell._asdict() if isinstance(cell, Range) else cell


# Cells of CSV
def export_cell(value: Any) -> Any:
    """Return a value as a CSV cell that a spreadsheet does not read as a formula: a text that begins like one, and is
    no number, gets an apostrophe before it.

    >>> export_cell("=1+1"), export_cell("-5"), export_cell("- one"), export_cell(-5), export_cell(None)
    ("'=1+1", '-5', "'- one", -5, '')
    """
    cell = csv_cell(value)
    if not isinstance(cell, str):
        return cell
    safe = f"'{cell}" if cell.startswith(RISKY) and not _NUMBER.fullmatch(cell) else cell
    # Before Python 3.13 a carriage return is not quoted, so the rest of the text would begin a new row.
    return safe.replace("\r\n", "\n").replace("\r", "\n") if "\r" in safe else safe


def csv_cell(value: Any) -> Any:
    """Return a value as a CSV cell: empty for null, `true` and `false`, and JSON for a nested value.

    >>> csv_cell(None), csv_cell(True), csv_cell(["a"]), csv_cell(1.5)
    ('', 'true', '["a"]', 1.5)
    """
    if isinstance(value, dict | list):
        return json_text(value)
    return {None: "", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else value


def json_text(value: Any) -> str:
    """Return a value of a query as JSON on one line."""
    return orjson.dumps(value, default=_json_number, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z).decode()


def _json_number(value: Any) -> Any:
    """Return a value that `orjson` does not know as one that it does: a decimal as a number, others as text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    return str(value)
