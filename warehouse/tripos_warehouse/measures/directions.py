"""Which way a measure is better: the one rule for rankings, ranks, bold values, verdicts and worst cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from tripos_compiler.language.aggregates import declared_aggregate
from tripos_compiler.language.figures import measures_of, walk
from tripos_compiler.language.intervals import ranges_of
from tripos_compiler.language.references import subexpressions
from tripos_compiler.language.scored_values import scored_inputs, scored_values_of
from tripos_compiler.library.ranges import CURVES
from tripos_compiler.plan import (
    Aggregate,
    Column,
    Constant,
    Figure,
    Formula,
    Grade,
    Measure,
    Measured,
    Plan,
    Ref,
    Score,
    named,
)


def higher_is_better_scores(plan: Plan) -> set[str]:
    """Return the scores for which higher is better: those of judges, and true or false."""
    steps = [step for scenario in plan.scenarios for step in scenario.steps]
    computed = {step.name for step in steps if isinstance(step, Score) and step.truth}
    given = {name for step in steps if isinstance(step, Grade) for name in (*step.metrics, step.name, step.scorer)}
    return computed | given


def is_lower_better(plan: Plan, measure: Measure) -> bool:
    """Return true if models are ranked by the lowest value of a measure first. A measure without a direction is ranked
    by the highest."""
    return better_direction(plan, measure) == "lower"


def better_direction(plan: Plan, measure: Measure) -> Literal["higher", "lower"] | None:
    """Return whether a higher or a lower value of a measure is better; None if nothing says so.

    It is what the spec says, or follows from the parts of the figure: from aggregates of which one direction is always
    better, and from the grades and the scores that are true or false of which it is made, with the sign that each has
    in it (`signed_leaves`). It does not follow if one part has no direction, if two have opposite ones, or if a score
    is subtracted: what is true may be a fault, as in `1 - share(leaked)`. A headline measure that says nothing is
    better when higher, unless it is made of such aggregates alone.
    """
    if measure.directed:
        return "lower" if measure.lower_is_better else "higher"
    ranked = measure.corrected or measure.name in plan.benchmark.headline
    parts = walk(measure.figure, measures_of(plan))
    if any(isinstance(part, Measured) and named(plan.measures, part.measure).directed for part in parts):
        return "higher" if ranked else None  # the compiler found that none follows
    good = higher_is_better_scores(plan)
    signs: set[bool | None] = set()
    for figure, sign in signed_leaves(plan, measure.figure, True):
        if sign is None and _factor(plan, figure) is not None:
            continue  # no reply changes it
        declared = declared_aggregate(figure.function)
        is_of_good = figure.values[0] in good and not figure.of_condition and (declared.rises or declared.truth_only)
        if declared.better is None and (ranked or not is_of_good or sign is False):
            signs.add(None)  # what is taken from something may be a fault: `1 - mean(wrong)`
        else:
            signs.add(sign if sign is None or declared.better != "lower" else not sign)
    if len(signs) != 1 or None in signs:
        return "higher" if ranked else None
    return "higher" if True in signs else "lower"


def signed_leaves(plan: Plan, figure: Figure, sign: bool | None) -> Iterator[tuple[Aggregate, bool | None]]:
    """Yield the aggregates of scores in a figure, each with its sign: true if a higher score is better, false if a
    higher score is worse, None if this is unknown. `sign` is that of the figure itself."""
    match figure:
        case Aggregate(of=None):
            yield figure, sign
        case Aggregate(of=inner, function=function) if inner is not None:
            yield from signed_leaves(plan, inner, sign if declared_aggregate(function).rises else None)
        case Measured(measure=name):
            yield from signed_leaves(plan, named(plan.measures, name).figure, sign)
        case Formula(values=values):
            for value, part_sign in zip(values, _signs(plan, figure, sign), strict=True):
                yield from signed_leaves(plan, value, part_sign)


def _signs(plan: Plan, figure: Formula, sign: bool | None) -> list[bool | None]:
    """Return the sign of each part of a formula (`signed_leaves`), from the sign of the formula."""
    opposite = None if sign is None else not sign
    values = figure.values
    match figure.operator:
        case "+" | "min" | "max" | "harmonic_mean" | "overall":
            return [sign] * len(values)
        case "-":
            return [sign, opposite]
        case "negate":
            return [opposite]
        case "*" | "/":
            factors = [_factor(plan, value) for value in values]
            if factors[1] is not None:
                return [sign if factors[1] > 0 else opposite, None]
            if factors[0] is not None and figure.operator == "*":
                return [None, sign if factors[0] > 0 else opposite]
            return [None] * len(values)
        case operator if operator in CURVES:
            return [sign]
    return [None] * len(values)


def _factor(plan: Plan, figure: Figure) -> float | None:
    """Return a number with the sign of a figure that no reply changes: a constant, or a positive quantity of the rows
    such as `sum(q.points)`. None for any other figure."""
    match figure:
        case Constant(value=value):
            return value
        case Aggregate(of=None, function=function):
            return 1.0 if declared_aggregate(function).rises and _is_positive_of_rows(plan, figure) else None
        case Measured(measure=name):
            return _factor(plan, named(plan.measures, name).figure)
    return None


def _is_positive_of_rows(plan: Plan, figure: Aggregate) -> bool:
    """Return true if the values of an aggregate are fields of the rows that are not known to be below 0."""
    values, ranges = scored_inputs(scored_values_of(plan), figure), ranges_of(plan)
    return all(scored.steps for scored in values) and all(
        isinstance(step, Column)
        and step.when is None
        and scenario.rows is not None
        and all(part.path[0] == scenario.rows.alias for part in subexpressions(step.value) if isinstance(part, Ref))
        and not -math.inf < ranges.of_step(scenario, step).low < 0
        for scored in values
        for scenario in scored.scenarios
        for step in scored.steps
        if step in scenario.steps
    )
