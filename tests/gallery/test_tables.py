"""Tables of the gallery: each prints with the benchmark's rows and mock models, and its page names the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each
from tests.gallery.playing import GALLERY, TABLES, facts_of
from tests.latex_tables import read_tables
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan

NAMES = sorted(path.parent.name for path in GALLERY.glob(f"*/{TABLES}"))


def plan_of(name: str) -> Plan:
    plan = find_spec(str(GALLERY / name)).compile().plan
    assert plan is not None
    return plan


def test_ten_benchmarks_declare_a_table() -> None:
    assert len(NAMES) >= 10


@each("name", NAMES)
def test_the_page_of_a_benchmark_names_its_tables(name: str) -> None:
    page = (GALLERY.parents[1] / f"docs/gallery/{name}.md").read_text("utf-8")
    for table in plan_of(name).tables:
        assert f"`tripos report --table {table.name}`: {plan_of(name).title_of('table', table.name, 'en')}" in page


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_a_table_has_figures_of_a_mock_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    """Each column has a figure, and none of them is a hole: a name of a value that no row has would leave one."""
    monkeypatch.chdir(tmp_path)
    ran = tripos("run", f"gallery/{name}", *facts_of(name).options)
    assert ran.code == 0, ran.err
    tables = tripos("report", "--tables", "--format", "json").data["tables"]
    assert [table["name"] for table in tables] == [f"{name}-{table.name}" for table in plan_of(name).tables]
    for table in tables:
        figures = [column["key"] for column in table["columns"] if column["kind"] == "number"]
        assert figures and table["rows"]
        for key in figures:
            assert any(row[key] is not None and row[key]["value"] is not None for row in table["rows"]), (name, key)
    assert len(read_tables(tripos("report", "--tables", "--format", "latex").out)) == len(tables)
