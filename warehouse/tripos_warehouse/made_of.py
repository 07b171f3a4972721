"""What a measure is made of: its aggregates, also those of the measures that it names."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.plan import Aggregate, Figure, Formula, Measured, Plan


def aggregates(plan: Plan, figure: Figure) -> Iterator[Aggregate]:
    """The aggregates of a figure, and those whose cells they are taken over."""
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
