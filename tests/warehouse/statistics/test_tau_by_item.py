"""Agreement on the order of the replies to one item, against another implementation of τ."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau

from tripos_warehouse.statistics.agreement import tau_by_item

MARKS = st.integers(1, 4)


def by_hand(ratings: np.ndarray) -> float:
    """The mean over pairs of raters that both have an order."""
    taus = [kendalltau(one, other).statistic for one, other in combinations(ratings, 2)]
    known = [(tau + 1) / 2 for tau in taus if not np.isnan(tau)]
    return float(np.mean(known)) if known else float("nan")


@given(st.lists(st.lists(st.lists(MARKS, min_size=5, max_size=5), min_size=3, max_size=3), min_size=1, max_size=8))
def test_it_is_the_mean_of_what_each_item_gives(raw: list[list[list[int]]]) -> None:
    items = [np.array(each, dtype=float) for each in raw]
    figures = [by_hand(each) for each in items]
    found = tau_by_item(items)
    assert found.figures.tolist() == pytest.approx(figures, nan_ok=True)
    known = [each for each in figures if not np.isnan(each)]
    assert found.value == (pytest.approx(np.mean(known)) if known else None)


def test_items_of_different_sizes_count_alike() -> None:
    small, large = np.array([[1, 2.0], [1, 2]]), np.array([[1, 2, 3.0], [3, 2, 1]])
    assert tau_by_item([small, large]).value == 0.5


def test_a_reply_that_one_of_the_two_did_not_rate_is_left_out_for_them() -> None:
    holes = np.array([[1, 2, np.nan, 4], [1, 2, 9, 4.0]])
    assert tau_by_item([holes]).value == 1


def test_raters_who_order_at_random_come_to_a_half() -> None:
    random = np.random.default_rng(1)
    found = tau_by_item([random.permuted(np.tile(np.arange(5.0), (2, 1)), axis=1) for _ in range(2000)])
    assert found.value == pytest.approx(0.5, abs=0.02)


def test_one_who_ties_all_has_no_order_to_agree_on() -> None:
    found = tau_by_item([np.array([[3, 3, 3.0], [1, 2, 3]])])
    assert found.value is None
    assert found.reason == "no item has replies that two raters put in an order"
