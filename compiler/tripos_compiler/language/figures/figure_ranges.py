"""Between which ends the figures of a plan lie: scores, aggregates of them, and formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tripos_compiler.language.figures.aggregates import AGGREGATES
from tripos_compiler.language.figures.scored_steps import ScoredStep, scored_by, scored_values_of
from tripos_compiler.language.figures.value_ranges import (
    ANY,
    CURVES,
    Range,
    computed_range,
    curved_range,
    enclosing_range,
    ranges_of,
)
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Grade, Measured, Missing, Plan, named


def figure_range(plan: Plan, figure: Figure, missing: Missing) -> Range:
    """Return the least and the greatest value that a figure of a plan can have, infinite where nothing is known."""
    match figure:
        case Constant(value=value):
            return value, value
        case Measured(measure=name):
            measure = named(plan.measures, name)
            low, high = measure.low, measure.high
            return -math.inf if low is None else low, math.inf if high is None else high
        case Formula(operator=operator, values=values):
            return ends_of_formula(operator, [figure_range(plan, each, missing) for each in values])
        case Aggregate():
            return _aggregate_range(plan, figure, missing)


def _aggregate_range(plan: Plan, figure: Aggregate, missing: Missing) -> Range:
    function = AGGREGATES.get(figure.function)
    if function is None:  # of the user's
        return ANY
    if figure.of is not None:
        low, high = figure_range(plan, figure.of, missing)
    else:
        scored = scored_by(scored_values_of(plan), figure)
        low, high = scored_range(plan, scored[0]) if scored and scored[0].kind != "compare" else ANY
        if figure.of_condition:
            low, high = 0.0, 1.0
        if missing == "zero":
            low, high = min(low, 0.0), max(high, 0.0)
    least, most = function.bounds((low if math.isfinite(low) else None, high if math.isfinite(high) else None))
    return -math.inf if least is None else least, math.inf if most is None else most


def scored_range(plan: Plan, scored: ScoredStep) -> Range:
    """Return the ends of a score that something is made of."""
    ranges = ranges_of(plan)
    scales = {metric.name: metric.ends for metric in plan.metrics}
    found: list[Range] = []
    for scenario in scored.scenarios:
        for step in scored.steps:
            if isinstance(step, Grade) and step.metrics:
                names = (scored.name,) if scored.kind == "metric" else step.metrics
                ends = [scales.get(name) for name in names]
                found += [ANY if each is None else (float(each[0]), float(each[1])) for each in ends]
            else:
                found.append(ranges.of_step(scenario, step))
    return enclosing_range(found) if found else ANY


def ends_of_formula(operator: str, parts: Sequence[Range]) -> Range:
    """Return the least and the greatest value of a formula of parts between ends, which may be infinite.

    >>> ends_of_formula("max", [(0.0, 0.0), (-math.inf, 1.0)])
    (0.0, 1.0)
    >>> ends_of_formula("*", [(0.0, 1.0), (-1.0, 1.0)])
    (-1.0, 1.0)
    """
    lows, highs = zip(*parts, strict=True)
    match operator:
        case "negate":
            return -highs[0], -lows[0]
        case "abs":
            return max(lows[0], -highs[0], 0.0), max(-lows[0], highs[0])
        case _ if operator in CURVES:
            return curved_range(operator, parts[0])
        case "overall":
            return parts[0]
        case "harmonic_mean" if min(lows) >= 0:
            return min(lows), max(highs)
        case "min":
            return min(lows), min(highs)
        case "max":
            return max(lows), max(highs)
        case "+" | "-" | "*":
            return computed_range(operator, parts[0], parts[1])
        case "/" if any(low == high for low, high in parts):  # by a number
            return computed_range(operator, parts[0], parts[1])
    return -math.inf, math.inf
