"""Typed figures with their scale and dimensions, the scores they are taken of, and the syntax of figures.

Also the random facets of a measure: `across judge * wording as sample` treats judges and prompts as a sample of many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cached_property
from typing import Any, Literal

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.language.aggregates import (
    AGGREGATES,
    AggregateFunction,
    AggregateParameter,
    Bounds as Ends,
    between,
    declared_aggregate,
)
from tripos_compiler.language.figures import aggregates_of
from tripos_compiler.language.intervals import INTERVAL_ENDS, Ranges, Scale, format_bounds, formula_range
from tripos_compiler.language.scored_values import (
    ScoredStep as PlanScored,
    ScoredValues,
    ScoringStep,
    judged_steps,
)
from tripos_compiler.library.ranges import ANY, CURVES, SHARE, Interval, enclosing_range
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.lowering.measures.dimensions import Groupable, read_dimension
from tripos_compiler.lowering.measures.normal_forms import (
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
from tripos_compiler.plan import Aggregate, Constant, Figure, Formula, Measure, Measured, Missing
from tripos_compiler.resolve.files import scorer_name
from tripos_compiler.resolve.program import NamedColumn, Program, product_of
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import (
    Argument,
    BinaryExpr,
    CallExpr,
    Group,
    IndexExpr,
    Member,
    Name,
    Number,
    Syntax,
    UnaryExpr,
    dimension_text,
)

# Operands: scores, comparisons and columns


@dataclass(frozen=True)
class Operand(PlanScored):
    """The values that an aggregate is taken of.

    `bounds` is their declared scale, `ends` their range, even if it only follows from their computation. `mixed`: they
    are metrics of different scales. `metrics`: metrics of a rubric are among them.
    """

    bounds: Interval | None = None
    ends: Ends = (None, None)
    mixed: bool = False
    metrics: bool = False
    complete: bool = True
    """Whether all scenarios that may have them are valid, so that what is unknown does not exist."""
    true_of: tuple[str, ...] = ()
    """The choices of a judge that count as true, for a condition on them."""
    notation: str = ""
    """The source notation of a column, whose name is made by the compiler."""

    @property
    def shown(self) -> str:
        """The name for messages."""
        return f"`{self.notation or self.name}`"


@dataclass
class Scores:
    """Lookup of scores by name."""

    program: Program
    positions: dict[str, dict[str, Span]] = field(default_factory=dict)
    """The scores, comparisons and applied scorers that each scenario declares, valid or not, with their places."""
    broken: frozenset[str] = frozenset()
    """Scenarios with reported mistakes: only the names of their scores are known."""

    def __post_init__(self) -> None:
        for statement in self.program.of("scenario"):
            names = self.positions.setdefault(statement.name().text, {})
            for inner in statement.body:
                name = declared_score(inner)
                if name is not None:
                    names.setdefault(name.text, name.span)
        self.broken = frozenset(name for name in self.positions if name not in self.program.scenarios)

    def names(self, scenario: str | None) -> dict[str, Span]:
        """Return the names of scores and comparisons of a scenario, or of all, without those of judges."""
        spans: dict[str, Span] = {}
        for home, names in self.positions.items():
            if scenario is None or scenario == home:
                for name, span in names.items():
                    spans.setdefault(name, span)
        return {name: span for name, span in spans.items() if name not in self.judges}

    @cached_property
    def judges(self) -> frozenset[str]:
        """Scorers whose scores are named by metric, or by the score they are applied in."""
        computed = {*self.program.formulas, *self.program.plugins}
        return frozenset(self.program.declared.get("scorer", {})) - computed

    def score(self, name: str, within: str | None) -> Operand | None:
        """Return the scores or comparisons of that name; None if no valid scenario has them."""
        step = self.values.score(name, within)
        return None if step is None else self._operand(step)

    def scorer(self, name: str, within: str | None) -> Operand | None:
        """Return all scores of a judge; None if no valid scenario uses it."""
        scored_step = self.values.scorer(name, within)
        if scored_step is None or self.program.scorers[name].gives is not None:
            return None if scored_step is None else self._operand(scored_step)
        return self._rubric(scored_step, [metric for step in judged_steps(scored_step) for metric in step.metrics])

    def metric(self, name: str, within: str | None) -> Operand | None:
        """Return all scores of a metric, by any judge; None if no valid scenario has them."""
        step = self.values.metric(name, within)
        return None if step is None else self._rubric(step, [name])

    def column(self, column: NamedColumn, scenario: str, written: str) -> Operand | None:
        """Return a column of a scenario; None if the scenario is not valid. `written` is its source notation."""
        lowered = self.program.scenarios.get(scenario)
        if lowered is None:
            return None
        step = self.values.column(column.name, scenario)
        step = replace(step, scenarios=(lowered,), type=column.type)
        return replace(self._operand(step), notation=written)

    @cached_property
    def values(self) -> ScoredValues:
        """The meanings of names of scores."""
        return ScoredValues(tuple(self.program.scenarios.values()), self.program.scorers)

    @cached_property
    def ranges(self) -> Ranges:
        """The ranges of expressions of the scenarios."""
        datasets = self.program.datasets.values()
        fields = {dataset.name: {field.name: field.type for field in dataset.fields} for dataset in datasets}
        return Ranges(fields, self.program.scorers)

    def _operand(self, scored: PlanScored) -> Operand:
        """Return values with their range, and with their scale if all their steps have the same."""
        step_ids = {id(step) for step in scored.steps}
        steps = [
            (scenario, step)
            for scenario in scored.scenarios
            for step in scenario.steps
            if isinstance(step, ScoringStep) and id(step) in step_ids
        ]
        scales = {self.ranges.scale_of(scenario, step) for scenario, step in steps}
        whole = enclosing_range(self.ranges.of_step(scenario, step) for scenario, step in steps)
        bounds = next(iter(scales)) if len(scales) == 1 else None
        return self._scored(scored, bounds, whole.ends if whole.low < whole.high else (None, None))

    def _rubric(self, rubric: PlanScored, metrics: list[str]) -> Operand:
        known = [self.program.metrics[metric] for metric in metrics if metric in self.program.metrics]
        scales = sorted({Interval(float(metric.low), float(metric.high)) for metric in known})
        alone = len(scales) == 1 and all(metric.ends is not None for metric in known)
        ends = scales[0] if alone else None
        scored = self._scored(rubric, ends, ends or (None, None))
        return replace(scored, mixed=len(scales) > 1, metrics=True)

    def _scored(self, scored: PlanScored, bounds: Interval | None, ends: Ends) -> Operand:
        whole = scored.within is not None or not self.broken
        own = {field.name: getattr(scored, field.name) for field in fields(scored)}
        return Operand(**own, bounds=bounds if whole else None, ends=ends if whole else (None, None), complete=whole)


def declared_score(statement: Statement) -> Name | None:
    """Return the name of the score, comparison or applied scorer that a statement of a scenario declares."""
    match statement.construct:
        case "score" | "compare":
            return statement.name()
        case "grade":
            return scorer_name(statement.syntax("call"))
    return None


# Figures and their context


@dataclass(frozen=True)
class AggregateTerm:
    """An aggregate in a figure: its operands, and the dimensions that a slice fixes for it."""

    named: str
    scored: tuple[Operand, ...]
    function: str
    fixed: frozenset[str] = frozenset()
    judged: bool = False
    """Whether it compares the models of a role, so that it cannot go by them."""

    @property
    def groupable(self) -> Groupable:
        """The dimensions it can go by."""
        fixed = {"scenario"}
        if any(operand.stored for operand in self.scored):
            fixed.add("metric")
        if any(operand.metrics for operand in self.scored):
            fixed.add("dimension")
        if any(operand.judges for operand in self.scored) and not self.judged:
            fixed.add("evaluator")
        if self.judged:
            fixed.add("pair")
        scenarios = {scenario.name: scenario for operand in self.scored for scenario in operand.scenarios}
        whole = all(operand.complete for operand in self.scored)
        elements = dict(operand.elements for operand in self.scored if operand.elements is not None)
        return Groupable(
            self.named,
            tuple(scenarios.values()),
            frozenset(fixed),
            across=self.judged,
            complete=whole,
            elements=elements,
        )


@dataclass(frozen=True)
class TypedFigure:
    """A valid figure. `cells` are the dimensions it goes by itself, in addition to those of its statement."""

    figure: Figure
    scale: Scale
    named: str
    span: Span
    cells: tuple[str, ...] = ()
    leaves: tuple[AggregateTerm, ...] = ()
    fixed: frozenset[str] = frozenset()
    """The dimensions that a slice of the whole figure fixes."""
    mixed: bool = False
    """Whether its cells have different scales, because it goes by metrics that do."""
    ends: tuple[float | None, float | None] = (None, None)
    """The least and greatest value if not both are known, as for a count."""
    form: NormalForm = field(default_factory=NormalForm)
    """The normal form with measures replaced by their definitions."""
    direction_form: NormalForm = field(default_factory=NormalForm)
    """The normal form with measures by name, each with its direction."""


@dataclass(frozen=True)
class CellTerm:
    """A part of a formula with its own dimensions, for the check that all parts are compatible."""

    named: str
    span: Span
    cells: tuple[str, ...]
    fixed: frozenset[str]


@dataclass(frozen=True)
class MeasureDeclaration:
    """A `measure` statement, its name in the plan, and its scenario."""

    key: str
    scenario: str | None
    name: Name
    statement: Statement


@dataclass(frozen=True)
class LoweredMeasure:
    """A lowered measure with its figure and direction."""

    measure: Measure
    typed_figure: TypedFigure
    better: Direction | Literal[False] | None
    """The better direction; None if no part has one, False if it does not follow."""
    explicit: bool
    """Whether the measure states its direction itself."""

    @property
    def direction_form(self) -> NormalForm:
        """The normal form of the measure inside a formula: its name if it states a direction, otherwise its
        definition.
        """
        if not self.explicit or not self.better:
            return self.typed_figure.direction_form
        atom = Atom(
            f"measure {self.measure.name}", bounds=range_of(self.typed_figure), better=frozenset((self.better,))
        )
        return atom_form(replace(atom, explicit=True))


@dataclass
class FigureContext:
    """The context in which a figure is read: the scenario, the measure `measure_name`, its dimensions `dimensions`, and
    the role `across`."""

    program: Program
    scores: Scores
    declared: Mapping[str, MeasureDeclaration]
    measures: Mapping[str, LoweredMeasure]
    scopes: Mapping[Span, Mapping[str, Any]] = field(default_factory=dict)
    """The names in scope at arguments inside scenarios."""
    scenario: str | None = None
    measure_name: str | None = None
    dimensions: tuple[Syntax, ...] = ()
    across: Name | None = None
    uses_across: bool = False
    """Whether an aggregate of the figure uses the role `across`."""
    missing: Missing | None = None
    """The treatment of missing scores, if it is stated."""
    zero: bool = False
    """Whether a missing score counts as 0, which may be outside its scale."""
    terms: list[CellTerm] = field(default_factory=list)

    @property
    def by(self) -> tuple[str, ...]:
        """The dimensions of the statement."""
        return tuple(dict.fromkeys(dimension_text(syntax) for syntax in self.dimensions))

    def measure(self, name: str) -> MeasureDeclaration | None:
        """Return the measure that a name means here: one of the scenario, or else of the spec."""
        declaration = self.declared.get(f"{self.scenario}.{name}") if self.scenario is not None else None
        return declaration or self.declared.get(name)

    def error(self, code: str, message: str, span: Span, help: str | None = None, unknown: str | None = None) -> None:
        """Report a mistake."""
        self.program.diagnostics.error(code, message, span, help=help, unknown=unknown)


# Formulas and cells


def sliced(leaf: AggregateTerm, keys: frozenset[str]) -> AggregateTerm:
    """Return the leaf with further dimensions fixed."""
    return replace(leaf, fixed=leaf.fixed | keys)


def formula_of(
    reading: FigureContext, operator: str, parts: list[TypedFigure], syntax: Syntax, scale: Scale
) -> TypedFigure:
    """Return the figure of a formula. If a part goes by a dimension of its own, the others have one number over all of
    it.
    """
    if operator == "negate" and isinstance(parts[0].figure, Constant):
        value = -parts[0].figure.value
        form = combined("negate", [parts[0].form])
        named = syntax.span.excerpt
        return replace(parts[0], figure=Constant(value=value), scale=scale, named=named, form=form, direction_form=form)
    cells = tuple(dict.fromkeys(dim for part in parts for dim in part.cells))
    parts = [_over_all(part, [dim for dim in cells if dim not in reading.by]) for part in parts]
    values: tuple[Figure, ...] = tuple(part.figure for part in parts)
    whole = formula_range(operator, [range_of(part) for part in parts])
    if operator == "*" and values[0] == values[1]:  # a square
        whole = whole.maximum(Interval.point(0.0))
    if scale.bounds is None:
        scale = replace(scale, bounds=whole.finite)
    form, course = (
        combined(operator, forms) for forms in zip(*((part.form, part.direction_form) for part in parts), strict=True)
    )
    bounds = scale.bounds or whole
    return TypedFigure(
        Formula(operator=operator, values=values),
        scale,
        syntax.span.excerpt,
        syntax.span,
        cells=cells,
        leaves=tuple(leaf for part in parts for leaf in part.leaves),
        mixed=any(part.mixed for part in parts),
        ends=whole.ends,
        form=with_scale(form, scale.required, bounds, syntax.span.excerpt),
        direction_form=with_scale(course, None, bounds, syntax.span.excerpt),
    )


def _over_all(part: TypedFigure, cells: Sequence[str]) -> TypedFigure:
    """Return a part of a formula with one number over all of the cells that it does not go by."""
    over = [dim for dim in cells if dim not in part.cells and not all(dim in leaf.fixed for leaf in part.leaves)]
    if not over:
        return part
    return replace(
        part,
        figure=Formula(operator="overall", values=(part.figure,), over=tuple(over)),
        leaves=tuple(sliced(leaf, frozenset(over)) for leaf in part.leaves),
        form=over_all(part.form, over),
        direction_form=over_all(part.direction_form, over),
    )


def find_cells(reading: FigureContext, figured: TypedFigure) -> tuple[str, ...] | None:
    """Return the dimensions that a figure goes by; None if one is wrong.

    At least one part must go by all of them: the meaning of `by_level - by_kind` for a level and a kind would be
    ambiguous.
    """
    attempt = reading.program.diagnostics.attempt()
    for syntax in reading.dimensions:
        free = [leaf.groupable for leaf in figured.leaves if dimension_text(syntax) not in leaf.fixed]
        if not free:
            message = f"`{dimension_text(syntax)}` is fixed already, so there is nothing to go by"
            reading.error("E0621", message, syntax.span, "leave it out here, or in the slice")
        elif read_dimension(reading.program, syntax, free) is None:
            reading.program.diagnostics.follows()
    return None if attempt.failed else _joined(reading, figured)


def _joined(reading: FigureContext, figured: TypedFigure) -> tuple[str, ...] | None:
    by = tuple(dict.fromkeys([*reading.by, *figured.cells]))
    lacking = [[dim for dim in by if dim not in {*reading.by, *term.cells, *term.fixed}] for term in reading.terms]
    if lacking and all(lacking):
        term, dim = reading.terms[0], lacking[0][0]
        other = next(cell_term for cell_term in reading.terms if dim in cell_term.cells)
        message = f"`{other.named}` goes by `{dim}`, and `{term.named}` by something else"
        reading.error("E0621", message, term.span, f"take both by it, with `by {', '.join(by)}` at the end")
        return None
    return by


def range_of(figured: TypedFigure) -> Interval:
    """Return the range of a part of a formula, as far as it is known."""
    return ANY if figured.mixed else figured.scale.bounds or Interval.of_ends(*figured.ends)


def vanishes(reading: FigureContext, figured: TypedFigure) -> bool:
    """Return true if a figure subtracts the same figure in each cell, so that it is constant, and report it.

    The author probably meant one part over all cells.
    """
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
    """Return true if a figure is a sum or difference of several, and not one of them times 0."""
    return isinstance(figure, Formula) and (
        (len(figure.values) > 1 and figure.operator in ("+", "-")) or any(map(_adds, figure.values))
    )


def on_one_scale(reading: FigureContext, form: NormalForm, span: Span, mixed: bool) -> bool:
    """Return true if the figures that a formula adds have the same scale; otherwise report it."""
    clash = None if mixed else scale_clash(with_missing(form, reading.missing or "skip"))
    if clash is None:  # with metrics in cells, each cell has one scale
        return True
    one, other = clash
    assert one.base is not None and other.base is not None
    text = f"`{one.named}` runs from {format_bounds(one.base)}, `{other.named}` from {format_bounds(other.base)}"
    off = one if one.base != SHARE else other
    assert off.base is not None
    low, high = off.base
    inner = f"({off.named} - {low:g})" if low > 0 else f"({off.named} + {-low:g})" if low else off.named
    help_ = f"bring them to one scale first: `{inner} / {high - low:g}`"
    reading.error("E0702", f"these are on different scales: {text}", span, help_)
    return False


# Syntax of figures, before names are resolved

CONDITIONS = ("==", "!=", "in", "not in")
"""The operators of conditions on a choice."""


def find_aggregate(program: Program, name: str) -> AggregateFunction | None:
    """Return the aggregate of that name, from the library or the user's Python; None if there is none."""
    plugin = program.aggregates.get(name)
    if plugin is None:
        return AGGREGATES.get(name)
    parameters = (
        AggregateParameter(key, "typed", of=type_.of)
        for key, type_ in plugin.parameters.items()
        if type_.kind == "list"
    )
    return AggregateFunction(name, tuple(parameters), "", "", between(None, None), missing=("skip", "fail"))


