"""The parts of a figure: formulas, aggregates, the figures over whose cells these are taken, and named measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeGuard

from tripos_compiler.language.aggregates import declared_aggregate, is_of_all_models
from tripos_compiler.plan import Aggregate, Figure, Formula, Measure, Measured, Plan


def measures_of(plan: Plan) -> Mapping[str, Measure]:
    """Return the measures of a plan by name."""
    return {measure.name: measure for measure in plan.measures}


def walk(figure: Figure, measures: Mapping[str, Measure]) -> Iterator[Figure]:
    """Yield a figure and all its parts, each before its own parts, from left to right. `measures` are those that it may
    name.

    >>> mean = Aggregate(function="mean", values=("right",))
    >>> gain = Formula(operator="-", values=(Measured(measure="right", slice={"hint": "some"}), mean))
    >>> right = Measure(name="right", by=("hint",), low=0, high=1, figure=mean)
    >>> [part.op for part in walk(gain, {"right": right})]
    ['formula', 'measure', 'aggregate', 'aggregate']
    """
    yield figure
    match figure:
        case Aggregate(of=inner) if inner is not None:
            yield from walk(inner, measures)
        case Measured(measure=name):
            yield from walk(measures[name].figure, measures)
        case Formula(values=values):
            for value in values:
                yield from walk(value, measures)


def aggregates_of(figure: Figure, measures: Mapping[str, Measure]) -> Iterator[Aggregate]:
    """Yield the aggregates in a figure, including those of measures that it names and those over whose cells they are
    taken."""
    return (part for part in walk(figure, measures) if isinstance(part, Aggregate))


def means_of_cells(figure: Figure) -> Iterator[Aggregate]:
    """Yield the means of the cells of another figure in a figure, without those of measures that it names."""
    match figure:
        case Aggregate(function=function, of=Aggregate() | Measured() | Formula()):
            if declared_aggregate(function).is_mean_of_scores:
                yield figure
        case Formula(values=values):
            for value in values:
                yield from means_of_cells(value)


def quotients_of_sums(figure: Figure, measures: Mapping[str, Measure]) -> Iterator[tuple[Aggregate, Aggregate]]:
    """Yield the two sums of scores of each quotient in a figure that divides one by another."""
    if not isinstance(figure, Formula):
        return
    if figure.operator == "/":
        above, below = (_unsliced(value, measures) for value in figure.values)
        if is_sum_of_scores(above) and is_sum_of_scores(below):
            yield above, below
    for value in figure.values:
        yield from quotients_of_sums(value, measures)


def _unsliced(figure: Figure, measures: Mapping[str, Measure]) -> Figure:
    """Return the figure of the measure that `figure` names without a slice; otherwise the figure itself."""
    while isinstance(figure, Measured) and not figure.slice:
        figure = measures[figure.measure].figure
    return figure


def is_sum_of_scores(figure: Figure) -> TypeGuard[Aggregate]:
    """Return true for an aggregate that adds scores up, as opposed to one that averages or counts them."""
    if not isinstance(figure, Aggregate) or figure.of is not None:
        return False
    declared = declared_aggregate(figure.function)
    return declared.degree == 1 and not declared.counts


def leaves_of(figure: Figure, measures: Mapping[str, Measure]) -> Iterator[Aggregate]:
    """Yield the aggregates of scores in a figure, without those of cells."""
    return (part for part in aggregates_of(figure, measures) if part.of is None)


def is_pooled(figure: Figure, measures: Mapping[str, Measure]) -> bool:
    """Return true if a figure is the same for every compared model, since it pools all their replies."""
    match figure:
        case Aggregate(of=Measured() | Formula() as cells):
            return is_pooled(cells, measures)
        case Aggregate():
            return is_of_all_models(figure)
        case Measured(measure=name):
            return name in measures and is_pooled(measures[name].figure, measures)
        case Formula(values=values):
            return all(is_pooled(value, measures) for value in values)
    return True
