"""Names that are joined by `*`: the axes of a context, the arms of a scenario, the random facets of a measure."""

from __future__ import annotations

from tripos_compiler.resolve.program import Program
from tripos_compiler.source import BinaryExpr, Name, Syntax

PRODUCTS = {
    "axes": "context language * stage * subject",
    "arms": "arms shots * wording",
    "facets": "across judge * wording as sample",
}
"""What is written as a product of names, each with an example."""


def product_of(program: Program, syntax: Syntax, what: str = "axes") -> list[Name] | None:
    """Return the names that are joined by `*`, one of `PRODUCTS`; None for anything else, which is reported."""
    match syntax:
        case Name():
            return [syntax]
        case BinaryExpr(operator="*", left=left, right=right):
            first, second = product_of(program, left, what), product_of(program, right, what)
            return None if first is None or second is None else [*first, *second]
    program.diagnostics.error("E0106", f"this is a product of {what}", syntax.span, help=f"write `{PRODUCTS[what]}`")
    return None
