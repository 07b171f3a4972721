"""Operators in expressions: arithmetic, logic, equality and membership, with the types of both sides."""

from __future__ import annotations

from tripos_compiler.language.library import fits, lack_of, type_notation, without_optional
from tripos_compiler.plan import Binary, BoolType, IntegerType, Literal_, NumberType, TextType, Type
from tripos_compiler.resolve import PossibleLack, Typed
from tripos_compiler.source import BinaryExpr, Group, Name, Syntax
from tripos_compiler.typing.checker import Checker
from tripos_compiler.typing.comprehensions import is_comprehension


def check_operator(checker: Checker, syntax: BinaryExpr) -> Typed | None:
    """Return the checked operation; None where it is wrong, which is reported."""
    operator = syntax.operator
    if operator in ("==", "!=", "in", "not in"):
        return _membership(checker, syntax) if operator.endswith("in") else _equality(checker, syntax)
    wanted: Type = BoolType() if operator in ("and", "or") else NumberType()
    left, right = _sides(checker, syntax, wanted)
    if left is None or right is None:
        return None
    type_: Type = NumberType()
    if operator in ("and", "or", "<", "<=", ">", ">="):
        type_ = BoolType()
    elif operator != "/" and left.type.kind == right.type.kind == "integer":
        type_ = IntegerType()
    return _operation(checker, syntax, left, right, type_)


def _sides(checker: Checker, syntax: BinaryExpr, wanted: Type) -> tuple[Typed | None, Typed | None]:
    """Return both sides of an operator, each of the wanted type; two of another one are reported once."""
    what = f"each side of `{syntax.operator}`"
    left = checker.infer(syntax.left)
    if left is not None and left.type.kind == "choice" and checker.is_value(syntax.right):
        right: Typed | None = Typed(Literal_(value=""), left.type)  # a value of it, which is no number either
    else:
        right = checker.infer(syntax.right)
    if left is None or right is None or any(fits(without_optional(each.type), wanted) for each in (left, right)):
        return checker.typed_as(left, syntax.left, wanted, what), checker.typed_as(right, syntax.right, wanted, what)
    one, other = type_notation(left.type), type_notation(right.type)
    these = f"both are `{one}`" if one == other else f"these are `{one}` and `{other}`"
    message = f"{what} must be `{type_notation(wanted)}`, and {these}"
    checker.error("E0301", message, syntax.span, _instead(syntax.operator, left.type))
    return None, None


def _operation(checker: Checker, syntax: BinaryExpr, left: Typed, right: Typed, type_: Type) -> Typed:
    expr = Binary(operator=syntax.operator, left=left.expr, right=right.expr)
    lazy = syntax.operator in ("and", "or")
    may = (*left.may, *(right.under(left.expr, syntax.operator == "and") if lazy else right.may))
    own = lack_of(expr, {"right": right.type})
    if own is not None:
        may = (*may, PossibleLack(own, syntax.span))
    return Typed(expr, type_, may)


def _equality(checker: Checker, syntax: BinaryExpr) -> Typed | None:
    left, right = _pair(checker, syntax.left, syntax.right)
    if left is None or right is None:
        return None
    if not _may_be_equal(left, right):
        message = f"{_of_kind(left)} and {_of_kind(right)} are never equal"
        checker.error("E0301", message, syntax.span)
        return None
    return _compared(checker, syntax, left, right, right.type)


def _compared(checker: Checker, syntax: BinaryExpr, left: Typed, right: Typed, with_: Type) -> Typed | None:
    """Return a comparison for equality with values of a type; two that may both be missing are not compared, since they
    would be equal then."""
    if left.type.kind == with_.kind == "optional":
        message = "both sides may be missing here, and two that are missing would be equal"
        checker.error("E0306", message, syntax.span, "say what stands in the place of one: `default(…, …)`")
        return None
    return _operation(checker, syntax, left, right, BoolType())


def _pair(checker: Checker, first: Syntax, second: Syntax) -> tuple[Typed | None, Typed | None]:
    """Return both sides of a comparison; where one is a choice, a bare name on the other side is one of its values."""
    if checker.is_value(first) and not checker.is_value(second):
        right = checker.infer(second)
        left = checker.against(first, without_optional(right.type)) if right is not None else None
        return left, right
    left = checker.infer(first)
    if left is None:
        return None, None
    return left, checker.against(second, without_optional(left.type))


def _membership(checker: Checker, syntax: BinaryExpr) -> Typed | None:
    listed = isinstance(syntax.right, Group) and not is_comprehension(syntax.right.arguments)
    if isinstance(syntax.left, Name) and syntax.left.text not in checker.scope and not listed:
        whole = checker.infer(syntax.right)  # `A in reply`: a bare name is one of what the list holds
        if whole is None:
            return None
        held = whole.type.of if whole.type.kind in ("list", "set") else TextType()
        left = checker.against(syntax.left, held)
    else:
        left = checker.infer(syntax.left)
    if left is None:
        return None
    if isinstance(syntax.right, Group) and listed:
        choice = without_optional(left.type) if without_optional(left.type).kind == "choice" else TextType()
        right = checker.group(syntax.right, syntax.right.arguments, choice)
    else:
        right = checker.infer(syntax.right)
    if right is None:
        return None
    of = right.type.of if right.type.kind in ("list", "set") else None
    if of is None and without_optional(right.type).kind in ("list", "set"):
        checker.misfit(syntax.right.span, right.type, without_optional(right.type), "what `in` looks into")
        return None
    if of is None:
        checker.error(
            "E0301", f"`in` looks into a list or set, this is `{type_notation(right.type)}`", syntax.right.span
        )
        return None
    if not (fits(without_optional(left.type), of) or fits(of, without_optional(left.type))):
        message = f"`{type_notation(left.type)}` is never in `{type_notation(right.type)}`"
        checker.error("E0301", message, syntax.span)
        return None
    return _compared(checker, syntax, left, right, of)


def _may_be_equal(left: Typed, right: Typed) -> bool:
    """Return true if two values can ever be equal; of a range of whole numbers, one that is written out lies in it."""
    a, b = without_optional(left.type), without_optional(right.type)
    return (fits(a, b) or fits(b, a)) and _in_range(left, b) and _in_range(right, a)


def _in_range(value: Typed, of: Type) -> bool:
    if of.kind != "integer" or not isinstance(value.expr, Literal_) or not isinstance(value.expr.value, int | float):
        return True
    number, low, high = value.expr.value, of.low, of.high
    return int(number) == number and (low is None or low <= number) and (high is None or number <= high)


def _of_kind(value: Typed) -> str:
    """Return a value as a message says what it is: a number as it is written, anything else by its type."""
    if isinstance(value.expr, Literal_) and value.type.kind in ("integer", "number"):
        return str(value.expr.value)
    return f"`{type_notation(value.type)}`"


def _instead(operator: str, type_: Type) -> str | None:
    """Return what to write where texts or choices are computed with."""
    if operator == "+" and without_optional(type_).kind == "text":
        return 'put texts together: `join((…, …), "")`'
    return "compare their places in the order: `rank(…)`" if without_optional(type_).kind == "choice" else None


def unbounded(type_: Type) -> Type:
    """Return a whole number of any size, where the type is a range."""
    return IntegerType() if type_.kind == "integer" else type_
