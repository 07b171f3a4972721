"""The statements of one file, without what other files say: for outlines, folding and what stands where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.resolve import scorer_name
from tripos_compiler.source import Source
from tripos_compiler.statements import read_statements
from tripos_compiler.syntax.memory import ParseMemory
from tripos_compiler.syntax.parse import parse
from tripos_compiler.syntax.tree import Block, Name


@dataclass(frozen=True)
class Outline:
    """A file as it was parsed. Right until the file is parsed again with the same memory."""

    source: Source
    block: Block
    statements: tuple[Statement, ...]

    def around(self, offset: int) -> list[Statement]:
        """The statements that a place lies in, from the outermost to the innermost."""
        found: list[Statement] = []
        inside: tuple[Statement, ...] = self.statements
        while True:
            inner = next((each for each in inside if each.span.start <= offset <= each.span.end), None)
            if inner is None:
                return found
            found.append(inner)
            inside = inner.body

    def declared_at(self, start: int) -> Statement | None:
        """The statement that declares the name that begins at a place."""
        for statement in reversed(self.around(start)):
            name = name_of(statement)
            if name is not None and name.span.start == start:
                return statement
        return None


def outline_of(path: str, text: str, memory: ParseMemory | None = None) -> Outline:
    """The outline of a text; what is malformed is left out.

    >>> [statement.construct for statement in outline_of("x", "role judge\\naxis {}\\n").statements]
    ['role']
    """
    source, passed = Source(path, text), Diagnostics()
    block = parse(source, passed, memory)
    return Outline(source, block, read_statements(block, passed))


def name_of(statement: Statement) -> Name | None:
    """The name that a statement declares."""
    if "name" in statement.values:
        return statement.find_name("name")
    if statement.construct in ("scorer", "formula", "python_scorer", "named"):
        return scorer_name(statement.values.get("call"))
    return None


def every(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """Statements with all that stand in their blocks, in the order of the text."""
    for statement in statements:
        yield statement
        yield from every(statement.body)
