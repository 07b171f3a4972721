"""Lowers `expect` and `headline`: what a figure must come to, and the measures that stand for the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import why_no_headline
from tripos_compiler.plan import Expectation
from tripos_compiler.resolve import Program
from tripos_compiler.source import Argument, BinaryExpr, Group, Syntax
from tripos_compiler.statements.measures.figures import read_figure
from tripos_compiler.statements.measures.measures import bounds_of, find_cells, is_expected_of_people, read_measures
from tripos_compiler.statements.measures.operands import find_measure
from tripos_compiler.statements.measures.scales import rounded, spoken
from tripos_compiler.statements.measures.typed_figures import FigureContext, TypedFigure, written_as


def lower_headline(program: Program) -> None:
    """The `headline` of the benchmark, once its measures are lowered. Each is one that comes to one value for each
    model, and stands there once."""
    statement = program.of("benchmark")[0].one_of("headline")
    if statement is None or program.benchmark is None:
        return
    reading = read_measures(program, silent=True)
    reading.program = program
    measures = {key: known.measure for key, known in reading.known.items()}
    names: list[str] = []
    for syntax in statement.many("measures"):
        known = find_measure(reading, syntax)
        if known is None:
            continue
        name = known.measure.name
        why = why_no_headline(known.measure, measures)
        if name in names:
            program.diagnostics.error("E0202", f"`{name}` is named twice", syntax.span, help="remove one")
        elif why is not None:
            those = [key for key, each in measures.items() if why_no_headline(each, measures) is None]
            some = ", ".join(f"`{each}`" for each in those[:8])
            help_ = f"these do: {some}" if those else "declare one, such as the mean over what this goes by"
            message = f"`{name}` does not come to one value for each model: it {why}"
            program.diagnostics.error("E0630", message, syntax.span, help=help_)
        else:
            names.append(name)
    program.benchmark = program.benchmark.model_copy(update={"headline": tuple(names)})


Operator = Literal["<", "<=", ">", ">=", "==", "!="]

MIRRORED: dict[str, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The operators of a comparison, each with what it is where its sides change places."""


def lower_expectations(program: Program) -> None:
    """Every `expect`, those of a scenario where the scenario stands."""
    written = list(_statements(program))
    base = replace(read_measures(program, silent=True), program=program) if written else None
    for scenario, statement in written:
        assert base is not None
        reading = replace(base, scenario=scenario, terms=[], missing=None)
        found = _expectation(reading, statement.syntax("cond"))
        if found is not None:
            program.expectations.append(found)


def _statements(program: Program) -> Iterator[tuple[str | None, Statement]]:
    for statement in program.of("expect", "scenario"):
        if statement.construct == "expect":
            yield None, statement
        elif program.declared["scenario"].get(statement.name().text) is statement.name():
            for inner in statement.of("expect"):
                yield statement.name().text, inner


def _expectation(reading: FigureContext, condition: Syntax) -> Expectation | None:
    match condition:
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            return _expectation(reading, inner)
        case BinaryExpr(operator="and"):
            reading.error("E0106", "this expects several things", condition.span, "write an `expect` for each")
            return None
        case BinaryExpr(operator=operator, left=left, right=right) if operator in MIRRORED:
            return _compared(reading, condition, MIRRORED[MIRRORED[operator]], left, right)
    help_ = "write `expect MEASURE >= NUMBER`"
    reading.error("E0106", "this does not compare a measure with a number", condition.span, help_)
    return None


def _compared(
    reading: FigureContext, condition: Syntax, operator: Operator, left: Syntax, right: Syntax
) -> Expectation | None:
    one, other = read_figure(reading, left), read_figure(reading, right)
    if one is None or other is None:
        return None
    if not one.leaves:
        one, other, operator = other, one, MIRRORED[operator]
    if other.scale.constant is None:
        help_ = f"compare their difference with a number: `{one.named} - {other.named} {operator} 0`"
        reading.error("E0301", "a figure is compared with a number", condition.span, help_)
        return None
    if not one.leaves:
        message = "this compares numbers, and measures nothing"
        reading.error("E0301", message, condition.span, "write `expect MEASURE >= NUMBER`")
        return None
    if reading.missing is not None:
        help_ = "declare `measure NAME = …` with it, and expect that"
        reading.error("E0303", "`missing` is said of a measure", condition.span, help_)
        return None
    by = find_cells(reading, one)
    if by is None or not _can_tell(reading, condition, one, operator, other.scale.constant):
        return None
    corrected = is_expected_of_people(reading, condition, one)
    if corrected is None:
        return None
    low, high = bounds_of(one)
    return Expectation(
        figure=one.figure,
        operator=operator,
        value=other.scale.constant,
        shown=written_as(condition),
        by=by,
        low=low,
        high=high,
        corrected=corrected,
    )


def _can_tell(
    reading: FigureContext, condition: Syntax, figured: TypedFigure, operator: Operator, value: float
) -> bool:
    """Return true if the gate can be open and shut, as far as the figure's scale is known."""
    bounds = figured.scale.bounds
    if bounds is None or figured.mixed:
        return True
    low, high = rounded(bounds)
    never = _never(operator, value, low, high)
    if not never and low <= value <= high:
        return True
    word = "never" if never else "always"
    message = f"this is {word} true: `{figured.named}` runs from {spoken(bounds)}"
    reading.error("E0704", message, condition.span, "compare it with a number on its scale")
    return False


def _never(operator: Operator, value: float, low: float, high: float) -> bool:
    match operator:
        case ">=":
            return value > high
        case ">":
            return value >= high
        case "<=":
            return value < low
        case "<":
            return value <= low
        case "==":
            return not low <= value <= high
    return False
