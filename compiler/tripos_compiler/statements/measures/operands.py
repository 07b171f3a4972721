"""Finds what a name means where an aggregate takes values: scores, a judge's scores, a metric, a measure, a column."""

from __future__ import annotations

from dataclasses import replace

from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import BoolType, ChoiceType, Compare, Grade, Score, Scorer
from tripos_compiler.resolve import Program
from tripos_compiler.source import BinaryExpr, Group, IndexExpr, Member, Name, Syntax, Text
from tripos_compiler.statements.measures.arguments import Arguments
from tripos_compiler.statements.measures.dimensions import dimension_text
from tripos_compiler.statements.measures.figure_syntax import chosen_from, operator_in
from tripos_compiler.statements.measures.scored_values import Operand
from tripos_compiler.statements.measures.typed_figures import Declared, FigureContext, LoweredMeasure, written_as

INSIDE = "an expression of a scenario's values belongs in a measure inside that scenario"


def find_operand(reading: FigureContext, syntax: Syntax) -> Operand | LoweredMeasure | None:
    """Return what an aggregate is taken of. None where it is nothing, which is reported, or was reported already.

    Inside a scenario its own scores come first, then its measures, then what the whole spec declares.
    """
    column = reading.program.columns.get(syntax.span)
    if column is not None and reading.scenario is not None:
        return reading.scores.column(column, reading.scenario, written_as(syntax))
    match syntax:
        case Name():
            return _unqualified_operand(reading, syntax)
        case Member(of=Name() as scenario, name=name) if scenario.text in reading.program.declared.get("scenario", {}):
            reading.program.index.use(scenario.span, reading.program.declared["scenario"][scenario.text].span)
            return _of_scenario(reading, scenario.text, name)
        case Member(of=Name() as scenario) if reading.scenario is None or _free(reading, scenario, syntax):
            _no_start(reading, scenario, syntax)
            return None
        case IndexExpr():
            help_ = "slice what is taken of the whole: `measure whole = mean(…)`, then `whole[…]`"
            reading.error("E0301", "an aggregate is not taken of a slice", syntax.span, help_)
            return None
    if reading.scenario is None:
        help_ = f"name a scorer, a score or a measure; {INSIDE}"
        reading.error("E0301", "an aggregate is taken of something with a name", syntax.span, help_)
    elif reading.own is None:
        help_ = "declare it: `measure NAME = …`"
        reading.error("E0301", "an expectation needs a measure with a name", syntax.span, help_)
    return None


def _free(reading: FigureContext, name: Name, syntax: Syntax) -> bool:
    """Return true if a name at the start of an argument means nothing in its scenario, which was looked at; that of a
    gate is not looked at."""
    scope = reading.scopes.get(syntax.span, {} if reading.own is None else None)
    return scope is not None and name.text not in scope


def _no_start(reading: FigureContext, name: Name, syntax: Syntax) -> None:
    """Report that a dotted name starts with what is neither a scenario nor a name of this one."""
    scope, scenarios = list(reading.scopes.get(syntax.span, ())), reading.program.declared.get("scenario", {})
    close = nearest(name.text, [*scope, *scenarios])
    if not scope and (close is not None or not scenarios):
        reading.program.unknown("scenario", name)
        return
    if not scope:
        help_ = f"if `{name.text}` is a name inside of a scenario, write the measure there"
        reading.error("E0201", f"there is no scenario `{name.text}`", name.span, help_, name.text)
        return
    some = ", ".join(f"`{other}`" for other in sorted(scope)[:8])
    help_ = f"did you mean `{close}`?" if close else f"names here are {some}"
    reading.error("E0201", f"there is no `{name.text}` here", name.span, help_, name.text)


def _unqualified_operand(reading: FigureContext, name: Name) -> Operand | LoweredMeasure | None:
    program, scores, scenario = reading.program, reading.scores, reading.scenario
    here = scores.names(scenario)
    if name.text in here:
        program.index.use(name.span, here[name.text])
        return scores.score(name.text, scenario)
    measure = reading.measure(name.text)
    if scenario is not None and measure is not None and measure.scenario == scenario and measure.key != reading.own:
        return _measure(reading, name, measure)
    if name.text in program.declared.get("scorer", {}):
        return _scorer(reading, name, scenario)
    if name.text in program.declared.get("metric", {}):
        return _metric(reading, name, scenario)
    measure = reading.declared.get(name.text)
    if measure is not None and measure.key != reading.own:
        return _measure(reading, name, measure)
    if scenario is not None and not _free(reading, name, name):
        return None
    _unknown(reading, name, [*here, *reading.scopes.get(name.span, ())])
    return None


