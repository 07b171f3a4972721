"""Declarations, references and renaming; outline, symbols, folding, colours and formatting of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lsprotocol.types import (
    DocumentHighlight,
    DocumentHighlightKind,
    DocumentSymbol,
    FoldingRange,
    FoldingRangeKind,
    Location,
    Position,
    PrepareRenamePlaceholder,
    Range,
    SemanticTokenModifiers,
    SemanticTokens,
    SemanticTokensLegend,
    SemanticTokenTypes,
    SymbolKind,
    TextEdit,
    WorkspaceEdit,
    WorkspaceSymbol,
)
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType, is_token_subtype

from tripos.lsp.documents import Lines
from tripos.lsp.session import CheckedBenchmark, DocumentPlace, EditorSession, Outline, View, name_of, place_of, text_of
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostic
from tripos_compiler.diagnostics.i18n import reader_language
from tripos_compiler.editing.formatter import Unparsable, format_text
from tripos_compiler.editing.highlighting import CONSTANTS, NAME, WORD_OPERATORS, TriposLexer
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.resolve.program import Index, Symbol, path_beside
from tripos_compiler.source.text import Span, find_comments
from tripos_compiler.source.tree import Block, Text

START = Range(Position(0, 0), Position(0, 0))
Edits = dict[str, list[tuple[int, int, str]]]
"""The replacements by path: start, end and new text."""
ROWS = "rows"
"""The kind of a name for rows inside a scenario, as in `over items as item`."""


def path_named(view: View, offset: int) -> str | None:
    """Return the file that a string at an offset names: a spec, a Python file or a data file; or None."""
    for statement in reversed(view.outline.around(offset)):
        text = statement.values.get("path")
        if isinstance(text, Text) and text.span.start <= offset <= text.span.end:
            return _file(view, statement, text.value)
    return None


def _file(view: View, statement: Statement, written: str) -> str | None:
    name = written.partition(":")[0] if ".py" in written else written
    if statement.construct in ("use", "function", "python_scorer", "program_scorer", "aggregate"):
        used = path_beside(view.path, name)
        return used if view.session.documents.find_text(used) is not None else None
    folders = [
        Path(view.path).parent,
        *(folder for benchmark in view.checked for folder in benchmark.benchmark.data_folders),
    ]
    return next((path.as_posix() for folder in folders if (path := folder / written).is_file()), None)


@dataclass(frozen=True)
class NameAtCursor:
    """A name under the cursor, in one benchmark."""

    checked: CheckedBenchmark
    span: Span

    @property
    def declared(self) -> Span:
        """The span of its declaration."""
        return declaration(self.checked.compilation.index, self.span)

    @property
    def all(self) -> set[Span]:
        """All occurrences of the name."""
        index = self.checked.compilation.index
        return occurrences(index, root_declaration(index, self.span))


def named_at(view: View, offset: int) -> Iterator[NameAtCursor]:
    """Yield the name at an offset, for every benchmark that knows it."""
    for benchmark in view.checked:
        span = span_at(benchmark.compilation.index, view.path, offset)
        if span is not None:
            yield NameAtCursor(benchmark, span)


def definitions(view: View, position: Position) -> list[Location]:
    """Return the declarations of the name at a position, or the file that a path names."""
    offset = view.offset(position)
    path = path_named(view, offset)
    if path is not None:
        return [Location(view.session.documents.uri_of(path), START)]
    places = distinct_places(named.declared for named in named_at(view, offset))
    return [view.session.location_of(place) for place in places]


def references(view: View, position: Position, *, declared: bool) -> list[Location]:
    """Return all occurrences of the name at a position, with its declaration if `declared` is true."""
    places, declarations = _places(view, view.offset(position))
    return [view.session.location_of(place) for place in sorted(places if declared else places - declarations)]


def highlights(view: View, position: Position) -> list[DocumentHighlight]:
    """Return the occurrences of the name at a position within the document."""
    places, declarations = _places(view, view.offset(position))
    return [
        DocumentHighlight(
            view.range(place.start, place.end),
            DocumentHighlightKind.Write if place in declarations else DocumentHighlightKind.Read,
        )
        for place in sorted(places)
        if place.path == view.path
    ]


def _places(view: View, offset: int) -> tuple[set[DocumentPlace], set[DocumentPlace]]:
    """Return the occurrences of a name, and its declarations."""
    places: set[DocumentPlace] = set()
    declarations: set[DocumentPlace] = set()
    for named in named_at(view, offset):
        index = named.checked.compilation.index
        places |= {place_of(span) for span in named.all}
        declarations |= {place_of(span) for span in named.all if span in index.symbols or span not in index.uses}
    return places, declarations


# Renaming
class RenameRefused(Exception):
    """A rename that is impossible, with the reason."""


def prepare_rename(view: View, position: Position) -> PrepareRenamePlaceholder | None:
    """Return the range of the name at a position, or None if it cannot be renamed."""
    offset = view.offset(position)
    for named in named_at(view, offset):
        name = _declared_name(named.checked.compilation.index, named.span)
        text = text_of(named.span)
        if name is not None and is_named(named.span, name):
            inner = int(text != name)
            place = view.range(named.span.start + inner, named.span.end - inner)
            return PrepareRenamePlaceholder(place, name)
    return None


def rename(view: View, position: Position, new: str) -> WorkspaceEdit:
    """Return the edits that rename a name. Raises `RenameRefused` if there is no name, the new one is invalid, or a
    benchmark would get a new error."""
    if re.fullmatch(NAME, new) is None or new in (*CONSTANTS, *WORD_OPERATORS):
        raise RenameRefused(f"`{new}` is not a name")
    places: set[DocumentPlace] = set()
    old = ""
    for named in named_at(view, view.offset(position)):
        index = named.checked.compilation.index
        name = _declared_name(index, named.span)
        if name is not None and is_named(named.span, name):
            old = name
            places |= {place_of(span) for span in occurrences(index, root_declaration(index, named.span))}
    if not places:
        raise RenameRefused("there is no name here that can be changed")
    for named in named_at(view, view.offset(position)):
        for release in named.checked.compilation.releases:
            if any(release.inside(place.path) for place in places):
                raise RenameRefused(f"`{old}` is of the release {release.title}, which is never changed")
    edits = _edits(view, places, old, new)
    _require_no_new_errors(view, edits, new)
    return _to_lsp(view, edits)


def _declared_name(index: Index, span: Span) -> str | None:
    """Return the declared name of a span, or None if no spec declares it."""
    first = root_declaration(index, span)
    symbol = symbol_at(index, first)
    named = symbol.kind != ROWS or any(use.symbol == first for use in index.uses.values())
    return symbol.name if named else None


def _edits(view: View, places: Iterable[DocumentPlace], old: str, new: str) -> Edits:
    edits: Edits = {}
    for place in sorted(places):
        inner = int(place.end - place.start == len(old) + 2)  # in quotes
        own = edits.setdefault(place.path, [])
        own.append((place.start + inner, place.end - inner, new))
        column = _column(view, place)
        if column is not None:
            own.append((column, column, f' from "{old}"'))
    return edits


def _column(view: View, place: DocumentPlace) -> int | None:
    """Return the offset where a renamed field must name its column, since the old name did so implicitly."""
    statement = view.session.outline(place.path).declared_at(place.start)
    name = name_of(statement) if statement is not None else None
    if statement is None or statement.construct != "field" or name is None or statement.find("columns") is not None:
        return None
    return statement.head.end


def _require_no_new_errors(view: View, edits: Edits, new: str) -> None:
    """Raise `RenameRefused` if a benchmark has more errors with the edits."""
    documents = view.session.documents
    texts = {path: apply_edits(documents.read(path), of_file) for path, of_file in edits.items()}
    for checked in view.checked:
        before = _errors(checked.compilation.diagnostics)
        after = _errors(checked.benchmark.trying(texts))
        if len(after) > len(before):
            known = {diagnostic.message for diagnostic in before}
            first = next((diagnostic for diagnostic in after if diagnostic.message not in known), after[0])
            raise RenameRefused(f"not to `{new}`: {first.message}")


def apply_edits(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with edits applied, which must not overlap.

    >>> apply_edits("abc", [(0, 1, "x"), (3, 3, "y")])
    'xbcy'
    """
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


