"""Parser: tokens to branches with error recovery, and branches to the nodes of the syntax tree.

A file is parsed piece by piece, a placeholder of a template as a whole. Every independent mistake is reported in one
run: after a mistake the parser returns to the start of the statement, marks it as broken and continues with the next
one. A block after a broken head is still read, so that mistakes inside it are found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import lru_cache

from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.habits import AFTER_BLOCK, notation_for
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Segment, Source, Span
from tripos_compiler.source.tree import (
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
    SymbolExpr,
    Syntax,
    TableRow,
    Text,
    UnaryExpr,
)
from tripos_compiler.syntax.grammar import END, Branch, Machine, Token, tables
from tripos_compiler.syntax.lexer import (
    CLOSERS,
    OPENERS,
    Ending,
    Parsed,
    ParseMemory,
    Piece,
    lex,
    line_breaks,
    raw_tokens,
    split_pieces,
)

# Tokens to branches, with recovery

OPERATORS = frozenset(
    ("AND", "OR", "NOT", "IN", "NOT_IN", "EQ", "NE", "LE", "GE", "LT", "GT", "PLUS", "MINUS", "STAR", "SLASH", "EQUALS")
)
BOUNDARIES = frozenset(("_NL", "_LBRACE", "_RBRACE", "_COMMA"))

HUMAN = {
    "_RPAR": "`)`",
    "_RSQB": "`]`",
    "_RBRACE": "`}`",
    "_LBRACE": "`{`",
    "_NL": "the end of the line",
    "_COMMA": "`,`",
    END: "the end of the file",
    "EQUALS": "`=`",
    "ARROW": "`->`",
    "NAME": "a name",
    "STRING": "a string",
    "TEXT": "a string",
    "NUMBER": "a number",
}


VERSION = re.compile(r"(?<![\w.])\d+\.\d+\.\d+(?![\w.])")
ASSIGNING = frozenset(construct.starts_with for construct in CONSTRUCTS if "= VALUE" in construct.shape.text)
"""The first words of statements that give a name a value."""
FOLLOWING = re.compile(r"[ \t]*([\w.]+)")
"""Word after a colon."""

BROKEN = "ERROR"
"""Token for a statement that could not be read."""

Place = Callable[[int, int], Span]
"""Returns the span of `start:end` of the parsed text, in which tokens are counted from its start."""


@dataclass
class SyntaxReport:
    """Destination of syntax errors, with their code. `unclosed` are the positions of unclosed round and square
    brackets; `slipped` is true if an unpaired bracket was reported earlier in the file."""

    place: Place
    diagnostics: Diagnostics
    code: str
    unclosed: frozenset[int] = frozenset()
    slipped: bool = False
    errors: int = 0
    """Number of diagnostics that have been examined."""
    lines: set[int] = field(default_factory=set)
    """Lines with a syntax error."""
    unpaired: int | None = None
    """First position of an unpaired bracket."""

    def look_through(self, source: Source) -> None:
        """Record the positions of syntax errors that have been reported for a source."""
        for earlier in self.diagnostics.items[self.errors :]:
            place = earlier.labels[0].span if earlier.labels else None
            if earlier.code.startswith("E010") and place and place.source is source:
                self.lines.add(source.position(place.start)[0])
                if earlier.code == "E0103":
                    self.unpaired = place.start if self.unpaired is None else min(self.unpaired, place.start)
        self.errors = len(self.diagnostics.items)


def read_lines(tokens: Iterable[Token], report: SyntaxReport) -> Branch:
    """Return the branch of a file or a piece."""
    return _read("file", tokens, report) or Branch("file", 0, 0, [])


def read_hole(tokens: Iterable[Token], report: SyntaxReport) -> Branch | None:
    """Return the branch of a placeholder, or None if it is malformed, which is reported once."""
    return _read("hole", tokens, report)


def _read(start: str, tokens: Iterable[Token], report: SyntaxReport) -> Branch | None:
    diagnostics = report.diagnostics
    machine = Machine(tables(), start)
    skipping = False
    depth = lost = 0
    last: Token | None = None
    for token in tokens:
        if skipping:
            # Skip to the end of the broken statement, or to its block.
            if depth or token.kind not in BOUNDARIES:
                opens = token.kind in OPENERS and token.start not in report.unclosed
                depth = max(0, depth + opens - (token.kind in CLOSERS))
                note_skipped(diagnostics, token)
                lost = token.end
                continue
            skipping = False
            machine.extend(BROKEN, lost)
        if not machine.feed(token):
            _report(machine, token, last, report)
            if start == "hole":
                return None
            note_skipped(diagnostics, token)
            if not _recover(machine, token, diagnostics):
                diagnostics.skipped_files = True
                return None
            skipping = True
            depth = 0
            ends = token.kind in BOUNDARIES
            lost = last.end if ends and last is not None else token.end
            # A line after a trailing operator was meant as its continuation and is part of the mistake.
            if ends and not (token.kind == "_NL" and last is not None and last.kind in OPERATORS):
                machine.extend(BROKEN, lost)
                skipping = not machine.feed(token)
        last = token
    if skipping:
        machine.extend(BROKEN, lost)
    branch = machine.finish()
    if branch is None:
        end = last or Token(END, "", 0, 0)
        _report(machine, end, None, report)
        if start == "hole":
            return None
        if _recover(machine, end, diagnostics):
            machine.extend(BROKEN, end.end)
            branch = machine.finish()
        if branch is None:
            diagnostics.skipped_files = True
    return branch


def _recover(machine: Machine, token: Token, diagnostics: Diagnostics) -> bool:
    """Pop to a state that accepts a broken statement, and feed one. `_read` extends it over the skipped tokens.

    Text after a block on the same line is treated as a statement of its own; otherwise recovery would reenter the
    block.
    """
    start = token.start
    if machine.top == "_RBRACE":
        machine.feed(Token("_NL", "\n", start, start))
    while not machine.takes(BROKEN):
        value = machine.pop()
        if value is None:
            return False
        start = note_skipped(diagnostics, value, start)
    return machine.feed(Token(BROKEN, "", start, start))


def note_skipped(diagnostics: Diagnostics, value: Branch | Token, start: int | None = None) -> int:
    """Record the names in a skipped part, and return its first position, or `start` if that is earlier."""
    first = value.start if start is None else start
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Branch):
            waiting.extend(item.children)
            continue
        first = min(first, item.start)
        if item.kind == "NAME":
            diagnostics.skipped_names.add(item.text)
    return first


def _version_at(text: str, place: int) -> str | None:
    """Return the unquoted version number at a position, or None.

    >>> _version_at("benchmark quiz 1.2.0 {", 19), _version_at("score a = 1 2", 12)
    ('1.2.0', None)
    """
    line = text[text.rfind("\n", 0, place) + 1 :]
    at = place - (len(text) - len(line))
    return next(
        (match[0] for match in VERSION.finditer(line.partition("\n")[0]) if match.start() <= at < match.end()), None
    )


def _report(machine: Machine, token: Token, last: Token | None, report: SyntaxReport) -> None:
    span = report.place(token.start, token.end)
    source, start = span.source, span.start
    line = source.position(start)[0]
    ends = token.kind in ("_NL", "_LBRACE", "_RBRACE")
    if report.slipped and ends:
        return
    report.look_through(source)
    if line in report.lines:  # one syntax error a line: the rest follow from the first
        return
    if ends and report.unpaired is not None and report.unpaired <= start:
        return
    problem = "the line ends too early" if token.kind == "_NL" else f"`{token.text}` does not fit here"
    expected = sorted({HUMAN[name] for name in machine.expected() if name in HUMAN})
    help_ = f"expected {' or '.join(expected)}" if 0 < len(expected) <= 3 else None
    if token.kind == "_NL" and last is not None and last.kind in OPERATORS:
        problem = f"a line cannot end in `{last.text}`"
        help_ = "go on on this line, or put the whole expression in brackets"
    if token.text.startswith('"') and "{{" in token.text:
        problem = "a hole ends at the first `}}`, and here that stands inside of a text"
        help_ = "write the text with holes as a `let` before, and its name in this hole"
    if token.kind == "NUMBER" and token.text.startswith("-"):
        help_ = f"for a difference write a space after the minus: `- {token.text[1:]}`"
    if last is not None and last.kind == "NAME" and token.text == ":":
        after = FOLLOWING.match(source.text, span.end)
        text = f"{last.text} {after[1]}" if after is not None else f"{last.text} …"
        help_ = f"write names and values side by side, without a colon: `{text}`"
        words = source.text[source.text.rfind("\n", 0, start) + 1 : start].split()
        if len(words) == 2 and words[0] in ASSIGNING:
            help_ = f"a value follows `=`: `{words[0]} {last.text} = {after[1] if after is not None else '…'}`"
    is_word = token.text.isidentifier()
    if last is not None and last.kind == "_RBRACE" and is_word and not machine.is_inside("_LANGLE"):
        opened = machine.last("_LBRACE")
        head = "" if opened is None else source.text[: report.place(opened.start, opened.end).start].rstrip()
        word = re.search(r"\w*\Z", head)
        assert word is not None
        help_ = f"a block ends its statement: write `{token.text}` before the `{{`, or on a line of its own"
        help_ = AFTER_BLOCK.get((word[0], token.text), help_)
    if token.kind == "NUMBER" and (version := _version_at(source.text, start)) is not None:
        help_ = f'write a version in quotation marks: `"{version}"`'
    before = last.text if last is not None and last.end == token.start else ""
    notation = notation_for("operator", before + token.text) or notation_for("operator", token.text)
    if notation is not None:
        help_ = f"here it is written `{notation}`"
        if token.text == "|" and report.code == "E0403":
            help_ = "a filter is written as a function: `name(x)`"
    if last is not None and last.kind == "EQUALS" and token.kind in ("GT", "LT"):
        help_ = f"did you mean `{token.text}=`?"
    if last is not None and last.kind in ("GT", "LT") and token.kind == "EQUALS":
        help_ = f"did you mean `{last.text}=`?"
    signs = start - 1 if before == "/" else start
    if (
        source.text.startswith(("//", "/*"), signs)
        and "=" not in source.text[source.text.rfind("\n", 0, start) : start]
    ):
        help_ = "a comment begins with `#`"
    report.diagnostics.error(report.code, problem, span, help=help_)


# Branches to nodes

ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_string(span: Span, raw: str, diagnostics: Diagnostics) -> Text:
    """Return the text of a `"one line"` literal with escapes resolved."""
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
    """Return the text of a triple-quoted literal without its first line break, common indentation and last line."""
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
    """Builds the nodes of one piece. `place` returns the span of a range of it."""

    def __init__(self, place: Place, diagnostics: Diagnostics) -> None:
        self.place = place
        self.diagnostics = diagnostics

    def line(self, branch: Branch) -> Line:
        """Return the statements of a line."""
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
        """Return the name before a colon and its dotted form, which a slice may have. A choice value may be quoted."""
        named = self.expression(node)
        match named:
            case Name():
                return named, None
            case Text(value=value):
                return Name(named.span, value), None
            case Member() if within == "index" and (path := dotted(named)) is not None:
                return Name(named.span, path), named
        span = named.span
        text = span.source.text[span.start : span.end]
        help_ = "write a name before the colon, or leave the colon out"
        if isinstance(named, Member) and dotted(named) is not None:
            help_ = f"a field stands before a colon in a slice of a measure only: `measure[{text}: value]`"
        self.diagnostics.error("E0101", f"this is no name of an argument: `{text}`", span, help=help_)
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
    """Return a dotted name without spaces, or None for any other syntax."""
    match syntax:
        case Name(text=text):
            return text
        case Member(of=of, name=name):
            before = dotted(of)
            return None if before is None else f"{before}.{name.text}"
    return None


def _has_trailing(children: Sequence[Branch | Token]) -> bool:
    """Return true if there is a comma after the last argument."""
    return any(arg.rule == "trailing" for args in children for arg in _branch(args).branches())


def _branch(node: Branch | Token) -> Branch:
    assert isinstance(node, Branch)
    return node


def _token(node: Branch | Token) -> Token:
    assert isinstance(node, Token)
    return node


# Files and placeholders

DEEPEST = 96
"""Largest nesting depth of a statement, a limit of JSON parsers and of Python's stack instead of the language."""


