"""The syntax of figures, before anything is looked up or reported."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import AGGREGATES, AggregateFunction
from tripos_compiler.language.library import FUNCTIONS
from tripos_compiler.resolve import Program
from tripos_compiler.source import Argument, BinaryExpr, CallExpr, Group, IndexExpr, Member, Name, Syntax, UnaryExpr
from tripos_compiler.statements.measures.dimensions import dimension_text
from tripos_compiler.statements.measures.scored_values import declared_score
from tripos_compiler.statements.measures.typed_figures import FigureContext


def is_by(argument: Argument) -> bool:
    """Return true if an argument is a phrase such as `mean(f1) by q.subject`."""
    elements = argument.elements
    return len(elements) > 2 and isinstance(elements[1], Name) and elements[1].text == "by"


def is_aggregate(program: Program, syntax: Syntax) -> bool:
    """Return true if a call can only be that of an aggregate: a function of that name would be one of a single row."""
    if not isinstance(syntax, CallExpr) or not isinstance(syntax.function, Name):
        return False
    name = syntax.function.text
    functions = (*FUNCTIONS, *program.declared.get("function", {}), *program.declared.get("scorer", {}))
    return name in AGGREGATES and name not in functions


def is_arithmetic(call: CallExpr) -> bool:
    """Return true if a call is arithmetic over figures: `abs(a)`, `min(a, b)`. Of one thing `min` and `max` are
    aggregates."""
    match call:
        case CallExpr(function=Name(text="abs")):
            return True
        case CallExpr(function=Name(text="min" | "max"), arguments=arguments):
            return sum(argument.name is None for argument in arguments) != 1 and not any(map(is_by, arguments))
    return False


def has_unknown_aggregate(program: Program, statement: Statement) -> bool:
    """Return true if a measure is taken by an aggregate that there is none of, which is reported with the measure."""
    value = statement.find("value")
    if statement.construct != "measure" or not isinstance(value, CallExpr) or not isinstance(value.function, Name):
        return False
    declared = (*program.declared.get("function", {}), *program.declared.get("scorer", {}))
    return value.function.text not in (*AGGREGATES, *FUNCTIONS, *declared)


def column_arguments(program: Program, value: Syntax) -> Iterator[tuple[str, Syntax]]:
    """Yield the arguments of aggregates in a figure that may be expressions over a scenario's names, each with the word
    that the aggregate has for it."""
    match value:
        case CallExpr(function=Name(text=text)) if text in AGGREGATES and not is_arithmetic(value):
            yield from _of_aggregate(program, value, AGGREGATES[text])
        case CallExpr(arguments=arguments) | Group(arguments=arguments):
            for argument in arguments:
                yield from column_arguments(program, argument.elements[0])
        case BinaryExpr(left=left, right=right):
            yield from column_arguments(program, left)
            yield from column_arguments(program, right)
        case UnaryExpr(value=inner):
            yield from column_arguments(program, inner)


def _of_aggregate(program: Program, call: CallExpr, function: AggregateFunction) -> Iterator[tuple[str, Syntax]]:
    free = [parameter for parameter in function.parameters if parameter.kind != "word"]
    named = {parameter.name: parameter for parameter in function.parameters}
    for argument in call.arguments:
        first = free.pop(0) if free and argument.name is None else None
        parameter = named.get(argument.name.text) if argument.name is not None else first
        if is_by(argument) or is_aggregate(program, argument.elements[0]):
            yield from column_arguments(program, argument.elements[0])
            free = []  # what follows is further dimensions
        elif parameter is not None and parameter.column and len(argument.elements) == 1:
            yield parameter.name, argument.elements[0]


def measures_in(reading: FigureContext, value: Syntax, aggregated: bool = False) -> Iterator[str]:
    """Yield the measures that a figure names, by their names in the plan. `aggregated`: it stands where values are
    taken."""
    match value:
        case _ if value.span in reading.program.columns:
            return
        case Name() | Member():
            key = _named_measure(reading, value, aggregated)
            if key is not None:
                yield key
        case CallExpr(function=Name(text=text), arguments=arguments):
            inner = text in AGGREGATES and not is_arithmetic(value)
            for argument in arguments:
                yield from measures_in(reading, argument.elements[0], inner)
        case IndexExpr(of=of):
            yield from measures_in(reading, of)
        case BinaryExpr(left=left, right=right):
            yield from measures_in(reading, left, aggregated)
            yield from measures_in(reading, right, aggregated)
        case UnaryExpr(value=inner_value):
            yield from measures_in(reading, inner_value, aggregated)
        case Group(arguments=arguments):
            for argument in arguments:
                yield from measures_in(reading, argument.elements[0], aggregated)


def _named_measure(reading: FigureContext, name: Name | Member, aggregated: bool) -> str | None:
    within, last = reading.scenario, name
    if isinstance(name, Member):
        within, last = dimension_text(name.of), name.name
        declared = reading.declared.get(f"{within}.{name.name.text}")
    else:
        declared = reading.measure(name.text)
    assert isinstance(last, Name)
    if declared is None or (aggregated and (declared.key == reading.own or last.text in reading.scores.names(within))):
        return None
    given = {*reading.program.declared.get("scorer", {}), *reading.program.declared.get("metric", {})}
    if aggregated and declared.scenario is None and last.text in given:
        return None
    return declared.key


def means_a_figure(program: Program, scenario: Statement, own: str | None, syntax: Syntax) -> bool:
    """Return true if an argument names scores, a metric or a measure, and not a value of the scenario."""
    if not isinstance(syntax, Name):
        return False
    here = [inner for inner in scenario.body if declared_score(inner) is not None or inner.construct == "measure"]
    for inner in here:
        name = declared_score(inner) or inner.name()
        if name.text == syntax.text and not (inner.construct == "measure" and name.text == own):
            return True
    declared = program.declared
    return any(syntax.text in declared.get(kind, {}) for kind in ("scorer", "metric", "measure"))
