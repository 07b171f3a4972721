"""Medians and what is made of them: intervals from items that are drawn again."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lengths import spread
from tests.warehouse.synthetic import Results, measured, single
from tests.warehouse.test_measures import plan_with
from tripos_compiler.plan import Plan
from tripos_warehouse.query.aggregates import statistic
from tripos_warehouse.query.resampling import DRAWS, bootstrap_medians, first_order_draws, percentile_interval
from tripos_warehouse.statistics.intervals import bootstrap, weighted_medians
from tripos_warehouse.store.store import Store


def lengths(store: Store, plan: Plan, values: dict[str, list[float]], arm: str = "none") -> None:
    results = Results(plan)
    for item, given in values.items():
        for number, value in enumerate(given):
            results.add("sums", "long", item, value, number=number, arms={"hint": arm})
    results.write(store)


def gamma(items: int, seed: int = 3) -> dict[str, list[float]]:
    random = np.random.default_rng(seed)
    return {f"i{item:03}": (random.gamma(2.0) + random.gamma(1.0, size=3)).tolist() for item in range(items)}


@pytest.mark.parametrize(
    ("rows", "clusters", "digits"), [(8, 8, 1), (60, 15, 9), (3000, 40, 9), (3000, 3000, 9), (3000, 40, 0)]
)
def test_a_median_of_weighted_rows_is_that_of_rows_written_out(rows: int, clusters: int, digits: int) -> None:
    random = np.random.default_rng(rows)
    values = random.normal(size=rows).round(digits)
    codes = np.unique(random.integers(0, clusters, rows), return_inverse=True)[1]
    weights = random.poisson(1, (50, int(codes.max()) + 1)).astype(float)
    plain = [np.median(np.repeat(values, row[codes].astype(int))) for row in weights]
    assert weighted_medians(values, codes, weights) == pytest.approx(plain)


def test_a_median_has_nearly_the_interval_that_drawing_whole_items_with_scipy_gives(store: Store) -> None:
    plan = plan_with("measure it = median(long)")
    given = gamma(60)
    lengths(store, plan, given)
    values = np.array([value for each in given.values() for value in each])
    owners = np.repeat(np.arange(60), 3)
    expected = bootstrap(lambda rows: float(np.median(values[rows])), 180, owners, method="percentile")
    row = single(store, plan, "sums.it")
    assert (row.value, row.method, row.items) == (expected.value, "bootstrap", 60)
    assert row.standard_error == pytest.approx(expected.standard_error, rel=0.1)
    assert expected.low is not None and expected.high is not None and row.low is not None
    width = expected.high - expected.low
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high), abs=0.12 * width)


def test_one_store_has_one_interval(store: Store) -> None:
    plan = plan_with("measure it = median(long)", "measure it_by = median(long) by hint", "measure twice = 2 * it")
    lengths(store, plan, gamma(30))
    assert single(store, plan, "sums.twice") == single(store, plan, "sums.twice")
    once, twice = single(store, plan, "sums.it"), single(store, plan, "sums.twice")
    assert once.low is not None and twice.low == pytest.approx(2 * once.low)


def test_a_difference_of_medians_is_paired_by_item(store: Store) -> None:
    plan = plan_with(
        "measure by_hint = median(long) by hint",
        "measure gain = by_hint[hint: some] - by_hint[hint: none]",
    )
    given = gamma(50)
    results = Results(plan)
    for item, values in given.items():
        for number, value in enumerate(values):
            for arm, shift in (("none", 0.0), ("some", 1.0 + 0.01 * (len(item) + value))):
                results.add("sums", "long", item, value + shift, number=number, arms={"hint": arm})
    results.write(store)
    gain = single(store, plan, "sums.gain")
    part = measured(store, plan, "sums.by_hint").rows[0]
    assert gain.method == "bootstrap"
    assert gain.standard_error is not None and part.standard_error is not None
    assert 0 < gain.standard_error < 0.1 * part.standard_error


def test_a_formula_of_a_median_and_a_mean_draws_both_with_the_same_items(store: Store) -> None:
    plan = plan_with("measure it = median(long) - mean(long)")
    given = gamma(60)
    lengths(store, plan, given)
    values = np.array([value for each in given.values() for value in each])
    row = single(store, plan, "sums.it")
    apart = bootstrap(
        lambda rows: float(np.median(values[rows]) - values[rows].mean()), 180, np.repeat(np.arange(60), 3)
    )
    assert row.method == "bootstrap"
    assert row.standard_error == pytest.approx(apart.standard_error, rel=0.12)


def test_a_median_on_a_rubric_has_an_interval_that_may_have_no_width(store: Store) -> None:
    plan = plan_with("measure it = median(long)")
    lengths(store, plan, {f"i{item:02}": [4.0 if item % 8 else 2.0] for item in range(80)})
    row = single(store, plan, "sums.it")
    assert (row.value, row.low, row.high, row.reason) == (4.0, 4.0, 4.0, None)


def test_a_median_that_all_draws_have_has_an_interval(store: Store) -> None:
    plan = plan_with("measure it = median(long)")
    lengths(store, plan, {f"i{item:02}": [0.0 if item == 0 else 1.0] for item in range(20)})
    row = single(store, plan, "sums.it")
    assert (row.value, row.low, row.high, row.reason) == (1.0, 1.0, 1.0, None)


@pytest.mark.parametrize(
    ("figure", "low"),
    spread(
        [
            ("(it - 1) / 4", 0.75),
            ("-it", -4.0),
            ("1 + 2 * it", 9.0),
            ("it - mean(long) * 0 - it", None),
            ("it - it", None),
        ],
        3,
    ),
)
def test_what_numbers_make_of_a_median_has_the_interval_that_they_make_of_its(
    store: Store, figure: str, low: float | None
) -> None:
    plan = plan_with("measure it = median(long)", f"measure made = {figure}")
    lengths(store, plan, {f"i{item:02}": [4.0 if item % 8 else 2.0] for item in range(80)})
    row = single(store, plan, "sums.made")
    told = None if low is not None else "all draws of the items give the same value: nothing shows the error"
    assert (row.low, row.high, row.reason) == (low, low, told)


@pytest.mark.parametrize(
    ("items", "value", "reason"),
    [
        (1, lambda item: 2.0, "one item says nothing about the error"),
        (5, float, "5 items say too little: a median of fewer than 6 has no interval of 95 %"),
        (9, lambda item: 2.0, "items do not differ: nothing shows the error"),
    ],
)
def test_a_median_without_an_interval_says_why(store: Store, items: int, value, reason: str) -> None:  # type: ignore[no-untyped-def]
    plan = plan_with("measure it = median(long)", "measure more = it + 1")
    lengths(store, plan, {f"i{item}": [value(item)] for item in range(items)})
    row = single(store, plan, "sums.it")
    assert row.value is not None
    assert (row.low, row.method, row.reason) == (None, None, reason)
    assert single(store, plan, "sums.more").reason == reason


def test_an_extreme_value_and_what_is_made_of_it_have_no_error_and_say_why(store: Store) -> None:
    plan = plan_with(
        "measure top = max(long)", "measure it = median(long) / max(long)", "measure range = top - mean(long)"
    )
    lengths(store, plan, gamma(20))
    for name in ("top", "it", "range"):
        row = single(store, plan, f"sums.{name}")
        assert row.value is not None
        assert (row.standard_error, row.low) == (None, None)
        assert row.reason == "a greatest value has no standard error"


@pytest.mark.parametrize(
    ("gap", "reason"), [(0.1, "which cell is the greatest may be chance, so its error is unknown"), (5.0, None)]
)
def test_the_greatest_of_cells_has_an_error_only_where_it_is_clear_which_it_is(
    store: Store, gap: float, reason: str | None
) -> None:
    plan = plan_with("measure it = max(mean(long) by hint)", "measure by_hint = mean(long) by hint")
    results, random = Results(plan), np.random.default_rng(5)
    for item in range(30):
        for arm, shift in (("none", 0.0), ("some", gap)):
            results.add("sums", "long", f"i{item:02}", float(random.normal() + shift), arms={"hint": arm})
    results.write(store)
    row = single(store, plan, "sums.it")
    greatest = max(measured(store, plan, "sums.by_hint").rows, key=lambda each: each.value or 0.0)
    assert row.value == greatest.value
    assert row.standard_error == (None if reason else pytest.approx(greatest.standard_error))
    assert row.reason == reason


def test_draws_of_a_sum_are_those_of_its_pulls() -> None:
    names = [f"i{number}" for number in range(40)]
    influences = np.random.default_rng(1).normal(size=40)
    drawn = np.array(first_order_draws(3.0, names, (influences - influences.mean()).tolist()))
    assert len(drawn) == DRAWS
    assert drawn.std() == pytest.approx(float(np.sqrt(((influences - influences.mean()) ** 2).sum())), rel=0.1)


def test_draws_that_are_undefined_too_often_show_no_interval() -> None:
    assert percentile_interval([1.0, None, None, 2.0], 10) is None


def test_items_of_one_name_are_drawn_alike_wherever_they_are() -> None:
    names = [f"i{number}" for number in range(30)]
    values = np.random.default_rng(2).normal(size=30)
    back = np.arange(30)[::-1]
    assert bootstrap_medians(names, values) == bootstrap_medians([names[place] for place in back], values[back])


def test_the_pulls_of_a_median_come_to_the_error_of_its_draws() -> None:
    random = np.random.default_rng(4)
    items = [f"i{number // 2}" for number in range(80)]
    found = statistic("median", "", items, items, [None] * 80, [None] * 80, random.normal(size=80).tolist())
    error = float(np.sqrt(np.square(found["influences"]).sum() * 40 / 39))
    assert error == pytest.approx(np.std(found["draws"], ddof=1))
