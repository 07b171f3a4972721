"""What the expressions of a plan refer to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tripos_compiler.plan import Binary, Branches, Call, Data, Expr, Get, Items, Literal_, Part, Ref, Unary


def parts_of(expr: Expr) -> Iterator[Expr]:
    """An expression and all that it is made of.

    >>> [part.op for part in parts_of(Unary(operator="not", value=Ref(path=("a",))))]
    ['unary', 'ref']
    """
    yield expr
    match expr:
        case Unary(value=value):
            yield from parts_of(value)
        case Binary(left=left, right=right):
            yield from parts_of(left)
            yield from parts_of(right)
        case Items(values=values):
            for value in values:
                yield from parts_of(value)
        case Call(args=args, named=named):
            for value in (*args, *named.values()):
                yield from parts_of(value)
        case Get(of=of):
            yield from parts_of(of)
        case Literal_() | Ref() | Data() | Branches():
            pass
        case _:
            assert_never(expr)


def exprs_of(part: object) -> Iterator[Expr]:
    """Every expression of a part of a plan, wherever in it; not those that stand in another."""
    match part:
        case Literal_() | Ref() | Call() | Unary() | Binary() | Items() | Get() | Data() | Branches():
            yield part
        case Part():
            for name in type(part).model_fields:
                yield from exprs_of(getattr(part, name))
        case dict():
            for value in part.values():
                yield from exprs_of(value)
        case tuple():
            for value in part:
                yield from exprs_of(value)


def paths_in(expr: Expr) -> set[tuple[str, ...]]:
    """The names, with the fields below them, that an expression looks up."""
    return {part.path for part in parts_of(expr) if isinstance(part, Ref)}


def names_in(expr: Expr) -> set[str]:
    """The first names of every reference in an expression."""
    return {path[0] for path in paths_in(expr)}


def unveiled(expr: Expr) -> Expr:
    """An expression without the `reveal` that it stands in, which is the same value.

    >>> unveiled(Call(function="reveal", args=(Data(dataset="raw", field="stem"),))).dataset
    'raw'
    """
    while isinstance(expr, Call) and expr.function == "reveal":
        expr = expr.args[0] if expr.args else expr.named["value"]
    return expr
