"""The shape of documents: symbols as a tree, those of the workspace, folding, colours and layout."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from lsprotocol.types import (
    DocumentSymbol,
    FoldingRange,
    FoldingRangeKind,
    Location,
    SemanticTokenModifiers,
    SemanticTokens,
    SemanticTokensLegend,
    SemanticTokenTypes,
    SymbolKind,
    TextEdit,
    WorkspaceSymbol,
)
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType, is_token_subtype

from tripos.lsp.documents import Lines
from tripos.lsp.session import EditorSession, Outline, View, name_of, place_of, text_of
from tripos.lsp.symbols import symbol_at
from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import reader_language
from tripos_compiler.editing import TriposLexer, Unparsable, format_text
from tripos_compiler.language.figures import AGGREGATES
from tripos_compiler.language.library import FUNCTIONS
from tripos_compiler.source import Block, Text, find_comments

Type = SemanticTokenTypes
BASE: dict[_TokenType, Type] = {
    Comment.Single: Type.Comment,
    Keyword: Type.Keyword,
    Keyword.Type: Type.Type,
    Keyword.Constant: Type.Keyword,
    Operator: Type.Operator,
    Operator.Word: Type.Keyword,
    Number: Type.Number,
    String: Type.String,
    String.Escape: Type.Regexp,
    String.Interpol: Type.Macro,
    Name.Function: Type.Function,
    Name.Class: Type.Variable,
    Name.Attribute: Type.Property,
    Name.Variable: Type.Parameter,
    Name.Label: Type.Decorator,
}
"""What the highlighter's tokens are; any other has no colour of its own."""
DECLARED = {
    "role": Type.Class,
    "axis": Type.Enum,
    "arm": Type.Enum,
    "group": Type.Enum,
    "value": Type.EnumMember,
    "dataset": Type.Struct,
    "tree": Type.Struct,
    "scenario": Type.Namespace,
    "dimension": Type.Namespace,
    "benchmark": Type.Namespace,
    "scorer": Type.Function,
    "function": Type.Function,
    "tool": Type.Function,
    "aggregate": Type.Function,
    "ask": Type.Method,
    "converse": Type.Method,
    "retrieve": Type.Method,
    "metric": Type.Property,
    "field": Type.Property,
    "parameter": Type.Parameter,
}
"""What declared names are, by the kind of their declaration; any other is a variable."""
TYPES = tuple(dict.fromkeys([*BASE.values(), *DECLARED.values()]))
MODIFIERS = (SemanticTokenModifiers.Declaration, SemanticTokenModifiers.DefaultLibrary)
LIBRARY = frozenset({*FUNCTIONS, *AGGREGATES})
LEGEND = SemanticTokensLegend([each.value for each in TYPES], [each.value for each in MODIFIERS])
KINDS = {
    "benchmark": SymbolKind.Package,
    "role": SymbolKind.Class,
    "axis": SymbolKind.Enum,
    "arm": SymbolKind.Enum,
    "group": SymbolKind.Enum,
    "value": SymbolKind.EnumMember,
    "dimension": SymbolKind.Namespace,
    "metric": SymbolKind.Property,
    "dataset": SymbolKind.Struct,
    "like": SymbolKind.Struct,
    "made": SymbolKind.Struct,
    "tree": SymbolKind.Struct,
    "field": SymbolKind.Field,
    "record_field": SymbolKind.Field,
    "scenario": SymbolKind.Module,
    "scorer": SymbolKind.Function,
    "formula": SymbolKind.Function,
    "python_scorer": SymbolKind.Function,
    "program_scorer": SymbolKind.Function,
    "named": SymbolKind.Function,
    "function": SymbolKind.Function,
    "tool": SymbolKind.Function,
    "tool_parameter": SymbolKind.Field,
    "aggregate": SymbolKind.Function,
    "ask": SymbolKind.Method,
    "converse": SymbolKind.Method,
    "retrieve": SymbolKind.Method,
    "subset": SymbolKind.Array,
    "export": SymbolKind.File,
}
"""How an editor shows what a statement declares; any other is a variable."""
MOST_SYMBOLS = 500
"""So many symbols of a workspace are given at once."""


class Coloured(NamedTuple):
    """A stretch of a document and what it is; `modifiers` are bits, in the order of the legend."""

    start: int
    end: int
    type: Type
    modifiers: int = 0


def semantic_tokens(view: View) -> SemanticTokens:
    """Return the tokens of a document, each on one line, as the protocol encodes them."""
    lines = view.document.lines
    data: list[int] = []
    last_line = last_column = 0
    for coloured in _coloured(view):
        for start, end in _on_lines(view.text, coloured):
            place = lines.position(start)
            line = place.line - last_line
            column = place.character - (last_column if line == 0 else 0)
            data += [line, column, lines.units(start, end), TYPES.index(coloured.type), coloured.modifiers]
            last_line, last_column = place.line, place.character
    return SemanticTokens(data)


def _coloured(view: View) -> Iterator[Coloured]:
    names = _coloured_names(view)
    held: Coloured | None = None
    for start, kind, text in TriposLexer().get_tokens_unprocessed(view.text):
        type_, end = BASE.get(kind), start + len(text)
        found: Coloured | None = None
        named = names.get((start, end))
        if named is not None and not is_token_subtype(kind, String):
            found = Coloured(start, end, *named)
        elif type_ is Type.Function and text in LIBRARY:
            found = Coloured(start, end, Type.Function, 2)
        elif type_ is not None and text:
            found = Coloured(start, end, type_)
        if found is None:
            continue
        if held is not None and held.type is Type.String is found.type and held.end == found.start:
            held = held._replace(end=found.end)
            continue
        if held is not None:
            yield held
        held = found
    if held is not None:
        yield held