def _unknown(reading: FigureContext, name: Name, here: list[str]) -> None:
    program, scores = reading.program, reading.scores
    homes = [each for each, names in scores.written.items() if name.text in names and name.text not in scores.judges]
    homes += [each.scenario for each in reading.declared.values() if each.scenario and each.name.text == name.text]
    homes = [home for home in dict.fromkeys(homes) if home != reading.scenario]
    if homes:
        help_ = f"it belongs to scenario `{homes[0]}`: write `{homes[0]}.{name.text}`"
        reading.error("E0201", f"`{name.text}` is not known here", name.span, help_, name.text)
        return
    measures = [each.name.text for each in reading.declared.values() if each.scenario in (None, reading.scenario)]
    known = [*here, *program.declared.get("scorer", {}), *program.declared.get("metric", {}), *measures]
    known = [other for other in dict.fromkeys(known) if reading.own is None or other != name.text]
    close = nearest(name.text, known)
    some = ", ".join(f"`{other}`" for other in known[:8])
    help_ = f"did you mean `{close}`?" if close else f"there is {some}" if some else "score something first"
    reading.error("E0201", f"there is no score or measure `{name.text}`", name.span, help_, name.text)


def _of_scenario(reading: FigureContext, scenario: str, name: Name) -> Operand | LoweredMeasure | None:
    """Return what `scenario.name` means: a score, a measure, or what a judge or a metric gave there."""
    program, scores = reading.program, reading.scores
    here = scores.names(scenario)
    if name.text in here:
        program.index.use(name.span, here[name.text])
        return scores.score(name.text, scenario)
    measure = reading.declared.get(f"{scenario}.{name.text}")
    if measure is not None and measure.key != reading.own:
        return _measure(reading, name, measure)
    if name.text in program.declared.get("scorer", {}):
        return _scorer(reading, name, scenario)
    if name.text in program.declared.get("metric", {}):
        return _metric(reading, name, scenario)
    measures = [each.name.text for each in reading.declared.values() if each.scenario == scenario]
    known = [*here, *measures, *(scorer for scorer in scores.written.get(scenario, {}) if scorer not in here)]
    close = nearest(name.text, known)
    some = ", ".join(f"`{other}`" for other in known[:8])
    help_ = f"did you mean `{close}`?" if close else f"it has {some}" if some else "it has none"
    message = f"scenario `{scenario}` has no score or measure `{name.text}`"
    reading.error("E0201", message, name.span, help_, name.text)
    return None


def _scorer(reading: FigureContext, name: Name, scenario: str | None) -> Operand | None:
    program, scores = reading.program, reading.scores
    program.index.use(name.span, program.declared["scorer"][name.text].span)
    known = name.text in program.scorers or name.text in program.formulas or name.text in program.plugins
    found = scores.scorer(name.text, scenario) if name.text in program.scorers else None
    if found is None and known and not (scores.broken if scenario is None else scenario in scores.broken):
        where = "no scenario is" if scenario is None else f"scenario `{scenario}` is not"
        help_ = f"name the score that it is part of, or write `score {name.text}(…)`"
        reading.error("E0301", f"{where} scored by `{name.text}`", name.span, help_)
    return found


def _metric(reading: FigureContext, name: Name, scenario: str | None) -> Operand | None:
    program, scores = reading.program, reading.scores
    program.index.use(name.span, program.declared["metric"][name.text].span)
    found = scores.metric(name.text, scenario)
    sound = not (scores.broken if scenario is None else scenario in scores.broken)
    if found is None and sound and name.text in program.metrics and _allocated(program):
        where = "no scenario is" if scenario is None else f"scenario `{scenario}` is not"
        reading.error("E0301", f"{where} graded on `{name.text}`", name.span, "look at the `allocate` table")
    return found


def _allocated(program: Program) -> bool:
    """Return true if every allocation table is sound."""
    return {table.name("scorer").text for table in program.of("allocate")} <= set(program.allocation)


def _measure(reading: FigureContext, name: Name, declared: Declared) -> LoweredMeasure | None:
    reading.program.index.use(name.span, declared.name.span)
    return reading.known.get(declared.key)


def find_measure(reading: FigureContext, syntax: Syntax) -> LoweredMeasure | None:
    """Return the measure that a name means in a formula. None where it is none, which is reported, or was reported."""
    program = reading.program
    match syntax:
        case Name():
            declared = reading.measure(syntax.text)
            if declared is not None:
                return _measure(reading, syntax, declared)
        case Member(of=Name() as scenario, name=name):
            if not program.is_declared("scenario", scenario):
                return None
            declared = reading.declared.get(f"{scenario.text}.{name.text}")
            if declared is not None:
                return _measure(reading, name, declared)
    _no_measure(reading, syntax)
    return None


def _no_measure(reading: FigureContext, syntax: Syntax) -> None:
    text = dimension_text(syntax)
    last = syntax.name if isinstance(syntax, Member) else syntax
    within = dimension_text(syntax.of) if isinstance(syntax, Member) else reading.scenario
    word = last.text if isinstance(last, Name) else text
    scored = {*reading.scores.names(within), *reading.program.declared.get("scorer", {})}
    scored |= set(reading.program.declared.get("metric", {}))
    if word in scored:
        message = f"`{text}` is a score, and no figure yet"
        reading.error("E0301", message, syntax.span, f"take an aggregate of it, such as `mean({text})`")
        return
    near = {_shown(reading, each): each for each in reading.declared.values() if each.key != reading.own}
    homes = [shown for shown, each in near.items() if each.name.text == word]
    local = [shown for shown, each in near.items() if not isinstance(syntax, Member) or each.scenario == within]
    close = homes[0] if homes else nearest(text, local)
    some = ", ".join(f"`{shown}`" for shown in (local or list(near))[:8])
    help_ = f"did you mean `{close}`?" if close else f"there is {some}" if some else "declare one: `measure NAME = …`"
    message = f"there is no measure `{text}`"
    reading.error("E0201", message, last.span, help_, word)