def is_by(argument: Argument) -> bool:
    """Return true if an argument is a phrase such as `mean(f1) by q.subject`."""
    elements = argument.elements
    return len(elements) > 2 and isinstance(elements[1], Name) and elements[1].text == "by"


def is_aggregate(program: Program, syntax: Syntax) -> bool:
    """Return true if a call can only be an aggregate, because no function of a row has the name."""
    if not isinstance(syntax, CallExpr) or not isinstance(syntax.function, Name):
        return False
    name = syntax.function.text
    functions = (*FUNCTIONS, *program.declared.get("function", {}), *program.declared.get("scorer", {}))
    return find_aggregate(program, name) is not None and name not in functions


def is_arithmetic(call: CallExpr) -> bool:
    """Return true if a call is arithmetic over figures: `abs(a)`, `min(a, b)`. With one argument, `min` and `max` are
    aggregates.
    """
    match call:
        case CallExpr(function=Name(text=text)) if text in ("abs", "harmonic_mean", *CURVES):
            return True
        case CallExpr(function=Name(text="min" | "max"), arguments=arguments):
            return sum(argument.name is None for argument in arguments) != 1 and not any(map(is_by, arguments))
    return False


def is_number(syntax: Syntax) -> bool:
    """Return true if a figure is arithmetic over numbers only."""
    match syntax:
        case Number():
            return True
        case Group(arguments=(Argument(name=None, elements=(inner,)),)) | UnaryExpr(operator="-", value=inner):
            return is_number(inner)
        case BinaryExpr(operator="+" | "-" | "*" | "/", left=left, right=right):
            return is_number(left) and is_number(right)
        case CallExpr(arguments=arguments) if is_arithmetic(syntax):
            return all(is_number(element) for argument in arguments for element in argument.elements)
    return False


