"""Calls of library functions in a plan: building them, recognising them, and their arguments.

The Python function stands for the function of the language, so that its name is not repeated:
`call(lists.nth, items, place)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tripos_compiler.library.function import Evaluation, SearchIndex
from tripos_compiler.library.functions import lists
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import Call, Expr

_BY_PYTHON = {function.python: function for function in FUNCTIONS.values()}


def name_of(python: Callable[..., Any]) -> str:
    """Return the name of the language function that a Python function implements.

    >>> name_of(lists.slice_)
    'slice'
    """
    return _BY_PYTHON[python].name


def call(python: Callable[..., Any], *args: Expr, **named: Expr) -> Call:
    """Return a call of a library function.

    >>> from tripos_compiler.plan import Ref
    >>> call(lists.length, Ref(path=("xs",))).function
    'length'
    """
    return Call(function=name_of(python), args=args, named=named)


def choose(condition: Expr, this: Expr, other: Expr) -> Call:
    """Return the expression of `this` if a condition holds, and otherwise of `other`."""
    return call(lists.choose, condition, this, other)


def is_call(expr: object, *pythons: Callable[..., Any]) -> bool:
    """Return true if an expression is a call of one of some library functions.

    >>> from tripos_compiler.plan import Ref
    >>> is_call(call(lists.length, Ref(path=("xs",))), lists.length, lists.nth)
    True
    """
    return isinstance(expr, Call) and any(expr.function == name_of(python) for python in pythons)


def evaluation_of(call: Call) -> Evaluation:
    """Return which arguments of a call are evaluated; of a call of a user's function, all."""
    function = FUNCTIONS.get(call.function)
    return Evaluation.EAGER if function is None else function.evaluation


def search_index_of(expr: Expr) -> SearchIndex | None:
    """Return the index that can replace a call in a retrieval; None for any other expression."""
    function = FUNCTIONS.get(expr.function) if isinstance(expr, Call) else None
    return None if function is None else function.index


def arguments_of(call: Call) -> dict[str, Expr]:
    """Return the arguments of a library call, by parameter; of a variadic parameter the first."""
    return dict(zip(FUNCTIONS[call.function].names, call.args, strict=False)) | dict(call.named)
