"""Type checking of aggregates: `mean(rubric)`, `mean(mean(f1) by q.subject)`, `f1(step, item.wrong_at, average:
micro)`.

The operand is a name of scores, a judge, a metric or a column, or a figure with cells: another aggregate, a formula or
a slice, as in `mean(gap * gap by q.kind)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.diagnostics.habits import suggest_notation
from tripos_compiler.language.aggregates import AGGREGATES, MEAN, AggregateFunction, AggregateParameter, Bounds as Ends
from tripos_compiler.language.intervals import Scale, scale_of
from tripos_compiler.language.scored_values import (
    conversations_before,
    lists_of,
    most_tries,
    repeated_conversations,
    values_of_a_reply,
)
from tripos_compiler.library.ranges import SHARE, Interval
from tripos_compiler.library.types import PLAIN, fits, type_notation, without_optional
from tripos_compiler.lowering.measures.dimensions import element_names
from tripos_compiler.lowering.measures.normal_forms import Atom, NormalForm, atom_form, function_atom, with_missing
from tripos_compiler.lowering.measures.typed_figures import (
    AggregateTerm,
    FigureContext,
    LoweredMeasure,
    MeasureDeclaration,
    Operand,
    TypedFigure,
    chosen_from,
    find_aggregate,
    find_cells,
    is_aggregate,
    is_by,
    operator_in,
)
from tripos_compiler.plan import (
    Aggregate,
    BoolType,
    ChoiceType,
    Compare,
    Constant,
    Figure,
    Grade,
    Measured,
    Missing,
    Score,
    Scorer,
    Type,
    Verdict,
)
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    IndexExpr,
    Member,
    Name,
    Number,
    Syntax,
    Text,
    describe_syntax,
    dimension_text,
)
from tripos_compiler.typecheck.calls import several_values

# Arguments

MISSING: tuple[Missing, ...] = get_args(Missing)


@dataclass
class Arguments:
    """The arguments of an aggregate: its operands with their dimensions, and its settings with their values and
    places.
    """

    columns: list[tuple[Syntax, tuple[Syntax, ...] | None]] = field(default_factory=list)
    named: dict[str, str | int | float | bool] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    where: Syntax | None = None
    """The condition on the values that count."""


def given_arguments(reading: FigureContext, call: CallExpr, function: AggregateFunction) -> Arguments | None:
    """Match arguments with parameters; None if one is wrong or missing."""
    attempt, arguments = reading.program.diagnostics.attempt(), Arguments()
    columns: dict[str, tuple[Syntax, tuple[Syntax, ...] | None]] = {}
    free = list(function.parameters)
    names = {argument.name.text for argument in call.arguments if argument.name is not None}
    for argument in _joined(call.arguments):
        if argument.name is not None and argument.name.text == "missing":
            _missing(reading, argument, function)
            continue
        if argument.name is not None and argument.name.text == "where":
            if arguments.where is not None:
                help_ = "write one condition: `where: a and b`"
                reading.error("E0303", f"`{argument.name.text}` is given twice", argument.name.span, help_)
            arguments.where = argument.elements[0]
            if len(argument.elements) > 1:
                reading.error("E0303", *several_values(argument, "write one condition: `where: a and b`"))
            continue
        if (parameter := _parameter(reading, argument, free, names, function)) is None:
            continue
        free.remove(parameter)
        by = parameter.column and is_by(argument)
        if (word := _joined_word(argument)) in parameter.words:  # such as `13a`, two tokens to the parser
            arguments.named[parameter.name] = word
            arguments.places[parameter.name] = argument.elements[0].span.to(argument.elements[-1].span)
        elif len(argument.elements) > 1 and not by:
            reading.error("E0303", *several_values(argument, f"it is `{function.shown}`"))
        elif parameter.column:
            columns[parameter.name] = (argument.elements[0], argument.elements[2:] if by else None)
        else:
            arguments.places[parameter.name] = argument.elements[0].span
            _setting(reading, argument.elements[0], parameter, function, arguments)
    missing = [parameter for parameter in free if parameter.required]
    if missing and not attempt.failed:
        reading.error("E0303", f"`{missing[0].name}` is not given", call.span, f"it is `{function.shown}`")
    arguments.columns = [columns[parameter.name] for parameter in function.parameters if parameter.name in columns]
    return None if attempt.failed else arguments


def _joined(arguments: tuple[Argument, ...]) -> list[Argument]:
    """Return the arguments with further dimensions joined to the preceding `by` phrase: `mean(f1) by q.subject,
    q.kind`.
    """
    joined: list[Argument] = []
    for argument in arguments:
        more = argument.name is None and len(argument.elements) == 1 and isinstance(argument.elements[0], Name | Member)
        if more and joined and is_by(joined[-1]):
            last = joined.pop()
            joined.append(Argument(last.span.to(argument.span), last.name, last.elements + argument.elements))
        else:
            joined.append(argument)
    return joined


def _parameter(
    reading: FigureContext,
    argument: Argument,
    free: list[AggregateParameter],
    names: Collection[str],
    function: AggregateFunction,
) -> AggregateParameter | None:
    """Return the parameter that an argument fills: one without a name the first of those that no name in `names` fills.
    Parameters that are words must be passed by name."""
    help_ = f"it is `{function.shown}`"
    if argument.name is None:
        parameter = next((each for each in free if each.kind != "word" and each.name not in names), None)
        if parameter is None:
            reading.error("E0303", "this argument is one too many or misnamed", argument.span, help_)
        return parameter
    name = argument.name.text
    parameter = next((aggregate_parameter for aggregate_parameter in free if aggregate_parameter.name == name), None)
    if parameter is None:
        names = [aggregate_parameter.name for aggregate_parameter in function.parameters]
        if name in names:
            reading.error("E0303", f"`{name}` is given twice", argument.name.span, help_)
        else:
            close = nearest(name, [*names, "missing"])
            help_ = f"did you mean `{close}`? {help_}" if close else help_
            reading.error("E0303", f"`{function.name}` has no argument `{name}`", argument.name.span, help_)
    return parameter


def _setting(
    reading: FigureContext,
    value: Syntax,
    parameter: AggregateParameter,
    function: AggregateFunction,
    settings: Arguments,
) -> None:
    """Check the value of a setting and store it in `settings`."""
    word = _word(value)
    if parameter.kind == "count":
        if isinstance(value, Number) and isinstance(value.value, int) and value.value > 0:
            settings.named[parameter.name] = value.value
        else:
            message = f"`{parameter.name}` is a whole number above 0, and {describe_syntax(value)} is none"
            reading.error("E0301", message, value.span, f"it is `{function.shown}`")
    elif parameter.kind == "rate":
        if isinstance(value, Number) and 0 <= value.value <= 1:
            settings.named[parameter.name] = float(value.value)
        else:
            message = f"`{parameter.name}` is a number from 0 to 1, and {describe_syntax(value)} is none"
            reading.error("E0301", message, value.span, f"it is `{function.shown}`")
    elif word is not None and not parameter.words:
        settings.named[parameter.name] = word == "true" if word in ("true", "false") else word
    else:
        close = nearest(str(word), parameter.words) if word is not None else None
        some = ", ".join(f"`{other_word}`" for other_word in parameter.words)
        help_ = f"did you mean `{close}`?" if close else f"it is one of {some}" if some else "name a value"
        reading.error("E0301", f"{describe_syntax(value)} is no value of `{parameter.name}`", value.span, help_)


def _joined_word(argument: Argument) -> str:
    """Return the elements of an argument as one word, without spaces."""
    return "".join(str(_word(element)) for element in argument.elements)


def _word(value: Syntax) -> str | int | float | None:
    match value:
        case Name(text=text):
            return text
        case Text(value=written) | Number(value=written):
            return written
    return None


def _missing(reading: FigureContext, argument: Argument, function: AggregateFunction) -> None:
    """Record the treatment of missing scores, which must be the same in the whole measure."""
    value = argument.elements[0]
    word = _word(value) if len(argument.elements) == 1 else None
    chosen = next((rule for rule in MISSING if rule == word and rule in function.missing), None)
    if chosen is None:
        some = ", ".join(f"`{rule}`" for rule in function.missing)
        help_ = suggest(str(word), function.missing, f"it is one of {some}")
        message = f"{describe_syntax(value)} is no value of `missing`"
        if word in MISSING:
            message = f"nothing stands for a missing value of `{function.name}`"
        reading.error("E0301", message, value.span, help_)
    elif chosen == "paired" and not reading.program.arms:
        help_ = "declare one, or say `skip`"
        reading.error("E0301", "`missing: paired` pairs items between arms, and there is no arm", value.span, help_)
    elif reading.missing not in (None, chosen):
        message = f"one part of this figure takes missing scores as `{reading.missing}`, another as `{chosen}`"
        help_ = "make them measures of their own, each with its own `missing`"
        reading.error("E0303", message, value.span, help_)
    else:
        reading.missing = chosen


# Types of operands


def is_fitting(
    reading: FigureContext,
    call: CallExpr,
    function: AggregateFunction,
    arguments: Arguments,
    scored: list[tuple[Operand, Syntax]],
) -> bool:
    """Return true if an aggregate accepts its operands; otherwise report the first mistake."""
    for place, (value, syntax) in enumerate(scored):
        wrong = _misfit_of_declared_type(function, value, place) or _misfit(function, value, place)
        wrong = wrong or _misfit_of_column_kind(function, value, place)
        wrong = wrong or _of_elements(reading, function, value, place, scored[0][0])
        if wrong is not None:
            reading.error("E0301", wrong[0], syntax.span, wrong[1])
            return False
    if len({value.within for value, _ in scored}) > 1:
        message = "these are values of different scenarios"
        reading.error("E0301", message, call.span, "take both from one scenario")
        return False
    first = scored[0][0]
    if len(scored) > 1 and function.takes == "values":
        one, other = without_optional(first.type), without_optional(scored[1][0].type)
        if not fits(one, other) and not fits(other, one):
            message = f"`{type_notation(one)}` and `{type_notation(other)}` are never equal"
            help_ = f"it is `{function.shown}`"
            if function.sets == "members" and other.kind in ("set", "list") and fits(one, other.of):
                within = f"{scored[0][1].span.excerpt} in {scored[1][1].span.excerpt}"
                help_ = f"take the share of those that it has: `mean({within})`"
            reading.error("E0301", message, scored[1][1].span, help_)
            return False
    if arguments.named.get("weight") == "margin" and not _says_how_much(reading, first):
        message = f"the judge of {first.shown} does not say by how much a reply is better"
        help_ = 'give each name a value: `gives choice("A>>B": 3, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -3)`'
        reading.error("E0301", message, arguments.places["weight"], help_)
        return False
    tried = arguments.named.get("k")
    tries = most_tries(first) if isinstance(tried, int) else 0
    if isinstance(tried, int) and tried > tries and first.complete:
        replies = "one reply" if tries == 1 else f"{tries} replies"
        several = max(conversations_before(first).values(), default=1)
        after = f" after each of {several} conversations" if several > 1 else " to a row"
        message = f"{first.shown} has {replies}{after}, fewer than {tried}"
        talks = repeated_conversations(first)
        wanted = f"{tried} after each {min(talks)}" if len(talks) == 1 else f"{tried * several}"
        reading.error("E0622", message, arguments.places["k"], f"ask for `samples {wanted}`, or try fewer")
        return False
    several_of = values_of_a_reply(first) if tries else None
    if several_of is not None:
        asked, later = several_of
        message = f"a reply of `{asked.name}` has several values of {first.shown}, one for each reply of `{later.name}`"
        help_ = f"a try has one value: write `samples {asked.samples}` in `{later.name}`, or take a mean"
        reading.error("E0622", message, call.span, help_)
        return False
    if not _is_better_than_chance(reading, call, arguments):
        return False
    return _settings_fit(reading, arguments, without_optional(first.type))


def _is_better_than_chance(reading: FigureContext, call: CallExpr, arguments: Arguments) -> bool:
    """Return true unless the declared rates of a judge are no better than chance."""
    rates = [arguments.named[name] for name in ("sensitivity", "specificity") if name in arguments.named]
    if len(rates) < 2 or sum(float(rate) for rate in rates) > 1 + 1e-12:
        return True
    message = "a judge with these rates tells true from false no better than chance"
    reading.error("E0627", message, call.span, "sensitivity and specificity come to more than 1 together")
    return False


def _misfit(function: AggregateFunction, scored: Operand, place: int) -> tuple[str, str] | None:
    """Return what is wrong with the type of an operand, and the hint; None if it fits."""
    type_ = without_optional(scored.type)
    name, what = scored.shown, f"`{function.name}`"
    if function.takes == "compare" and scored.kind != "compare":
        return f"{what} is taken of a comparison, and {name} is none", "write `compare NAME using SCORER(…)`"
    if scored.kind == "compare":
        if function.takes == "compare" or function.counts:
            return None
        return f"{name} compares two models, and {what} is taken of scores", f"write `win_rate({scored.name})`"
    if function.truth_only and type_.kind != "bool":
        return f"{what} is taken of what is true or false, and {name} is `{type_notation(type_)}`", (
            f"take it of a condition: `{function.name}({scored.name} == {type_.values[0]})`"
            if type_.kind == "choice"
            else "score a condition"
        )
    unvalued = type_.kind == "choice" and not type_.worth
    if function.takes == "scores" and (unvalued or type_.kind not in ("bool", "integer", "number", "choice")):
        return (
            f"{what} is taken of numbers, and {name} is `{type_notation(type_)}`",
            "give each name a number, `choice(A: 1, B: 0)`, or take the share of some of them"
            if unvalued
            else "take a `count`, or score a number",
        )
    if function.takes == "texts":
        several = place > 0 and type_.kind in ("list", "set")
        of = type_.of if type_.kind in ("list", "set") and several else type_
        if of.kind != "text":
            help_ = "take it of a text, such as `reply.text`" if place == 0 else "give a text, or a list of texts"
            return f"{what} compares texts, and {name} is `{type_notation(type_)}`", help_
        return None
    if function.takes != "values" or function.counts:
        return None
    members = {"equal": ("set",), "members": ("set", "list"), "none": ()}[function.sets]
    if type_.kind in ("set", "list") and type_.kind not in members:
        return f"{what} compares values, and {name} is `{type_notation(type_)}`", (
            "write `set<…>` in place of `list<…>`" if "set" in members else "take the `recall`, with `average: macro`"
        )
    of = type_.of if type_.kind in ("set", "list") else type_
    if of.kind not in PLAIN:
        return (
            f"{what} tells values apart, and {name} is `{type_notation(type_)}`",
            "take it of a choice, a text or a set",
        )
    return None


def _of_elements(
    reading: FigureContext, function: AggregateFunction, scored: Operand, place: int, first: Operand
) -> tuple[str, str] | None:
    """Return what is wrong with an aggregate of scores of elements, and the hint; None if it fits."""
    if not scored.scores_elements:
        return None
    if place > 0 and not first.scores_elements:
        text = f"{scored.shown} is one of each element of a list, and {first.shown} has one value of a reply"
        return text, "score each element: `score NAME = … each … in …`"
    if place > 0 and lists_of(scored) != lists_of(first):
        text = f"{scored.shown} and {first.shown} are of elements of two lists, which are no pairs"
        return text, "take both of the elements of one list"
    if not function.takes_elements:
        text = f"{scored.shown} scores each element of a list, and `{function.name}` takes one value of a reply"
        return text, f"score the reply: `score NAME = sum([… each … in …])`, or take the `mean` of {scored.shown}"
    if reading.missing == "paired":
        return f"`missing: paired` pairs replies, and {scored.shown} scores each element of a list", (
            "say `skip` or `zero`"
        )
    return None


def _misfit_of_declared_type(function: AggregateFunction, scored: Operand, place: int) -> tuple[str, str] | None:
    """Return what is wrong with an operand of a user's aggregate, and the hint; None if it fits."""
    wanted = function.columns[place].of
    if wanted is None:
        return None
    name, what, type_ = scored.shown, f"`{function.name}`", without_optional(scored.type)
    if scored.kind == "compare":
        return f"{name} compares two models, and {what} is taken of scores", f"write `win_rate({scored.name})`"
    if place > 0 and scored.judges:
        help_ = "give it first, and what the row or the reply says behind it"
        return f"{name} is given by a judge, of whom there may be several", help_
    counts = type_.kind == "bool" or (type_.kind == "choice" and bool(type_.worth))
    if fits(type_, wanted) or (wanted.kind == "number" and counts):
        return None
    message = f"{name} is `{type_notation(type_)}`, and {what} takes `list<{type_notation(wanted)}>`"
    return message, "give what it takes, or declare another type"


