"""Tables with models, or pairs of evaluators, side by side: what gives way where there is no room."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.synthetic import Results, measured
from tripos_compiler.language.figures import is_pooled, measures_of
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.measure_rows import MeasureTable
from tripos_warehouse.report.tables import pivot_table
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.text import fitted

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dimension quality "Quality" {
  metric CLAR "Clarity of what is said" { scale 1..5, asks "?" }
  metric FACT "Accuracy of what is said" { scale 1..5, asks "?" }
}
scorer rubric(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate rubric {
  |      | CLAR | FACT |
  | sums |  x   |  x   |
}
scenario sums {
  ask answer by candidate { prompt "Go." }
  score rubric(answer.text)
}
measure by_metric = mean(rubric) by metric
measure whole     = mean(by_metric)
measure apart     = mean(rubric) by evaluator, metric
measure of_each   = mean(apart) by evaluator
measure agreement = kendall_w(rubric, models: together) across judge by metric, pair
measure of_pairs  = mean(agreement) by pair
measure alone     = kendall_w(rubric) across judge
"""
JUDGES = ("judge/one", "judge/three", "judge/two")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(compile_text(SPEC))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory, plan: Plan) -> dict[str, MeasureTable]:
    models = ("lab/a-model-with-a-name", "lab/b-model-with-a-name", "lab/c-model-with-a-name")
    results = Results(plan, models=models, judges=JUDGES)
    for item in range(6):
        for place, model in enumerate(models):
            for offset, judge in enumerate(JUDGES):
                for metric in ("CLAR", "FACT"):
                    value = float(1 + (item + place + offset * (item % 2)) % 5)
                    results.add("sums", "rubric", f"i{item}", value, model=model, metric=metric, evaluator=judge)
    store = Store.open(tmp_path_factory.mktemp("beside") / "results", create=True)
    results.write(store)
    return {each.name: measured(store, plan, each.name) for each in plan.measures}


def shown(plan: Plan, tables: dict[str, MeasureTable], name: str, width: int) -> list[str]:
    models = list(dict.fromkeys(row.model for row in tables[name].rows))
    table = pivot_table(plan, tables[name], models, tuple(tables.values()), language="en")
    assert table is not None
    layout = fitted(table, width)
    assert layout is not None
    lines = layout.lines()
    assert max(map(cell_len, lines)) <= width
    return lines


def test_where_there_is_room_every_model_has_its_column_and_counts_stand_beside(
    plan: Plan, tables: dict[str, MeasureTable]
) -> None:
    lines = shown(plan, tables, "by_metric", 150)
    assert lines[0].split()[1:4] == [f"lab/{letter}-model-with-a-name" for letter in "abc"]
    assert lines[0].split()[4:] == ["items", "n", "coverage"]


def test_where_room_is_short_counts_then_names_then_intervals_give_way_and_are_told_below(
    plan: Plan, tables: dict[str, MeasureTable]
) -> None:
    lines = shown(plan, tables, "by_metric", 100)
    assert lines[0].split()[1:] == [f"lab/{letter}-model-with-a-name" for letter in "abc"]
    assert lines[-1] == "items 6, n 18, coverage 100%"
    lines = shown(plan, tables, "by_metric", 78)
    assert lines[0].split()[1:] == ["A", "B", "C"]
    assert lines[-4:-1] == [f"{letter}  lab/{letter.lower()}-model-with-a-name" for letter in "ABC"]
    for width, mark, told in ((78, "[", ""), (60, "±", "±: how far"), (42, "", "95 % intervals: at most ±")):
        lines = shown(plan, tables, "by_metric", width)
        assert [each for each in "[±" if each in lines[2]] == list(mark) and lines[-1].startswith(told)
    table = pivot_table(plan, tables["by_metric"], ["lab/a-model-with-a-name", "b", "c"], ())
    assert table is not None and fitted(table, 25) is None


def test_the_mean_of_the_cells_stands_below_them(plan: Plan, tables: dict[str, MeasureTable]) -> None:
    lines = shown(plan, tables, "by_metric", 150)
    assert [line.split()[0] for line in lines[2:]] == ["Clarity", "Accuracy", "mean"]
    [first, *_] = tables["whole"].rows
    assert lines[-1].split()[1] == f"{first.value:.2f}"


def test_each_evaluator_has_a_mean_of_its_own(plan: Plan, tables: dict[str, MeasureTable]) -> None:
    lines = shown(plan, tables, "apart", 150)
    assert [line.split()[0] for line in lines[2:]] == [word for judge in JUDGES for word in (judge, "Accuracy", "mean")]


def test_agreement_has_pairs_side_by_side_and_says_nothing_of_models(
    plan: Plan, tables: dict[str, MeasureTable]
) -> None:
    lines = shown(plan, tables, "agreement", 150)
    assert "judge/one & judge/three" in lines[0]
    assert not [line for line in lines if "lab/" in line]
    assert [line.split()[0] for line in lines[2:5]] == ["Clarity", "Accuracy", "mean"]


def test_a_figure_is_of_all_models_where_its_aggregate_is(plan: Plan) -> None:
    pooled = {each.name for each in plan.measures if is_pooled(each.figure, measures_of(plan))}
    assert pooled == {"agreement", "of_pairs"}
