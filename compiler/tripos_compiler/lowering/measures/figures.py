"""Type checking of figures: arithmetic over aggregates, measures, and slices such as `accuracy[hint: none]`.

A measure named in a formula is taken in every cell of the formula, so `gain by teaching` takes each part of `gain` by
`teaching`. A slice keeps what has one value of a dimension and no longer goes by it. If a part goes by a dimension and
the others do not, as in `by_level - overall`, the others have the same number in each of its cells.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import harmonic_mean

from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.language import intervals
from tripos_compiler.language.aggregates import RATIOS
from tripos_compiler.language.intervals import INTERVAL_ENDS, Scale
from tripos_compiler.library.ranges import CURVES, Interval, curve
from tripos_compiler.library.signature import LARGEST, in_bounds
from tripos_compiler.lowering.measures.aggregates import find_measure, read_aggregate
from tripos_compiler.lowering.measures.dimensions import (
    Groupable,
    fields_by,
    known_dimensions,
    read_dimension,
    values_of,
)
from tripos_compiler.lowering.measures.normal_forms import combined, constant_form, sliced_form, with_missing, with_name
from tripos_compiler.lowering.measures.typed_figures import (
    CellTerm,
    FigureContext,
    LoweredMeasure,
    TypedFigure,
    formula_of,
    is_arithmetic,
    on_one_scale,
    range_of,
    sliced,
    vanishes,
)
from tripos_compiler.plan import BUILT_IN_DIMENSIONS, Aggregate, Constant, Figure, Formula, Measured
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    IndexExpr,
    Member,
    Name,
    Number,
    Syntax,
    Text,
    UnaryExpr,
    describe_syntax,
)

# Slices


def read_slice(reading: FigureContext, syntax: IndexExpr) -> TypedFigure | None:
    """Check a slice of a measure; None if it is wrong."""
    attempt = reading.program.diagnostics.attempt()
    if not isinstance(syntax.of, Name | Member):
        help_ = "give it a name first: `measure NAME = …`"
        reading.error("E0301", "only a measure that has a name can be sliced", syntax.of.span, help_)
        return None
    measure = find_measure(reading, syntax.of)
    if measure is None:
        return None
    fixed: dict[str, str] = {}
    if not syntax.arguments:
        reading.error("E0303", "this slice fixes nothing", syntax.span, "write `[arm: value]`")
    for argument in syntax.arguments:
        pair = _fixed(reading, measure, argument)
        if pair is None:
            reading.program.diagnostics.follows()
        elif pair[0] in fixed:
            reading.error("E0202", f"this slice fixes `{pair[0]}` twice", argument.span, "remove one")
        else:
            fixed[pair[0]] = pair[1]
    if attempt.failed:
        return None
    keys = frozenset(fixed)
    cells = tuple(dim for dim in measure.measure.by if dim not in keys)
    named = syntax.span.excerpt
    figured = measure.typed_figure
    reading.terms.append(CellTerm(named, syntax.span, cells, keys))
    return TypedFigure(
        Measured(measure=measure.measure.name, slice=fixed),
        figured.scale,
        named,
        syntax.span,
        cells=cells,
        leaves=tuple(sliced(leaf, keys) for leaf in figured.leaves),
        mixed=figured.mixed and "metric" not in keys,
        ends=figured.ends,
        form=with_name(sliced_form(with_missing(figured.form, measure.measure.missing), fixed), named),
        direction_form=sliced_form(measure.direction_form, fixed),
    )


def _fixed(reading: FigureContext, known: LoweredMeasure, argument: Argument) -> tuple[str, str] | None:
    """Return the dimension that an argument of a slice fixes, and its value; None if it is wrong."""
    if argument.name is None or len(argument.elements) != 1:
        reading.error("E0303", "a slice names what it fixes", argument.span, "write `[arm: value]`")
        return None
    key, value = argument.name, argument.elements[0]
    program = reading.program
    groupables = [
        leaf.groupable for leaf in known.typed_figure.leaves if key.text not in leaf.fixed and leaf.groupable.complete
    ]
    if not groupables and any(not leaf.groupable.complete for leaf in known.typed_figure.leaves):
        return None  # its dimensions are unknown
    by_field: Syntax | None = argument.path
    if by_field is None and groupables and all(key.text in groupable.elements for groupable in groupables):
        by_field = key
    if groupables and by_field is not None:
        return _fixed_field(reading, by_field, value, groupables)
    names = known_dimensions(program, groupables) if groupables else []
    for kind, table in (("axis", program.axes), ("arm", program.arms)):
        declared = program.declared.get(kind, {}).get(key.text)
        if declared is not None:
            program.index.use(key.span, declared.span)
            if key.text not in table:
                return None  # it was reported
    if key.text == "pair" and key.text in names:
        help_ = f"take `{known.measure.name}` by `pair`"
        reading.error("E0621", "the raters of a pair are known only in a run", key.span, help_)
        return None
    if key.text not in names:
        fields = fields_by(program, groupables)
        close = next((field for field in fields if key.text in field.split(".")), nearest(key.text, [*names, *fields]))
        help_ = f"did you mean `{close}`?" if close else f"it goes by {', '.join(f'`{name}`' for name in names)}"
        message = f"`{known.measure.name}` does not go by `{key.text}`"
        code = "E0621" if key.text in (*BUILT_IN_DIMENSIONS, *program.axes, *program.arms) else "E0201"
        reading.error(code, message, key.span, help_ if names else "leave the slice out", key.text)
        return None
    word = value.text if isinstance(value, Name) else value.value if isinstance(value, Text) else None
    if word is None:
        reading.error("E0301", f"{describe_syntax(value)} is no value of `{key.text}`", value.span, "name a value")
        return None
    return (key.text, word) if _is_value(reading, known, key, word, value.span) else None


def _is_value(reading: FigureContext, known: LoweredMeasure, key: Name, word: str, where: Span) -> bool:
    values = members_of(reading, key.text, [leaf.groupable for leaf in known.typed_figure.leaves])
    if values is None:
        return True  # the judges are known only during a run
    if word in values:
        reading.program.index.use(where, reading.program.value_spans.get((key.text, word)))
    return _is_known(reading, key.text, word, values, where)


def members_of(reading: FigureContext, dimension: str, parted: Sequence[Groupable]) -> Sequence[str] | None:
    """Return the values of a dimension of what `parted` divides; None if they are known only in a run."""
    program = reading.program
    match dimension:
        case "evaluator" | "pair":
            return None
        case "scenario":
            return sorted({scenario.name for groupable in parted for scenario in groupable.scenarios})
        case "metric":
            return list(program.metrics) + sorted(reading.scores.names(None))
        case "dimension":
            return list(dict.fromkeys(metric.dimension for metric in program.metrics.values()))
    table = program.axes.get(dimension) or program.arms.get(dimension)
    if table is not None:
        return [value.name for value in table.values]
    kind, values = values_of(program, dimension, parted)
    return values if kind in ("choice", "text") else None


def _is_known(reading: FigureContext, key: str, word: str, values: Sequence[str], where: Span) -> bool:
    """Return true if a word is a value of a dimension; otherwise report it."""
    if word in values:
        return True
    some = ", ".join(f"`{value}`" for value in values[:8])
    help_ = suggest(word, values, f"its values are {some}")
    reading.error("E0201", f"`{key}` has no value `{word}`", where, help_, word)
    return False


def _fixed_field(
    reading: FigureContext, syntax: Syntax, value: Syntax, parted: Sequence[Groupable]
) -> tuple[str, str] | None:
    """Return the field, group or node dimension that a slice fixes, and its value. Reports a mistake and
    returns None.
    """
    dim = read_dimension(reading.program, syntax, parted)
    if dim is None:
        return None
    kind, values = values_of(reading.program, dim, parted)
    match value:
        case Name(text=word) | Text(value=word) if kind not in ("bool", "integer", "number"):
            pass
        case Name(text="true" | "false" as word) if kind == "bool":
            pass
        case Number(value=int() as number) if kind == "integer":
            word = str(number)
        case _ if kind == "number":
            help_ = "declare the field an `integer` or a `text`, or choose its rows with `where:`"
            reading.error("E0301", f"`{dim}` is a number, which no slice fixes", syntax.span, help_)
            return None
        case _:
            text = {"bool": "write `true` or `false`", "integer": "write a whole number"}.get(kind, "name a value")
            reading.error("E0301", f"{describe_syntax(value)} is no value of `{dim}`", value.span, text)
            return None
    return (dim, word) if values is None or _is_known(reading, dim, word, values, value.span) else None


# Figures

LARGEST_FIGURE = "figures and scores are numbers from -1e70 to 1e70"


def read_figure(reading: FigureContext, syntax: Syntax) -> TypedFigure | None:
    """Check a figure or a part of one; None if it is wrong."""
    match syntax:
        case Number(value=value):
            return _number(reading, syntax, value)
        case Name() | Member():
            measure = find_measure(reading, syntax)
            return None if measure is None else _measured(reading, measure, syntax)
        case IndexExpr():
            return read_slice(reading, syntax)
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            figure = read_figure(reading, inner)
            return None if figure is None else replace(figure, named=syntax.span.excerpt, span=syntax.span)
        case UnaryExpr(operator="-", value=inner):
            figure = read_figure(reading, inner)
            return (
                None
                if figure is None
                else formula_of(reading, "negate", [figure], syntax, intervals.negated(figure.scale))
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
    """Check a whole figure, whose parts must be compatible. Reports a mistake and returns None.

    The check uses the normal form of the figure, so it does not depend on notation.
    """
    figure = read_figure(reading, syntax)
    return figure if figure is not None and _goes_together(reading, figure) else None


def read_difference(reading: FigureContext, left: Syntax, right: Syntax, whole: Syntax) -> TypedFigure | None:
    """Check the difference of two whole figures; None if it is wrong."""
    one, other = read_whole(reading, left), read_whole(reading, right)
    if one is None or other is None:
        return None
    scale = intervals.added(one.scale, intervals.negated(other.scale))
    figure = formula_of(reading, "-", [one, other], whole, scale)
    return replace(figure, named=difference_of(left, right)) if _goes_together(reading, figure) else None


def difference_of(left: Syntax, right: Syntax) -> str:
    """Return the source notation of the difference of two figures."""
    summed = isinstance(right, BinaryExpr) and right.operator in ("+", "-")
    return f"{left.span.excerpt} - {f'({right.span.excerpt})' if summed else right.span.excerpt}"


def _goes_together(reading: FigureContext, figure: TypedFigure) -> bool:
    return not vanishes(reading, figure) and on_one_scale(reading, figure.form, figure.span, figure.mixed)


def _aggregate(reading: FigureContext, syntax: CallExpr) -> TypedFigure | None:
    figure = read_aggregate(reading, syntax, read_whole)
    if figure is not None:
        reading.terms.append(CellTerm(figure.named, figure.span, (), frozenset()))
    return figure


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
        Constant(value=value), intervals.number(value), syntax.span.excerpt, syntax.span, form=form, direction_form=form
    )


# --- measures and slices ---


def _measured(reading: FigureContext, known: LoweredMeasure, syntax: Syntax) -> TypedFigure:
    measure = known.measure
    figure = TypedFigure(
        Measured(measure=measure.name),
        known.typed_figure.scale,
        syntax.span.excerpt,
        syntax.span,
        cells=measure.by,
        leaves=known.typed_figure.leaves,
        mixed=known.typed_figure.mixed,
        ends=known.typed_figure.ends,
        form=with_name(with_missing(known.typed_figure.form, measure.missing), syntax.span.excerpt),
        direction_form=known.direction_form,
    )
    reading.terms.append(CellTerm(figure.named, figure.span, figure.cells, frozenset()))
    return figure


# --- arithmetic ---


def _binary(reading: FigureContext, syntax: BinaryExpr) -> TypedFigure | None:
    figure, right = read_figure(reading, syntax.left), read_figure(reading, syntax.right)
    if figure is None or right is None:
        return None
    one, other = figure.scale.constant, right.scale.constant
    if syntax.operator == "/" and other == 0:
        reading.error("E0301", "this divides by zero", syntax.right.span, "divide by another number")
        return None
    if one is not None and other is not None:
        typed_figure = _constant(reading, syntax, _computed(syntax.operator, one, other))
        form = combined(syntax.operator, [figure.form, right.form])  # exact, as 1 / 3 is
        return None if typed_figure is None else replace(typed_figure, form=form, direction_form=form)
    form = combined(syntax.operator, [figure.form, right.form])
    if any(abs(factor) > LARGEST for factor in form.terms.values()):
        reading.error("E0301", "a factor of this formula is too large", syntax.span, LARGEST_FIGURE)
        return None
    if syntax.operator in ("+", "-"):
        other_scale = intervals.negated(right.scale) if syntax.operator == "-" else right.scale
        return formula_of(reading, syntax.operator, [figure, right], syntax, intervals.added(figure.scale, other_scale))
    if other is not None:
        scale = intervals.scaled(figure.scale, other if syntax.operator == "*" else 1 / other)
    elif one is not None and syntax.operator == "*":
        scale = intervals.scaled(right.scale, one)
    else:
        scale = Scale() if syntax.operator == "*" else Scale(_bounds_of_pooled(figure, right))
    return formula_of(reading, syntax.operator, [figure, right], syntax, scale)


def _bounds_of_pooled(left: TypedFigure, right: TypedFigure) -> Interval | None:
    """Return the range of a sum of sums divided by the sum of counts of the same values, which is their mean; None for
    other quotients.
    """
    for over, under in RATIOS:
        sums, counts = Counter(_summands(left.figure, over)), Counter(_summands(right.figure, under))
        if None in sums or sums != counts:
            continue
        ends = [leaf.scored[0].ends for leaf in left.leaves]
        lows, highs = ([end for end in side if end is not None] for side in zip(*ends, strict=True))
        return Interval(min(lows), max(highs)) if len(lows) == len(highs) == len(ends) else None
    return None


def _summands(figure: Figure, function: str) -> Iterator[str | None]:
    """Yield the operand of each aggregate `function` in a sum, as text; None for anything else."""
    match figure:
        case Formula(operator="+", values=values):
            for value in values:
                yield from _summands(value, function)
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
    """Check a function of figures; None if it is wrong."""
    parts: list[TypedFigure] = []
    for argument in call.arguments:
        if argument.name is not None or len(argument.elements) != 1:
            reading.error("E0303", f"`{name}` takes figures", argument.span, _shape(name))
        elif (part := read_figure(reading, argument.elements[0])) is not None:
            parts.append(part)
    if len(parts) < len(call.arguments):
        return None
    if any(vanishes(reading, part) for part in parts):
        return None
    if name == "log" and len(parts) == 2:
        return _of_base(reading, call, parts[0], parts[1])
    if len(parts) != 1 if name in OF_ONE else len(parts) < 2:
        text = "one figure" if name in OF_ONE else "two or more"
        reading.error("E0303", f"`{name}` takes {text}", call.span, _shape(name))
        return None
    if name == "abs":
        return _folded(reading, call, name, parts, intervals.absolute(parts[0].scale))
    if name in OF_ONE:
        return _curved(reading, call, name, parts[0])
    if name == "harmonic_mean":
        below = next((part for part in parts if part.scale.bounds is None or part.scale.bounds[0] < 0), None)
        if below is not None:
            message = f"`{below.named}` may be below 0, and a harmonic mean is one of what is not"
            reading.error("E0301", message, below.span, "take it of shares, such as precision and recall")
            return None
    combine = {"min": intervals.least, "max": intervals.greatest, "harmonic_mean": intervals.enclosing}[name]
    scale = parts[0].scale
    for part in parts[1:]:
        scale = combine(scale, part.scale)
    form = combined("+", [part.form for part in parts])
    if not on_one_scale(reading, form, call.span, any(part.mixed for part in parts)):
        return None
    return _folded(reading, call, name, parts, scale)


def _curved(reading: FigureContext, call: CallExpr, name: str, part: TypedFigure) -> TypedFigure | None:
    """Return a function of one figure, such as a root or logarithm. Reports one that is undefined and returns None."""
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
    """Return a logarithm to a given base, as the quotient of natural logarithms."""
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
    divisor = TypedFigure(
        Constant(value=by), intervals.number(by), call.span.excerpt, call.span, form=form, direction_form=form
    )
    return formula_of(reading, "/", [natural, divisor], call, Scale())


OF_ONE = ("abs", *CURVES)
"""Functions of one figure. `log` may have a base."""


def _curve_of_first(name: str, values: list[float]) -> float:
    return curve(name, values[0])


CONSTANTS: dict[str, Callable[[list[float]], float]] = {
    "abs": lambda values: abs(values[0]),
    **{name: partial(_curve_of_first, name) for name in CURVES},
    "min": min,
    "max": max,
    "harmonic_mean": harmonic_mean,
}
"""The functions of figures for constant arguments."""


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