def without_numbers(syntax: Syntax) -> tuple[Syntax, list[tuple[int, Syntax]]]:
    """Return a figure without the numbers added to the whole, and these with their signs: `b` and -0.02 for `b
    - 0.02`.
    """
    match syntax:
        case BinaryExpr(operator="+" | "-", left=left, right=right) if is_number(right):
            inner, numbers = without_numbers(left)
            return inner, [*numbers, (1 if syntax.operator == "+" else -1, right)]
        case BinaryExpr(operator="+", left=left, right=right) if is_number(left):
            inner, numbers = without_numbers(right)
            return inner, [(1, left), *numbers]
        case Group(arguments=(Argument(name=None, elements=(within,)),)):
            inner, numbers = without_numbers(within)
            return (inner, numbers) if numbers else (syntax, [])
    return syntax, []


def interval_end(syntax: Syntax) -> CallExpr | None:
    """Return the call of an interval's end on one side of a comparison; None for other syntax."""
    match syntax:
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            return interval_end(inner)
        case CallExpr(function=Name(text=text)) if text in INTERVAL_ENDS:
            return syntax
    return None


def has_unknown_aggregate(program: Program, statement: Statement) -> bool:
    """Return true if a measure uses an unknown aggregate or one with a wrong declaration, which is reported
    elsewhere.
    """
    value = statement.find("value")
    if statement.construct != "measure" or not isinstance(value, CallExpr) or not isinstance(value.function, Name):
        return False
    if value.function.text in program.declared.get("aggregate", {}):
        return find_aggregate(program, value.function.text) is None
    declared = [name for kind in ("function", "scorer") for name in program.declared.get(kind, {})]
    return value.function.text not in (*AGGREGATES, *FUNCTIONS, *declared)


