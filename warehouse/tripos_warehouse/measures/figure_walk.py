"""The parts of a measure: its aggregates, also those of the measures that it names."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measured, Plan


def aggregates(plan: Plan, figure: Figure) -> Iterator[Aggregate]:
    """Yield the aggregates of a figure, and those whose cells they are taken over."""
    measures = {measure.name: measure.figure for measure in plan.measures}
    waiting = [figure]
    while waiting:
        match waiting.pop():
            case Aggregate() as found:
                yield found
                waiting += [] if found.of is None else [found.of]
            case Measured(measure=name):
                waiting.append(measures[name])
            case Formula(values=values):
                waiting += values


def is_moved_median(plan: Plan, figure: Figure) -> bool:
    """Return true if a figure is a median of values, or one that numbers move and stretch: a · median + b, with a not
    0."""
    measures = {measure.name: measure.figure for measure in plan.measures}
    while True:
        match figure:
            case Measured(measure=name):
                figure = measures[name]
            case Formula(operator="negate", values=(inner,)):
                figure = inner
            case Formula(operator="+" | "-", values=(Constant(), inner) | (inner, Constant())):
                figure = inner
            case Formula(operator="*", values=(Constant(value=factor), inner) | (inner, Constant(value=factor))):
                if factor == 0:
                    return False
                figure = inner
            case Formula(operator="/", values=(inner, Constant())):
                figure = inner
            case Aggregate(function="median", of=None):
                return True
            case _:
                return False