def _says_how_much(reading: FigureContext, scored: Operand) -> bool:
    types = [reading.scores.values.type_of(step) for step in scored.steps]
    return all(isinstance(type_, ChoiceType) and bool(type_.worth) for type_ in types)


def _misfit_of_column_kind(function: AggregateFunction, scored: Operand, place: int) -> tuple[str, str] | None:
    """Return what is wrong with a probability, an outcome or a weight, and the hint; None if it fits."""
    kind, type_ = function.columns[place].kind, without_optional(scored.type)
    name, what = scored.shown, f"`{function.name}`"
    low, high = scored.ends
    number = type_.kind in ("bool", "integer", "number") or (type_.kind == "choice" and bool(type_.worth))
    if kind == "weights" and scored.judges:
        return f"{name} is given by a judge, and a weight is not", "take a number of the row, or of the reply"
    if kind == "weights" and low is not None and low < 0:
        return f"{name} may be below 0, and a weight is not", "take another column, or `abs(…)` of it"
    if kind == "truths" and type_.kind != "bool":
        return f"{what} holds numbers against what is true or false, and {name} is `{type_notation(type_)}`", (
            "compare it: `reply.answer == item.answer`"
        )
    if kind == "chances" and not number:
        return f"{what} is taken of numbers, and {name} is `{type_notation(type_)}`", "take it of a probability"
    if kind == "chances" and ((low is not None and low < 0) or (high is not None and high > 1)):
        return f"{what} is taken of probabilities, and {name} may lie outside 0 to 1", (
            "bring it there: `reply.sure / 100`"
        )
    return None


