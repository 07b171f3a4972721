"""The arguments of an aggregate, matched with its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field

from tripos_compiler.diagnostics import nearest
from tripos_compiler.lower.figured import Reading
from tripos_compiler.lower.phrases import is_by
from tripos_compiler.plan import Missing
from tripos_compiler.semantics.aggregates import AggregateFunction, AggregateParameter
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Argument, CallExpr, Member, Name, Number, Syntax, Text, described

MISSING: tuple[Missing, ...] = ("skip", "zero", "fail", "paired")


@dataclass
class Arguments:
    """What stands where an aggregate takes columns, with what it goes by where that is said, and the settings: their
    values, and the places where they are written."""

    columns: list[tuple[Syntax, tuple[Syntax, ...] | None]] = field(default_factory=list)
    named: dict[str, str | int | float | bool] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)


def given_arguments(reading: Reading, call: CallExpr, function: AggregateFunction) -> Arguments | None:
    """What fills the parameters; None where something is wrong, which is reported."""
    found = Arguments()
    columns: dict[str, tuple[Syntax, tuple[Syntax, ...] | None]] = {}
    free = list(function.parameters)
    good = True
    for argument in _joined(call.arguments):
        if argument.name is not None and argument.name.text == "missing":
            good = _missing(reading, argument, function) and good
            continue
        parameter = _parameter(reading, argument, free, function)
        if parameter is None:
            good = False
            continue
        free.remove(parameter)
        by = parameter.column and is_by(argument)
        if len(argument.elements) > 1 and not by:
            message = "this argument is more than one value; is a comma missing?"
            reading.error("E0303", message, argument.span, f"it is `{function.shown}`")
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
    reading: Reading, argument: Argument, free: list[AggregateParameter], function: AggregateFunction
) -> AggregateParameter | None:
    """The parameter that an argument fills. Words are given by name."""
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
    reading: Reading, value: Syntax, parameter: AggregateParameter, function: AggregateFunction, found: Arguments
) -> bool:
    if parameter.kind == "count":
        if isinstance(value, Number) and isinstance(value.value, int) and value.value > 0:
            found.named[parameter.name] = value.value
            return True
        message = f"`{parameter.name}` is a whole number above 0, and {described(value)} is none"
        reading.error("E0301", message, value.span, f"it is `{function.shown}`")
        return False
    word = _word(value)
    if isinstance(word, str) and (word in parameter.words or not parameter.words):
        found.named[parameter.name] = word == "true" if word in ("true", "false") and not parameter.words else word
        return True
    if isinstance(word, int | float) and not parameter.words:
        found.named[parameter.name] = word
        return True
    close = nearest(str(word), parameter.words) if word is not None else None
    some = ", ".join(f"`{each}`" for each in parameter.words)
    help_ = f"did you mean `{close}`?" if close else f"it is one of {some}" if some else "name a value"
    reading.error("E0301", f"{described(value)} is no value of `{parameter.name}`", value.span, help_)
    return False


def _word(value: Syntax) -> str | int | float | None:
    match value:
        case Name(text=text):
            return text
        case Text(value=written) | Number(value=written):
            return written
    return None


def _missing(reading: Reading, argument: Argument, function: AggregateFunction) -> bool:
    """What is done where a score is missing: one word for the whole measure."""
    value = argument.elements[0]
    word = _word(value) if len(argument.elements) == 1 else None
    chosen = next((each for each in MISSING if each == word and each in function.missing), None)
    if chosen is None:
        close = nearest(str(word), function.missing)
        some = ", ".join(f"`{each}`" for each in function.missing)
        help_ = f"did you mean `{close}`?" if close else f"it is one of {some}"
        message = f"{described(value)} is no value of `missing`"
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