def column_arguments(program: Program, value: Syntax) -> Iterator[tuple[str, Syntax, Syntax | None]]:
    """Yield the arguments of aggregates that may be expressions over a scenario's names, with the parameter's name and
    the condition `where:`.
    """
    match value:
        case CallExpr(function=Name(text=text)) if (
            function := find_aggregate(program, text)
        ) is not None and not is_arithmetic(value):
            yield from _of_aggregate(program, value, function)
        case CallExpr(arguments=arguments) | Group(arguments=arguments):
            for argument in arguments:
                yield from column_arguments(program, argument.elements[0])
        case BinaryExpr(left=left, right=right):
            yield from column_arguments(program, left)
            yield from column_arguments(program, right)
        case UnaryExpr(value=inner):
            yield from column_arguments(program, inner)


def _of_aggregate(
    program: Program, call: CallExpr, function: AggregateFunction
) -> Iterator[tuple[str, Syntax, Syntax | None]]:
    wheres = (
        argument.elements[0]
        for argument in call.arguments
        if argument.name is not None and argument.name.text == "where"
    )
    where = next(wheres, None)
    given = {argument.name.text for argument in call.arguments if argument.name is not None}
    free = [parameter for parameter in function.parameters if parameter.kind != "word" and parameter.name not in given]
    named = {parameter.name: parameter for parameter in function.parameters}
    for argument in call.arguments:
        first = free.pop(0) if free and argument.name is None else None
        parameter = named.get(argument.name.text) if argument.name is not None else first
        if (
            parameter is not None
            and parameter.kind in ("count", "rate")
            and not isinstance(argument.elements[0], Number)
        ):
            return  # it is reported, and what follows may be in a wrong place
        if is_by(argument) or is_aggregate(program, argument.elements[0]):
            yield from column_arguments(program, argument.elements[0])
            free = []  # further arguments are dimensions
        elif parameter is not None and parameter.column and len(argument.elements) == 1:
            yield parameter.name, argument.elements[0], where


