"""Reading of statements: entries of the syntax tree matched against signatures, and errors in their heads.

Names joined by the wrong separator are reported with the right one: `arms a, b` for `arms a * b`, and `by a * b` for
`by a, b`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from tripos_compiler.constructs.signature import Mismatch, Slot, Statement
from tripos_compiler.constructs.table import (
    CONSTRUCTS,
    FILE,
    PROVIDER_FIELDS,
    REPEATED,
    Construct,
    constructs_in,
    place_of,
    places_of,
)
from tripos_compiler.diagnostics.diagnostic import Diagnostics, Label, nearest, suggest
from tripos_compiler.diagnostics.habits import MISPLACED, Kind, notation_for
from tripos_compiler.library.types import MEDIA
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    BinaryExpr,
    Block,
    CallExpr,
    Entry,
    Generic,
    Line,
    Name,
    OptionalExpr,
    RangeExpr,
    SymbolExpr,
    Syntax,
    TableRow,
    describe_syntax,
)

# Errors in heads


def report_mismatch(entry: Entry, miss: Mismatch, construct: Construct, diagnostics: Diagnostics) -> None:
    """Report the error in the head of a statement, with its signature."""
    expected = [one for some in miss.expected[:3] for one in some.split(" or ")]
    wanted = " or ".join([", ".join(expected[:-1]), expected[-1]] if len(expected) > 1 else expected)
    help_ = f"it is written `{construct.shape.shown}`"
    if construct.name == "speaker":
        others = [f"`{other[0].shape.shown}`" for word, other in constructs_in("converse").items() if word]
        help_ += f"; beside roles there can be {', '.join(others)}"
    moved = _moved_word(entry, construct)
    if moved is not None:
        word, line = moved
        message = f"`{word.text}` stands in the wrong place"
        diagnostics.error("E0106", message, word.span, help=f"write `{line}`; {help_}")
        return
    if miss.index < len(entry.elements):
        element = entry.elements[miss.index]
        words = [one.strip("`") for some in miss.expected for one in some.split(" or ") if one[0] == "`"]
        close = nearest(element.text, words) if isinstance(element, Name) else None
        if isinstance(element, Name) and (notation := _notation_for_clause(construct, element.text)) is not None:
            close, help_ = None, f"here it is written `{notation}`"
        if close is not None:
            help_ = f"did you mean `{close}`? {help_}"
        if isinstance(element, BinaryExpr) and element.operator == "==":
            help_ = f"a name is given a value by one `=`; {help_}"
        if "COND" in construct.shape.text and describe_syntax(element) == "`=`":
            help_ = f"two values are compared by `==`; {help_}"
        if wanted == "a name" and (joined := joined_names(element, "-")):
            help_ = f"a name has no hyphens: write `{'_'.join(joined)}`; {help_}"
        if "DIMS" in construct.shape.text:
            help_ = comma_suggestion(element, entry.elements[miss.index - 1] if miss.index else None) or help_
        diagnostics.error("E0106", f"expected {wanted}, found {describe_syntax(element)}", element.span, help=help_)
    else:
        last = entry.elements[-1]
        diagnostics.error("E0106", f"expected {wanted} after {describe_syntax(last)}", last.span, help=help_)


def _moved_word(entry: Entry, construct: Construct) -> tuple[Name, str] | None:
    """Return a misplaced optional word and the head with the word in its place, or None if that is not the error."""
    for place, word in enumerate(entry.elements):
        if not isinstance(word, Name) or word.text not in construct.shape.flags:
            continue
        nodes = [*entry.elements[:place], *entry.elements[place + 1 :]]
        for end in range(len(nodes), 0, -1):
            matched = construct.shape.match([*nodes[:end], word, *nodes[end:]])
            fits = not isinstance(matched, Mismatch) and (matched.get(word.text) is True or matched.get("type") is word)
            if fits:  # without a type the word stands where the type would
                texts = [other.span.excerpt for other in (*nodes[:end], word, *nodes[end:])]
                return word, " ".join(texts) + (" { … }" if entry.block is not None else "")
    return None


def comma_suggestion(element: Syntax, before: Syntax | None) -> str | None:
    """Return the suggestion to separate names by commas if they are joined by `*`, or None."""
    if isinstance(before, Name) and isinstance(element, BinaryExpr) and element.operator == "*":
        names = joined_names(element)
        return f"write `{before.text} {', '.join(names)}`" if names else None
    return None


def joined_names(syntax: Syntax, by: str = "*") -> list[str]:
    """Return the names that an operator joins; empty if an operand is not a name."""
    match syntax:
        case Name(text=text):
            return [text]
        case BinaryExpr(operator=operator, left=left, right=right) if operator == by:
            some, more = joined_names(left, by), joined_names(right, by)
            return some + more if some and more else []
        case _:
            return []


# Separators of names

PRODUCTS = frozenset({"AXES", "ARMS"})
"""Slots whose names are joined by `*`."""


def names_after_commas(
    first: Entry, rest: Sequence[Entry], construct: Construct, table: dict[str, list[Construct]]
) -> Sequence[Entry]:
    """Return the names that follow an entry of `construct` after commas on the same line."""
    kinds = {item.kind for item in construct.shape.items if isinstance(item, Slot)}
    if not kinds & PRODUCTS or first.block is not None or len(first.elements) < 2:
        return ()
    count = next((index for index, entry in enumerate(rest) if not _is_names(entry, table)), len(rest))
    return rest[:count]


def report_commas(first: Entry, names: Sequence[Entry], diagnostics: Diagnostics) -> Entry:
    """Report names after commas, and return the entry with the names joined by `*`."""
    product = first.elements[-1]
    for entry in names:
        element = entry.elements[0]
        product = BinaryExpr(product.span.to(element.span), "*", product, element)
    elements = (*first.elements[:-1], product)
    keyword = first.elements[0]
    word = keyword.text if isinstance(keyword, Name) else ""
    help_ = f"write `{word} {' * '.join(joined_names(product))}`: every combination of their values"
    diagnostics.error("E0106", f"the values of `{word}` are joined by `*`, not by commas", product.span, help=help_)
    return Entry(first.span.to(names[-1].span), elements, None)


def _is_names(entry: Entry, table: dict[str, list[Construct]]) -> bool:
    """Return true if an entry consists of a name or of names joined by `*`, and does not begin a statement."""
    alone = len(entry.elements) == 1 and entry.block is None and not entry.broken
    names = joined_names(entry.elements[0]) if alone else []
    return bool(names) and names[0] not in table


# Reading of blocks

TYPES = frozenset({"text", "integer", "number", "bool", "dialogue", "path", "json", "choice", *MEDIA})


def read_statements(
    block: Block,
    diagnostics: Diagnostics,
    body: str = FILE,
    known: dict[int, tuple[Entry, Statement]] | None = None,
) -> tuple[Statement, ...]:
    """Return the statements of a block, in order. Entries that match nothing are reported and skipped.

    `known` caches statements by the identity of their entry; statements without errors are added to it.
    """
    table = constructs_in(body)
    seen: dict[str, Statement] = {}
    statements: list[Statement] = []
    for entry in _entries(block, table, diagnostics):
        statement = _cached(entry, known)
        if statement is None:
            mark = _report_counts(diagnostics)
            statement = _read_entry(entry, block, table, body, diagnostics)
            if statement is None:
                continue
            if known is not None and mark == _report_counts(diagnostics):
                known[id(entry)] = (entry, statement)
        construct = next(c for group in table.values() for c in group if c.name == statement.construct)
        conditional = construct.for_each_condition and statement.find("cond") is not None
        earlier = statement if conditional else seen.setdefault(construct.name, statement)
        if construct.once and earlier is not statement:
            message = f"`{construct.starts_with}` is written twice"
            label = Label(earlier.head, "first written here")
            diagnostics.error("E0202", message, statement.head, label, help="remove one")
            continue
        statements.append(statement)
    return tuple(statements)


def _report_counts(diagnostics: Diagnostics) -> tuple[int, int, int]:
    """Return the numbers of diagnostics and of skipped names and blocks, which change with every mistake."""
    return len(diagnostics.items), len(diagnostics.skipped_names), len(diagnostics.skipped_blocks)


def _cached(entry: Entry, known: dict[int, tuple[Entry, Statement]] | None) -> Statement | None:
    """Return the statement of an entry that was read before; None if it was not."""
    pair = known.get(id(entry)) if known is not None else None
    return pair[1] if pair is not None and pair[0] is entry else None


def _entries(block: Block, table: dict[str, list[Construct]], diagnostics: Diagnostics) -> Iterator[Entry]:
    """Yield entries, with comma-separated items attached to the statement that takes a list."""
    for line in block.lines:
        for entry in line.entries:
            if entry.broken:
                diagnostics.lose(block.span, _names(entry))
        mark = len(diagnostics.items)
        for entry in _joined(line, table, diagnostics):
            if len(diagnostics.items) > mark and "" not in table and _keyword(entry) not in table:
                diagnostics.lose(block.span, _names(entry))  # the rest of a list that the mistake cut off
                continue
            yield entry


def _joined(line: Line, table: dict[str, list[Construct]], diagnostics: Diagnostics) -> Iterator[Entry]:
    start = 0
    while start < len(line.entries):
        first, start = line.entries[start], start + 1
        constructs = [] if first.broken else table.get(_keyword(first) or "", []) if _keyword(first) else []
        if not constructs:
            yield from () if first.broken else (first,)
            continue
        entries = line.entries[start:]
        if names := names_after_commas(first, entries, constructs[0], table):
            start += len(names)
            yield report_commas(first, names, diagnostics)
            continue
        takes_list = any(construct.shape.takes_list for construct in constructs)
        count = next((place for place, entry in enumerate(entries) if _begins_statement(entry, table)), len(entries))
        listed = entries[:count] if takes_list else ()
        if listed and not any(entry.block for entry in listed):
            start += count
            elements = first.elements + tuple(element for entry in listed for element in entry.elements)
            first = Entry(first.span.to(listed[-1].span), elements, first.block)
        yield first


def _begins_statement(entry: Entry, table: dict[str, list[Construct]]) -> bool:
    """Return true if an entry after a comma is a statement instead of a list item: it begins with a keyword and has
    more."""
    return (len(entry.elements) > 1 or entry.block is not None) and (_keyword(entry) or "") in table


def _keyword(entry: Entry) -> str | None:
    first = entry.elements[0] if entry.elements else None
    if isinstance(first, Name):
        return first.text
    return None


def _read_entry(
    entry: Entry, block: Block, table: dict[str, list[Construct]], body: str, diagnostics: Diagnostics
) -> Statement | None:
    entry = _with_in_as_word(entry, table)
    keyword = _keyword(entry)
    known = keyword is not None and keyword in table and body != "record" and not _is_field(entry, table)
    candidates = table[keyword] if known and keyword is not None else table.get("", [])
    first = entry.elements[0]
    if not candidates:
        _unknown(entry, first, keyword, table, body, diagnostics)
        diagnostics.lose(block.span, _names(entry))
        return None
    misses: list[tuple[Mismatch, Construct]] = []
    for construct in candidates:
        shape = construct.shape
        matched = shape.match(entry.elements)
        if (inner_word := _statement_in_list(entry, matched, construct, table)) is not None:
            message = f"`{inner_word.text}` begins another statement, and `{first.span.excerpt}` ends before it"
            help_ = f"put `{inner_word.text}` on a line of its own"
            diagnostics.error("E0101", message, inner_word.span, help=help_)
            diagnostics.lose(block.span, _names(entry))
            return None
        if isinstance(matched, Mismatch):
            misses.append((matched, construct))
        elif _block_fits(entry, construct, diagnostics):
            inner: tuple[Statement, ...] = ()
            if entry.block is not None and construct.body not in (None, REPEATED):
                inner = read_statements(entry.block, diagnostics, construct.body)
            head = first.span.to(entry.elements[-1].span)
            return Statement(construct.name, entry.span, head, matched, entry.block, inner)
        else:
            diagnostics.lose(block.span, _names(entry))
            return None
    diagnostics.lose(block.span, _names(entry))
    words = {element.text for element in entry.elements[1:] if isinstance(element, Name)}
    miss, construct = max(misses, key=lambda pair: (pair[0].index, len(words & set(pair[1].shape.text.split()))))
    if not known and table.keys() != {""} and isinstance(first, Name):
        close = nearest(first.text, [word for word in table if word])
        if close is not None:
            _unknown(entry, first, keyword, table, body, diagnostics)
            return None
    report_mismatch(entry, miss, construct, diagnostics)
    return None


def _statement_in_list(
    entry: Entry, matched: Mapping[str, Any] | Mismatch, construct: Construct, table: dict[str, list[Construct]]
) -> Name | None:
    """Return the keyword of another statement that follows an item of a list without a comma, or None."""
    if not construct.shape.takes_list:
        return None
    if isinstance(matched, Mismatch):
        lists = [list(entry.elements[1 : matched.index])]
    else:
        lists = [value for value in matched.values() if isinstance(value, list)]
    for listed in lists:
        for before, element in pairwise(listed):
            if not isinstance(element, Name) or not element.text or element.text not in table:
                continue
            if "," not in before.span.to(element.span).excerpt[len(before.span.excerpt) :]:
                return element
    return None


def _with_in_as_word(entry: Entry, table: dict[str, list[Construct]]) -> Entry:
    """Return an entry in which `in` is a keyword instead of an operator: `numbers in de`, `gives 1..5 in "[[{}]]"`."""
    first = entry.elements[0]
    while isinstance(first, BinaryExpr) and first.operator == "in":
        first = first.left
    word = first.text if isinstance(first, Name) else ""
    among = table.get(word) or [construct for construct in CONSTRUCTS if word and construct.starts_with == word]
    if not any(construct.shape.has_in for construct in among):
        return entry
    return replace(entry, elements=tuple(part for element in entry.elements for part in _split_at_in(element)))


def _split_at_in(element: Syntax) -> Iterator[Syntax]:
    """Yield the operands of `in` with the word between them."""
    if isinstance(element, BinaryExpr) and element.operator == "in":
        yield from _split_at_in(element.left)
        yield SymbolExpr(Span(element.span.source, element.left.span.end, element.right.span.start), "in")
        yield from _split_at_in(element.right)
    else:
        yield element


def _is_field(entry: Entry, table: dict[str, list[Construct]]) -> bool:
    """Return true if a keyword is the name of a field here because a type follows: `key text`."""
    second = entry.elements[1] if len(entry.elements) > 1 else None
    name = second.function if isinstance(second, CallExpr) else second
    typed = isinstance(second, Generic | OptionalExpr | RangeExpr) or (isinstance(name, Name) and name.text in TYPES)
    return typed and any(construct.name == "field" for construct in table.get("", []))


def _names(entry: Entry) -> Iterator[str]:
    """Yield the names in the head of an entry and in the heads inside its block, which it may have declared."""
    for element in entry.elements:
        match element:
            case (
                Name(text=text)
                | CallExpr(function=Name(text=text))
                | BinaryExpr(left=Name(text=text))
                | BinaryExpr(left=CallExpr(function=Name(text=text)))
            ):
                yield text
    for inner in entry.block.entries() if entry.block is not None else ():
        yield from _names(inner)


def _block_fits(entry: Entry, construct: Construct, diagnostics: Diagnostics) -> bool:
    """Return true if an entry has a block where its construct takes one; otherwise report it."""
    first = entry.elements[0]
    if entry.block is None and construct.shape.block == "required":
        help_ = f"it is written `{construct.shape.shown}`"
        diagnostics.error("E0106", f"{describe_syntax(first)} needs a block in braces", first.span, help=help_)
        return False
    if entry.block is not None and construct.shape.block == "none":
        opening = entry.block.span
        place = type(opening)(opening.source, opening.start, opening.start + 1)
        help_ = f"it is written `{construct.shape.shown}`"
        diagnostics.error("E0106", f"{describe_syntax(first)} takes no block", place, help=help_)
        return False
    return True


def _notation_for_clause(construct: Construct, word: str) -> str | None:
    """Return the notation for a word of another language after the beginning of a statement with a value."""
    kind: Kind = "figure clause" if construct.name == "measure" else "clause"
    return notation_for(kind, word) if "VALUE" in construct.shape.text else None


def _unknown(
    entry: Entry,
    first: Syntax,
    keyword: str | None,
    table: dict[str, list[Construct]],
    body: str,
    diagnostics: Diagnostics,
) -> None:
    """Report an entry that begins no statement of a body."""
    own_place = place_of(body)
    if isinstance(first, TableRow):
        diagnostics.error(
            "E0107", f"a table row means nothing {own_place}", first.span, help="tables belong in `allocate`"
        )
        return
    if keyword is None:
        message = f"a statement cannot begin with {describe_syntax(first)}"
        help_ = f"{own_place} a statement begins with a word"
        match first:
            case BinaryExpr(operator="-", left=Name(text=left), right=Name(text=right)):  # as an option is written
                joined = "_".join((left, right))
                help_ = f"did you mean `{joined}`?" if joined in table else help_
        if first.span.excerpt.startswith("--"):
            help_ = "a comment begins with `#`"
        diagnostics.error("E0106", message, first.span, help=help_)
        return
    notation = notation_for("statement", keyword)
    if notation is not None and notation.partition(" ")[0] not in table:
        notation = None
    places = places_of(keyword)
    if places:
        if FILE in places:  # it may declare what others use
            source = entry.span.source
            diagnostics.lose(Span(source, 0, len(source.text)), _names(entry))
        where = " or ".join(place_of(place) for place in places)
        if (misplaced := MISPLACED.get((body, keyword))) is not None:
            help_ = f"{own_place} it is written `{misplaced}`"
        elif notation is not None:
            help_ = f"{own_place} it is written `{notation}`; `{keyword}` stands {where}"
        else:
            help_ = f"it stands {where}"
        diagnostics.error("E0107", f"`{keyword}` does not belong {own_place}", first.span, help=help_)
        return
    if keyword in PROVIDER_FIELDS and "provider" in table:
        help_ = f"write it as a field of the provider: `provider {{ {keyword} … }}`"
        diagnostics.error("E0204", f"there is no statement `{keyword}`", first.span, help=help_)
        return
    words = sorted(word for word in table if word)
    otherwise = f"{own_place} there can be {', '.join(f'`{word}`' for word in words)}"
    help_ = f"here it is written `{notation}`" if notation is not None else suggest(keyword, words, otherwise)
    diagnostics.error("E0204", f"there is no statement `{keyword}`", first.span, help=help_)