def _settings_fit(reading: FigureContext, arguments: Arguments, type_: Type) -> bool:
    """Return true if `average`, `positive` and `classes` fit the type of the values; otherwise report it."""
    average, positive = arguments.named.get("average"), arguments.named.get("positive")
    if "classes" in arguments.named and average not in (None, "macro"):
        message = "`classes` says what `average: macro` is the mean over"
        reading.error("E0303", message, arguments.places["classes"], "write `average: macro`, or leave `classes` out")
        return False
    if average == "samples" and type_.kind not in ("set", "list"):
        message = f"`samples` is taken over items that are sets, and these are `{type_notation(type_)}`"
        reading.error("E0303", message, arguments.places["average"], "write `micro` or `macro`")
        return False
    if average == "binary" and positive is None and type_.kind != "bool":
        message = "`binary` looks at one value, which is not given"
        reading.error("E0303", message, arguments.places["average"], "write `positive: VALUE` too")
        return False
    if positive is not None and average != "binary":
        message = "`positive` means nothing without `average: binary`"
        reading.error("E0303", message, arguments.places["positive"], "write both, or neither")
        return False
    of = type_.of if type_.kind in ("set", "list") else type_
    if positive is None or of.kind != "choice" or positive in of.values:
        return True
    some = ", ".join(f"`{value}`" for value in of.values[:8])
    help_ = suggest(str(positive), of.values, f"its values are {some}")
    reading.error("E0201", f"there is no value `{positive}`", arguments.places["positive"], help_, str(positive))
    return False


