"""Renaming: everywhere that a name stands, in all files of the benchmarks that have it, if they stay sound."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lsprotocol.types import Position, PrepareRenamePlaceholder, TextEdit, WorkspaceEdit

from tripos.language_server.navigation import named_at
from tripos.language_server.outline import name_of
from tripos.language_server.session import View
from tripos.language_server.symbols import ROWS, Place, family, is_named, place_of, root, symbol_at, text_of
from tripos_compiler.diagnostics import Diagnostic
from tripos_compiler.highlighting import CONSTANTS, NAME, WORD_OPERATORS
from tripos_compiler.index import Index
from tripos_compiler.source import Span

Edits = dict[str, list[tuple[int, int, str]]]
"""For each path what stands from where to where, and what is written instead."""


class Refused(Exception):
    """A name cannot be changed, or not to that; the message says why."""


def prepare(view: View, position: Position) -> PrepareRenamePlaceholder | None:
    """The stretch of the name at a position, None where there is none that can be changed."""
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
    """The edits that give a name another text. Raises `Refused` where there is no name, the new one is none, or a
    benchmark would have a mistake afterwards that it does not have now."""
    if re.fullmatch(NAME, new) is None or new in (*CONSTANTS, *WORD_OPERATORS):
        raise Refused(f"`{new}` is not a name")
    found: set[Place] = set()
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
    """The name that a span has from its declaration; None where nothing in a spec declares it."""
    first = root(index, span)
    symbol = symbol_at(index, first)
    named = symbol.kind != ROWS or any(use.symbol == first for use in index.uses.values())
    return symbol.name if named else None


def _edits(view: View, places: Iterable[Place], old: str, new: str) -> Edits:
    edits: Edits = {}
    for place in sorted(places):
        inner = int(place.end - place.start == len(old) + 2)  # in quotes
        own = edits.setdefault(place.path, [])
        own.append((place.start + inner, place.end - inner, new))
        column = _column(view, place)
        if column is not None:
            own.append((column, column, f' from "{old}"'))
    return edits


def _column(view: View, place: Place) -> int | None:
    """Where a field has to say which column it is read from, since it was its name that said it."""
    statement = view.session.outline(place.path).declared_at(place.start)
    name = name_of(statement) if statement is not None else None
    if statement is None or statement.construct != "field" or name is None or statement.find("columns") is not None:
        return None
    return statement.head.end


def _require_sound(view: View, edits: Edits, new: str) -> None:
    """Raises `Refused` where a benchmark has more errors with the edits than without."""
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
    """A text with edits, none of which overlap.

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
            own.append(TextEdit(session.location_of(Place(path, start, end)).range, new))
    return WorkspaceEdit(changes=changes)
