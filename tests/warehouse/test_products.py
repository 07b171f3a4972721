"""Products, quotients and powers of figures have the intervals of what they are made of, however they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from tests.bench.aggregate_coverage import (
    PAGE,
    World,
    classes,
    covered,
    kinds,
    missing_aggregates,
    of_classes,
    pairs,
    plan_of_world,
    raters,
    views_of,
)
from tests.bench.coverage import FEWEST
from tests.lengths import sized, spread
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.statistics.intervals import DIVISOR_MAY_BE_0, Factor, product_interval

DRAWS = sized(12, 100)
Written = dict[str, str]
ONE_EACH: Sequence[Sequence[str]] = (
    ("a / b", "1 / (b / a)", "exp(log(a) - log(b))", "a * (1 / b)", "2 * a / (b * 2)", "named"),
    ("a * b", "b * a", "sqrt(a) * sqrt(b) * sqrt(a * b)", "a / (1 / b)"),
    ("a * b / c", "a / (c / b)", "(b / c) * a", "named * b * b / c"),
    ("sqrt(a * b)", "exp((log(a) + log(b)) / 2)", "sqrt(a) * sqrt(b)"),
    ("log(a / b)", "log(a) - log(b)", "-log(b / a)", "-(log(b) - log(a))", "log(named)"),
    ("harmonic_mean(a, b)", "2 * a * b / (a + b)", "a * b / ((a + b) / 2)"),
)
"""Figures, each in several notations."""
EVEN_ROOTS = (
    ("abs(a - b) * c", "sqrt((a - b) * (a - b)) * c"),
    ("c / abs(a - b)", "c / sqrt((a - b) * (a - b))"),
    ("abs(a - b) * c", "exp(log((a - b) * (a - b)) / 2) * c"),
    ("abs(a - b) * c", "exp(0.5 * log((a - b) * (a - b)) + log(c))"),
    ("(1 - a) * b", "sqrt((a - 1) * (a - 1)) * b"),
)
"""Figures with the root of the square of a figure that may be negative, after another notation."""


@cache
def rows(figures: tuple[str, ...], first: float = 0.3, second: float = 0.6, items: int = 20) -> list[list[MeasureRow]]:
    """The rows of figures of a, b and c over models that are drawn, `named` being a / b."""
    base = ("measure a = mean(right)", "measure b = mean(good)", "measure c = mean(mark)", "measure named = a / b")
    written = tuple(f"measure f{place} = {figure}" for place, figure in enumerate(figures))
    measures = (*base, *written, "measure it = mean(right)")

    def draw(random: np.random.Generator, draws: int) -> object:
        drawn = pairs(first, second, items)(random, draws)
        marks = random.integers(1, 11, (draws, items)).astype(float)
        return type(drawn)({**drawn.values, "mark": marks}, drawn.items)

    world = World("formula", "", measures, draw, math.nan)  # type: ignore[arg-type]
    plan = plan_of_world(world, DRAWS)
    known = {measure.name: measure for measure in plan.measures}
    drawn = draw(np.random.default_rng(3), DRAWS)
    with views_of(world, plan, known["s.it"], drawn, DRAWS) as connection:  # type: ignore[arg-type]
        return [
            list(evaluate(connection, plan, known[f"s.{name}"]).rows)
            for name in ("a", *(f"f{place}" for place in range(len(figures))))
        ]


def ends(row: MeasureRow) -> tuple[float, float, float]:
    assert row.value is not None and row.low is not None and row.high is not None, row.reason
    return row.value, row.low, row.high


@pytest.mark.parametrize("written", ONE_EACH, ids=lambda each: each[0])
@pytest.mark.parametrize(("first", "second"), [(0.3, 0.6), (0.9, 0.2)])
def test_a_figure_has_one_interval_however_it_is_written(written: Sequence[str], first: float, second: float) -> None:
    _, expected, *others = rows(tuple(written), first, second)
    assert any(row.low is not None for row in expected)
    for figure, found in zip(written[1:], others, strict=True):
        for row, same in zip(expected, found, strict=True):
            told = [(each.value, each.low, each.high) for each in (row, same)]
            assert told[0] == pytest.approx(told[1], abs=1e-9), (figure, row, same)


@pytest.mark.parametrize("written", EVEN_ROOTS, ids=lambda each: each[1])
def test_the_root_of_a_square_is_never_negative(written: tuple[str, str]) -> None:
    _, expected, roots = rows(written)
    for row, root in zip(expected, roots, strict=True):
        if row.value is None or row.value > 1e6 or not root.value:  # of a difference of 0
            continue
        assert root.value == pytest.approx(row.value, abs=1e-9)
        assert (root.low, root.high) == pytest.approx((row.low, row.high), abs=1e-9), (row, root)
        assert root.low is None or root.low >= 0


def test_a_product_of_another_sign_than_its_value_has_no_interval() -> None:
    factors = [Factor(-0.2, -0.39, -0.08, 0.07), Factor(0.5, 0.3, 0.7, 0.1)]
    assert product_interval(1, factors, 0.1, 0.04) is None
    _, row = rows(("sqrt((a - 1) * (b - 1)) * sqrt((a - 1) / (b - 1)) * c",) * 1)
    assert all(each.low is None or each.value is None or each.low <= each.value for each in row)


def test_a_quotient_that_is_turned_round_has_the_inverse_interval() -> None:
    _, quotient, turned = rows(("a / b", "b / a"))
    for row, other in zip(quotient, turned, strict=True):
        if row.value and other.value:
            _, low, high = ends(row)
            assert ends(other)[1:] == pytest.approx((1 / high, 1 / low))


def test_a_curve_of_a_product_has_the_image_of_its_interval() -> None:
    _, product, root, log, exp = rows(("a * b", "sqrt(a * b)", "log(a * b)", "exp(a * b)"))
    for row, *others in zip(product, root, log, exp, strict=True):
        value, low, high = ends(row)
        assert ends(others[0]) == pytest.approx((math.sqrt(value), math.sqrt(low), math.sqrt(high)))
        if value and low:
            assert ends(others[1]) == pytest.approx((math.log(value), math.log(low), math.log(high)))
        assert ends(others[2]) == pytest.approx((math.exp(value), math.exp(low), math.exp(high)))


def test_a_product_at_nought_reaches_as_far_as_its_factors() -> None:
    one, product, quotient = rows(("a * b", "a / b"), 0.0, 0.5)
    for row, times, by in zip(one, product, quotient, strict=True):
        assert (row.value, times.value, by.value) == (0, 0, 0)
        assert ends(times)[1] == ends(by)[1] == 0
        assert 0 < ends(times)[2] < ends(row)[2] < ends(by)[2]


def test_what_may_be_divided_by_0_has_no_interval() -> None:
    twice = Factor(0.2, 0.08, 0.39, 0.07)
    assert product_interval(1, [twice, Factor(0.1, -0.01, 0.3, 0.06, -1)], 2.0, 1.3) == DIVISOR_MAY_BE_0
    assert product_interval(1, [twice, Factor(0.1, 0.0, 0.3, 0.06, -1)], 2.0, 1.3) == DIVISOR_MAY_BE_0


def test_a_difference_by_a_share_may_lie_on_either_side_of_0() -> None:
    found = product_interval(1, [Factor(-0.1, -0.3, 0.1, 0.1), Factor(0.5, 0.3, 0.7, 0.1, -1)], -0.2, 0.21)
    assert isinstance(found, tuple) and found[0] < -0.2 < 0 < found[1]


def test_the_sign_of_a_number_turns_an_interval_round() -> None:
    factors = [Factor(0.2, 0.08, 0.39, 0.07), Factor(0.5, 0.3, 0.7, 0.1)]
    plain, turned = (product_interval(sign, factors, sign * 0.1, 0.04) for sign in (1.0, -1.0))
    assert isinstance(plain, tuple) and isinstance(turned, tuple)
    assert turned == pytest.approx((-plain[1], -plain[0]))


RARE = (0.85, 0.15)
RATIO, ROOT = ("measure it = mean(right) / mean(good)",), ("measure it = sqrt(mean(right) * mean(good))",)
BY_KIND = "measure by_kind = mean(right) by item.kind"
OTHERS = (
    World("mcc", "a class at 15 %", ("measure it = mcc(answer.sort, item.sort)",), classes(RARE, 0.7, 40),
          of_classes("mcc", RARE, 0.7)),
    World("mcc", "a class of three at 5 %", ("measure it = mcc(answer.sort, item.sort)",),
          classes((0.6, 0.35, 0.05), 0.75, 60), of_classes("mcc", (0.6, 0.35, 0.05), 0.75)),
    World("cohen_kappa", "a class at 15 %", ("measure it = cohen_kappa(rubric) across judge",), raters(RARE, 0.7, 40),
          0.7**2, across=True),
    World("formula", "a / b", RATIO, pairs(0.3, 0.08, 40), 0.3 / 0.08),
    World("formula", "a / b of few", RATIO, pairs(0.4, 0.3, 10), 0.4 / 0.3),
    World("formula", "a / b of others", (BY_KIND, "measure it = by_kind[item.kind: a] / by_kind[item.kind: b]"),
          kinds([0.3, 0.1], (25, 60)), 3.0),
    World("formula", "sqrt(a * b)", ROOT, pairs(0.1, 0.08, 25, 0.8), math.sqrt(0.008)),
)  # fmt: skip
"""Worlds of other shapes than those of the table."""


@pytest.mark.parametrize("world", spread(OTHERS, 7), ids=lambda each: f"{each.aggregate} {each.world}")
def test_intervals_of_rare_classes_quotients_and_roots_hold_the_truth(world: World) -> None:
    found = covered(world, sized(200, 1000), seed=8)
    assert found.known > found.draws / 4
    assert found.share >= FEWEST - 2 * max(found.error, 0.01), found


def test_every_aggregate_has_a_line_in_the_table_of_coverage() -> None:
    assert missing_aggregates(PAGE.read_text("utf-8")) == []
