"""Type checking of expressions, operators, and texts with holes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostics, nearest, suggest
from tripos_compiler.diagnostics.habits import notation_for, suggest_notation
from tripos_compiler.library.calls import name_of
from tripos_compiler.library.definedness import undefinedness_of
from tripos_compiler.library.functions import texts
from tripos_compiler.library.types import fits, type_notation, without_optional
from tripos_compiler.plan import (
    Binary,
    BoolType,
    Branches,
    ChoiceType,
    Data,
    Get,
    IntegerType,
    Items,
    JsonType,
    ListType,
    Literal_,
    NumberType,
    RecordType,
    Ref,
    TextType,
    TreeType,
    Type,
    Unary,
)
from tripos_compiler.replies.number_tokens import DEFAULT, convention_of
from tripos_compiler.resolve.program import ERROR, Binding, PossiblyUndefined, Program, Scope, Typed, undefined_in
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
    UnaryExpr,
    describe_syntax,
)
from tripos_compiler.syntax.parser import parse_hole
from tripos_compiler.typecheck.calls import (
    Checker,
    FormulaValues,
    Judge,
    check_call,
    check_comprehension,
    is_comprehension,
)

if TYPE_CHECKING:
    from tripos_compiler.resolve.program import LoadedDataset


# Operators


def check_operator(checker: Checker, syntax: BinaryExpr) -> Typed:
    """Check an operation with two operands."""
    operator = syntax.operator
    if operator in ("==", "!=", "in", "not in"):
        return _membership(checker, syntax) if operator.endswith("in") else _equality(checker, syntax)
    wanted: Type = BoolType() if operator in ("and", "or") else NumberType()
    typed, right = _sides(checker, syntax, wanted)
    if typed.is_error or right.is_error:
        return ERROR
    type_: Type = NumberType()
    if operator in ("and", "or", "<", "<=", ">", ">="):
        type_ = BoolType()
    elif operator != "/" and typed.type.kind == right.type.kind == "integer":
        type_ = IntegerType()
    return _operation(checker, syntax, typed, right, type_)


def _sides(checker: Checker, syntax: BinaryExpr, wanted: Type) -> tuple[Typed, Typed]:
    """Check both operands against the wanted type. If neither fits, report it once."""
    what = f"each side of `{syntax.operator}`"
    typed = checker.infer(syntax.left)
    if typed.type.kind == "choice" and checker.is_value(syntax.right):
        right = Typed(Literal_(value=""), typed.type)  # a value of the choice, so not a number either
    else:
        right = checker.infer(syntax.right)
    if typed.is_error or right.is_error or any(fits(without_optional(side.type), wanted) for side in (typed, right)):
        return checker.typed_as(typed, syntax.left, wanted, what), checker.typed_as(right, syntax.right, wanted, what)
    one, other = type_notation(typed.type), type_notation(right.type)
    these = f"both are `{one}`" if one == other else f"these are `{one}` and `{other}`"
    message = f"{what} must be `{type_notation(wanted)}`, and {these}"
    error = checker.error("E0301", message, syntax.span, _instead(syntax.operator, typed.type))
    return error, error


def _operation(checker: Checker, syntax: BinaryExpr, left: Typed, right: Typed, type_: Type) -> Typed:
    expr = Binary(operator=syntax.operator, left=left.expr, right=right.expr)
    lazy = syntax.operator in ("and", "or")
    may = (*left.may, *(right.under(left.expr, syntax.operator == "and") if lazy else right.may))
    undefinedness = undefinedness_of(expr, {"right": right.type})
    if undefinedness is not None:
        may = (*may, PossiblyUndefined(undefinedness, syntax.span))
    return Typed(expr, type_, may)


def _equality(checker: Checker, syntax: BinaryExpr) -> Typed:
    typed, right = _pair(checker, syntax.left, syntax.right)
    if typed.is_error or right.is_error:
        return ERROR
    if not _may_be_equal(typed, right):
        message = f"{_of_kind(typed)} and {_of_kind(right)} are never equal"
        return checker.error("E0301", message, syntax.span)
    return _compared(checker, syntax, typed, right, right.type)


def _compared(checker: Checker, syntax: BinaryExpr, left: Typed, right: Typed, with_: Type) -> Typed:
    """Check an equality of a value with values of the type `with_`.

    Reports operands that can both be missing, because two missing values would be equal.
    """
    if left.type.kind == with_.kind == "optional":
        message = "both sides may be missing here, and two that are missing would be equal"
        return checker.error("E0306", message, syntax.span, "say what stands in the place of one: `default(…, …)`")
    return _operation(checker, syntax, left, right, BoolType())


def _pair(checker: Checker, first: Syntax, second: Syntax) -> tuple[Typed, Typed]:
    """Check both sides of a comparison. If one side is a choice, a bare name on the other side is one of its values."""
    if checker.is_value(first) and not checker.is_value(second):
        right = checker.infer(second)
        return ERROR if right.is_error else checker.against(first, without_optional(right.type)), right
    typed = checker.infer(first)
    if typed.is_error:
        return ERROR, ERROR
    return typed, checker.against(second, without_optional(typed.type))


def _membership(checker: Checker, syntax: BinaryExpr) -> Typed:
    """Check `in` and `not in`."""
    listed = isinstance(syntax.right, Group) and not is_comprehension(syntax.right.arguments)
    if isinstance(syntax.left, Name) and syntax.left.text not in checker.scope and not listed:
        typed = checker.infer(syntax.right)  # `A in reply`: a bare name is a value of the element type
        if typed.is_error:
            return ERROR
        of = without_optional(typed.type)
        left = checker.against(syntax.left, of.of if of.kind in ("list", "set") else TextType())
    else:
        left = checker.infer(syntax.left)
    if left.is_error:
        return ERROR
    if isinstance(syntax.right, Group) and listed:
        choice = without_optional(left.type) if without_optional(left.type).kind == "choice" else TextType()
        right = checker.group(syntax.right, syntax.right.arguments, choice)
    else:
        right = checker.infer(syntax.right)
    if right.is_error:
        return ERROR
    element = right.type.of if right.type.kind in ("list", "set") else None
    if element is None and without_optional(right.type).kind in ("list", "set"):
        return checker.misfit(syntax.right.span, right.type, without_optional(right.type), "what `in` looks into")
    if element is None:
        message = f"`in` looks into a list or set, this is `{type_notation(right.type)}`"
        is_text = right.type.kind == "text" and left.type.kind == "text"
        help_ = "a part of a text is found by `contains(text, part)`, which ignores case" if is_text else None
        return checker.error("E0301", message, syntax.right.span, help_)
    if not (fits(without_optional(left.type), element) or fits(element, without_optional(left.type))):
        message = f"`{type_notation(left.type)}` is never in `{type_notation(right.type)}`"
        several = without_optional(left.type).kind in ("list", "set")
        help_ = f"say of each: `all(one in {syntax.right.span.excerpt} each one in {syntax.left.span.excerpt})`"
        return checker.error("E0301", message, syntax.span, help_ if several else None)
    return _compared(checker, syntax, left, right, element)


def _may_be_equal(left: Typed, right: Typed) -> bool:
    """Return true if two values can be equal. A literal must lie in the range of a whole number."""
    a, b = without_optional(left.type), without_optional(right.type)
    return (fits(a, b) or fits(b, a)) and _in_range(left, b) and _in_range(right, a)


def _in_range(value: Typed, of: Type) -> bool:
    if of.kind != "integer" or not isinstance(value.expr, Literal_) or not isinstance(value.expr.value, int | float):
        return True
    number, low, high = value.expr.value, of.low, of.high
    return int(number) == number and (low is None or low <= number) and (high is None or number <= high)


def _of_kind(value: Typed) -> str:
    """Return the description of a value for messages: a literal number itself, otherwise the type."""
    if isinstance(value.expr, Literal_) and value.type.kind in ("integer", "number"):
        return str(value.expr.value)
    return f"`{type_notation(value.type)}`"


def _instead(operator: str, type_: Type) -> str | None:
    """Return a hint for arithmetic or order on texts and choices."""
    if operator == "+" and without_optional(type_).kind == "text":
        return 'put texts together: `join((…, …), "")`'
    return "compare their places in the order: `rank(…)`" if without_optional(type_).kind == "choice" else None


def unbounded(type_: Type) -> Type:
    """Return the type of whole numbers without a range; other types unchanged."""
    return IntegerType() if type_.kind == "integer" else type_


# Texts with holes

HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def text_value(checker: Checker, text: Text) -> Typed:
    """Check a text in an expression with its holes."""
    if HOLE.search(text.value) is None:
        return Typed(Literal_(value=text.value), TextType())
    diagnostics = checker.program.diagnostics
    attempt, holes = diagnostics.attempt(), list[Syntax]()
    call = join_call(text, holes, diagnostics)
    return ERROR if attempt.failed or not holds_texts(checker, holes) else checker.infer(call)


def join_call(text: Text, holes: list[Syntax], diagnostics: Diagnostics) -> Syntax:
    """Return a text with holes as the equivalent call of `join`. Appends the expressions to `holes`, and reports
    malformed ones.
    """
    parts = list(_parts(text, holes, diagnostics))
    nothing = Text(text.span, "", text.offsets)
    items = [Argument(part.span, None, (part,)) for part in parts]
    if len(items) < 2:  # a group of one element is not a list
        items.append(Argument(text.span, None, (nothing,)))
    arguments = (Argument(text.span, None, (Group(text.span, tuple(items)),)), Argument(text.span, None, (nothing,)))
    return CallExpr(text.span, Name(text.span, name_of(texts.join)), arguments)


def holds_texts(checker: Checker, holes: Sequence[Syntax]) -> bool:
    """Return true if the value of every hole is a text; reports the first that is not.

    A value of an axis does not count as text, because its label depends on the language.
    """
    for hole in holes:
        typed = checker.expression(hole)
        if typed.is_error:
            return False
        report = checker.program.diagnostics.error
        if typed.type.kind == "optional":
            help_ = 'give a text to print: `{{ default(…, "none") }}`'
            report("E0306", "this may be missing, and would print nothing", hole.span, help=help_)
            return False
        if not fits(typed.type, TextType()) or (typed.type.kind == "choice" and typed.type.axis is not None):
            message = f"this is `{type_notation(typed.type)}`, and what a text in an expression prints is a text"
            help_ = "take a text as a parameter, or make one of it: `bullets(…)`, `join(…)`, `transcript(…)`, `json(…)`"
            report("E0301", message, hole.span, help=help_)
            return False
    return True


def _parts(text: Text, holes: list[Syntax], diagnostics: Diagnostics) -> Iterator[Syntax]:
    """Yield the parts of a text in order: the text between holes, and the expressions in them."""
    end, source = 0, text.span.source
    for match in HOLE.finditer(text.value):
        yield from _between(text, end, match.start())
        end = match.end()
        elements = parse_hole(source, text, match.start(1), match.end(1), diagnostics)
        if elements is not None and len(elements) == 1:
            holes.append(elements[0])
            yield elements[0]
        elif elements is not None:
            span = Span(source, text.offsets[match.start()], text.offsets[match.end() - 1] + 1)
            help_ = "a hole holds one expression: `{{ question }}`"
            diagnostics.error("E0403", "this hole holds more than one expression", span, help=help_)
    rest = text.value.find("{{", end)
    if rest >= 0:
        span = Span(source, text.offsets[rest], text.offsets[rest] + 2)
        diagnostics.error("E0403", "this hole is never closed", span, help="close it with `}}`")
    yield from _between(text, end, len(text.value))


def _between(text: Text, start: int, end: int) -> Iterator[Syntax]:
    if end > start:
        yield Text(text.stretch(start, end), text.value[start:end], text.offsets)


# The checker


class Elaborator:
    """Checker of expressions against a scope. Each mistake is reported once, and yields `ERROR`."""

    def __init__(
        self,
        program: Program,
        scope: Scope,
        judge: Judge | None = None,
        depth: int = 0,
        language: Binding | None = None,
        formulas: FormulaValues | None = None,
    ) -> None:
        self.program = program
        self.scope = scope
        self.judge = judge
        self.depth = depth
        """The number of enclosing formula scorers."""
        self.language = scope.get("language", language)
        """The binding of the current language, if there is one."""
        self.formulas: FormulaValues = formulas if formulas is not None else FormulaValues()

    def within(self, scope: Scope) -> Elaborator:
        """Return the checker of a formula scorer's body, which sees only its parameters."""
        return Elaborator(self.program, scope, self.judge, self.depth + 1, self.language, self.formulas)

    def inside(self, scope: Scope, judge: Judge | None) -> Elaborator:
        """Return the checker for further names in scope and for judges that are called for each element."""
        return Elaborator(self.program, scope, judge, self.depth, self.language, self.formulas)

    def locale(self) -> Typed | None:
        """Return the locale in which numbers are read; None if it is the default."""
        text = self.program.numbers
        names = self.program.languages if text is None else (text,)
        ways = {convention_of(name) for name in names}
        if ways <= {convention_of(DEFAULT)}:
            return None
        if len(names) == 1 or (len(ways) == 1 and None not in ways):
            return Typed(Literal_(value=names[0]), TextType())
        if self.language is None:
            return Typed(Literal_(value=""), TextType())
        return Typed(Ref(path=self.language.path), TextType())

    def expression(self, syntax: Syntax, wanted: Type | None = None, what: str = "this") -> Typed:
        """Check an expression, and its type if `wanted` is given."""
        typed = self.infer(syntax)
        return typed if wanted is None else self.typed_as(typed, syntax, wanted, what)

    def condition(self, syntax: Syntax) -> Typed:
        """Check an expression of type `bool`."""
        return self.expression(syntax, BoolType(), "a condition")

    def error(self, code: str, message: str, span: Span, help: str | None = None, unknown: str | None = None) -> Typed:
        """Report a mistake at `span` and return `ERROR`."""
        self.program.diagnostics.error(code, message, span, help=help, unknown=unknown)
        return ERROR

    def follows(self) -> Typed:
        """Return `ERROR` for a mistake that an earlier error explains."""
        self.program.diagnostics.follows()
        return ERROR

    def misfit(self, span: Span, given: Type, wanted: Type, what: str) -> Typed:
        """Report a value that does not have the wanted type and return `ERROR`."""
        if given.kind == "optional" and fits(given.of, wanted):
            help_ = "give a default: `default(value, …)`"
            return self.error("E0306", f"{what} may be missing here", span, help_)
        return self.error("E0301", f"{what} must be `{type_notation(wanted)}`, this is `{type_notation(given)}`", span)

    def infer(self, syntax: Syntax) -> Typed:
        """Check an expression of any type."""
        typed = self._any(syntax)
        if not typed.is_error:
            self.program.index.place(typed.expr, syntax.span)
        return typed

    def _any(self, syntax: Syntax) -> Typed:
        match syntax:
            case Number(value=value):
                type_: Type = IntegerType() if isinstance(value, int) else NumberType()
                return Typed(Literal_(value=value), type_)
            case Text():
                return text_value(self, syntax)
            case Name():
                return self._name(syntax)
            case Member():
                return self._member(syntax)
            case Group(arguments=arguments):
                if is_comprehension(arguments):
                    return check_comprehension(self, arguments[0])
                return self.group(syntax, arguments)
            case UnaryExpr(operator=operator, value=value):
                wanted: Type = BoolType() if operator == "not" else NumberType()
                inner = self.expression(value, wanted, f"what `{operator}` stands before")
                if inner.is_error:
                    return ERROR
                return Typed(
                    Unary(operator="not" if operator == "not" else "-", value=inner.expr),
                    BoolType() if operator == "not" else unbounded(inner.type),
                    inner.may,
                )
            case BinaryExpr():
                return check_operator(self, syntax)
            case CallExpr():
                return check_call(self, syntax)
        help_ = (
            "an element of a list is `nth(list, 0)`, its first `first(list)`" if isinstance(syntax, IndexExpr) else None
        )
        return self.error("E0301", f"{describe_syntax(syntax)} is not a value", syntax.span, help_)

    # --- names ---

    def _name(self, syntax: Name) -> Typed:
        if syntax.text in ("true", "false"):
            return Typed(Literal_(value=syntax.text == "true"), BoolType())
        binding = self.scope.get(syntax.text) or self._declared(syntax)
        if binding is None:
            if syntax.text in self.program.unread_datasets:
                message = f"the rows of `{syntax.text}` are not read yet where this is decided"
                help_ = "use what is known here: the axes, or the fields of the row"
                return self.error("E0314", message, syntax.span, help_)
            if syntax.text in self.program.declared.get("dataset", {}):
                return self.follows()
            wholes = [*self.program.trees, *self.program.top_level_datasets]
            close = nearest(syntax.text, [*self.scope, "true", "false"]) or nearest(syntax.text, wholes)
            known = ", ".join(f"`{name}`" for name in sorted(self.scope)[:8])
            otherwise = f"did you mean `{close}`?" if close else f"names here are {known or '`true` and `false`'}"
            if (score := _score_named(self.program, syntax)) is not None:
                otherwise = _value_of_score(self.program, score)
            help_ = suggest_notation("value", syntax.text, (), otherwise)
            return self.error("E0201", f"there is no `{syntax.text}` here", syntax.span, help_, syntax.text)
        return self._use(binding, syntax.span, syntax.text)

    def _declared(self, name: Name) -> Binding | None:
        """Return the binding of a data set or tree that is used as a value."""
        if name.text in self.program.trees:
            span = self.program.declared["tree"][name.text].span
            tree = TreeType(tree=name.text)
            return Binding((name.text,), tree, value=Branches(tree=name.text), span=span)
        loaded = self.program.top_level_datasets.get(name.text)
        return rows_binding(loaded) if loaded is not None else None

    def _use(self, binding: Binding, span: Span, text: str) -> Typed:
        if binding.type is None:
            self.program.index.use(span, binding.span)
            if binding.fields and binding.value is None:  # a data set without a type was reported
                example = next(iter(binding.fields))
                message = f"`{text}` has several fields, name one"
                return self.error("E0301", message, span, f"for example `{text}.{example}`")
            return self.follows()
        self.program.index.use(span, binding.span, type_notation(binding.type))
        return Typed(binding.value or Ref(path=binding.path), binding.type, binding.may)

    def binding(self, syntax: Syntax) -> Binding | None:
        """Return the binding of a dotted name; None for other syntax."""
        if isinstance(syntax, Name):
            return self.scope.get(syntax.text) or self._declared(syntax)
        if isinstance(syntax, Member):
            outer = self.binding(syntax.of)
            field = outer.fields.get(syntax.name.text) if outer is not None else None
            if outer is not None and field is not None:
                self.program.index.use(syntax.of.span, outer.span)
                self.program.index.use(syntax.name.span, field.span)
            return field
        return None

    def _member(self, syntax: Member) -> Typed:
        """Check a field of a binding, a record, or every record of a list."""
        outer = self.binding(syntax.of)
        if outer is not None and outer.is_error:
            return self.follows()
        if outer is not None and syntax.name.text in outer.fields:
            self.program.index.use(syntax.of.span, outer.span)
            field = outer.fields[syntax.name.text]
            self.program.index.use(syntax.name.span, field.span, type_notation(field.type) if field.type else "")
            return self._use(field, syntax.span, dotted_name(syntax))
        known: list[str] = list(outer.fields) if outer is not None else []
        typed = None
        if outer is None or outer.type is not None:
            typed = self.infer(syntax.of)
            if typed.is_error:
                return ERROR
            of = typed.type
            if of.kind == "record":
                if syntax.name.text in of.fields:
                    inner = of.fields[syntax.name.text]
                    self.program.index.use(syntax.name.span, None, type_notation(inner))
                    return replace(typed, expr=Get(of=typed.expr, field=syntax.name.text), type=inner)
                known += [name for name in of.fields if name not in known]
            elif of.kind == "list" and (record := _listed_record(of)) is not None:
                if syntax.name.text in record.fields:  # of every record
                    inner = _in_lists(of, record.fields[syntax.name.text])
                    self.program.index.use(syntax.name.span, None, type_notation(inner))
                    return replace(typed, expr=Get(of=typed.expr, field=syntax.name.text), type=inner)
                known += [name for name in record.fields if name not in known]
            elif of.kind == "optional" and of.of.kind == "record":
                return self.error("E0306", f"`{dotted_name(syntax.of)}` may be missing here", syntax.of.span)
        listed = ", ".join(f"`{name}`" for name in known[:10])
        help_ = suggest(syntax.name.text, known, f"it has {listed}" if listed else "it has no fields")
        if typed is not None and without_optional(typed.type) == JsonType():
            help_ = f'write the type that it has: `json_part({dotted_name(syntax.of)}, "{syntax.name.text}", text)`'
        message = f"`{dotted_name(syntax.of)}` has no field `{syntax.name.text}`"
        return self.error("E0308", message, syntax.name.span, help_, syntax.name.text)

    # --- lists and comparisons ---

    def group(self, syntax: Syntax, arguments: tuple[Argument, ...], choice: Type | None = None) -> Typed:
        """Check a list in brackets, or the single value in parentheses. With `choice`, bare names are values of it."""
        alone = len(arguments) == 1 and arguments[0].name is None and len(arguments[0].elements) == 1
        if alone and choice is None and not (isinstance(syntax, Group) and syntax.listed):
            return self.infer(arguments[0].elements[0])
        typeds = [self._argument(argument, choice) for argument in arguments]
        if not typeds:
            message = "this list is empty, and its type is not known"
            return self.error("E0301", message, syntax.span, "write what it holds")
        if any(typed.is_error for typed in typeds):
            return ERROR
        of = next((item.type for item in typeds if all(fits(other.type, item.type) for other in typeds)), None)
        if of is None and all(fits(item.type, TextType()) for item in typeds):
            of = TextType()
        if of is None:
            return self.error("E0301", "the values of a list must be of one type", syntax.span)
        return Typed(Items(values=tuple(item.expr for item in typeds)), ListType(of=of), undefined_in(typeds))

    def _argument(self, argument: Argument, choice: Type | None) -> Typed:
        if argument.name is not None or len(argument.elements) != 1:
            help_ = "write values with commas between them"
            words = (element.text for element in argument.elements if isinstance(element, Name))
            notation = next(filter(None, (notation_for("clause", word) for word in words)), None)
            if notation is not None:
                help_ = f"here it is written `{notation}`"
            return self.error("E0303", "this is not a single value", argument.span, help_)
        element = argument.elements[0]
        return self.against(element, choice) if choice is not None else self.infer(element)

    def against(self, syntax: Syntax, choice: Type) -> Typed:
        """Check a value that is compared with a choice: a bare name is one of the choice's values."""
        if isinstance(syntax, Name) and choice.kind == "choice":
            if syntax.text in choice.values:
                self.program.index.use(syntax.span, self.program.value_spans.get((choice.axis or "", syntax.text)))
                return Typed(Literal_(value=syntax.text), ChoiceType(values=choice.values, axis=choice.axis))
            if syntax.text not in self.scope:
                what = f"`{choice.axis}`" if choice.axis else "this choice"
                help_, message = _values_of(choice, syntax.text), f"{what} has no value `{syntax.text}`"
                return self.error("E0201", message, syntax.span, help_, syntax.text)
        if isinstance(syntax, Text) and choice.kind == "choice" and syntax.value not in choice.values:
            help_ = _values_of(choice, syntax.value)
            return self.error("E0301", f'"{syntax.value}" is none of its values', syntax.span, help_)
        if isinstance(syntax, Text) and choice.kind == "choice":
            self.program.index.use(syntax.span, self.program.value_spans.get((choice.axis or "", syntax.value)))
        return self.infer(syntax)

    def typed_as(self, typed: Typed, syntax: Syntax, wanted: Type, what: str) -> Typed:
        """Return the checked expression if it has the wanted type; otherwise report it and return `ERROR`."""
        if typed.is_error or fits(typed.type, wanted):
            return typed
        return self.misfit(syntax.span, typed.type, wanted, what)

    def is_value(self, syntax: Syntax) -> bool:
        """Return true if a bare name can only be a value of a choice."""
        if not isinstance(syntax, Name) or syntax.text in ("true", "false"):
            return False
        return syntax.text not in self.scope and self._declared(syntax) is None


