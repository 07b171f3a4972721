"""Lowers `expect` and `headline`: what a figure must come to, and the measures that stand for the benchmark. Checks
what runs go on `until` it is settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import INTERVAL_ENDS, end_signature, settling_figure, why_no_headline
from tripos_compiler.plan import Expectation, Measure, Plan, Settling
from tripos_compiler.resolve import Program
from tripos_compiler.source import Argument, BinaryExpr, Group, Name, Number, Span, Syntax
from tripos_compiler.statements.measures.figure_syntax import interval_end, is_number, without_numbers
from tripos_compiler.statements.measures.figures import difference_of, read_difference, read_figure, read_whole
from tripos_compiler.statements.measures.measures import (
    bounds_of,
    declared_settling,
    is_expected_of_people,
    read_measures,
    settling_of,
)
from tripos_compiler.statements.measures.normal_forms import with_missing
from tripos_compiler.statements.measures.operands import find_measure
from tripos_compiler.statements.measures.random_facets import inherited_facets
from tripos_compiler.statements.measures.scales import rounded, spoken
from tripos_compiler.statements.measures.typed_figures import FigureContext, TypedFigure, find_cells, written_as


def lower_headline(program: Program) -> None:
    """The `headline` of the benchmark, once its measures are lowered. Each is one that comes to one value for each
    model, and stands there once."""
    settling = program.of("benchmark")[0].one_of("settling")
    if settling is not None and program.benchmark is not None:
        program.benchmark = program.benchmark.model_copy(update={"until": settling_of(settling)})
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
            until = Settling() if statement.has("until") else None
            told = {"until": until, "coverage": _coverage(reading, statement)}
            program.expectations.append(found.model_copy(update=told))


def _coverage(reading: FigureContext, statement: Statement) -> float | None:
    """Return the least coverage that an `expect` names; None if it names none, or, reported, none that there is."""
    written = statement.find("number")
    if not isinstance(written, Number):
        return None
    if not 0 <= written.value <= 1:
        help_ = "write a share of the scores, such as `coverage 0.8`"
        reading.error("E0301", "`coverage` must be between 0 and 1", written.span, help_)
        return None
    return float(written.value)


def _statements(program: Program) -> Iterator[tuple[str | None, Statement]]:
    for statement in program.of("expect", "scenario"):
        if statement.construct == "expect":
            yield None, statement
        elif program.declared["scenario"].get(statement.name().text) is statement.name():
            for inner in statement.of("expect"):
                yield statement.name().text, inner


def check_settling(program: Program, plan: Plan) -> None:
    """Report what a run cannot go on for until it is settled, once everything is lowered."""
    measures = {measure.name: measure for measure in plan.measures}
    said: list[tuple[str, Measure | Expectation, Settling, Span]] = []
    for statement in program.of("benchmark"):
        settling, headline = statement.one_of("settling"), statement.one_of("headline")
        if settling is not None and headline is None:
            message = "a run goes on until the models are told apart in the headline, and there is none"
            program.diagnostics.error("E0625", message, settling.head, help="name it: `headline MEASURE`")
        elif settling is not None and plan.benchmark.until is not None:
            said += [(name, measures[name], plan.benchmark.until, settling.head) for name in plan.benchmark.headline]
    for key, span in declared_settling(program):
        if key in measures and (until := measures[key].until) is not None:
            said.append((key, measures[key], until, span))
    for (_, statement), each in zip(_statements(program), plan.expectations, strict=True):
        if each.until is not None:
            said.append((each.shown, each, each.until, statement.head))
    for name, of, until, span in said:
        found = settling_figure(plan, of)
        if isinstance(found, str):
            help_ = "leave `until settled` out here, and say it of a mean of scores"
            program.diagnostics.error("E0625", f"runs cannot settle `{name}`: it {found}", span, help=help_)
        elif until.within is not None and not 0 < 2 * until.within < found.ends[1] - found.ends[0]:
            message = f"`{name}` runs from {spoken(found.ends)}: `within` is above 0 and below half of that"
            program.diagnostics.error("E0625", message, span, help="write another number")


def _expectation(reading: FigureContext, condition: Syntax) -> Expectation | None:
    match condition:
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            return _expectation(reading, inner)
        case (
            BinaryExpr(operator="and")
            | BinaryExpr(operator="<" | "<=" | ">" | ">=", left=BinaryExpr(operator="<" | "<=" | ">" | ">="))
        ):
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
    if interval_end(left) is not None or interval_end(right) is not None:
        return _compared_end(reading, condition, operator, left, right)
    if not is_number(left) and not is_number(right):
        return _compared_figures(reading, condition, operator, left, right)
    one, other = read_whole(reading, left), read_whole(reading, right)
    if one is None or other is None:
        return None
    if not one.leaves:
        one, other, operator = other, one, MIRRORED[operator]
    if not one.leaves or other.scale.constant is None:
        message = "this compares numbers, and measures nothing"
        reading.error("E0301", message, condition.span, "write `expect MEASURE >= NUMBER`")
        return None
    return _lowered(reading, condition, one, operator, other.scale.constant)


def _compared_figures(
    reading: FigureContext, condition: Syntax, operator: Operator, left: Syntax, right: Syntax
) -> Expectation | None:
    """Return the expectation of two figures: `a >= b - 0.02` is of their difference `a - b` and the number -0.02."""
    (one, ours), (other, theirs) = without_numbers(left), without_numbers(right)
    value = _sum_of(reading, [*theirs, *((-sign, number) for sign, number in ours)])
    figured = read_difference(reading, one, other, condition)
    if figured is None or value is None:
        return None
    if not with_missing(figured.form, reading.missing or "skip").atoms:
        help_ = "compare two figures that can differ"
        reading.error("E0704", "both sides of this measure the same", condition.span, help_)
        return None
    found = _lowered(reading, condition, figured, operator, value)
    return None if found is None else found.model_copy(update={"difference": figured.named})


def _sum_of(reading: FigureContext, numbers: Sequence[tuple[int, Syntax]]) -> float | None:
    """Return the sum of numbers with signs, exact in their decimal notation; None where one is wrong, which is
    reported."""
    total = Fraction(0)
    for sign, syntax in numbers:
        number = read_figure(reading, syntax)
        if number is None:
            return None
        total += sign * number.form.constant
    return float(total)


def _compared_end(
    reading: FigureContext, condition: Syntax, operator: Operator, left: Syntax, right: Syntax
) -> Expectation | None:
    """Return the expectation of an end of an interval: `lower(a - b) >= -0.02`."""
    if interval_end(left) is None:
        left, right, operator = right, left, MIRRORED[operator]
    call = interval_end(left)
    assert call is not None and isinstance(call.function, Name)
    end = next(each for each in INTERVAL_ENDS if each == call.function.text)
    if len(call.arguments) != 1 or call.arguments[0].name is not None or len(call.arguments[0].elements) != 1:
        reading.error("E0303", f"`{end}` takes one figure", call.span, f"it is `{end_signature(end)}`")
        return None
    inner = call.arguments[0].elements[0]
    figured = read_whole(reading, inner)
    other = interval_end(right)
    base = right if other is None or not other.arguments else other.arguments[0].elements[0]
    number = read_whole(reading, base)
    if figured is None or number is None:
        return None
    if other is not None or number.scale.constant is None:
        difference = difference_of(without_numbers(inner)[0], without_numbers(base)[0])
        help_ = f"compare that of their difference: `{end}({difference}) {operator} NUMBER`"
        reading.error("E0301", "an end of an interval is compared with a number", condition.span, help_)
        return None
    if not figured.leaves:
        help_ = f"write `expect {end}(MEASURE) {operator} NUMBER`"
        reading.error("E0301", f"`{figured.named}` is a number, and has no interval", inner.span, help_)
        return None
    if operator in ("==", "!="):
        help_ = f"write `{end}(…) >= NUMBER`, or another of `<`, `<=` and `>`"
        reading.error("E0301", f"an end of an interval is not compared by `{operator}`", condition.span, help_)
        return None
    found = _lowered(reading, condition, figured, operator, number.scale.constant)
    return None if found is None else found.model_copy(update={"end": end})


def _lowered(
    reading: FigureContext, condition: Syntax, figured: TypedFigure, operator: Operator, value: float
) -> Expectation | None:
    if reading.missing is not None:
        help_ = "declare `measure NAME = …` with it, and expect that"
        reading.error("E0303", "`missing` is said of a measure", condition.span, help_)
        return None
    by = find_cells(reading, figured)
    if by is None or not _can_tell(reading, condition, figured, operator, value):
        return None
    corrected = is_expected_of_people(reading, condition, figured)
    random = inherited_facets(reading, condition, figured)
    if corrected is None or random is None:
        return None
    low, high = bounds_of(figured)
    return Expectation(
        figure=figured.figure,
        operator=operator,
        value=value,
        shown=written_as(condition),
        by=by,
        low=low,
        high=high,
        corrected=corrected,
        random=random,
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
