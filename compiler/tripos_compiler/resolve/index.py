"""Declarations of a spec and their uses: for editors, and to find what is never used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeVar

from tripos_compiler.diagnostics import Label
from tripos_compiler.source import Span, dataclass

Key = TypeVar("Key")
Noted = TypeVar("Noted")


@dataclass(frozen=True)
class Symbol:
    """A declared name. `kind` is that of its declaration (`role`, `axis`, `value`, `field`, `ask`, `let`, …), `span`
    the place of the name, `owner` what it is declared in (`scenario kct`), `detail` its type or signature."""

    kind: str
    name: str
    span: Span
    owner: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Use:
    """A place that names a symbol, which is at `symbol`."""

    span: Span
    symbol: Span


@dataclass
class Index:
    """Symbols by the place of their name, the uses of them, and what was in scope where."""

    symbols: dict[Span, Symbol] = field(default_factory=dict)
    uses: dict[Span, Use] = field(default_factory=dict)
    types: dict[Span, str] = field(default_factory=dict)
    """The type of expressions that have a name, as people write it."""
    places: dict[int, tuple[Any, Span]] = field(default_factory=dict)
    """Where parts of a plan are written, by identity: expressions, and the holes of texts."""
    meanings: dict[int, tuple[Any, Label]] = field(default_factory=dict)
    """What gives an expression a name, by its identity: a `let`, or a call of one with parameters."""
    judged: dict[tuple[str, str], Span] = field(default_factory=dict)
    """Where a judge is called, by the scenario and the name of the step."""
    scopes: list[tuple[Span, Mapping[str, Any]]] = field(default_factory=list)
    """For a stretch of a file, the bindings (`expressions.Binding`) that its expressions can name."""

    def define(self, kind: str, name: str, span: Span, owner: str = "", detail: str = "") -> None:
        """Note a declaration; the first at a place stands, with the fullest detail."""
        known = self.symbols.get(span)
        if known is None or (detail and not known.detail):
            self.symbols[span] = Symbol(kind, name, span, owner, detail)

    def use(self, span: Span, symbol: Span | None, type_: str = "") -> None:
        """Note that a name at `span` means the symbol declared at `symbol`."""
        if symbol is not None and span != symbol:
            self.uses.setdefault(span, Use(span, symbol))
        if type_:
            self.types.setdefault(span, type_)

    def place(self, part: Any, span: Span) -> None:
        """Note where a part of a plan is written; the first place stands."""
        self.places.setdefault(id(part), (part, span))

    def mean(self, expr: Any, label: Label) -> None:
        """Note what gives an expression a name."""
        self.meanings.setdefault(id(expr), (expr, label))

    def add(self, other: Index) -> None:
        """Add all of another index; what is known already stands."""
        for symbol in other.symbols.values():
            self.define(symbol.kind, symbol.name, symbol.span, symbol.owner, symbol.detail)
        self.scopes.extend(other.scopes)
        _add(self.uses, other.uses)
        _add(self.types, other.types)
        _add(self.places, other.places)
        _add(self.meanings, other.meanings)
        _add(self.judged, other.judged)


def _add(known: dict[Key, Noted], others: Mapping[Key, Noted]) -> None:
    """Add what is not known: as many steps as there are others, however much is known."""
    known |= {key: noted for key, noted in others.items() if key not in known}
