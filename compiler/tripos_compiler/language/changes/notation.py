"""Expressions of a plan as they are written in a spec, for people who read what changed."""

from __future__ import annotations

import json
from typing import assert_never

from tripos_compiler.plan import (
    AtElement,
    Binary,
    Branches,
    Call,
    Data,
    Each,
    Expr,
    Get,
    Items,
    Literal_,
    RecordValue,
    Ref,
    Unary,
)

BINDING = {
    "or": 1,
    "and": 2,
    "in": 4,
    "not in": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 4),
}
"""How strongly operators bind; `not` stands between `and` and comparisons."""
NOT, NEGATION, ALONE = 3, 7, 8


def expression_notation(expr: Expr) -> str:
    """Return an expression as it is written in a spec. A choice stands as a text, which means the same.

    >>> kind = Binary(operator="in", left=Ref(path=("q", "kind")), right=Items(values=(Literal_(value="a"),)))
    >>> expression_notation(Unary(operator="not", value=Binary(operator="and", left=kind, right=Ref(path=("hard",)))))
    'not (q.kind in ("a") and hard)'
    """
    return _written(expr)[0]


def _written(expr: Expr) -> tuple[str, int]:
    """Return an expression, and how strongly its outermost operator binds."""
    match expr:
        case Literal_(value=value):
            return json.dumps(value, ensure_ascii=False), ALONE
        case Ref(path=path):
            return ".".join(path), ALONE
        case Unary(operator="not", value=value):
            return f"not {_inside(value, NOT)}", NOT
        case Unary(value=value):
            return f"-{_inside(value, NEGATION)}", NEGATION
        case Binary(operator=operator, left=left, right=right):
            own = BINDING[operator]
            return f"{_inside(left, own)} {operator} {_inside(right, own + 1)}", own
        case Items(values=values):
            return f"({', '.join(map(expression_notation, values))})", ALONE
        case RecordValue(fields=fields):
            return f"({', '.join(f'{name}: {expression_notation(each)}' for name, each in fields.items())})", ALONE
        case Call(function=function, args=args, named=named):
            given = [*map(expression_notation, args), *(f"{key}: {expression_notation(v)}" for key, v in named.items())]
            return f"{function}({', '.join(given)})", ALONE
        case Get(of=of, field=field):
            return f"{_inside(of, ALONE)}.{field}", ALONE
        case Data(dataset=dataset, field=field):
            return dataset if field is None else f"{dataset}.{field}", ALONE
        case Branches(tree=tree):
            return tree, ALONE
        case Each(loop=loop, value=value):
            where = "" if loop.where is None else f" where {expression_notation(loop.where)}"
            return f"[{expression_notation(value)} each {loop.alias} in {expression_notation(loop.of)}{where}]", ALONE
        case AtElement(of=of):
            return _written(of)
    assert_never(expr)


def _inside(expr: Expr, least: int) -> str:
    text, binds = _written(expr)
    return text if binds >= least else f"({text})"
