"""The headline of a run: the figures of the report, in 20 lines of any width."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from tests.warehouse.test_report import reported
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable
from tripos_warehouse.report.remarks import Remark
from tripos_warehouse.report.run_report import Report
from tripos_warehouse.report.text import LEAST_TABLE, MOST_LINES, baseline_sentence, render_headline
from tripos_warehouse.store.store import Store

Build = Callable[..., dict[str, list[dict[str, Any]]]]
MODELS = tuple(f"provider/大模型-{number}" for number in range(10))
NAMES = ("overall", "first_scenario.accuracy", "second_scenario.win_rate_pedagogical", *(f"s{n}.f1" for n in range(6)))


def made(report: Report, models: tuple[str, ...], names: tuple[str, ...], better: float = 0.0) -> Report:
    """A report of these models and measures, each a headline; values and intervals differ from cell to cell."""
    [first, *_] = report.plan.measures
    tables = []
    for place, name in enumerate(names):
        rows = []
        for number, model in enumerate(models):
            value = better + (place + 1) * (number + 2) / 100
            rows.append(
                MeasureRow(
                    value,
                    low=value - 0.01,
                    high=value + 0.02,
                    standard_error=0.1,
                    method="logit",
                    model=model,
                    items=7,
                    n=9 + number,
                    total=20,
                    coverage=0.45,
                )
            )
        tables.append(MeasureTable(first.model_copy(update={"name": name, "by": ()}), tuple(rows), False))
    benchmark = report.plan.benchmark.model_copy(update={"headline": names})
    measures = tuple(table.measure for table in tables)
    plan = report.plan.model_copy(update={"benchmark": benchmark, "measures": measures})
    return replace(report, plan=plan, run=replace(report.run, models=models), measures=tuple(tables))


@pytest.fixture
def found(store: Store, run_rows: Build) -> Report:
    store.append(run_rows("r1", ("mock/a",)))
    return reported(store, "r1")


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("models", [MODELS[:1], MODELS[:2], MODELS])
@pytest.mark.parametrize("names", [NAMES[:1], NAMES[:2], NAMES])
def test_it_has_20_lines_at_most_and_tells_how_much_is_left_out(
    found: Report, width: int, models: tuple[str, ...], names: tuple[str, ...]
) -> None:
    report = made(found, models, names)
    lines = render_headline(report, width).plain.splitlines()
    assert len(lines) <= MOST_LINES
    text = "\n".join(lines)
    shown = sum(model in text for model in models)
    left = re.search(r"(\d+) more models?", text)
    assert len(models) == 1 or shown + (int(left[1]) if left else 0) == len(models), text
    assert all(cell_len(line) <= width for line in lines if not line.startswith("in the report")), text


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("models", [MODELS[:1], MODELS[:3]])
def test_every_figure_is_that_of_the_report(found: Report, width: int, models: tuple[str, ...]) -> None:
    report = made(found, models, NAMES[:3])
    text = render_headline(report, width).plain
    for table in report.measures:
        for row in table.rows:
            assert row.value is not None
            assert f"{row.value:.3f}" in text, text
    assert "9" in text and "45%" in text


def test_the_best_models_come_first_where_not_all_have_room(found: Report) -> None:
    many = tuple(f"m/{number:02}" for number in range(40))
    report = made(found, many, NAMES[:1])
    lines = render_headline(report, 80).plain.splitlines()
    order = [line.split()[0] for line in lines if line.startswith("m/")]
    assert order == sorted(many, reverse=True)[: len(order)] and len(order) >= LEAST_TABLE - 6
    assert f"{40 - len(order)} more models" in "\n".join(lines)


def test_notes_give_way_to_the_table_and_are_counted(found: Report) -> None:
    report = made(found, MODELS, NAMES[:1])
    noted = replace(report, remarks=tuple(Remark("copies", f"remark {n} " + "word " * 20) for n in range(9)))
    lines = render_headline(noted, 80).plain.splitlines()
    assert len(lines) <= MOST_LINES and all(any(model in line for line in lines) for model in MODELS)
    kept = sum(line.startswith("note: ") for line in lines)
    assert f"{9 - kept} more notes" in "\n".join(lines)


def test_what_is_not_clear_of_a_baseline_is_told_in_full_or_counted(found: Report) -> None:
    report = made(found, ("a/x", "b/y", "baseline/constant:0"), NAMES[:2])
    told = baseline_sentence(report, report.measures, 200)
    assert told == "not clear of a baseline: every model in overall, first_scenario.accuracy"
    short = baseline_sentence(report, report.measures, 70)
    assert short == "not clear of a baseline: 2 of 2 models in 2 of 2 measures"
    near = made(found, ("baseline/constant:0", "a/x"), NAMES[:2])
    told = baseline_sentence(near, near.measures, 200)
    assert told == "not clear of a baseline: a/x in overall", "its interval begins where the baseline is"
    better = replace(near, measures=near.measures[1:])
    assert baseline_sentence(better, better.measures, 200) is None
    assert "not clear of a baseline: every model" in render_headline(report, 120).plain


def test_without_a_headline_the_first_measure_stands_for_the_benchmark(
    store: Store, run_rows: Build, plan: Plan
) -> None:
    store.append(run_rows("r1", ("m", "n")))
    report = reported(store, "r1")
    [by_metric] = [table for table in report.measures if table.measure.name == "by_metric"]
    only = replace(report, measures=(by_metric,), plan=plan.model_copy(update={"measures": (by_metric.measure,)}))
    lines = render_headline(only, 80).plain.splitlines()
    assert "by_metric by metric" in lines and len(lines) <= MOST_LINES


def test_sql_is_shown_on_demand_and_is_that_of_the_headline(found: Report) -> None:
    assert "SQL of" not in render_headline(found).plain
    text = render_headline(found, sql=True).plain
    assert re.findall(r"SQL of (\w+):", text) == ["overall"]


def test_an_expectation_that_did_not_hold_is_always_told(quiz: Any, tripos: Any) -> None:
    from tests.conftest import QUIZ

    (quiz / "quiz.tripos").write_text(QUIZ + "expect length >= 0.5\nexpect length < 0.5\n", "utf-8")
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careless")
    assert done.code == 0
    assert re.search(r"^expectations: 1 held, 1 did not: length (>=|<) 0.5$", done.out, re.MULTILINE)
    assert "\nmock models took part: no expectation fails this run\n" in done.out


def test_a_measure_stands_once(found: Report) -> None:
    report = made(found, MODELS[:2], NAMES)
    assert isinstance(report.plan.measures[0], Measure)
    text = render_headline(report, 200).plain
    assert all(len(re.findall(rf"^{re.escape(name)} ", text, re.MULTILINE)) == 1 for name in NAMES)
