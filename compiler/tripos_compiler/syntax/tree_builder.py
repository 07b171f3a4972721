"""The builder of the syntax tree: branches to nodes, and string literals to texts."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.language.library import in_bounds
from tripos_compiler.source import (
    Argument,
    BinaryExpr,
    Block,
    CallExpr,
    Entry,
    Generic,
    Group,
    IndexExpr,
    Line,
    Member,
    Name,
    Number,
    Offsets,
    OptionalExpr,
    RangeExpr,
    Record,
    Span,
    SymbolExpr,
    Syntax,
    TableRow,
    Text,
    UnaryExpr,
)
from tripos_compiler.syntax.automaton import Branch, Token
from tripos_compiler.syntax.recovery import BROKEN, Place

ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_string(span: Span, raw: str, diagnostics: Diagnostics) -> Text:
    """Return the text of a `"one line"` literal, escapes resolved."""
    first, last = 1, len(raw) - 1
    parts: list[str] = []
    indexes, places = [0], [span.low + 1]
    length = 0
    while (escape := raw.find("\\", first, last)) >= 0:
        escaped = raw[escape + 1]
        if escaped not in ESCAPES:
            place = Span(span.anchor, span.low + escape, span.low + escape + 2)
            diagnostics.error("E0105", f"unknown escape `\\{escaped}`", place, help='write \\n, \\t, \\" or \\\\')
        parts += [raw[first:escape], ESCAPES.get(escaped, escaped)]
        length += escape - first + 1
        first = escape + 2
        indexes.append(length)
        places.append(span.low + first)
    parts.append(raw[first:last])
    return Text(span, "".join(parts), Offsets(span.anchor, tuple(indexes), tuple(places)))


def read_text(span: Span, raw: str) -> Text:
    """Return the text of a triple-quoted literal: first line break dropped, common indent removed, trailing line
    dropped."""
    body, start = raw[3:-3], span.low + 3
    lines: list[tuple[int, str]] = []
    for line in body.split("\n"):
        lines.append((start, line.removesuffix("\r")))
        start += len(line) + 1
    if len(lines) > 1 and not lines[0][1].strip():
        lines = lines[1:]
    if len(lines) > 1 and not lines[-1][1].strip():
        lines = lines[:-1]
    indent = min((len(line) - len(line.lstrip()) for _, line in lines if line.strip()), default=0)
    kept: list[str] = []
    indexes: list[int] = []
    places: list[int] = []
    length = 0
    for number, (place, line) in enumerate(lines):
        if number:  # the line break before
            indexes.append(length)
            places.append(place - 1)
            length += 1
        indexes.append(length)
        places.append(place + indent)
        kept.append(line[indent:] if line.strip() else "")
        length += len(kept[-1])
    indexes.append(length)
    places.append(span.high - 3)
    return Text(span, "\n".join(kept), Offsets(span.anchor, tuple(indexes), tuple(places)))


class Builder:
    """Builds the nodes of one piece. `place` gives the span of a stretch of it."""

    def __init__(self, place: Place, diagnostics: Diagnostics) -> None:
        self.place = place
        self.diagnostics = diagnostics

    def line(self, branch: Branch) -> Line:
        """Return the entries of a line."""
        return Line(self._span(branch), tuple(self._entry(entry) for entry in branch.branches()))

    def elements(self, branch: Branch) -> tuple[Syntax, ...]:
        """Return the elements of a placeholder."""
        return tuple(self.expression(child) for child in branch.children)

    def _span(self, node: Branch | Token) -> Span:
        return self.place(node.start, node.end)

    def _lines(self, children: Sequence[Branch | Token]) -> tuple[Line, ...]:
        return tuple(self.line(line) for lines in children for line in _branch(lines).branches())

    def _entry(self, branch: Branch) -> Entry:
        elements: list[Syntax] = []
        block: Block | None = None
        broken = False
        for child in branch.children:
            if isinstance(child, Token) and child.kind == BROKEN:
                broken = True
            elif isinstance(child, Branch) and child.rule == "block":
                block = Block(self._span(child), self._lines(child.children))
            else:
                elements.append(self.expression(child))
        return Entry(self._span(branch), tuple(elements), block, broken)

    def expression(self, node: Branch | Token) -> Syntax:
        """Return the syntax of one element."""
        span = self._span(node)
        if isinstance(node, Token):
            return self._token(span, node)
        children = node.children
        match node.rule:
            case "binary" | "range" | "unary":
                return self._operation(span, node.rule, children)
            case "member":
                return Member(span, self.expression(children[0]), self._name(children[1]))
            case "call":
                return CallExpr(span, self.expression(children[0]), self._arguments(children[1:], node.rule))
            case "index":
                return IndexExpr(span, self.expression(children[0]), self._arguments(children[1:], node.rule))
            case "optional":
                return OptionalExpr(span, self.expression(children[0]))
            case "generic":
                return Generic(span, self._name(children[0]), self.expression(children[1]))
            case "group" | "items":
                arguments = self._arguments(children, node.rule)
                listed = node.rule == "items" or _has_trailing(children)
                return Group(span, arguments, len(arguments) == 1 and listed)
            case "record":
                return Record(span, Block(span, self._lines(_branch(children[0]).children)))
        raise AssertionError(f"no such rule: {node.rule}")

    def _operation(self, span: Span, rule: str, children: Sequence[Branch | Token]) -> Syntax:
        if rule == "range":
            return RangeExpr(span, self.expression(children[0]), self.expression(children[1]))
        if rule == "unary":
            return UnaryExpr(span, _token(children[0]).text, self.expression(children[1]))
        left, operator, right = children
        name = " ".join(_token(operator).text.split())
        return BinaryExpr(span, name, self.expression(left), self.expression(right))

    def _token(self, span: Span, token: Token) -> Syntax:
        match token.kind:
            case "NAME":
                return Name(span, token.text)
            case "NUMBER":
                return Number(span, self._number(span, token.text))
            case "STRING":
                return read_string(span, token.text, self.diagnostics)
            case "TEXT":
                return read_text(span, token.text)
            case "TABLE_ROW":
                return self._table_row(span, token.text)
        return SymbolExpr(span, token.text)

    def _number(self, span: Span, text: str) -> int | float:
        value = float(text)
        whole = not any(char in text for char in ".eE")
        if in_bounds(value) and (not whole or abs(int(text)) < 2**63):
            return int(text) if whole else value
        help_ = f"the largest whole number is {2**63 - 1}, and the largest of any other 1e70"
        self.diagnostics.error("E0101", "this number is too large", span, help=help_)
        return 1

    def _table_row(self, span: Span, row: str) -> TableRow:
        cells: list[Name] = []
        offset = span.low + 1
        for cell in row[1:-1].split("|"):
            text = cell.strip()
            start = offset + cell.find(text) if text else offset
            cells.append(Name(Span(span.anchor, start, start + max(len(text), 1)), text))
            offset += len(cell) + 1
        return TableRow(span, tuple(cells))

    def _name(self, node: Branch | Token) -> Name:
        return Name(self._span(node), _token(node).text)

    def _argument_name(self, node: Branch | Token, within: str) -> tuple[Name | None, Member | None]:
        """Return the name before a colon, and the dotted name that it is, as a slice may have. A value of a choice may
        need quotation marks."""
        named = self.expression(node)
        match named:
            case Name():
                return named, None
            case Text(value=value):
                return Name(named.span, value), None
            case Member() if within == "index" and (path := dotted(named)) is not None:
                return Name(named.span, path), named
        span = named.span
        written = span.source.text[span.start : span.end]
        help_ = "write a name before the colon, or leave the colon out"
        if isinstance(named, Member) and dotted(named) is not None:
            help_ = f"a field stands before a colon in a slice of a measure only: `measure[{written}: value]`"
        self.diagnostics.error("E0101", f"this is no name of an argument: `{written}`", span, help=help_)
        return None, None

    def _arguments(self, children: Sequence[Branch | Token], within: str) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        for args in children:
            for arg in _branch(args).branches():
                if arg.rule == "trailing":
                    continue
                parts = arg.children
                is_named = arg.rule == "named_arg"
                name, path = self._argument_name(parts[0], within) if is_named else (None, None)
                if is_named and name is None:
                    continue  # it was reported
                elements = tuple(self.expression(part) for part in parts[1 if is_named else 0 :])
                arguments.append(Argument(self._span(arg), name, elements, path))
        return tuple(arguments)


def dotted(syntax: Syntax) -> str | None:
    """Return a dotted name as it is meant, without spaces; None of anything else."""
    match syntax:
        case Name(text=text):
            return text
        case Member(of=of, name=name):
            before = dotted(of)
            return None if before is None else f"{before}.{name.text}"
    return None


def _has_trailing(children: Sequence[Branch | Token]) -> bool:
    """Return true if a comma stands after the last argument."""
    return any(arg.rule == "trailing" for args in children for arg in _branch(args).branches())


def _branch(node: Branch | Token) -> Branch:
    assert isinstance(node, Branch)
    return node


def _token(node: Branch | Token) -> Token:
    assert isinstance(node, Token)
    return node
