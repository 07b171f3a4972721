"""The parts of a measure: its aggregates, also those of the measures that it names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

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


def cut_of(figure: Figure) -> tuple[Figure, float, float] | None:
    """Return a figure without the numbers that cut its values, as `max(0, min(1, a))` cuts those of a, and the least
    and the greatest value that they leave; None of any other."""
    low, high = -math.inf, math.inf
    inner = figure
    while isinstance(inner, Formula) and inner.operator in ("min", "max"):
        numbers = [value.value for value in inner.values if isinstance(value, Constant)]
        others = [value for value in inner.values if not isinstance(value, Constant)]
        if not numbers or len(others) != 1:
            break
        # What stands further out has the last word.
        if inner.operator == "min":
            high = max(min(high, *numbers), low)
        else:
            low = min(max(low, *numbers), high)
        inner = others[0]
    return None if inner is figure else (inner, low, high)


MEANS = frozenset(("mean", "share", "accuracy", "pass_at", "pass_all"))
"""Aggregates to which every item adds its own mean, between two ends."""


def slices_of_sum(plan: Plan, figure: Figure) -> tuple[Mapping[str, str], ...] | None:
    """Return the slices of a figure that adds means to each other or takes them from each other, each of them once;
    None of any other. The value of an item that nobody met moves such a sum no further than from end to end of its
    scale."""
    measures = {measure.name: measure.figure for measure in plan.measures}
    seen: set[str] = set()
    slices: list[Mapping[str, str]] = []
    waiting: list[tuple[Figure, dict[str, str]]] = [(figure, {})]
    while waiting:
        match waiting.pop():
            case Measured(measure=name, slice=fixed), sliced:
                slices += [fixed] if fixed else []
                waiting.append((measures[name], {**fixed, **sliced}))
            case Formula(operator="negate" | "+" | "-", values=values), sliced:
                waiting += [(each, sliced) for each in values]
            case Aggregate() as part, sliced if _is_mean(part):
                told = f"{part.model_copy(update={'by': ()}).model_dump_json()} {sorted(sliced.items())}"
                if told in seen:
                    return None
                seen.add(told)
            case Constant(), _:
                pass
            case _:
                return None
    return tuple(slices) if seen else None


def _is_mean(part: Aggregate) -> bool:
    inner = part.of
    return part.function in MEANS if inner is None else part.function == "mean" and _is_mean(inner)
