"""The page on tables lists every table, view, column and macro, as the database has them.

`TRIPOS_UPDATE_GOLDEN=1` writes the generated part anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import duckdb
import pytest

from tests.docs.test_docs import DOCS, EDUBENCH_RUN, heard
from tripos.cli.main import run_command
from tripos_warehouse.query.statements import tables_and_macros
from tripos_warehouse.store.schemas import MEANINGS, OF_TABLES, meaning
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

PAGE = DOCS / "reference/tables.md"
BEGIN, END = "<!-- columns -->\n", "<!-- end of columns -->\n"
VIEWS = ("scores", "columns", "rationales", "samples", "judgements", "comparisons", "items", "slots", "metrics")
VIEWS += ("conversations", "turns", "notes")
TABLES = ("runs", "run_items", "run_steps", "run_slots", "items", "slots", "samples", "judgements", "scores")
TABLES += ("comparisons", "conditions", "drafts", "measures", "turns", "vectors", "batches", "promotions", "notes")


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opened on a small run of EduBench."""
    root = tmp_path_factory.mktemp("tables") / "results"
    with heard():
        assert run_command(EDUBENCH_RUN.format(store=root).split()) == 0
    opened = connect(Store.open(root, create=False))
    yield opened
    opened.close()


def columns_of(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    found = connection.execute(f"select column_name, column_type from (describe {table})").fetchall()
    return {name: "enumeration" if kind.startswith("ENUM") else kind.lower() for name, kind in found}


def part(connection: duckdb.DuckDBPyConnection) -> str:
    """Return what the page says of columns."""
    lines = []
    axes = [name for name in columns_of(connection, "edubench_shipped.items") if name not in MEANINGS]
    for schema, tables in (("edubench_shipped", VIEWS), ("main", TABLES)):
        lines.append(
            "## Views of a benchmark\n" if schema == "edubench_shipped" else "## Tables across benchmarks and runs\n"
        )
        if schema == "edubench_shipped":
            lines.append(
                f"The axes, here {', '.join(f'`{axis}`' for axis in axes)}, are enumerations\nin every view but `metrics`.\n"
            )
        for table in tables:
            lines += [f"### `{schema}.{table}`\n", "| column | type | |", "| --- | --- | --- |"]
            lines += [
                f"| `{name}` | {kind} | {meaning(table, name)} |"
                for name, kind in columns_of(connection, f"{schema}.{table}").items()
                if name not in axes
            ]
            lines.append("")
    return "\n".join(lines)


def test_every_column_is_listed_with_its_type_and_meaning(connection: duckdb.DuckDBPyConnection) -> None:
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    shown, _, tail = rest.partition(END)
    wanted = part(connection)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        PAGE.write_text(f"{head}{BEGIN}{wanted}{END}{tail}", "utf-8")
        shown = wanted
    assert shown == wanted


def test_every_table_and_macro_is_on_the_page(connection: duckdb.DuckDBPyConnection) -> None:
    text = PAGE.read_text("utf-8")
    for name, parameters in tables_and_macros(connection).items():
        if name.endswith("()"):
            row = next(line for line in text.splitlines() if line.startswith("|") and f"`{name}`" in line)
            assert not [each for each in parameters if f"`{each}`" not in row], name
        else:
            assert f"### `{name}`" in text or f"### `main.{name}`" in text, name


def test_no_meaning_is_of_a_column_that_is_not_there(connection: duckdb.DuckDBPyConnection) -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", part(connection), re.MULTILINE))
    assert set(MEANINGS) <= listed
    for table, column in OF_TABLES:
        assert column in {
            **(columns_of(connection, f"main.{table}") if table in TABLES else {}),
            **(columns_of(connection, f"edubench_shipped.{table}") if table in VIEWS else {}),
        }


def names_in(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the fields of a JSON schema, those inside of others behind a point."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        for kind in (inner, inner.get("items"), *inner.get("oneOf", ())):
            if isinstance(kind, dict):
                yield from (f"{name}.{each}" for each in names_in(kind))


def test_the_names_of_every_eval_ever_are_those_of_its_schemas() -> None:
    folder = files("tripos_warehouse").joinpath("exports/schemas/every_eval_ever")
    schemas = [
        json.loads(folder.joinpath(f"{name}.schema.json").read_bytes()) for name in ("eval", "instance_level_eval")
    ]
    known = {name for schema in schemas for name in names_in(schema)}
    rows = re.findall(
        r"^\|.*\|.*\|(.*)\|$", PAGE.read_text("utf-8").partition("## Names elsewhere")[2].partition(BEGIN)[0], re.M
    )
    said = [name for row in rows[2:] for name in re.findall(r"`([^`]+)`", row)]
    assert len(said) > 10
    # What `metadata` holds is for whoever writes it to name.
    assert [name for name in said if name not in known and not name.startswith("metadata.")] == []
