"""The protocols by which the modules of this room check parts of expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Protocol

from tripos_compiler.plan import Expr, ExpressionGraph, Loop, Scorer, Type
from tripos_compiler.resolve import Binding, Program, Scope, Typed
from tripos_compiler.source import Argument, CallExpr, Span, Syntax, dataclass


class Judge(Protocol):
    """Checks a call of a judge, where one may be called."""

    programs: bool
    """True where scorers may be called too that are programs."""

    def __call__(self, call: CallExpr, scorer: Scorer, given: dict[str, Typed]) -> Typed | None: ...
    def each(self, loop: Loop) -> Judge:
        """Return the same for what is asked for each element of a list."""
        ...


@dataclass
class FormulaValues:
    """Formulas that were checked with some arguments: a `let` that calls another twice checks it once."""

    arguments: ExpressionGraph = field(default_factory=ExpressionGraph)
    found: dict[tuple[str, int, tuple[int, ...]], tuple[Judge | None, Typed]] = field(default_factory=dict)

    def key(self, name: str, judge: Judge | None, given: Iterable[Expr]) -> tuple[str, int, tuple[int, ...]]:
        """Return what tells a formula with its arguments from others."""
        return name, id(judge), tuple(self.arguments.add(each) for each in given)


class Checker(Protocol):
    """The part of a checker of expressions that calls and operators need (`expressions.Elaborator`)."""

    program: Program
    scope: Scope
    judge: Judge | None
    depth: int
    formulas: FormulaValues

    def binding(self, syntax: Syntax) -> Binding | None: ...
    def infer(self, syntax: Syntax) -> Typed | None: ...
    def expression(self, syntax: Syntax, wanted: Type | None = None, what: str = "this") -> Typed | None: ...
    def against(self, syntax: Syntax, choice: Type) -> Typed | None: ...
    def is_value(self, syntax: Syntax) -> bool: ...
    def locale(self) -> Typed | None: ...
    def typed_as(self, typed: Typed | None, syntax: Syntax, wanted: Type, what: str) -> Typed | None: ...
    def misfit(self, span: Span, given: Type, wanted: Type, what: str) -> None: ...
    def group(self, syntax: Syntax, arguments: tuple[Argument, ...], choice: Type | None = None) -> Typed | None: ...
    def within(self, scope: Scope) -> Checker: ...
    def inside(self, scope: Scope, judge: Judge | None) -> Checker: ...
    def condition(self, syntax: Syntax) -> Typed | None: ...
    def error(
        self, code: str, message: str, span: Span, help: str | None = None, unknown: str | None = None
    ) -> None: ...
