"""Arguments of an aggregate: matched with its parameters, and checked by type and by who gave the values."""

from __future__ import annotations

from dataclasses import dataclass, field

from tripos_compiler.diagnostics import nearest
from tripos_compiler.language.figures import (
    AggregateFunction,
    AggregateParameter,
    conversations_before,
    lists_of,
    most_tries,
)
from tripos_compiler.language.library import fits, type_notation, without_optional
from tripos_compiler.plan import ChoiceType, Missing, Type
from tripos_compiler.source import Argument, CallExpr, Member, Name, Number, Span, Syntax, Text, describe_syntax
from tripos_compiler.statements.measures.figure_syntax import is_by
from tripos_compiler.statements.measures.scored_values import Operand
from tripos_compiler.statements.measures.typed_figures import FigureContext, TypedFigure, written_as
from tripos_compiler.typing import several_values

MISSING: tuple[Missing, ...] = ("skip", "zero", "fail", "paired")


@dataclass
class Arguments:
    """The arguments of an aggregate, with what it goes by where that is said, and the settings: their values, and the
    places where they are written."""

    columns: list[tuple[Syntax, tuple[Syntax, ...] | None]] = field(default_factory=list)
    named: dict[str, str | int | float | bool] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    where: Syntax | None = None
    """The condition that says which values count at all."""


def given_arguments(reading: FigureContext, call: CallExpr, function: AggregateFunction) -> Arguments | None:
    """Return what fills the parameters; None where something is wrong, which is reported."""
    found = Arguments()
    columns: dict[str, tuple[Syntax, tuple[Syntax, ...] | None]] = {}
    free = list(function.parameters)
    good = True
    for argument in _joined(call.arguments):
        if argument.name is not None and argument.name.text == "missing":
            good = _missing(reading, argument, function) and good
            continue
        if argument.name is not None and argument.name.text == "where":
            found.where = argument.elements[0]
            if len(argument.elements) > 1:
                reading.error("E0303", *several_values(argument, "write one condition: `where: a and b`"))
                good = False
            continue
        if (parameter := _parameter(reading, argument, free, function)) is None:
            good = False
            continue
        free.remove(parameter)
        by = parameter.column and is_by(argument)
        if (word := _joined_word(argument)) in parameter.words:  # such as `13a`, a number and a name to the parser
            found.named[parameter.name] = word
            found.places[parameter.name] = argument.elements[0].span.to(argument.elements[-1].span)
        elif len(argument.elements) > 1 and not by:
            reading.error("E0303", *several_values(argument, f"it is `{function.shown}`"))
            good = False
        elif parameter.column:
            columns[parameter.name] = (argument.elements[0], argument.elements[2:] if by else None)
        else:
            found.places[parameter.name] = argument.elements[0].span
            good = _setting(reading, argument.elements[0], parameter, function, found) and good
    missing = [parameter for parameter in free if parameter.required]
    if missing and good:
        reading.error("E0303", f"`{missing[0].name}` is not given", call.span, f"it is `{function.shown}`")
        return None
    found.columns = [columns[parameter.name] for parameter in function.parameters if parameter.name in columns]
    return found if good else None


def _joined(arguments: tuple[Argument, ...]) -> list[Argument]:
    """Arguments, with further dimensions joined to the phrase before: `mean(f1) by q.subject, q.kind`."""
    found: list[Argument] = []
    for argument in arguments:
        more = argument.name is None and len(argument.elements) == 1 and isinstance(argument.elements[0], Name | Member)
        if more and found and is_by(found[-1]):
            last = found.pop()
            found.append(Argument(last.span.to(argument.span), last.name, last.elements + argument.elements))
        else:
            found.append(argument)
    return found


def _parameter(
    reading: FigureContext, argument: Argument, free: list[AggregateParameter], function: AggregateFunction
) -> AggregateParameter | None:
    """Return the parameter that an argument fills. Words are given by name."""
    help_ = f"it is `{function.shown}`"
    if argument.name is None:
        parameter = next((each for each in free if each.kind != "word"), None)
        if parameter is None:
            reading.error("E0303", "this argument is one too many or misnamed", argument.span, help_)
        return parameter
    name = argument.name.text
    parameter = next((each for each in free if each.name == name), None)
    if parameter is None:
        names = [each.name for each in function.parameters]
        if name in names:
            reading.error("E0303", f"`{name}` is given twice", argument.name.span, help_)
        else:
            close = nearest(name, [*names, "missing"])
            help_ = f"did you mean `{close}`? {help_}" if close else help_
            reading.error("E0303", f"`{function.name}` has no argument `{name}`", argument.name.span, help_)
    return parameter