def find_across(
    reading: FigureContext,
    call: CallExpr,
    function: AggregateFunction,
    operands: list[tuple[Operand | TypedFigure, Syntax]] | None,
) -> str | None:
    """Return the role whose models the aggregate compares; None if it compares none. The operands are None if they are
    wrong.
    """
    role, two = reading.across, operands is not None and len(operands) > 1
    if function.across == "forbidden" or (two and role is None):
        return None
    if role is None:
        if operands is not None:
            second = f"; or name what to compare it with: `{function.shown}`" if function.across == "optional" else ""
            help_ = f"say whose: `measure … = {call.span.excerpt} across ROLE`{second}"
            reading.error("E0623", f"`{function.name}` compares the models of a role", call.span, help_)
        return None
    reading.uses_across = True
    if operands is None or role.text not in reading.program.roles:
        reading.program.diagnostics.follows()
        return None
    value, syntax = operands[0]
    if two:
        message = f"this compares two columns, and so nothing across `{role.text}`"
        reading.error("E0623", message, role.span, "leave out one or the other")
    elif not isinstance(value, Operand):
        return None
    elif not value.complete:  # the other judges are unknown
        reading.program.diagnostics.follows()
    elif not value.judges:
        help_ = "name what a judge gives"
        reading.error("E0623", f"nobody judges {value.shown}: it is computed", syntax.span, help_)
    elif role.text not in value.judges:
        judge = value.judges[0]
        message = f"{value.shown} is given by `{judge}`, not by `{role.text}`"
        reading.error("E0623", message, role.span, f"write `across {judge}`")
    elif reading.program.roles[role.text].kind != "panel":
        message = f"`{role.text}` is a single role, and nobody agrees with themselves"
        reading.error("E0623", message, role.span, f"let several grade: `role {role.text} panel`")
    return role.text


# What a name means as an operand

INSIDE = "an expression of a scenario's values belongs in a measure inside that scenario"


def find_operand(reading: FigureContext, syntax: Syntax) -> Operand | LoweredMeasure | None:
    """Return the operand of an aggregate; None if there is none, which is reported.

    Inside a scenario, a name means first one of its scores, then one of its measures, then a declaration of the spec.
    """
    column = reading.program.columns.get(syntax.span)
    if column is not None and reading.scenario is not None:
        return reading.scores.column(column, reading.scenario, syntax.span.excerpt)
    match syntax:
        case Name():
            return _unqualified_operand(reading, syntax)
        case Member(of=Name() as scenario, name=name) if scenario.text in reading.program.declared.get("scenario", {}):
            reading.program.index.use(scenario.span, reading.program.declared["scenario"][scenario.text].span)
            return _of_scenario(reading, scenario.text, name)
        case Member(of=Name() as scenario) if reading.scenario is None or _is_unbound(reading, scenario, syntax):
            if reading.scenario is not None and scenario.text in element_names(reading.program):
                reading.program.diagnostics.follows()  # the score that has the element is wrong
            else:
                _report_unknown_start(reading, scenario, syntax)
            return None
        case IndexExpr():
            help_ = "slice what is taken of the whole: `measure whole = mean(…)`, then `whole[…]`"
            reading.error("E0301", "an aggregate is not taken of a slice", syntax.span, help_)
            return None
    if reading.scenario is None:
        help_ = f"name a scorer, a score or a measure; {INSIDE}"
        reading.error("E0301", "an aggregate is taken of something with a name", syntax.span, help_)
    elif reading.measure_name is None:
        help_ = "declare it: `measure NAME = …`"
        reading.error("E0301", "an expectation needs a measure with a name", syntax.span, help_)
    return None