def _shown(reading: FigureContext, declared: Declared) -> str:
    """Return a measure as it is written here."""
    return declared.name.text if declared.scenario == reading.scenario else declared.key


# --- conditions on what judges choose ---


def find_choice(reading: FigureContext, syntax: Syntax) -> Operand | LoweredMeasure | None:
    """Return what an aggregate is taken of, where that may be a condition on the choices of a judge: true and false
    then. None where it is nothing, which is reported."""
    of = chosen_from(syntax)
    if of is None or syntax.span in reading.program.columns:
        return find_operand(reading, syntax)
    operand = find_operand(reading, of)
    if not isinstance(operand, Operand):
        if operand is not None:
            message = f"`{written_as(of)}` is a measure, and a condition is one on what a judge chose"
            reading.error("E0301", message, of.span, "name a score whose judge `gives choice(…)`")
        return None
    names = chosen_names(reading, syntax, operand)
    if names is None:
        return None
    true = BoolType()
    return replace(operand, type=true, true_of=names, bounds=(0.0, 1.0), ends=(0.0, 1.0), written=written_as(syntax))


def chosen_names(reading: FigureContext, syntax: Syntax, operand: Operand) -> tuple[str, ...] | None:
    """Return the names for which a condition on a choice holds; None where one is unknown, which is reported."""
    assert isinstance(syntax, BinaryExpr)
    values = choices_of(reading, operand)
    if not values:
        message = f"{operand.shown} is no choice, and a condition is one on what a judge chose"
        reading.error("E0301", message, syntax.left.span, "score the condition: `score NAME = …`")
        return None
    found: list[str] = []
    for each in _listed(syntax.right):
        word = each.text if isinstance(each, Name) else each.value if isinstance(each, Text) else None
        if word not in values:
            close = nearest(word, values) if word is not None else None
            some = ", ".join(f"`{value}`" for value in values[:8])
            help_ = f"did you mean `{close}`?" if close else f"its values are {some}"
            reading.error("E0201", f"{operand.shown} has no value `{written_as(each)}`", each.span, help_, word)
            return None
        found.append(word)
    holds = operator_in(syntax) in ("==", "in")
    names = tuple(value for value in values if (value in found) is holds)
    if not names or len(names) == len(values):
        help_ = "name some of its values, and not all"
        message = "this condition always holds" if names else "this condition never holds"
        reading.error("E0301", message, syntax.span, help_)
        return None
    return names


def find_among(
    reading: FigureContext, arguments: Arguments, scored: list[tuple[Operand, Syntax]]
) -> tuple[str, ...] | None:
    """Return the names that count at all, from the condition `where:` on the choice that an aggregate is taken of; none
    where all do. None where the condition is wrong, which is reported."""
    where, operand = arguments.where, scored[0][0]
    if where is None or where.span in reading.program.columns:
        return ()
    of = chosen_from(where)
    name = of.name if isinstance(of, Member) else of
    known = find_operand(reading, of) if of is not None and name is not None and name.text == operand.name else None
    if known is None and name is not None and name.text == operand.name:
        return None
    if (
        len(scored) > 1
        or not isinstance(known, Operand)
        or (known.name, known.within) != (operand.name, operand.within)
    ):
        message = f"`where` chooses among the values of {operand.shown} itself, or of the row and the reply"
        help_ = f"write `where: {operand.name} != NAME`, or take the aggregate of what the scenario computes"
        reading.error("E0303", message, where.span, help_)
        return None
    return chosen_names(reading, where, known)


def choices_of(reading: FigureContext, operand: Operand) -> tuple[str, ...]:
    """Return the names that the judges of a score choose from; none where it is no choice."""
    types = [reading.scores.values.type_of(step) for step in operand.steps]
    if operand.kind not in ("score", "scorer") or not all(isinstance(type_, ChoiceType) for type_ in types):
        return ()
    return tuple(dict.fromkeys(name for type_ in types if isinstance(type_, ChoiceType) for name in type_.values))


def _listed(syntax: Syntax) -> list[Syntax]:
    if isinstance(syntax, Group):
        return [element for argument in syntax.arguments for element in argument.elements]
    return [syntax]


def grader_of(step: object) -> str | None:
    """Return the scorer whose verdict a step keeps as it is, of a reply or of each element of a list; None of what an
    expression makes of it, which people do not grade."""
    if isinstance(step, Grade | Compare):
        return step.scorer
    return step.judge if isinstance(step, Score) and step.when is None else None


def graders_of(program: Program, operand: Operand) -> list[Scorer]:
    """Return the scorers whose verdicts a value is, in the place of which people may grade."""
    names = dict.fromkeys(name for step in operand.steps if (name := grader_of(step)) is not None)
    return [program.scorers[name] for name in names if name in program.scorers]
