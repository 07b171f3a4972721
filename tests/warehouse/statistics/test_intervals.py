"""Intervals, pass@k and power: second implementations and what must hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tests.lengths import sized
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import (
    bootstrap,
    bootstrap_mean,
    clopper_pearson,
    jackknife,
    mean,
    mean_of_cells,
    wilson,
)
from tripos_warehouse.statistics.metrics import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k
from tripos_warehouse.statistics.power import (
    design_effect,
    detectable_difference,
    items_needed,
    paired_variance,
    power_of,
)
from tripos_warehouse.statistics.prediction_powered import corrected_mean
from tripos_warehouse.statistics.validity import calibrate

numbers = st.lists(st.integers(-20, 20), min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1)


@given(n=st.integers(1, 60), share=st.floats(0, 1), confidence=st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=sized(30, 60), deadline=None)
def test_intervals_of_shares_are_those_of_scipy(n: int, share: float, confidence: float) -> None:
    k = round(share * n)
    test = stats.binomtest(k, n)
    for found, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        ours, theirs = found(k, n, confidence=confidence), test.proportion_ci(confidence, method)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_the_interval_of_none_or_all_ends_at_0_or_1_and_a_share_of_nothing_is_undefined() -> None:
    assert {(wilson(0, n).low, wilson(n, n).high) for n in range(1, 60)} == {(0.0, 1.0)}
    assert (wilson(0, 0).value, clopper_pearson(0, 0).reason) == (None, "no rows")
    with pytest.raises(ValueError, match="is no share"):
        wilson(3, 2)


@given(values=numbers)
@settings(max_examples=sized(30, 60), deadline=None)
def test_the_interval_of_a_mean_is_that_of_students_t(values: list[int]) -> None:
    found = mean(values, null=0)
    result = stats.ttest_1samp(values, 0)
    bounds = result.confidence_interval()
    assert (found.low, found.high, found.p) == pytest.approx((bounds.low, bounds.high, result.pvalue))


def corrected_and_alone(marks: list[float], items: list[int], ends: tuple[float, float]) -> list[Estimate]:
    """Return the three means of a judge whom people graded on four replies."""
    found = corrected_mean(marks, [*marks[:4], *[None] * (len(marks) - 4)], items, ends=ends)
    return [found.result, found.judged, found.graded]


ON_A_SCALE: dict[str, Callable[[list[float], list[int], tuple[float, float]], list[Estimate]]] = {
    "mean": lambda marks, items, ends: [mean(marks, items, ends=ends)],
    "mean of cells": lambda marks, items, ends: [mean_of_cells(marks, np.array(items), ends=ends, paired=False)],
    "two cells": lambda marks, items, ends: [
        mean_of_cells(marks * 2, np.array(items * 2), ["a", "b"] * len(marks), ends=ends, paired=False)
    ],
    "calibration": lambda marks, items, ends: [bin_.graded for bin_ in calibrate(marks, marks, items, ends=ends).bins],
    "calibration of a judge who says less": lambda marks, items, ends: [
        bin_.graded for bin_ in calibrate([mark > marks[0] for mark in marks], marks, items, ends=ends).bins
    ],
    "corrected mean": corrected_and_alone,
}
"""Figures of marks on a scale, by the function that makes their intervals between its ends."""


@pytest.mark.parametrize("figure", ON_A_SCALE)
@given(data=st.data(), to=st.sampled_from([-100, -3, 1, 5, 40]))
@settings(max_examples=sized(40, 200), deadline=None)
def test_the_interval_on_a_scale_moves_with_the_scale(figure: str, data: st.DataObject, to: int) -> None:
    """A mark has no value that nature prefers: of 1 to 5 and of 0 to 4 the same marks have the same interval, and no
    test against 0 reaches past the scale."""
    marks = [float(mark) for mark in data.draw(st.lists(st.integers(0, 4), min_size=5, max_size=14))]
    items = data.draw(st.lists(st.integers(0, 5), min_size=len(marks), max_size=len(marks)))
    moved = ON_A_SCALE[figure]([mark + to for mark in marks], items, (to, 4.0 + to))
    for at_zero, there in zip(ON_A_SCALE[figure](marks, items, (0.0, 4.0)), moved, strict=True):
        assert (at_zero.low is None, at_zero.reason) == (there.low is None, there.reason)
        if there.low is not None and at_zero.low is not None:
            assert to <= there.low <= there.high <= to + 4  # type: ignore[operator]
            ends = (at_zero.low + to, at_zero.high + to)  # type: ignore[operator]
            assert (there.low, there.high) == pytest.approx(ends, abs=1e-6)


@given(values=numbers, times=st.integers(2, 4))
@settings(max_examples=sized(30, 40), deadline=None)
def test_copies_within_a_cluster_add_nothing_that_is_known(values: list[int], times: int) -> None:
    once, often = mean(values), mean(values * times, list(range(len(values))) * times)
    assert often.standard_error == pytest.approx(once.standard_error)
    assert (often.df, often.clusters, often.n) == (once.df, len(values), len(values) * times)


@given(values=numbers)
@settings(max_examples=sized(30, 40), deadline=None)
def test_the_jackknife_of_a_mean_has_its_error(values: list[int]) -> None:
    numbers = np.array(values, dtype=float)
    found = jackknife(lambda rows: float(numbers[rows].mean()), len(numbers))
    assert found.standard_error == pytest.approx(mean(values).standard_error)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_the_bootstrap_is_that_of_scipy(method: Literal["bca", "percentile"]) -> None:
    values = np.random.default_rng(5).exponential(size=30)
    options: dict[str, Any] = {"n_resamples": 800, "method": method}
    bounds = stats.bootstrap((values,), np.mean, **options, rng=np.random.default_rng(1)).confidence_interval
    by_rows = bootstrap(lambda rows: float(values[rows].mean()), 30, method=method, resamples=800, seed=1)
    of_mean = bootstrap_mean(values, method=method, resamples=800, seed=1)
    assert (by_rows.low, by_rows.high) == pytest.approx((bounds.low, bounds.high))
    assert (of_mean.low, of_mean.high) == pytest.approx((bounds.low, bounds.high))


def test_the_bootstrap_draws_whole_clusters_and_keeps_the_size_of_strata() -> None:
    values, halves = np.array([0.0] * 10 + [1.0] * 10), [0] * 10 + [1] * 10
    found = bootstrap(lambda rows: float(values[rows].mean()), 20, halves, method="percentile", resamples=300)
    assert (found.low, found.high, found.clusters) == (0.0, 1.0, 2)
    found = bootstrap_mean(values, strata=halves, method="percentile", resamples=200)
    assert (found.value, found.low, found.high, found.standard_error) == (0.5, None, None, None)
    assert found.reason == "all samples drawn again give the same value: nothing shows the error"
    with pytest.raises(ValueError, match="two strata"):
        bootstrap_mean([1, 2, 3, 4], ["x", "x", "y", "y"], strata=["a", "b", "b", "b"])
    few = [1, 5, 2, 8, 9, 4]
    assert bootstrap_mean(few, seed=3) == bootstrap_mean(few, seed=3) != bootstrap_mean(few, seed=4)


def test_a_statistic_undefined_in_some_draws_has_a_value_and_no_interval() -> None:
    values = np.array([1.0, 1.0, 2.0])
    found = bootstrap(lambda rows: None if len(set(values[rows])) < 2 else 1.0, 3, resamples=100)
    assert found.value == 1.0
    assert found.low is None
    assert "of the samples drawn again" in str(found.reason)


def test_one_value_or_what_rounding_leaves_has_no_interval_and_says_so() -> None:
    assert mean([3]).reason == "one value: nothing shows how far values differ"
    assert mean([3, 4], ["a", "a"]).low is None
    assert mean([None]).value is None
    found = mean([0.1] * 7)
    assert (found.standard_error, found.low, found.high, found.p) == (None, None, None, None)
    assert found.reason == "all are alike: nothing shows the error"
    with pytest.raises(ValueError, match="a value is infinite"):
        mean([1.0, math.inf])


@pytest.mark.parametrize(("k", "value"), [(1, 0.3), (2, 0.533333), (5, 0.916667)])
def test_pass_at_k_of_three_right_of_ten(k: int, value: float) -> None:
    assert pass_at_k(10, 3, k).value == pytest.approx(value, abs=5e-7)


@given(n=st.integers(1, 7), data=st.data())
@settings(max_examples=sized(30, 50), deadline=None)
def test_pass_at_k_counts_the_draws_with_one_right_and_pass_hat_k_those_all_right(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = [[sample < c for sample in draw] for draw in itertools.combinations(range(n), k)]
    assert pass_at_k(n, c, k).value == pytest.approx(np.mean([any(draw) for draw in draws]))
    assert pass_hat_k(n, c, k).value == pytest.approx(np.mean([all(draw) for draw in draws]))


def test_items_with_too_few_samples_are_left_out_and_counted() -> None:
    found = mean_pass_at_k([4, 4, 1], [0, 4, 1], 2)
    assert (found.value, found.n, found.left_out) == (0.5, 2, 1)
    assert mean_pass_hat_k([1], [1], 2).reason == "no item has 2 samples"


@pytest.mark.parametrize("of", [mean_pass_at_k, mean_pass_hat_k])
def test_the_interval_of_a_chance_stays_within_0_and_1(of: Callable[..., Estimate]) -> None:
    seldom, often = (of([2, 2, 2, 2], right, 2) for right in ([0, 0, 0, 2], [2, 2, 2, 0]))
    assert (seldom.value, seldom.low) == (0.25, 0.0)
    assert (often.value, often.high) == (0.75, 1.0)


def test_198_items_detect_a_tenth() -> None:
    assert 100 * (detectable_difference(198, 0.25).value or 0) == pytest.approx(9.95, abs=5e-3)


@given(
    items=st.integers(5, 5000),
    variance=st.floats(0.01, 4),
    power=st.floats(0.5, 0.99),
    sides=st.sampled_from([1, 2]),
    effect=st.floats(1, 5),
)
@settings(max_examples=sized(30, 60), deadline=None)
def test_difference_power_and_items_are_of_one_piece(
    items: int, variance: float, power: float, sides: int, effect: float
) -> None:
    difference = detectable_difference(items, variance, power=power, sides=sides, effect=effect).value
    assert difference is not None
    # The tail on the other side, which the difference leaves out, is below 1e-4 from a power of ½ on.
    assert power_of(difference, items, variance, sides=sides, effect=effect).value == pytest.approx(power, abs=1e-4)
    assert items_needed(difference, variance, power=power, sides=sides, effect=effect).value == items


def test_a_test_of_one_side_needs_less_of_a_difference() -> None:
    wanted = (stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) / 10
    assert detectable_difference(100, 1.0, sides=1).value == pytest.approx(wanted)


def test_a_loss_is_found_as_often_as_a_gain_unless_only_a_gain_is_looked_for() -> None:
    assert power_of(-0.2, 100, 1.0) == power_of(0.2, 100, 1.0)
    assert (power_of(-0.2, 100, 1.0, sides=1).value or 0) < 0.001


def test_the_design_effect_of_sizes_that_vary_is_that_of_their_squares() -> None:
    # Of a mean over clusters of m: 1 + (Σ m² / Σ m − 1) ρ, here with sizes 2 and 8.
    assert design_effect(5, 0.3, variation=3 / 5) == pytest.approx(1 + ((4 + 64) / 10 - 1) * 0.3)


def test_the_power_is_the_share_of_simulated_tests_that_find_it() -> None:
    random = np.random.default_rng(11)
    draws = random.normal(0.3, 1.0, (4000, 80))
    z = draws.mean(axis=1) / math.sqrt(1 / 80)
    found = power_of(0.3, 80, 1.0).value
    assert float((np.abs(z) > stats.norm.ppf(0.975)).mean()) == pytest.approx(found, abs=0.025)


def test_pairing_takes_off_what_two_runs_share() -> None:
    random = np.random.default_rng(2)
    both = random.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 100_000)
    assert paired_variance(1, 1, 0.6) == pytest.approx((both[:, 0] - both[:, 1]).var(), rel=0.02)


def test_the_design_effect_is_what_clusters_do_to_the_variance_of_a_mean() -> None:
    random = np.random.default_rng(3)
    shared = random.normal(0, math.sqrt(0.3), (20_000, 10, 1)) + random.normal(0, math.sqrt(0.7), (20_000, 10, 4))
    assert shared.mean(axis=(1, 2)).var() * 40 == pytest.approx(design_effect(4, 0.3), rel=0.05)


def test_no_items_and_no_difference_have_reasons() -> None:
    assert detectable_difference(0, 1).reason == "no items"
    assert power_of(1, 10, 0).reason == "no variance: any difference shows"
    assert items_needed(0, 1).value is None


def test_a_mean_is_drawn_again_as_any_statistic_is_where_clusters_differ_in_size() -> None:
    clusters = ["a", "b", "b", "c", "c", "c", "c", "d", "d", "d"]
    values = np.array([9.0, 1, 2, 0, 1, 0, 2, 5, 4, 6])
    one = bootstrap_mean(values, clusters, method="percentile", seed=3)
    other = bootstrap(lambda rows: float(values[rows].mean()), 10, clusters, method="percentile", seed=3)
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
