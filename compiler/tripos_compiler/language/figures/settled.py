"""Figures that settle: those that confidence sequences follow while a run takes one item after another."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.language.figures.scored_steps import ScoredStep, scored_by, scored_values_of
from tripos_compiler.plan import Aggregate, Expectation, Figure, Grade, Measure, Measured, Plan

DECIDED = {"<": -1, "<=": -1, ">": 1, ">=": 1}
"""The operators of expectations that a sequence can decide, and the side on which they hold."""


@dataclass(frozen=True)
class SettlingFigure:
    """A mean of scores, by cell, that a sequence can follow."""

    scored: ScoredStep
    by: tuple[str, ...]
    ends: tuple[float, float]


def settling_figure(plan: Plan, of: Measure | Expectation) -> SettlingFigure | str:
    """Return the figure of a measure or an expectation as sequences follow it, or why none can, in words that follow
    its name."""
    if isinstance(of, Expectation) and of.operator not in DECIDED:
        return f"compares with `{of.operator}`, which no interval decides"
    if of.corrected:
        return "is corrected by people"
    figure: Figure = of.figure
    measures = {measure.name: measure for measure in plan.measures}
    if isinstance(figure, Measured) and not figure.slice:
        figure = measures[figure.measure].figure
    if not isinstance(figure, Aggregate) or figure.function != "mean" or figure.of is not None or figure.of_condition:
        return "is no plain mean of scores"
    scored = scored_by(scored_values_of(plan), figure)
    if len(scored) != 1 or not scored[0].kept:
        return "is no plain mean of scores"
    if getattr(of, "missing", "skip") != "skip":
        return "has a rule for missing scores"
    if len({weight for step in scored[0].steps if isinstance(step, Grade) for weight in step.weights}) > 1:
        return "weighs its metrics"
    known = {*(axis.name for axis in plan.axes), *(arm.name for arm in plan.arms), "language", "scenario", "metric"}
    if other := sorted(set(figure.by) - known):
        return f"goes by {other[0]}"
    if of.low is None or of.high is None or not of.low < of.high:
        return "has a scale without two ends"
    return SettlingFigure(scored[0], figure.by, (of.low, of.high))


def says_until(plan: Plan) -> bool:
    """Return true if a benchmark says that its runs go on until something is settled."""
    stated = [plan.benchmark.until, *(each.until for each in plan.measures)]
    stated += [each.until for each in plan.expectations]
    return any(until is not None for until in stated)