def _coloured_names(view: View) -> dict[tuple[int, int], tuple[Type, int]]:
    """Return what the names of a document are, by where they stand."""
    found: dict[tuple[int, int], tuple[Type, int]] = {}
    for compilation in view.compilations:
        index = compilation.index
        for span, use in index.uses.items():
            place = place_of(span)
            if place.path == view.path:
                symbol = symbol_at(index, use.symbol)
                kind = DECLARED.get(symbol.kind, Type.Variable)
                own = text_of(span).strip('"') == symbol.name
                found[place.start, place.end] = (kind if own else Type.Property, 0)
        for span, symbol in index.symbols.items():
            place = place_of(span)
            if place.path == view.path:
                found[place.start, place.end] = (DECLARED.get(symbol.kind, Type.Variable), 1)
    return found


def _on_lines(text: str, coloured: Coloured) -> Iterator[tuple[int, int]]:
    """Yield the parts of a stretch, one a line, without the breaks between them."""
    start = coloured.start
    while start < coloured.end:
        found = text.find("\n", start, coloured.end)
        end = coloured.end if found < 0 else found
        stop = end - 1 if end > start and found >= 0 and text[end - 1] == "\r" else end
        if stop > start:
            yield start, stop
        start = end + 1


def formatted(view: View) -> list[TextEdit] | None:
    """Return the edit that lays a document out; none where it is laid out already, None where it cannot be."""
    try:
        text = format_text(view.text, view.path)
    except Unparsable:
        return None
    return [TextEdit(view.range(0, len(view.text)), text)] if text != view.text else []


def symbols(view: View) -> list[DocumentSymbol]:
    """Return what a document declares, as a tree."""
    return [found for each in view.outline.statements for found in _symbols(view, each)]


def _symbols(view: View, statement: Statement) -> Iterator[DocumentSymbol]:
    children = [found for each in statement.body for found in _symbols(view, each)]
    name = name_of(statement)
    if name is None or not name.text:
        yield from children
        return
    yield DocumentSymbol(
        name.text,
        KINDS.get(statement.construct, SymbolKind.Variable),
        range=view.range(statement.span.start, statement.span.end),
        selection_range=view.range(name.span.start, name.span.end),
        detail=_detail(statement),
        children=children or None,
    )


def _detail(statement: Statement) -> str:
    """Return the title of what has one, in the reader's language or the first, else what kind of declaration it is."""
    titles = {None if language is None else language.text: text.value for language, text in statement.labels()}
    first = next(iter(titles.values()), statement.construct.replace("_", " "))
    return titles.get(reader_language(), titles.get(None, first))


def workspace_symbols(session: EditorSession, query: str) -> list[WorkspaceSymbol]:
    """Return what the files of the workspace declare, by a part of its name; all letters of it in order are enough."""
    found: list[WorkspaceSymbol] = []
    for path in session.membership.files():
        if session.documents.find_text(path) is None:
            continue
        outline = session.outline(path)
        lines = session.lines(outline.source)
        for statement, owner in _declared(outline.statements, ""):
            name = name_of(statement)
            if name is None or not _matches(query, name.text):
                continue
            place = Location(session.documents.uri_of(path), lines.range(name.span.start, name.span.end))
            kind = KINDS.get(statement.construct, SymbolKind.Variable)
            found.append(WorkspaceSymbol(place, name.text, kind, container_name=owner or None))
            if len(found) >= MOST_SYMBOLS:
                return found
    return found


def _declared(statements: tuple[Statement, ...], owner: str) -> Iterator[tuple[Statement, str]]:
    for statement in statements:
        yield statement, owner
        name = name_of(statement)
        yield from _declared(statement.body, name.text if name is not None else owner)


def _matches(query: str, name: str) -> bool:
    letters = iter(name.casefold())
    return all(letter in letters for letter in query.casefold())


def folds(view: View) -> list[FoldingRange]:
    """Blocks, long strings, comments of several lines, and `use` lines that follow each other."""
    outline, lines = view.outline, view.document.lines
    found = {fold.start_line: fold for fold in reversed([*_blocks(outline.block, lines), *_runs(outline, lines)])}
    return [found[line] for line in sorted(found)]


def _line(lines: Lines, offset: int) -> int:
    return lines.position(offset).line


def _blocks(block: Block, lines: Lines) -> Iterator[FoldingRange]:
    for entry in (entry for line in block.lines for entry in line.entries):
        for element in entry.elements:
            if isinstance(element, Text):
                yield from _fold(_line(lines, element.span.start), _line(lines, element.span.end))
        if entry.block is not None:
            yield from _fold(_line(lines, entry.block.span.start), _line(lines, entry.block.span.end) - 1)
            yield from _blocks(entry.block, lines)


def _runs(outline: Outline, lines: Lines) -> Iterator[FoldingRange]:
    alone = [_line(lines, each.span.start) for each in find_comments(outline.source) if each.alone]
    used = [_line(lines, each.span.start) for each in outline.statements if each.construct == "use"]
    for numbers, kind in ((alone, FoldingRangeKind.Comment), (used, FoldingRangeKind.Imports)):
        for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            run = [line for _, line in group]
            yield from _fold(run[0], run[-1], kind)


def _fold(first: int, last: int, kind: FoldingRangeKind | None = None) -> Iterator[FoldingRange]:
    if last > first:
        yield FoldingRange(first, last, kind=kind)
