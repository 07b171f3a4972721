"""Expressions: syntax to plan, with the type and the secrecy of every one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import (
    Binary,
    BoolType,
    Call,
    ChoiceType,
    Expr,
    IntegerType,
    Items,
    ListType,
    Literal_,
    NumberType,
    Ref,
    TextType,
    Type,
    Unary,
)
from tripos_compiler.program import Program
from tripos_compiler.semantics.library import FUNCTIONS, Parameter, shown
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    Member,
    Name,
    Number,
    Syntax,
    Text,
    UnaryExpr,
    described,
)
from tripos_compiler.types import fits


@dataclass(frozen=True)
class Binding:
    """A name in scope. `fields` are what stands behind its dot; `path` is what the name means, and `value` the
    expression that stands for it instead, where it was named by a `let`.

    `secret` is the way a secret took to get here, empty where there is none.
    """

    path: tuple[str, ...]
    type: Type | None = None
    secret: tuple[str, ...] = ()
    fields: Mapping[str, Binding] = field(default_factory=dict)
    value: Expr | None = None


Scope = Mapping[str, Binding]


@dataclass(frozen=True)
class Typed:
    """A checked expression."""

    expr: Expr
    type: Type
    secret: tuple[str, ...] = ()


class Elaborator:
    """Checks expressions against a scope; every mistake is reported once and yields None."""

    def __init__(self, program: Program, scope: Scope) -> None:
        self.program = program
        self.scope = scope

    def expression(self, syntax: Syntax, wanted: Type | None = None, what: str = "this") -> Typed | None:
        """The checked expression; where `wanted` is given its type must fit."""
        typed = self._any(syntax)
        if typed is None or wanted is None:
            return typed
        if fits(typed.type, wanted):
            return typed
        self._misfit(syntax.span, typed.type, wanted, what)
        return None

    def condition(self, syntax: Syntax) -> Typed | None:
        """A checked expression that is true or false."""
        return self.expression(syntax, BoolType(), "a condition")

    def _error(self, code: str, message: str, span: Span, help: str | None = None, unknown: str | None = None) -> None:
        self.program.diagnostics.error(code, message, span, help=help, unknown=unknown)

    def _misfit(self, span: Span, given: Type, wanted: Type, what: str) -> None:
        if given.kind == "optional" and fits(given.of, wanted):
            help_ = "give what stands in its place: `default(value, …)`"
            self._error("E0306", f"{what} may be missing here", span, help_)
        else:
            self._error("E0301", f"{what} must be `{shown(wanted)}`, this is `{shown(given)}`", span)

    def _any(self, syntax: Syntax) -> Typed | None:
        match syntax:
            case Number(value=value):
                type_: Type = IntegerType() if isinstance(value, int) else NumberType()
                return Typed(Literal_(value=value), type_)
            case Text(value=value):
                return Typed(Literal_(value=value), TextType())
            case Name():
                return self._name(syntax)
            case Member():
                return self._member(syntax)
            case Group(arguments=arguments):
                return self._group(syntax, arguments)
            case UnaryExpr(operator=operator, value=value):
                wanted: Type = BoolType() if operator == "not" else NumberType()
                inner = self.expression(value, wanted, f"what `{operator}` stands before")
                if inner is None:
                    return None
                return Typed(
                    Unary(operator="not" if operator == "not" else "-", value=inner.expr), inner.type, inner.secret
                )
            case BinaryExpr():
                return self._binary(syntax)
            case CallExpr():
                return self._call(syntax)
        self._error("E0301", f"{described(syntax)} is not a value", syntax.span)
        return None

    def _name(self, syntax: Name) -> Typed | None:
        if syntax.text in ("true", "false"):
            return Typed(Literal_(value=syntax.text == "true"), BoolType())
        binding = self.scope.get(syntax.text)
        if binding is None:
            close = nearest(syntax.text, [*self.scope, "true", "false"])
            known = ", ".join(f"`{name}`" for name in sorted(self.scope)[:8])
            help_ = f"did you mean `{close}`?" if close else (f"names here are {known}" if known else None)
            self._error("E0201", f"there is no `{syntax.text}` here", syntax.span, help_, syntax.text)
            return None
        return self._use(binding, syntax.span, syntax.text)

    def _use(self, binding: Binding, span: Span, text: str) -> Typed | None:
        if binding.type is None:
            if binding.fields:
                example = next(iter(binding.fields))
                message = f"`{text}` has several fields, name one"
                self._error("E0301", message, span, f"for example `{text}.{example}`")
            return None
        return Typed(binding.value or Ref(path=binding.path), binding.type, binding.secret)

    def _binding(self, syntax: Syntax) -> Binding | None:
        """The binding of a dotted name; None where it is not one, or reported."""
        if isinstance(syntax, Name):
            return self.scope.get(syntax.text)
        if isinstance(syntax, Member):
            outer = self._binding(syntax.of)
            return outer.fields.get(syntax.name.text) if outer is not None else None
        return None

    def _member(self, syntax: Member) -> Typed | None:
        outer = self._binding(syntax.of)
        if outer is None:
            self._any(syntax.of)  # reports what is wrong with it
            return None
        found = outer.fields.get(syntax.name.text)
        whole = _dotted(syntax)
        if found is not None:
            return self._use(found, syntax.span, whole)
        if not outer.fields and outer.type is None:
            return None  # its declaration was reported
        close = nearest(syntax.name.text, outer.fields)
        known = ", ".join(f"`{name}`" for name in list(outer.fields)[:10])
        help_ = f"did you mean `{close}`?" if close else (f"it has {known}" if known else "it has no fields")
        message = f"`{_dotted(syntax.of)}` has no field `{syntax.name.text}`"
        self._error("E0308", message, syntax.name.span, help_, syntax.name.text)
        return None

    def _group(self, syntax: Syntax, arguments: tuple[Argument, ...], choice: Type | None = None) -> Typed | None:
        if len(arguments) == 1 and arguments[0].name is None and len(arguments[0].elements) == 1 and choice is None:
            return self._any(arguments[0].elements[0])
        items = [self._argument(argument, choice) for argument in arguments]
        known = [item for item in items if item is not None]
        if len(known) < len(items) or not known:
            return None
        of = next((item.type for item in known if all(fits(other.type, item.type) for other in known)), None)
        if of is None:
            self._error("E0301", "the values of a list must be of one type", syntax.span)
            return None
        secret = next((item.secret for item in known if item.secret), ())
        return Typed(Items(values=tuple(item.expr for item in known)), ListType(of=of), secret)

    def _argument(self, argument: Argument, choice: Type | None) -> Typed | None:
        if argument.name is not None or len(argument.elements) != 1:
            self._error("E0303", "this is not a single value", argument.span)
            return None
        element = argument.elements[0]
        return self._against(element, choice) if choice is not None else self._any(element)

    def _against(self, syntax: Syntax, choice: Type) -> Typed | None:
        """A value compared with a choice: a bare name is one of its values."""
        if isinstance(syntax, Name) and choice.kind == "choice":
            if syntax.text in choice.values:
                return Typed(Literal_(value=syntax.text), ChoiceType(values=choice.values, axis=choice.axis))
            if syntax.text not in self.scope:
                close = nearest(syntax.text, choice.values)
                values = ", ".join(f"`{value}`" for value in choice.values[:8])
                help_ = f"did you mean `{close}`?" if close else f"its values are {values}"
                what = f"`{choice.axis}`" if choice.axis else "this choice"
                self._error("E0201", f"{what} has no value `{syntax.text}`", syntax.span, help_, syntax.text)
                return None
        return self._any(syntax)

    def _binary(self, syntax: BinaryExpr) -> Typed | None:
        operator = syntax.operator
        if operator in ("==", "!=", "in", "not in"):
            return self._membership(syntax) if operator.endswith("in") else self._equality(syntax)
        wanted: Type = BoolType() if operator in ("and", "or") else NumberType()
        what = f"each side of `{operator}`"
        left = self.expression(syntax.left, wanted, what)
        right = self.expression(syntax.right, wanted, what)
        if left is None or right is None:
            return None
        type_: Type = NumberType()
        if operator in ("and", "or", "<", "<=", ">", ">="):
            type_ = BoolType()
        elif operator != "/" and left.type.kind == right.type.kind == "integer":
            type_ = IntegerType()
        return self._operation(syntax, left, right, type_)

    def _operation(self, syntax: BinaryExpr, left: Typed, right: Typed, type_: Type) -> Typed:
        expr = Binary(operator=syntax.operator, left=left.expr, right=right.expr)
        return Typed(expr, type_, left.secret or right.secret)

    def _equality(self, syntax: BinaryExpr) -> Typed | None:
        left, right = self._pair(syntax.left, syntax.right)
        if left is None or right is None:
            return None
        a, b = _bare(left.type), _bare(right.type)
        if not (fits(a, b) or fits(b, a)):
            message = f"`{shown(left.type)}` and `{shown(right.type)}` are never equal"
            self._error("E0301", message, syntax.span)
            return None
        return self._operation(syntax, left, right, BoolType())

    def _pair(self, first: Syntax, second: Syntax) -> tuple[Typed | None, Typed | None]:
        """Both sides of a comparison; where one is a choice, a bare name on the other side is one of its values."""
        if isinstance(first, Name) and first.text not in self.scope and first.text not in ("true", "false"):
            right = self._any(second)
            left = self._against(first, _bare(right.type)) if right is not None else None
            return left, right
        left = self._any(first)
        if left is None:
            return None, None
        return left, self._against(second, _bare(left.type))

    def _membership(self, syntax: BinaryExpr) -> Typed | None:
        if isinstance(syntax.left, Name) and syntax.left.text not in self.scope and not isinstance(syntax.right, Group):
            whole = self._any(syntax.right)  # `A in reply`: a bare name is one of what the list holds
            if whole is None:
                return None
            held = whole.type.of if whole.type.kind in ("list", "set") else TextType()
            left = self._against(syntax.left, held)
        else:
            left = self._any(syntax.left)
        if left is None:
            return None
        if isinstance(syntax.right, Group):
            choice = _bare(left.type) if _bare(left.type).kind == "choice" else TextType()
            right = self._group(syntax.right, syntax.right.arguments, choice)
        else:
            right = self._any(syntax.right)
        if right is None:
            return None
        of = right.type.of if right.type.kind in ("list", "set") else None
        if of is None:
            self._error("E0301", f"`in` looks into a list or set, this is `{shown(right.type)}`", syntax.right.span)
            return None
        if not (fits(_bare(left.type), of) or fits(of, _bare(left.type))):
            message = f"`{shown(left.type)}` is never in `{shown(right.type)}`"
            self._error("E0301", message, syntax.span)
            return None
        return self._operation(syntax, left, right, BoolType())

    def _call(self, syntax: CallExpr) -> Typed | None:
        if not isinstance(syntax.function, Name):
            self._error("E0303", "only a function can be called", syntax.function.span)
            return None
        name = syntax.function.text
        if name == "reveal":
            return self._reveal(syntax)
        function = FUNCTIONS.get(name)
        if function is None:
            close = nearest(name, [*FUNCTIONS, "reveal"])
            help_ = f"did you mean `{close}`?" if close else "docs/language.md lists them"
            self._error("E0205", f"there is no function `{name}`", syntax.function.span, help_, name)
            return None
        given = self._arguments(syntax, function.parameters, function.shown)
        if given is None:
            return None
        first_named = next((i for i, argument in enumerate(syntax.arguments) if argument.name is not None), len(given))
        positional = tuple(typed.expr for _, typed in given[:first_named])
        named = {key: typed.expr for key, typed in given[first_named:]}
        returns = function.returns if function.returns is not None else self._default(syntax, dict(given))
        if returns is None or not self._sensible(syntax, name, dict(given)):
            return None
        secret = next((typed.secret for _, typed in given if typed.secret), ())
        return Typed(Call(function=name, args=positional, named=named), returns, secret)

    def _default(self, syntax: CallExpr, given: Mapping[str, Typed]) -> Type | None:
        """The type of `default(value, fallback)`: the wider of the two, which must be of one kind."""
        value, fallback = _bare(given["value"].type), given["fallback"].type
        if fits(value, fallback):
            return fallback
        if fits(fallback, value):
            return value
        message = f"the value is `{shown(value)}` and what stands in for it is `{shown(fallback)}`"
        self._error("E0301", message, syntax.span, "give both the same type")
        return None

    def _sensible(self, syntax: CallExpr, name: str, given: Mapping[str, Typed]) -> bool:
        """What a parameter's type does not say: only some values have a length, and a pattern must be one."""
        if name == "length" and given["value"].type.kind not in ("text", "choice", "list", "set", "dialogue"):
            message = f"`{shown(given['value'].type)}` has no length"
            self._error(
                "E0301", message, syntax.span, "`length` counts the characters of a text, or the items of a list"
            )
            return False
        pattern = given["pattern"].expr if name == "matches" else None
        if isinstance(pattern, Literal_):
            try:
                re.compile(str(pattern.value))
            except re.error as error:
                message = f"this pattern is not a regular expression: {error.msg}"
                self._error(
                    "E0303", message, syntax.span, "put `\\\\` before a sign that stands for itself, such as `\\\\(`"
                )
                return False
        return True

    def _arguments(
        self, syntax: CallExpr, parameters: tuple[Parameter, ...], shape: str
    ) -> list[tuple[str, Typed]] | None:
        """The checked arguments in the order in which they are written, each with the name of its parameter."""
        help_ = f"it is `{shape}`"
        free = list(parameters)
        given: list[tuple[str, Typed]] = []
        good = True
        for argument in syntax.arguments:
            if argument.name is None:
                parameter = free.pop(0) if free else None
            else:
                key = argument.name.text
                parameter = next((p for p in free if p.name == key), None)
                if parameter is not None:
                    free.remove(parameter)
            if parameter is None:
                self._error("E0303", "this argument is one too many or misnamed", argument.span, help_)
                good = False
                continue
            if len(argument.elements) != 1:
                self._error("E0303", "this argument is more than one value; is a comma missing?", argument.span, help_)
                good = False
                continue
            typed = self.expression(argument.elements[0], parameter.type, f"`{parameter.name}`")
            if typed is None:
                good = False
            else:
                given.append((parameter.name, typed))
        missing = [p.name for p in free if p.required]
        if missing and good:
            self._error("E0303", f"`{missing[0]}` is not given", syntax.span, help_)
            good = False
        return given if good else None

    def _reveal(self, syntax: CallExpr) -> Typed | None:
        if len(syntax.arguments) != 1 or len(syntax.arguments[0].elements) != 1:
            self._error("E0303", "`reveal` takes one value", syntax.span, "it is `reveal(value)`")
            return None
        typed = self._any(syntax.arguments[0].elements[0])
        return None if typed is None else Typed(typed.expr, typed.type)


def _bare(type_: Type) -> Type:
    return type_.of if type_.kind == "optional" else type_


def _dotted(syntax: Syntax) -> str:
    if isinstance(syntax, Member):
        return f"{_dotted(syntax.of)}.{syntax.name.text}"
    return syntax.text if isinstance(syntax, Name) else "this"
