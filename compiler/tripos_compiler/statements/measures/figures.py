"""Reads figures: arithmetic over aggregates, other measures and slices of them.

A measure that a formula names is taken in every cell of the formula, so `gain by teaching` takes each part of `gain` by
`teaching`; a slice, `accuracy[teaching: none]`, keeps what has that value, and no longer goes by that dimension. What a
part goes by on its own the others do not: in `by_level - overall` the number over all levels is the same in each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from statistics import harmonic_mean

from tripos_compiler.language.figures import CURVES, INTERVAL_ENDS, curve
from tripos_compiler.language.library import in_bounds
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measured
from tripos_compiler.source import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    IndexExpr,
    Member,
    Name,
    Number,
    Syntax,
    UnaryExpr,
    describe_syntax,
)
from tripos_compiler.statements.measures import scales
from tripos_compiler.statements.measures.aggregates import read_aggregate
from tripos_compiler.statements.measures.figure_syntax import is_arithmetic
from tripos_compiler.statements.measures.normal_forms import called, combined, constant_form, with_missing
from tripos_compiler.statements.measures.operands import find_measure
from tripos_compiler.statements.measures.scales import Scale
from tripos_compiler.statements.measures.slices import read_slice
from tripos_compiler.statements.measures.typed_figures import (
    FigureContext,
    LoweredMeasure,
    Term,
    TypedFigure,
    formula_of,
    on_one_scale,
    range_of,
    vanishes,
    written_as,
)

LARGEST_FIGURE = "figures and scores are numbers from -1e70 to 1e70"


def read_figure(reading: FigureContext, syntax: Syntax) -> TypedFigure | None:
    """Return the figure that is written; None where it is none, which is reported."""
    match syntax:
        case Number(value=value):
            return _number(reading, syntax, value)
        case Name() | Member():
            known = find_measure(reading, syntax)
            return None if known is None else _measured(reading, known, syntax)
        case IndexExpr():
            return read_slice(reading, syntax)
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            found = read_figure(reading, inner)
            return None if found is None else replace(found, named=written_as(syntax), span=syntax.span)
        case UnaryExpr(operator="-", value=inner):
            found = read_figure(reading, inner)
            return (
                None if found is None else formula_of(reading, "negate", [found], syntax, scales.negated(found.scale))
            )
        case BinaryExpr(operator="+" | "-" | "*" | "/"):
            return _binary(reading, syntax)
        case CallExpr(function=Name(text=text)) if is_arithmetic(syntax):
            return _function(reading, syntax, text)
        case CallExpr(function=Name(text=text)) if text in INTERVAL_ENDS:
            message = f"`{text}(…)` is an end of an interval, and no figure"
            help_ = f"it stands alone on one side of an `expect`: `expect {text}(MEASURE) >= NUMBER`"
            reading.error("E0301", message, syntax.span, help_)
            return None
        case CallExpr(function=Name()):
            return _aggregate(reading, syntax)
        case BinaryExpr() | UnaryExpr():
            message = "a measure is a number, and this is true or false"
            reading.error("E0301", message, syntax.span, "a condition on a measure belongs in `expect`")
            return None
    help_ = "write `mean(x)` of a scorer, a score or a measure"
    reading.error("E0301", f"{describe_syntax(syntax)} is no figure", syntax.span, help_)
    return None


def read_whole(reading: FigureContext, syntax: Syntax) -> TypedFigure | None:
    """Return the figure that is written as a whole; None where it is none, or where its parts do not go together, which
    is reported. What holds of a formula follows from its normal form, and not from how it is written."""
    found = read_figure(reading, syntax)
    return found if found is not None and _goes_together(reading, found) else None


def read_difference(reading: FigureContext, left: Syntax, right: Syntax, whole: Syntax) -> TypedFigure | None:
    """Return the difference of two figures that are written as wholes; None where one is none, or where they do not go
    together, which is reported."""
    one, other = read_whole(reading, left), read_whole(reading, right)
    if one is None or other is None:
        return None
    scale = scales.added(one.scale, scales.negated(other.scale))
    found = formula_of(reading, "-", [one, other], whole, scale)
    return replace(found, named=difference_of(left, right)) if _goes_together(reading, found) else None


def difference_of(left: Syntax, right: Syntax) -> str:
    """Return the difference of two figures as it would be written."""
    summed = isinstance(right, BinaryExpr) and right.operator in ("+", "-")
    return f"{written_as(left)} - {f'({written_as(right)})' if summed else written_as(right)}"


def _goes_together(reading: FigureContext, found: TypedFigure) -> bool:
    return not vanishes(reading, found) and on_one_scale(reading, found.form, found.span, found.mixed)


def _aggregate(reading: FigureContext, syntax: CallExpr) -> TypedFigure | None:
    found = read_aggregate(reading, syntax, read_whole)
    if found is not None:
        reading.terms.append(Term(found.named, found.span, (), frozenset()))
    return found


def _number(reading: FigureContext, syntax: Syntax, value: float) -> TypedFigure | None:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return _constant(reading, syntax, number)


def _constant(reading: FigureContext, syntax: Syntax, value: float) -> TypedFigure | None:
    if not in_bounds(value):
        reading.error("E0301", "this number is too large", syntax.span, LARGEST_FIGURE)
        return None
    form = constant_form(value)
    return TypedFigure(
        Constant(value=value), scales.number(value), written_as(syntax), syntax.span, form=form, course=form
    )


# --- measures and slices ---


def _measured(reading: FigureContext, known: LoweredMeasure, syntax: Syntax) -> TypedFigure:
    measure = known.measure
    found = TypedFigure(
        Measured(measure=measure.name),
        known.figured.scale,
        written_as(syntax),
        syntax.span,
        cells=measure.by,
        leaves=known.figured.leaves,
        mixed=known.figured.mixed,
        ends=known.figured.ends,
        form=called(with_missing(known.figured.form, measure.missing), written_as(syntax)),
        course=known.course,
    )
    reading.terms.append(Term(found.named, found.span, found.cells, frozenset()))
    return found


# --- arithmetic ---


def _binary(reading: FigureContext, syntax: BinaryExpr) -> TypedFigure | None:
    left, right = read_figure(reading, syntax.left), read_figure(reading, syntax.right)
    if left is None or right is None:
        return None
    one, other = left.scale.constant, right.scale.constant
    if syntax.operator == "/" and other == 0:
        reading.error("E0301", "this divides by zero", syntax.right.span, "divide by another number")
        return None
    if one is not None and other is not None:
        found = _constant(reading, syntax, _computed(syntax.operator, one, other))
        form = combined(syntax.operator, [left.form, right.form])  # exact, as 1 / 3 is
        return None if found is None else replace(found, form=form, course=form)
    if syntax.operator in ("+", "-"):
        other_scale = scales.negated(right.scale) if syntax.operator == "-" else right.scale
        return formula_of(reading, syntax.operator, [left, right], syntax, scales.added(left.scale, other_scale))
    if other is not None:
        scale = scales.scaled(left.scale, other if syntax.operator == "*" else 1 / other)
    elif one is not None and syntax.operator == "*":
        scale = scales.scaled(right.scale, one)
    else:
        scale = Scale() if syntax.operator == "*" else Scale(_bounds_of_pooled(left, right))
    return formula_of(reading, syntax.operator, [left, right], syntax, scale)


def _bounds_of_pooled(left: TypedFigure, right: TypedFigure) -> tuple[float, float] | None:
    """Return the ends of a sum of sums over a sum of counts of the same values, a mean of all of them: the least and
    the greatest of theirs. None of another quotient."""
    sums, counts = Counter(_summands(left.figure, "sum")), Counter(_summands(right.figure, "count"))
    if None in sums or sums != counts:
        return None
    ends = [leaf.scored[0].ends for leaf in left.leaves]
    lows, highs = ([end for end in side if end is not None] for side in zip(*ends, strict=True))
    return (min(lows), max(highs)) if len(lows) == len(highs) == len(ends) else None


def _summands(figure: Figure, function: str) -> Iterator[str | None]:
    """Yield what a sum of aggregates of that name takes, each as a text; None for anything else."""
    match figure:
        case Formula(operator="+", values=values):
            for each in values:
                yield from _summands(each, function)
        case Aggregate(function=name, of=None) if name == function:
            yield figure.model_copy(update={"function": ""}).model_dump_json()
        case _:
            yield None


def _computed(operator: str, one: float, other: float) -> float:
    match operator:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
    return one / other


def _function(reading: FigureContext, call: CallExpr, name: str) -> TypedFigure | None:
    parts: list[TypedFigure] = []
    good = True
    for argument in call.arguments:
        if argument.name is not None or len(argument.elements) != 1:
            reading.error("E0303", f"`{name}` takes figures", argument.span, _shape(name))
            good = False
            continue
        part = read_figure(reading, argument.elements[0])
        good = good and part is not None
        parts += [part] if part is not None else []
    if not good:
        return None
    if any(vanishes(reading, part) for part in parts):
        return None
    if name == "log" and len(parts) == 2:
        return _of_base(reading, call, parts[0], parts[1])
    if len(parts) != 1 if name in OF_ONE else len(parts) < 2:
        told = "one figure" if name in OF_ONE else "two or more"
        reading.error("E0303", f"`{name}` takes {told}", call.span, _shape(name))
        return None
    if name == "abs":
        return _folded(reading, call, name, parts, scales.absolute(parts[0].scale))
    if name in OF_ONE:
        return _curved(reading, call, name, parts[0])
    if name == "harmonic_mean":
        below = next((part for part in parts if part.scale.bounds is None or part.scale.bounds[0] < 0), None)
        if below is not None:
            message = f"`{below.named}` may be below 0, and a harmonic mean is one of what is not"
            reading.error("E0301", message, below.span, "take it of shares, such as precision and recall")
            return None
    combine = {"min": scales.least, "max": scales.greatest, "harmonic_mean": scales.enclosing}[name]
    scale = parts[0].scale
    for part in parts[1:]:
        scale = combine(scale, part.scale)
    together = combined("+", [part.form for part in parts])
    if not on_one_scale(reading, together, call.span, any(part.mixed for part in parts)):
        return None
    return _folded(reading, call, name, parts, scale)


def _curved(reading: FigureContext, call: CallExpr, name: str, part: TypedFigure) -> TypedFigure | None:
    """Return the figure that a function of one figure is, such as a root or a logarithm; None where it has no value,
    which is reported."""
    low, high = range_of(part)
    if name == "sqrt" and high < 0:
        message, help_ = f"`{part.named}` is below 0, and has no square root", "take that of a mean of squares"
    elif name == "log" and high <= 0:
        message, help_ = f"`{part.named}` is never above 0, and has no logarithm", "take that of what may be above 0"
    elif name == "atanh" and (low >= 1 or high <= -1):
        message = f"`{part.named}` is never between -1 and 1, and has no inverse hyperbolic tangent"
        help_ = "take that of a correlation or an agreement"
    elif name == "exp" and not in_bounds(curve(name, part.scale.constant or 0.0)):
        message, help_ = "this number is too large", LARGEST_FIGURE
    else:
        return _folded(reading, call, name, [part], Scale())
    reading.error("E0301", message, part.span, help_)
    return None


def _of_base(reading: FigureContext, call: CallExpr, part: TypedFigure, base: TypedFigure) -> TypedFigure | None:
    """Return a logarithm to another base than e, which is the natural one by that of the base."""
    number = base.scale.constant
    if number is None or number <= 0 or number == 1:
        message = "the base of a logarithm is a number above 0 and not 1"
        reading.error("E0301", message, base.span, "write the number, or leave it out for the natural logarithm")
        return None
    natural = _curved(reading, call, "log", part)
    if natural is None:
        return None
    one = natural.scale.constant
    by = math.log(number)
    if one is not None:
        return _constant(reading, call, one / by)
    form = constant_form(by)
    divisor = TypedFigure(Constant(value=by), scales.number(by), written_as(call), call.span, form=form, course=form)
    return formula_of(reading, "/", [natural, divisor], call, Scale())


OF_ONE = ("abs", *CURVES)
"""Functions of one figure; a logarithm may have a base."""


def _curve_of_first(name: str, values: list[float]) -> float:
    return curve(name, values[0])


CONSTANTS: dict[str, Callable[[list[float]], float]] = {
    "abs": lambda values: abs(values[0]),
    **{name: partial(_curve_of_first, name) for name in CURVES},
    "min": min,
    "max": max,
    "harmonic_mean": harmonic_mean,
}
"""What a function of figures comes to where all of them are numbers."""


def _folded(
    reading: FigureContext, call: CallExpr, name: str, parts: list[TypedFigure], scale: Scale
) -> TypedFigure | None:
    constants = [part.scale.constant for part in parts]
    known = [value for value in constants if value is not None]
    if len(known) == len(parts):
        return _constant(reading, call, CONSTANTS[name](known))
    return formula_of(reading, name, parts, call, scale)


def _shape(name: str) -> str:
    return f"it is `{name}(figure)`" if name in OF_ONE else f"it is `{name}(figure, figure, …)`"
