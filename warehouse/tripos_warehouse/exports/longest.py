"""How long the texts of a table are, in UTF-16 units, which is how spreadsheets count."""

from __future__ import annotations

import duckdb

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.exports.tables import open_fields
from tripos_warehouse.runs import Run

SHORT = 16_000
"""A text of so many characters fits into a cell whatever they are."""


def longest_texts(connection: duckdb.DuckDBPyConnection, plan: Plan, run: Run, name: str) -> dict[str, int]:
    """The length of the longest text of each column of the table `name` that may not fit into a cell."""
    schema = sql.name(run.benchmark)
    match name:
        case "samples":
            columns = {each: each for each in ("messages", "reply", "parsed", "error")}
        case "items":
            fields = dict.fromkeys(field for own in open_fields(plan, True).values() for field in own)
            paths = {each: '$."' + each + '"' for each in fields}
            columns = {each: f"(fields ->> {sql.text(path)})" for each, path in paths.items()}
        case _:
            return {}
    if not columns:
        return {}
    longest = ", ".join(f"coalesce(max({_units(each)}), 0)" for each in columns.values())
    [found] = connection.execute(f"select {longest} from {schema}.{name}").fetchall()
    return {each: units for each, units in zip(columns, found, strict=True) if units > SHORT}


def _units(text: str) -> str:
    """SQL for the length of a text; a character beyond the first plane takes two units."""
    beyond = f"length(regexp_replace({text}, '[^\\x{{10000}}-\\x{{10FFFF}}]', '', 'g'))"
    return f"length({text}) + case when length({text}) > {SHORT} then {beyond} else 0 end"
