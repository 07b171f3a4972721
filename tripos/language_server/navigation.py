"""Where a name is declared and where it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol.types import DocumentHighlight, DocumentHighlightKind, Location, Position, Range

from tripos.language_server.paths import path_named
from tripos.language_server.session import Checked, View
from tripos.language_server.symbols import Place, declaration, distinct, family, place_of, root, span_at
from tripos_compiler.source import Span

START = Range(Position(0, 0), Position(0, 0))


@dataclass(frozen=True)
class Named:
    """A name under the cursor, in one benchmark."""

    checked: Checked
    span: Span

    @property
    def declared(self) -> Span:
        """Where it is declared."""
        return declaration(self.checked.compilation.index, self.span)

    @property
    def all(self) -> set[Span]:
        """Everywhere that the name stands."""
        index = self.checked.compilation.index
        return family(index, root(index, self.span))


def named_at(view: View, offset: int) -> Iterator[Named]:
    """The name at a place, in every benchmark that knows it."""
    for each in view.checked:
        span = span_at(each.compilation.index, view.path, offset)
        if span is not None:
            yield Named(each, span)


def definitions(view: View, position: Position) -> list[Location]:
    """Where the name at a position is declared; of the path of a file, that file."""
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


def _places(view: View, offset: int) -> tuple[set[Place], set[Place]]:
    """Where a name stands, and where it is declared."""
    found: set[Place] = set()
    declarations: set[Place] = set()
    for named in named_at(view, offset):
        index = named.checked.compilation.index
        found |= {place_of(span) for span in named.all}
        declarations |= {place_of(span) for span in named.all if span in index.symbols or span not in index.uses}
    return found, declarations