def parse(source: Source, diagnostics: Diagnostics, memory: ParseMemory | None = None) -> Block:
    """Return the syntax tree of a file. Mistakes are reported to `diagnostics`; the readable part is returned.

    With a memory, unchanged pieces of earlier versions are not parsed again: tree and diagnostics are the same, and
    unchanged lines are the same objects as before (see `lexer.py`). Parse a source only once: later spans of it belong
    to this tree.
    """
    lines: list[Line] = []
    slipped = False
    source.segments.clear()
    for piece in split_pieces(source.text):
        text = source.text[piece.start : piece.end]
        parsed = memory.recall(source, piece, text, slipped) if memory is not None else None
        if parsed is None:
            parsed = _parse_piece(Segment(source, piece.start, len(text)), text, piece, slipped)
            if memory is not None:
                memory.keep(source, text, parsed)
        source.segments.append(parsed.segment)
        lines.extend(parsed.lines)
        reported = parsed.diagnostics
        diagnostics.extend(reported.items, reported.failures)
        diagnostics.skipped_names.update(reported.skipped_names)
        diagnostics.skipped_files |= reported.skipped_files
        slipped = slipped or any(item.code == "E0103" for item in reported.items)
    if memory is not None:
        memory.forget(source)
    return Block(Span(source, 0, len(source.text)), tuple(lines))


