"""Kendall's W without groups of items equals that of the items that are left; a statistic of rows knows no order."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.each import each
from tripos_warehouse.query.aggregates import REPLY_SEPARATOR, statistic
from tripos_warehouse.statistics.agreement import kendall_w, kendall_w_without, tau_by_item


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 30), st.sampled_from([2, 5, 10**6]))
def test_w_without_a_group_is_w_of_the_rest(seed: int, raters: int, items: int, values: int) -> None:
    chance = np.random.default_rng(seed)
    ratings = chance.integers(0, values, (raters, items)).astype(float)
    groups = chance.integers(-1, 3, items)
    for without, found in enumerate(kendall_w_without(ratings, groups, 3)):
        wanted = kendall_w(ratings[:, groups != without]).value
        assert found == (None if wanted is None else pytest.approx(wanted, abs=1e-12))


@each("what", ["kendall_w", "mean_tau_agreement", "spearman", "quadratic_kappa", "cohen_kappa", "krippendorff_alpha"])
def test_a_statistic_of_rows_is_the_same_in_any_order_of_them(what: str) -> None:
    chance = random.Random(4)
    rows = [
        (f"i{item}", f"i{item}{REPLY_SEPARATOR}{reply}", rater, str(value), float(value))
        for item in range(12)
        for reply in range(4)
        for rater in ("a", "b", "c")
        if (value := chance.choice([None, 1, 2, 3, 4])) is not None
    ]
    found = statistic(what, "interval", *zip(*rows, strict=True))
    chance.shuffle(rows)
    assert statistic(what, "interval", *zip(*rows, strict=True)) == found
    assert found["value"] is not None and len(found["influences"]) == 12


def test_tau_of_rows_is_that_of_matrices() -> None:
    chance = random.Random(9)
    matrices, rows = [], []
    for item in range(20):
        matrix = np.full((3, chance.randint(1, 4)), np.nan)
        for (rater, reply), _ in np.ndenumerate(matrix):
            if chance.random() < 0.8:
                matrix[rater, reply] = chance.randint(1, 3)
            value = None if np.isnan(matrix[rater, reply]) else float(matrix[rater, reply])
            rows.append((f"i{item:02}", f"i{item:02}{REPLY_SEPARATOR}{reply}", "abc"[rater], None, value))
        matrices.append(matrix)
    wanted = tau_by_item(matrices)
    found = statistic("mean_tau_agreement", "", *zip(*rows, strict=True))
    assert found["value"] == pytest.approx(wanted.value, abs=1e-12)
    known = {f"i{item:02}": figure for item, figure in enumerate(wanted.figures) if not np.isnan(figure)}
    assert wanted.value is not None and found["items"] == sorted(known)
    assert found["influences"] == pytest.approx([(known[each] - wanted.value) / len(known) for each in sorted(known)])
