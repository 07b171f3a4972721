"""The tables of faults are those of the page, and every test that they name exists."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

from tests.faults.network import FAULTS
from tests.faults.table import ADDRESSES, CLOCKS, DISKS, tables

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "explanation/failure-model.md"


def test_the_page_has_the_tables() -> None:
    """`TRIPOS_UPDATE_GOLDEN=1` writes them."""
    text = PAGE.read_text("utf-8")
    wanted = text
    for name, table in tables().items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        assert place.search(wanted), f"the page has no place for the table `{name}`"
        wanted = place.sub(lambda found, table=table: f"{found[1]}{table}{found[2]}", wanted)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        PAGE.write_text(wanted, "utf-8")
    assert PAGE.read_text("utf-8") == wanted


def test_every_test_that_is_named_exists() -> None:
    for row in (*ADDRESSES, *DISKS, *CLOCKS):
        path, _, name = row.test.partition("::")
        tree = ast.parse((TESTS / path).read_text("utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, row.test


def test_there_are_as_many_faults_as_were_promised_and_each_has_a_name_of_its_own() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names)) >= 40
    assert len(ADDRESSES) + len(DISKS) + len(CLOCKS) == len({row.fault for row in (*ADDRESSES, *DISKS, *CLOCKS)})
    assert len(DISKS) >= 20 and len(CLOCKS) >= 4
