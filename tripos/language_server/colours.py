"""Semantic tokens: the colours of the highlighter, and of names what they are declared as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol.types import SemanticTokenModifiers, SemanticTokens, SemanticTokensLegend, SemanticTokenTypes
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from tripos.language_server.cursor import tokens
from tripos.language_server.session import View
from tripos.language_server.symbols import place_of, symbol_at, text_of
from tripos_compiler.semantics.aggregates import AGGREGATES
from tripos_compiler.semantics.library import FUNCTIONS

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


class Coloured(NamedTuple):
    """A stretch of a document and what it is; `modifiers` are bits, in the order of the legend."""

    start: int
    end: int
    type: Type
    modifiers: int = 0


def semantic_tokens(view: View) -> SemanticTokens:
    """The tokens of a document, each on one line, as the protocol encodes them."""
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
    names = _names(view)
    held: Coloured | None = None
    for token in tokens(view.text):
        type_ = BASE.get(token.type)
        found: Coloured | None = None
        named = names.get((token.start, token.end))
        if named is not None and not token.of(String):
            found = Coloured(token.start, token.end, *named)
        elif (type_ is Type.Function and token.text in FUNCTIONS) or (
            type_ is Type.Function and token.text in AGGREGATES
        ):
            found = Coloured(token.start, token.end, Type.Function, 2)
        elif type_ is not None and token.text:
            found = Coloured(token.start, token.end, type_)
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


def _names(view: View) -> dict[tuple[int, int], tuple[Type, int]]:
    """What the names of a document are, by where they stand."""
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
    """The parts of a stretch, one a line, without the breaks between them."""
    start = coloured.start
    while start < coloured.end:
        found = text.find("\n", start, coloured.end)
        end = coloured.end if found < 0 else found
        stop = end - 1 if end > start and found >= 0 and text[end - 1] == "\r" else end
        if stop > start:
            yield start, stop
        start = end + 1
