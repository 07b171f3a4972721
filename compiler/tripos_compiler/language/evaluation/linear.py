"""Expressions with their parts named, each found once."""

from __future__ import annotations

from weakref import ref

from tripos_compiler.plan import LEAVES, Expr, Let, parts_of, share

_named: dict[int, tuple[ref[Expr], Expr | Let | None]] = {}
"""By the identity of an expression: the expression, and itself with its parts named, if it has any."""


def linear(expr: Expr) -> Expr | Let:
    """Return an expression with its parts named, which is found once. What a `reveal` is given stays as it is: it tells
    one `reveal` from another."""
    known = _named.get(id(expr))
    if known is None or known[0]() is not expr:
        if type(expr) in LEAVES:
            return expr
        shared = share(expr, opaque="reveal", invariant=True) if _may_share(expr) else expr
        place = id(expr)
        known = ref(expr, lambda gone: _forget(place, gone)), None if shared is expr else shared
        _named[place] = known
    return expr if known[1] is None else known[1]


def _may_share(expr: Expr) -> bool:
    return not all(isinstance(part, LEAVES) for part in parts_of(expr))


def _forget(place: int, gone: ref[Expr]) -> None:
    if place in _named and _named[place][0] is gone:
        del _named[place]
