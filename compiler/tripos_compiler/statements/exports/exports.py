"""Lowers `export`: training data, of the replies of the best model or of pairs of a better and a worse reply."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label, nearest
from tripos_compiler.language import media_printed
from tripos_compiler.plan import Ask, ChoiceType, Export, Expr, Pairing, Scenario
from tripos_compiler.resolve import Binding, Program
from tripos_compiler.source import Name, Number, Syntax
from tripos_compiler.statements.exports.pairings import lower_pairing, misplaced
from tripos_compiler.statements.measures import (
    FigureContext,
    LoweredMeasure,
    Operand,
    check_own_line,
    dimension_text,
    find_measure,
    find_operand,
    read_dimension,
    read_measures,
)
from tripos_compiler.typing import Elaborator, axis_type

CLAUSES = ("best", "every", "pairs", "rows", "where", "format", "holds")
"""What begins a line of an export, and is no dimension or subset on another line."""


def lower_exports(program: Program) -> None:
    """Every `export`."""
    written = program.of("export")
    base = replace(read_measures(program, silent=True), program=program) if written else None
    for statement in written:
        assert base is not None
        export = _export(program, replace(base, terms=[]), statement)
        if export is not None and export.name not in program.exports:
            program.exports[export.name] = export


def _export(program: Program, reading: FigureContext, statement: Statement) -> Export | Pairing | None:
    name = statement.name()
    if misplaced(program, statement):
        return None
    paired, examples = statement.one_of("pairs_from"), statement.one_of("examples_from")
    if paired is not None and examples is not None:
        label = Label(paired.head, "the first")
        message = f"export `{name.text}` is of pairs or of examples, not both"
        program.diagnostics.error("E0202", message, examples.head, label, help="make two exports")
        return None
    paired = paired or examples
    if paired is not None:
        return lower_pairing(program, statement, paired)
    best, pairs, rows = (statement.one_of(word) for word in ("best", "pairs", "rows"))
    if best is not None and not check_own_line(program, best.many("dims"), CLAUSES):
        return None
    holds = statement.one_of("holds")
    if holds is not None and not check_own_line(program, holds.many("subsets"), CLAUSES):
        return None
    if not _whole(program, statement, best, pairs, rows):
        return None
    every = statement.one_of("every")
    if every is not None and best is None:
        message = "`every reply` is of the models that are best, and this export is of pairs"
        program.diagnostics.error("E0202", message, every.head, help="leave it out")
        return None
    chosen = best or pairs
    assert chosen is not None and rows is not None
    role = _role(program, chosen.name("role"))
    step = _step(program, rows.name("step"), chosen.name("role") if role else None)
    where = _where(program, statement.one_of("only"))
    measure = (
        _best(reading, chosen) if best is not None else _pairs(reading, chosen, rows.name("step") if step else None)
    )
    margin = _margin(program, chosen)
    held = _held_out(program, holds)
    if not role or not step or where is False or measure is None or margin is None or held is None:
        return None
    format_: Literal["chat", "completion"] = "chat"
    written = statement.one_of("format")
    if written is not None and written.has("completion"):
        format_ = "completion"
    return Export(
        name=name.text,
        kind="best" if best is not None else "pairs",
        role=chosen.name("role").text,
        measure=measure[0],
        per=measure[1],
        every=every is not None,
        margin=margin,
        rows=rows.name("step").text,
        format=format_,
        where=where if not isinstance(where, bool) else None,
        holds_out=held,
    )


def _whole(
    program: Program, statement: Statement, best: Statement | None, pairs: Statement | None, rows: Statement | None
) -> bool:
    name = statement.name().text
    lacking = statement.block.span if statement.block is not None else None
    good = True
    if best is not None and pairs is not None:
        label = Label(best.head, "the first")
        message = f"export `{name}` is of the best replies or of pairs, not both"
        program.diagnostics.error("E0202", message, pairs.head, label, help="make two exports")
        good = False
    if best is None and pairs is None:
        message = f"export `{name}` does not say what it exports"
        help_ = "write `best of ROLE by MEASURE`, `pairs of ROLE by SCORE`, or `pairs` or `examples from DATASET`"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        good = False
    if rows is None:
        message = f"export `{name}` does not say whose replies it exports"
        program.diagnostics.error("E0206", message, statement.head, help="write `rows STEP`", lacking=lacking)
        good = False
    return good


def _role(program: Program, role: Name) -> bool:
    if not program.is_declared("role", role):
        return False
    if program.roles[role.text].kind == "compared":
        return True
    compared = [each.name for each in program.roles.values() if each.kind == "compared"]
    help_ = f"write `of {compared[0]}`" if compared else "mark the role under test: `role candidate compared`"
    message = f"`{role.text}` is not compared, so none of its models is better than another"
    program.diagnostics.error("E0208", message, role.span, help=help_)
    return False


def _step(program: Program, step: Name, role: Name | None) -> bool:
    """Return true if some scenario asks the role in a step of that name."""
    asks = [ask for scenario in program.scenarios.values() for ask in scenario.steps if isinstance(ask, Ask)]
    same = [ask for ask in asks if step.text in (ask.name, ask.script)]
    if not same:
        if len(program.scenarios) == len(program.declared.get("scenario", {})):
            names = list(dict.fromkeys(ask.name for ask in asks if role is None or ask.role == role.text))
            close = nearest(step.text, names)
            some = ", ".join(f"`{name}`" for name in names[:8]) or "no such step"
            help_ = f"did you mean `{close}`?" if close else f"there is {some}"
            message = f"no scenario asks `{step.text}`"
            program.diagnostics.error("E0201", message, step.span, help=help_, unknown=step.text)
        return False
    for statement in program.of("scenario"):
        for inner in statement.of("ask"):
            if inner.name().text == step.text:
                program.index.use(step.span, inner.name().span)
    if any(_shows_media(ask, scenario) for scenario in program.scenarios.values() for ask in same):
        message = f"`{step.text}` is asked with images or files, and training data are texts"
        help_ = "export a step whose prompt is text"
        program.diagnostics.error("E0301", message, step.span, help=help_)
        return False
    if role is None or any(ask.role == role.text for ask in same):
        return role is not None
    message = f"`{step.text}` is asked of `{same[0].role}`, not of `{role.text}`"
    program.diagnostics.error("E0208", message, step.span, help=f"name an ask of `{role.text}`")
    return False


def _shows_media(ask: Ask, scenario: Scenario) -> bool:
    """Return true if what is sent for a step of a scenario has an image or a file in it: in its own texts, or in those
    of the ask that it continues."""
    if ask not in scenario.steps:
        return False
    texts = (ask.system, ask.prompt, *(text for shots in ask.shots for text in (shots.prompt, shots.reply)))
    if any(media_printed(each) for text in texts if text is not None for each in text.values()):
        return True
    before = (each for each in scenario.steps if isinstance(each, Ask) and each.name == ask.continues)
    return any(_shows_media(each, scenario) for each in before)


def _best(reading: FigureContext, statement: Statement) -> tuple[str, tuple[str, ...]] | None:
    """Return the measure by which a model is best, and the dimensions per which it is."""
    known = find_measure(reading, statement.syntax("measure"))
    if known is None:
        return None
    per: list[str] = []
    for syntax in statement.many("dims"):
        text = dimension_text(syntax)
        if text in known.measure.by:
            _note(reading.program, syntax)
            per.append(text)
            continue
        if read_dimension(reading.program, syntax, [leaf.parted for leaf in known.figured.leaves]) is not None:
            goes = ", ".join(f"`{dim}`" for dim in known.measure.by)
            help_ = f"it goes by {goes}" if goes else f"leave out `per`, or take the measure by `{text}`"
            reading.error("E0621", f"`{known.measure.name}` does not go by `{text}`", syntax.span, help_)
        return None
    return known.measure.name, tuple(dict.fromkeys(per))


def _note(program: Program, syntax: Syntax) -> None:
    for kind in ("axis", "arm"):
        if isinstance(syntax, Name) and syntax.text in program.declared.get(kind, {}):
            program.index.use(syntax.span, program.declared[kind][syntax.text].span)


def _pairs(reading: FigureContext, statement: Statement, rows: Name | None) -> tuple[str, tuple[str, ...]] | None:
    """Return the score by which a reply is better than another."""
    syntax = statement.syntax("measure")
    found = find_operand(reading, syntax)
    if found is None:
        return None
    if isinstance(found, LoweredMeasure):
        message = f"`{found.measure.name}` is a measure: it says which model is better, and of no reply"
        reading.error("E0301", message, syntax.span, "name a scorer or a score")
        return None
    if found.kind == "compare" or not found.kept:
        reading.error("E0301", f"`{found.name}` is no score of a single reply", syntax.span, "name a scorer or a score")
        return None
    if found.type.kind == "choice" and not found.type.worth:
        message = f"`{found.name}` is a choice among names, of which none is better than another"
        reading.error("E0301", message, syntax.span, "give each name a number: `choice(A: 1, B: 0)`")
        return None
    if rows is not None and rows.text not in found.of and found.whole:
        message = f"`{found.name}` says nothing of `{rows.text}`: it scores {_listed(found)}"
        reading.error("E0301", message, syntax.span, f"name a score of `{rows.text}`")
        return None
    name = f"{found.within}.{found.name}" if found.within is not None else found.name
    return name, ()


def _listed(found: Operand) -> str:
    return " and ".join(f"`{name}`" for name in sorted(found.of))


def _margin(program: Program, statement: Statement) -> float | None:
    written = statement.find("number")
    if not isinstance(written, Number):
        return 0.0
    if written.value < 0:
        message = "the better reply of a pair is better by 0 at least"
        program.diagnostics.error("E0301", message, written.span, help="write a margin above 0, or none")
        return None
    return float(written.value)


def _held_out(program: Program, statement: Statement | None) -> tuple[str, ...] | None:
    """Return the subsets that are named to be left out; None where one is wrong."""
    if statement is None:
        return ()
    names = [each for each in statement.many("subsets") if isinstance(each, Name)]
    known = [program.is_declared("subset", each) for each in names]
    return tuple(dict.fromkeys(each.text for each in names)) if all(known) else None


def _where(program: Program, statement: Statement | None) -> Expr | bool | None:
    """Return the condition over `scenario` and the axes; None where there is none, False where it is wrong."""
    if statement is None:
        return None
    names = tuple(program.declared.get("scenario", {}))
    scope = {axis.name: Binding((axis.name,), axis_type(axis)) for axis in program.axes.values()}
    for name, declared in program.declared.get("axis", {}).items():
        scope[name] = replace(scope.get(name, Binding((name,))), span=declared.span)
    scope["scenario"] = Binding(("scenario",), ChoiceType(values=names, axis="scenario"))
    condition = statement.syntax("filter")
    program.index.scopes.append((condition.span, scope))
    typed = Elaborator(program, scope).condition(condition)
    return typed.expr if typed is not None else False