def measures_in(reading: FigureContext, value: Syntax, aggregated: bool = False) -> Iterator[str]:
    """Yield the names in the plan of the measures that a figure refers to. With `aggregated`, it is an operand of an
    aggregate.
    """
    match value:
        case _ if value.span in reading.program.columns:
            return
        case Name() | Member():
            key = _named_measure(reading, value, aggregated)
            if key is not None:
                yield key
        case CallExpr(function=Name(text=text), arguments=arguments):
            inner = find_aggregate(reading.program, text) is not None and not is_arithmetic(value)
            for argument in arguments:
                yield from measures_in(reading, argument.elements[0], inner and not is_by(argument))
        case IndexExpr(of=of):
            yield from measures_in(reading, of)
        case BinaryExpr(left=left) if aggregated and chosen_from(value) is not None:
            yield from measures_in(reading, left, aggregated)
        case BinaryExpr(left=left, right=right):
            yield from measures_in(reading, left, aggregated)
            yield from measures_in(reading, right, aggregated)
        case UnaryExpr(value=inner_value):
            yield from measures_in(reading, inner_value, aggregated)
        case Group(arguments=arguments):
            for argument in arguments:
                yield from measures_in(reading, argument.elements[0], aggregated)


def _named_measure(reading: FigureContext, name: Name | Member, aggregated: bool) -> str | None:
    within, last = reading.scenario, name
    if isinstance(name, Member):
        within, last = dimension_text(name.of), name.name
        declared = reading.declared.get(f"{within}.{name.name.text}")
    else:
        declared = reading.measure(name.text)
    assert isinstance(last, Name)
    if declared is None or (
        aggregated and (declared.key == reading.measure_name or last.text in reading.scores.names(within))
    ):
        return None
    scored = {*reading.program.declared.get("scorer", {}), *reading.program.declared.get("metric", {})}
    if aggregated and declared.scenario is None and last.text in scored:
        return None
    return declared.key


