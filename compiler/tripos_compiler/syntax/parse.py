"""Tokens to syntax tree, with recovery: every independent mistake is reported in one run.

After a mistake the parser pops to the start of the statement, takes it as broken and goes on at the next one; a
block that follows a broken head is still read, so that the mistakes inside it are found too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lark import Token, Tree
from lark.exceptions import UnexpectedToken

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Source, Span
from tripos_compiler.syntax.build import Builder
from tripos_compiler.syntax.tokens import grammar, lex
from tripos_compiler.syntax.tree import Block, Syntax, Text

OPERATORS = frozenset(
    ("AND", "OR", "NOT", "IN", "NOT_IN", "EQ", "NE", "LE", "GE", "LT", "GT", "PLUS", "MINUS", "STAR", "SLASH", "EQUALS")
)

HUMAN = {
    "_RPAR": "`)`",
    "_RSQB": "`]`",
    "_RBRACE": "`}`",
    "_LBRACE": "`{`",
    "_NL": "the end of the line",
    "_COMMA": "`,`",
    "$END": "the end of the file",
    "EQUALS": "`=`",
    "ARROW": "`->`",
    "NAME": "a name",
    "STRING": "a string",
    "TEXT": "a string",
    "NUMBER": "a number",
}

DEEPEST = 96
"""How many levels a statement may have: a limit of JSON readers and of Python's stack, not of the language."""


def parse(source: Source, diagnostics: Diagnostics) -> Block:
    """The syntax tree of a file. Mistakes are reported to `diagnostics`; what could be read is returned."""
    tokens = lex(source, diagnostics)
    tree = _drive(source, tokens, "file", diagnostics)
    _prune(source, tree, diagnostics)
    return Builder(source, diagnostics).file(tree)


def parse_hole(source: Source, text: Text, start: int, end: int, diagnostics: Diagnostics) -> tuple[Syntax, ...] | None:
    """The elements of the expression between `{{` and `}}`: characters `start:end` of a string. None where it is
    malformed, which is reported."""
    tokens: list[Token] = []
    for token in grammar().lex(text.value[start:end]):
        if token.type == "_NL":
            continue
        first = start + (token.start_pos or 0)
        placed = Token.new_borrow_pos(token.type, str(token), token)
        placed.start_pos = text.offsets[first]
        placed.end_pos = text.offsets[first + len(token) - 1] + 1
        tokens.append(placed)
    span = Span(source, text.offsets[start], text.offsets[end])
    if not tokens:
        diagnostics.error("E0403", "this hole is empty", span, help="name a field: `{{ item.question }}`")
        return None
    mark = len(diagnostics.items)
    tree = _drive(source, tokens, "hole", diagnostics, code="E0403")
    _prune(source, Tree("file", [Tree("lines", [Tree("line", [tree])])]), diagnostics)
    if len(diagnostics.items) > mark:
        return None
    return Builder(source, diagnostics).hole(tree)


def _drive(
    source: Source, tokens: Iterable[Token], start: str, diagnostics: Diagnostics, code: str = "E0101"
) -> Tree[Token]:
    parser: Any = grammar().parse_interactive(start=start)
    skipping = False
    depth = 0
    last: Token | None = None
    for token in tokens:
        if skipping:
            # Skip to where the broken statement ends, or to its block.
            boundary = depth == 0 and token.type in ("_NL", "_LBRACE", "_RBRACE", "_COMMA")
            if not boundary:
                depth += (token.type in ("_LPAR", "_CALL", "_LSQB", "_INDEX", "_LBRACE")) - (
                    token.type in ("_RPAR", "_RSQB", "_RBRACE")
                )
                depth = max(depth, 0)
                _lose(diagnostics, token)
                continue
            skipping = False
        try:
            parser.feed_token(token)
        except UnexpectedToken as error:
            _report(source, error, token, last, diagnostics, code)
            if start == "hole":
                return Tree("hole", [])
            _lose(diagnostics, token)
            if not _recover(parser, token, diagnostics):
                diagnostics.lost_files = True
                return Tree("file", [])
            skipping = True
            depth = 0
            if token.type == "_NL" and last is not None and last.type in OPERATORS:
                pass  # the next line was meant to go on: it is part of the mistake
            elif token.type in ("_NL", "_RBRACE", "_COMMA", "_LBRACE"):
                skipping = False
                try:
                    parser.feed_token(token)
                except UnexpectedToken:
                    skipping = True
        last = token
    try:
        tree = parser.feed_eof(last)
    except UnexpectedToken as error:
        end = last if last is not None else Token("$END", "")
        _report(source, error, end, None, diagnostics, code)
        if start == "hole":
            return Tree(start, [])
        tree = None
        if _recover(parser, end, diagnostics):
            try:
                tree = parser.feed_eof(last)
            except UnexpectedToken:
                tree = None
        if tree is None:
            diagnostics.lost_files = True
            return Tree(start, [])
    assert isinstance(tree, Tree)
    return tree


