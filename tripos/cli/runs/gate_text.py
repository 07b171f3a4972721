"""The lines of `tripos plan` on expectations of ends of intervals: from which true value on the items show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tripos_compiler.diagnostics import localized, wrap
from tripos_compiler.language.figures import DECIDED, SettlingFigure, SettlingMean, settling_figure
from tripos_compiler.plan import Expectation, Plan, Score
from tripos_warehouse.statistics.design import (
    CORRELATION,
    detectable_difference,
    least_shown_mean,
    least_shown_share,
)

SHOWING = {("lower", 1), ("upper", -1)}
"""The ends, each with the side of the number on which all of the interval lies if the end does."""


def gate_lines(plan: Plan, items: Mapping[str, int], width: int = 80, *, clustered: bool = False) -> list[str]:
    """Return a line for each expectation that asks for all of an interval on one side of a number: from which true
    value on it holds with a power of 80 %, with so many independent `items` of each scenario. `clustered`: some of
    these are clusters of items.

    Of sums of means over the items of one scenario; of another figure nothing is said.
    """
    told = (_told(plan, each, items, "clusters" if clustered else "items") for each in plan.expectations)
    return [line for each in told if each is not None for line in wrap(localized(each), width)]


def _told(plan: Plan, expectation: Expectation, items: Mapping[str, int], counted: str) -> str | None:
    side = DECIDED.get(expectation.operator)
    if side is None or (expectation.end, side) not in SHOWING:
        return None
    figure = settling_figure(plan, expectation)
    count = None if isinstance(figure, str) else _items_of(plan, figure, items)
    if count is None or count < 2 or isinstance(figure, str):
        return None
    shown = f"`{expectation.shown}` with {count:,} {counted}"
    value, why = _least(figure, expectation, side, count)
    if value is None:
        return f"{shown}: never shown, {why}."
    if side > 0:
        return f"{shown}: shown from a true value of {value:.3g} on ({why})."
    return f"{shown}: shown up to a true value of {value:.3g} ({why})."


def _items_of(plan: Plan, figure: SettlingFigure, items: Mapping[str, int]) -> int | None:
    """Return the items of a figure; None if they are of several scenarios, or if a part of them makes a cell."""
    scenarios = {scenario.name for mean in figure.means for scenario in mean.scored.scenarios}
    named = {*figure.by, *(name for mean in figure.means for name in (*mean.over, *dict(mean.fixed)))}
    if len(scenarios) != 1 or named - {arm.name for arm in plan.arms}:
        return None
    return items.get(scenarios.pop())


POWER = "80 % power"
WORST = "80 % power, worst case"
NEVER = "whatever the value (80 % power, worst case)"


def _least(figure: SettlingFigure, expectation: Expectation, side: int, items: int) -> tuple[float | None, str]:
    """Return from which true value on a figure is shown to lie on a `side` of the number, and by what reckoning; or
    None, and why no value is."""
    if len(figure.means) > 1:
        error = detectable_difference(items, _variance(figure.means)).value
        assert error is not None
        value = expectation.value + side * error
        low, high = figure.ends
        return (value, WORST) if low <= value <= high else (None, NEVER)
    mean, low, high = figure.means[0], *figure.means[0].ends
    number = (expectation.value - figure.constant) / mean.factor
    upward = side * mean.factor > 0
    if not low < high or not low <= number <= high:
        return None, NEVER
    if not upward:  # the scale turned round
        number = low + high - number
    if _is_share(mean):
        found = least_shown_share(number, items, beyond=expectation.operator in ("<", ">"))
    else:
        found = least_shown_mean(number, items, (low, high))
    reached = found.low if found.value is None else found.value
    assert reached is not None
    shown = figure.constant + mean.factor * (reached if upward else low + high - reached)
    if found.value is None:
        return None, f"at best that end is {shown:.3g}"
    return shown, POWER if _is_share(mean) else WORST


def _variance(means: Sequence[SettlingMean]) -> float:
    """Return the greatest variance of an item's part in a sum of means that correlate as two models are taken to."""
    reaches = [mean.factor * (mean.ends[1] - mean.ends[0]) / 2 for mean in means]
    alone, together = math.fsum(each**2 for each in reaches), math.fsum(reaches) ** 2
    return (1 - CORRELATION) * alone + CORRELATION * together


def _is_share(mean: SettlingMean) -> bool:
    return mean.ends == (0, 1) and not mean.over and all(isinstance(s, Score) and s.truth for s in mean.scored.steps)
