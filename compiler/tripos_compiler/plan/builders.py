"""Builders of expressions; `library/calls.py` has those of calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, overload

from tripos_compiler.plan.expressions import Binary, Expr, Literal_, Unary

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]


def lit(value: str | float | bool | None) -> Literal_:
    """Return a literal."""
    return Literal_(value=value)


def compare(operator: Comparison, left: Expr, right: Expr | float) -> Binary:
    """Return a comparison of two values, or of a value with a number."""
    return Binary(operator=operator, left=left, right=lit(right) if isinstance(right, int | float) else right)


def negated(condition: Expr) -> Unary:
    """Return the expression that is true if a condition is false."""
    return Unary(operator="not", value=condition)


@overload
def all_of(first: Expr, /, *others: Expr | None) -> Expr: ...


@overload
def all_of(*conditions: Expr | None) -> Expr | None: ...


def all_of(*conditions: Expr | None) -> Expr | None:
    """Return the conjunction of conditions, from left to right, without those that are None; None if none is left.

    >>> from tripos_compiler.plan import Ref
    >>> a, b = Ref(path=("a",)), Ref(path=("b",))
    >>> all_of(a, None, b).left.path, all_of(None)
    (('a',), None)
    """
    return _joined("and", conditions)


@overload
def any_of(first: Expr, /, *others: Expr | None) -> Expr: ...


@overload
def any_of(*conditions: Expr | None) -> Expr | None: ...


def any_of(*conditions: Expr | None) -> Expr | None:
    """Return the disjunction of conditions, from left to right, without those that are None; None if none is left."""
    return _joined("or", conditions)


def _joined(operator: Literal["and", "or"], conditions: Iterable[Expr | None]) -> Expr | None:
    expr: Expr | None = None
    for condition in conditions:
        if condition is not None:
            expr = condition if expr is None else Binary(operator=operator, left=expr, right=condition)
    return expr
