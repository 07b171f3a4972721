"""Calls in expressions: functions of the library and of the user, and scorers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripos_compiler.diagnostics import Label, nearest
from tripos_compiler.language.library import (
    FUNCTIONS,
    Function,
    Parameter,
    Wrong,
    fits,
    lack_of,
    notated_type,
    type_notation,
    without_optional,
)
from tripos_compiler.plan import (
    Call,
    Expr,
    Items,
    Literal_,
    Plugin,
    Scorer,
    TextType,
    Type,
)
from tripos_compiler.resolve import Binding, FormulaScorer, PossibleLack, Typed, joint_lacks
from tripos_compiler.resolve.plugins import find_plugin
from tripos_compiler.source import Argument, CallExpr, Group, Name, Span, SymbolExpr, Syntax, dataclass
from tripos_compiler.typing.checker import Checker
from tripos_compiler.typing.comprehensions import comprehension, is_comprehension
from tripos_compiler.typing.types import read_type

IN_SCORE = "use it in a `score`"
DEEPEST_FORMULA = 32
"""How deep formula scorers may use each other; circles are reported where they are declared."""


@dataclass(frozen=True)
class Given:
    """A checked argument: the parameter that it fills, and whether it was written by name."""

    parameter: Parameter
    typed: Typed
    by_name: bool


def call(elaborator: Checker, syntax: CallExpr) -> Typed | None:
    """Return the checked call; None where it is wrong, which is reported."""
    program = elaborator.program
    if not isinstance(syntax.function, Name):
        elaborator.error("E0303", "only a function can be called", syntax.function.span, "write `name(…)`")
        return None
    name = syntax.function.text
    if name in program.declared.get("scorer", {}):
        program.index.use(syntax.function.span, program.declared["scorer"][name].span)
        return _scorer(elaborator, syntax, name)
    function = FUNCTIONS.get(name)
    if function is not None and name not in program.declared.get("function", {}):
        return _library(elaborator, syntax, function)
    if name in program.declared.get("function", {}):
        program.index.use(syntax.function.span, program.declared["function"][name].span)
    plugin = find_plugin(program, name, syntax.function.span)
    if plugin is not None:
        return _plugged(elaborator, syntax, name, plugin)
    if name in program.declared.get("function", {}):
        return None  # its declaration was reported
    close = nearest(name, [*FUNCTIONS, *program.declared.get("function", {}), *program.declared["scorer"]])
    help_ = f"did you mean `{close}`?" if close else "docs/language/functions.md lists them"
    elaborator.error("E0205", f"there is no function `{name}`", syntax.function.span, help_, name)
    return None


def several_values(argument: Argument, help_: str) -> tuple[str, Span, str]:
    """Return what is wrong with an argument of several values, where, and how to mend it."""
    for each in argument.elements:
        if isinstance(each, SymbolExpr) and each.text == "=":
            return "`=` compares nothing", each.span, "write `==`"
    return "this argument is more than one value; is a comma missing?", argument.span, help_


def arguments(elaborator: Checker, syntax: CallExpr, parameters: Sequence[Parameter], shape: str) -> list[Given] | None:
    """Return the checked arguments in the order in which they are written."""
    help_ = f"it is `{shape}`"
    free = list(parameters)
    given: list[Given] = []
    good = True
    for argument in syntax.arguments:
        _note_name(elaborator, syntax, argument)
        named = any(each.by_name for each in given)
        parameter = None if named and argument.name is None else _filled(free, argument)
        if parameter is None:
            elaborator.error("E0303", "this argument is one too many or misnamed", argument.span, help_)
            good = False
            continue
        if len(argument.elements) != 1 and not is_comprehension((argument,), named=True):
            elaborator.error("E0303", *several_values(argument, help_))
            good = False
            continue
        typed = _argument(elaborator, argument, parameter, given)
        if typed is None:
            good = False
        else:
            given.append(Given(parameter, typed, argument.name is not None))
    many = {each.parameter.name for each in given if each.parameter.many}
    missing = [p.name for p in free if p.required and p.implied is None and p.name not in many]
    if missing and good:
        elaborator.error("E0303", f"`{missing[0]}` is not given", syntax.span, help_)
        good = False
    return given if good else None


def _note_name(elaborator: Checker, syntax: CallExpr, argument: Argument) -> None:
    """Note that the name before a colon means a parameter of a scorer."""
    if argument.name is not None and isinstance(syntax.function, Name):
        spans, owner = elaborator.program.value_spans, f"scorer {syntax.function.text}"
        elaborator.program.index.use(argument.name.span, spans.get((owner, argument.name.text)))


def _filled(free: list[Parameter], argument: Argument) -> Parameter | None:
    """Return the parameter that an argument fills; it is no longer free, unless it takes many."""
    if argument.name is None:
        parameter = free[0] if free else None
    else:
        parameter = next((p for p in free if p.name == argument.name.text and not p.many), None)
    if parameter is not None and not parameter.many:
        free.remove(parameter)
    return parameter


def _argument(elaborator: Checker, argument: Argument, parameter: Parameter, given: Sequence[Given]) -> Typed | None:
    element = argument.elements[0]
    wanted = parameter.type
    if parameter.is_type:
        return _type(elaborator, element)
    if is_comprehension((argument,), named=True):
        typed = comprehension(elaborator, argument)
        return typed if wanted is None else elaborator.typed_as(typed, element, wanted, f"`{parameter.name}`")
    if wanted is None and given and isinstance(element, Name) and elaborator.is_value(element):
        beside = given[0].typed.type  # `default(choice, A)`: a value of the choice that stands before
        of = beside.of if beside.kind in ("optional", "list", "set") else beside
        if of.kind == "choice":
            return elaborator.against(element, of)
    if isinstance(element, Group) and not element.arguments and given and parameter.is_like_others:
        beside = without_optional(given[-1].typed.type)  # `default(found, [])`: as many of the same as none
        if beside.kind in ("list", "dialogue"):
            return Typed(Items(values=()), beside)
    if wanted is not None and wanted.kind == "choice":
        typed = elaborator.against(element, wanted)
        if typed is None or fits(typed.type, wanted):
            return typed
        message = f"`{parameter.name}` must be `{type_notation(wanted)}`, this is `{type_notation(typed.type)}`"
        elaborator.error("E0301", message, element.span)
        return None
    return elaborator.expression(element, wanted, f"`{parameter.name}`")


def _type(elaborator: Checker, element: Syntax) -> Typed | None:
    """Return a type that is written as an argument: its notation, and the type itself."""
    type_ = read_type(elaborator.program, element)
    if type_ is None:
        return None
    notation = type_notation(type_)
    if notated_type(notation) != type_:
        help_ = "write text, integer, number, bool, 1..5, json, or list<…> of one of them or of a record of them"
        elaborator.error("E0302", f"a part of JSON cannot be read as `{notation}`", element.span, help_)
        return None
    return Typed(Literal_(value=notation), type_)


def _library(elaborator: Checker, syntax: CallExpr, function: Function) -> Typed | None:
    given = arguments(elaborator, syntax, function.parameters, function.shown)
    if given is None:
        return None
    types: dict[str, Type | Sequence[Type]] = {}
    for each in given:
        name = each.parameter.name
        several = [other.typed.type for other in given if other.parameter.name == name]
        types[name] = several if each.parameter.many else each.typed.type
    returns = function.result(types)
    help_ = f"it is `{function.shown}`"
    if isinstance(returns, str):
        code = "E0306" if "may be missing" in returns else "E0301"
        elaborator.error(code, returns, syntax.span, help_)
        return None
    for each in given:
        out = each.parameter.written_out
        if out is not None and fits(each.typed.type, TextType()) and not isinstance(each.typed.expr, Literal_):
            name = each.parameter.name
            elaborator.error("E0303", f"`{name}` must be written out, in quotation marks", syntax.span, out.instead)
            return None
    literals = {each.parameter.name: each.typed.expr.value for each in given if isinstance(each.typed.expr, Literal_)}
    wrong = function.check(literals)
    if wrong is not None:
        told = Wrong("E0303", wrong, help_) if isinstance(wrong, str) else wrong
        elaborator.error(told.code, told.message, syntax.span, told.help)
        return None
    implied = {name: _literal(value) for name, value in function.implied(types).items()}
    for parameter in function.parameters:
        of_locale = parameter.implied is not None and parameter.implied.by == "locale" and parameter.name not in types
        locale = elaborator.locale() if of_locale else None
        if locale is not None:
            implied[parameter.name] = locale.expr
    expr = _as_call(function.name, given, implied)
    may = _lacking(function, given)
    own = lack_of(expr, {each.parameter.name: each.typed.type for each in given})
    if own is not None:
        may = (*may, PossibleLack(own, syntax.span))
    return Typed(expr, returns, may)


def _lacking(function: Function, given: Sequence[Given]) -> tuple[PossibleLack, ...]:
    """Return what may be lacking in the arguments of a call; those of a lazy one are not all looked at."""
    by_name = {each.parameter.name: each.typed for each in given}
    match function.name:
        case "choose":
            condition = by_name["condition"]
            chosen = by_name["this"].under(condition.expr), by_name["other"].under(condition.expr, held=False)
            return (*condition.may, *chosen[0], *chosen[1])
        case "default":
            return by_name["fallback"].may
        case "readable":
            return ()
    return joint_lacks(each.typed for each in given)


def _literal(value: str | tuple[str, ...]) -> Expr:
    if isinstance(value, str):
        return Literal_(value=value)
    return Items(values=tuple(Literal_(value=each) for each in value))


def _as_call(name: str, given: Sequence[Given], implied: Mapping[str, Expr]) -> Call:
    first_named = next((index for index, each in enumerate(given) if each.by_name), len(given))
    positional = tuple(each.typed.expr for each in given[:first_named])
    named = {each.parameter.name: each.typed.expr for each in given[first_named:]}
    return Call(function=name, args=positional, named={**named, **implied})


def _plugged(elaborator: Checker, syntax: CallExpr, name: str, plugin: Plugin) -> Typed | None:
    """Return a call of a function of the user's."""
    parameters = [Parameter(key, of, key not in plugin.optional) for key, of in plugin.parameters.items()]
    listed = ", ".join(f"{each.name}: {type_notation(each.type)}" for each in parameters)
    shape = f"{name}({listed}) -> {type_notation(plugin.returns)}"
    given = arguments(elaborator, syntax, parameters, shape)
    if given is None:
        return None
    return Typed(_as_call(name, given, {}), plugin.returns, joint_lacks(each.typed for each in given))


