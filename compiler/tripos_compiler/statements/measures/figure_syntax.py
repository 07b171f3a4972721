"""The syntax of figures, before anything is looked up or reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import (
    AGGREGATES,
    CURVES,
    INTERVAL_ENDS,
    AggregateFunction,
    AggregateParameter,
    between,
)
from tripos_compiler.language.library import FUNCTIONS
from tripos_compiler.resolve import Program
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
)
from tripos_compiler.statements.measures.dimensions import dimension_text
from tripos_compiler.statements.measures.scored_values import declared_score
from tripos_compiler.statements.measures.typed_figures import FigureContext

CONDITIONS = ("==", "!=", "in", "not in")
"""The operators of conditions on a choice."""


def find_aggregate(program: Program, name: str) -> AggregateFunction | None:
    """Return the aggregate of that name: of the library, or in Python by the user."""
    plugin = program.aggregates.get(name)
    if plugin is None:
        return AGGREGATES.get(name)
    parameters = (
        AggregateParameter(key, "typed", of=type_.of)
        for key, type_ in plugin.parameters.items()
        if type_.kind == "list"
    )
    return AggregateFunction(name, tuple(parameters), "", "", between(None, None), missing=("skip", "fail"))


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
    return find_aggregate(program, name) is not None and name not in functions


def is_arithmetic(call: CallExpr) -> bool:
    """Return true if a call is arithmetic over figures: `abs(a)`, `min(a, b)`. Of one thing `min` and `max` are
    aggregates."""
    match call:
        case CallExpr(function=Name(text=text)) if text in ("abs", "harmonic_mean", *CURVES):
            return True
        case CallExpr(function=Name(text="min" | "max"), arguments=arguments):
            return sum(argument.name is None for argument in arguments) != 1 and not any(map(is_by, arguments))
    return False


def is_number(syntax: Syntax) -> bool:
    """Return true if a figure is arithmetic over numbers, and names nothing."""
    match syntax:
        case Number():
            return True
        case Group(arguments=(Argument(name=None, elements=(inner,)),)) | UnaryExpr(operator="-", value=inner):
            return is_number(inner)
        case BinaryExpr(operator="+" | "-" | "*" | "/", left=left, right=right):
            return is_number(left) and is_number(right)
        case CallExpr(arguments=arguments) if is_arithmetic(syntax):
            return all(is_number(element) for argument in arguments for element in argument.elements)
    return False


def without_numbers(syntax: Syntax) -> tuple[Syntax, list[tuple[int, Syntax]]]:
    """Return a figure without the numbers that are added to it as a whole, and these with their signs: of `b - 0.02`
    the figure `b` and the number 0.02, subtracted."""
    match syntax:
        case BinaryExpr(operator="+" | "-", left=left, right=right) if is_number(right):
            inner, numbers = without_numbers(left)
            return inner, [*numbers, (1 if syntax.operator == "+" else -1, right)]
        case BinaryExpr(operator="+", left=left, right=right) if is_number(left):
            inner, numbers = without_numbers(right)
            return inner, [(1, left), *numbers]
        case Group(arguments=(Argument(name=None, elements=(within,)),)):
            inner, numbers = without_numbers(within)
            return (inner, numbers) if numbers else (syntax, [])
    return syntax, []


def interval_end(syntax: Syntax) -> CallExpr | None:
    """Return the call that takes an end of an interval, where a side of a comparison is one."""
    match syntax:
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            return interval_end(inner)
        case CallExpr(function=Name(text=text)) if text in INTERVAL_ENDS:
            return syntax
    return None


def has_unknown_aggregate(program: Program, statement: Statement) -> bool:
    """Return true if a measure is taken by an aggregate that there is none of, which is reported with the measure, or
    by one whose declaration is wrong."""
    value = statement.find("value")
    if statement.construct != "measure" or not isinstance(value, CallExpr) or not isinstance(value.function, Name):
        return False
    if value.function.text in program.declared.get("aggregate", {}):
        return find_aggregate(program, value.function.text) is None
    declared = [name for kind in ("function", "scorer") for name in program.declared.get(kind, {})]
    return value.function.text not in (*AGGREGATES, *FUNCTIONS, *declared)


def column_arguments(program: Program, value: Syntax) -> Iterator[tuple[str, Syntax, Syntax | None]]:
    """Yield the arguments of aggregates in a figure that may be expressions over a scenario's names, each with the word
    that the aggregate has for it, and the condition `where:` on what counts."""
    match value:
        case CallExpr(function=Name(text=text)) if (
            function := find_aggregate(program, text)
        ) is not None and not is_arithmetic(value):
            yield from _of_aggregate(program, value, function)
        case CallExpr(arguments=arguments) | Group(arguments=arguments):
            for argument in arguments:
                yield from column_arguments(program, argument.elements[0])
        case BinaryExpr(left=left, right=right):
            yield from column_arguments(program, left)
            yield from column_arguments(program, right)
        case UnaryExpr(value=inner):
            yield from column_arguments(program, inner)


def _of_aggregate(
    program: Program, call: CallExpr, function: AggregateFunction
) -> Iterator[tuple[str, Syntax, Syntax | None]]:
    wheres = (each.elements[0] for each in call.arguments if each.name is not None and each.name.text == "where")
    where = next(wheres, None)
    free = [parameter for parameter in function.parameters if parameter.kind != "word"]
    named = {parameter.name: parameter for parameter in function.parameters}
    for argument in call.arguments:
        first = free.pop(0) if free and argument.name is None else None
        parameter = named.get(argument.name.text) if argument.name is not None else first
        if is_by(argument) or is_aggregate(program, argument.elements[0]):
            yield from column_arguments(program, argument.elements[0])
            free = []  # what follows is further dimensions
        elif parameter is not None and parameter.column and len(argument.elements) == 1:
            yield parameter.name, argument.elements[0], where


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
            inner = find_aggregate(reading.program, text) is not None and not is_arithmetic(value)
            for argument in arguments:
                yield from measures_in(reading, argument.elements[0], inner and not is_by(argument))
        case IndexExpr(of=of):
            yield from measures_in(reading, of)
        case BinaryExpr(left=left) if aggregated and chosen_from(value) is not None:
            yield from measures_in(reading, left, aggregated)
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


def operator_in(syntax: BinaryExpr) -> str:
    """Return the operator of a condition, with one space between its words."""
    return " ".join(syntax.operator.split())


def chosen_from(syntax: Syntax) -> Name | Member | None:
    """Return what a condition compares with names, where it has the form of one on a choice."""
    match syntax:
        case BinaryExpr(left=Name() | Member() as left) if operator_in(syntax) in CONDITIONS:
            return left
    return None


def is_of_judge(program: Program, scenario: Statement, syntax: Syntax) -> bool:
    """Return true if a condition is on a score, and not on a value of the scenario."""
    match chosen_from(syntax):
        case Name(text=text):
            own = {name.text for inner in scenario.body if (name := declared_score(inner)) is not None}
            return text in own or text in program.declared.get("scorer", {})
        case Member(of=Name(text=of), name=name):
            bodies = [each.body for each in program.of("scenario") if each.name().text == of]
            scores = [declared_score(inner) for body in bodies for inner in body]
            return name.text in {each.text for each in scores if each is not None}
    return False


def means_a_figure(program: Program, scenario: Statement, own: str | None, syntax: Syntax) -> bool:
    """Return true if an argument names scores, a metric or a measure, or is a condition on scores, and no value of the
    scenario."""
    if not isinstance(syntax, Name):
        return is_of_judge(program, scenario, syntax)
    here = [inner for inner in scenario.body if declared_score(inner) is not None or inner.construct == "measure"]
    for inner in here:
        name = declared_score(inner) or inner.name()
        if name.text == syntax.text and not (inner.construct == "measure" and name.text == own):
            return True
    declared = program.declared
    return any(syntax.text in declared.get(kind, {}) for kind in ("scorer", "metric", "measure"))


def figure_in(program: Program, scenario: Statement, known: Collection[str], syntax: Syntax) -> Syntax | None:
    """Return the first measure or aggregate inside an expression over a scenario's names, which are `known`; None where
    there is none, as there should be."""
    match syntax:
        case Name():
            measures = [each for each in (*scenario.body, *program.of("measure")) if each.construct == "measure"]
            named = syntax.text not in known and any(each.name().text == syntax.text for each in measures)
            return syntax if named else None
        case CallExpr() if is_aggregate(program, syntax):
            return syntax
        case CallExpr(arguments=arguments) | Group(arguments=arguments):
            parts = [argument.elements[0] for argument in arguments]
        case BinaryExpr(left=left, right=right):
            parts = [left, right]
        case UnaryExpr(value=inner):
            parts = [inner]
        case _:
            return None
    return next((found for part in parts if (found := figure_in(program, scenario, known, part)) is not None), None)


def first_name(syntax: Syntax) -> Name | None:
    """Return the name that a dotted name starts with; None where it is something else."""
    match syntax:
        case Name():
            return syntax
        case Member(of=Name() as first):
            return first
    return None
