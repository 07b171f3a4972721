"""Queries of the cookbook whose answer needs more than one run."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Command
from tests.docs.test_docs import blocks
from tripos_warehouse.query.results import run_query
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect


def recipe(heading: str) -> str:
    """Return the query below a heading of the cookbook."""
    lines = (Path(__file__).parents[2] / "docs/reference/queries.md").read_text("utf-8").splitlines()
    line = lines.index(heading) + 1
    return next(block for block in blocks("reference/queries.md") if block.line > line).text


def test_what_changed_between_two_runs_is_the_difference_of_what_each_kept(quiz: Path, tripos: Command) -> None:
    for judge in ("a", "b"):
        assert (
            tripos("run", ".", "--model", "mock/careful", "--role", f"judge=mock/careful:{judge}", "--json").code == 0
        )
    newest, oldest = (listed["run_id"] for listed in tripos("list", "--json").data)
    kept = {}
    for run in (oldest, newest):
        measures = tripos("report", run, "--json").data["measures"]
        rows = [(each["name"], row.get("metric"), row["value"]) for each in measures for row in each["rows"]]
        kept[run] = {(name, metric): value for name, metric, value in rows}
    with connect(Store.open("results", create=False)) as connection:
        found = run_query(connection, recipe("### 27. Changes between two runs")).to_pylist()
    assert len(found) == 3
    assert any(row["change"] for row in found), "the two judges must differ somewhere"
    for row in found:
        metric = next((name for name in ("CLEAR", "RIGHT") if name in row["dims"]), None)
        before, after = (kept[run][row["measure"], metric] for run in (oldest, newest))
        assert (row["before"], row["after"], row["change"]) == (before, after, after - before)
    sizes = [abs(row["change"]) for row in found]
    assert sizes == sorted(sizes, reverse=True)


def test_what_was_measured_once_has_nothing_before_it(quiz: Path, tripos: Command) -> None:
    assert tripos("run", ".", "--model", "mock/careful", "--role", "judge=mock/careful", "--json").code == 0
    with connect(Store.open("results", create=False)) as connection:
        found = run_query(connection, recipe("### 27. Changes between two runs")).to_pylist()
    assert {(row["before"], row["change"]) for row in found} == {(None, None)}
