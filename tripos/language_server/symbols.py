"""What names mean: the declaration behind a name, and every place that names it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tripos_compiler.index import Index, Symbol
from tripos_compiler.source import Span

ROWS = "rows"
"""The kind of a name that rows have inside a scenario, as in `over items as item`."""


@dataclass(frozen=True, order=True)
class Place:
    """A stretch of a file. Unlike a span it does not move with the text, and compares across compilations."""

    path: str
    start: int
    end: int


def place_of(span: Span) -> Place:
    """Where a span is now."""
    return Place(span.source.path, span.start, span.end)


def text_of(span: Span) -> str:
    """What stands there."""
    return span.source.text[span.start : span.end]


def is_named(span: Span, name: str) -> bool:
    """Whether the name stands there, alone or in quotes."""
    return text_of(span) in (name, f'"{name}"')


def span_at(index: Index, path: str, offset: int) -> Span | None:
    """The name at a place of a file: the shortest stretch that the index knows something of. At the end of one name
    and the start of another it is the other."""
    named = {*index.symbols, *index.uses, *(use.symbol for use in index.uses.values())}
    found = [span for span in named if span.source.path == path and span.start <= offset <= span.end]
    return min(found, key=lambda span: (offset == span.end, span.high - span.low), default=None)


def declaration(index: Index, span: Span) -> Span:
    """Where the name at a span is declared. A name of rows that was not given with `as` stands for the data set."""
    seen = {span}
    while span in index.uses:
        span = index.uses[span].symbol
        if span in index.symbols or span in seen:
            break
        seen.add(span)
    return span


def symbol_at(index: Index, span: Span) -> Symbol:
    """The symbol that is declared at a span; a name that rows are given has none of its own in the index."""
    return index.symbols.get(span) or Symbol(ROWS, text_of(span).strip('"'), span)


def root(index: Index, span: Span) -> Span:
    """The declaration from which a name has its text: of a field that is called like its axis, the axis."""
    seen: set[Span] = set()
    while span in index.uses and span not in seen:
        seen.add(span)
        above = index.uses[span].symbol
        if text_of(above) != text_of(span).strip('"'):
            break
        span = above
    return span


def family(index: Index, first: Span) -> set[Span]:
    """Every span that has its name from a declaration, itself too."""
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
    """What is declared in something, such as `axis stage`, in the order of the text."""
    found = [symbol for symbol in index.symbols.values() if symbol.owner == owner]
    return sorted(found, key=lambda symbol: place_of(symbol.span))


def distinct(spans: Iterable[Span]) -> list[Place]:
    """The places of spans, each once, in order."""
    return sorted({place_of(span) for span in spans})