def _parse_piece(segment: Segment, text: str, piece: Piece, slipped: bool) -> Parsed:
    diagnostics = Diagnostics()
    tokens = lex(segment, text, diagnostics)
    tokens, unclosed = line_breaks(segment, tokens, len(text), piece.ending, diagnostics)
    lines: tuple[Line, ...] = ()
    if tokens:
        ends_in_file = piece.ending is Ending.FILE
        if not ends_in_file:  # the statement that a line break needs after it
            tokens.append(Token(BROKEN, "", len(text), len(text)))

        def place(start: int, end: int) -> Span:
            return Span(segment, start, end)

        branch = read_lines(tokens, SyntaxReport(place, diagnostics, "E0101", unclosed, slipped))
        branches = [line for lines in branch.branches() for line in lines.branches()]
        branches = branches if ends_in_file else branches[:-1]
        _prune(place, [entry for line in branches for entry in line.branches()], diagnostics)
        builder = Builder(place, diagnostics)
        lines = tuple(builder.line(line) for line in branches)
    return Parsed(segment, piece.ending, slipped, lines, diagnostics)


def parse_cell(cell: Name, diagnostics: Diagnostics) -> Syntax | None:
    """Return the expression in a cell of a table; None if it is malformed, which is reported."""
    text = Text(cell.span, cell.text, Offsets(cell.span.anchor, (0,), (cell.span.low,)))
    elements = parse_hole(cell.span.source, text, 0, len(cell.text), diagnostics)
    if elements is not None and len(elements) != 1:
        message = "a cell holds one value: a name, a number, an expression, or a text in quotation marks"
        help_ = f'write `"{cell.text}"` if it is a text'
        diagnostics.error("E0106", message, cell.span, help=help_)
        return None
    return elements[0] if elements else None


