"""Type checking of calls (library functions, the user's functions, scorers) and of loops over lists.

A loop is written `[c.points each c in item.rubric where c.points > 0]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label
from tripos_compiler.diagnostics.habits import notation_for, suggest_notation
from tripos_compiler.diagnostics.text_format import shorten
from tripos_compiler.language.references import names_in
from tripos_compiler.library.definedness import undefinedness_of
from tripos_compiler.library.function import Evaluation, Function
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import ArgumentError, Parameter
from tripos_compiler.library.types import TURN, fits, parse_type_notation, type_notation, without_optional
from tripos_compiler.plan import (
    Call,
    Each,
    Expr,
    ExpressionGraph,
    Items,
    ListType,
    Literal_,
    Loop,
    Plugin,
    Scorer,
    TextType,
    Type,
)
from tripos_compiler.resolve.program import (
    ERROR,
    Binding,
    FormulaScorer,
    PossiblyUndefined,
    Program,
    Scope,
    Typed,
    record_fields,
    undefined_in,
)
from tripos_compiler.resolve.python_functions import find_plugin
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    Member,
    Name,
    Number,
    SymbolExpr,
    Syntax,
)
from tripos_compiler.typecheck.types import read_type

# Loops

SHAPE = "it is `VALUE each NAME in LIST [where COND] [at most COUNT]`"


def is_comprehension(arguments: Sequence[Argument], named: bool = False) -> bool:
    """Return true if the arguments in brackets are one value for each element of a list."""
    if len(arguments) != 1 or (arguments[0].name is not None and not named):
        return False
    elements = arguments[0].elements
    return len(elements) > 1 and isinstance(elements[1], Name) and elements[1].text == "each"


@dataclass(frozen=True)
class LoopSyntax:
    """The parts of a loop in the source."""

    name: Name
    of: Syntax
    where: Syntax | None = None
    most: Number | None = None


@dataclass(frozen=True)
class CheckedLoop:
    """A checked loop. `inside` checks expressions about the element; `may` are the reasons why the list can be
    undefined.
    """

    loop: Loop
    inside: Checker
    may: tuple[PossiblyUndefined, ...]
    element: Type
    listed: Type
    """The type of the list."""


def check_comprehension(elaborator: Checker, argument: Argument) -> Typed:
    """Check a list comprehension."""
    syntax = read_loop(elaborator, argument.elements[1:], argument)
    values = element_values(elaborator, argument.elements[0], syntax) if syntax is not None else None
    return ERROR if values is None else values.all


@dataclass(frozen=True)
class ElementValues:
    """The value for one element of a list, `one`, and the list of all such values, `all`. `element` is the element's
    type.
    """

    one: Typed
    all: Typed
    element: Type


def scored_loop(elaborator: Checker, statement: Statement) -> LoopSyntax | None:
    """Return the loop of a statement with `each NAME in LIST …`. Reports a mistake and returns None."""
    over, most = statement.syntax("elements"), statement.find("count")
    bad = over if not isinstance(over, BinaryExpr) or over.operator != "in" else None
    bad = bad or (most if most is not None and not _is_count(most) else None)
    if bad is not None or not isinstance(over, BinaryExpr) or not isinstance(over.left, Name):
        elaborator.error("E0106", "this does not say what each element is", (bad or over).span, SHAPE)
        return None
    return LoopSyntax(over.left, over.right, statement.find("condition"), most if isinstance(most, Number) else None)


def element_values(elaborator: Checker, syntax: Syntax, written: LoopSyntax) -> ElementValues | None:
    """Check a value for each element of a list. Reports a mistake and returns None."""
    loop = check_loop(elaborator, written)
    if loop is None:
        return None
    elaborator.program.index.scopes.append((syntax.span, loop.inside.scope))
    value = loop.inside.infer(syntax)
    if value.is_error:
        return None
    where = loop.loop.where
    may = value.may if where is None else value.under(where)
    of = tuple(
        replace(undefined, lack=replace(undefined.lack, of=(*undefined.lack.of, loop.loop.of))) for undefined in may
    )
    typed = Typed(Each(loop=loop.loop, value=value.expr), ListType(of=value.type), (*loop.may, *of))
    return ElementValues(value, typed, loop.element)


def read_loop(elaborator: Checker, elements: Sequence[Syntax], whole: Argument | Syntax) -> LoopSyntax | None:
    """Return the parts of `each NAME in LIST [where COND] [at most COUNT]`. Reports other forms and returns None."""
    nodes = list(elements[1:])
    over = nodes.pop(0) if nodes else None
    syntax: LoopSyntax | None = None
    if isinstance(over, BinaryExpr) and over.operator == "in" and isinstance(over.left, Name):
        syntax = LoopSyntax(over.left, over.right)
        if _word(nodes, "where") and len(nodes) > 1:
            syntax, nodes = replace(syntax, where=nodes[1]), nodes[2:]
        if _word(nodes, "at") and _word(nodes[1:], "most") and len(nodes) > 2 and _is_count(nodes[2]):
            assert isinstance(nodes[2], Number)
            syntax, nodes = replace(syntax, most=nodes[2]), nodes[3:]
    if syntax is None or nodes:
        place = nodes[0] if nodes else elements[0]
        elaborator.error("E0106", "this does not say what each element is", place.span, SHAPE)
        return None
    return syntax


def _word(elements: Sequence[Syntax], text: str) -> bool:
    return bool(elements) and isinstance(elements[0], Name) and elements[0].text == text


def _is_count(syntax: Syntax) -> bool:
    return isinstance(syntax, Number) and isinstance(syntax.value, int) and syntax.value > 0


def check_loop(elaborator: Checker, written: LoopSyntax) -> CheckedLoop | None:
    """Check a loop. Reports a mistake and returns None."""
    name, program = written.name, elaborator.program
    program.index.scopes.append((written.of.span, elaborator.scope))
    listed = elaborator.infer(written.of)
    if listed.is_error:
        return None
    element = element_type(listed.type)
    if element is None:
        if listed.type.kind == "optional" and element_type(listed.type.of) is not None:
            help_ = "give a default: `default(value, …)`"
            elaborator.error("E0306", "the list that `each` goes through may be missing", written.of.span, help_)
        else:
            message = f"`each` goes through a list, and this is `{type_notation(listed.type)}`"
            elaborator.error("E0301", message, written.of.span)
        return None
    if name.text in elaborator.scope:
        elaborator.error("E0202", f"`{name.text}` is a name here already", name.span, "take another name")
        return None
    alias = _unused(elaborator, name.text)
    program.index.define("each", name.text, name.span, detail=type_notation(element))
    fields = record_fields((alias,), element, name.span)
    binding = Binding((alias,), element, fields, span=name.span, precedes_declaration=True)
    scope = {**elaborator.scope, name.text: binding}
    known = elaborator.binding(written.of)
    most = int(written.most.value) if written.most is not None else None if known is None else known.most
    loop = Loop(alias=alias, of=listed.expr, most=most)
    may = listed.may
    if written.where is not None:
        program.index.scopes.append((written.where.span, scope))
        judge = elaborator.judge
        where = elaborator.inside(scope, None if judge is None else judge.for_elements(loop)).condition(written.where)
        if where.is_error:
            return None
        loop = loop.model_copy(update={"where": where.expr})
        may = (*may, *where.may)
    judge = elaborator.judge
    inside = elaborator.inside(scope, None if judge is None else judge.for_elements(loop))
    return CheckedLoop(loop, inside, may, element, listed.type)


def element_type(type_: Type) -> Type | None:
    """Return the type of the elements of a list; None for other types."""
    match type_.kind:
        case "list" | "set":
            return type_.of
        case "dialogue":
            return TURN
    return None


def _unused(elaborator: Checker, name: str) -> str:
    """Return a name for the element in the plan.

    No value in scope mentions it, so a value that is substituted for a name cannot capture the element.
    """
    taken = {bound.path[0] for bound in elaborator.scope.values() if bound.path}
    for binding in elaborator.scope.values():
        taken |= names_in(binding.value) if binding.value is not None else set()
    while name in taken:
        name += "'"
    return name


# Protocols of the checkers


class Judge(Protocol):
    """Checks a judge call where judges are allowed."""

    programs: bool
    """Whether scorers that are programs can be called too."""

    def __call__(self, call: CallExpr, scorer: Scorer, arguments: dict[str, Typed]) -> Typed: ...
    def for_elements(self, loop: Loop) -> Judge:
        """Return the checker of judge calls that are made for each element of a list."""
        ...


@dataclass
class FormulaValues:
    """Memo of formulas checked with their arguments: a `let` that calls another one twice checks it once."""

    arguments: ExpressionGraph = field(default_factory=ExpressionGraph)
    checked: dict[tuple[str, int, tuple[int, ...]], tuple[Judge | None, Typed]] = field(default_factory=dict)

    def key(self, name: str, judge: Judge | None, arguments: Iterable[Expr]) -> tuple[str, int, tuple[int, ...]]:
        """Return the memo key of a formula with its arguments."""
        return name, id(judge), tuple(self.arguments.add(expr) for expr in arguments)


class Checker(Protocol):
    """The part of an expression checker that calls and operators need (`expressions.Elaborator`)."""

    program: Program
    scope: Scope
    judge: Judge | None
    depth: int
    formulas: FormulaValues

    def binding(self, syntax: Syntax) -> Binding | None: ...
    def infer(self, syntax: Syntax) -> Typed: ...
    def expression(self, syntax: Syntax, wanted: Type | None = None, what: str = "this") -> Typed: ...
    def against(self, syntax: Syntax, choice: Type) -> Typed: ...
    def is_value(self, syntax: Syntax) -> bool: ...
    def locale(self) -> Typed | None: ...
    def typed_as(self, typed: Typed, syntax: Syntax, wanted: Type, what: str) -> Typed: ...
    def misfit(self, span: Span, given: Type, wanted: Type, what: str) -> Typed: ...
    def group(self, syntax: Syntax, arguments: tuple[Argument, ...], choice: Type | None = None) -> Typed: ...
    def within(self, scope: Scope) -> Checker: ...
    def inside(self, scope: Scope, judge: Judge | None) -> Checker: ...
    def condition(self, syntax: Syntax) -> Typed: ...
    def follows(self) -> Typed: ...
    def error(
        self, code: str, message: str, span: Span, help: str | None = None, unknown: str | None = None
    ) -> Typed: ...


# Calls

IN_SCORE = "use it in a `score`"
DEEPEST_FORMULA = 32
"""The deepest nesting of formula scorers. Circles are reported at their declaration."""


@dataclass(frozen=True)
class CheckedArgument:
    """A checked argument: its parameter, and whether it was passed by name."""

    parameter: Parameter
    typed: Typed
    by_name: bool


def check_call(elaborator: Checker, syntax: CallExpr) -> Typed:
    """Check a call."""
    program = elaborator.program
    if not isinstance(syntax.function, Name):
        return _method_call(elaborator, syntax, syntax.function)
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
        return elaborator.follows()
    known = [*FUNCTIONS, *program.declared.get("function", {}), *program.declared["scorer"]]
    help_ = suggest_notation("function", name, known, "`tripos docs functions --text` lists them")
    return elaborator.error("E0205", f"there is no function `{name}`", syntax.function.span, help_, name)


def _method_call(elaborator: Checker, syntax: CallExpr, function: Syntax) -> Typed:
    """Report a call of anything but a name, such as `text.lower()` or `re.search(…)`."""
    help_ = "write `name(…)`"
    if isinstance(function, Member):
        name = function.name.text
        if name in FUNCTIONS:
            spans = [function.of.span, *(argument.span for argument in syntax.arguments)]
            texts = (span.source.text[span.start : span.end] for span in spans)
            help_ = f"write `{name}({shorten(', '.join(texts), 60)})`"
        elif (notation := notation_for("function", name)) is not None:
            help_ = f"here it is written `{notation}`"
    return elaborator.error("E0303", "only a function can be called", function.span, help_)


def several_values(argument: Argument, help_: str) -> tuple[str, Span, str]:
    """Return what is wrong with an argument of several values, its place, and how to fix it."""
    for element in argument.elements:
        if isinstance(element, SymbolExpr) and element.text == "=":
            named = argument.elements[0]
            help_ = f"write `==`, or `{named.text}: …` to name an argument" if isinstance(named, Name) else "write `==`"
            return "`=` compares nothing", element.span, help_
    return "this argument is more than one value; is a comma missing?", argument.span, help_


def arguments(
    elaborator: Checker, syntax: CallExpr, parameters: Sequence[Parameter], shape: str
) -> list[CheckedArgument] | None:
    """Return the checked arguments in the order of the source; None if one is wrong or missing."""
    help_ = f"it is `{shape}`"
    free = list(parameters)
    checked_arguments: list[CheckedArgument] = []
    attempt = elaborator.program.diagnostics.attempt()
    for argument in syntax.arguments:
        _note_name(elaborator, syntax, argument)
        named = any(checked_argument.by_name for checked_argument in checked_arguments)
        parameter = None if named and argument.name is None else _filled(free, argument)
        if parameter is None:
            elaborator.error("E0303", "this argument is one too many or misnamed", argument.span, help_)
        elif len(argument.elements) != 1 and not is_comprehension((argument,), named=True):
            elaborator.error("E0303", *several_values(argument, help_))
        else:
            typed = _argument(elaborator, argument, parameter, checked_arguments)
            checked_arguments.append(CheckedArgument(parameter, typed, argument.name is not None))
    many = {
        checked_argument.parameter.name for checked_argument in checked_arguments if checked_argument.parameter.many
    }
    missing = [p.name for p in free if p.required and p.implied is None and p.name not in many]
    if missing and not attempt.failed:
        elaborator.error("E0303", f"`{missing[0]}` is not given", syntax.span, help_)
    return None if attempt.failed else checked_arguments


def _note_name(elaborator: Checker, syntax: CallExpr, argument: Argument) -> None:
    """Record that the name before a colon refers to a parameter of a scorer."""
    if argument.name is not None and isinstance(syntax.function, Name):
        spans, owner = elaborator.program.value_spans, f"scorer {syntax.function.text}"
        elaborator.program.index.use(argument.name.span, spans.get((owner, argument.name.text)))


def _filled(free: list[Parameter], argument: Argument) -> Parameter | None:
    """Return the parameter that an argument fills, and remove it from `free` unless it takes many arguments."""
    if argument.name is None:
        parameter = free[0] if free else None
    else:
        parameter = next((p for p in free if p.name == argument.name.text and not p.many), None)
    if parameter is not None and not parameter.many:
        free.remove(parameter)
    return parameter


def _argument(
    elaborator: Checker, argument: Argument, parameter: Parameter, checked: Sequence[CheckedArgument]
) -> Typed:
    element = argument.elements[0]
    type_ = parameter.type
    if parameter.is_type:
        return _type(elaborator, element)
    if is_comprehension((argument,), named=True):
        typed = check_comprehension(elaborator, argument)
        return typed if type_ is None else elaborator.typed_as(typed, element, type_, f"`{parameter.name}`")
    if type_ is None and checked and isinstance(element, Name) and elaborator.is_value(element):
        if checked[0].typed.is_error:
            return elaborator.follows()  # it is probably one of the values
        expected = checked[0].typed.type  # `default(choice, A)`: a value of the first argument's choice
        of = expected.of if expected.kind in ("optional", "list", "set") else expected
        if of.kind == "choice":
            return elaborator.against(element, of)
    if isinstance(element, Group) and not element.arguments and checked and parameter.accepts_any_type:
        if checked[-1].typed.is_error:
            return elaborator.follows()
        expected = without_optional(checked[-1].typed.type)  # `default(found, [])`: an empty list of the same type
        if expected.kind in ("list", "dialogue"):
            return Typed(Items(values=()), expected)
    if type_ is not None and type_.kind == "choice":
        typed = elaborator.against(element, type_)
        if typed.is_error or fits(typed.type, type_):
            return typed
        message = f"`{parameter.name}` must be `{type_notation(type_)}`, this is `{type_notation(typed.type)}`"
        return elaborator.error("E0301", message, element.span)
    return elaborator.expression(element, type_, f"`{parameter.name}`")


def _type(elaborator: Checker, element: Syntax) -> Typed:
    """Check a type that is passed as an argument. Its value is the notation of the type."""
    type_ = read_type(elaborator.program, element)
    if type_ is None:
        return ERROR
    notation = type_notation(type_)
    if parse_type_notation(notation) != type_:
        help_ = "write text, integer, number, bool, 1..5, json, or list<…> of one of them or of a record of them"
        return elaborator.error("E0302", f"a part of JSON cannot be read as `{notation}`", element.span, help_)
    return Typed(Literal_(value=notation), type_)


def _library(elaborator: Checker, syntax: CallExpr, function: Function) -> Typed:
    """Check a call of a library function."""
    if function.values_by_name:
        checked_arguments = _values_by_name(elaborator, syntax, function)
    else:
        checked_arguments = arguments(elaborator, syntax, function.parameters, function.shown)
    if checked_arguments is None:
        return ERROR
    types: dict[str, Type | Sequence[Type]] = {}
    for argument in checked_arguments:
        name = argument.parameter.name
        several = [other.typed.type for other in checked_arguments if other.parameter.name == name]
        types[name] = several if argument.parameter.many else argument.typed.type
    returns = function.result(types)
    help_ = f"it is `{function.shown}`"
    if isinstance(returns, str):
        code = "E0306" if "may be missing" in returns else "E0301"
        return elaborator.error(code, returns, syntax.span, help_)
    for argument in checked_arguments:
        out = argument.parameter.written_out
        if out is not None and fits(argument.typed.type, TextType()) and not isinstance(argument.typed.expr, Literal_):
            name = argument.parameter.name
            message = f"`{name}` must be written out, in quotation marks"
            return elaborator.error("E0303", message, syntax.span, out.instead)
    literals = {
        argument.parameter.name: literal_value(argument.typed.expr)
        for argument in checked_arguments
        if is_literal(argument.typed.expr)
    }
    wrong = function.check(literals)
    if wrong is not None:
        error = ArgumentError("E0303", wrong, help_) if isinstance(wrong, str) else wrong
        return elaborator.error(error.code, error.message, syntax.span, error.help)
    implied = {name: _literal(value) for name, value in function.implied(types).items()}
    for parameter in function.parameters:
        of_locale = parameter.implied is not None and parameter.implied.by == "locale" and parameter.name not in types
        locale = elaborator.locale() if of_locale else None
        if locale is not None:
            implied[parameter.name] = locale.expr
    expr = _as_call(function.name, checked_arguments, implied)
    may = _lacking(function, checked_arguments)
    undefinedness = undefinedness_of(
        expr, {checked_argument.parameter.name: checked_argument.typed.type for checked_argument in checked_arguments}
    )
    if undefinedness is not None:
        may = (*may, PossiblyUndefined(undefinedness, syntax.span))
    return Typed(expr, returns, may)


def _values_by_name(elaborator: Checker, syntax: CallExpr, function: Function) -> list[CheckedArgument] | None:
    """Return the checked arguments of a function whose last two parameters are names and their values; None if one is
    wrong or missing."""
    own, (names, values) = function.own_parameters, function.parameters[-2:]
    first, more = syntax.arguments[: len(own)], syntax.arguments[len(own) :]
    checked = arguments(elaborator, replace(syntax, arguments=first), own, function.shown)
    written = ["" if argument.name is None else argument.name.text for argument in more]
    wrong, span = None, syntax.span
    if not more:
        wrong = f"`{function.name}` has no value to put in"
    elif len(set(map(bool, written))) > 1:
        wrong, span = "values have names, or none of them has one", more[0].span.to(more[-1].span)
    elif written[0] and len(set(written)) < len(written):
        repeated = next(place for place, name in enumerate(written) if name in written[:place])
        wrong, span = f"`{written[repeated]}` has two values", more[repeated].span
    if wrong is not None:
        elaborator.error("E0303", wrong, span, f"it is `{function.shown}`")
        return None
    parameters = [Parameter(name or values.name, TextType(), True) for name in written]
    parsed = arguments(elaborator, replace(syntax, arguments=more), parameters, function.shown)
    if checked is None or parsed is None:
        return None
    listed = ListType(of=TextType())
    typed_names = Typed(Items(values=tuple(Literal_(value=name) for name in written)), listed)
    typed_values = Typed(
        Items(values=tuple(argument.typed.expr for argument in parsed)),
        listed,
        undefined_in(argument.typed for argument in parsed),
    )
    return [*checked, CheckedArgument(names, typed_names, False), CheckedArgument(values, typed_values, False)]


def is_literal(expr: Expr) -> bool:
    """Return true if an expression is a literal, or a list of literals."""
    return isinstance(expr, Literal_) or (isinstance(expr, Items) and all(map(is_literal, expr.values)))


def literal_value(expr: Expr) -> object:
    """Return the value of an expression for which `is_literal` holds."""
    if isinstance(expr, Items):
        return [literal_value(value) for value in expr.values]
    assert isinstance(expr, Literal_)
    return expr.value


def _lacking(function: Function, arguments: Sequence[CheckedArgument]) -> tuple[PossiblyUndefined, ...]:
    """Return the reasons why the arguments make a call undefined. A lazy function does not evaluate all of them."""
    by_name = {argument.parameter.name: argument.typed for argument in arguments}
    match function.evaluation:
        case Evaluation.CHOICE:
            condition = by_name["condition"]
            chosen = by_name["this"].under(condition.expr), by_name["other"].under(condition.expr, held=False)
            return (*condition.may, *chosen[0], *chosen[1])
        case Evaluation.FALLBACK:
            return by_name["fallback"].may
        case Evaluation.READING:
            return ()
    return undefined_in(argument.typed for argument in arguments)


def _literal(value: str | tuple[str, ...]) -> Expr:
    if isinstance(value, str):
        return Literal_(value=value)
    return Items(values=tuple(Literal_(value=item) for item in value))


def _as_call(name: str, arguments: Sequence[CheckedArgument], implied: Mapping[str, Expr]) -> Call:
    first_named = next((index for index, argument in enumerate(arguments) if argument.by_name), len(arguments))
    positional = tuple(argument.typed.expr for argument in arguments[:first_named])
    named = {argument.parameter.name: argument.typed.expr for argument in arguments[first_named:]}
    return Call(function=name, args=positional, named={**named, **implied})


def _plugged(elaborator: Checker, syntax: CallExpr, name: str, plugin: Plugin) -> Typed:
    """Check a call of a user's function."""
    parameters = [Parameter(key, of, key not in plugin.optional) for key, of in plugin.parameters.items()]
    listed = ", ".join(f"{parameter.name}: {type_notation(parameter.type)}" for parameter in parameters)
    shape = f"{name}({listed}) -> {type_notation(plugin.returns)}"
    checked_arguments = arguments(elaborator, syntax, parameters, shape)
    if checked_arguments is None:
        return ERROR
    return Typed(
        _as_call(name, checked_arguments, {}),
        plugin.returns,
        undefined_in(argument.typed for argument in checked_arguments),
    )


