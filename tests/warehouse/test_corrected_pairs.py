"""Differences of models in a measure that people correct: a corrected figure of its own, with a λ of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.warehouse.synthetic import Results, measured
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import measure_differences, model_differences
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
scorer rubric(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scenario sums {
  ask answer by candidate { prompt "Add." }
  score mark = rubric(answer.text)
}
measure clear = mean(mark) corrected by people
"""
ITEMS, GRADED = 60, 20


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(compile_text(SPEC))


def marks(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return grades of a judge and of people to two models, which share how hard an item is."""
    random = np.random.default_rng(seed)
    ease = random.normal(3, 1.2, ITEMS)
    found = {}
    for model, better in (("a", 0.5), ("b", 0.0)):
        people = np.clip(np.rint(ease + better + random.normal(0, 0.5, ITEMS)), 1, 5)
        found[model] = np.clip(np.rint(6 - people + random.normal(0, 0.3, ITEMS)), 1, 5), people
    return found


def write(store: Store, plan: Plan, found: dict[str, tuple[np.ndarray, np.ndarray]], graded: Sequence[range]) -> None:
    results = Results(plan, models=("a", "b"))
    for (model, (judge, people)), known in zip(found.items(), graded, strict=True):
        for item in range(ITEMS):
            about = ("sums", "mark", f"i{item:02}")
            results.add(*about, float(judge[item]), model=model, evaluator="j1")
            if item in known:
                results.add(*about, float(people[item]), model=model, evaluator="human/anna", drawn_of=ITEMS)
    results.write(store)


def test_the_difference_has_the_power_of_the_difference(store: Store, plan: Plan) -> None:
    found = marks(1)
    for model, (judge, people) in found.items():  # a judge that says the contrary of items, and follows the difference
        found[model] = judge + (people - np.mean([each for _, each in found.values()], axis=0)) * 2, people
    write(store, plan, found, [range(GRADED)] * 2)
    names = tuple(f"i{item:02}" for item in range(ITEMS))
    with connect(store) as connection:
        half = Side(connection, plan, ("a", "b"))
        difference = model_differences(half, plan.measures[0], items=names)[(), "a", "b"]
        sides = [Side(connection, plan, (model,)) for model in ("a", "b")]
        [row] = measure_differences(*sides, plan.measures[0], items=names)
    of_judge, of_people = (found["a"][kind] - found["b"][kind] for kind in (0, 1))
    given = [*of_people[:GRADED], *[None] * (ITEMS - GRADED)]
    expected = corrected_mean(of_judge, given, ends=(-4, 4))
    assert expected.power > 0.2
    assert difference.value == pytest.approx(expected.result.value)
    assert difference.standard_error == pytest.approx(expected.result.standard_error)
    assert difference.p is not None
    assert row.difference.value == pytest.approx(-(difference.value or 0))
    of_each = {each.model: each for each in measured(store, plan, "clear").rows}
    assert (row.a, row.b) == pytest.approx((of_each["a"].value, of_each["b"].value))
    assert of_each["a"].power == 0  # neither model's own judge says anything of people


def test_over_some_items_labels_of_others_do_not_count(store: Store, plan: Plan) -> None:
    found = marks(2)
    write(store, plan, found, [range(GRADED)] * 2)
    some = tuple(f"i{item:02}" for item in range(10, ITEMS))
    with connect(store) as connection:
        difference = model_differences(Side(connection, plan, ("a", "b")), plan.measures[0], items=some)[(), "a", "b"]
        [(left,)] = connection.execute("select count(distinct item_id) from demo.scores").fetchall()
    of_judge, of_people = (found["a"][kind][10:] - found["b"][kind][10:] for kind in (0, 1))
    expected = corrected_mean(of_judge, [*of_people[:10], *[None] * (ITEMS - GRADED)], ends=(-4, 4))
    assert (difference.value, difference.n) == (pytest.approx(expected.result.value), 10)
    assert left == ITEMS


def test_people_may_grade_other_items_of_each_model(store: Store, plan: Plan) -> None:
    write(store, plan, marks(3), [range(GRADED), range(GRADED, 2 * GRADED + 5)])
    names = tuple(f"i{item:02}" for item in range(ITEMS))
    with connect(store) as connection:
        difference = model_differences(Side(connection, plan, ("a", "b")), plan.measures[0], items=names)[(), "a", "b"]
    errors = {each.model: each.standard_error or 0.0 for each in measured(store, plan, "clear").rows}
    assert difference.n == GRADED
    assert difference.df == GRADED - 2
    assert difference.standard_error == pytest.approx(float(np.hypot(*errors.values())), rel=0.3)


def test_a_model_that_people_did_not_grade_is_compared_with_none(store: Store, plan: Plan) -> None:
    write(store, plan, marks(4), [range(GRADED), range(0)])
    names = tuple(f"i{item:02}" for item in range(ITEMS))
    with connect(store) as connection:
        assert model_differences(Side(connection, plan, ("a", "b")), plan.measures[0], items=names) == {}