def check(
    program: Program,
    syntax: Syntax,
    scope: Scope,
    wanted: Type | None = None,
    what: str = "this",
    judge: Judge | None = None,
) -> Typed:
    """Check an expression, and record its scope for editors."""
    program.index.scopes.append((syntax.span, dict(scope)))
    return Elaborator(program, scope, judge).expression(syntax, wanted, what)


def check_condition(program: Program, syntax: Syntax, scope: Scope, judge: Judge | None = None) -> Typed:
    """Check a condition, and record its scope for editors."""
    return check(program, syntax, scope, BoolType(), "a condition", judge)


def _listed_record(type_: Type) -> RecordType | None:
    """Return the record type of the elements of a list, at any depth; None if they are not records."""
    while type_.kind == "list":
        type_ = type_.of
    return type_ if type_.kind == "record" else None


def _in_lists(type_: Type, field: Type) -> Type:
    """Return the type of a field of every record in a list, at any depth."""
    return ListType(of=_in_lists(type_.of, field)) if type_.kind == "list" else field


def rows_binding(loaded: LoadedDataset) -> Binding:
    """Return the binding of a data set as a value: the list of its rows, with a list of values for each field."""
    name = loaded.dataset.name
    record: dict[str, Type] = {field.name: field.type for field in loaded.dataset.fields}
    fields = {
        field.name: Binding(
            (name, field.name),
            ListType(of=field.type),
            value=Data(dataset=name, field=field.name),
            span=loaded.spans.get(field.name),
            secret=field.secret,
        )
        for field in loaded.dataset.fields
    }
    fields |= {key: Binding((name, key)) for key in loaded.poisoned}
    list_type = ListType(of=RecordType(fields=record)) if loaded.sound and record else None
    return Binding((name,), list_type, fields, Data(dataset=name), loaded.span)


