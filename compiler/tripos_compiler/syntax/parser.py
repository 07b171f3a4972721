"""Text to syntax tree: a file piece by piece, a placeholder as a whole."""

from __future__ import annotations

from functools import lru_cache

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Block, Line, Segment, Source, Span, Syntax, Text
from tripos_compiler.syntax.automaton import Branch, Token
from tripos_compiler.syntax.lexer import Ending, lex, line_breaks, raw_tokens
from tripos_compiler.syntax.pieces import Parsed, ParseMemory, Piece, split_pieces
from tripos_compiler.syntax.recovery import BROKEN, Place, SyntaxReport, lose, read_hole, read_lines
from tripos_compiler.syntax.tree_builder import Builder

DEEPEST = 96
"""How many levels a statement may have: a limit of JSON readers and of Python's stack, not of the language."""


def parse(source: Source, diagnostics: Diagnostics, memory: ParseMemory | None = None) -> Block:
    """Return the syntax tree of a file. Mistakes are reported to `diagnostics`; what could be read is returned.

    With a memory, what it knows from earlier versions of the file is not read again: the tree and the diagnostics are
    the same, and lines that have not changed are the same objects as before (see `pieces.py`). A source is parsed once:
    spans that are made of it later belong to this tree.
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
        found = parsed.diagnostics
        diagnostics.items.extend(found.items)
        diagnostics.lost_names.update(found.lost_names)
        diagnostics.lost_files |= found.lost_files
        slipped = slipped or any(item.code == "E0103" for item in found.items)
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
        read = [line for lines in branch.branches() for line in lines.branches()]
        read = read if ends_in_file else read[:-1]
        _prune(place, [entry for line in read for entry in line.branches()], diagnostics)
        builder = Builder(place, diagnostics)
        lines = tuple(builder.line(line) for line in read)
    return Parsed(segment, piece.ending, slipped, lines, diagnostics)


def parse_hole(source: Source, text: Text, start: int, end: int, diagnostics: Diagnostics) -> tuple[Syntax, ...] | None:
    """Return the elements of the expression between `{{` and `}}`: characters `start:end` of a string. None where it is
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
    """Return the branch of a placeholder in which nothing is wrong; templates repeat the same few."""
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
    """Break the statements that are nested deeper than `DEEPEST`, for the passes recurse."""
    for statement in statements:
        level = [statement]
        for _ in range(DEEPEST):
            level = [child for parent in level for child in parent.children if isinstance(child, Branch)]
        if level:
            start = level[0].start
            help_ = "give a part of it a name, or write it flatter"
            diagnostics.error("E0101", "this is nested too deeply", place(start, start + 1), help=help_)
            lose(diagnostics, statement)
            statement.children[:] = [Token(BROKEN, "", start, start)]
