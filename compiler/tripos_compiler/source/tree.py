"""Syntax tree: statements with a head and an optional block, and expressions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import CopiedText, Segment, Source, Span


@dataclass(frozen=True)
class Node:
    span: Span


N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Name(Node):
    text: str


@dataclass(frozen=True)
class Number(Node):
    value: int | float


@dataclass(frozen=True)
class Offsets:
    """Positions in the source of the characters of a string, stored as contiguous runs.

    From character `indexes[n]` on, the characters are at `places[n]` of the anchor and after. `offsets[i]` counts from
    the start of the source; the offset at the length of the string is its end.
    """

    anchor: Source | Segment | CopiedText
    indexes: tuple[int, ...]
    places: tuple[int, ...]

    def __getitem__(self, index: int) -> int:
        place = self.place(index)
        return place if isinstance(self.anchor, Source) else self.anchor.start + place

    def place(self, index: int) -> int:
        """Return the offset counted from the start of the anchor."""
        run = bisect_right(self.indexes, index) - 1
        return self.places[run] + index - self.indexes[run]


@dataclass(frozen=True)
class Text(Node):
    """String. `offsets[i]` is the position in the source of `value[i]`; one more offset gives the end."""

    value: str
    offsets: Offsets
    filled: bool = False
    """Whether a cell of a `for each` was put into it: then it may stand for a name."""

    def stretch(self, start: int, end: int) -> Span:
        """Return the span of `value[start:end]`."""
        first = self.offsets.place(start)
        return Span(self.offsets.anchor, first, self.offsets.place(end - 1) + 1 if end > start else first)


@dataclass(frozen=True)
class Member(Node):
    of: Syntax
    name: Name


@dataclass(frozen=True)
class Argument(Node):
    """Argument of a call. Several elements form a phrase such as `f1 by subject`."""

    name: Name | None
    elements: tuple[Syntax, ...]
    path: Member | None = None
    """Dotted form of `name`, as in `figure[row.field: value]`."""


@dataclass(frozen=True)
class CallExpr(Node):
    function: Syntax
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class IndexExpr(Node):
    of: Syntax
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class UnaryExpr(Node):
    operator: str
    value: Syntax


@dataclass(frozen=True)
class BinaryExpr(Node):
    operator: str
    left: Syntax
    right: Syntax


@dataclass(frozen=True)
class RangeExpr(Node):
    low: Syntax
    high: Syntax


@dataclass(frozen=True)
class Group(Node):
    """`(a, b)` or `[a, b]`. `(a)` is `a` in brackets; `(a,)` and `[a]` are lists with one element."""

    arguments: tuple[Argument, ...]
    listed: bool = False
    """Whether it is a list with one element."""


@dataclass(frozen=True)
class Generic(Node):
    """`list<text>`"""

    name: Name
    of: Syntax


@dataclass(frozen=True)
class OptionalExpr(Node):
    of: Syntax


@dataclass(frozen=True)
class Record(Node):
    """`{ a text }` in the position of a type."""

    block: Block


@dataclass(frozen=True)
class SymbolExpr(Node):
    """`=` or `->` in a head."""

    text: str


@dataclass(frozen=True)
class TableRow(Node):
    """`| a | b |`: the cells, without surrounding space."""

    cells: tuple[Name, ...]


Syntax = (
    Name
    | Number
    | Text
    | Member
    | CallExpr
    | IndexExpr
    | UnaryExpr
    | BinaryExpr
    | RangeExpr
    | Group
    | Generic
    | OptionalExpr
    | Record
    | SymbolExpr
    | TableRow
)


@dataclass(frozen=True)
class Entry(Node):
    """Statement. The parser has already reported a `broken` one: it has no elements, and its span marks the
    position."""

    elements: tuple[Syntax, ...]
    block: Block | None = None
    broken: bool = False


@dataclass(frozen=True)
class Line(Node):
    """Statements on one line, separated by commas."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Block(Node):
    lines: tuple[Line, ...]

    def entries(self) -> Iterator[Entry]:
        """Yield every statement that is not broken."""
        for line in self.lines:
            yield from (entry for entry in line.entries if not entry.broken)


# Walks


def child_nodes(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below a node, in the order of the source."""
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (child for child in value if isinstance(child, Node))


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it, each before those below it and in the order of the source."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(child_nodes(node)))


def transform(node: N, change: Callable[[Node], Node | None]) -> N:
    """Return a node with `change` applied to it and to all nodes below it. If `change` returns a
    node, it replaces the original with all nodes below it; if it returns None, the nodes below are transformed."""

    def changed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(changed, value))
        if not isinstance(value, Node):
            return value
        new = change(value)
        if new is not None:
            return new
        own = {field.name: getattr(value, field.name) for field in fields(value) if field.name != "span"}
        return replace(value, **{name: changed(part) for name, part in own.items()})

    new: N = changed(node)
    return new


def free_names(node: Node | None) -> Iterator[Name]:
    """Yield the names that an expression looks up, except fields, functions, and the elements of its own loops."""
    match node:
        case None:
            return
        case Name():
            yield node
        case Member(of=of):
            yield from free_names(of)
        case CallExpr(arguments=arguments):
            for argument in arguments:
                yield from free_names(argument)
        case Argument(elements=(value, Name(text="each"), BinaryExpr(left=Name() as own, right=over), *rest)):
            yield from free_names(over)
            yield from (name for part in (value, *rest) for name in free_names(part) if name.text != own.text)
        case Argument(elements=elements):
            for element in elements:
                yield from free_names(element)
        case _:
            for child in child_nodes(node):
                yield from free_names(child)


def describe_syntax(syntax: Syntax) -> str:
    """Return a few words that name a piece of syntax in a message."""
    match syntax:
        case Name(text=text) | SymbolExpr(text=text):
            return f"`{text}`"
        case Number(value=value):
            return f"`{value}`"
        case Text(value=value):
            shown = "".join(char if char.isprintable() else "�" for char in value[:20])
            return f'"{shown}…"' if len(value) > 20 else f'"{shown}"'
        case CallExpr(function=Name(text=text)):
            return f"`{text}(…)`"
        case Member(of=Name(text=outer), name=Name(text=text)):
            return f"`{outer}.{text}`"
        case RangeExpr():
            return "a range"
        case TableRow():
            return "a table row"
        case Record():
            return "a record"
    return "an expression"


def dimension_text(syntax: Syntax) -> str:
    """Return the notation of a dimension in the spec and the plan: `stage`, `q.subject`."""
    match syntax:
        case Name(text=text):
            return text
        case Member(of=of, name=name):
            return f"{dimension_text(of)}.{name.text}"
    return describe_syntax(syntax)