def _is_unbound(reading: FigureContext, name: Name, syntax: Syntax) -> bool:
    """Return true if the first name of an argument has no meaning in the scenario. Arguments of expectations are not
    checked.
    """
    scope = reading.scopes.get(syntax.span, {} if reading.measure_name is None else None)
    return scope is not None and name.text not in scope


def _report_unknown_start(reading: FigureContext, name: Name, syntax: Syntax) -> None:
    """Report a dotted name that starts with neither a scenario nor a name of this one."""
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
    spans = scores.names(scenario)
    if name.text in spans:
        program.index.use(name.span, spans[name.text])
        return scores.score(name.text, scenario)
    measure = reading.measure(name.text)
    if (
        scenario is not None
        and measure is not None
        and measure.scenario == scenario
        and measure.key != reading.measure_name
    ):
        return _measure(reading, name, measure)
    if name.text in program.declared.get("scorer", {}):
        return _scorer(reading, name, scenario)
    if name.text in program.declared.get("metric", {}):
        return _metric(reading, name, scenario)
    measure = reading.declared.get(name.text)
    if measure is not None and measure.key != reading.measure_name:
        return _measure(reading, name, measure)
    if scenario is not None and not _is_unbound(reading, name, name):
        return None
    _report_unknown_operand(reading, name, [*spans, *reading.scopes.get(name.span, ())])
    return None


def _report_unknown_operand(reading: FigureContext, name: Name, known_names: list[str]) -> None:
    program, scores = reading.program, reading.scores
    homes = [
        scenario
        for scenario, names in scores.positions.items()
        if name.text in names and name.text not in scores.judges
    ]
    homes += [
        declaration.scenario
        for declaration in reading.declared.values()
        if declaration.scenario and declaration.name.text == name.text
    ]
    homes = [home for home in dict.fromkeys(homes) if home != reading.scenario]
    if homes:
        help_ = f"it belongs to scenario `{homes[0]}`: write `{homes[0]}.{name.text}`"
        reading.error("E0201", f"`{name.text}` is not known here", name.span, help_, name.text)
        return
    measures = [
        declaration.name.text
        for declaration in reading.declared.values()
        if declaration.scenario in (None, reading.scenario)
    ]
    known = [*known_names, *program.declared.get("scorer", {}), *program.declared.get("metric", {}), *measures]
    known = [other for other in dict.fromkeys(known) if reading.measure_name is None or other != name.text]
    some = ", ".join(f"`{other}`" for other in known[:8])
    help_ = suggest(name.text, known, f"there is {some}" if some else "score something first")
    reading.error("E0201", f"there is no score or measure `{name.text}`", name.span, help_, name.text)


def _of_scenario(reading: FigureContext, scenario: str, name: Name) -> Operand | LoweredMeasure | None:
    """Return the meaning of `scenario.name`: a score, a measure, or the scores of a judge or metric there."""
    program, scores = reading.program, reading.scores
    spans = scores.names(scenario)
    if name.text in spans:
        program.index.use(name.span, spans[name.text])
        return scores.score(name.text, scenario)
    measure = reading.declared.get(f"{scenario}.{name.text}")
    if measure is not None and measure.key != reading.measure_name:
        return _measure(reading, name, measure)
    if name.text in program.declared.get("scorer", {}):
        return _scorer(reading, name, scenario)
    if name.text in program.declared.get("metric", {}):
        return _metric(reading, name, scenario)
    measures = [declaration.name.text for declaration in reading.declared.values() if declaration.scenario == scenario]
    known = [*spans, *measures, *(scorer for scorer in scores.positions.get(scenario, {}) if scorer not in spans)]
    some = ", ".join(f"`{other}`" for other in known[:8])
    help_ = suggest(name.text, known, f"it has {some}" if some else "it has none")
    lowered = program.scenarios.get(scenario)
    if lowered is not None and any(
        step.name == name.text for treatment in lowered.treatments for step in treatment.steps
    ):
        help_ = f"if `{name.text}` is a name inside of a scenario, write the measure there"
    message = f"scenario `{scenario}` has no score or measure `{name.text}`"
    reading.error("E0201", message, name.span, help_, name.text)
    return None


def _scorer(reading: FigureContext, name: Name, scenario: str | None) -> Operand | None:
    program, scores = reading.program, reading.scores
    program.index.use(name.span, program.declared["scorer"][name.text].span)
    known = name.text in program.scorers or name.text in program.formulas or name.text in program.plugins
    operand = scores.scorer(name.text, scenario) if name.text in program.scorers else None
    if operand is None and known and not (scores.broken if scenario is None else scenario in scores.broken):
        where = "no scenario is" if scenario is None else f"scenario `{scenario}` is not"
        help_ = f"name the score that it is part of, or write `score {name.text}(…)`"
        reading.error("E0301", f"{where} scored by `{name.text}`", name.span, help_)
    return operand


def _metric(reading: FigureContext, name: Name, scenario: str | None) -> Operand | None:
    program, scores = reading.program, reading.scores
    program.index.use(name.span, program.declared["metric"][name.text].span)
    operand = scores.metric(name.text, scenario)
    sound = not (scores.broken if scenario is None else scenario in scores.broken)
    if operand is None and sound and name.text in program.metrics and _allocated(program):
        where = "no scenario is" if scenario is None else f"scenario `{scenario}` is not"
        reading.error("E0301", f"{where} graded on `{name.text}`", name.span, "look at the `allocate` table")
    return operand


