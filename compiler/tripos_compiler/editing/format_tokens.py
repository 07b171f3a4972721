"""The tokens of a spec that parses, with the comments and line breaks that the syntax tree leaves out.

Numbers, strings and table rows are taken from the tree, so nothing here knows how those are written.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import fields
from typing import Literal

from tripos_compiler.source import (
    Block,
    CallExpr,
    Generic,
    Group,
    IndexExpr,
    Name,
    Node,
    Number,
    Record,
    TableRow,
    Text,
    UnaryExpr,
    dataclass,
)

Kind = Literal["word", "number", "string", "row", "sign", "comment", "newline"]

PIECE = re.compile(
    r"(?P<space>(?:[^\S\n]|\ufeff)+)|(?P<newline>\n)|(?P<comment>#[^\n]*)|(?P<word>\w+)"
    r"|(?P<sign>\.\.|==|!=|<=|>=|->|[\s\S])"
)
LOOKALIKES = str.maketrans("，、：（）［］｛｝＝？", ",,:()[]{}=?")
"""What an input method puts in for our own signs. Where the parser takes one, ours is written."""


QUOTES = '"“”'
"""The signs with which a name may begin that stands in quotation marks, as a value of a choice may."""


@dataclass(frozen=True)
class FormatToken:
    """A piece of a spec: characters `start:end`, with the text that is written for it."""

    kind: Kind
    text: str
    start: int
    end: int


class Scan:
    """The tokens of a file in order, and what its tree says of single places in it: offsets of characters."""

    def __init__(self, text: str, tree: Block) -> None:
        self.text = text
        self.tight: set[int] = set()
        """Brackets of calls, indexes and type arguments: they touch what stands before them."""
        self.hugging: set[int] = set()
        """Signs of one operand and the `<` of types: what follows touches them."""
        self.closing: set[int] = set()
        """The `>` of types: it touches what stands before it."""
        self.listing: set[int] = set()
        """The brackets that close a list of one in round brackets: the comma before them makes it one."""
        self.records: dict[int, Block] = {}
        """The blocks that stand where a type does, by the place of their brace."""
        atoms: dict[int, tuple[Kind, int]] = {}
        for node in nodes(tree):
            match node:
                case Number(span=span):
                    atoms[span.start] = ("number", span.end)
                case Text(span=span):
                    atoms[span.start] = ("string", span.end)
                case Name(span=span) if span.end - span.start > 1 and text[span.start] in QUOTES:
                    atoms[span.start] = ("string", span.end)
                case TableRow(span=span):
                    atoms[span.start] = ("row", span.end)
                case CallExpr(function=of) | IndexExpr(of=of):
                    self.tight.add(of.span.end)
                case Generic(span=span, name=name):
                    self.tight.add(name.span.end)
                    self.hugging.add(name.span.end)
                    self.closing.add(span.end - 1)
                case Group(span=span, listed=True) if text[span.start] in "(（":
                    self.listing.add(span.end - 1)
                case UnaryExpr(span=span, operator="-"):
                    self.hugging.add(span.start)
                case Record(block=block):
                    self.records[block.span.start] = block
        self.tokens = list(_tokens(text, atoms))
        self._starts = [token.start for token in self.tokens]

    def within(self, start: int, end: int) -> list[FormatToken]:
        """Return the tokens that begin in `start:end`."""
        return self.tokens[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def breaks(self, start: int, end: int) -> bool:
        """Return true if `start:end` holds a line break, in a string or outside one."""
        return "\n" in self.text[start:end]


def nodes(tree: Node) -> Iterator[Node]:
    """Yield every node of a tree, without recursion."""
    waiting: list[Node] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for field in fields(node):
            value = getattr(node, field.name)
            if isinstance(value, Node):
                waiting.append(value)
            elif isinstance(value, tuple):
                waiting.extend(item for item in value if isinstance(item, Node))


def _tokens(text: str, atoms: dict[int, tuple[Kind, int]]) -> Iterator[FormatToken]:
    place = 0
    while place < len(text):
        if place in atoms:
            kind, end = atoms[place]
            yield FormatToken(kind, text[place:end], place, end)
            place = end
            continue
        piece = PIECE.match(text, place)
        assert piece is not None and piece.lastgroup is not None
        match piece.lastgroup:
            case "newline" | "word" as kind:
                yield FormatToken(kind, piece[0], place, piece.end())
            case "comment":
                yield FormatToken("comment", piece[0].rstrip(), place, piece.end())
            case "sign":
                yield FormatToken("sign", piece[0].translate(LOOKALIKES), place, piece.end())
        place = piece.end()