def _score_named(program: Program, name: Name) -> Statement | None:
    """Return the score of that name in the scenario in which a name is used; None without one."""
    place = name.span
    for scenario in program.of("scenario"):
        block = scenario.block.span if scenario.block is not None else None
        if block is not None and block.source is place.source and block.start <= place.start < block.end:
            named = (
                score for score in scenario.of("score") if (own := score.find_name("name")) and own.text == name.text
            )
            return next(named, None)
    return None


def _value_of_score(program: Program, score: Statement) -> str:
    """Return the hint for a score that is used in an expression."""
    name, value = score.name().text, score.find("value")
    called = value.function if isinstance(value, CallExpr) else None
    if value is not None and isinstance(called, Name) and called.text in program.declared.get("scorer", {}):
        written = value.span.excerpt
        return f"`{name}` is a score, which measures read: write `{written}` here; a judge is asked once for both"
    return f"`{name}` is a score, which measures read: write `let NAME = …` above with its value, and use NAME in both"


def _values_of(choice: ChoiceType, written: str) -> str:
    """Return a hint with the values of a choice for a word that is none of them."""
    close = nearest(written, choice.values)
    if close is not None:
        return f"did you mean `{close}`?"
    values = ", ".join(f"`{value}`" for value in choice.values[:8])
    return f"its values are {values}" if values else "it has no values"


def dotted_name(syntax: Syntax) -> str:
    """Return a dotted name as it is written in the source."""
    if isinstance(syntax, Member):
        return f"{dotted_name(syntax.of)}.{syntax.name.text}"
    if isinstance(syntax, CallExpr):
        return f"{dotted_name(syntax.function)}(…)"
    return syntax.text if isinstance(syntax, Name) else "this"