def _scorer(elaborator: Checker, syntax: CallExpr, name: str) -> Typed:
    program = elaborator.program
    if name in program.formulas:
        return _formula(elaborator, syntax, program.formulas[name])
    if name in program.plugins:
        plugin = program.plugins[name]
        if plugin.external is not None and (elaborator.judge is None or not elaborator.judge.programs):
            message = f"`{name}` is a program, which is not started here"
            return elaborator.error("E0303", message, syntax.span, IN_SCORE)
        return _plugged(elaborator, syntax, name, plugin)
    scorer = program.scorers.get(name)
    if scorer is None:
        if name in program.late:
            message = f"`{name}` {program.late[name]}, which is not done here"
            return elaborator.error("E0303", message, syntax.span, IN_SCORE)
        return elaborator.follows()
    typeds = scorer_arguments(elaborator, syntax, scorer)
    if typeds is None:
        return ERROR
    if elaborator.judge is None:
        return elaborator.error("E0303", f"`{name}` is a judge, which is not asked here", syntax.span, IN_SCORE)
    return elaborator.judge(syntax, scorer, typeds)


def scorer_arguments(elaborator: Checker, syntax: CallExpr, scorer: Scorer) -> dict[str, Typed] | None:
    """Return the checked arguments of a judge by parameter; None if one is wrong or missing."""
    shape = f"{scorer.name}({', '.join(f'{key}: {type_notation(of)}' for key, of in scorer.params.items())})"
    parameters = [Parameter(key, of, True) for key, of in scorer.params.items()]
    checked_arguments = arguments(elaborator, syntax, parameters, shape)
    return (
        None
        if checked_arguments is None
        else {argument.parameter.name: argument.typed for argument in checked_arguments}
    )


