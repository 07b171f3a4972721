"""Completion: proposals by the kind of block and slot, and inside expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind as Kind,
    InsertTextFormat,
    MarkupContent,
    MarkupKind,
    Position,
    TextEdit,
)

from tripos.lsp.cursor import AGGREGATE_STATEMENTS, Bracket, Cursor, cursor_at, expected_items
from tripos.lsp.hover import TYPES, of_aggregate, of_construct, of_function
from tripos.lsp.names import (
    Proposal,
    SpecNames,
    chain_before,
    choice_of,
    fields_of,
    find_binding,
    name_ending,
    paths_at,
    scope_at,
)
from tripos.lsp.session import View
from tripos_compiler.constructs.signature import STRING_SLOTS, Item, Maybe, Slot, Word
from tripos_compiler.constructs.table import FILE, Construct, constructs_in
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.language.intervals import INTERVAL_ENDS, end_signature
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.types import type_notation
from tripos_compiler.plan import ChoiceType
from tripos_compiler.resolve.program import Binding

COMPARISON_TOKENS = ("EQ", "NE", "IN", "NOT_IN")
"""Tokens after which values of a choice are likely."""
SLOT_DEFAULTS = {"VERSION": "1.0.0", "COUNT": "1", "NUMBER": "0", "RANGE": "1..5", "TYPE": "text", "LANGUAGES": "en"}
"""Default texts of slots in snippets; any other slot shows its own name."""
LANGUAGES = ("en", "zh", "es", "fr", "de", "ar", "hi", "ja", "ko", "pt", "ru")
EXPRESSIONS = frozenset(
    {
        *("COND", "FILTER", "VALUE", "CALL", "LIST", "ELEMENTS", "CONDITION", "OPTIONS", "KEY", "DRAW", "WHO", "WORTH"),
        *("START", "OTHERS"),
    }
)
"""Slots that take an expression."""


def expression(view: View, cursor: Cursor) -> Iterator[Proposal]:
    """Yield the proposals inside an expression, likeliest first."""
    names = SpecNames(view)
    measured = cursor.keyword in AGGREGATE_STATEMENTS
    bracket = cursor.brackets[-1] if cursor.brackets else None
    if measured and bracket is not None and bracket.sign == "[":
        yield from _slice(names, bracket)
        return
    if cursor.keyword == "expect" and not bracket and not _after_dot(cursor):
        for end, summary in INTERVAL_ENDS.items():
            yield Proposal(end, Kind.Function, end_signature(end), summary, f"{end}($0)")
    if measured and not bracket and cursor.place == "file" and not _after_dot(cursor):
        yield from _aggregates(names)
        return
    scope = scope_at(view, cursor)
    if _after_dot(cursor):
        binding = find_binding(scope, chain_before(cursor.before))
        yield from _bindings(fields_of(binding)) if binding is not None else ()
        return
    choice = _compared(cursor, scope)
    if choice is not None:
        yield from _choice_values(names, choice)
    called = bracket if bracket is not None and bracket.name else None
    if called is not None and called.label:
        yield from _argument_words(names, called, measured=measured)
    elif called is not None and not measured:
        yield from _arguments(names, called, measured=False)
    yield from _bindings(scope)
    yield from _aggregates(names) if measured else _functions(names)
    if called is not None and measured and not called.label:
        yield from _arguments(names, called, measured=True)


def _after_dot(cursor: Cursor) -> bool:
    return bool(cursor.before) and cursor.before[-1].text == "." and cursor.before[-1].end == cursor.start


def _bindings(scope: Mapping[str, Binding]) -> Iterator[Proposal]:
    for name, binding in scope.items():
        secret = "secret " if binding.secret else ""
        detail = secret + (type_notation(binding.type) if binding.type is not None else "")
        yield Proposal(name, Kind.Field if len(binding.path) > 1 else Kind.Variable, detail.strip())


def _functions(names: SpecNames) -> Iterator[Proposal]:
    yield from (_called(proposal) for proposal in names.of("function", "scorer"))
    for name, function in FUNCTIONS.items():
        yield Proposal(name, Kind.Function, function.shown, of_function(function), f"{name}($0)")
    yield from (Proposal(word, Kind.Keyword) for word in ("true", "false", "not"))


def _aggregates(names: SpecNames) -> Iterator[Proposal]:
    yield from names.of("score", "compare", "scorer", "metric", "measure")
    yield from (_called(proposal) for proposal in names.of("aggregate"))
    for name, function in AGGREGATES.items():
        yield Proposal(name, Kind.Function, function.shown, of_aggregate(function), f"{name}($0)")


def _called(proposal: Proposal) -> Proposal:
    return Proposal(proposal.label, proposal.kind, proposal.detail, snippet=f"{proposal.label}($0)")


def _slice(names: SpecNames, bracket: Bracket) -> Iterator[Proposal]:
    if bracket.label:
        yield from names.values(bracket.label)
    else:
        for dimension in names.dimensions():
            yield Proposal(dimension.label, dimension.kind, dimension.detail, text=f"{dimension.label}: ")


def _compared(cursor: Cursor, scope: Mapping[str, Binding]) -> ChoiceType | None:
    """Return the choice type that the cursor's operand is compared with: after `==`, or in the brackets after `in`."""
    tokens = list(cursor.before)
    if cursor.brackets and not cursor.brackets[-1].name:
        while tokens and tokens[-1].start >= cursor.brackets[-1].start:
            tokens.pop()
    if not tokens or tokens[-1].kind not in COMPARISON_TOKENS:
        return None
    tokens.pop()
    binding = find_binding(scope, name_ending(tokens))
    return choice_of(binding.type) if binding is not None else None