def _allocated(program: Program) -> bool:
    """Return true if every allocation table is valid."""
    return {table.name("scorer").text for table in program.of("allocate")} <= set(program.allocation)


def _measure(reading: FigureContext, name: Name, declared: MeasureDeclaration) -> LoweredMeasure | None:
    reading.program.index.use(name.span, declared.name.span)
    return reading.measures.get(declared.key)


def find_measure(reading: FigureContext, syntax: Syntax) -> LoweredMeasure | None:
    """Return the measure that a name means in a formula; None if there is none."""
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
    _report_no_measure(reading, syntax)
    return None


def _report_no_measure(reading: FigureContext, syntax: Syntax) -> None:
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
    near = {
        _shown(reading, declaration): declaration
        for declaration in reading.declared.values()
        if declaration.key != reading.measure_name
    }
    homes = [shown for shown, declaration in near.items() if declaration.name.text == word]
    local = [
        shown for shown, declaration in near.items() if not isinstance(syntax, Member) or declaration.scenario == within
    ]
    close = homes[0] if homes else nearest(text, local)
    some = ", ".join(f"`{shown}`" for shown in (local or list(near))[:8])
    help_ = f"did you mean `{close}`?" if close else f"there is {some}" if some else "declare one: `measure NAME = …`"
    message = f"there is no measure `{text}`"
    reading.error("E0201", message, last.span, help_, word)


def _shown(reading: FigureContext, declared: MeasureDeclaration) -> str:
    """Return the name of a measure as it is written in this context."""
    return declared.name.text if declared.scenario == reading.scenario else declared.key


# --- conditions on what judges choose ---


def find_choice(reading: FigureContext, syntax: Syntax) -> Operand | LoweredMeasure | None:
    """Return the operand of an aggregate, which may be a condition on a judge's choice; None if it is wrong."""
    of = chosen_from(syntax)
    if of is None or syntax.span in reading.program.columns:
        return find_operand(reading, syntax)
    operand = find_operand(reading, of)
    if not isinstance(operand, Operand):
        if operand is not None:
            message = f"`{of.span.excerpt}` is a measure, and a condition is one on what a judge chose"
            reading.error("E0301", message, of.span, "name a score whose judge `gives choice(…)`")
        return None
    names = chosen_names(reading, syntax, operand)
    if names is None:
        return None
    true = BoolType()
    return replace(operand, type=true, true_of=names, bounds=SHARE, ends=SHARE.ends, notation=syntax.span.excerpt)


def chosen_names(reading: FigureContext, syntax: Syntax, operand: Operand) -> tuple[str, ...] | None:
    """Return the choices for which a condition holds; None if it is wrong."""
    assert isinstance(syntax, BinaryExpr)
    values = choices_of(reading, operand)
    if not values:
        message = f"{operand.shown} is no choice, and a condition is one on what a judge chose"
        help_ = "score the condition: `score NAME = …`"
        if operand.kind == "compare":
            message = f"{operand.shown} compares two models, and no condition is taken of it"
            name = operand.name
            help_ = f"write `win_rate({name})`, or `position_bias({name})` for the place in which it was shown"
        reading.error("E0301", message, syntax.left.span, help_)
        return None
    chosen: list[str] = []
    for node in _listed(syntax.right):
        word = node.text if isinstance(node, Name) else node.value if isinstance(node, Text) else None
        if word not in values:
            close = nearest(word, values) if word is not None else None
            some = ", ".join(f"`{value}`" for value in values[:8])
            help_ = f"did you mean `{close}`?" if close else f"its values are {some}"
            reading.error("E0201", f"{operand.shown} has no value `{node.span.excerpt}`", node.span, help_, word)
            return None
        chosen.append(word)
    holds = operator_in(syntax) in ("==", "in")
    names = tuple(value for value in values if (value in chosen) is holds)
    if not names or len(names) == len(values):
        help_ = "name some of its values, and not all"
        message = "this condition always holds" if names else "this condition never holds"
        reading.error("E0301", message, syntax.span, help_)
        return None
    return names


def find_among(
    reading: FigureContext, arguments: Arguments, scored: list[tuple[Operand, Syntax]]
) -> tuple[str, ...] | None:
    """Return the choices that count according to `where:` on the operand; empty if all count, None if it is wrong."""
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
        is_own = name is not None and name.text == operand.name
        message, help_ = _where_of_another(reading, where, operand, is_own=is_own)
        reading.error("E0303", message, where.span, help_)
        return None
    return chosen_names(reading, where, known)


def _where_of_another(reading: FigureContext, where: Syntax, operand: Operand, *, is_own: bool) -> tuple[str, str]:
    """Return the message and the help for a `where:` that is no condition on the choices of the operand alone."""
    computed = _is_computed(operand)
    if computed and not is_own and reading.scenario is None:
        named = " and ".join(f"`{scenario.name}`" for scenario in operand.scenarios)
        message = f"outside of a scenario, `where` chooses among the values of {operand.shown} alone"
        return message, f"write this measure in the scenario {named}, which knows the row and the reply"
    if is_own or computed:
        message = f"`where` chooses among the values of {operand.shown} itself, or of the row and the reply"
    else:
        message = f"`where` chooses among the values of {operand.shown} alone, as a judge gave it"
    if is_own:
        return message, f"write `where: {operand.name} != NAME`, or take the aggregate of what the scenario computes"
    return message, _instead_of_where(reading, where, operand)


def _is_computed(operand: Operand) -> bool:
    """Return true if every reply has one score of it, without a judge: then `where` may ask for the row."""
    judged = {step.name for scenario in operand.scenarios for step in scenario.steps if isinstance(step, Verdict)}
    return all(
        isinstance(step, Score) and step.when is None and step.element is None and judged.isdisjoint(step.needs)
        for step in operand.steps
    )


