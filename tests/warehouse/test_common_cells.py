"""Measures of the same raters: their cells are computed once for all of them, and no figure changes."""

from __future__ import annotations

import duckdb
import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.synthetic import Results
from tests.warehouse.test_measures import HEAD
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.evaluation import evaluate, shared_cells
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.measures.measure_rows import MeasureTable
from tripos_warehouse.query import aggregates as listed
from tripos_warehouse.query.connection import StoreConnection
from tripos_warehouse.report import run_report
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, connect_run

OTHERS = """
measure each = kendall_w(rubric, models: together) across judge by metric, pair
measure all = mean(each) by pair
measure own = mean_tau_agreement(rubric) across judge by metric
measure owns = mean(own)
measure alone = krippendorff_alpha(rubric) across judge
measure plain = mean(rubric)
"""


def graded(store: Store) -> Plan:
    plan = plan_of(compile_text(HEAD.replace("BODY", "") + OTHERS))
    results = Results(plan, judges=("j1", "j2", "j3"))
    marks = ([1.0, 2, 3, 4, 5, 1, 2, 3], [5.0, 2, 1, 4, 3, 1, 4, 2], [1.0, 3, 2, 4, 5, 2, 1, 3])
    for metric in ("CLAR", "FACT"):
        for judge, those in zip(results.judges, marks, strict=True):
            for item, mark in enumerate(those[::-1] if metric == "FACT" and judge == "j1" else those):
                results.add("sums", "rubric", f"i{item}", mark, metric=metric, evaluator=judge, arms={"hint": "none"})
    results.write(store)
    return plan


def rounded(table: MeasureTable) -> list[dict[str, object]]:
    return [
        {name: round(value, 12) if isinstance(value, float) else value for name, value in row.items()}
        for row in table.to_rows()
    ]


def test_cells_that_measures_have_in_common_are_computed_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = graded(store)
    calls: list[str] = []
    statistic = listed.statistic

    def counted(what: str, *given: object) -> object:
        calls.append(what)
        return statistic(what, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(listed, "statistic", counted)
    with connect(store) as connection:
        apart = [evaluate(connection, plan, measure) for measure in plan.measures]
        cells = calls.count("kendall_w") // 2, calls.count("mean_tau_agreement") // 2
        calls.clear()
        with shared_cells(connection, plan) as shared:
            together = [evaluate(connection, plan, measure, shared=shared) for measure in plan.measures]
        left = connection.execute("select count(*) from duckdb_tables() where table_name like '%cells%'").fetchall()
    assert {sql_of(plan, each) for each in plan.measures[:4]} == shared.keys()
    assert cells == (calls.count("kendall_w"), calls.count("mean_tau_agreement"))
    assert min(cells) > 1
    assert calls.count("krippendorff_alpha") == 1
    assert [rounded(table) for table in together] == [rounded(table) for table in apart]
    assert left == [(0,)]
    assert all(table.rows for table in apart)


def test_what_the_database_refuses_is_not_shared(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = graded(store)
    execute = StoreConnection.execute

    def refusing(self: StoreConnection, query: str, parameters: object = None) -> object:
        if query.startswith("create or replace table"):
            raise duckdb.OutOfMemoryException("no room")
        return execute(self, query, parameters)

    monkeypatch.setattr(StoreConnection, "execute", refusing)
    with connect(store) as connection, shared_cells(connection, plan) as shared:
        assert shared == {}


def test_the_remark_on_single_items_computes_no_cell_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = graded(store)
    calls: list[str] = []
    statistic = listed.statistic

    def counted(what: str, *given: object) -> object:
        calls.append(what)
        return statistic(what, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(listed, "statistic", counted)
    connection, run = connect_run(store)
    with connection:
        run_report.report(connection, plan, run)
        with_remark = sorted(calls)
        calls.clear()
        monkeypatch.setattr(run_report, "_single_items", lambda *_: iter(()))
        run_report.report(connection, plan, run)
    assert with_remark == sorted(calls)
    assert "kendall_w" in calls
