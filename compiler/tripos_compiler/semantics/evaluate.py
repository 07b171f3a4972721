"""Evaluates the expressions of a plan."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, assert_never

from tripos_compiler.plan import Binary, Branches, Call, Data, Expr, Get, Items, Literal_, Ref, Unary
from tripos_compiler.semantics.library import FUNCTIONS
from tripos_compiler.semantics.library.choices import Unread

DATA = "@data"
"""The name under which `evaluate` finds the rows of every data set that is used as a value, by its name."""
TREES = "@trees"
"""The name under which `evaluate` finds every tree that is used as a value, by its name."""


class Unavailable(Exception):
    """A value that a step did not yield, for example a field of a reply that could not be read."""

    def __init__(self, step: str, status: str, reason: str = "") -> None:
        super().__init__(reason or f"`{step}` has no value: {status}")
        self.step = step
        self.status = status


class Missing:
    """Stands in a record for what a step did not yield; reading it raises `Unavailable`."""

    def __init__(self, step: str, status: str) -> None:
        self.step = step
        self.status = status


_plugins: ContextVar[Mapping[str, Callable[..., Any]]] = ContextVar("plugins", default=MappingProxyType({}))


@contextmanager
def calling(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Lets expressions call these functions, by name, beside those of the library. It holds for what runs inside, tasks
    that are started there included, and for nothing else in the process.

    >>> with calling({"twice": lambda value: 2 * value}):
    ...     evaluate(Call(function="twice", args=(Literal_(value=4),)), {})
    8
    """
    token = _plugins.set(functions)
    try:
        yield
    finally:
        _plugins.reset(token)


def evaluate(expr: Expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Raises `Unavailable` where it needs what a step did not yield, and where it has no value: a division by zero, a
    pattern that is none, a number past all bounds, an answer that could not be read.

    >>> evaluate(Binary(operator="+", left=Literal_(value=1), right=Ref(path=("item", "n"))), {"item": {"n": 2}})
    3
    """
    try:
        value = _evaluate(expr, names)
    except Unread as error:
        raise Unavailable("the expression", "parse_failure", str(error)) from error
    except (ArithmeticError, TypeError, ValueError, re.error) as error:
        raise Unavailable("the expression", "not_applicable", str(error)) from error
    if isinstance(value, float) and not math.isfinite(value):
        raise Unavailable("the expression", "not_applicable", "it is no finite number")
    return value


def _evaluate(expr: Expr, names: Mapping[str, Any]) -> Any:
    match expr:
        case Literal_(value=value):
            return value
        case Ref(path=path):
            return _look_up(path, names)
        case Items(values=values):
            return [_evaluate(value, names) for value in values]
        case Unary(operator=operator, value=value):
            inner = _evaluate(value, names)
            return -inner if operator == "-" else not inner
        case Call(function=function, args=args, named=named):
            arguments = [_evaluate(arg, names) for arg in args]
            keywords = {name: _evaluate(arg, names) for name, arg in named.items()}
            python = _plugins.get().get(function) or FUNCTIONS[function].python
            return python(*arguments, **keywords)
        case Binary():
            return _binary(expr, names)
        case Get(of=of, field=field):
            record = _evaluate(of, names)
            return [each[field] for each in record] if isinstance(record, list) else record[field]
        case Data(dataset=dataset, field=field):
            rows = names[DATA][dataset]
            return [row if field is None else row[field] for row in rows]
        case Branches(tree=tree):
            return names[TREES][tree]
    assert_never(expr)


def _look_up(path: tuple[str, ...], names: Mapping[str, Any]) -> Any:
    value: Any = names
    for part in path:
        value = value[part]
        if isinstance(value, Missing):
            raise Unavailable(value.step, value.status)
    return value


def _binary(expr: Binary, names: Mapping[str, Any]) -> Any:
    left = _evaluate(expr.left, names)
    match expr.operator:
        case "and":
            return bool(left) and bool(_evaluate(expr.right, names))
        case "or":
            return bool(left) or bool(_evaluate(expr.right, names))
    right = _evaluate(expr.right, names)
    match expr.operator:
        case "==":
            return equal(left, right)
        case "!=":
            return not equal(left, right)
        case "in":
            return left in right
        case "not in":
            return left not in right
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
    assert_never(expr.operator)


def equal(left: Any, right: Any) -> bool:
    """Equality; of a set and a list, that of what they hold."""
    if isinstance(left, AbstractSet) != isinstance(right, AbstractSet):
        try:
            return set(left) == set(right)
        except TypeError:
            return False
    return bool(left == right)