def _instead_of_where(reading: FigureContext, where: Syntax, operand: Operand) -> str:
    """Return how a figure of the scores of some rows or replies is written, if `where:` does not choose them."""
    match where:
        case BinaryExpr(operator="==", left=Name() | Member() as dimension, right=Name() | Text() | Number() as value):
            by, fixed = dimension.span.excerpt, value.span.excerpt
            is_field = isinstance(dimension, Member) and reading.scenario is not None
            if is_field or by in {*reading.program.axes, *reading.program.arms}:
                return f"take the slice of a measure: `measure each = … by {by}`, then `each[{by}: {fixed}]`"
    if operand.kind == "metric" or any(isinstance(step, Grade) and step.metrics for step in operand.steps):
        return "let a field of the rows say it, and take the slice of a measure by that field"
    if operand.kind == "compare":
        return f"compare them there: `compare NAME using SCORER(…) when {where.span.excerpt}`"
    return f"score it there: `score NAME = … when {where.span.excerpt}`; a judge is asked once for both scores"


def choices_of(reading: FigureContext, operand: Operand) -> tuple[str, ...]:
    """Return the choices of the judges of a score; empty if it is not a choice."""
    types = [reading.scores.values.type_of(step) for step in operand.steps]
    if operand.kind not in ("score", "scorer") or not all(isinstance(type_, ChoiceType) for type_ in types):
        return ()
    return tuple(dict.fromkeys(name for type_ in types if isinstance(type_, ChoiceType) for name in type_.values))


def _listed(syntax: Syntax) -> list[Syntax]:
    if isinstance(syntax, Group):
        return [element for argument in syntax.arguments for element in argument.elements]
    return [syntax]


def grader_of(step: object) -> str | None:
    """Return the scorer whose verdict is a step's score, for a reply or for elements; None for a computed score, which
    people do not grade.
    """
    if isinstance(step, Grade | Compare):
        return step.scorer
    return step.judge if isinstance(step, Score) and step.when is None else None


def graders_of(program: Program, operand: Operand) -> list[Scorer]:
    """Return the scorers whose verdicts an operand consists of, and which people can grade in place of."""
    names = dict.fromkeys(name for step in operand.steps if (name := grader_of(step)) is not None)
    return [program.scorers[name] for name in names if name in program.scorers]


# Aggregates

Read = Callable[[FigureContext, Syntax], TypedFigure | None]
"""Reads a figure, possibly one whose cells an aggregate is taken of."""


