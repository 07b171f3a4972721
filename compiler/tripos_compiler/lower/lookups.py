"""The names that expressions and texts look up, before it is known what they mean."""

from __future__ import annotations

from collections.abc import Iterator

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.lower.templates import HOLE
from tripos_compiler.syntax.parse import parse_hole
from tripos_compiler.syntax.tree import BinaryExpr, CallExpr, Group, Index, Member, Name, Syntax, Text, UnaryExpr


def looked_up(syntax: Syntax | None) -> Iterator[Name]:
    """The names that an expression looks up; not what stands behind a dot, and not what is called."""
    match syntax:
        case Name():
            yield syntax
        case Member(of=of):
            yield from looked_up(of)
        case UnaryExpr(value=value):
            yield from looked_up(value)
        case BinaryExpr(left=left, right=right):
            yield from looked_up(left)
            yield from looked_up(right)
        case CallExpr(arguments=arguments) | Group(arguments=arguments) | Index(arguments=arguments):
            for argument in arguments:
                for element in argument.elements:
                    yield from looked_up(element)


def looked_up_in(statement: Statement) -> Iterator[Name]:
    """The names in the conditions, values and texts of one statement, and not of its block."""
    for key in ("cond", "value", "filter", "others", "start"):
        yield from looked_up(statement.find(key))
    for _, text in statement.labels():
        yield from _in_holes(text)


def _in_holes(text: Text) -> Iterator[Name]:
    for hole in HOLE.finditer(text.value):
        elements = parse_hole(text.span.source, text, hole.start(1), hole.end(1), Diagnostics())
        for element in elements or ():
            yield from looked_up(element)
