"""Means of cells, also of paired differences: against scipy and by hand, and their properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from tripos_warehouse.statistics.intervals import mean_of_cells

numbers = st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))


def test_one_difference_an_item_is_the_paired_t_test() -> None:
    a, b = [7.0, 5.0, 9.0, 4.0, 6.0] * 3, [8.0, 7.0, 9.0, 7.0, 5.0] * 3
    found = mean_of_cells([two - one for one, two in zip(a, b, strict=True)], [str(item) for item in range(15)])
    # Three items do not differ, so twelve are turned round, and the interval is that of t.
    wanted: Any = scipy.stats.ttest_rel(b, a)
    interval = wanted.confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert (found.df, found.n, found.clusters) == (14, 15, 15)


def test_more_than_twelve_items_that_differ_have_the_p_value_of_t() -> None:
    differences = np.random.default_rng(2).normal(0.3, 1, 13)
    found = mean_of_cells(differences, range(13))
    assert found.p == pytest.approx(scipy.stats.ttest_1samp(differences, 0).pvalue)


def test_an_interval_ends_at_0_where_too_few_items_differ_to_tell() -> None:
    """Five items that agree do so by chance once in sixteen times, whatever Student's t says of them."""
    found = mean_of_cells([1.0, 1.1, 0.9, 1.2, 0.8], list("vwxyz"))
    assert found.p == 2 / 2**5
    assert found.low == 0
    level = mean_of_cells([1.0, 1.1, 0.9, 1.2, 0.8], list("vwxyz"), paired=False)
    assert level.low is not None
    assert level.low > 0.7
    assert level.p is None


def test_scores_of_one_item_are_not_several_items() -> None:
    once = mean_of_cells([1.0, 2.0, 4.0], ["a", "b", "c"])
    thrice = mean_of_cells([1.0, 2.0, 4.0] * 3, ["a", "b", "c"] * 3)
    assert thrice.standard_error == pytest.approx(once.standard_error)
    assert (thrice.df, thrice.n, thrice.clusters) == (2, 9, 3)


def test_an_items_pulls_in_several_cells_are_added_up() -> None:
    # Cells x (1, 3) and y (2, 6): means 2 and 4. Pulls are -.5, .5 and -1, 1, enlarged by sqrt(2); of an item both
    # cells together -1.5 sqrt(2) and 1.5 sqrt(2), over 2 cells: variance 2 (1.5 sqrt(2) / 2)².
    found = mean_of_cells([1.0, 3.0, 2.0, 6.0], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    assert found.value == 3
    assert found.standard_error == pytest.approx(1.5)


def test_weights_count_in_the_mean_and_in_its_error() -> None:
    found = mean_of_cells([1.0, 0.0, 3.0, 0.0], ["a", "a", "b", "b"], weights=[3.0, 1.0, 3.0, 1.0])
    # The mean is 12 / 8; the pulls are (3 (1 - 1.5) - 1.5) / 8 = -3 / 8, and 3 / 8.
    assert found.value == 1.5
    assert found.standard_error == pytest.approx(math.sqrt(2 * 2 * (3 / 8) ** 2))


@pytest.mark.parametrize(
    ("values", "p"), [([2.0], None), ([2.0, 2.0, 2.0], 0.25), ([0.0, 0.0, 0.0], 1.0), ([2.0] * 8, None)]
)
def test_one_item_or_equal_differences_have_no_error(values: list[float], p: float | None) -> None:
    """Three items that are turned round at random all agree once in four times. Eight hardly ever do, but what no
    interval shows no p-value does."""
    found = mean_of_cells(values, [str(place) for place, _ in enumerate(values)])
    assert (found.value, found.standard_error, found.low, found.high, found.p) == (values[0], None, None, None, p)


def test_without_values_there_is_a_reason() -> None:
    assert mean_of_cells([], []).reason == "no values"


@given(st.lists(st.tuples(st.sampled_from("abcdef"), numbers), min_size=1, max_size=30))
def test_the_other_way_round_everything_has_the_other_sign(pairs: list[tuple[str, float]]) -> None:
    items, values = [item for item, _ in pairs], [value for _, value in pairs]
    one, two = mean_of_cells(values, items), mean_of_cells([-value for value in values], items)
    assert one.value == pytest.approx(-(two.value or 0.0))
    assert (one.low is None) == (two.high is None)
    if one.low is not None and two.high is not None:
        assert one.low == pytest.approx(-two.high)
        assert one.p == pytest.approx(two.p)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    source = np.random.default_rng(20261121)
    held = 0
    for _ in range(400):
        of_item = source.normal(0, 1, 20)
        items = [str(item) for item in range(20) for _ in range(4)]
        found = mean_of_cells(np.repeat(of_item, 4) + source.normal(0.5, 1, 80), items)
        assert found.low is not None and found.high is not None
        held += found.low < 0.5 < found.high
    assert 0.92 * 400 <= held <= 0.98 * 400


def test_items_and_cells_may_be_numbers() -> None:
    """A leaderboard over many items has them as numbers, in any order: no digit of a figure is another."""
    chance = np.random.default_rng(3)
    values, weights = chance.normal(size=200), chance.uniform(1, 2, size=200)
    items, cells = chance.integers(0, 40, size=200), chance.integers(0, 4, size=200)
    named = mean_of_cells(values, [f"i{each}" for each in items], [f"c{each}" for each in cells], weights)
    assert mean_of_cells(values, items, cells, weights) == named
    assert mean_of_cells(values, items.astype(np.uint64), cells, weights) == named