def operator_in(syntax: BinaryExpr) -> str:
    """Return the operator of a condition with single spaces."""
    return " ".join(syntax.operator.split())


def chosen_from(syntax: Syntax) -> Name | Member | None:
    """Return the left side of a condition that has the form of one on a choice; None for other syntax."""
    match syntax:
        case BinaryExpr(left=Name() | Member() as left) if operator_in(syntax) in CONDITIONS:
            return left
    return None


def is_of_judge(program: Program, scenario: Statement, syntax: Syntax) -> bool:
    """Return true if a condition is on a score and not on a value of the scenario."""
    match chosen_from(syntax):
        case Name(text=text):
            own = {name.text for inner in scenario.body if (name := declared_score(inner)) is not None}
            return text in own or text in program.declared.get("scorer", {})
        case Member(of=Name(text=of), name=name):
            bodies = [statement.body for statement in program.of("scenario") if statement.name().text == of]
            scores = [declared_score(inner) for body in bodies for inner in body]
            return name.text in {score.text for score in scores if score is not None}
    return False


def means_a_figure(program: Program, scenario: Statement, own: str | None, syntax: Syntax) -> bool:
    """Return true if an argument names scores, a metric or a measure, or is a condition on scores."""
    if not isinstance(syntax, Name):
        return is_of_judge(program, scenario, syntax)
    statements = [inner for inner in scenario.body if declared_score(inner) is not None or inner.construct == "measure"]
    for inner in statements:
        name = declared_score(inner) or inner.name()
        if name.text == syntax.text and not (inner.construct == "measure" and name.text == own):
            return True
    declared = program.declared
    return any(syntax.text in declared.get(kind, {}) for kind in ("scorer", "metric", "measure"))


