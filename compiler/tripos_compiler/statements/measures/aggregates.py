"""Reads aggregates: `mean(rubric)`, `mean(mean(f1) by q.subject)`, `f1(step, item.wrong_at, average: micro)`."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.diagnostics import nearest
from tripos_compiler.language.figures import AGGREGATES, AggregateFunction, Bounds as Ends
from tripos_compiler.plan import Aggregate, Measured
from tripos_compiler.source import CallExpr, Name, Syntax
from tripos_compiler.statements.measures.arguments import Arguments, find_across, given_arguments, is_fitting
from tripos_compiler.statements.measures.dimensions import dimension_text, read_dimensions
from tripos_compiler.statements.measures.figure_syntax import find_aggregate, is_aggregate
from tripos_compiler.statements.measures.operands import find_among, find_choice
from tripos_compiler.statements.measures.scales import Bounds, Scale, scale_of
from tripos_compiler.statements.measures.scored_values import Operand
from tripos_compiler.statements.measures.typed_figures import (
    FigureContext,
    Leaf,
    LoweredMeasure,
    TypedFigure,
    written_as,
)


def read_aggregate(reading: FigureContext, call: CallExpr, by: tuple[str, ...]) -> TypedFigure | None:
    """Return the figure that a call of an aggregate is, in each cell of `by`; None where it is none, which is
    reported."""
    assert isinstance(call.function, Name)
    program, name = reading.program, call.function
    function = find_aggregate(program, name.text)
    declared = program.declared.get("aggregate", {}).get(name.text)
    if declared is not None:
        program.index.use(name.span, declared.span)
    if function is None:
        if declared is None:
            _no_aggregate(reading, name)
        return None
    arguments = given_arguments(reading, call, function)
    operands = _operands(reading, function, arguments) if arguments is not None else None
    across = find_across(reading, call, function, operands)
    if arguments is None or operands is None or across is False:
        return None
    first = operands[0][0]
    if isinstance(first, TypedFigure):
        return _of_cells(reading, call, function, first, arguments, by)
    scored = [(value, syntax) for value, syntax in operands if isinstance(value, Operand)]
    if not is_fitting(reading, call, function, arguments, scored):
        return None
    among = find_among(reading, arguments, scored)
    if among is None:
        return None
    values = [value for value, _ in scored]
    mixed = any(each.mixed for each in values) and function.name != "count"
    if mixed and "metric" not in by:
        what = "averages" if function.name == "mean" else f"takes the `{function.name}` of"
        help_ = "take it `by metric`, or give the metrics one scale"
        reading.error("E0702", f"this {what} metrics of different scales", call.span, help_)
        return None
    judge = across.text if isinstance(across, Name) else None
    if function.name == "krippendorff_alpha" and values[0].type.kind == "choice" and not values[0].type.worth:
        arguments.named.setdefault("level", "nominal")  # names without numbers have no other
    named = written_as(call)
    scale, ends = _scale(reading, function, values[0].bounds, values[0].ends, named)
    keeps = _keeps_scale(function)
    return TypedFigure(
        Aggregate(
            function=function.name,
            values=tuple(each.name for each in values),
            scenario=values[0].within,
            named=arguments.named,
            across=judge,
            by=by,
            true_of=values[0].true_of,
            among=among,
            elements=values[0].scores_elements,
        ),
        Scale() if mixed and keeps else scale,
        named,
        call.span,
        leaves=(Leaf(f"`{named}`", tuple(values), function=function.name, judged=judge is not None),),
        mixed=mixed and keeps,
        ends=ends,
    )


def _no_aggregate(reading: FigureContext, name: Name) -> None:
    close = nearest(name.text, [*AGGREGATES, *reading.program.aggregates, "abs", "harmonic_mean"])
    some = ", ".join(f"`{each}`" for each in list(AGGREGATES)[:6])
    help_ = f"did you mean `{close}`?" if close else f"there is {some}, …"
    reading.error("E0205", f"there is no aggregate `{name.text}`", name.span, help_, name.text)


def _scale(
    reading: FigureContext, function: AggregateFunction, declared: Bounds | None, given: Ends, named: str
) -> tuple[Scale, Ends]:
    """The scale of an aggregate of values between ends, whose own scale is `declared`, and the aggregate's ends. A
    figure whose ends only follow from how it is computed, as those of a standard deviation do, or of a mean of what an
    expression comes to, is on no scale of its own."""
    own = function.bounds(given)
    ends = function.bounds(_with_zero(given)) if reading.zero else own
    low, high = ends
    if low is None or high is None:
        return Scale(), ends
    match own:
        case (float() as least, float() as greatest) if own in (declared, function.bounds((None, None))):
            return replace(scale_of((least, greatest), named), bounds=(low, high)), ends
    return Scale((low, high)), ends


def _with_zero(ends: Ends) -> Ends:
    low, high = ends
    return None if low is None else min(low, 0.0), None if high is None else max(high, 0.0)


def _keeps_scale(function: AggregateFunction) -> bool:
    """Return true if the figure is on the scale of its values, as a mean is."""
    return function.bounds((-3.0, 7.0)) == (-3.0, 7.0)


# --- figures with cells ---


def _of_cells(
    reading: FigureContext,
    call: CallExpr,
    function: AggregateFunction,
    inner: TypedFigure,
    arguments: Arguments,
    by: tuple[str, ...],
) -> TypedFigure | None:
    """Return an aggregate of the cells of another figure."""
    assert isinstance(inner.figure, Aggregate)
    lost = next((dim for dim in by if dim not in inner.figure.by), None)
    if lost is not None:
        span = next((syntax.span for syntax in reading.written if dimension_text(syntax) == lost), call.span)
        goes = ", ".join(f"`{dim}`" for dim in inner.figure.by)
        help_ = f"`{inner.named}` goes by {goes}; add `{lost}` to those"
        reading.error("E0201", f"`{lost}` is averaged away already", span, help_)
        return None
    if inner.mixed and "metric" not in by and _keeps_scale(function):
        help_ = "take it `by metric`, or give the metrics one scale"
        reading.error("E0702", "this averages metrics of different scales", call.span, help_)
        return None
    named = written_as(call)
    scale, ends = _scale(reading, function, inner.scale.base, inner.scale.bounds or inner.ends, named)
    mixed = inner.mixed and _keeps_scale(function)
    return TypedFigure(
        Aggregate(function=function.name, values=(), named=arguments.named, by=by, of=inner.figure),
        Scale() if mixed else scale,
        named,
        call.span,
        leaves=inner.leaves,
        mixed=mixed and "metric" in by,
        ends=(None, None) if mixed else ends,
    )


def _takes_cells(function: AggregateFunction) -> bool:
    """Return true if an aggregate can be taken of figures, as well as of what is scored."""
    single = len(function.columns) == 1 and function.across == "forbidden" and not function.truth_only
    return single and function.takes not in ("compare", "typed")


# --- what it is taken of ---


def _operands(
    reading: FigureContext, function: AggregateFunction, arguments: Arguments
) -> list[tuple[Operand | TypedFigure, Syntax]] | None:
    """Return what stands where columns are taken: scores, columns, or a figure with cells."""
    found: list[tuple[Operand | TypedFigure, Syntax]] = []
    for syntax, dims in arguments.columns:
        if dims is not None or (is_aggregate(reading.program, syntax) and syntax.span not in reading.program.columns):
            value: Operand | TypedFigure | None = _nested(reading, function, syntax, dims)
        else:
            operand = find_choice(reading, syntax)
            value = _cells_of(reading, function, operand, syntax) if isinstance(operand, LoweredMeasure) else operand
        if value is not None:
            found.append((value, syntax))
    return found if len(found) == len(arguments.columns) else None


def _cells_of(
    reading: FigureContext, function: AggregateFunction, known: LoweredMeasure, syntax: Syntax
) -> TypedFigure | None:
    """Return a measure, as something with cells."""
    known = _original(reading, known)
    name, figure = f"`{known.measure.name}`", known.figured.figure
    if not _takes_cells(function):
        message = f"`{function.name}` is taken of what is scored, and {name} is a measure"
        reading.error("E0301", message, syntax.span, f"it is `{function.shown}`")
    elif not isinstance(figure, Aggregate):
        what = "a slice" if isinstance(figure, Measured) else "a formula"
        message = f"{name} is {what}, and `{function.name}` is taken of the cells of one aggregate"
        reading.error("E0301", message, syntax.span, "take it of the measures that this is made of")
    elif not figure.by:
        message = f"{name} is a single figure, so there is nothing to take the `{function.name}` of"
        reading.error("E0301", message, syntax.span, f"use {name} alone, or take it `by` something")
    elif known.measure.missing not in ("skip", reading.missing or known.measure.missing):
        message = f"{name} takes missing scores as `{known.measure.missing}`, and this as `{reading.missing}`"
        reading.error("E0303", message, syntax.span, "say one thing of both")
    else:
        if known.measure.missing != "skip":
            reading.missing = known.measure.missing
        return known.figured
    return None


def _original(reading: FigureContext, known: LoweredMeasure) -> LoweredMeasure:
    """Return the measure that another name stands for, as in `measure b = a`."""
    match known.figured.figure:
        case Measured(measure=name, slice=fixed) if not fixed and reading.known[name].measure.by == known.measure.by:
            return _original(reading, reading.known[name])
    return known


def _nested(
    reading: FigureContext, function: AggregateFunction, syntax: Syntax, dims: tuple[Syntax, ...] | None
) -> TypedFigure | None:
    """Return an aggregate inside another, with the dimensions that it goes by."""
    if not isinstance(syntax, CallExpr) or not isinstance(syntax.function, Name):
        reading.error("E0301", "only an aggregate goes `by` something here", syntax.span, "write `mean(mean(x) by y)`")
        return None
    if not _takes_cells(function):
        message = f"`{function.name}` is taken of what is scored, not of another aggregate"
        reading.error("E0301", message, syntax.span, f"it is `{function.shown}`")
        return None
    inner = read_aggregate(reading, syntax, tuple(dict.fromkeys(dimension_text(dim) for dim in dims or ())))
    if inner is None:
        return None
    if not dims:
        message = f"this is a single figure, so there is nothing to take the `{function.name}` of"
        help_ = f"say what the inner one goes by: `{function.name}({written_as(syntax)} by …)`"
        reading.error("E0301", message, syntax.span, help_)
        return None
    parted = [leaf.parted for leaf in inner.leaves]
    return inner if read_dimensions(reading.program, dims, parted) is not None else None