def _to_lsp(view: View, edits: Edits) -> WorkspaceEdit:
    session = view.session
    changes: dict[str, list[TextEdit]] = {}
    for path, of_file in edits.items():
        own = changes.setdefault(session.documents.uri_of(path), [])
        for start, end, new in of_file:
            own.append(TextEdit(session.location_of(DocumentPlace(path, start, end)).range, new))
    return WorkspaceEdit(changes=changes)


def is_named(span: Span, name: str) -> bool:
    """Return true if a span is the name, with or without quotes."""
    return text_of(span) in (name, f'"{name}"')


def span_at(index: Index, path: str, offset: int) -> Span | None:
    """Return the shortest span of the index at an offset. If one name ends where another starts, the second is
    taken.
    """
    named = {*index.symbols, *index.uses, *(use.symbol for use in index.uses.values())}
    spans = [span for span in named if span.source.path == path and span.start <= offset <= span.end]
    return min(spans, key=lambda span: (offset == span.end, span.high - span.low), default=None)


def declaration(index: Index, span: Span) -> Span:
    """Return the span of a name's declaration. An implicit name of rows refers to the data set."""
    spans = {span}
    while span in index.uses:
        span = index.uses[span].symbol
        if span in index.symbols or span in spans:
            break
        spans.add(span)
    return span


