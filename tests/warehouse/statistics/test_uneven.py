"""Power of uneven designs, against a simulation of the test that they are planned for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

from tripos_warehouse.statistics.power import MeanDesign, least_difference, mean_design

Floats = NDArray[np.float64]
REPETITIONS = 4000


def drawn_design(random: np.random.Generator, fewest: int, most: int) -> MeanDesign:
    """Draw cells of unequal sizes, clusters of unequal sizes, or both."""
    kind = random.integers(3)
    cells = 1 if kind == 1 else int(random.integers(2, 7))
    units: list[str] = []
    labels: list[int] = []
    for cell in range(cells):
        count = int(np.exp(random.uniform(math.log(fewest), math.log(most)))) + (most // 2 if kind == 1 else 0)
        sizes = np.ones(count, int) if kind == 0 else np.ceil(random.pareto(2.0, count) + 0.01).clip(1, 12).astype(int)
        for number, size in enumerate(sizes):
            units += [f"{cell} {number}"] * size
            labels += [cell] * size
    return mean_design(units, labels)


def found_share(design: MeanDesign, values: list[Floats]) -> float:
    """Return the share of repetitions in which a t test finds a difference from 0: by cell the values (repetition,
    unit). A cell without any variance has that of one more unit, half at either end of −1 to 1."""
    mean, variance, expected, squares = (np.zeros(len(values[0])) for _ in range(4))
    for cell, own in zip(design.cells, values, strict=True):
        weights = np.array(cell.weights)
        second = float((weights**2).sum())
        level = own @ weights
        spread = ((weights * (own - level[:, None])) ** 2).sum(axis=1) / cell.expected_squares
        m, at = len(weights), (own[:, 0] + 1) / 2
        prior = 4 * ((m * at + 0.5) * (m * (1 - at) + 0.5) / (m + 1) ** 2)
        spread = np.where(np.ptp(own, axis=1) == 0, prior, spread)
        mean += cell.gain * level
        variance += cell.gain**2 * second * spread
        expected += cell.gain**2 * second * spread
        squares += (cell.gain**2 * second * spread) ** 2 / cell.df
    away = np.abs(mean) / np.sqrt(variance)
    return float((away > student.ppf(0.975, np.maximum(expected**2 / squares, 1))).mean())


def paired_marks(random: np.random.Generator, difference: float, shape: tuple[int, int]) -> Floats:
    """Draw differences of two marks of 0 or 1 whose shares differ, and that correlate by 0.2."""
    first, second = 0.5 + difference / 2, 0.5 - difference / 2
    both = first * second + 0.2 * math.sqrt(first * (1 - first) * second * (1 - second))
    ends = np.cumsum([first - both, second - both])
    drawn = random.random(shape)
    return np.where(drawn < ends[0], 1.0, np.where(drawn < ends[1], -1.0, 0.0))


def mark_variance(difference: float) -> float:
    """Return the variance of such a difference."""
    first, second = 0.5 + difference / 2, 0.5 - difference / 2
    product = first * (1 - first) * second * (1 - second)
    return first * (1 - first) + second * (1 - second) - 0.4 * math.sqrt(product)


SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 40))]


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_values_have_the_power_that_is_told(seed: int) -> None:
    random = np.random.default_rng(seed)
    design = drawn_design(random, 2, 80)
    least = design.least()
    values = [random.normal(least, 1, (REPETITIONS, len(cell.weights))) for cell in design.cells]
    assert found_share(design, values) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("seed", SEEDS)
def test_marks_of_0_and_1_have_the_power_that_is_told(seed: int) -> None:
    random = np.random.default_rng(1000 + seed)
    design = drawn_design(random, 10, 200)
    while design.df < 8:  # with fewer the errors of marks are too far from those of normal values
        design = drawn_design(random, 10, 200)
    least = 0.2
    for _ in range(20):
        least = min(0.6, design.least() * math.sqrt(mark_variance(least)))
    values = [paired_marks(random, least, (REPETITIONS, len(cell.weights))) for cell in design.cells]
    assert found_share(design, values) == pytest.approx(0.8, abs=0.04)


def test_a_design_has_the_numbers_of_its_formulas() -> None:
    design = mean_design(range(333), ["a"] * 3 + ["b"] * 30 + ["c"] * 300)
    inverse = [1 / 3, 1 / 30, 1 / 300]
    assert design.variance == pytest.approx(sum(inverse) / 9)
    assert design.df == pytest.approx(
        sum(inverse) ** 2 / (inverse[0] ** 2 / 2 + inverse[1] ** 2 / 29 + 1e-5 / 299 / 0.9)
    )
    even = mean_design(range(24))
    assert (even.effective, even.df) == (pytest.approx(24), pytest.approx(23))
    assert even.least() == pytest.approx(least_difference(1 / 24, 23))
    # Arms that all items are in are no more items.
    arms = mean_design([*range(24), *range(24)], ["none"] * 24 + ["some"] * 24)
    assert (len(arms.cells), arms.effective, arms.df) == (1, pytest.approx(24), pytest.approx(23))
    # Cells that share some of their items: an item of both counts in both.
    shared = mean_design([*range(20), *range(10, 40)], ["a"] * 20 + ["b"] * 30)
    weights = [1 / 40] * 10 + [1 / 40 + 1 / 60] * 10 + [1 / 60] * 20
    assert shared.variance == pytest.approx(sum(weight**2 for weight in weights))


def test_a_cell_of_one_item_leaves_no_test() -> None:
    design = mean_design(range(11), ["a"] * 10 + ["b"])
    assert [design.labels[place] for place in design.single] == [("b",)]
    assert math.isinf(design.least())


def test_fewer_items_detect_less_and_more_detect_more() -> None:
    design = mean_design(range(130), ["a"] * 10 + ["b"] * 20 + ["c"] * 100)
    least = [design.errors(units) / math.sqrt(units) for units in (65, 130, 260, 1300)]
    assert least == sorted(least, reverse=True)
    assert math.isinf(design.errors(12))