def _scorer(elaborator: Checker, syntax: CallExpr, name: str) -> Typed | None:
    program = elaborator.program
    if name in program.formulas:
        return _formula(elaborator, syntax, program.formulas[name])
    if name in program.plugins:
        plugin = program.plugins[name]
        if plugin.external is not None and (elaborator.judge is None or not elaborator.judge.programs):
            elaborator.error("E0303", f"`{name}` is a program, which is not started here", syntax.span, IN_SCORE)
            return None
        return _plugged(elaborator, syntax, name, plugin)
    scorer = program.scorers.get(name)
    if scorer is None:
        if name in program.late:
            elaborator.error("E0303", f"`{name}` {program.late[name]}, which is not done here", syntax.span, IN_SCORE)
        return None  # else it was reported
    given = scorer_arguments(elaborator, syntax, scorer)
    if given is None:
        return None
    if elaborator.judge is None:
        elaborator.error("E0303", f"`{name}` is a judge, which is not asked here", syntax.span, IN_SCORE)
        return None
    return elaborator.judge(syntax, scorer, given)


def scorer_arguments(elaborator: Checker, syntax: CallExpr, scorer: Scorer) -> dict[str, Typed] | None:
    """Return the checked arguments of a judge, by parameter."""
    shape = f"{scorer.name}({', '.join(f'{key}: {type_notation(of)}' for key, of in scorer.params.items())})"
    parameters = [Parameter(key, of, True) for key, of in scorer.params.items()]
    given = arguments(elaborator, syntax, parameters, shape)
    return None if given is None else {each.parameter.name: each.typed for each in given}


