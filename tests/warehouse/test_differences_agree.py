"""Comparisons of measures that are no means: p-value and interval are one, also of few items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.compiler.compiling import compile_text, plan_of
from tests.lengths import sized
from tests.unit_errors import turned_round
from tests.warehouse.synthetic import Results
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.jackknife import Jackknife
from tripos_warehouse.measures.sides import CellDifference, Side
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
scorer rubric(reply: text) by judge { prompt "{{ reply }}", gives 1..5 }
scenario sums {
  ask answer by candidate { prompt "Add." }
  score right = contains(answer.text, "4")
  score long  = words(answer.text)
  score mark  = rubric(answer.text)
}
measure half   = mean(right) / 2
measure bare   = mean(long) * 2
measure scaled = (mean(mark) - 1) / 4
"""
CELLS = """
benchmark demo "1.0.0" { languages en }
axis level { easy, middle, hard }
role candidate compared
scenario sums {
  context level
  ask answer by candidate { prompt "Add {{ level }}." }
  score right = contains(answer.text, "4")
}
measure by_level = mean(right) by level
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(compile_text(SPEC))


def differences(store: Store, plan: Plan, models: dict[str, list[tuple[float, float, float]]]) -> dict[str, Estimate]:
    """Return how the first model differs from the second in every measure; an item has a value for each score."""
    results = Results(plan, models=tuple(models))
    items = range(len(next(iter(models.values()))))
    for model, values in models.items():
        for item, (right, long, mark) in zip(items, values, strict=True):
            results.add("sums", "right", f"i{item:02}", right, model=model)
            results.add("sums", "long", f"i{item:02}", long, model=model)
            results.add("sums", "mark", f"i{item:02}", mark, model=model, evaluator="j1")
    results.write(store)
    names = tuple(f"i{item:02}" for item in items)
    with connect(store) as connection:
        side = Side(connection, plan, tuple(models))
        found = {each.name: jackknifed(side, each, names) for each in plan.measures}
    return {name: cell.difference for name, [cell] in found.items()}


def jackknifed(side: Side, measure: Measure, items: Sequence[str]) -> list[CellDifference]:
    """Return how the first model of a side differs from the second."""
    jackknife = Jackknife.over(side, measure, items)
    folds, [first, second] = jackknife.read(side), side.models
    return jackknife.differences(folds, folds, [second], [first])


def agree(found: Estimate) -> bool:
    excludes = found.low is not None and found.high is not None and (found.low > 0 or found.high < 0)
    return (found.p is not None and found.p < 0.05) == excludes


@pytest.mark.parametrize("seed", range(sized(1, 60)))
def test_a_p_value_says_what_the_interval_says(store: Store, plan: Plan, seed: int) -> None:
    random = np.random.default_rng([41, seed])
    items = int(random.integers(3, 16))
    gap = random.choice([0.0, 0.5, 2.0])
    values = {
        model: [
            (float(random.random() < 0.5), float(random.integers(1, 4) + shift), float(random.integers(1, 6)))
            for _ in range(items)
        ]
        for model, shift in (("a", round(gap)), ("b", 0))
    }
    found = differences(store, plan, values)
    for name, each in found.items():
        assert agree(each), (name, each)
    kinds = {"half": (0, 0.5), "bare": (1, 2.0), "scaled": (2, 0.25)}
    for name, (place, times) in kinds.items():
        added = [times * (one[place] - two[place]) / items for one, two in zip(*values.values(), strict=True)]
        if np.count_nonzero(added) <= 12 and found[name].low is not None:
            assert found[name].p == pytest.approx(turned_round(added)), name


def test_items_that_all_differ_by_the_same_are_told_apart_between_ends_alone(store: Store, plan: Plan) -> None:
    found = differences(store, plan, {"a": [(1.0, 4.0, 5.0)] * 9, "b": [(0.0, 2.0, 1.0)] * 9})
    assert (found["bare"].value, found["bare"].low, found["bare"].p) == (4.0, None, None)
    assert found["bare"].reason == "all are alike: nothing shows the error"
    assert all(map(agree, found.values()))


def test_a_few_groups_that_carry_the_error_leave_few_degrees_of_freedom(store: Store, plan: Plan) -> None:
    random = np.random.default_rng(5)
    even = [(0.0, float(each), 3.0) for each in random.normal(0, 1, 20)]
    uneven = [(0.0, each * (40 if place < 2 else 1), 3.0) for place, (_, each, _) in enumerate(even)]
    flat = [(0.0, 0.0, 3.0)] * 20
    many = differences(store, plan, {"a": even, "b": flat})["bare"].df
    assert many is not None
    assert many > 12
    few = differences(store, plan, {"a2": uneven, "b2": flat})["bare"].df
    assert few is not None
    assert few < 3


@pytest.mark.parametrize("seed", range(sized(1, 60)))
def test_a_cell_is_compared_by_its_own_items_alone(store: Store, seed: int) -> None:
    """Groups of items that are in other cells say nothing about a cell: two items that agree have a p-value of 0.5."""
    random = np.random.default_rng([42, seed])
    plan = plan_of(compile_text(CELLS))
    results = Results(plan, models=("a", "b"))
    apart: dict[str, list[float]] = {}
    single = seed % 2 == 0  # no group has two items
    sizes = {"easy": 2, "middle": int(random.integers(3, 9)), "hard": int(random.integers(4, 10)) if single else 60}
    for level, items in sizes.items():
        for number in range(items):
            item = f"{level}{number:02}"
            results.item("sums", item, axes={"level": level})
            shares = (1.0, 0.0) if level == "easy" else (0.7, 0.4)
            a, b = (float(random.random() < share) for share in shares)
            results.add("sums", "right", item, a, model="a")
            results.add("sums", "right", item, b, model="b")
            apart.setdefault(level, []).append(a - b)
    results.write(store)
    names = sorted(item for _, item in results.items)
    measure = plan.measures[0]
    with connect(store) as connection:
        rows = jackknifed(Side(connection, plan, ("a", "b")), measure, names)
    cells = {row.cell: row.difference for row in rows}
    for level in ("easy", "middle"):
        found, values = cells[level,], np.array(apart[level])
        assert agree(found)
        assert found.p is not None
        assert found.p >= 2.0 ** (1 - np.count_nonzero(values)) - 1e-9
        if single:
            assert found.p == pytest.approx(turned_round(list(values)))
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            assert (found.standard_error or 0.0) == pytest.approx(error, abs=1e-9)
    assert all(row.farthest == pytest.approx(np.abs(apart[row.cell[0]]).max()) for row in rows if single)
