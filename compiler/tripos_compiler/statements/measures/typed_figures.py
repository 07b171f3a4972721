"""Typed figures: their part of the plan, their scale, and what they go by; and formulas of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from tripos_compiler.constructs import Statement
from tripos_compiler.language.figures import Range, ends_of_formula
from tripos_compiler.plan import Constant, Figure, Formula, Measure, Missing
from tripos_compiler.resolve import Program
from tripos_compiler.source import Name, Span, Syntax, dataclass
from tripos_compiler.statements.measures.dimensions import Parted, dimension_text, read_dimension
from tripos_compiler.statements.measures.normal_forms import (
    Atom,
    Direction,
    NormalForm,
    atom_form,
    combined,
    over_all,
    scale_clash,
    with_missing,
    with_scale,
)
from tripos_compiler.statements.measures.scales import UNIT, Scale, spoken
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
    form: NormalForm = field(default_factory=NormalForm)
    """Its normal form, in which measures are what they are made of."""
    course: NormalForm = field(default_factory=NormalForm)
    """Its normal form, in which measures stand as they are named, each with the direction that is the better one."""


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
    better: Direction | Literal[False] | None
    """Which direction is the better one; None where nothing is said of it, and False where that does not follow."""
    said: bool
    """Whether the measure says so itself."""

    @property
    def course(self) -> NormalForm:
        """The form that a formula has of it: its name if it says a direction, else what it is made of."""
        if not self.said or not self.better:
            return self.figured.course
        atom = Atom(f"measure {self.measure.name}", bounds=range_of(self.figured), better=frozenset((self.better,)))
        return atom_form(replace(atom, said=True))


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


def formula_of(
    reading: FigureContext, operator: str, parts: list[TypedFigure], syntax: Syntax, scale: Scale
) -> TypedFigure:
    """Return the figure that a formula is; what a part goes by on its own, the others have one number over all of."""
    if operator == "negate" and isinstance(parts[0].figure, Constant):
        value = -parts[0].figure.value
        form = combined("negate", [parts[0].form])
        named = written_as(syntax)
        return replace(parts[0], figure=Constant(value=value), scale=scale, named=named, form=form, course=form)
    cells = tuple(dict.fromkeys(dim for part in parts for dim in part.cells))
    parts = [_over_all(part, [dim for dim in cells if dim not in reading.by]) for part in parts]
    values: tuple[Figure, ...] = tuple(part.figure for part in parts)
    low, high = ends_of_formula(operator, [range_of(part) for part in parts])
    if operator == "*" and values[0] == values[1]:  # a square
        low = max(low, 0.0)
    if scale.bounds is None and math.isfinite(low) and math.isfinite(high):
        scale = replace(scale, bounds=(low, high))
    form, course = (
        combined(operator, forms) for forms in zip(*((part.form, part.course) for part in parts), strict=True)
    )
    bounds = scale.bounds or (low, high)
    return TypedFigure(
        Formula(operator=operator, values=values),
        scale,
        written_as(syntax),
        syntax.span,
        cells=cells,
        leaves=tuple(leaf for part in parts for leaf in part.leaves),
        mixed=any(part.mixed for part in parts),
        ends=(low if math.isfinite(low) else None, high if math.isfinite(high) else None),
        form=with_scale(form, scale.held, bounds, written_as(syntax)),
        course=with_scale(course, None, bounds, written_as(syntax)),
    )


def _over_all(part: TypedFigure, cells: Sequence[str]) -> TypedFigure:
    """Return a part of a formula as it stands in these cells: the number over all of those that it does not go by."""
    over = [dim for dim in cells if dim not in part.cells and not all(dim in leaf.fixed for leaf in part.leaves)]
    if not over:
        return part
    return replace(
        part,
        figure=Formula(operator="overall", values=(part.figure,), over=tuple(over)),
        leaves=tuple(sliced(leaf, frozenset(over)) for leaf in part.leaves),
        form=over_all(part.form, over),
        course=over_all(part.course, over),
    )


def find_cells(reading: FigureContext, figured: TypedFigure) -> tuple[str, ...] | None:
    """Return the dimensions that a figure goes by. None where it cannot go by one, or where no part of it goes by all
    of them, which is reported: what `by_level - by_kind` means for a level and a kind would be anybody's guess."""
    good = True
    for syntax in reading.written:
        free = [leaf.parted for leaf in figured.leaves if dimension_text(syntax) not in leaf.fixed]
        if free:
            good = read_dimension(reading.program, syntax, free) is not None and good
        else:
            message = f"`{dimension_text(syntax)}` is fixed already, so there is nothing to go by"
            reading.error("E0621", message, syntax.span, "leave it out here, or in the slice")
            good = False
    return _joined(reading, figured) if good else None