def figure_in(program: Program, scenario: Statement, known: Collection[str], syntax: Syntax) -> Syntax | None:
    """Return the first measure or aggregate inside an expression over a scenario's names, which are `known`; None
    normally.
    """
    match syntax:
        case Name():
            measures = [
                statement for statement in (*scenario.body, *program.of("measure")) if statement.construct == "measure"
            ]
            named = syntax.text not in known and any(measure.name().text == syntax.text for measure in measures)
            return syntax if named else None
        case CallExpr() if is_aggregate(program, syntax):
            return syntax
        case CallExpr(arguments=arguments) | Group(arguments=arguments):
            parts = [argument.elements[0] for argument in arguments]
        case BinaryExpr(left=left, right=right):
            parts = [left, right]
        case UnaryExpr(value=inner):
            parts = [inner]
        case _:
            return None
    return next((node for part in parts if (node := figure_in(program, scenario, known, part)) is not None), None)


def first_name(syntax: Syntax) -> Name | None:
    """Return the first name of a dotted name; None for other syntax."""
    match syntax:
        case Name():
            return syntax
        case Member(of=Name() as first):
            return first
    return None


# Random facets

CODE = "E0628"
OF_JUDGES = frozenset(("evaluator", "pair"))
"""Dimensions that distinguish judges."""


def random_facets(reading: FigureContext, statement: Statement, figured: TypedFigure) -> tuple[str, ...] | None:
    """Return the roles and arms that a measure treats as a sample; without any, those of the measure it is another name
    of. None if one is wrong.
    """
    attempt = reading.program.diagnostics.attempt()
    node = statement.find("facets")
    if node is None:
        return inherited_facets(reading, statement.syntax("value"), figured)
    names = product_of(reading.program, node, "facets")
    if names is None:
        return None
    if statement.has("corrected"):
        help_ = "leave out one of them: people correct the judges of every role"
        reading.error(CODE, "people correct this, so it speaks of no judges", node.span, help_)
        return None
    if not _is_mean(reading, figured):
        message = f"judges and prompts are a sample for means alone, and `{figured.named}` is none"
        reading.error(CODE, message, node.span, "take the `mean` of scores, or the mean of the cells of such")
        return None
    for place, name in enumerate(names):
        if name.text in [earlier.text for earlier in names[:place]]:
            reading.error("E0202", f"`{name.text}` is named twice", name.span, "remove one")
        else:
            _check_facet(reading, name, figured)
    return None if attempt.failed else tuple(name.text for name in names)


