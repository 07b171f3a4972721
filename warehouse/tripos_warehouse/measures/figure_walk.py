"""The parts of a measure: its aggregates, also those of the measures that it names."""

from __future__ import annotations

import math
import operator as operator_module
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce

from tripos_compiler.language.figures import CURVES, curve
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


Curve = Callable[[float], float]


def has_curve(plan: Plan, figure: Figure) -> bool:
    """Return true if a root, a logarithm or another curve is part of a figure."""
    measures = {measure.name: measure.figure for measure in plan.measures}
    waiting = [figure]
    while waiting:
        match waiting.pop():
            case Formula(operator=operator, values=values):
                if operator in CURVES:
                    return True
                waiting += values
            case Measured(measure=name):
                waiting.append(measures[name])
            case Aggregate(of=of) if of is not None:
                waiting.append(of)
            case _:
                pass
    return False


def curve_of(figure: Figure) -> tuple[Figure, Curve] | None:
    """Return the figure of which another is a root, a logarithm or another curve, which numbers may move and stretch as
    in `100 * sqrt(a)`, and what it makes of a value; None of any other."""
    steps: list[Curve] = []
    curved = False
    while isinstance(figure, Formula):
        match figure:
            case Formula(operator="negate", values=(inner,)):
                steps.append(operator_module.neg)
            case Formula(operator=name, values=(inner,)) if name in CURVES:
                steps.append(partial(curve, name))
                curved = True
            case Formula(operator="+" | "-" | "*" | "/" as sign, values=(inner, Constant(value=number))):
                steps.append(partial(_with_right, sign, number))
            case Formula(operator="+" | "-" | "*" as sign, values=(Constant(value=number), inner)):
                steps.append(partial(_ARITHMETIC[sign], number))
            case _:
                break
        figure = inner
    if not curved:
        return None
    return figure, lambda value: reduce(lambda each, step: step(each), reversed(steps), value)


def _with_right(sign: str, number: float, value: float) -> float:
    return _ARITHMETIC[sign](value, number)


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator_module.add,
    "-": operator_module.sub,
    "*": operator_module.mul,
    "/": operator_module.truediv,
}
MEANS = frozenset(("mean", "share", "accuracy", "pass_at", "pass_all"))
"""Aggregates to which every item adds its own mean, between two ends."""


def slices_of_sum(plan: Plan, figure: Figure) -> tuple[Mapping[str, str], ...] | None:
    """Return the slices of a figure that adds means to each other or takes them from each other, each of them once;
    None of any other. The value of an item that nobody met moves such a sum no further than from end to end of its
    scale."""
    measures = {measure.name: measure.figure for measure in plan.measures}
    seen: set[str] = set()
    slices: list[Mapping[str, str]] = []
    waiting: list[tuple[Figure, dict[str, str], frozenset[str]]] = [(figure, {}, frozenset())]
    while waiting:
        match waiting.pop():
            case Measured(measure=name, slice=fixed), sliced, over:
                slices += [fixed] if fixed else []
                waiting.append((measures[name], {**fixed, **sliced}, over))
            case Formula(operator="overall", values=values, over=more), sliced, over:
                waiting += [(each, sliced, over | {*more}) for each in values]
            case Formula(operator="negate" | "+" | "-", values=values), sliced, over:
                waiting += [(each, sliced, over) for each in values]
            case Aggregate() as part, sliced, over if _is_mean(part):
                told = f"{part.model_copy(update={'by': ()}).model_dump_json()} {sorted(sliced.items())} {sorted(over)}"
                if told in seen:
                    return None
                seen.add(told)
            case Constant(), _, _:
                pass
            case _:
                return None
    return tuple(slices) if seen else None


def _is_mean(part: Aggregate) -> bool:
    inner = part.of
    if inner is None:
        return part.function in MEANS
    return part.function == "mean" and isinstance(inner, Aggregate) and _is_mean(inner)


def of_formula(figure: Aggregate) -> bool:
    """Return true if an aggregate is taken, at any depth, of the cells of what is no aggregate."""
    while isinstance(figure.of, Aggregate):
        figure = figure.of
    return figure.of is not None


GROWING = frozenset(("sum", "count"))
"""Aggregates of values that are twice as large where there are twice as many items."""


def degree(plan: Plan, figure: Figure) -> float | None:
    """With which power of the number of items a figure grows: 0 of a mean, 1 of a sum, ½ of its root, 0 again of a
    sum by a count. None where it adds what grows with the items to what does not, such as `sum(x) + 5`."""
    return _degree({measure.name: measure.figure for measure in plan.measures}, figure)


def _degree(measures: Mapping[str, Figure], figure: Figure) -> float | None:
    match figure:
        case Constant():
            return 0
        case Measured(measure=name):
            return _degree(measures, measures[name])
        case Aggregate(of=inner) if inner is not None:
            return 0 if figure.function == "count" else _degree(measures, inner)  # it counts cells, which stay
        case Aggregate():
            return int(figure.function in GROWING)
        case Formula(operator=operator, values=values):
            found = [_degree(measures, value) for value in values]
            known = [each for each in found if each is not None]
            if len(known) < len(found):
                return None
            match operator:
                case "*":
                    return sum(known)
                case "/":
                    return known[0] - known[1]
                case "sqrt":
                    return known[0] / 2
                case "log" | "exp" | "atanh" | "tanh":
                    return 0 if known[0] == 0 else None
            return known[0] if len(set(known)) == 1 else None
