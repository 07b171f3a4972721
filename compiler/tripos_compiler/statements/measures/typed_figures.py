"""Typed figures: its part of the plan, its scale, and what it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import Figure, Measure, Missing
from tripos_compiler.resolve import Program
from tripos_compiler.source import Name, Span, Syntax, dataclass
from tripos_compiler.statements.measures.dimensions import Parted, dimension_text
from tripos_compiler.statements.measures.scales import Scale
from tripos_compiler.statements.measures.scored_values import Operand, Scores


@dataclass(frozen=True)
class Leaf:
    """An aggregate that a figure is made of: what it looks at, and the dimensions that a slice has fixed for it."""

    named: str
    scored: tuple[Operand, ...]
    fixed: frozenset[str] = frozenset()
    function: str = "mean"
    judged: bool = False
    """Whether it is taken across the models of a role, so that it cannot go by them."""

    @property
    def parted(self) -> Parted:
        """Return what it can go by."""
        fixed = {"scenario"}
        if any(each.kept for each in self.scored):
            fixed.add("metric")
        if any(each.metrics for each in self.scored):
            fixed.add("dimension")
        if any(each.judges for each in self.scored) and not self.judged:
            fixed.add("evaluator")
        if self.judged:
            fixed.add("pair")
        scenarios = {scenario.name: scenario for each in self.scored for scenario in each.scenarios}
        whole = all(each.whole for each in self.scored)
        elements = dict(each.elements for each in self.scored if each.elements is not None)
        return Parted(
            self.named, tuple(scenarios.values()), frozenset(fixed), across=self.judged, whole=whole, elements=elements
        )


@dataclass(frozen=True)
class TypedFigure:
    """A figure that was read without a mistake. `cells` are the dimensions that it goes by on its own, beside those of
    the statement that it stands in."""

    figure: Figure
    scale: Scale
    named: str
    span: Span
    cells: tuple[str, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    fixed: frozenset[str] = frozenset()
    """The dimensions that a slice of the whole figure fixes."""
    mixed: bool = False
    """Whether its cells have different scales, for it goes by metrics that do."""
    ends: tuple[float | None, float | None] = (None, None)
    """The least and the greatest value where not both are known, as of a count."""


@dataclass(frozen=True)
class Term:
    """A part of a formula that goes by dimensions of its own, for the check that all parts go together."""

    named: str
    span: Span
    cells: tuple[str, ...]
    fixed: frozenset[str]


@dataclass(frozen=True)
class Declared:
    """A `measure` statement: its name in the plan, and the scenario that it stands in."""

    key: str
    scenario: str | None
    name: Name
    statement: Statement


@dataclass(frozen=True)
class LoweredMeasure:
    """A measure that was lowered, with what reading it found."""

    measure: Measure
    figured: TypedFigure


@dataclass
class FigureContext:
    """The place at which a figure is read: in a scenario or at the top of a file, in the measure `own`, going by
    `written` dimensions, across the models of `across`."""

    program: Program
    scores: Scores
    declared: Mapping[str, Declared]
    known: Mapping[str, LoweredMeasure]
    scopes: Mapping[Span, Mapping[str, Any]] = field(default_factory=dict)
    """What was in scope at the arguments that a scenario was asked about."""
    scenario: str | None = None
    own: str | None = None
    written: tuple[Syntax, ...] = ()
    across: Name | None = None
    across_taken: bool = False
    """Whether an aggregate of the figure is taken across the role."""
    missing: Missing | None = None
    """What is done where a score is missing, where that was said."""
    zero: bool = False
    """Whether a score that is missing counts as 0, which need not lie on its scale."""
    terms: list[Term] = field(default_factory=list)

    @property
    def by(self) -> tuple[str, ...]:
        """The dimensions of the statement, as they are written."""
        return tuple(dict.fromkeys(dimension_text(syntax) for syntax in self.written))

    def measure(self, name: str) -> Declared | None:
        """Return the measure that a plain name means here: one of the scenario's, or else one of the whole spec's."""
        own = self.declared.get(f"{self.scenario}.{name}") if self.scenario is not None else None
        return own or self.declared.get(name)

    def error(self, code: str, message: str, span: Span, help: str | None = None, unknown: str | None = None) -> None:
        """Report a mistake."""
        self.program.diagnostics.error(code, message, span, help=help, unknown=unknown)


def written_as(syntax: Syntax) -> str:
    """Return a piece of a spec as it is written, on one line."""
    span = syntax.span
    return " ".join(span.source.text[span.start : span.end].split())


def sliced(leaf: Leaf, keys: frozenset[str]) -> Leaf:
    """Return the leaf with further dimensions fixed."""
    return replace(leaf, fixed=leaf.fixed | keys)