def _recover(parser: Any, token: Token, diagnostics: Diagnostics) -> bool:
    """Pops to a state that takes a broken statement, and feeds one."""
    state = parser.parser_state
    table = state.parse_conf.parse_table.states
    start = token.start_pos
    while state.state_stack and "ERROR" not in table[state.state_stack[-1]]:
        state.state_stack.pop()
        if state.value_stack:
            start = _lose(diagnostics, state.value_stack.pop(), start)
    if not state.state_stack:
        return False
    parser.feed_token(Token("ERROR", "", start_pos=start, end_pos=start))
    return True


def _lose(diagnostics: Diagnostics, value: Any, start: int | None = None) -> int | None:
    """Notes the names in what is left out, and gives the place where it starts."""
    waiting, places = [value], [start] if start is not None else []
    while waiting:
        item = waiting.pop()
        if isinstance(item, Tree):
            waiting.extend(item.children)
        elif isinstance(item, Token):
            if item.start_pos is not None:
                places.append(item.start_pos)
            if item.type == "NAME":
                diagnostics.lost_names.add(str(item))
    return min(places, default=None)


def _prune(source: Source, tree: Tree[Token], diagnostics: Diagnostics) -> None:
    """Breaks the statements at the top of a file that are nested deeper than `DEEPEST`, for the passes recurse."""
    entries = [entry for lines in tree.children for line in _trees(lines) for entry in _trees(line)]
    for entry in entries:
        level: list[Tree[Token]] = [entry]
        for _ in range(DEEPEST):
            level = [child for parent in level for child in _trees(parent)]
        if level:
            start = getattr(level[0].meta, "start_pos", 0)
            help_ = "give a part of it a name, or write it flatter"
            diagnostics.error("E0101", "this is nested too deeply", Span(source, start, start + 1), help=help_)
            _lose(diagnostics, entry)
            entry.children = [Token("ERROR", "", start_pos=start, end_pos=start)]


def _trees(tree: Any) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)] if isinstance(tree, Tree) else []


def _report(
    source: Source, error: UnexpectedToken, token: Token, last: Token | None, diagnostics: Diagnostics, code: str
) -> None:
    start = token.start_pos if token.start_pos is not None else len(source.text)
    end = token.end_pos if token.end_pos is not None else start + len(token)
    span = Span(source, start, end)
    line = source.position(start)[0]
    for earlier in diagnostics.items:  # one syntax error a line: the rest follow from the first
        place = earlier.labels[0].span if earlier.labels else None
        if earlier.code.startswith("E010") and place and place.source is source:
            if source.position(place.start)[0] == line:
                return
            if earlier.code == "E0103" and place.start <= start and token.type in ("_NL", "_LBRACE", "_RBRACE"):
                return
    found = "the line ends too early" if token.type == "_NL" else f"`{token}` does not fit here"
    expected = sorted({HUMAN[name] for name in error.expected if name in HUMAN})
    wanted = f"expected {' or '.join(expected)}" if 0 < len(expected) <= 3 else None
    help_ = wanted
    if token.type == "_NL" and last is not None and last.type in OPERATORS:
        found = f"a line cannot end in `{last}`"
        help_ = "go on on this line, or put the whole expression in brackets"
    if token.type == "NUMBER" and str(token).startswith("-"):
        help_ = f"for a difference write a space after the minus: `- {str(token)[1:]}`"
    if last is not None and last.type == "EQUALS" and token.type in ("GT", "LT"):
        help_ = f"did you mean `{token}=`?"
    diagnostics.error(code, found, span, help=help_)
