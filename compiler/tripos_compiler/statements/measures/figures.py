"""Reads figures: arithmetic over aggregates, other measures and slices of them.

A measure that a formula names is taken in every cell of the formula, so `gain by teaching` takes each part of `gain` by
`teaching`; a slice, `accuracy[teaching: none]`, keeps what has that value, and no longer goes by that dimension.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from statistics import harmonic_mean

from tripos_compiler.diagnostics import nearest
from tripos_compiler.language.figures import Range
from tripos_compiler.plan import FIXED, Aggregate, Constant, Figure, Formula, Measured
from tripos_compiler.source import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    IndexExpr,
    Member,
    Name,
    Number,
    Span,
    Syntax,
    Text,
    UnaryExpr,
    describe_syntax,
)
from tripos_compiler.statements.measures import scales
from tripos_compiler.statements.measures.aggregates import read_aggregate
from tripos_compiler.statements.measures.dimensions import known_dimensions
from tripos_compiler.statements.measures.figure_syntax import is_arithmetic
from tripos_compiler.statements.measures.operands import find_measure
from tripos_compiler.statements.measures.scales import Scale, renamed, spoken
from tripos_compiler.statements.measures.typed_figures import (
    FigureContext,
    LoweredMeasure,
    Term,
    TypedFigure,
    sliced,
    written_as,
)


def read_slice(reading: FigureContext, syntax: IndexExpr) -> TypedFigure | None:
    """Return the figure that a slice of a measure is; None where it is none, which is reported."""
    if not isinstance(syntax.of, Name | Member):
        help_ = "give it a name first: `measure NAME = …`"
        reading.error("E0301", "only a measure that has a name can be sliced", syntax.of.span, help_)
        return None
    known = find_measure(reading, syntax.of)
    if known is None:
        return None
    fixed: dict[str, str] = {}
    good = bool(syntax.arguments)
    if not syntax.arguments:
        reading.error("E0303", "this slice fixes nothing", syntax.span, "write `[arm: value]`")
    for argument in syntax.arguments:
        pair = _fixed(reading, known, argument)
        if pair is not None and pair[0] in fixed:
            reading.error("E0202", f"this slice fixes `{pair[0]}` twice", argument.span, "remove one")
            pair = None
        good = good and pair is not None
        if pair is not None:
            fixed[pair[0]] = pair[1]
    if not good:
        return None
    keys = frozenset(fixed)
    cells = tuple(dim for dim in known.measure.by if dim not in keys)
    named = written_as(syntax)
    figured = known.figured
    reading.terms.append(Term(named, syntax.span, cells, keys))
    return TypedFigure(
        Measured(measure=known.measure.name, slice=fixed),
        renamed(figured.scale, named),
        named,
        syntax.span,
        cells=cells,
        leaves=tuple(sliced(leaf, keys) for leaf in figured.leaves),
        mixed=figured.mixed and "metric" not in keys,
        ends=figured.ends,
    )


def _fixed(reading: FigureContext, known: LoweredMeasure, argument: Argument) -> tuple[str, str] | None:
    """Return the dimension that an argument of a slice fixes, and its value."""
    if argument.name is None or len(argument.elements) != 1:
        reading.error("E0303", "a slice names what it fixes", argument.span, "write `[arm: value]`")
        return None
    key, value = argument.name, argument.elements[0]
    program = reading.program
    parted = [leaf.parted for leaf in known.figured.leaves if key.text not in leaf.fixed and leaf.parted.whole]
    if not parted and any(not leaf.parted.whole for leaf in known.figured.leaves):
        return None  # what it goes by is not known
    names = known_dimensions(program, parted) if parted else []
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
        close = nearest(key.text, names)
        help_ = f"did you mean `{close}`?" if close else f"it goes by {', '.join(f'`{name}`' for name in names)}"
        message = f"`{known.measure.name}` does not go by `{key.text}`"
        code = "E0621" if key.text in (*FIXED, *program.axes, *program.arms) else "E0201"
        reading.error(code, message, key.span, help_ if names else "leave the slice out", key.text)
        return None
    word = value.text if isinstance(value, Name) else value.value if isinstance(value, Text) else None
    if word is None:
        reading.error("E0301", f"{describe_syntax(value)} is no value of `{key.text}`", value.span, "name a value")
        return None
    return (key.text, word) if _is_value(reading, known, key, word, value.span) else None


def _is_value(reading: FigureContext, known: LoweredMeasure, key: Name, word: str, where: Span) -> bool:
    program = reading.program
    values: list[str]
    match key.text:
        case "evaluator":
            return True  # who judges is known to a run only
        case "scenario":
            values = sorted({s.name for leaf in known.figured.leaves for s in leaf.parted.scenarios})
        case "metric":
            values = list(program.metrics) + sorted(reading.scores.names(None))
        case "dimension":
            values = list(dict.fromkeys(metric.dimension for metric in program.metrics.values()))
        case _:
            table = program.axes.get(key.text) or program.arms[key.text]
            values = [value.name for value in table.values]
    if word in values:
        program.index.use(where, program.value_spans.get((key.text, word)))
        return True
    close = nearest(word, values)
    some = ", ".join(f"`{value}`" for value in values[:8])
    help_ = f"did you mean `{close}`?" if close else f"its values are {some}"
    reading.error("E0201", f"`{key.text}` has no value `{word}`", where, help_, word)
    return False


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
            return None if found is None else _formula("negate", [found], syntax, scales.negated(found.scale))
        case BinaryExpr(operator="+" | "-" | "*" | "/"):
            return _binary(reading, syntax)
        case CallExpr(function=Name(text=text)) if is_arithmetic(syntax):
            return _function(reading, syntax, text)
        case CallExpr(function=Name()):
            return _aggregate(reading, syntax)
        case BinaryExpr() | UnaryExpr():
            message = "a measure is a number, and this is true or false"
            reading.error("E0301", message, syntax.span, "a condition on a measure belongs in `expect`")
            return None
    help_ = "write `mean(x)` of a scorer, a score or a measure"
    reading.error("E0301", f"{describe_syntax(syntax)} is no figure", syntax.span, help_)
    return None


def _aggregate(reading: FigureContext, syntax: CallExpr) -> TypedFigure | None:
    found = read_aggregate(reading, syntax, reading.by)
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
    if not math.isfinite(value):
        reading.error("E0301", "this number is too large", syntax.span, "measures are numbers of double precision")
        return None
    return TypedFigure(Constant(value=value), scales.number(value), written_as(syntax), syntax.span)


# --- measures and slices ---


def _measured(reading: FigureContext, known: LoweredMeasure, syntax: Syntax) -> TypedFigure:
    measure = known.measure
    found = TypedFigure(
        Measured(measure=measure.name),
        renamed(known.figured.scale, written_as(syntax)),
        written_as(syntax),
        syntax.span,
        cells=measure.by,
        leaves=known.figured.leaves,
        mixed=known.figured.mixed,
        ends=known.figured.ends,
    )
    reading.terms.append(Term(found.named, found.span, found.cells, frozenset()))
    return found


# --- arithmetic ---


def _formula(operator: str, parts: list[TypedFigure], syntax: Syntax, scale: Scale) -> TypedFigure:
    if operator == "negate" and isinstance(parts[0].figure, Constant):
        return replace(parts[0], figure=Constant(value=-parts[0].figure.value), scale=scale, named=written_as(syntax))
    values: tuple[Figure, ...] = tuple(part.figure for part in parts)
    low, high = scales.ends_of_formula(operator, [_range_of(part) for part in parts])
    if scale.bounds is None and math.isfinite(low) and math.isfinite(high):
        scale = replace(scale, bounds=(low, high))
    return TypedFigure(
        Formula(operator=operator, values=values),
        scale,
        written_as(syntax),
        syntax.span,
        cells=tuple(dict.fromkeys(dim for part in parts for dim in part.cells)),
        leaves=tuple(leaf for part in parts for leaf in part.leaves),
        mixed=any(part.mixed for part in parts),
        ends=(low if math.isfinite(low) else None, high if math.isfinite(high) else None),
    )


def _range_of(figured: TypedFigure) -> Range:
    """Return the least and the greatest value of a part of a formula, as far as they are known."""
    low, high = figured.scale.bounds or figured.ends
    if figured.mixed:
        return -math.inf, math.inf
    return -math.inf if low is None else low, math.inf if high is None else high


def _binary(reading: FigureContext, syntax: BinaryExpr) -> TypedFigure | None:
    left, right = read_figure(reading, syntax.left), read_figure(reading, syntax.right)
    if left is None or right is None:
        return None
    one, other = left.scale.constant, right.scale.constant
    if syntax.operator == "/" and other == 0:
        reading.error("E0301", "this divides by zero", syntax.right.span, "divide by another number")
        return None
    if one is not None and other is not None:
        return _constant(reading, syntax, _computed(syntax.operator, one, other))
    if syntax.operator in ("+", "-"):
        if not _alike(reading, left, right):
            return None
        other_scale = scales.negated(right.scale) if syntax.operator == "-" else right.scale
        return _formula(syntax.operator, [left, right], syntax, scales.added(left.scale, other_scale))
    if other is not None:
        scale = scales.scaled(left.scale, other if syntax.operator == "*" else 1 / other)
    elif one is not None and syntax.operator == "*":
        scale = scales.scaled(right.scale, one)
    else:
        scale = Scale() if syntax.operator == "*" else Scale(_bounds_of_pooled(left, right))
    return _formula(syntax.operator, [left, right], syntax, scale)


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
    if len(parts) != 1 if name == "abs" else len(parts) < 2:
        reading.error(
            "E0303", f"`{name}` takes {'one figure' if name == 'abs' else 'two or more'}", call.span, _shape(name)
        )
        return None
    if name == "abs":
        return _folded(reading, call, name, parts, scales.absolute(parts[0].scale))
    if name == "harmonic_mean":
        below = next((part for part in parts if part.scale.bounds is None or part.scale.bounds[0] < 0), None)
        if below is not None:
            message = f"`{below.named}` may be below 0, and a harmonic mean is one of what is not"
            reading.error("E0301", message, below.span, "take it of shares, such as precision and recall")
            return None
    combine = {"min": scales.least, "max": scales.greatest, "harmonic_mean": scales.enclosing}[name]
    scale = parts[0].scale
    for before, part in pairwise(parts):
        if not _alike(reading, before, part, operands=True):
            return None
        scale = combine(scale, part.scale)
    return _folded(reading, call, name, parts, scale)


CONSTANTS: dict[str, Callable[[list[float]], float]] = {
    "abs": lambda values: abs(values[0]),
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
    return _formula(name, parts, call, scale)


def _shape(name: str) -> str:
    return "it is `abs(figure)`" if name == "abs" else f"it is `{name}(figure, figure, …)`"


def _alike(reading: FigureContext, one: TypedFigure, other: TypedFigure, operands: bool = False) -> bool:
    """Return true if two figures may be added or compared; reports scales that differ: those of what is weighed in
    them, or, with `operands`, those of the figures as they are written."""
    if one.mixed or other.mixed:  # each cell has its own scale, and those of one metric are alike
        return True
    if one.scale.like(other.scale):
        return True
    a, b = one.scale, other.scale
    assert a.base is not None and b.base is not None
    (name, base), (name_b, base_b) = (_named(each, operands) for each in (one, other))
    told = f"`{name}` runs from {spoken(base)}, `{name_b}` from {spoken(base_b)}"
    off = a if a.base != scales.UNIT else b
    assert off.base is not None
    low, high = off.base
    inner = f"({off.named} - {low:g})" if low else off.named
    help_ = f"bring them to one scale first: `{inner} / {high - low:g}`"
    reading.error("E0702", f"these are on different scales: {told}", one.span.to(other.span), help_)
    return False


def _named(figured: TypedFigure, as_written: bool) -> tuple[str, scales.Bounds]:
    """Return a figure, or what is weighed in it, and what that runs over."""
    scale = figured.scale
    assert scale.base is not None
    if as_written and scale.bounds is not None and scale.bounds != scale.base:
        return figured.named, scale.bounds
    return scale.named, scale.base