def _joined(reading: FigureContext, figured: TypedFigure) -> tuple[str, ...] | None:
    by = tuple(dict.fromkeys([*reading.by, *figured.cells]))
    lacking = [[dim for dim in by if dim not in {*reading.by, *term.cells, *term.fixed}] for term in reading.terms]
    if lacking and all(lacking):
        term, dim = reading.terms[0], lacking[0][0]
        other = next(each for each in reading.terms if dim in each.cells)
        message = f"`{other.named}` goes by `{dim}`, and `{term.named}` by something else"
        reading.error("E0621", message, term.span, f"take both by it, with `by {', '.join(by)}` at the end")
        return None
    return by


def range_of(figured: TypedFigure) -> Range:
    """Return the least and the greatest value of a part of a formula, as far as they are known."""
    low, high = figured.scale.bounds or figured.ends
    if figured.mixed:
        return -math.inf, math.inf
    return -math.inf if low is None else low, math.inf if high is None else high


def vanishes(reading: FigureContext, figured: TypedFigure) -> bool:
    """Return true if what is subtracted in a figure is the same as that from which it is, in each cell of what the
    statement goes by, so that it is the same number whatever is measured; reports it, since one part was meant over
    all."""
    form = with_missing(figured.form, reading.missing or "skip")
    if not reading.by or not figured.leaves or form.atoms or not _adds(figured.figure):
        return False
    parts = list(dict.fromkeys(term.named for term in reading.terms))
    one, other = (parts * 2)[:2]
    dims = ", ".join(reading.by)
    message = f"`{one}` and `{other}` are the same in each cell: `by {dims}` takes both by it"
    help_ = f"name the one that goes by it, `measure each = {one} by {dims}`, and take `each - {other}`"
    reading.error("E0621", message, figured.span, help_)
    return True


def _adds(figure: Figure) -> bool:
    """Return true if a figure is made of several others, and is not one of them times 0."""
    return isinstance(figure, Formula) and (
        (len(figure.values) > 1 and figure.operator in ("+", "-")) or any(map(_adds, figure.values))
    )


def on_one_scale(reading: FigureContext, form: NormalForm, span: Span, mixed: bool) -> bool:
    """Return true if the figures that a formula adds lie on one scale; reports scales that differ."""
    clash = None if mixed else scale_clash(with_missing(form, reading.missing or "skip"))
    if clash is None:  # of metrics in cells each has its own scale, and those of one metric are alike
        return True
    one, other = clash
    assert one.base is not None and other.base is not None
    told = f"`{one.named}` runs from {spoken(one.base)}, `{other.named}` from {spoken(other.base)}"
    off = one if one.base != UNIT else other
    assert off.base is not None
    low, high = off.base
    inner = f"({off.named} - {low:g})" if low > 0 else f"({off.named} + {-low:g})" if low else off.named
    help_ = f"bring them to one scale first: `{inner} / {high - low:g}`"
    reading.error("E0702", f"these are on different scales: {told}", span, help_)
    return False