def symbol_at(index: Index, span: Span) -> Symbol:
    """Return the symbol declared at a span. A name of rows has no entry in the index."""
    return index.symbols.get(span) or Symbol(ROWS, text_of(span).strip('"'), span)


def root_declaration(index: Index, span: Span) -> Span:
    """Return the declaration that a name gets its text from: for a field named like its axis, the axis."""
    spans: set[Span] = set()
    while span in index.uses and span not in spans:
        spans.add(span)
        above = index.uses[span].symbol
        if text_of(above) != text_of(span).strip('"'):
            break
        span = above
    return span


def occurrences(index: Index, first: Span) -> set[Span]:
    """Return every span whose name comes from a declaration, including itself."""
    name = text_of(first)
    spans = {first}
    below: dict[Span, list[Span]] = {}
    for use in index.uses.values():
        if is_named(use.span, name):
            below.setdefault(use.symbol, []).append(use.span)
    waiting = [first]
    while waiting:
        for span in below.get(waiting.pop(), ()):
            if span not in spans:
                spans.add(span)
                waiting.append(span)
    return spans


def symbols_in(index: Index, owner: str) -> list[Symbol]:
    """Return the declarations inside an owner, such as `axis stage`, in the order of the text."""
    found = [symbol for symbol in index.symbols.values() if symbol.owner == owner]
    return sorted(found, key=lambda symbol: place_of(symbol.span))


def distinct_places(spans: Iterable[Span]) -> list[DocumentPlace]:
    """Return the places of spans, sorted and without repetition."""
    return sorted({place_of(span) for span in spans})


# Outline, colours, formatting and folding
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
"""Token types by the types of the highlighter; any other has no colour."""
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
"""Token types of names, by the kind of their declaration; any other is a variable."""
TYPES = tuple(dict.fromkeys([*BASE.values(), *DECLARED.values()]))
MODIFIERS = (SemanticTokenModifiers.Declaration, SemanticTokenModifiers.DefaultLibrary)
LIBRARY = frozenset({*FUNCTIONS, *AGGREGATES})
LEGEND = SemanticTokensLegend([each.value for each in TYPES], [modifier.value for modifier in MODIFIERS])
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
"""Symbol kinds of declarations for the editor; any other is a variable."""
MOST_SYMBOLS = 500
"""Maximum symbols of a workspace in one answer."""


