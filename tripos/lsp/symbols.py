"""The declaration behind a name and every place that names it: navigation and renaming."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lsprotocol.types import (
    DocumentHighlight,
    DocumentHighlightKind,
    Location,
    Position,
    PrepareRenamePlaceholder,
    Range,
    TextEdit,
    WorkspaceEdit,
)

from tripos.lsp.session import Checked, DocumentPlace, View, name_of, place_of, text_of
from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Diagnostic
from tripos_compiler.editing import CONSTANTS, NAME, WORD_OPERATORS
from tripos_compiler.resolve import Index, Symbol, path_beside
from tripos_compiler.source import Span, Text

START = Range(Position(0, 0), Position(0, 0))
Edits = dict[str, list[tuple[int, int, str]]]
"""For each path what stands from where to where, and what is written instead."""
ROWS = "rows"
"""The kind of a name that rows have inside a scenario, as in `over items as item`."""


def path_named(view: View, offset: int) -> str | None:
    """Return the file that a string at a place names: a used spec, a Python file or a data file. None where there is
    none."""
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
    folders = [Path(view.path).parent, *(folder for each in view.checked for folder in each.benchmark.data_folders)]
    return next((path.as_posix() for folder in folders if (path := folder / written).is_file()), None)


@dataclass(frozen=True)
class NameAtCursor:
    """A name under the cursor, in one benchmark."""

    checked: Checked
    span: Span

    @property
    def declared(self) -> Span:
        """Return where it is declared."""
        return declaration(self.checked.compilation.index, self.span)

    @property
    def all(self) -> set[Span]:
        """Everywhere that the name stands."""
        index = self.checked.compilation.index
        return family(index, root(index, self.span))


def named_at(view: View, offset: int) -> Iterator[NameAtCursor]:
    """Yield the name at a place, in every benchmark that knows it."""
    for each in view.checked:
        span = span_at(each.compilation.index, view.path, offset)
        if span is not None:
            yield NameAtCursor(each, span)


def definitions(view: View, position: Position) -> list[Location]:
    """Return where the name at a position is declared; of the path of a file, that file."""
    offset = view.offset(position)
    path = path_named(view, offset)
    if path is not None:
        return [Location(view.session.documents.uri_of(path), START)]
    places = distinct(named.declared for named in named_at(view, offset))
    return [view.session.location_of(place) for place in places]


def references(view: View, position: Position, *, declared: bool) -> list[Location]:
    """Everywhere that the name at a position stands; `declared`: where it is declared too."""
    found, declarations = _places(view, view.offset(position))
    return [view.session.location_of(place) for place in sorted(found if declared else found - declarations)]


def highlights(view: View, position: Position) -> list[DocumentHighlight]:
    """Everywhere in the document that the name at a position stands."""
    found, declarations = _places(view, view.offset(position))
    return [
        DocumentHighlight(
            view.range(place.start, place.end),
            DocumentHighlightKind.Write if place in declarations else DocumentHighlightKind.Read,
        )
        for place in sorted(found)
        if place.path == view.path
    ]


def _places(view: View, offset: int) -> tuple[set[DocumentPlace], set[DocumentPlace]]:
    """Return where a name stands, and where it is declared."""
    found: set[DocumentPlace] = set()
    declarations: set[DocumentPlace] = set()
    for named in named_at(view, offset):
        index = named.checked.compilation.index
        found |= {place_of(span) for span in named.all}
        declarations |= {place_of(span) for span in named.all if span in index.symbols or span not in index.uses}
    return found, declarations


class Refused(Exception):
    """A name cannot be changed, or not to that; the message says why."""


def prepare(view: View, position: Position) -> PrepareRenamePlaceholder | None:
    """Return the stretch of the name at a position, None where there is none that can be changed."""
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
    """Return the edits that give a name another text. Raises `Refused` where there is no name, the new one is none, or
    a benchmark would have a mistake afterwards that it does not have now."""
    if re.fullmatch(NAME, new) is None or new in (*CONSTANTS, *WORD_OPERATORS):
        raise Refused(f"`{new}` is not a name")
    found: set[DocumentPlace] = set()
    old = ""
    for named in named_at(view, view.offset(position)):
        index = named.checked.compilation.index
        name = _declared_name(index, named.span)
        if name is not None and is_named(named.span, name):
            old = name
            found |= {place_of(span) for span in family(index, root(index, named.span))}
    if not found:
        raise Refused("there is no name here that can be changed")
    for named in named_at(view, view.offset(position)):
        for release in named.checked.compilation.releases:
            if any(release.inside(place.path) for place in found):
                raise Refused(f"`{old}` is of the release {release.title}, which is never changed")
    edits = _edits(view, found, old, new)
    _require_sound(view, edits, new)
    return _to_lsp(view, edits)


def _declared_name(index: Index, span: Span) -> str | None:
    """Return the name that a span has from its declaration; None where nothing in a spec declares it."""
    first = root(index, span)
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
    """Return where a field has to say which column it is read from, since it was its name that said it."""
    statement = view.session.outline(place.path).declared_at(place.start)
    name = name_of(statement) if statement is not None else None
    if statement is None or statement.construct != "field" or name is None or statement.find("columns") is not None:
        return None
    return statement.head.end


def _require_sound(view: View, edits: Edits, new: str) -> None:
    """Raise `Refused` where a benchmark has more errors with the edits than without."""
    documents = view.session.documents
    texts = {path: edited(documents.read(path), of_file) for path, of_file in edits.items()}
    for checked in view.checked:
        before = _errors(checked.compilation.diagnostics)
        after = _errors(checked.benchmark.trying(texts))
        if len(after) > len(before):
            known = {each.message for each in before}
            first = next((each for each in after if each.message not in known), after[0])
            raise Refused(f"not to `{new}`: {first.message}")


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with edits, none of which overlap.

    >>> edited("abc", [(0, 1, "x"), (3, 3, "y")])
    'xbcy'
    """
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _errors(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [each for each in diagnostics if each.severity == "error"]


def _to_lsp(view: View, edits: Edits) -> WorkspaceEdit:
    session = view.session
    changes: dict[str, list[TextEdit]] = {}
    for path, of_file in edits.items():
        own = changes.setdefault(session.documents.uri_of(path), [])
        for start, end, new in of_file:
            own.append(TextEdit(session.location_of(DocumentPlace(path, start, end)).range, new))
    return WorkspaceEdit(changes=changes)


def is_named(span: Span, name: str) -> bool:
    """Return true if the name stands there, alone or in quotes."""
    return text_of(span) in (name, f'"{name}"')


def span_at(index: Index, path: str, offset: int) -> Span | None:
    """Return the name at a place of a file: the shortest stretch that the index knows something of. At the end of one
    name and the start of another it is the other."""
    named = {*index.symbols, *index.uses, *(use.symbol for use in index.uses.values())}
    found = [span for span in named if span.source.path == path and span.start <= offset <= span.end]
    return min(found, key=lambda span: (offset == span.end, span.high - span.low), default=None)


def declaration(index: Index, span: Span) -> Span:
    """Return where the name at a span is declared. A name of rows that was not given with `as` stands for the data
    set."""
    seen = {span}
    while span in index.uses:
        span = index.uses[span].symbol
        if span in index.symbols or span in seen:
            break
        seen.add(span)
    return span


def symbol_at(index: Index, span: Span) -> Symbol:
    """Return the symbol that is declared at a span; a name that rows are given has none of its own in the index."""
    return index.symbols.get(span) or Symbol(ROWS, text_of(span).strip('"'), span)


def root(index: Index, span: Span) -> Span:
    """Return the declaration from which a name has its text: of a field that is called like its axis, the axis."""
    seen: set[Span] = set()
    while span in index.uses and span not in seen:
        seen.add(span)
        above = index.uses[span].symbol
        if text_of(above) != text_of(span).strip('"'):
            break
        span = above
    return span


def family(index: Index, first: Span) -> set[Span]:
    """Return every span that has its name from a declaration, itself too."""
    name = text_of(first)
    found = {first}
    below: dict[Span, list[Span]] = {}
    for use in index.uses.values():
        if is_named(use.span, name):
            below.setdefault(use.symbol, []).append(use.span)
    waiting = [first]
    while waiting:
        for span in below.get(waiting.pop(), ()):
            if span not in found:
                found.add(span)
                waiting.append(span)
    return found


def symbols_in(index: Index, owner: str) -> list[Symbol]:
    """Return what is declared in something, such as `axis stage`, in the order of the text."""
    found = [symbol for symbol in index.symbols.values() if symbol.owner == owner]
    return sorted(found, key=lambda symbol: place_of(symbol.span))


def distinct(spans: Iterable[Span]) -> list[DocumentPlace]:
    """Return the places of spans, each once, in order."""
    return sorted({place_of(span) for span in spans})
