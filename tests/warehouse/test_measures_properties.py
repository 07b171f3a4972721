"""What figures do not depend on: the order of rows, the names of models, and in how many stores the rows were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.warehouse.synthetic import Results
from tests.warehouse.test_measures import plan_with
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

FIGURES = (
    "mean(right) by hint",
    "stdev(long)",
    "median(long) by hint",
    "median(long) / mean(right)",
    "max(mean(long) by hint)",
    "pass_at(2, right)",
)
AGREEMENTS = ("krippendorff_alpha", "kendall_w", "kendall_tau", "spearman", "cohen_kappa", "quadratic_kappa")


@pytest.fixture(scope="module")
def plan() -> Plan:
    inside = [f"measure f{place} = {figure}" for place, figure in enumerate(FIGURES)]
    after = [f"measure {name} = {name}(rubric) across judge by metric" for name in AGREEMENTS]
    return plan_with(*inside, after="\n".join(after) + "\n")


def results(plan: Plan, items: range = range(24), models: tuple[str, ...] = ("ma", "mb")) -> Results:
    """Return scores that follow from the item and the place of the model alone."""
    found = Results(plan, models=models, judges=("j1", "j2"))
    for item in items:
        for place, model in enumerate(models):
            random = np.random.default_rng([item, place])
            ease = random.random()
            for arm in ("none", "some"):
                for number in range(2):
                    where = {"model": model, "number": number, "arms": {"hint": arm}}
                    found.add("sums", "right", f"i{item:02}", float(random.random() < ease), **where)
                    found.add("sums", "long", f"i{item:02}", float(random.poisson(20 * ease)), **where)
            for judge in found.judges:
                mark = float(np.clip(round(1 + 4 * ease + random.normal(0, 0.8)), 1, 5))
                where = {"model": model, "metric": "CLAR", "evaluator": judge, "arms": {"hint": "none"}}
                found.add("sums", "rubric", f"i{item:02}", mark, **where)
    return found


def figures(store: Store, plan: Plan) -> dict[tuple[str, str, tuple[object, ...]], MeasureRow]:
    """Return every value by measure, model and cell, with numbers but for what rounding makes of them."""
    with connect(store) as connection:
        tables = [evaluate(connection, plan, each) for each in plan.measures]
    return {(each.measure.name, row.model, row.by): _rounded(row) for each in tables for row in each.rows}


def _rounded(row: MeasureRow) -> MeasureRow:
    names = ("value", "standard_error", "low", "high")
    numbers = {name: getattr(row, name) for name in names}
    return replace(row, **{name: None if each is None else round(each, 9) + 0.0 for name, each in numbers.items()})


@pytest.fixture
def known(store: Store, plan: Plan) -> dict[tuple[str, str, tuple[object, ...]], MeasureRow]:
    results(plan).write(store)
    found = figures(store, plan)
    assert {row.method for row in found.values()} >= {"log", "jackknife", "bootstrap"}
    return found


@pytest.fixture
def other(tmp_path) -> Store:  # type: ignore[no-untyped-def]
    return Store.open(tmp_path / "other", create=True)


def test_the_order_of_rows_changes_no_figure(known, other: Store, plan: Plan) -> None:  # type: ignore[no-untyped-def]
    shuffled = results(plan)
    np.random.default_rng(6).shuffle(shuffled.scores)  # type: ignore[arg-type]
    shuffled.write(other)
    assert figures(other, plan) == known


def test_the_names_of_models_change_no_figure(known, other: Store, plan: Plan) -> None:  # type: ignore[no-untyped-def]
    names = {"zz/first": "ma", "aa/second": "mb"}
    results(plan, models=tuple(names)).write(other)
    assert {
        (measure, names[model], by): replace(row, model=names[model])
        for (measure, model, by), row in figures(other, plan).items()
    } == known


def test_the_names_of_judges_change_no_figure(known, other: Store, plan: Plan) -> None:  # type: ignore[no-untyped-def]
    renamed = results(plan)
    renamed.judges = ("z9", "a0")
    for score in renamed.scores:
        score["evaluator"] = {"j1": "z9", "j2": "a0"}.get(score["evaluator"])
    renamed.write(other)
    assert figures(other, plan) == known


def test_stores_that_are_merged_have_the_figures_of_one_that_had_it_all(  # type: ignore[no-untyped-def]
    known, other: Store, plan: Plan
) -> None:
    results(plan, range(15)).write(other)
    results(plan, range(9, 24)).write(other)  # six items are in both
    assert figures(other, plan) == known
