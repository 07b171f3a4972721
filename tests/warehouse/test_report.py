"""Measures, reports and the list of runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.lengths import spread
from tripos_compiler.plan import Expectation, Measure, Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.report.run_report import Report, report
from tripos_warehouse.report.text import render_report
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import find_run, get_plan, list_runs

Build = Callable[..., dict[str, list[dict[str, Any]]]]

GOLDEN = Path(__file__).parent / "report_80.txt"


def reported(store: Store, run_id: str) -> Report:
    connection = connect(store, run_id)
    run = find_run(connection, run_id)
    return report(connection, get_plan(connection, run), run)


def test_a_measure_has_its_interval_and_coverage(store: Store, run_rows: Build, plan: Plan) -> None:
    rows = run_rows("r1", ("m",), value=lambda model, item: (5.0, 6.0, 7.0, 8.0)[item])
    for row in rows["scores"][-2:]:
        row.update(value=None, status="parse_failure")
    store.append(rows)
    [row] = evaluate(connect(store), plan, plan.measures[0]).rows
    assert (row.model, row.value, row.items, row.n, row.total, row.coverage) == ("m", 6.0, 3, 6, 8, 0.75)
    assert row.standard_error == pytest.approx(1 / 3**0.5)
    assert row.low is not None and row.high is not None
    assert 1 < row.low < 6 - 4.302653 / 3**0.5 < 6 + 4.302653 / 3**0.5 < row.high < 10
    assert row.half_width == max(6 - row.low, row.high - 6)


@pytest.mark.parametrize(
    ("sql", "message"),
    [("select 1 as model", "internal error: the SQL of measure `overall` lacks"), ("select nope", "Binder Error")],
)
def test_sql_that_does_not_fit_is_an_error(
    store: Store, plan: Plan, sql: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tripos_warehouse.measures.evaluation.sql_of", lambda *_, **__: sql)
    with pytest.raises(StoreError, match=f"S0201: .*{message}"):
        evaluate(connect(store), plan, plan.measures[0])


def test_a_measure_whose_sql_fails_hides_no_other(
    store: Store, run_rows: Build, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(run_rows("r1", ("m",)))
    connection = connect(store, "r1")
    figure = plan.measures[0].figure
    broken = Measure(name="broken", by=(), low=0, high=1, figure=figure)
    wanted = Expectation(figure=figure, operator=">", value=0, shown="broken > 0")

    def sql(plan: Plan, measure: Measure, *_: object, **__: object) -> str:
        return "select nope" if measure.name.startswith("broken") else sql_of(plan, measure)

    monkeypatch.setattr("tripos_warehouse.measures.evaluation.sql_of", sql)
    first, *rest = plan.measures
    odd = plan.model_copy(update={"measures": (first, broken, *rest), "expectations": (wanted,)})
    found = report(connection, odd, find_run(connection, "r1"))
    assert [bool(table.rows) for table in found.measures] == [True, False, True, True]
    assert (found.failed, found.held, found.expectations[0].failed) == (True, False, True)
    data = found.to_json()["measures"]
    assert (data[1]["rows"], "Binder Error" in data[1]["error"], data[0]["error"]) == (None, True, None)
    text = render_report(found, 80).plain
    assert all(cell_len(line) <= 80 for line in text.split("\nAsk more")[0].splitlines())
    assert "no values: internal error: the SQL of measure `broken` failed: Binder Error" in " ".join(text.split())
    assert text.index("broken\n") < text.index("by_metric")


def test_the_report_at_80_columns(store: Store, run_rows: Build, plan: Plan) -> None:
    rows = run_rows("20260301-080000-abcd", ("openai/gpt", "mock/大模型"), items=6)
    for row in rows["scores"][:3]:
        row.update(value=None, status="parse_failure")
    store.append(rows)
    text = render_report(reported(store, "20260301-080000-abcd"), 80).plain.replace(plan.digest[:12], "<digest>")
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "models", [("m",), ("openai/gpt-5-turbo-2026-01", "qwen/qwen3-235b-a22b", "a/b", "deepseek/deepseek-v4")]
)
@pytest.mark.parametrize("width", spread([60, 80, 120], 2))
def test_only_sql_is_wider_than_the_terminal(
    store: Store, run_rows: Build, models: tuple[str, ...], width: int
) -> None:
    store.append(run_rows("r1", models))
    lines = render_report(reported(store, "r1"), width).plain.split("\nAsk more")[0].splitlines()
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize(("models", "caution"), [(("openai/gpt",), False), (("openai/gpt", "local/small"), True)])
def test_a_model_that_stands_in_brings_a_caution(
    store: Store, run_rows: Build, models: tuple[str, ...], caution: bool
) -> None:
    store.append(run_rows("r1", models))
    found = reported(store, "r1")
    assert found.uses_stand_in_models is caution
    assert ("They say nothing about any model's" in render_report(found).plain) is caution


def test_a_report_is_json_and_shows_all_sql_on_demand(store: Store, run_rows: Build) -> None:
    with pytest.raises(StoreError, match="S0301: the store has no runs yet"):
        find_run(connect(store))
    store.append(run_rows("r1"))
    found = reported(store, "r1")
    told = json.loads(json.dumps(found.to_json()))
    assert told["samples"] == {"ok": 8}
    assert told["run"]["started_at"] == "2026-03-01T08:00:00Z"
    assert [measure["name"] for measure in told["measures"]] == ["overall", "by_metric", "by_subject"]
    assert told["measures"][0]["rows"][0]["coverage"] == 1.0
    assert [render_report(found, sql=sql).plain.count("SQL of") for sql in (False, True)] == [0, 3]


def test_a_run_without_scores_has_a_report(store: Store, run_rows: Build) -> None:
    rows = run_rows("r1")
    store.append({table: rows[table] for table in ("runs", "run_items", "items")})
    text = render_report(reported(store, "r1")).plain
    assert "samples    none" in text
    assert text.count("no scores") == 3


def test_runs_are_listed_newest_first_with_what_they_cover(store: Store, run_rows: Build) -> None:
    store.append(run_rows("a1", ("m1",), items=2))
    rows = run_rows("b2", ("m1", "m2"), items=4, minutes=5)
    for row in rows["scores"]:
        if row["model"] == "m2":
            row.update(value=None, status="refused")
    store.append({table: batch for table, batch in rows.items() if table != "run_ends"})
    newest, oldest = list_runs(connect(store))
    assert (newest.run.run_id, newest.run.status, newest.samples, newest.scored_share) == ("b2", "unfinished", 8, 0.5)
    assert (oldest.run.run_id, oldest.run.status, oldest.samples, oldest.scored_share) == ("a1", "finished", 2, 1.0)
    assert oldest.to_row()["cost_usd"] == 0.125


def test_a_run_is_found_by_the_start_of_its_id(store: Store, run_rows: Build) -> None:
    for minutes, run_id in enumerate(("2026-aa", "2026-ab", "2026-aa1")):
        store.append(run_rows(run_id, minutes=minutes))
    connection = connect(store)
    assert find_run(connection).run_id == "2026-aa1"
    assert find_run(connection, "2026-ab").run_id == "2026-ab"
    assert find_run(connection, "2026-aa").run_id == "2026-aa"
    assert find_run(connection, "2026-aa").evaluators == {"judge": ("openai/judge",)}
    with pytest.raises(StoreError, match="S0301: `2026` could be 3 runs: `2026-aa1`"):
        find_run(connection, "2026")
    with pytest.raises(StoreError, match=r"S0301: no run `2062-ab`\n  help: did you mean `2026-ab`?"):
        find_run(connection, "2062-ab")
