"""Reads aggregates: `mean(rubric)`, `mean(mean(f1) by q.subject)`, `f1(step, item.wrong_at, average: micro)`.

An aggregate of cells is one of a figure that goes by something: of another aggregate, or of a formula or a slice, as in
`mean(gap * gap by q.kind)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from tripos_compiler.diagnostics import nearest
from tripos_compiler.language.figures import AGGREGATES, AggregateFunction, Bounds as Ends, Range
from tripos_compiler.plan import Aggregate, Constant, Figure, Measured
from tripos_compiler.source import CallExpr, Name, Syntax
from tripos_compiler.statements.measures.arguments import Arguments, find_across, given_arguments, is_fitting
from tripos_compiler.statements.measures.dimensions import dimension_text
from tripos_compiler.statements.measures.figure_syntax import find_aggregate, is_aggregate
from tripos_compiler.statements.measures.normal_forms import Atom, NormalForm, atom_form, function_atom, with_missing
from tripos_compiler.statements.measures.operands import find_among, find_choice
from tripos_compiler.statements.measures.scales import Bounds, Scale, scale_of
from tripos_compiler.statements.measures.scored_values import Operand
from tripos_compiler.statements.measures.typed_figures import (
    FigureContext,
    Leaf,
    LoweredMeasure,
    TypedFigure,
    find_cells,
    written_as,
)

Read = Callable[[FigureContext, Syntax], TypedFigure | None]
"""Reads a figure, which may be one that an aggregate is taken of the cells of."""


def read_aggregate(reading: FigureContext, call: CallExpr, read: Read) -> TypedFigure | None:
    """Return the figure that a call of an aggregate is, in each cell of what the statement goes by; None where it is
    none, which is reported."""
    assert isinstance(call.function, Name)
    program, name, by = reading.program, call.function, reading.by
    function = find_aggregate(program, name.text)
    declared = program.declared.get("aggregate", {}).get(name.text)
    if declared is not None:
        program.index.use(name.span, declared.span)
    if function is None:
        if declared is None:
            _no_aggregate(reading, name)
        return None
    arguments = given_arguments(reading, call, function)
    operands = _operands(reading, function, arguments, read) if arguments is not None else None
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
    scale, ends = _scale(reading, function, values[0].bounds, values[0].ends)
    keeps = _keeps_scale(function)
    leaf = _leaf(function, arguments, values, judge, among)
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
        form=_held(leaf, Scale() if mixed and keeps else scale, ends, named),
        course=atom_form(replace(leaf, bounds=_range(scale, ends))),
    )


def _leaf(
    function: AggregateFunction,
    arguments: Arguments,
    values: Sequence[Operand],
    judge: str | None,
    among: tuple[str, ...],
) -> Atom:
    """Return what an aggregate takes, wherever it is written: by the scenarios that its values are from."""
    taken = [f"{each.kind} {each.name} {sorted(s.name for s in each.scenarios)} {each.true_of}" for each in values]
    return Atom(f"{function.name} {sorted(arguments.named.items())} of {taken} {among} across {judge}")


def _held(atom: Atom, scale: Scale, ends: Ends, named: str) -> NormalForm:
    """Return the form of an aggregate, with the scale that it is held to others by."""
    return atom_form(replace(atom, base=scale.held, bounds=_range(scale, ends), named=named))


def _range(scale: Scale, ends: Ends) -> Range:
    low, high = scale.bounds or ends
    return -math.inf if low is None else low, math.inf if high is None else high


def _no_aggregate(reading: FigureContext, name: Name) -> None:
    close = nearest(name.text, [*AGGREGATES, *reading.program.aggregates, "abs", "harmonic_mean"])
    some = ", ".join(f"`{each}`" for each in list(AGGREGATES)[:6])
    help_ = f"did you mean `{close}`?" if close else f"there is {some}, …"
    reading.error("E0205", f"there is no aggregate `{name.text}`", name.span, help_, name.text)


def _scale(
    reading: FigureContext, function: AggregateFunction, declared: Bounds | None, given: Ends
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
            return replace(scale_of((least, greatest)), bounds=(low, high)), ends
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
    figure = inner.figure
    assert not isinstance(figure, Constant)
    lost = next((dim for dim in by if dim not in figure.by), None)
    if lost is not None:
        span = next((syntax.span for syntax in reading.written if dimension_text(syntax) == lost), call.span)
        goes = ", ".join(f"`{dim}`" for dim in figure.by)
        help_ = f"`{inner.named}` goes by {goes}; add `{lost}` to those"
        reading.error("E0201", f"`{lost}` is averaged away already", span, help_)
        return None
    if inner.mixed and "metric" not in by and _keeps_scale(function):
        help_ = "take it `by metric`, or give the metrics one scale"
        reading.error("E0702", "this averages metrics of different scales", call.span, help_)
        return None
    named = written_as(call)
    if isinstance(figure, Aggregate) or not _keeps_scale(function):
        scale, ends = _scale(reading, function, inner.scale.base, inner.scale.bounds or inner.ends)
    else:
        scale, ends = inner.scale, inner.scale.bounds or inner.ends
    mixed = inner.mixed and _keeps_scale(function)
    options = f"{function.name} {sorted(arguments.named.items())} of cells of {sorted(figure.by)}"
    form, course = (function_atom(options, [each], function.rises) for each in (inner.form, inner.course))
    return TypedFigure(
        Aggregate(function=function.name, values=(), named=arguments.named, by=by, of=figure),
        Scale() if mixed else scale,
        named,
        call.span,
        leaves=inner.leaves,
        mixed=mixed and "metric" in by,
        ends=(None, None) if mixed else ends,
        form=_held(form, Scale() if mixed else scale, ends, named),
        course=atom_form(replace(course, bounds=_range(scale, ends))),
    )


def _takes_cells(function: AggregateFunction) -> bool:
    """Return true if an aggregate can be taken of figures, as well as of what is scored."""
    single = len(function.columns) == 1 and function.across == "forbidden" and not function.truth_only
    return single and function.takes not in ("compare", "typed")


# --- what it is taken of ---


def _operands(
    reading: FigureContext, function: AggregateFunction, arguments: Arguments, read: Read
) -> list[tuple[Operand | TypedFigure, Syntax]] | None:
    """Return what stands where columns are taken: scores, columns, or a figure with cells."""
    found: list[tuple[Operand | TypedFigure, Syntax]] = []
    for syntax, dims in arguments.columns:
        if dims is not None or (is_aggregate(reading.program, syntax) and syntax.span not in reading.program.columns):
            value: Operand | TypedFigure | None = _nested(reading, function, syntax, dims, read)
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
    course, known = known.course, _original(reading, known)
    name, by = f"`{known.measure.name}`", known.measure.by
    if not _takes_cells(function):
        message = f"`{function.name}` is taken of what is scored, and {name} is a measure"
        reading.error("E0301", message, syntax.span, f"it is `{function.shown}`")
    elif not by:
        message = f"{name} is a single figure, so there is nothing to take the `{function.name}` of"
        reading.error("E0301", message, syntax.span, f"use {name} alone, or take it `by` something")
    elif known.measure.missing not in ("skip", reading.missing or known.measure.missing):
        message = f"{name} takes missing scores as `{known.measure.missing}`, and this as `{reading.missing}`"
        reading.error("E0303", message, syntax.span, "say one thing of both")
    else:
        if known.measure.missing != "skip":
            reading.missing = known.measure.missing
        form = with_missing(known.figured.form, known.measure.missing)
        return replace(_in_cells(known.figured, by), form=form, course=course)
    return None


def _in_cells(figured: TypedFigure, by: tuple[str, ...]) -> TypedFigure:
    """Return a figure as one whose plan says what it goes by."""
    figure: Figure = figured.figure
    return replace(figured, figure=figure.model_copy(update={"by": by}))


def _original(reading: FigureContext, known: LoweredMeasure) -> LoweredMeasure:
    """Return the measure that another name stands for, as in `measure b = a`."""
    match known.figured.figure:
        case Measured(measure=name, slice=fixed) if not fixed and reading.known[name].measure.by == known.measure.by:
            return _original(reading, reading.known[name])
    return known


def _nested(
    reading: FigureContext,
    function: AggregateFunction,
    syntax: Syntax,
    dims: tuple[Syntax, ...] | None,
    read: Read,
) -> TypedFigure | None:
    """Return a figure inside an aggregate, with the dimensions that it goes by."""
    if not _takes_cells(function):
        message = f"`{function.name}` is taken of what is scored, not of another figure"
        reading.error("E0301", message, syntax.span, f"it is `{function.shown}`")
        return None
    own = replace(reading, written=dims or (), terms=[])
    inner = read(own, syntax)
    reading.missing, reading.across_taken = own.missing, own.across_taken
    if inner is None:
        return None
    if not inner.leaves:
        help_ = "write `mean(mean(x) by y)`, of a scorer, a score or a measure"
        reading.error("E0301", "this measures nothing", syntax.span, help_)
        return None
    by = find_cells(own, inner)
    if by is None:
        return None
    if not by:
        message = f"this is a single figure, so there is nothing to take the `{function.name}` of"
        help_ = f"say what the inner one goes by: `{function.name}({written_as(syntax)} by …)`"
        reading.error("E0301", message, syntax.span, help_)
        return None
    return _in_cells(inner, by)
