"""What a measure must be to stand for its benchmark: one value for each compared model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured


def why_no_headline(measure: Measure, measures: Mapping[str, Measure]) -> str | None:
    """Why a measure does not come to one value for each model, in words that follow its name; None where it does.
    `measures` are those of its benchmark, by name.

    >>> figure = Aggregate(function="mean", values=("right",))
    >>> right = Measure(name="right", by=("level",), low=0, high=1, figure=figure)
    >>> why_no_headline(right, {"right": right})
    'goes by level'
    >>> why_no_headline(right.model_copy(update={"by": ()}), {}) is None
    True
    """
    if measure.by:
        return f"goes by {', '.join(measure.by)}"
    if any(each.of_all_models for each in aggregates_of(measure.figure, measures)):
        return "is one figure of all models together"
    return None


def aggregates_of(figure: Figure, measures: Mapping[str, Measure]) -> Iterator[Aggregate]:
    """The aggregates that a figure is made of, also of the measures that it names, and those whose cells they are
    taken over."""
    match figure:
        case Aggregate():
            yield figure
            if figure.of is not None:
                yield from aggregates_of(figure.of, measures)
        case Measured(measure=name):
            yield from aggregates_of(measures[name].figure, measures)
        case Formula(values=values):
            for value in values:
                yield from aggregates_of(value, measures)
        case Constant():
            return
