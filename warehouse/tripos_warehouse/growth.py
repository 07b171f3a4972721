"""How a measure grows with the items that it is taken of: a mean stays where it is, a sum doubles with twice the items.

What is compared without some of its items has to be brought back to the size of the whole before it says how far the
whole may be off. A measure of degree d is multiplied by (all items / items left)^d for that.
"""

from __future__ import annotations

from collections.abc import Mapping

from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measured, Plan

GROWING = frozenset(("sum", "count"))
"""Aggregates of values that are twice as large where there are twice as many items."""


def degree(plan: Plan, figure: Figure) -> int | None:
    """With which power of the number of items a figure grows: 0 of a mean, 1 of a sum, 0 again of a sum by a count.
    None where it adds what grows with the items to what does not, such as `sum(x) + 5`."""
    return _degree({measure.name: measure.figure for measure in plan.measures}, figure)


def _degree(measures: Mapping[str, Figure], figure: Figure) -> int | None:
    match figure:
        case Constant():
            return 0
        case Measured(measure=name):
            return _degree(measures, measures[name])
        case Aggregate(of=Aggregate() as inner):
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
            return known[0] if len(set(known)) == 1 else None
