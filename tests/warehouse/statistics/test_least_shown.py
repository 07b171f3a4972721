"""The least true value that items show to lie above a number: against counting, and against drawn runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies
from scipy.stats import binom

from tripos_warehouse.statistics.intervals import clopper_pearson
from tripos_warehouse.statistics.power import least_shown_mean, least_shown_share


@given(
    strategies.integers(1, 120),
    strategies.integers(0, 100).map(lambda percent: percent / 100),
    strategies.sampled_from([0.5, 0.8, 0.9]),
    strategies.booleans(),
)
def test_a_share_is_shown_with_the_power_that_counting_gives(
    items: int, number: float, power: float, beyond: bool
) -> None:
    found = least_shown_share(number, items, power=power, beyond=beyond)
    lows = [clopper_pearson(count, items).low or 0.0 for count in range(items + 1)]
    showing = [count for count, low in enumerate(lows) if (low > number if beyond else low >= number)]
    if not showing:
        assert (found.value, found.low, found.reason) == (None, lows[-1], "even all right do not show it")
        return
    assert found.value is not None
    if showing[0] == 0:
        assert found.value == 0
    else:
        assert binom.sf(showing[0] - 1, items, found.value) == pytest.approx(power, abs=1e-9)


@pytest.mark.parametrize("number", [1.5, 3.0, 4.2])
def test_a_mean_is_shown_with_that_power_in_the_worst_case(number: float) -> None:
    items, ends = 400, (1.0, 5.0)
    value = least_shown_mean(number, items, ends).value
    assert value is not None
    share = (value - 1) / 4  # values at both ends have the greatest variance of this mean
    drawn = np.random.default_rng(7).binomial(items, share, 20_000) / items
    error = 4 * np.sqrt(drawn * (1 - drawn) / items)
    assert (1 + 4 * drawn - 1.96 * error >= number).mean() == pytest.approx(0.8, abs=0.03)


@given(
    strategies.integers(1, 10_000),
    strategies.floats(-5, 5),
    strategies.floats(0.1, 10),
    strategies.floats(0, 1),
)
def test_a_mean_that_is_shown_lies_between_the_number_and_the_end(
    items: int, low: float, width: float, part: float
) -> None:
    number = min(low + part * width, low + width)
    value = least_shown_mean(number, items, (low, low + width)).value
    more = least_shown_mean(number, 4 * items, (low, low + width)).value
    assert value is not None and more is not None
    assert number - 1e-9 <= more <= value + 1e-9 <= low + width + 2e-9


def test_numbers_off_the_scale_are_refused_and_no_items_show_nothing() -> None:
    with pytest.raises(ValueError, match="share"):
        least_shown_share(1.5, 10)
    with pytest.raises(ValueError, match="between"):
        least_shown_mean(9, 10, (1, 5))
    assert least_shown_share(0.5, 0).reason == least_shown_mean(3, 0, (1, 5)).reason == "no items"