def parse_hole(source: Source, text: Text, start: int, end: int, diagnostics: Diagnostics) -> tuple[Syntax, ...] | None:
    """Return the elements of the expression between `{{` and `}}`, characters `start:end` of a string, or None if it is
    malformed, which is reported."""

    def place(low: int, high: int) -> Span:
        return text.stretch(start + low, start + high)

    written = text.value[start:end]
    branch = _sound_hole(written)
    if branch is None:
        tokens = _hole_tokens(written)
        if not tokens:
            where = Span(source, text.offsets[start], text.offsets[end])
            diagnostics.error("E0403", "this hole is empty", where, help="name a field: `{{ item.question }}`")
            return None
        mark = len(diagnostics.items)
        branch = read_hole(tokens, SyntaxReport(place, diagnostics, "E0403"))
        if branch is not None:
            _prune(place, [branch], diagnostics)
        if branch is None or len(diagnostics.items) > mark:
            return None if len(diagnostics.items) > mark else ()
    return Builder(place, diagnostics).elements(branch)


@lru_cache(maxsize=4096)
def _sound_hole(written: str) -> Branch | None:
    """Return the cached branch of a placeholder without errors; templates repeat the same few."""
    diagnostics = Diagnostics()
    segment = Segment(Source("", written), 0, len(written))

    def place(start: int, end: int) -> Span:
        return Span(segment, start, end)

    tokens = _hole_tokens(written)
    branch = read_hole(tokens, SyntaxReport(place, diagnostics, "E0403")) if tokens else None
    if branch is not None:
        _prune(place, [branch], diagnostics)
    return None if diagnostics.items else branch


def _hole_tokens(written: str) -> list[Token]:
    return [token for token in raw_tokens(written) if token.kind != "_NL"]


def _prune(place: Place, statements: list[Branch], diagnostics: Diagnostics) -> None:
    """Mark statements nested deeper than `DEEPEST` as broken, because later passes are recursive."""
    for statement in statements:
        level = [statement]
        for _ in range(DEEPEST):
            level = [child for parent in level for child in parent.children if isinstance(child, Branch)]
        if level:
            start = level[0].start
            help_ = "give a part of it a name, or write it flatter"
            diagnostics.error("E0101", "this is nested too deeply", place(start, start + 1), help=help_)
            note_skipped(diagnostics, statement)
            statement.children[:] = [Token(BROKEN, "", start, start)]
