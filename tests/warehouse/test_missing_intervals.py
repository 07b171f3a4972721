"""Reasons why a figure has no interval: one item, a part of it that has one item, or items that do not differ."""

from __future__ import annotations

from random import Random

import pytest

from tests.lengths import sized
from tests.warehouse.synthetic import Results, single
from tests.warehouse.test_measures import plan_with
from tripos_warehouse.store.store import Store

ONE, PART = "one item says nothing about the error", "a part of it has one item, which says nothing about the error"
ALIKE = "items do not differ: nothing shows the error"
CELLS = "the cells do not differ: nothing shows the error"
FIGURES = {
    "mean(long_by)": (1, False),
    "sum(long_by)": (1, False),
    "long_by[hint: some] - long_by[hint: none]": (1, False),
    "long_by[hint: some] / long_by[hint: none]": (1, False),
    "median_by[hint: some] + long_by[hint: none]": (6, True),
}
"""The figures, the fewest items that a median in it needs, and whether it is drawn."""


@pytest.mark.parametrize("seed", range(sized(1, 80)))
@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_without_an_interval_says_why(store: Store, figure: str, seed: int) -> None:
    dice = Random(f"{figure} {seed}")
    fewest, drawn = FIGURES[figure]
    plan = plan_with(
        "measure long_by = mean(long) by hint", "measure median_by = median(long) by hint", f"measure it = {figure}"
    )
    some, none = dice.choice((1, 1, 6, 8)), dice.choice((1, 1, 2, 5))
    apart, alike = dice.choice((0, 10)), dice.random() < 0.4
    results = Results(plan)
    for arm, count, first in (("some", some, 0), ("none", none, apart)):
        for number in range(count):
            results.add(
                "sums",
                "long",
                f"i{first + number}",
                3.0 if alike else float(3 + number % 3 + dice.random()),
                arms={"hint": arm},
            )
    results.write(store)
    row = single(store, plan, "sums.it")
    items = len({*range(some), *range(apart, apart + none)})
    assert row.items == items
    if items == 1:
        expected = {ONE}
    elif min(some, none) == 1:
        expected = {PART} if not drawn else {PART, ONE} if some < fewest else {PART, ALIKE} if alike else {PART}
    elif alike:
        expected = (
            {ALIKE} if not drawn else {ALIKE, "all draws of the items give the same value: nothing shows the error"}
        )
    else:
        assert row.low is not None and row.reason is None
        return
    assert row.low is None and row.reason in expected


@pytest.mark.parametrize(
    ("figure", "reason"), [("count(long_by)", "a number of cells has no error"), ("stdev(long_by)", CELLS)]
)
def test_what_no_cell_moves_says_why_it_has_no_interval(store: Store, figure: str, reason: str) -> None:
    plan = plan_with("measure long_by = mean(long) by hint", f"measure it = {figure}")
    results = Results(plan)
    for arm in ("some", "none"):
        for number in range(4):
            results.add("sums", "long", f"i{number}", float(number), arms={"hint": arm})
    results.write(store)
    row = single(store, plan, "sums.it")
    assert (row.low, row.reason, row.items, row.n) == (None, reason, 4, 8)


def test_every_item_of_a_cell_in_the_middle_is_behind_the_deviation_of_cells(store: Store) -> None:
    plan = plan_with("measure long_by = mean(long) by level, hint", "measure it = stdev(long_by)")
    results = Results(plan)
    for level, arm, mean in (("easy", "some", 1.0), ("hard", "some", 5.0), ("hard", "none", 3.0)):
        for number in range(4):
            item = f"{level} {arm} {number}"
            results.item("sums", item, axes={"level": level})
            results.add("sums", "long", item, mean + number - 1.5, arms={"hint": arm})
    results.write(store)
    row = single(store, plan, "sums.it")
    assert (row.value, row.items, row.n) == (pytest.approx(2), 12, 12)
    assert row.low is not None