def _formula(elaborator: Checker, syntax: CallExpr, formula: FormulaScorer) -> Typed:
    """Check a formula scorer's expression with the arguments in place of its parameters."""
    shape = f"{formula.name.text}({', '.join(f'{key}: {type_notation(of)}' for key, of in formula.params.items())})"
    parameters = [Parameter(key, of, True) for key, of in formula.params.items()]
    checked_arguments = arguments(elaborator, syntax, parameters, shape)
    if checked_arguments is None:
        return ERROR
    if elaborator.depth > DEEPEST_FORMULA:
        return elaborator.follows()
    done = elaborator.formulas
    key = done.key(formula.name.text, elaborator.judge, (argument.typed.expr for argument in checked_arguments))
    if key in done.checked:
        return done.checked[key][1]
    takes = Label(syntax.span, f"`{formula.name.text}` takes it")
    scope = {
        argument.parameter.name: Binding(
            (argument.parameter.name,),
            formula.params[argument.parameter.name],
            value=argument.typed.expr,
            may=argument.typed.may,
        )
        for argument in checked_arguments
    }
    inner = elaborator.within(scope)
    attempt = elaborator.program.diagnostics.attempt()
    typed = inner.infer(formula.value)
    diagnostics = attempt.reported
    attempt.discard()
    if not typed.is_error and not formula.scores:
        elaborator.program.index.mean(typed.expr, takes)
    for item in diagnostics:  # the body was checked at its declaration, so they are due to the arguments or this place
        if item.severity == "error":
            message = f"`{formula.name.text}` cannot be used so: {item.message}"
            elaborator.error(item.code, message, syntax.span, item.help)
            break
    if not typed.is_error and not diagnostics:
        done.checked[key] = (elaborator.judge, typed)
    return typed


def is_score(type_: Type) -> bool:
    """Return true if a value of that type can be a score.

    >>> from tripos_compiler.plan import BoolType, NumberType, TextType
    >>> is_score(BoolType()), is_score(NumberType()), is_score(TextType())
    (True, True, False)
    """
    return type_.kind in ("bool", "integer", "number")
