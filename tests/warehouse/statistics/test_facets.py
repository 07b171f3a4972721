"""Intervals that speak of other judges and prompts: how often they hold the truth, and what they cannot be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.lengths import sized
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import generalized, mean_of_cells

DRAWS = sized(200, 2000)
LEAST = float(stats.binom.ppf(0.001, DRAWS, 0.94)) / DRAWS


def of_scores(scores: Any, ends: tuple[float, float] | None, facets: tuple[int, ...] = (1,)) -> Estimate:
    """Return the mean of scores (items, judges, …) that speaks of some axes beside that of the items."""
    places = np.indices(scores.shape)
    units = [places[axis].ravel() for axis in (0, *facets)]
    items, *others = [mean_of_cells(scores.ravel(), each, paired=False) for each in units]
    if ends is not None:
        items = mean_of_cells(scores.ravel(), units[0], ends=ends, paired=False)
    return generalized(items, others, ends=ends, null=0.0)


def marks(random: np.random.Generator, items: int, judges: int, severity: float) -> Any:
    noise = random.normal(0, severity, (1, judges)) + random.normal(0, 1, (items, judges))
    return np.clip(np.rint(6 + random.normal(0, 1.2, (items, 1)) + noise), 1, 10)


@pytest.mark.parametrize("severity", [0.3, 0.6])
@pytest.mark.parametrize("judges", [2, 3, 5])
def test_the_interval_holds_the_mean_of_all_judges(judges: int, severity: float) -> None:
    """100 items and judges drawn from many, whose mean is 6; the interval over items holds it in 30 to 85 %."""
    random, held, without, alone = np.random.default_rng([1, judges, int(severity * 10)]), 0, 0, 0
    for _ in range(DRAWS):
        scores = marks(random, 100, judges, severity)
        found = of_scores(scores, (1.0, 10.0))
        of_items = mean_of_cells(scores.ravel(), np.indices(scores.shape)[0].ravel(), ends=(1.0, 10.0))
        assert of_items.low is not None and of_items.high is not None
        alone += of_items.low <= 6 <= of_items.high
        if found.low is None or found.high is None:
            without += 1
        else:
            held += found.low <= 6 <= found.high
            assert found.low <= of_items.low and of_items.high <= found.high
    assert held >= LEAST * (DRAWS - without)
    assert without <= 0.05 * DRAWS
    assert alone <= 0.88 * DRAWS


@pytest.mark.parametrize("share", [0.76, 0.95])
def test_the_interval_holds_a_share_of_all_judges(share: float) -> None:
    random, held, without, spread = np.random.default_rng(2), 0, 0, math.sqrt(1.2**2 + 0.6**2 + 1)
    for _ in range(DRAWS):
        known = random.normal(0, 1.2, (100, 1)) + random.normal(0, 0.6, (1, 3)) + random.normal(0, 1, (100, 3))
        found = of_scores((known < stats.norm.ppf(share) * spread) * 1.0, (0.0, 1.0))
        if found.low is None or found.high is None:
            without += 1
        else:
            held += found.low <= share <= found.high
    assert held >= LEAST * (DRAWS - without)
    assert without <= 0.05 * DRAWS


@pytest.mark.parametrize(("judges", "prompts"), [(3, 3), (5, 2), (2, 4)])
def test_the_interval_holds_the_mean_of_all_judges_and_prompts(judges: int, prompts: int) -> None:
    random, held = np.random.default_rng([3, judges]), 0
    for _ in range(DRAWS):
        scores = random.normal(0, 1.2, (60, 1, 1)) + random.normal(0, 0.5, (1, judges, 1))
        scores = scores + random.normal(0, 0.5, (1, 1, prompts)) + random.normal(0, 0.4, (60, 1, prompts))
        scores = scores + random.normal(0, 1, (60, judges, prompts))
        found = of_scores(scores, None, (1, 2))
        assert found.low is not None and found.high is not None
        held += found.low <= 0 <= found.high
    assert held >= LEAST * DRAWS


@pytest.mark.parametrize("judges", [2, 3, 5])
def test_models_that_do_not_differ_are_rarely_told_apart(judges: int) -> None:
    """Judges differ in which of the models they favour; over items alone the test errs in 20 % and more."""
    random, told, alone, tried = np.random.default_rng([4, judges]), 0, 0, 0
    for _ in range(DRAWS):
        apart = (
            random.normal(0, 0.7, (100, 1)) + random.normal(0, 0.3, (1, judges)) + random.normal(0, 1, (100, judges))
        )
        found = of_scores(apart, None)
        plain = mean_of_cells(apart.ravel(), np.indices(apart.shape)[0].ravel())
        assert plain.p is not None and found.p is not None
        told, alone, tried = told + (found.p < 0.05), alone + (plain.p < 0.05), tried + 1
    assert told <= stats.binom.ppf(0.999, tried, 0.055)
    assert alone >= 0.2 * tried


@pytest.mark.parametrize("seed", range(sized(40, 3000)))
def test_p_is_below_5_percent_if_and_only_if_the_interval_leaves_out_0(seed: int) -> None:
    random = np.random.default_rng([5, seed])
    judges = int(random.integers(2, 6))
    scores = random.normal(0.3, 1, (int(random.integers(5, 30)), judges)) + random.normal(0, 0.3, judges)
    found = of_scores(scores, None)
    assert found.low is not None and found.high is not None and found.p is not None
    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
    bounded = of_scores(scores.round().clip(-2, 2), (-2.0, 2.0))
    if bounded.low is not None and bounded.high is not None and bounded.p is not None:
        assert (bounded.p < 0.05) == (not bounded.low <= 0 <= bounded.high)
        assert -2 <= bounded.low <= bounded.high <= 2


@pytest.mark.parametrize("seed", range(sized(10, 500)))
def test_complete_scores_have_the_mean_squares_of_the_analysis_of_variance(seed: int) -> None:
    """The squares of the distances are t² times the mean squares of items and judges over the number of scores."""
    random = np.random.default_rng([6, seed])
    items, judges = int(random.integers(3, 20)), int(random.integers(2, 6))
    scores = random.normal(0, 1, (items, judges)) + random.normal(0, 1, judges)
    grand = scores.mean()
    of_items = judges * float(((scores.mean(1) - grand) ** 2).sum()) / (items - 1)
    of_judges = items * float(((scores.mean(0) - grand) ** 2).sum()) / (judges - 1)
    half = math.sqrt(
        (stats.t.ppf(0.975, items - 1) ** 2 * of_items + stats.t.ppf(0.975, judges - 1) ** 2 * of_judges) / scores.size
    )
    found = of_scores(scores, None)
    assert (found.low, found.high) == pytest.approx((grand - half, grand + half))
    assert found.standard_error == pytest.approx(math.sqrt((of_items + of_judges) / scores.size))


def test_without_an_error_there_is_no_interval_and_a_reason() -> None:
    items = Estimate(3.0, low=2.8, high=3.2, standard_error=0.1, df=99)
    alike = generalized(items, [Estimate(3.0, standard_error=0.0, df=2)])
    assert (alike.value, alike.low, alike.reason) == (
        3.0, None, "the levels of a facet do not differ: nothing shows the error"
    )  # fmt: skip
    told = generalized(items, [Estimate(3.0, "one judge")])
    assert (told.low, told.reason) == (None, "one judge")
    bare = items.without_interval("one item")
    assert generalized(bare, [Estimate(3.0, standard_error=0.1, df=2)]).reason == "one item"
