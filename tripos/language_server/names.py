"""Names that are declared in the benchmarks of a document, as proposals for a place that takes one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lsprotocol.types import CompletionItemKind as Kind

from tripos.language_server.cursor import Cursor
from tripos.language_server.outline import every
from tripos.language_server.session import View
from tripos.language_server.symbols import place_of
from tripos_compiler.index import Symbol
from tripos_compiler.plan import FIXED
from tripos_compiler.syntax.tree import Name

KINDS = {
    "role": Kind.Class,
    "axis": Kind.Enum,
    "arm": Kind.Enum,
    "value": Kind.EnumMember,
    "group": Kind.Enum,
    "dataset": Kind.Struct,
    "tree": Kind.Struct,
    "scenario": Kind.Module,
    "scorer": Kind.Function,
    "function": Kind.Function,
    "metric": Kind.Property,
    "field": Kind.Field,
    "parameter": Kind.Variable,
}
"""How an editor shows a declared name; any other kind is a variable."""


@dataclass(frozen=True)
class Proposal:
    """Something that may be typed: `text` instead of the label, or `snippet` where the editor knows snippets."""

    label: str
    kind: Kind
    detail: str = ""
    documentation: str = ""
    snippet: str | None = None
    text: str = ""


class Names:
    """The declared names of the benchmarks that a document is part of."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.symbols = sorted(
            (symbol for compilation in view.compilations for symbol in compilation.index.symbols.values()),
            key=lambda symbol: place_of(symbol.span),
        )

    def of(self, *kinds: str, owner: str | None = None) -> Iterator[Proposal]:
        """The names of some kinds; of `dataset` and `measure` those at the top of a file unless an owner is given."""
        for symbol in self.symbols:
            top = owner is None and (symbol.kind not in ("dataset", "measure") or not symbol.owner)
            if symbol.kind in kinds and (top or symbol.owner == owner):
                yield _proposed(symbol)

    def axes(self) -> Iterator[Proposal]:
        """Every axis, that of the languages too."""
        yield from self.of("axis")
        yield Proposal("language", Kind.Enum, "the languages of the benchmark")

    def dimensions(self) -> Iterator[Proposal]:
        """What a measure can go by."""
        yield from self.axes()
        yield from self.of("arm")
        yield from (Proposal(name, Kind.Enum) for name in FIXED)

    def datasets(self, cursor: Cursor) -> Iterator[Proposal]:
        """The data sets that can be named at a place: those of its scenario, and those at the top of a file."""
        scenario = scenario_around(self.view, cursor)
        if scenario is not None:
            yield from self.of("dataset", owner=f"scenario {scenario}")
        yield from self.of("dataset")

    def steps(self, cursor: Cursor) -> Iterator[Proposal]:
        """The steps of the scenario around a place; of every scenario elsewhere."""
        scenario = scenario_around(self.view, cursor)
        yield from self.of("ask", "converse", "retrieve", owner=f"scenario {scenario}" if scenario else None)

    def values(self, of: str) -> Iterator[Proposal]:
        """The values of an axis, an arm, or of what else a slice can fix."""
        yield from self.of("value", owner=f"axis {of}")
        yield from self.of("value", owner=f"arm {of}")
        if of in ("scenario", "metric", "dimension"):
            yield from self.of(of)
        if of == "language":
            yield from (Proposal(code, Kind.EnumMember) for code in self.languages())

    def languages(self) -> list[str]:
        """The languages of the benchmarks, as far as they say."""
        found: dict[str, None] = {}
        for each in self.view.checked:
            for statement in every(self.view.session.outline(each.benchmark.main).statements):
                if statement.construct == "languages":
                    found.update({name.text: None for name in statement.many("languages") if isinstance(name, Name)})
        return list(found)


def scenario_around(view: View, cursor: Cursor) -> str | None:
    """The name of the scenario that a place is in."""
    for owner in cursor.owners:
        if owner.text == "scenario":
            found = re.compile(r"[^\S\n]+(\w+)").match(view.text, owner.end)
            return found[1] if found is not None else None
    return None


def detail_of(symbol: Symbol) -> str:
    """What a symbol is, in a few words."""
    return symbol.detail or f"{symbol.kind} of {symbol.owner}" if symbol.owner else symbol.detail or symbol.kind


def _proposed(symbol: Symbol) -> Proposal:
    return Proposal(symbol.name, KINDS.get(symbol.kind, Kind.Variable), detail_of(symbol))
