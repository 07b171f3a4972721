"""Lark's trees to our syntax tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lark import Token, Tree

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Source, Span
from tripos_compiler.syntax.strings import read_string, read_text
from tripos_compiler.syntax.tree import (
    Argument,
    BinaryExpr,
    Block,
    CallExpr,
    Entry,
    Generic,
    Group,
    Index,
    Line,
    Member,
    Name,
    Number,
    OptionalExpr,
    RangeExpr,
    Record,
    Symbol,
    Syntax,
    TableRow,
    UnaryExpr,
)

Child = Token | Tree[Token]


class Builder:
    """Builds the nodes of one source."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.diagnostics = diagnostics

    def file(self, tree: Tree[Token]) -> Block:
        """The block of a whole file."""
        return Block(Span(self.source, 0, len(self.source.text)), self._lines(tree.children))

    def hole(self, tree: Tree[Token]) -> tuple[Syntax, ...]:
        """The elements of a placeholder."""
        return tuple(self.expression(child) for child in tree.children)

    def _span(self, node: Child) -> Span:
        if isinstance(node, Token):
            return Span(self.source, node.start_pos or 0, node.end_pos or 0)
        if getattr(node.meta, "empty", True):
            return Span(self.source, 0, 0)
        return Span(self.source, node.meta.start_pos, node.meta.end_pos)

    def _lines(self, children: Sequence[Any]) -> tuple[Line, ...]:
        return tuple(
            Line(self._span(line), tuple(self._entry(entry) for entry in line.children))
            for lines in children
            for line in lines.children
        )

    def _entry(self, tree: Tree[Token]) -> Entry:
        span = self._span(tree)
        elements: list[Syntax] = []
        block: Block | None = None
        broken = False
        for child in tree.children:
            if isinstance(child, Token) and child.type == "ERROR":
                broken = True
                continue
            if isinstance(child, Tree) and child.data == "block":
                block = Block(self._span(child), self._lines(child.children))
            else:
                elements.append(self.expression(child))
        return Entry(span, tuple(elements), block, broken)

    def expression(self, node: Child) -> Syntax:
        """The syntax of one element."""
        span = self._span(node)
        if isinstance(node, Token):
            return self._token(span, node)
        children = node.children
        match node.data:
            case "binary" | "range" | "unary":
                return self._operation(span, str(node.data), children)
            case "member":
                return Member(span, self.expression(children[0]), self._name(children[1]))
            case "call":
                return CallExpr(span, self.expression(children[0]), self._arguments(children[1:]))
            case "index":
                return Index(span, self.expression(children[0]), self._arguments(children[1:]))
            case "optional":
                return OptionalExpr(span, self.expression(children[0]))
            case "generic":
                return Generic(span, self._name(children[0]), self.expression(children[1]))
            case "group" | "items":
                return Group(span, self._arguments(children))
            case "record":
                block = children[0]
                assert isinstance(block, Tree)
                return Record(span, Block(span, self._lines(block.children)))
        raise AssertionError(f"no such rule: {node.data}")

    def _operation(self, span: Span, rule: str, children: Sequence[Child]) -> Syntax:
        if rule == "range":
            return RangeExpr(span, self.expression(children[0]), self.expression(children[1]))
        if rule == "unary":
            return UnaryExpr(span, str(children[0]), self.expression(children[1]))
        left, operator, right = children
        name = " ".join(str(operator).split())
        return BinaryExpr(span, name, self.expression(left), self.expression(right))

    def _token(self, span: Span, token: Token) -> Syntax:
        match token.type:
            case "NAME":
                return Name(span, str(token))
            case "NUMBER":
                return Number(span, self._number(span, str(token)))
            case "STRING":
                return read_string(span, str(token), self.diagnostics)
            case "TEXT":
                return read_text(span, str(token))
            case "TABLE_ROW":
                return self._table_row(span, str(token))
        return Symbol(span, str(token))

    def _number(self, span: Span, text: str) -> int | float:
        value = float(text)
        whole = not any(char in text for char in ".eE")
        if math.isfinite(value) and (not whole or abs(int(text)) < 2**63):
            return int(text) if whole else value
        help_ = f"the largest whole number is {2**63 - 1}"
        self.diagnostics.error("E0101", "this number is too large", span, help=help_)
        return 1

    def _table_row(self, span: Span, row: str) -> TableRow:
        cells: list[Name] = []
        offset = span.start + 1
        for cell in row[1:-1].split("|"):
            text = cell.strip()
            start = offset + cell.find(text) if text else offset
            cells.append(Name(Span(self.source, start, start + max(len(text), 1)), text))
            offset += len(cell) + 1
        return TableRow(span, tuple(cells))

    def _name(self, node: Child) -> Name:
        return Name(self._span(node), str(node))

    def _arguments(self, children: Sequence[Any]) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        for args in children:
            for arg in args.children:
                parts = list(arg.children)
                name = self._name(parts.pop(0)) if arg.data == "named_arg" else None
                elements = tuple(self.expression(part) for part in parts)
                arguments.append(Argument(self._span(arg), name, elements))
        return tuple(arguments)