def _choice_values(names: SpecNames, choice: ChoiceType) -> Iterator[Proposal]:
    labels = {proposal.label: proposal.detail for proposal in names.values(choice.axis)} if choice.axis else {}
    for value in choice.values:
        yield Proposal(value, Kind.EnumMember, labels.get(value, ""))


def _arguments(names: SpecNames, bracket: Bracket, *, measured: bool) -> Iterator[Proposal]:
    """Yield the names of a call's arguments."""
    for proposal in names.of("parameter", owner=f"scorer {bracket.name}"):
        yield Proposal(proposal.label, Kind.Variable, proposal.detail, text=f"{proposal.label}: ")
    function, aggregate = FUNCTIONS.get(bracket.name), AGGREGATES.get(bracket.name)
    if aggregate is not None and (measured or function is None):
        for setting in aggregate.parameters:
            if not setting.column:
                yield Proposal(setting.name, Kind.Variable, setting.shown, text=f"{setting.name}: ")
        yield Proposal("missing", Kind.Variable, f"missing: {'|'.join(aggregate.missing)}", text="missing: ")
    elif function is not None:
        for parameter in function.own_parameters[bracket.commas :]:
            if not parameter.many:
                yield Proposal(parameter.name, Kind.Variable, parameter.shown, text=f"{parameter.name}: ")


def _argument_words(names: SpecNames, bracket: Bracket, *, measured: bool) -> Iterator[Proposal]:
    """Yield the words that a named argument accepts."""
    function, aggregate = FUNCTIONS.get(bracket.name), AGGREGATES.get(bracket.name)
    if aggregate is not None and (measured or function is None):
        words = next(
            (
                aggregate_parameter.words
                for aggregate_parameter in aggregate.parameters
                if aggregate_parameter.name == bracket.label
            ),
            (),
        )
        words = aggregate.missing if bracket.label == "missing" else words
        yield from (Proposal(word, Kind.EnumMember) for word in words)
    elif function is not None:
        parameter = next((each for each in function.parameters if each.name == bracket.label), None)
        choice = choice_of(parameter.type) if parameter is not None else None
        yield from _choice_values(names, choice) if choice is not None else ()


