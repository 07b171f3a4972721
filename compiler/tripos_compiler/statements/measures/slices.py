"""Slices of measures: `accuracy[hint: none]` keeps what has one value of a dimension, a field of the rows included."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import FIXED, Measured
from tripos_compiler.source import Argument, IndexExpr, Member, Name, Number, Span, Syntax, Text, describe_syntax
from tripos_compiler.statements.measures.dimensions import (
    Parted,
    fields_by,
    known_dimensions,
    read_dimension,
    values_of,
)
from tripos_compiler.statements.measures.normal_forms import called, sliced_form, with_missing
from tripos_compiler.statements.measures.operands import find_measure
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
        figured.scale,
        named,
        syntax.span,
        cells=cells,
        leaves=tuple(sliced(leaf, keys) for leaf in figured.leaves),
        mixed=figured.mixed and "metric" not in keys,
        ends=figured.ends,
        form=called(sliced_form(with_missing(figured.form, known.measure.missing), fixed), named),
        course=sliced_form(known.course, fixed),
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
    by_field: Syntax | None = argument.path
    if by_field is None and parted and all(key.text in each.elements for each in parted):
        by_field = key
    if parted and by_field is not None:
        return _fixed_field(reading, by_field, value, parted)
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
        fields = fields_by(program, parted)
        close = next((field for field in fields if key.text in field.split(".")), nearest(key.text, [*names, *fields]))
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
    return _is_known(reading, key.text, word, values, where)


def _is_known(reading: FigureContext, key: str, word: str, values: Sequence[str], where: Span) -> bool:
    """Return true if a word is one of the values of a dimension; reports one that is not."""
    if word in values:
        return True
    close = nearest(word, values)
    some = ", ".join(f"`{value}`" for value in values[:8])
    help_ = f"did you mean `{close}`?" if close else f"its values are {some}"
    reading.error("E0201", f"`{key}` has no value `{word}`", where, help_, word)
    return False


def _fixed_field(
    reading: FigureContext, syntax: Syntax, value: Syntax, parted: Sequence[Parted]
) -> tuple[str, str] | None:
    """Return the field, the groups of an axis or the nodes of a path that a slice fixes, and its value."""
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
            told = {"bool": "write `true` or `false`", "integer": "write a whole number"}.get(kind, "name a value")
            reading.error("E0301", f"{describe_syntax(value)} is no value of `{dim}`", value.span, told)
            return None
    return (dim, word) if values is None or _is_known(reading, dim, word, values, value.span) else None