def _setting(
    reading: FigureContext, value: Syntax, parameter: AggregateParameter, function: AggregateFunction, found: Arguments
) -> bool:
    if parameter.kind == "count":
        if isinstance(value, Number) and isinstance(value.value, int) and value.value > 0:
            found.named[parameter.name] = value.value
            return True
        message = f"`{parameter.name}` is a whole number above 0, and {describe_syntax(value)} is none"
        reading.error("E0301", message, value.span, f"it is `{function.shown}`")
        return False
    if parameter.kind == "rate":
        if isinstance(value, Number) and 0 <= value.value <= 1:
            found.named[parameter.name] = float(value.value)
            return True
        message = f"`{parameter.name}` is a number from 0 to 1, and {describe_syntax(value)} is none"
        reading.error("E0301", message, value.span, f"it is `{function.shown}`")
        return False
    word = _word(value)
    if word is not None and not parameter.words:
        found.named[parameter.name] = word == "true" if word in ("true", "false") else word
        return True
    close = nearest(str(word), parameter.words) if word is not None else None
    some = ", ".join(f"`{each}`" for each in parameter.words)
    help_ = f"did you mean `{close}`?" if close else f"it is one of {some}" if some else "name a value"
    reading.error("E0301", f"{describe_syntax(value)} is no value of `{parameter.name}`", value.span, help_)
    return False


def _joined_word(argument: Argument) -> str:
    """Return the elements of an argument as they are written, without the space between them."""
    return "".join(str(_word(each)) for each in argument.elements)


def _word(value: Syntax) -> str | int | float | None:
    match value:
        case Name(text=text):
            return text
        case Text(value=written) | Number(value=written):
            return written
    return None


def _missing(reading: FigureContext, argument: Argument, function: AggregateFunction) -> bool:
    """Return what is done where a score is missing: one word for the whole measure."""
    value = argument.elements[0]
    word = _word(value) if len(argument.elements) == 1 else None
    chosen = next((each for each in MISSING if each == word and each in function.missing), None)
    if chosen is None:
        close = nearest(str(word), function.missing)
        some = ", ".join(f"`{each}`" for each in function.missing)
        help_ = f"did you mean `{close}`?" if close else f"it is one of {some}"
        message = f"{describe_syntax(value)} is no value of `missing`"
        if word in MISSING:
            message = f"nothing stands for a missing value of `{function.name}`"
        reading.error("E0301", message, value.span, help_)
        return False
    if chosen == "paired" and not reading.program.arms:
        help_ = "declare one, or say `skip`"
        reading.error("E0301", "`missing: paired` pairs items between arms, and there is no arm", value.span, help_)
        return False
    if reading.missing not in (None, chosen):
        message = f"one part of this figure takes missing scores as `{reading.missing}`, another as `{chosen}`"
        help_ = "make them measures of their own, each with its own `missing`"
        reading.error("E0303", message, value.span, help_)
        return False
    reading.missing = chosen
    return True


APART = frozenset({"text", "integer", "number", "bool", "choice", "path"})
"""The kinds of values that can be told apart."""


def is_fitting(
    reading: FigureContext,
    call: CallExpr,
    function: AggregateFunction,
    arguments: Arguments,
    scored: list[tuple[Operand, Syntax]],
) -> bool:
    """Return true if an aggregate can be taken of its values; reports the first that it cannot."""
    for place, (value, syntax) in enumerate(scored):
        wrong = _unlike(function, value, place) or _misfit(function, value, place)
        wrong = wrong or _no_forecast(function, value, place)
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
            reading.error("E0301", message, scored[1][1].span, f"it is `{function.shown}`")
            return False
    if arguments.named.get("weight") == "margin" and not _says_how_much(reading, first):
        message = f"the judge of {first.shown} does not say by how much a reply is better"
        help_ = 'give each name a value: `gives choice("A>>B": 3, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -3)`'
        reading.error("E0301", message, arguments.places["weight"], help_)
        return False
    tried = arguments.named.get("k")
    tries = most_tries(first) if isinstance(tried, int) else 0
    if isinstance(tried, int) and tried > tries and first.whole:
        replies = "one reply" if tries == 1 else f"{tries} replies"
        several = max(conversations_before(first).values(), default=1)
        after = f" after each of {several} conversations" if several > 1 else " to a row"
        message = f"{first.shown} has {replies}{after}, fewer than {tried}"
        reading.error("E0622", message, arguments.places["k"], f"ask for `samples {tried * several}`, or try fewer")
        return False
    if not _tells_apart(reading, call, arguments):
        return False
    return _settings_fit(reading, arguments, without_optional(first.type))


def _tells_apart(reading: FigureContext, call: CallExpr, arguments: Arguments) -> bool:
    """Return true unless a judge is said to be right no more often than chance."""
    rates = [arguments.named[name] for name in ("sensitivity", "specificity") if name in arguments.named]
    if len(rates) < 2 or sum(float(rate) for rate in rates) > 1 + 1e-12:
        return True
    message = "a judge with these rates tells true from false no better than chance"
    reading.error("E0627", message, call.span, "sensitivity and specificity come to more than 1 together")
    return False


