"""The shape of documents: their symbols as a tree, those of the whole workspace, and what can be folded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from lsprotocol.types import (
    DocumentSymbol,
    FoldingRange,
    FoldingRangeKind,
    Location,
    SymbolKind,
    WorkspaceSymbol,
)

from tripos.language_server.outline import Outline, name_of
from tripos.language_server.positions import Lines
from tripos.language_server.session import Session, View
from tripos_compiler.comments import comments
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.syntax.tree import Block, Text

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
    "named": SymbolKind.Function,
    "function": SymbolKind.Function,
    "ask": SymbolKind.Method,
    "converse": SymbolKind.Method,
    "retrieve": SymbolKind.Method,
    "subset": SymbolKind.Array,
    "export": SymbolKind.File,
}
"""How an editor shows what a statement declares; any other is a variable."""
MOST_SYMBOLS = 500
"""So many symbols of a workspace are given at once."""


def symbols(view: View) -> list[DocumentSymbol]:
    """What a document declares, as a tree."""
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
    """The title of what has one, else what kind of declaration it is."""
    labels = statement.labels()
    return labels[0][1].value if labels else statement.construct.replace("_", " ")


def workspace_symbols(session: Session, query: str) -> list[WorkspaceSymbol]:
    """What the files of the workspace declare, by a part of its name; all letters of it in order are enough."""
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
    alone = [_line(lines, each.span.start) for each in comments(outline.source) if each.alone]
    used = [_line(lines, each.span.start) for each in outline.statements if each.construct == "use"]
    for numbers, kind in ((alone, FoldingRangeKind.Comment), (used, FoldingRangeKind.Imports)):
        for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            run = [line for _, line in group]
            yield from _fold(run[0], run[-1], kind)


def _fold(first: int, last: int, kind: FoldingRangeKind | None = None) -> Iterator[FoldingRange]:
    if last > first:
        yield FoldingRange(first, last, kind=kind)
