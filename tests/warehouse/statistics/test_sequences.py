"""Confidence sequences: against another package, closing at the last value, missing values, and how often they err."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.bench.settled import BOUNDED, ITEMS, LEVEL, errors, left, replay, simulated
from tests.bench.stopped import holds, root, simulated as stopped_runs
from tripos_warehouse.statistics.sequences import BettingSequence

VALUES = [((7 * i * i + 3 * i) % 11) / 10 for i in range(30)]
# `diversified_betting_mart` of confseq 0.0.11 with bets over the standard deviation of the values before, cut at 0.9 of
# the capital; weights of one over the bet.
CONFSEQ: list[tuple[int | None, float, float]] = [
    (None, 0.3, 1.0),
    (None, 0.4, 1.0),
    (None, 0.6, 0.4938136971080377),
    (None, 0.75, 0.00043522098528081006),
    (50, 0.3, 0.057540514816992426),
    (50, 0.4, 1.0),
    (50, 0.6, 0.00020392622106720385),
    (50, 0.75, 0.0),
]


@pytest.mark.parametrize(("population", "null", "p"), CONFSEQ)
def test_the_capital_is_that_of_the_authors_package(population: int | None, null: float, p: float) -> None:
    sequence = BettingSequence((0, 1), population)
    for value in VALUES:
        sequence.add(value)
    assert sequence.p(null) == pytest.approx(p, rel=1e-9)
    low, high = sequence.interval(0.05)
    if p < 0.05:
        assert not low < null < high


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=2, max_size=12), st.randoms())
def test_all_orders_of_a_population_end_at_its_mean(values: list[float], random: np.random.Generator) -> None:
    mean = sum(values) / len(values)
    random.shuffle(values)
    sequence = BettingSequence((0, 1), len(values), steps=100)
    before = (0.0, 1.0)
    for value in values:
        sequence.add(value)
        now = sequence.interval(1e-12)
        assert before[0] - 1e-9 <= now[0] <= now[1] + 1e-9 <= before[1] + 2e-9, "no interval leaves those before"
        assert now[0] - 1e-9 <= mean <= now[1] + 1e-9
        before = now
    assert before == pytest.approx((mean, mean))


def test_a_missing_value_may_have_been_any() -> None:
    sequence = BettingSequence((1, 5), 4)
    for value in (5, None, 1, 5):
        sequence.add(value)
    assert sequence.interval() == pytest.approx((3, 4)), "(5 + 1 + 1 + 5) / 4 and (5 + 5 + 1 + 5) / 4"
    assert sequence.mean == pytest.approx(11 / 3)


def test_errors_of_a_call_are_told() -> None:
    sequence = BettingSequence((0, 1), 1)
    with pytest.raises(ValueError, match="does not lie between"):
        sequence.add(2)
    sequence.add(1)
    with pytest.raises(ValueError, match="no more values"):
        sequence.add(1)
    with pytest.raises(ValueError, match="two ends"):
        BettingSequence((1, 1))


def test_a_null_between_two_means_of_the_grid_is_not_ruled_out_too_soon() -> None:
    values = [1.0, 1, 0, 1] * 20
    fine, coarse = BettingSequence((0, 1), steps=1000), BettingSequence((0, 1), steps=10)
    for value in values:
        fine.add(value)
        coarse.add(value)
    for null in (0.55, 0.61, 0.87):
        assert coarse.p(null) >= fine.p(null) * (1 - 1e-9)
    assert fine.p(-0.1) == 0


def test_looking_at_every_item_keeps_the_level() -> None:
    span, draw = BOUNDED["right or wrong, half of them"]
    found = errors(draw, lambda: BettingSequence((-span, span), planned=ITEMS, steps=2), 40)
    assert found.sequence <= LEVEL + 2.5 * math.sqrt(LEVEL * (1 - LEVEL) / 40)
    assert found.naive > 0.15


def test_a_population_keeps_its_mean_in_the_sequence() -> None:
    assert left(np.repeat([0.0, 0.5, 1.0], [10, 10, 30]), (0, 1), 40) <= LEVEL + 0.09


def test_a_clear_difference_is_settled_with_few_items() -> None:
    first, last = simulated()[3][1:3]
    found = replay("far apart", first, last, 1.0)
    assert (found.decision, found.wrong, found.undecided) == (1, 0, 0)
    assert found.cost < 0.2


def test_a_run_that_stopped_tells_sizes_nearer_to_the_truth_than_its_means() -> None:
    """Most runs find the first difference, and few the second: there no estimate can know that it was luck."""
    for truth, most in ((0.1, 0.4), (0.03, 0.75)):
        told = [each.differences[0] for each in stopped_runs(0.9, (0.0, truth), 60)]
        early = [each for each in told if each.stopped]
        assert len(early) >= 8
        above = [float(np.mean([abs(getattr(each, name)) for each in early])) - truth for name in ("mean", "estimate")]
        assert above[0] > 0.02
        assert abs(above[1]) < most * above[0]
        errors = [root([getattr(each, name) - truth for each in early]) for name in ("mean", "estimate")]
        assert errors[1] < 0.7 * errors[0]
        assert np.mean([holds(each, truth) for each in told]) >= 0.95
        for each in early:
            assert each.low < each.estimate < each.high
            assert (each.estimate > 0) == (each.low >= 0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=40), st.sampled_from([0.0, 0.25]))
def test_an_estimate_lies_in_its_interval_on_the_side_that_was_found(values: list[float], null: float) -> None:
    sequence, mirrored = (
        BettingSequence((-1, 1), planned=60, steps=200),
        BettingSequence((-1, 1), planned=60, steps=200),
    )
    for value in values:
        sequence.add(value)
        mirrored.add(-value)
        estimate, (low, high) = sequence.estimate(null), sequence.interval()
        assert estimate is not None and sequence.mean is not None
        assert low <= estimate <= high
        assert mirrored.estimate(-null) == pytest.approx(-estimate)
        if sequence.p(null) <= LEVEL:
            assert (estimate > null) == (low >= null - 1e-9)
            nearest = min(abs(low - null), abs(high - null))  # an earlier interval may be past the mean
            assert abs(estimate - null) <= max(abs(sequence.mean - null), nearest + 0.01)
        elif low < sequence.mean < high:
            assert estimate == pytest.approx(sequence.mean, abs=0.01)


def test_an_estimate_without_values_is_none() -> None:
    assert BettingSequence((0, 1)).estimate() is None
