"""Interval arithmetic: whatever numbers are taken from intervals, the result of an operation is in its interval."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from tripos_compiler.language import intervals
from tripos_compiler.language.intervals import Scale, formula_range, rounded, scale_of
from tripos_compiler.library.ranges import ANY, COMPUTED, CURVES, Interval, curve, enclosing_range

NUMBERS = st.one_of(
    st.integers(-20, 20).map(float), st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)
)
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@st.composite
def samples(draw: st.DrawFn, bounded: bool = False) -> tuple[Interval, float]:
    """Draw an interval, of which an end may be infinite, and a number in it."""
    low, value, high = sorted(draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
    if bounded:
        return Interval(low, high), value
    return Interval(draw(st.sampled_from((low, -math.inf))), draw(st.sampled_from((high, math.inf)))), value


def contains(interval: Interval, value: float) -> bool:
    """Return true if a number is in an interval, but for an error of rounding."""
    slack = 1e-9 * max(1.0, abs(value))
    return interval.low - slack <= value <= interval.high + slack


@pytest.mark.parametrize("sign", ARITHMETIC)
@given(one=samples(), other=samples())
def test_arithmetic_stays_inside(sign: str, one: tuple[Interval, float], other: tuple[Interval, float]) -> None:
    if sign == "/" and other[1] == 0:
        return
    value = ARITHMETIC[sign](one[1], other[1])
    assert contains(COMPUTED[sign](one[0], other[0]), value)
    assert contains(formula_range(sign, [one[0], other[0]]), value)


@given(one=samples(), other=samples(), third=samples())
def test_the_least_the_greatest_and_what_lies_between_stay_inside(
    one: tuple[Interval, float], other: tuple[Interval, float], third: tuple[Interval, float]
) -> None:
    (first, *rest), values = zip(one, other, third, strict=True)
    assert contains(first.minimum(*rest), min(values))
    assert contains(first.maximum(*rest), max(values))
    hull = first.hull(*rest)
    assert all(contains(hull, value) for value in values) and contains(hull, sum(values) / 3)
    assert hull == enclosing_range((first, *rest))


@pytest.mark.parametrize("name", CURVES)
@given(sample=samples())
def test_curves_stay_inside(name: str, sample: tuple[Interval, float]) -> None:
    value = curve(name, sample[1])
    if math.isfinite(value):
        assert contains(sample[0].curved(name), value)


@given(sample=samples())
def test_signs_steps_and_ends_stay_inside(sample: tuple[Interval, float]) -> None:
    interval, value = sample
    assert contains(-interval, -value) and contains(abs(interval), abs(value)) and abs(interval).low >= 0
    assert contains(interval.through(math.floor), math.floor(value))
    assert interval.contains(value) and Interval.point(value).contains(value)
    assert Interval.of_ends(*interval.ends) == interval
    assert (interval.finite is None) == (None in interval.ends)
    assert interval.through(math.exp) in (ANY, interval.curved("exp")) or interval.finite is None


@pytest.mark.parametrize("sign", SIGNS)
@given(sample=samples(), bound=NUMBERS)
def test_what_always_or_never_holds_does_so_for_every_number(
    sign: str, sample: tuple[Interval, float], bound: float
) -> None:
    interval, value = sample
    said = interval.always(sign, bound)
    assert said is None or said == SIGNS[sign](value, bound)
    ends = [end for end in interval.ends if end is not None]
    if len(ends) == 2 and said is None:  # then some number compares so, and some does not
        held = {SIGNS[sign](number, bound) for number in (*ends, min(max(bound, ends[0]), ends[1]), sum(ends) / 2)}
        assert held == {True, False}


TWO: dict[str, tuple[Callable[[Scale, Scale], Scale], Callable[[float, float], float]]] = {
    "+": (intervals.added, operator.add),
    "min": (intervals.least, min),
    "max": (intervals.greatest, max),
    "mean": (intervals.enclosing, lambda one, other: (one + other) / 2),
}


@pytest.mark.parametrize("name", TWO)
@given(one=samples(bounded=True), other=samples(bounded=True), factor=NUMBERS)
def test_figures_stay_on_their_scale(
    name: str, one: tuple[Interval, float], other: tuple[Interval, float], factor: float
) -> None:
    combine, compute = TWO[name]
    scale = combine(scale_of(one[0]), scale_of(other[0]))
    value = compute(one[1], other[1])
    for scale_, expected in (
        (scale, value),
        (intervals.negated(scale), -value),
        (intervals.absolute(scale), abs(value)),
        (intervals.scaled(scale, factor), value * factor),
    ):
        assert scale_.bounds is not None and contains(scale_.bounds, expected)
    assert scale.bounds is not None and contains(rounded(scale.bounds), value)