def snippet_of(construct: Construct) -> str:
    """Return a statement as a snippet with a field for every required slot.

    >>> from tripos_compiler.constructs.table import CONSTRUCTS
    >>> snippet_of(next(each for each in CONSTRUCTS if each.name == "tree"))
    'tree ${1:name} from "${2:path}"'
    """
    numbers = count(1)
    text = " ".join(_parts(construct.shape.items, numbers))
    return text + (" {\n\t$0\n}" if construct.shape.block == "required" else "")


def _parts(items: Sequence[Item], numbers: count[int]) -> list[str]:
    parts: list[str] = []
    for item in items:
        match item:
            case Word(texts=texts):
                parts.append(texts[0] if len(texts) == 1 else f"${{{next(numbers)}|{','.join(texts)}|}}")
            case Slot(kind=kind):
                filling = SLOT_DEFAULTS.get(kind, kind.lower())
                field = f"${{{next(numbers)}:{filling if kind != 'LABELS' else 'text'}}}"
                parts.append(f'"{field}"' if kind in STRING_SLOTS or kind == "LABELS" else field)
            case Maybe():
                pass
    return parts


def completions(view: View, position: Position, *, snippets: bool, spaced: bool = False) -> list[CompletionItem]:
    """Return the completions at a position. `spaced` means that they were triggered by a space, which gives none at the
    start of a statement."""
    cursor = cursor_at(view.outline, view.offset(position))
    found: dict[str, Proposal] = {}
    start = cursor.start
    if cursor.place == "comment":
        return []
    if cursor.string is not None and cursor.hole is None:
        start, proposals = paths_at(view, cursor)
    elif _is_row(cursor):
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
    """Yield the statements that may begin here. In blocks with free entries, yield their usual names."""
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
    names = SpecNames(view)
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
    for item in expected_items(cursor):
        yield from _slot(view, cursor, item) if isinstance(item, Slot) else _words(item)


def _words(item: Word) -> Iterator[Proposal]:
    yield from (Proposal(text, Kind.Keyword) for text in item.texts if text.isalpha())


def _slot(view: View, cursor: Cursor, slot: Slot) -> Iterator[Proposal]:
    names = SpecNames(view)
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
        case "FACETS":
            yield from names.of("role")
            yield from names.of("arm")
        case "DIMS":
            yield from names.dimensions()
        case "MEASURE" | "MEASURES":
            yield from names.of("measure")
        case "SUBSETS":
            yield from names.of("subset")
        case "STEP":
            yield from names.steps(cursor)
        case "TOOLS":
            yield from names.of("tool")
            yield from expression(view, cursor)
        case "LANGUAGES":
            yield from (Proposal(code, Kind.EnumMember) for code in LANGUAGES)
        case "LABELS":
            yield from (Proposal(code, Kind.EnumMember, snippet=f'{code} "$0"') for code in names.languages())
        case "TYPE":
            yield from types(names)
        case "CALL" if cursor.place == FILE and cursor.keyword in ("scorer", "aggregate"):
            yield from types(names) if cursor.brackets and cursor.brackets[-1].label else ()
        case kind if kind in EXPRESSIONS:
            yield from expression(view, cursor)


def types(names: SpecNames) -> Iterator[Proposal]:
    """Yield the types of the language."""
    for name, summary in TYPES.items():
        snippet = {"choice": "choice($1)", "list": "list<$1>", "set": "set<$1>"}.get(name)
        yield Proposal(name, Kind.TypeParameter, summary, snippet=snippet)
    yield from names.axes()


def _is_row(cursor: Cursor) -> bool:
    return cursor.row is not None and bool(cursor.owners) and cursor.owners[-1][0].text == "allocate"


def _row(view: View, cursor: Cursor) -> Iterator[Proposal]:
    """Yield scenarios in the first cell of an allocation table's row, and metrics in the other cells of its first
    row.
    """
    cells = (cursor.row or "").split("|")[1:]
    names = SpecNames(view)
    if len(cells) == 1:
        yield from names.of("scenario")
    elif not cells[0].strip():
        yield from names.of("metric")
    else:
        yield Proposal("x", Kind.Value, "the metric applies")
        yield Proposal(".", Kind.Value, "the metric does not apply")