def _misfit(function: AggregateFunction, scored: Operand, place: int) -> tuple[str, str] | None:
    """Return what is wrong with a value, and how to mend it."""
    type_ = without_optional(scored.type)
    name, what = scored.shown, f"`{function.name}`"
    if function.takes == "compare" and scored.kind != "compare":
        return f"{what} is taken of a comparison, and {name} is none", "write `compare NAME using SCORER(…)`"
    if scored.kind == "compare":
        if function.takes == "compare" or function.name == "count":
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
    of = type_.of if type_.kind == "set" else type_
    if function.takes == "values" and of.kind not in APART and function.name != "count":
        return (
            f"{what} tells values apart, and {name} is `{type_notation(type_)}`",
            "take it of a choice, a text or a set",
        )
    return None


OF_ELEMENTS = (
    *("mean", "median", "stdev", "count", "share", "sum", "min", "max", "weighted_mean"),
    *("corrected_prevalence", "accuracy", "precision", "recall", "f1", "mcc", "brier", "log_loss", "ece", "auroc"),
    *("cohen_kappa", "quadratic_kappa", "gwet_ac1", "gwet_ac2", "krippendorff_alpha"),
)
"""Aggregates that take several values of a reply, of the elements of a list, as they take one."""


def _of_elements(
    reading: FigureContext, function: AggregateFunction, scored: Operand, place: int, first: Operand
) -> tuple[str, str] | None:
    """Return what is wrong with an aggregate of scores of elements, and how to mend it."""
    if not scored.scores_elements:
        return None
    if place > 0 and not first.scores_elements:
        told = f"{scored.shown} is one of each element of a list, and {first.shown} has one value of a reply"
        return told, "score each element: `score NAME = … each … in …`"
    if place > 0 and lists_of(scored) != lists_of(first):
        told = f"{scored.shown} and {first.shown} are of elements of two lists, which are no pairs"
        return told, "take both of the elements of one list"
    if function.name not in OF_ELEMENTS:
        told = f"{scored.shown} scores each element of a list, and `{function.name}` takes one value of a reply"
        return told, f"score the reply: `score NAME = sum([… each … in …])`, or take the `mean` of {scored.shown}"
    if reading.missing == "paired":
        return f"`missing: paired` pairs replies, and {scored.shown} scores each element of a list", (
            "say `skip` or `zero`"
        )
    return None


def _unlike(function: AggregateFunction, scored: Operand, place: int) -> tuple[str, str] | None:
    """Return what is wrong with a value that a function of the user's is called with, and how to mend it."""
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


def _no_forecast(function: AggregateFunction, scored: Operand, place: int) -> tuple[str, str] | None:
    """Return what is wrong with a probability, with what comes true or with a weight, and how to mend it."""
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
    """Return true if `average` and `positive` go with the type of the values."""
    average, positive = arguments.named.get("average"), arguments.named.get("positive")
    if average == "samples" and type_.kind != "set":
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
    of = type_.of if type_.kind == "set" else type_
    if positive is None or of.kind != "choice" or positive in of.values:
        return True
    close = nearest(str(positive), of.values)
    some = ", ".join(f"`{value}`" for value in of.values[:8])
    help_ = f"did you mean `{close}`?" if close else f"its values are {some}"
    reading.error("E0201", f"there is no value `{positive}`", arguments.places["positive"], help_, str(positive))
    return False


def find_across(
    reading: FigureContext,
    call: CallExpr,
    function: AggregateFunction,
    operands: list[tuple[Operand | TypedFigure, Syntax]] | None,
) -> Name | bool | None:
    """Return the role across whose models the aggregate is taken; None where it is not, False where that is wrong."""
    role, two = reading.across, operands is not None and len(operands) > 1
    if function.across == "forbidden" or (two and role is None):
        return None
    if role is None:
        if operands is not None:
            second = f"; or name what to compare it with: `{function.shown}`" if function.across == "optional" else ""
            help_ = f"say whose: `measure … = {written_as(call)} across ROLE`{second}"
            reading.error("E0623", f"`{function.name}` compares the models of a role", call.span, help_)
        return False
    reading.across_taken = True
    if operands is None or role.text not in reading.program.roles:
        return False
    if two:
        message = f"this compares two columns, and so nothing across `{role.text}`"
        reading.error("E0623", message, role.span, "leave out one or the other")
        return False
    value, syntax = operands[0]
    if not isinstance(value, Operand):
        return None
    if not value.whole:
        return False  # who else judges it is not known
    if not value.judges:
        help_ = "name what a judge gives"
        reading.error("E0623", f"nobody judges {value.shown}: it is computed", syntax.span, help_)
        return False
    if role.text not in value.judges:
        judge = value.judges[0]
        message = f"{value.shown} is given by `{judge}`, not by `{role.text}`"
        reading.error("E0623", message, role.span, f"write `across {judge}`")
        return False
    if reading.program.roles[role.text].kind != "panel":
        message = f"`{role.text}` is a single role, and nobody agrees with themselves"
        reading.error("E0623", message, role.span, f"let several grade: `role {role.text} panel`")
        return False
    return role
