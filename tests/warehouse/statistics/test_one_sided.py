"""One-sided bounds: what must hold of them, and how often the truth lies beyond."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tests.lengths import sized
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean_of_cells, negated, p_value_above, upper_bound

FIGURES = st.builds(
    Estimate,
    st.floats(-0.9, 0.9),
    standard_error=st.floats(0, 0.3).map(lambda error: 0.0 if error < 1e-6 else error),
    df=st.floats(1, 500),
)
LEVELS = st.floats(1e-4, 0.4)


@given(FIGURES, LEVELS, st.sampled_from([None, 1.0]))
@settings(max_examples=sized(200, 5_000))
def test_a_p_value_is_the_level_at_which_the_bound_comes_down_to_the_limit(
    figure: Estimate, level: float, farthest: float | None
) -> None:
    bound = upper_bound(figure, level, farthest=farthest, end=1.0)
    assert bound is not None and figure.value is not None and figure.value <= bound + 1e-12
    if bound < 1.0:
        assert p_value_above(figure, bound, farthest=farthest, end=1.0) == pytest.approx(level, rel=1e-5)


@given(FIGURES, LEVELS, LEVELS)
@settings(max_examples=sized(200, 5_000))
def test_a_smaller_risk_and_a_unit_far_off_put_the_bound_further_away(figure: Estimate, one: float, two: float) -> None:
    small, large = sorted((one, two))
    far, near = (upper_bound(figure, level, farthest=1.0, end=1.0) for level in (small, large))
    plain = upper_bound(figure, large, end=1.0)
    assert far is not None and near is not None and plain is not None
    assert far >= near - 1e-12 and near >= min(plain, 1.0) - 1e-9


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_figure_with_the_other_sign_has_its_ends_turned_round(value: float, below: float, above: float) -> None:
    figure = Estimate(value, low=value - below, high=value + above, standard_error=0.1, df=9)
    turned = negated(figure)
    assert (turned.value, turned.low, turned.high) == (-value, -value - above, below - value)
    assert negated(turned) == figure


@pytest.mark.parametrize(("met", "n"), [(0, 30), (0, 200), (3, 60), (5, 200), (20, 200), (90, 100)])
@pytest.mark.parametrize("level", [0.05, 0.004])
def test_of_shares_the_bound_is_nearly_that_of_clopper_and_pearson(met: int, n: int, level: float) -> None:
    values = np.repeat([1.0, 0.0], [met, n - met])
    found = mean_of_cells(values, np.arange(n), ends=(-1, 1))
    bound = upper_bound(found, level, farthest=1.0, end=1.0)
    exact = stats.beta.ppf(1 - level, met + 1, n - met)
    assert bound == pytest.approx(exact, rel=0.07)


def test_figures_without_an_error_have_no_bound_unless_a_scale_ends() -> None:
    alike = Estimate(0.0, standard_error=0.0, df=9)
    assert upper_bound(alike, 0.05, farthest=1.0) is None and p_value_above(alike, 0.1) is None
    assert upper_bound(alike, 0.05, end=1.0) == pytest.approx(1 - 0.05**0.1)
    assert p_value_above(alike, 0.1, end=1.0) == pytest.approx(0.9**10)
    assert upper_bound(Estimate(0.2), 0.05, farthest=1.0, end=1.0) is None


Draw = Callable[[np.random.Generator, int], np.ndarray]
"""Draws the differences of so many items, whose mean is 0.1 in truth."""
SHAPES: dict[str, Draw] = {
    "one direction": lambda rng, n: (rng.random(n) < 0.1) * 1.0,
    "right or wrong, mostly right": lambda rng, n: (rng.random(n) < 0.98) * 1.0 - (rng.random(n) < 0.88),
    "right or wrong": lambda rng, n: (rng.random(n) < 0.6) * 1.0 - (rng.random(n) < 0.5),
    "marks": lambda rng, n: 0.1 + np.rint(rng.normal(0, 1.2, n)) / 9,
    "normal": lambda rng, n: rng.normal(0.1, 0.4, n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [30, pytest.param(60, marks=pytest.mark.long), pytest.param(200, marks=pytest.mark.long)])
def test_the_truth_lies_beyond_the_bound_no_more_often_than_said(shape: str, n: int) -> None:
    """Student's t says so in up to 19 % of cases: of 30 items, of which 1 in 10 differs."""
    rng, draws, beyond = np.random.default_rng(n), sized(500, 8_000), 0
    for _ in range(draws):
        values = SHAPES[shape](rng, n)
        found = mean_of_cells(values, np.arange(n), ends=(-4, 4) if shape == "normal" else (-1, 1))
        bound = upper_bound(found, 0.05, farthest=float(np.abs(values).max()), end=1.0)
        beyond += bound is not None and bound < 0.1
    assert beyond / draws <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / draws)