def _formula(elaborator: Checker, syntax: CallExpr, formula: FormulaScorer) -> Typed | None:
    """Return the formula with the arguments in place of its parameters."""
    shape = f"{formula.name.text}({', '.join(f'{key}: {type_notation(of)}' for key, of in formula.params.items())})"
    parameters = [Parameter(key, of, True) for key, of in formula.params.items()]
    given = arguments(elaborator, syntax, parameters, shape)
    if given is None or elaborator.depth > DEEPEST_FORMULA:
        return None
    done = elaborator.formulas
    key = done.key(formula.name.text, elaborator.judge, (each.typed.expr for each in given))
    if key in done.found:
        return done.found[key][1]
    takes = Label(syntax.span, f"`{formula.name.text}` takes it")
    scope = {
        each.parameter.name: Binding(
            (each.parameter.name,),
            formula.params[each.parameter.name],
            value=each.typed.expr,
            may=each.typed.may,
        )
        for each in given
    }
    inner = elaborator.within(scope)
    items = elaborator.program.diagnostics.items
    mark = len(items)
    typed = inner.infer(formula.value)
    said = items[mark:]
    del items[mark:]  # its body was checked where it is declared
    if typed is not None and not formula.scores:
        elaborator.program.index.mean(typed.expr, takes)
    if elaborator.judge is None and any(item.code == "E0303" for item in said):
        message = f"`{formula.name.text}` asks a judge, which is not done here"
        elaborator.error("E0303", message, syntax.span, IN_SCORE)
    elif typed is None and any(item.code == "E0303" for item in said):
        message = f"`{formula.name.text}` needs a program, which is not started here"
        elaborator.error("E0303", message, syntax.span, IN_SCORE)
    for item in said:
        if item.code == "E0804":  # the list is that of the call, and the declaration knows none
            elaborator.error(item.code, item.message, syntax.span, item.help)
    if typed is not None and not said:
        done.found[key] = (elaborator.judge, typed)
    return typed


def is_score(type_: Type) -> bool:
    """Return true if a value of that type can be a score.

    >>> from tripos_compiler.plan import BoolType, NumberType, TextType
    >>> is_score(BoolType()), is_score(NumberType()), is_score(TextType())
    (True, True, False)
    """
    return type_.kind in ("bool", "integer", "number")
