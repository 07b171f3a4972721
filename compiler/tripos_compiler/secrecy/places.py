"""Where what is written stands: the places that a message shows."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.index import Index
from tripos_compiler.plan import Expr, Hole, Passage
from tripos_compiler.program import KINDS, Program
from tripos_compiler.semantics.names import parts_of
from tripos_compiler.source import Span


@dataclass(frozen=True)
class Places:
    """Finds the places of a program's parts. What was put together anew is found by what it is made of."""

    program: Program

    @property
    def index(self) -> Index:
        """What was noted while the program was lowered."""
        return self.program.index

    def of(self, part: Expr | Hole | Passage, otherwise: Span) -> Span:
        """Where an expression, a hole or the condition of a passage is written."""
        known = self.index.places.get(id(part))
        if known is not None:
            return known[1]
        match part:
            case Hole(expr=expr):
                return self.of(expr, otherwise)
            case Passage(when=when):
                return self.of(when, otherwise) if when is not None else otherwise
        for each in parts_of(part):
            known = self.index.places.get(id(each))
            if known is not None:
                return known[1]
        return otherwise

    def named(self, expr: Expr) -> Label | None:
        """What gives an expression a name, if anything does."""
        known = self.index.meanings.get(id(expr))
        return known[1] if known is not None else None

    def text(self, expr: Expr, otherwise: Span) -> str:
        """An expression as it is written, in one line."""
        span = self.of(expr, otherwise)
        return " ".join(span.source.text[span.start : span.end].split())

    def scenario(self, name: str) -> Statement:
        """The statement of a scenario. Raises `KeyError` where there is none."""
        return self._named(self.program.of("scenario"), name)

    def dataset(self, name: str) -> Statement:
        """The statement of a data set, by the name it has in the plan. Raises `KeyError` where there is none."""
        outer, dot, inner = name.partition(".")
        if not dot:
            return self._named(self.program.of(*KINDS["dataset"]), name)
        return self._named([each for each in self.scenario(outer).body if each.construct in KINDS["dataset"]], inner)

    def step(self, scenario: str, name: str) -> Statement:
        """The statement of a step; that of the scenario, where it has none of its own."""
        outer = self.scenario(scenario)
        for each in outer.body:
            if each.find_name("name") is not None and each.name().text == name:
                return each
        return outer

    def _named(self, statements: list[Statement], name: str) -> Statement:
        for each in statements:
            if each.name().text == name:
                return each
        raise KeyError(name)
