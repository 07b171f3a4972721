"""Lowers scorers and `let`s that are expressions or texts; a use of one has its expression instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.language.library import type_notation
from tripos_compiler.plan import Loop, Ref, Scorer
from tripos_compiler.resolve import FormulaScorer, Program, Typed
from tripos_compiler.source import CallExpr, Name, Node, Syntax, Text
from tripos_compiler.statements.scoring.functions import Parameters
from tripos_compiler.typing import DEEPEST_FORMULA, Elaborator, holds_texts, is_score, joined, named_choice


def written(program: Program, value: Syntax) -> tuple[Syntax, tuple[Syntax, ...]] | None:
    """Return the value of a `let`, with every text that has holes as the call of `join` that it stands for; and what
    stands in the holes. None where a hole is malformed, which is reported."""
    mark = len(program.diagnostics.items)
    holes: list[Syntax] = []
    found = _rewritten(program, value, holes)
    return None if len(program.diagnostics.items) > mark else (found, tuple(holes))


def _rewritten(program: Program, value: Any, holes: list[Syntax]) -> Any:
    if isinstance(value, Text):
        if "{{" not in value.value:
            return value
        return joined(value, holes, program.diagnostics)
    if isinstance(value, tuple):
        return tuple(_rewritten(program, each, holes) for each in value)
    if not isinstance(value, Node):
        return value
    names = [each.name for each in fields(value) if each.name != "span"]
    return replace(value, **{name: _rewritten(program, getattr(value, name), holes) for name in names})


def lower_formula(
    program: Program, statement: Statement, name: Name, parameters: Parameters | None
) -> tuple[FormulaScorer, Parameters] | None:
    """Return a formula, not yet checked. None where its parameters are wrong, or another scorer has its name."""
    if parameters is None or program.declared["scorer"][name.text] is not name:
        return None
    value = statement.syntax("value")
    if statement.construct == "formula":
        return FormulaScorer(name, parameters.types, value), parameters
    found = written(program, value)
    return None if found is None else (FormulaScorer(name, parameters.types, found[0], False, found[1]), parameters)


def late_formulas(formulas: Sequence[FormulaScorer], judges: Set[str], data: Set[str]) -> dict[str, str]:
    """Return the formulas that ask a judge or look into a data set, themselves or by another formula, and which it
    is."""
    uses = {formula.name.text: set(_called(formula.value)) for formula in formulas}
    late = dict.fromkeys(judges, "asks a judge")
    late |= {
        formula.name.text: "looks into a data set"
        for formula in formulas
        if not data.isdisjoint(set(_named(formula.value)) - formula.params.keys())
    }
    while found := {
        name: min(late[each] for each in used & late.keys())
        for name, used in uses.items()
        if name not in late and used & late.keys()
    }:
        late |= found
    return {name: why for name, why in late.items() if name in uses}


def lower_formulas(program: Program, formulas: list[tuple[FormulaScorer, Parameters]]) -> None:
    """Check every formula once, those first that others use. Circles are reported."""
    waiting = {formula.name.text: (formula, parameters) for formula, parameters in formulas}
    uses = {
        name: [used for used in _called(formula.value) if used in waiting] for name, (formula, _) in waiting.items()
    }
    depths: dict[str, int] = {}
    while waiting:
        ready = [name for name in waiting if all(used in depths for used in uses[name])]
        for name in ready:
            depths[name] = 1 + max((depths[used] for used in uses[name]), default=0)
            _check(program, *waiting.pop(name), depths[name])
        if not ready:
            circle = _circle(uses, waiting)
            first, message = circle[0], f"these use each other in a circle: {' → '.join([*circle, circle[0]])}"
            help_ = "let one of them use its parameters only"
            program.diagnostics.error("E0203", message, waiting[first][0].name.span, help=help_)
            for name in circle:
                depths[name] = 0  # it counts as reported: what uses it is passed over in silence
                del waiting[name]


def _circle(uses: Mapping[str, list[str]], waiting: Mapping[str, object]) -> list[str]:
    """Return the names of a circle, in the order in which they use each other."""
    way = [next(iter(waiting))]
    while True:
        name = next(used for used in uses[way[-1]] if used in waiting)
        if name in way:
            return way[way.index(name) :]
        way.append(name)


def _check(program: Program, formula: FormulaScorer, parameters: Parameters, depth: int) -> None:
    name = formula.name
    program.index.scopes.append((formula.value.span, parameters.scope))
    judge = _Judged(program) if formula.scores else None  # only a score asks one
    elaborator = Elaborator(program, parameters.scope, judge)
    if not holds_texts(elaborator, formula.holes):
        return
    typed = elaborator.expression(formula.value)
    if typed is None:
        return
    if formula.scores and typed.type.kind == "optional" and is_score(typed.type.of):
        help_ = "give a default: `default(…, 0)`"
        program.diagnostics.error("E0306", "this score may be missing", formula.value.span, help=help_)
        return
    if formula.scores and not is_score(typed.type):
        message = f"this is `{type_notation(typed.type)}`, not a score"
        program.diagnostics.error("E0301", message, formula.value.span, help="a score is a bool or a number")
        return
    if depth > DEEPEST_FORMULA:
        message = f"`{name.text}` uses scorers that use scorers, more than {DEEPEST_FORMULA} deep"
        program.diagnostics.error("E0203", message, name.span, help="write some of them out")
        return
    detail = f"{parameters.shown(name.text)} -> {type_notation(typed.type)}"
    program.index.define("scorer", name.text, name.span, detail=detail)
    program.formulas[name.text] = formula


class _Judged:
    """Stands for a judge's verdict while a formula is checked: there is no reply yet."""

    programs = True

    def __init__(self, program: Program) -> None:
        self.program = program

    def each(self, loop: Loop) -> _Judged:
        """Return the same: of each element there is no reply either."""
        return self

    def __call__(self, call: CallExpr, scorer: Scorer, given: dict[str, Typed]) -> Typed | None:
        if scorer.gives is not None:
            return Typed(Ref(path=(scorer.name,)), named_choice(scorer.says or scorer.gives))
        message = f"`{scorer.name}` gives several metrics, which is no value"
        self.program.diagnostics.error("E0301", message, call.span, help="use a scorer that gives one value")
        return None


def _called(syntax: object) -> Iterator[str]:
    """Yield the names that an expression calls."""
    for each in _nodes(syntax):
        if isinstance(each, CallExpr) and isinstance(each.function, Name):
            yield each.function.text


def _named(syntax: object) -> Iterator[str]:
    """Return every name in an expression."""
    return (each.text for each in _nodes(syntax) if isinstance(each, Name))


def _nodes(syntax: object) -> Iterator[Node]:
    if isinstance(syntax, tuple):
        for each in syntax:
            yield from _nodes(each)
    elif isinstance(syntax, Node):
        yield syntax
        for part in fields(syntax):
            yield from _nodes(getattr(syntax, part.name))