def inherited_facets(reading: FigureContext, value: Syntax, figured: TypedFigure) -> tuple[str, ...] | None:
    """Return the random facets of a measure that a figure is another name of.

    Reports other figures that use such a measure and returns None: their interval would be about these judges only.
    """
    named = dict.fromkeys(name for name in measures_in(reading, value) if name in reading.measures)
    random = [reading.measures[name].measure for name in named if reading.measures[name].measure.random]
    if not random:
        return ()
    if figured.figure == Measured(measure=random[0].name) and set(reading.by) <= set(random[0].by):
        return random[0].random
    message = f"`{random[0].name}` takes {_listed(random[0].random)} as a sample, and what builds on it cannot"
    help_ = "declare the same mean without `as sample`, and build on that"
    reading.error(CODE, message, value.span, help_)
    return None


def _is_mean(reading: FigureContext, figured: TypedFigure) -> bool:
    """Return true if a figure is a mean of scores, or the mean of the cells of one."""
    match figured.figure:
        case Aggregate(of=None) as mean:
            return declared_aggregate(mean.function).is_mean_of_scores
        case Aggregate(of=Aggregate(of=None) as mean) as mean_of_cells:
            return all(declared_aggregate(aggregate.function).is_mean_of_scores for aggregate in (mean, mean_of_cells))
    return False


def _check_facet(reading: FigureContext, name: Name, figured: TypedFigure) -> None:
    """Check that a name is a role that gives the operands, or an arm under which all of them are asked."""
    program = reading.program
    roles, arms = (program.declared.get(kind, {}) for kind in ("role", "arm"))
    if name.text in program.declared.get("axis", {}):
        message = f"`{name.text}` is an axis: each item lies in one of its values, and none is a sample of prompts"
        reading.error(CODE, message, name.span, "name an arm, under whose values each item is asked")
        return
    if name.text not in roles and name.text not in arms:
        help_ = "name a role that judges, or an arm"
        reading.error("E0201", f"there is no role or arm `{name.text}`", name.span, help_, name.text)
        return
    kind = "role" if name.text in roles else "arm"
    program.is_declared(kind, name)
    dims = {*reading.by, *figured.cells, *(dim for aggregate in _aggregates(reading, figured) for dim in aggregate.by)}
    apart = sorted(dims & (OF_JUDGES if kind == "role" else {name.text}))
    if apart:
        message = f"it goes by `{apart[0]}`, so no cell has a sample of {_listed((name.text,))}"
        reading.error(CODE, message, name.span, f"leave out `{apart[0]}`, or `as sample`")
        return
    reason = next(
        (why for leaf in figured.leaves if (why := _why_not(reading, name.text, kind, leaf)) is not None), None
    )
    if reason is not None:
        reading.error(CODE, reason[0], name.span, reason[1])


def _why_not(reading: FigureContext, name: str, kind: str, leaf: AggregateTerm) -> tuple[str, str] | None:
    """Return why the judges of a role or the values of an arm are no sample for an aggregate, and the hint; None if
    they are.
    """
    program = reading.program
    for operand in leaf.scored:
        if kind == "arm":
            lacking = [scenario.name for scenario in operand.scenarios if name not in scenario.arms]
            if lacking:
                text = f"scenario `{lacking[0]}` does not try the arm `{name}`"
                return text, f"write `arms {name}` in it, or take the mean of other scenarios"
            continue
        if not operand.judges:
            return f"nobody judges {operand.shown}: it is computed", "name what a judge gives"
        others = [judge for judge in operand.judges if judge != name]
        if others:
            return f"{operand.shown} is given by `{others[0]}`, not by `{name}`", "take the mean of what one role gives"
        if program.roles[name].kind != "panel":
            text = f"`{name}` is a single role, and one judge shows nothing of others"
            return text, f"let several grade: `role {name} panel`"
    return None


def _aggregates(reading: FigureContext, figured: TypedFigure) -> list[Aggregate]:
    return list(aggregates_of(figured.figure, {name: measure.measure for name, measure in reading.measures.items()}))


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(f"`{name}`" for name in names)