class ColouredRange(NamedTuple):
    """A coloured range of a document. `modifiers` are bits in the order of the legend."""

    start: int
    end: int
    type: Type
    modifiers: int = 0


def semantic_tokens(view: View) -> SemanticTokens:
    """Return the encoded tokens of a document, each on one line."""
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


def _coloured(view: View) -> Iterator[ColouredRange]:
    names = _coloured_names(view)
    range_: ColouredRange | None = None
    for start, kind, text in TriposLexer().get_tokens_unprocessed(view.text):
        type_, end = BASE.get(kind), start + len(text)
        coloured_range: ColouredRange | None = None
        named = names.get((start, end))
        if named is not None and not is_token_subtype(kind, String):
            coloured_range = ColouredRange(start, end, *named)
        elif type_ is Type.Function and text in LIBRARY:
            coloured_range = ColouredRange(start, end, Type.Function, 2)
        elif type_ is not None and text:
            coloured_range = ColouredRange(start, end, type_)
        if coloured_range is None:
            continue
        if (
            range_ is not None
            and range_.type is Type.String is coloured_range.type
            and range_.end == coloured_range.start
        ):
            range_ = range_._replace(end=coloured_range.end)
            continue
        if range_ is not None:
            yield range_
        range_ = coloured_range
    if range_ is not None:
        yield range_


def _coloured_names(view: View) -> dict[tuple[int, int], tuple[Type, int]]:
    """Return the token types of names in a document, by range."""
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


def _on_lines(text: str, coloured: ColouredRange) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range by line, without line breaks."""
    start = coloured.start
    while start < coloured.end:
        found = text.find("\n", start, coloured.end)
        end = coloured.end if found < 0 else found
        stop = end - 1 if end > start and found >= 0 and text[end - 1] == "\r" else end
        if stop > start:
            yield start, stop
        start = end + 1


def formatted(view: View) -> list[TextEdit] | None:
    """Return the edit that formats a document, nothing if it is formatted already, or None if it cannot be parsed."""
    try:
        text = format_text(view.text, view.path)
    except Unparsable:
        return None
    return [TextEdit(view.range(0, len(view.text)), text)] if text != view.text else []


def symbols(view: View) -> list[DocumentSymbol]:
    """Return the declarations of a document as a tree."""
    return [symbol for statement in view.outline.statements for symbol in _symbols(view, statement)]


def _symbols(view: View, statement: Statement) -> Iterator[DocumentSymbol]:
    children = [symbol for each in statement.body for symbol in _symbols(view, each)]
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
    """Return the title of a declaration in the reader's language or the first one, or else its kind."""
    titles = {None if language is None else language.text: text.value for language, text in statement.labels()}
    first = next(iter(titles.values()), statement.construct.replace("_", " "))
    return titles.get(reader_language(), titles.get(None, first))


def workspace_symbols(session: EditorSession, query: str) -> list[WorkspaceSymbol]:
    """Return the declarations of the workspace whose names contain the letters of the query in order."""
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


def folding_ranges(view: View) -> list[FoldingRange]:
    """Return the folding ranges: blocks, long strings, comments of several lines, and adjacent `use` lines."""
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
    alone = [_line(lines, comment.span.start) for comment in find_comments(outline.source) if comment.alone]
    used = [_line(lines, statement.span.start) for statement in outline.statements if statement.construct == "use"]
    for numbers, kind in ((alone, FoldingRangeKind.Comment), (used, FoldingRangeKind.Imports)):
        for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            run = [line for _, line in group]
            yield from _fold(run[0], run[-1], kind)


def _fold(first: int, last: int, kind: FoldingRangeKind | None = None) -> Iterator[FoldingRange]:
    if last > first:
        yield FoldingRange(first, last, kind=kind)
