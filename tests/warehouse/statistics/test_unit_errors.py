"""Errors by unit: against matrices that are written out, and what they promise of intervals and p-values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.lengths import sized
from tests.unit_errors import Value, figure, leaf, turned_round
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean, mean_of_cells

Row = tuple[int, int, float, float]
"""The unit, the cell, the value and the weight of a row."""
WHOLE = st.integers(-4, 4).map(float)
"""Of few values, so that ties and cells whose units are alike are many."""
BROKEN = st.floats(-4, 4, allow_nan=False).map(lambda value: round(value, 3))


@st.composite
def rows(draw: st.DrawFn, weighted: bool = True) -> list[Row]:
    """Return rows of one to four cells, whose units are few or many, and may be in several cells or each in one."""
    cells = draw(st.integers(1, 4))
    shared = draw(st.booleans())
    values = draw(st.sampled_from([WHOLE, st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from([0.0, 1.0]), BROKEN]))
    weights = st.sampled_from([1.0, 2.0, 0.5]) if weighted else st.just(1.0)
    found: list[Row] = []
    for cell in range(cells):
        for unit in range(draw(st.integers(2, 7))):
            number = unit if shared else 100 * cell + unit
            for _ in range(draw(st.integers(1, 3))):
                found.append((number, cell, draw(values), draw(weights)))
    return found


def of_rows(found: list[Row], ends: tuple[float, float] | None = None) -> Estimate:
    units, cells, values, weights = zip(*found, strict=True)
    return mean_of_cells(values, units, cells, weights, ends=ends)


def as_cells(found: list[Row], shift: float = 0.0) -> list[list[Value]]:
    numbers = dict.fromkeys(cell for _, cell, _, _ in found)
    return [[(unit, x + shift, w) for unit, own, x, w in found if own == cell] for cell in numbers]


@given(found=rows(), numbers=st.none() | st.lists(st.sampled_from([1.0, -1.0, 0.5, -0.25]), min_size=4, max_size=4))
@settings(max_examples=sized(200, 4000), deadline=None)
def test_a_sum_of_cells_has_the_error_that_matrices_give(found: list[Row], numbers: list[float] | None) -> None:
    cells = as_cells(found, shift=5.0)
    times = [1 / len(cells)] * len(cells) if numbers is None else numbers[: len(cells)]
    leaves = [leaf(each) for each in cells]
    level = all(each.alike for each in leaves) and np.ptp([each.value for each in leaves]) < 1e-9
    assume(not level or min(times) < 0)
    wanted = figure(cells, times, length=10.0)
    units, own, values, weights = zip(*found, strict=True)
    of_cells = None if numbers is None else dict(enumerate(times))
    told = mean_of_cells(values, units, own, weights, times=of_cells, ends=(-5.0, 5.0))
    assert told.value == pytest.approx(wanted.value - 5.0 * sum(times), abs=1e-12)
    assert told.standard_error == pytest.approx(wanted.error, rel=1e-9)
    assert told.df == pytest.approx(wanted.df, rel=1e-6)
    if len(added := [c for c in figure(as_cells(found), times, length=10.0).contributions.values() if c]) <= 12:
        assert told.p == pytest.approx(turned_round(added))


@given(found=rows(), ends=st.sampled_from([None, (-5.0, 5.0), (-4.0, 4.0)]))
@settings(max_examples=sized(200, 5000), deadline=None)
def test_a_p_value_below_a_twentieth_and_an_interval_without_0_are_one(
    found: list[Row], ends: tuple[float, float] | None
) -> None:
    told = of_rows(found, ends)
    excludes = told.low is not None and told.high is not None and (told.low > 0 or told.high < 0)
    assert (told.p is not None and told.p < 0.05) == excludes
    if told.low is not None and told.high is not None:
        assert told.low < told.high
        assert told.low <= told.value + 1e-12
        assert told.high >= told.value - 1e-12
    else:
        assert told.reason


@given(found=rows(), ends=st.sampled_from([None, (-5.0, 5.0)]))
@settings(max_examples=sized(100, 2000), deadline=None)
def test_a_p_value_of_few_items_is_that_of_all_ways_of_turning_them_round(
    found: list[Row], ends: tuple[float, float] | None
) -> None:
    cells = as_cells(found)
    added = [c for c in figure(cells, [1 / len(cells)] * len(cells), length=10.0).contributions.values() if c]
    assume(len(added) <= 12)
    told, wanted = of_rows(found, ends), turned_round(added)
    assert told.p == pytest.approx(wanted) or (told.low is None and told.p is None and wanted < 0.05)


def test_three_items_that_chance_explains_have_0_in_their_interval() -> None:
    """Their spread alone would leave it out, but turned round they come to as much in two of eight ways."""
    told = mean_of_cells([0.9, 1.0, 1.1], range(3), [0] * 3)
    assert told.p == pytest.approx(0.25)
    assert told.low is not None and told.high is not None and told.low <= 0 < told.high


def test_cells_that_oppose_each_other_tell_no_more_than_their_items() -> None:
    """Six items say one thing and three the other, alike within each cell: chance does that every other time."""
    told = mean_of_cells([-1.0] * 3 + [1.0] * 6, range(9), [0] * 3 + [1] * 3 + [2] * 3, ends=(-1.0, 1.0))
    assert told.value == pytest.approx(1 / 3)
    assert told.p == pytest.approx(turned_round([-1 / 9] * 3 + [1 / 9] * 6))
    assert told.p == pytest.approx(0.5078125)
    assert told.low is not None
    assert told.low < 0


def test_a_cell_whose_items_are_alike_has_an_error_between_ends_and_none_without() -> None:
    values, cells = [1.0, 1.0, 1.0, 0.0, 1.0, 0.0], [0, 0, 0, 1, 1, 1]
    within, without = (mean_of_cells(values, range(6), cells, ends=ends) for ends in ((-1.0, 1.0), None))
    of_other = mean_of_cells(values[3:], range(3), ends=(-1.0, 1.0)).standard_error
    assert within.standard_error is not None
    assert of_other is not None
    assert within.standard_error > of_other / 2
    assert (without.low, without.high) == (None, None)
    assert without.reason == "the items of one of its cells are all alike: nothing shows its error"


def test_many_items_that_all_differ_by_the_same_are_told_apart() -> None:
    same = mean_of_cells([1.0] * 20, range(20), ends=(-9.0, 9.0))
    assert same.p == 2.0**-19
    assert same.low is not None
    assert 0 < same.low <= 1


@given(
    values=st.lists(st.tuples(st.integers(0, 5), BROKEN), min_size=3, max_size=20),
    ends=st.sampled_from([None, (-5.0, 5.0)]),
)
@settings(max_examples=sized(80, 1000), deadline=None)
def test_a_mean_is_a_mean_of_one_cell(values: list[tuple[int, float]], ends: tuple[float, float] | None) -> None:
    units, numbers = zip(*values, strict=True)
    one, other = mean(numbers, units, ends=ends), mean_of_cells(numbers, units, ends=ends, paired=False)
    for name in ("value", "standard_error", "df", "low", "high", "n", "clusters"):
        wanted = getattr(other, name)
        assert getattr(one, name) == (None if wanted is None else pytest.approx(wanted)), name


@pytest.mark.parametrize("values", [[1, 1, 1], [0.1] * 7, [0, 0]])
def test_values_that_are_all_alike_have_no_interval(values: list[float]) -> None:
    told = mean(values)
    assert told.value == pytest.approx(values[0])
    assert (told.low, told.high, told.standard_error, told.p) == (None, None, None, None)
    assert told.reason == "all are alike: nothing shows the error"


# --- how often intervals hold the truth ---

SHAPES = [(5,), (6,), (8,), (2, 2, 50), (3, 3, 100), (2, 5, 20, 80), (3, 30, 300), (5, 20, 100), (2, 40), (5,) * 10]
DRAWS = sized(400, 2000)


def least(draws: int) -> float:
    """Return a share below which 93 % is not met, whatever chance does."""
    return 0.93 - 3 * math.sqrt(0.93 * 0.07 / draws)


def most(draws: int) -> float:
    return 0.055 + 3 * math.sqrt(0.055 * 0.945 / draws)


@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["normal", "pairs", "marks"])
def test_no_difference_is_found_where_there_is_none(kind: str, sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng([41, len(kind), *sizes])
    cells = np.repeat(np.arange(len(sizes)), sizes)
    held = there = false = 0
    for _ in range(DRAWS):
        match kind:
            case "normal":
                values, ends = random.normal(size=len(cells)), None
            case "pairs":
                ease = random.random((3, len(cells)))
                values, ends = (ease[0] < 0.6) * 1.0 - (np.where(ease[2] < 0.5, ease[0], ease[1]) < 0.6), (-1.0, 1.0)
            case _:
                sides = np.clip(
                    np.rint(random.normal(6, 1.5, len(cells)) + random.normal(0, 1.5, (2, len(cells)))), 1, 10
                )
                values, ends = sides[0] - sides[1], (-9.0, 9.0)
        told = mean_of_cells(values, np.arange(len(cells)), cells, ends=ends)
        false += told.p is not None and told.p < 0.05
        if told.low is not None and told.high is not None:
            there += 1
            held += told.low <= 0 <= told.high
    assert there > DRAWS // 2
    assert held / there >= least(there)
    assert false / DRAWS <= most(DRAWS)


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("sizes", [(2, 2, 50), (2, 5, 20, 80), (3, 30, 300), (10, 10, 100)], ids=str)
def test_a_mean_of_cells_of_unequal_size_holds_its_share(sizes: tuple[int, ...], share: float) -> None:
    random = np.random.default_rng([42, *sizes])
    cells = np.repeat(np.arange(len(sizes)), sizes)
    held = 0
    for _ in range(DRAWS):
        values = (random.random(len(cells)) < share) * 1.0
        told = mean_of_cells(values, np.arange(len(cells)), cells, ends=(0.0, 1.0), paired=False)
        assert told.low is not None
        assert told.high is not None
        held += told.low <= share <= told.high
    assert held / DRAWS >= least(DRAWS)


UNEVEN = {
    "one long": [40, *[1] * 9],
    "one longer": [100, *[1] * 29],
    "halves": [32, 16, 8, 4, 2, 1, 1, 1, 1, 1],
    "harmonic": [max(1, 60 // (place + 1)) for place in range(30)],
    "two kinds": [*[1] * 15, *[4] * 15],
}


@pytest.mark.parametrize("sizes", UNEVEN)
@pytest.mark.parametrize("kind", ["normal", "shares"])
def test_a_mean_of_items_of_unequal_size_holds_the_truth(kind: str, sizes: str) -> None:
    random = np.random.default_rng([43, len(kind), len(sizes)])
    units = np.repeat(np.arange(len(UNEVEN[sizes])), UNEVEN[sizes])
    many = len(UNEVEN[sizes])
    held = 0
    for _ in range(DRAWS):
        if kind == "normal":
            values, truth, ends = random.normal(size=many)[units] + random.normal(0, 0.5, len(units)), 0.0, None
        else:
            values, truth, ends = (
                (random.random(len(units)) < random.beta(0.8, 0.2, many)[units]) * 1.0,
                0.8,
                (0.0, 1.0),
            )
        told = mean(values, units, ends=ends)
        assert told.low is not None
        assert told.high is not None
        held += told.low <= truth <= told.high
    assert held / DRAWS >= least(DRAWS)
