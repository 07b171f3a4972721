"""Completion: what may be typed at a place, by the kind of block and of slot that it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lsprotocol.types import (
    CompletionItem,
    InsertTextFormat,
    MarkupContent,
    MarkupKind,
    Position,
    TextEdit,
)
from lsprotocol.types import CompletionItemKind as Kind

from tripos.language_server.cursor import Cursor, cursor_at
from tripos.language_server.descriptions import TYPES, of_construct
from tripos.language_server.expected import expected
from tripos.language_server.names import Names, Proposal
from tripos.language_server.paths import paths_at
from tripos.language_server.session import View
from tripos.language_server.snippets import snippet_of
from tripos.language_server.values import expression
from tripos_compiler.constructs.signature import Slot, Word
from tripos_compiler.constructs.table import FILE, constructs_in

LANGUAGES = ("en", "zh", "es", "fr", "de", "ar", "hi", "ja", "ko", "pt", "ru")
EXPRESSIONS = frozenset({"COND", "FILTER", "VALUE", "CALL"})


def completions(view: View, position: Position, *, snippets: bool, spaced: bool = False) -> list[CompletionItem]:
    """What may be typed at a position. `spaced`: a space was typed there, which asks for nothing by itself at the start
    of a statement."""
    cursor = cursor_at(view.text, view.offset(position))
    found: dict[str, Proposal] = {}
    start = cursor.start
    if cursor.place == "comment":
        return []
    if cursor.string is not None and cursor.hole is None:
        start, proposals = paths_at(view, cursor)
    elif _is_row(view.text, cursor):
        proposals = _row(view, cursor)
    elif cursor.hole is None and cursor.head is None:
        proposals = iter(()) if spaced else _statements(view, cursor)
    else:
        proposals = _in_head(view, cursor)
    for proposal in proposals:
        found.setdefault(proposal.label, proposal)
    place = view.range(start, cursor.offset)
    return [
        _item(proposal, lambda text: TextEdit(place, text), rank, snippets=snippets)
        for rank, proposal in enumerate(found.values())
    ]


def _item(proposal: Proposal, edit: Callable[[str], TextEdit], rank: int, *, snippets: bool) -> CompletionItem:
    snippet = proposal.snippet if snippets else None
    return CompletionItem(
        proposal.label,
        kind=proposal.kind,
        detail=proposal.detail or None,
        documentation=MarkupContent(MarkupKind.Markdown, proposal.documentation) if proposal.documentation else None,
        sort_text=f"{rank:04}",
        insert_text_format=InsertTextFormat.Snippet if snippet is not None else None,
        text_edit=edit(snippet if snippet is not None else proposal.text or proposal.label),
    )


def _statements(view: View, cursor: Cursor) -> Iterator[Proposal]:
    """The statements that may begin here; where entries are free, what they are usually called."""
    table = constructs_in(cursor.place)
    for word, constructs in table.items():
        for number, construct in enumerate(constructs):
            if not word:
                continue
            label = word if number == 0 else construct.shape.shown.split("{")[0].strip()
            documentation = of_construct([construct])
            yield Proposal(label, Kind.Keyword, construct.summary, documentation, snippet_of(construct), word)
    if "" not in table:
        return
    names = Names(view)
    if cursor.place == "dataset":
        yield from names.of("axis")
        yield Proposal("language", Kind.Enum, "the language of the row")
    elif cursor.place == "converse":
        for role in names.of("role"):
            yield Proposal(role.label, role.kind, role.detail, snippet=f'{role.label} {{\n\tsystem "$0"\n}}')


def _in_head(view: View, cursor: Cursor) -> Iterator[Proposal]:
    if cursor.hole is not None:
        yield from expression(view, cursor)
        return
    for item in expected(cursor):
        yield from _slot(view, cursor, item) if isinstance(item, Slot) else _words(item)


def _words(item: Word) -> Iterator[Proposal]:
    yield from (Proposal(text, Kind.Keyword) for text in item.texts if text.isalpha())


def _slot(view: View, cursor: Cursor, slot: Slot) -> Iterator[Proposal]:
    names = Names(view)
    match slot.kind:
        case "ROLE":
            yield from names.of("role")
        case "DATASET" | "SOURCE":
            yield from names.datasets(cursor)
            if slot.kind == "SOURCE":
                yield from expression(view, cursor)
        case "SCORER":
            yield from names.of("scorer")
        case "TREE":
            yield from names.of("tree")
        case "AXES":
            yield from names.axes()
        case "ARMS":
            yield from names.of("arm")
        case "DIMS":
            yield from names.dimensions()
        case "MEASURE" | "MEASURES":
            yield from names.of("measure")
        case "SUBSETS":
            yield from names.of("subset")
        case "STEP":
            yield from names.steps(cursor)
        case "LANGUAGES":
            yield from (Proposal(code, Kind.EnumMember) for code in LANGUAGES)
        case "LABELS":
            yield from (Proposal(code, Kind.EnumMember, snippet=f'{code} "$0"') for code in names.languages())
        case "TYPE":
            yield from types(names)
        case "CALL" if cursor.place == FILE and cursor.keyword == "scorer":
            yield from types(names) if cursor.brackets and cursor.brackets[-1].label else ()
        case kind if kind in EXPRESSIONS:
            yield from expression(view, cursor)


def types(names: Names) -> Iterator[Proposal]:
    """Every type that can be written."""
    for name, summary in TYPES.items():
        snippet = {"choice": "choice($1)", "list": "list<$1>", "set": "set<$1>"}.get(name)
        yield Proposal(name, Kind.TypeParameter, summary, snippet=snippet)
    yield from names.axes()


def _is_row(text: str, cursor: Cursor) -> bool:
    line = text.rfind("\n", 0, cursor.start) + 1
    in_table = bool(cursor.owners) and cursor.owners[-1].text == "allocate"
    return in_table and text[line : cursor.start].lstrip().startswith("|")


def _row(view: View, cursor: Cursor) -> Iterator[Proposal]:
    """A scenario in the first cell of a row of an allocation table, a metric in the others of its first row."""
    line = view.text.rfind("\n", 0, cursor.start) + 1
    cells = view.text[line : cursor.start].split("|")[1:]
    names = Names(view)
    if len(cells) == 1:
        yield from names.of("scenario")
    elif not cells[0].strip():
        yield from names.of("metric")
    else:
        yield Proposal("x", Kind.Value, "the metric applies")
        yield Proposal(".", Kind.Value, "the metric does not apply")
