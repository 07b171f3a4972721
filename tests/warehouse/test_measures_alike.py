"""Intervals of differences of means where all items are alike: their error is 0, and says nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.warehouse.synthetic import measured
from tests.warehouse.test_measures import plan_with, written
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.store.store import Store

MEASURES = (
    "measure by_hint = mean(right) by hint",
    "measure gap     = by_hint[hint: some] - by_hint[hint: none]",
    "measure gain    = by_hint - by_hint[hint: none]",
    "measure doubled = 2 * mean(right) - mean(right)",
)
UNSEEN = 1 - 0.025 ** (1 / 6)
"""The share that units other than six alike ones have at most."""


def rows_of(store: Store, replies: dict[tuple[str, int, str], tuple[float, float]]) -> dict[str, list[MeasureRow]]:
    plan = written(store, plan_with(*MEASURES), replies)
    return {name: list(measured(store, plan, f"sums.{name}").rows) for name in ("gap", "gain", "doubled")}


def all_right(items: int, samples: int) -> dict[tuple[str, int, str], tuple[float, float]]:
    every = itertools.product(range(items), range(samples), ("none", "some"))
    return {(f"i{item:02}", number, arm): (1.0, 7.0) for item, number, arm in every}


def test_a_difference_of_arms_that_are_both_always_right_has_an_interval(store: Store) -> None:
    found = rows_of(store, all_right(6, 3))
    [gap] = found["gap"]
    assert (gap.value, gap.method, gap.items) == (0, "exact", 6)
    assert [gap.low, gap.high] == pytest.approx([-UNSEEN, UNSEEN])


def test_what_is_the_same_by_construction_has_none(store: Store) -> None:
    found = rows_of(store, all_right(6, 3))
    gains = {row.by: row for row in found["gain"]}
    assert gains[("none",)].low is None, "a base less itself"
    assert gains[("some",)].low == pytest.approx(-UNSEEN)
    assert found["doubled"][0].low == pytest.approx(1 - UNSEEN), "it is the mean, however it is written"


def test_each_end_rests_on_the_items_of_one_side(store: Store) -> None:
    replies = {key: value for key, value in all_right(12, 1).items() if key[2] == "none" or key[0] < "i06"}
    [gap] = rows_of(store, replies)["gap"]
    assert gap.items == 12
    assert gap.low == pytest.approx(-UNSEEN), "six items may hide wrong ones of the side that is taken from"
    assert gap.high == pytest.approx(1 - 0.025 ** (1 / 12))


@pytest.mark.parametrize("reach", [1.0, 0.7, 0.5])
def test_no_truth_outside_of_it_makes_both_sides_alike_more_often_than_it_says(reach: float) -> None:
    """Units of either side that lie at the far end, in all proportions that move the difference beyond its end: those
    of the one side move it by `reach`, those of the other by the rest."""
    one, other = np.meshgrid(np.linspace(0, 1, 301), np.linspace(0, 1, 301))
    beyond = reach * one + (1 - reach) * other > UNSEEN
    seen = ((1 - one) * (1 - other)) ** 6
    assert 0 < seen[beyond].max() < 0.025


def test_a_difference_in_which_no_item_differs_has_the_interval_of_what_none_shows(store: Store) -> None:
    """Items differ from each other, and each is as right in one arm as in the other."""
    replies = {(f"i{item:02}", 0, arm): (float(item % 3 > 0), 7.0) for item in range(10) for arm in ("none", "some")}
    [gap] = rows_of(store, replies)["gap"]
    assert (gap.value, gap.method) == (0, "exact")
    unseen = 1 - 0.025 ** (1 / 10)
    assert [gap.low, gap.high] == pytest.approx([-unseen, unseen])