def read_aggregate(reading: FigureContext, call: CallExpr, read: Read) -> TypedFigure | None:
    """Check a call of an aggregate, in each cell of the statement; None if it is wrong."""
    assert isinstance(call.function, Name)
    program, name, by = reading.program, call.function, reading.by
    function = find_aggregate(program, name.text)
    declared = program.declared.get("aggregate", {}).get(name.text)
    if declared is not None:
        program.index.use(name.span, declared.span)
    if function is None:
        if declared is None:
            _report_no_aggregate(reading, name)
        return None
    arguments = given_arguments(reading, call, function)
    operands = _operands(reading, function, arguments, read) if arguments is not None else None
    attempt = program.diagnostics.attempt()
    judge = find_across(reading, call, function, operands)
    if arguments is None or operands is None or attempt.failed:
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
    mixed = any(value.mixed for value in values) and not function.counts
    if mixed and "metric" not in by:
        what = "averages" if function.name == MEAN.name else f"takes the `{function.name}` of"
        help_ = "take it `by metric`, or give the metrics one scale"
        reading.error("E0702", f"this {what} metrics of different scales", call.span, help_)
        return None
    if values[0].type.kind == "choice" and not values[0].type.worth:
        for parameter in function.parameters:
            if parameter.of_names is not None:
                arguments.named.setdefault(parameter.name, parameter.of_names)
    named = call.span.excerpt
    scale, ends = _scale(reading, function, values[0].bounds, values[0].ends)
    keeps = _keeps_scale(function)
    leaf = _atom_of(function, arguments, values, judge, among)
    return TypedFigure(
        Aggregate(
            function=function.name,
            values=tuple(value.name for value in values),
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
        leaves=(AggregateTerm(f"`{named}`", tuple(values), function=function.name, judged=judge is not None),),
        mixed=mixed and keeps,
        ends=ends,
        form=_form_with_scale(leaf, Scale() if mixed and keeps else scale, ends, named),
        direction_form=atom_form(replace(leaf, bounds=_range(scale, ends))),
    )


def _atom_of(
    function: AggregateFunction,
    arguments: Arguments,
    values: Sequence[Operand],
    judge: str | None,
    among: tuple[str, ...],
) -> Atom:
    """Return the canonical identity of an aggregate, independent of its notation."""
    taken = [f"{value.kind} {value.name} {sorted(s.name for s in value.scenarios)} {value.true_of}" for value in values]
    leaf = f"{function.name} {sorted(arguments.named.items())} of {taken} {among} across {judge}"
    return Atom(leaf, better=frozenset((function.better or "higher",)), explicit=function.better == "lower")


def _form_with_scale(atom: Atom, scale: Scale, ends: Ends, named: str) -> NormalForm:
    """Return the normal form of an aggregate with the scale by which it is compared with others."""
    return atom_form(replace(atom, base=scale.required, bounds=_range(scale, ends), named=named))


def _range(scale: Scale, ends: Ends) -> Interval:
    return scale.bounds or Interval.of_ends(*ends)


def _report_no_aggregate(reading: FigureContext, name: Name) -> None:
    some = ", ".join(f"`{aggregate}`" for aggregate in list(AGGREGATES)[:6])
    known = [*AGGREGATES, *reading.program.aggregates, "abs", "harmonic_mean"]
    help_ = suggest_notation("aggregate", name.text, known, f"there is {some}, …")
    reading.error("E0205", f"there is no aggregate `{name.text}`", name.span, help_, name.text)


def _scale(
    reading: FigureContext, function: AggregateFunction, declared: Interval | None, value_ends: Ends
) -> tuple[Scale, Ends]:
    """Return the scale and the range of an aggregate of values with range `value_ends` and scale `declared`.

    A figure whose range follows only from its computation, such as a standard deviation or the mean of an expression,
    has no scale of its own.
    """
    own = function.bounds(value_ends)
    ends = function.bounds(_with_zero(value_ends)) if reading.zero else own
    low, high = ends
    if low is None or high is None:
        return Scale(), ends
    match own:
        case (float() as least, float() as greatest) if own in (declared, function.bounds((None, None))):
            return replace(scale_of(Interval(least, greatest)), bounds=Interval(low, high)), ends
    return Scale(Interval(low, high)), ends


def _with_zero(ends: Ends) -> Ends:
    low, high = ends
    return None if low is None else min(low, 0.0), None if high is None else max(high, 0.0)


def _keeps_scale(function: AggregateFunction) -> bool:
    """Return true if the figure has the scale of its values, as a mean has."""
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
        span = next((syntax.span for syntax in reading.dimensions if dimension_text(syntax) == lost), call.span)
        goes = ", ".join(f"`{dim}`" for dim in figure.by)
        help_ = f"`{inner.named}` goes by {goes}; add `{lost}` to those"
        reading.error("E0201", f"`{lost}` is averaged away already", span, help_)
        return None
    if inner.mixed and "metric" not in by and _keeps_scale(function):
        help_ = "take it `by metric`, or give the metrics one scale"
        reading.error("E0702", "this averages metrics of different scales", call.span, help_)
        return None
    named = call.span.excerpt
    if isinstance(figure, Aggregate) or not _keeps_scale(function):
        scale, ends = _scale(reading, function, inner.scale.base, inner.scale.bounds or inner.ends)
    else:
        scale, ends = inner.scale, inner.scale.bounds or inner.ends
    mixed = inner.mixed and _keeps_scale(function)
    options = f"{function.name} {sorted(arguments.named.items())} of cells of {sorted(figure.by)}"
    form, course = (
        function_atom(options, [normal_form], function.rises) for normal_form in (inner.form, inner.direction_form)
    )
    return TypedFigure(
        Aggregate(function=function.name, values=(), named=arguments.named, by=by, of=figure),
        Scale() if mixed else scale,
        named,
        call.span,
        leaves=inner.leaves,
        mixed=mixed and "metric" in by,
        ends=(None, None) if mixed else ends,
        form=_form_with_scale(form, Scale() if mixed else scale, ends, named),
        direction_form=atom_form(replace(course, bounds=_range(scale, ends))),
    )


# --- operands ---


def _operands(
    reading: FigureContext, function: AggregateFunction, arguments: Arguments, read: Read
) -> list[tuple[Operand | TypedFigure, Syntax]] | None:
    """Return the operands: scores, columns, or a figure with cells; None if one is wrong."""
    operands: list[tuple[Operand | TypedFigure, Syntax]] = []
    for syntax, dims in arguments.columns:
        if dims is not None or (is_aggregate(reading.program, syntax) and syntax.span not in reading.program.columns):
            value: Operand | TypedFigure | None = _nested(reading, function, syntax, dims, read)
        else:
            operand = find_choice(reading, syntax)
            value = _cells_of(reading, function, operand, syntax) if isinstance(operand, LoweredMeasure) else operand
        if value is not None:
            operands.append((value, syntax))
    return operands if len(operands) == len(arguments.columns) else None


def _cells_of(
    reading: FigureContext, function: AggregateFunction, known: LoweredMeasure, syntax: Syntax
) -> TypedFigure | None:
    """Return a measure as a figure with cells."""
    course, known = known.direction_form, _original(reading, known)
    name, by = f"`{known.measure.name}`", known.measure.by
    if not function.takes_cells:
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
        form = with_missing(known.typed_figure.form, known.measure.missing)
        return replace(_in_cells(known.typed_figure, by), form=form, direction_form=course)
    return None


def _in_cells(figured: TypedFigure, by: tuple[str, ...]) -> TypedFigure:
    """Return a figure whose plan states its dimensions."""
    figure: Figure = figured.figure
    return replace(figured, figure=figure.model_copy(update={"by": by}))


def _original(reading: FigureContext, known: LoweredMeasure) -> LoweredMeasure:
    """Return the measure that another name stands for, as in `measure b = a`."""
    match known.typed_figure.figure:
        case Measured(measure=name, slice=fixed) if not fixed and reading.measures[name].measure.by == known.measure.by:
            return _original(reading, reading.measures[name])
    return known


def _nested(
    reading: FigureContext,
    function: AggregateFunction,
    syntax: Syntax,
    dims: tuple[Syntax, ...] | None,
    read: Read,
) -> TypedFigure | None:
    """Return the figure inside an aggregate, with its dimensions."""
    if not function.takes_cells:
        message = f"`{function.name}` is taken of what is scored, not of another figure"
        reading.error("E0301", message, syntax.span, f"it is `{function.shown}`")
        return None
    context = replace(reading, dimensions=dims or (), terms=[])
    inner = read(context, syntax)
    reading.missing, reading.uses_across = context.missing, context.uses_across
    if inner is None:
        return None
    if not inner.leaves:
        help_ = "write `mean(mean(x) by y)`, of a scorer, a score or a measure"
        reading.error("E0301", "this measures nothing", syntax.span, help_)
        return None
    by = find_cells(context, inner)
    if by is None:
        return None
    if not by:
        message = f"this is a single figure, so there is nothing to take the `{function.name}` of"
        help_ = f"say what the inner one goes by: `{function.name}({syntax.span.excerpt} by …)`"
        reading.error("E0301", message, syntax.span, help_)
        return None
    return _in_cells(inner, by)
