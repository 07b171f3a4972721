"""Lowering of `measure`, `expect` and `headline`: each measure after those it depends on, in its cells.

Also checks whether people can correct a measure, in which direction it is better, and which measures can be settled by
continuing a run (`until settled`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.table import constructs_in
from tripos_compiler.diagnostics.diagnostic import Diagnostics, Label
from tripos_compiler.language.aggregates import AGGREGATES, declared_aggregate
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.figures import aggregates_of, leaves_of, means_of_cells, measures_of
from tripos_compiler.language.intervals import INTERVAL_ENDS, end_signature, format_bounds, rounded
from tripos_compiler.language.scored_values import ScoredValues, why_no_headline
from tripos_compiler.language.sequential_stopping import sequential_figure
from tripos_compiler.library.ranges import Interval
from tripos_compiler.lowering.datasets import known_data
from tripos_compiler.lowering.declarations import in_order
from tripos_compiler.lowering.measures.aggregates import find_measure, grader_of, graders_of
from tripos_compiler.lowering.measures.dimensions import check_names, names_of_dimensions
from tripos_compiler.lowering.measures.figures import difference_of, read_difference, read_figure, read_whole
from tripos_compiler.lowering.measures.normal_forms import Direction, directions_of, with_missing
from tripos_compiler.lowering.measures.typed_figures import (
    AggregateTerm,
    FigureContext,
    LoweredMeasure,
    MeasureDeclaration,
    Operand,
    Scores,
    TypedFigure,
    column_arguments,
    figure_in,
    find_cells,
    first_name,
    inherited_facets,
    interval_end,
    is_number,
    is_of_judge,
    means_a_figure,
    measures_in,
    random_facets,
    without_numbers,
)
from tripos_compiler.lowering.scores import computed_score, depends_on_reply, lower_column
from tripos_compiler.plan import (
    MIRRORED,
    Aggregate,
    ChoiceType,
    Comparison,
    Expectation,
    Export,
    JudgedStep,
    Measure,
    Missing,
    Plan,
    Rows,
    Scenario,
    StoppingCriterion,
)
from tripos_compiler.resolve.program import Index, NamedColumn, Program
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Argument, BinaryExpr, Group, Name, Number, Syntax

if TYPE_CHECKING:
    from tripos_compiler.lowering.steps import Steps


# Columns that measures add to a scenario


def collect_columns(program: Program, steps: Steps, statement: Statement) -> None:
    """Add a column to the scenario for every expression over its names in a `measure` or `expect` of it.

    Call it after all steps of the scenario are lowered. With a wrong measure the scenario is wrong too, because the
    expression may have used what seems to be unused.
    """
    attempt = program.diagnostics.attempt()
    own = statement.name().text if statement.construct == "measure" else None
    value = statement.syntax("value" if statement.construct == "measure" else "cond")
    scenario = next(s for s in program.of("scenario") if any(inner is statement for inner in s.body))
    columns: list[NamedColumn] = []
    others = False
    for word, syntax, where in column_arguments(program, value):
        own_where = where if where is not None and not is_of_judge(program, scenario, where) else None
        node: Syntax | None = syntax
        if means_a_figure(program, scenario, own, syntax):
            node = computed_score(steps, scenario, syntax) if own_where is not None else None
        if node is None:
            others = True
            continue
        first, known = first_name(node), {*steps.scope, *steps.elements}
        if first is not None and first.text not in known:  # measures are resolved once all are known
            program.index.scopes.append((syntax.span, dict(steps.scope)))
            if first is syntax or first.text not in program.declared["scenario"]:
                program.diagnostics.follows()  # it is reported with the measures
            others = True
            continue
        if figure_in(program, scenario, known, node) is not None:
            message = f"`{node.span.excerpt}` is made of figures, and nothing says in which cells"
            help_ = f"say what it goes by: `{node.span.excerpt} by …`"
            program.diagnostics.error("E0301", message, node.span, help=help_)
            continue
        column = lower_column(steps, f"{own or 'expect'}.{word}", node, own_where)
        if column is not None:
            program.columns[syntax.span] = column
            if own_where is not None:
                program.columns[own_where.span] = column
            columns.append(column)
    if columns and not attempt.failed and not others and not any(depends_on_reply(steps, column) for column in columns):
        help_ = "measure something that a reply of the role under test says"
        message = "this measure depends on no reply of the compared role"
        program.diagnostics.error("E0301", message, value.span, help=help_)


# Measures


def lower_measures(program: Program) -> None:
    """Lower every `measure`."""
    reading = read_measures(program)
    program.measures = {key: measure.measure for key, measure in reading.measures.items()}
    classes = _RowClasses(program)
    for key, measure in program.measures.items():
        _warn_of_single_rows(program, measure, reading.declared[key], classes)


def _warn_of_single_rows(
    program: Program, measure: Measure, declaration: MeasureDeclaration, classes: _RowClasses
) -> None:
    """Warn of a mean over classes of rows if a class has a single row, which counts as much as all rows of another."""
    for figure in means_of_cells(measure.figure):
        assert figure.of is not None
        leaf = next(leaves_of(figure.of, program.measures), None)
        scenarios = (
            () if leaf is None or not leaf.values else classes.values.named(leaf.values[0], leaf.scenario).scenarios
        )
        if len(scenarios) != 1 or (rows := scenarios[0].rows) is None:
            continue
        dims = [dim for dim in dict.fromkeys((*measure.by, *figure.of.by)) if dim.startswith(f"{rows.alias}.")]
        inner = [dim for dim in dims if dim not in measure.by]
        if not inner:
            continue
        counts = classes.counts(scenarios[0], tuple(dims))
        single = [values for values, count in counts.items() if count == 1]
        if not single or None in {value for values in counts for value in values}:
            continue
        if len(single) < len(counts):
            named = " and ".join(f"`{dim}`" for dim in inner)
            example = ", ".join(str(value) for dim, value in zip(dims, single[0], strict=True) if dim in inner)
            share = f"{len(single)} of {len(counts)}"
            message = f"`{declaration.name.text}` is a mean over {named}; classes with a single row: {share}"
            help_ = "take the mean over all rows, or choose the classes: `over … where …`"
            notes = [f"a class of one row is {example}"]
            program.diagnostics.warning("W0629", message, declaration.statement.head, help=help_, notes=notes)


class _RowClasses:
    """The numbers of rows in each class of some dimensions, counted once for all measures of a spec."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.values = ScoredValues(tuple(program.scenarios.values()), program.scorers)
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._counts: dict[tuple[str, tuple[str, ...]], Counter[tuple[Any, ...]]] = {}

    def counts(self, scenario: Scenario, dims: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
        """Return the number of rows of a scenario by their values of `dims`; empty if they are not known before a
        run."""
        key = scenario.name, dims
        if key not in self._counts:
            if scenario.name not in self._rows:
                self._rows[scenario.name] = [] if scenario.rows is None else self._chosen(scenario.rows)
            paths = [dim.split(".")[1:] for dim in dims]
            rows = self._rows[scenario.name]
            self._counts[key] = Counter(tuple(reduce(_part_of, path, row) for path in paths) for row in rows)
        return self._counts[key]

    def _chosen(self, rows: Rows) -> list[dict[str, Any]]:
        known = self.program.known_rows(rows.dataset)
        if rows.where is None or known is None:
            return known or []
        data = known_data(self.program, rows.where)
        if data is None:
            return []
        try:
            return [row for row in known if evaluate(rows.where, {**data, rows.alias: row})]
        except (Unavailable, LookupError):
            return []


def _part_of(value: Any, name: str) -> Any:
    """Return a field of a record; None if there is none, as for the nodes of a path."""
    return value.get(name) if isinstance(value, Mapping) else None


def read_measures(program: Program, silent: bool = False) -> FigureContext:
    """Return the context in which top-level figures are read, with every measure.

    With `silent`, the measures were lowered before and nothing is reported.
    """
    scopes: dict[Span, Mapping[str, Any]] = dict(program.index.scopes)
    if silent:
        program = replace(program, diagnostics=Diagnostics(), index=Index())
    scores = Scores(program)
    declared = {measure_declaration.key: measure_declaration for measure_declaration in _declared(program)}
    measures: dict[str, LoweredMeasure] = {}
    for key in _measures_in_order(program, scores, declared, scopes):
        declaration = declared[key]
        measure = _measure(program, _reading(program, scores, declared, measures, scopes, declaration), declaration)
        if measure is not None:
            measures[key] = measure
    lowered = {key: measures[key] for key in declared if key in measures}
    return FigureContext(program, scores, declared, lowered, scopes)


def _reading(
    program: Program,
    scores: Scores,
    declared: Mapping[str, MeasureDeclaration],
    known: Mapping[str, LoweredMeasure],
    scopes: Mapping[Span, Mapping[str, Any]],
    declaration: MeasureDeclaration,
) -> FigureContext:
    nodes = tuple(declaration.statement.many("dims"))
    across = declaration.statement.find_name("role")
    return FigureContext(program, scores, declared, known, scopes, declaration.scenario, declaration.key, nodes, across)


def _declared(program: Program) -> Iterator[MeasureDeclaration]:
    """Yield every `measure` in the order of the files, without repeated names."""
    names: dict[str, Name] = {}
    for statement in program.of("measure", "scenario"):
        if statement.construct == "measure":
            name = statement.name()
            if program.declared["measure"].get(name.text) is name:
                yield MeasureDeclaration(name.text, None, name, statement)
            continue
        scenario = statement.name()
        if program.declared["scenario"].get(scenario.text) is not scenario:
            continue
        for inner in statement.of("measure"):
            name = inner.name()
            program.index.define("measure", name.text, name.span, f"scenario {scenario.text}")
            key = f"{scenario.text}.{name.text}"
            earlier = names.setdefault(key, name)
            if earlier is not name:
                label = Label(earlier.span, "first declared here")
                message = f"measure `{name.text}` is declared twice in this scenario"
                program.diagnostics.error("E0202", message, name.span, label, help="rename one")
                continue
            yield MeasureDeclaration(key, scenario.text, name, inner)


def settling_of(statement: Statement) -> StoppingCriterion | None:
    """Return the `until` clause of a statement; None without one."""
    within = statement.values.get("number")
    number = float(within.value) if isinstance(within, Number) else None
    return StoppingCriterion(within=number) if statement.has("until") else None


def declared_settling(program: Program) -> Iterator[tuple[str, Span]]:
    """Yield the measures with an `until` clause, and their places."""
    for declaration in _declared(replace(program, diagnostics=Diagnostics(), index=Index())):
        if declaration.statement.has("until"):
            yield declaration.key, declaration.statement.head


def _measures_in_order(
    program: Program,
    scores: Scores,
    declared: Mapping[str, MeasureDeclaration],
    scopes: Mapping[Span, Mapping[str, Any]],
) -> list[str]:
    """Return the measures in order of dependency, without those in a circle."""
    needs: dict[str, list[str]] = {}
    for key, declaration in declared.items():
        reading = _reading(program, scores, declared, {}, scopes, declaration)
        needs[key] = list(dict.fromkeys(measures_in(reading, declaration.statement.syntax("value"))))
    order, cycles = in_order(needs)
    for cycle in cycles:
        message = f"these measures build on each other in a circle: {' → '.join([*cycle, cycle[0]])}"
        span = declared[cycle[0]].statement.head
        program.diagnostics.error("E0203", message, span, help="let one of them build on scores")
    circular = {key for cycle in cycles for key in cycle}
    return [key for key in order if key not in circular]


def _is_by_last(program: Program, statement: Statement) -> bool:
    """Return true if no clause of a measure, such as `higher is better`, stands after `by` and was read as names of
    dimensions; otherwise report it."""
    [construct] = constructs_in("scenario")["measure"]
    clauses, written = construct.shape.clauses - names_of_dimensions(program), statement.many("dims")
    place = next((place for place, name in enumerate(written) if isinstance(name, Name) and name.text in clauses), None)
    if place is None:
        return True
    first, texts = written[place], [name.span.excerpt for name in written]
    line = f"{' '.join(texts[place:])} by {', '.join(texts[:place])}"
    message = f"`{first.span.excerpt}` stands after `by`, which comes last"
    program.diagnostics.error("E0106", message, first.span, help=f"write `{line.removesuffix(' by ')}`")
    return False


def _measure(program: Program, reading: FigureContext, declaration: MeasureDeclaration) -> LoweredMeasure | None:
    """Lower a measure; None if it is wrong."""
    attempt, statement = program.diagnostics.attempt(), declaration.statement
    if not _is_by_last(program, statement):
        return None
    role_known = reading.across is None or program.is_declared("role", reading.across)
    figured = read_whole(reading, statement.syntax("value"))
    if figured is None:
        check_names(program, reading.dimensions)
    if figured is None or not role_known:
        return None
    measures = {name: lowered_measure.measure for name, lowered_measure in reading.measures.items()}
    among = any(aggregate.among for aggregate in aggregates_of(figured.figure, measures))
    if among and reading.missing in ("zero", "paired"):
        message = (
            f"`missing: {reading.missing}` counts values of which nobody knows that they are among those of `where`"
        )
        program.diagnostics.error("E0303", message, statement.syntax("value").span, help="leave `missing` out")
        return None
    if reading.missing == "zero":  # stated for one part, it applies to all
        silent = replace(program, diagnostics=Diagnostics(), index=Index())
        again = replace(reading, program=silent, terms=[], zero=True)
        figured = read_whole(again, statement.syntax("value")) or figured
    if reading.across is not None and not reading.uses_across:
        message = f"nothing here is taken across `{reading.across.text}`"
        help_ = "leave it out, take an agreement such as `kendall_w(…)`, or a mean across it `as sample`"
        program.diagnostics.error("E0623", message, reading.across.span, help=help_)
        return None
    if not figured.leaves:
        help_ = "write `mean(x)` of a scorer, a score or a measure"
        program.diagnostics.error("E0301", "this measures nothing", statement.syntax("value").span, help=help_)
        return None
    by = find_cells(reading, figured)
    if by is None:
        return None
    corrected = statement.has("corrected")
    check_corrected(reading, statement.syntax("value"), figured, corrected)
    if attempt.failed:
        return None
    random = random_facets(reading, statement, figured)
    if random is None:
        return None
    better = better_direction(statement, figured)
    missing: Missing = reading.missing or "skip"
    low, high = bounds_of(figured)
    owner = f"scenario {declaration.scenario}" if declaration.scenario is not None else ""
    program.index.define(
        "measure", declaration.name.text, declaration.name.span, owner, _detail(by, low, high, corrected)
    )
    measure = Measure(
        name=declaration.key,
        scenario=declaration.scenario,
        by=by,
        low=low,
        high=high,
        missing=missing,
        lower_is_better=better == "lower",
        higher_is_better=better == "higher",
        corrected=corrected,
        random=random,
        until=settling_of(statement),
        figure=figured.figure,
    )
    return LoweredMeasure(measure, figured, better, statement.has("lower") or statement.has("higher"))


def better_direction(statement: Statement, figured: TypedFigure) -> Direction | Literal[False] | None:
    """Return the direction in which a measure is better: its own, or the one that follows from its parts.

    Returns None if no part has a direction, and False if parts have one but none follows.
    """
    if statement.has("lower"):
        return "lower"
    if statement.has("higher"):
        return "higher"
    better, explicit = directions_of(figured.direction_form)
    if not explicit:
        return None
    return next(iter(better)) if len(better) == 1 else False


def check_directions(program: Program) -> None:
    """Report measures whose direction does not follow from those of their parts.

    It is an error if models are ranked by the measure, otherwise a warning. Call it after the exports are lowered.
    """
    if not any(measure.directed or _errors_of(measure, program.measures) for measure in program.measures.values()):
        return
    best = {
        export.measure for export in program.exports.values() if isinstance(export, Export) and export.kind == "best"
    }
    ranked = {*(program.benchmark.headline if program.benchmark is not None else ()), *best}
    reading = replace(read_measures(program, silent=True), program=program)
    for key, measure in reading.measures.items():
        if measure.better is not False:
            continue
        value = reading.declared[key].statement.syntax("value")
        context = replace(reading, scenario=reading.declared[key].scenario, measure_name=key)
        parts = [reading.measures[name] for name in measures_in(context, value) if name in reading.measures]
        part = next((lowered_measure for lowered_measure in parts if lowered_measure.better is not None), None)
        better: Direction | Literal[False] | None = "lower" if part is None else part.better
        name = _errors_of(measure.measure, program.measures)[0] if part is None else part.measure.name
        if better is False and key not in ranked:
            continue  # it follows once the direction of the part is stated
        if better is False:
            message = f"which way `{key}` is better does not follow from `{name}`, of which it is not said"
        elif better == "lower":
            message = f"which way `{key}` is better does not follow: it is made of `{name}`, of which lower is better"
        else:
            message = f"which way `{key}` is better does not follow: it is made of `{name}`, of which higher is better"
        help_ = "say it behind the value: `lower is better` or `higher is better`"
        if key in ranked:
            program.diagnostics.error("E0626", message, value.span, help=help_)
        else:
            program.diagnostics.warning("W0627", message, value.span, help=help_)


def _errors_of(measure: Measure, measures: Mapping[str, Measure]) -> list[str]:
    """Return the aggregates in a measure of which a lower value is always better."""
    functions = (aggregate.function for aggregate in aggregates_of(measure.figure, measures))
    return [function for function in functions if declared_aggregate(function).better == "lower"]


def bounds_of(figured: TypedFigure) -> tuple[float | None, float | None]:
    """Return the range of the measure's values, as far as it is known."""
    if figured.mixed:
        return None, None
    return figured.ends if figured.scale.bounds is None else rounded(figured.scale.bounds)


def _detail(by: tuple[str, ...], low: float | None, high: float | None, corrected: bool) -> str:
    """Return the description of a measure for editors."""
    goes = f" by {', '.join(by)}" if by else ""
    people = " that people correct" if corrected else ""
    ends = f", {format_bounds(Interval(low, high))}" if low is not None and high is not None else ""
    return f"a measure{goes}{people}{ends}"


# Corrections by people

CODE = "E0624"
EVERYBODY = frozenset(("evaluator", "pair"))
"""Dimensions that distinguish evaluators."""


def check_corrected(reading: FigureContext, value: Syntax, figured: TypedFigure, corrected: bool) -> None:
    """Check that people can correct a figure that says so, and that one which builds on such a figure says so."""
    named = dict.fromkeys(name for name in measures_in(reading, value) if name in reading.measures)
    builds_on = [name for name in named if reading.measures[name].measure.corrected]
    if corrected:
        _check_correctable(reading, value.span, figured)
    elif builds_on:
        message = f"people correct `{builds_on[0]}`, and this builds on it without them"
        reading.error(CODE, message, value.span, "write `corrected by people` behind the figure")


def is_expected_of_people(reading: FigureContext, value: Syntax, figured: TypedFigure) -> bool:
    """Return true if an expectation is about measures that people correct. Reports a mixture with figures of judges
    alone.
    """
    named = [reading.measures[name] for name in measures_in(reading, value) if name in reading.measures]
    corrected = [measure for measure in named if measure.measure.corrected]
    if not corrected:
        return False
    ours = sum(_judges(leaf.scored) for measure in corrected for leaf in measure.typed_figure.leaves)
    if sum(_judges(leaf.scored) for leaf in figured.leaves) > ours:
        message = f"people correct `{corrected[0].measure.name}`, and what stands beside it is of judges alone"
        reading.error(CODE, message, value.span, "declare `measure NAME = … corrected by people`, and expect that")
    else:
        _check_correctable(reading, value.span, figured)
    return True


def _check_correctable(reading: FigureContext, span: Span, figured: TypedFigure) -> None:
    reason = _why_not(reading, figured)
    if reason is not None:
        reading.error(CODE, f"people cannot correct this: {reason[0]}", span, reason[1])


def _why_not(reading: FigureContext, figured: TypedFigure) -> tuple[str, str] | None:
    """Return why people cannot correct a figure, and the hint; None if they can."""
    if reading.across is not None or any(leaf.judged for leaf in figured.leaves):
        return "it is an agreement of evaluators", "correct a mean of grades; agreement needs no correction"
    everybody = sorted(EVERYBODY & {*reading.by, *figured.cells, *figured.fixed, *_fixed(figured.leaves)})
    if everybody:
        text = f"it goes by `{everybody[0]}`, so it has a value for each of them already"
        return text, f"leave out `{everybody[0]}`"
    if reading.missing not in (None, "skip"):
        text = f"`missing: {reading.missing}` counts replies that nobody can grade"
        return text, "leave `missing` out: replies without a grade by the judge are in neither"
    measures = {name: measure.measure for name, measure in reading.measures.items()}
    for aggregate in aggregates_of(figured.figure, measures):
        if aggregate.of is not None and not declared_aggregate(aggregate.function).correctable:
            return f"it takes the `{aggregate.function}` of cells", "take their `mean`, or each cell with `by`"
        if aggregate.of is not None and not isinstance(aggregate.of, Aggregate):
            return "it takes the cells of a formula or a slice", "take the `mean` of the cells of each part"
        if aggregate.named.get("weight") == "margin":
            return "it weighs comparisons by their margin", "leave out `weight: margin`"
        if aggregate.named.get("tries") == "first":
            return "it looks at the first tries alone", "leave out `tries: first`: any tries show the chance"
    for leaf in figured.leaves:
        if not _judges(leaf.scored):
            text = f"no judge gives what {leaf.named} looks at, and it is the same for people"
            return text, "leave it out here, and correct what judges give in a measure of its own"
        function = declared_aggregate(leaf.function)
        if not function.correctable:
            *some, last = (f"`{name}`" for name in sorted(AGGREGATES) if AGGREGATES[name].correctable)
            return f"{leaf.named} is a `{leaf.function}`", f"take a {', '.join(some)} or {last} of what people grade"
        if (
            function.mean_of == "items"
            and len({scenario.name for operand in leaf.scored for scenario in operand.scenarios}) > 1
        ):
            return f"{leaf.named} is of several scenarios", "take that of each scenario, and the mean of these"
    return next((why for leaf in figured.leaves if (why := _not_graded(reading.program, leaf)) is not None), None)


def _not_graded(program: Program, leaf: AggregateTerm) -> tuple[str, str] | None:
    """Return why people cannot grade what an aggregate reads in place of a judge, and the hint; None if they can."""
    for operand in leaf.scored:
        if any(grader_of(step) is None for step in operand.steps):
            text = f"a judge is asked inside the expression of {operand.shown}, and people do not grade that"
            return text, "score what the judge gives with a name of its own, and take the mean of that"
        for scorer in graders_of(program, operand):
            if not scorer.writes:
                kind = "a reward model" if scorer.source == "reward" else "an embedding model"
                return f"`{scorer.name}` is {kind}, in whose place nobody grades", "take the scores of a judge"
            if isinstance(scorer.gives, ChoiceType) and declared_aggregate(leaf.function).truth_only:
                return (
                    f"{leaf.named} counts a name, and people correct numbers",
                    "give the names numbers, and take the mean",
                )
            if program.roles[scorer.role].with_people:
                text = f"`role {scorer.role}` counts people with its models"
                return text, "leave out `with people`: then people are apart and can correct the models"
    return None


def _judges(scored: Iterable[Operand]) -> bool:
    """Return true if a judge contributes to the scores."""
    for operand in scored:
        judges = {
            step.name for scenario in operand.scenarios for step in scenario.steps if isinstance(step, JudgedStep)
        }
        if any(isinstance(step, JudgedStep) or judges & set(step.needs) for step in operand.steps):
            return True
    return False


def _fixed(leaves: Iterable[AggregateTerm]) -> frozenset[str]:
    return frozenset(name for leaf in leaves for name in leaf.fixed)


# Headline


def lower_headline(program: Program) -> None:
    """Lower the `headline` of the benchmark. Each measure must have one value for each model, and occur once.

    Call it after the measures are lowered.
    """
    settling = program.of("benchmark")[0].one_of("settling")
    if settling is not None and program.benchmark is not None:
        program.benchmark = program.benchmark.model_copy(update={"until": settling_of(settling)})
    statement = program.of("benchmark")[0].one_of("headline")
    if statement is None or program.benchmark is None:
        return
    reading = read_measures(program, silent=True)
    reading.program = program
    measures = {key: lowered_measure.measure for key, lowered_measure in reading.measures.items()}
    names: list[str] = []
    for syntax in statement.many("measures"):
        measure = find_measure(reading, syntax)
        if measure is None:
            continue
        name = measure.measure.name
        why = why_no_headline(measure.measure, measures)
        if name in names:
            program.diagnostics.error("E0202", f"`{name}` is named twice", syntax.span, help="remove one")
        elif why is not None:
            those = [key for key, measure in measures.items() if why_no_headline(measure, measures) is None]
            some = ", ".join(f"`{name}`" for name in those[:8])
            help_ = f"these do: {some}" if those else "declare one, such as the mean over what this goes by"
            message = f"`{name}` does not come to one value for each model: it {why}"
            program.diagnostics.error("E0630", message, syntax.span, help=help_)
        else:
            names.append(name)
    program.benchmark = program.benchmark.model_copy(update={"headline": tuple(names)})


# Expectations and settling


def lower_expectations(program: Program) -> None:
    """Lower every `expect`; those of a scenario in its context."""
    written = list(_statements(program))
    base = replace(read_measures(program, silent=True), program=program) if written else None
    for scenario, statement in written:
        assert base is not None
        reading = replace(base, scenario=scenario, terms=[], missing=None)
        expectation = _expectation(reading, statement.syntax("cond"))
        if expectation is not None:
            until = StoppingCriterion() if statement.has("until") else None
            settings = {"until": until, "coverage": _coverage(reading, statement)}
            program.expectations.append(expectation.model_copy(update=settings))


def _coverage(reading: FigureContext, statement: Statement) -> float | None:
    """Return the coverage that an `expect` requires; None without one, or if it is out of range."""
    node = statement.find("number")
    if not isinstance(node, Number):
        return None
    if not 0 <= node.value <= 1:
        help_ = "write a share of the scores, such as `coverage 0.8`"
        reading.error("E0301", "`coverage` must be between 0 and 1", node.span, help_)
        return None
    return float(node.value)


def _statements(program: Program) -> Iterator[tuple[str | None, Statement]]:
    for statement in program.of("expect", "scenario"):
        if statement.construct == "expect":
            yield None, statement
        elif program.declared["scenario"].get(statement.name().text) is statement.name():
            for inner in statement.of("expect"):
                yield statement.name().text, inner


def check_settling(program: Program, plan: Plan) -> None:
    """Report `until` clauses that continuing a run cannot satisfy. Call it after everything is lowered."""
    measures = measures_of(plan)
    criteria: list[tuple[str, Measure | Expectation, StoppingCriterion, Span]] = []
    for statement in program.of("benchmark"):
        settling, headline = statement.one_of("settling"), statement.one_of("headline")
        if settling is not None and headline is None:
            message = "a run goes on until the models are distinguished in the headline, and there is none"
            program.diagnostics.error("E0625", message, settling.head, help="name it: `headline MEASURE`")
        elif settling is not None and plan.benchmark.until is not None:
            criteria += [
                (name, measures[name], plan.benchmark.until, settling.head) for name in plan.benchmark.headline
            ]
    for key, span in declared_settling(program):
        if key in measures and (until := measures[key].until) is not None:
            criteria.append((key, measures[key], until, span))
    for (_, statement), expectation in zip(_statements(program), plan.expectations, strict=True):
        if expectation.until is not None:
            criteria.append((expectation.shown, expectation, expectation.until, statement.head))
    for name, of, until, span in criteria:
        sequential = sequential_figure(plan, of)
        if isinstance(sequential, str):
            help_ = "leave `until settled` out here, and say it of a mean of scores"
            program.diagnostics.error("E0625", f"runs cannot settle `{name}`: it {sequential}", span, help=help_)
        elif until.within is not None and not 0 < 2 * until.within < sequential.ends[1] - sequential.ends[0]:
            ends = format_bounds(Interval(*sequential.ends))
            message = f"`{name}` runs from {ends}: `within` is above 0 and below half of that"
            program.diagnostics.error("E0625", message, span, help="write another number")


def _expectation(reading: FigureContext, condition: Syntax) -> Expectation | None:
    match condition:
        case Group(arguments=(Argument(name=None, elements=(inner,)),)):
            return _expectation(reading, inner)
        case (
            BinaryExpr(operator="and")
            | BinaryExpr(operator="<" | "<=" | ">" | ">=", left=BinaryExpr(operator="<" | "<=" | ">" | ">="))
        ):
            reading.error("E0106", "this expects several things", condition.span, "write an `expect` for each")
            return None
        case BinaryExpr(operator=operator, left=left, right=right) if operator in MIRRORED:
            return _compared(reading, condition, MIRRORED[MIRRORED[operator]], left, right)
    help_ = "write `expect MEASURE >= NUMBER`"
    reading.error("E0106", "this does not compare a measure with a number", condition.span, help_)
    return None


def _compared(
    reading: FigureContext, condition: Syntax, operator: Comparison, left: Syntax, right: Syntax
) -> Expectation | None:
    if interval_end(left) is not None or interval_end(right) is not None:
        return _compared_end(reading, condition, operator, left, right)
    if not is_number(left) and not is_number(right):
        return _compared_figures(reading, condition, operator, left, right)
    one, other = read_whole(reading, left), read_whole(reading, right)
    if one is None or other is None:
        return None
    if not one.leaves:
        one, other, operator = other, one, MIRRORED[operator]
    if not one.leaves or other.scale.constant is None:
        message = "this compares numbers, and measures nothing"
        reading.error("E0301", message, condition.span, "write `expect MEASURE >= NUMBER`")
        return None
    return _lowered(reading, condition, one, operator, other.scale.constant)


def _compared_figures(
    reading: FigureContext, condition: Syntax, operator: Comparison, left: Syntax, right: Syntax
) -> Expectation | None:
    """Return the expectation of two figures: `a >= b - 0.02` becomes `a - b >= -0.02`."""
    (one, ours), (other, theirs) = without_numbers(left), without_numbers(right)
    value = _sum_of(reading, [*theirs, *((-sign, number) for sign, number in ours)])
    figured = read_difference(reading, one, other, condition)
    if figured is None or value is None:
        return None
    if not with_missing(figured.form, reading.missing or "skip").atoms:
        help_ = "compare two figures that can differ"
        reading.error("E0704", "both sides of this measure the same", condition.span, help_)
        return None
    expectation = _lowered(reading, condition, figured, operator, value)
    return None if expectation is None else expectation.model_copy(update={"difference": figured.named})


def _sum_of(reading: FigureContext, numbers: Sequence[tuple[int, Syntax]]) -> float | None:
    """Return the sum of signed numbers, exact in decimal notation; None if one is wrong."""
    total = Fraction(0)
    for sign, syntax in numbers:
        number = read_figure(reading, syntax)
        if number is None:
            return None
        total += sign * number.form.constant
    return float(total)


def _compared_end(
    reading: FigureContext, condition: Syntax, operator: Comparison, left: Syntax, right: Syntax
) -> Expectation | None:
    """Return the expectation of an end of an interval: `lower(a - b) >= -0.02`."""
    if interval_end(left) is None:
        left, right, operator = right, left, MIRRORED[operator]
    call = interval_end(left)
    assert call is not None and isinstance(call.function, Name)
    end = next(candidate for candidate in INTERVAL_ENDS if candidate == call.function.text)
    if len(call.arguments) != 1 or call.arguments[0].name is not None or len(call.arguments[0].elements) != 1:
        reading.error("E0303", f"`{end}` takes one figure", call.span, f"it is `{end_signature(end)}`")
        return None
    inner = call.arguments[0].elements[0]
    figured = read_whole(reading, inner)
    other = interval_end(right)
    base = right if other is None or not other.arguments else other.arguments[0].elements[0]
    number = read_whole(reading, base)
    if figured is None or number is None:
        return None
    if other is not None or number.scale.constant is None:
        difference = difference_of(without_numbers(inner)[0], without_numbers(base)[0])
        help_ = f"compare that of their difference: `{end}({difference}) {operator} NUMBER`"
        reading.error("E0301", "an end of an interval is compared with a number", condition.span, help_)
        return None
    if not figured.leaves:
        help_ = f"write `expect {end}(MEASURE) {operator} NUMBER`"
        reading.error("E0301", f"`{figured.named}` is a number, and has no interval", inner.span, help_)
        return None
    if operator in ("==", "!="):
        help_ = f"write `{end}(…) >= NUMBER`, or another of `<`, `<=` and `>`"
        reading.error("E0301", f"an end of an interval is not compared by `{operator}`", condition.span, help_)
        return None
    expectation = _lowered(reading, condition, figured, operator, number.scale.constant)
    return None if expectation is None else expectation.model_copy(update={"end": end})


def _lowered(
    reading: FigureContext, condition: Syntax, figured: TypedFigure, operator: Comparison, value: float
) -> Expectation | None:
    """Return the expectation of a figure and a number; None if it is wrong."""
    attempt = reading.program.diagnostics.attempt()
    if reading.missing is not None:
        help_ = "declare `measure NAME = …` with it, and expect that"
        reading.error("E0303", "`missing` is said of a measure", condition.span, help_)
        return None
    by = find_cells(reading, figured)
    if by is None or not _can_tell(reading, condition, figured, operator, value):
        return None
    corrected = is_expected_of_people(reading, condition, figured)
    random = inherited_facets(reading, condition, figured)
    if random is None or attempt.failed:
        return None
    low, high = bounds_of(figured)
    return Expectation(
        figure=figured.figure,
        operator=operator,
        value=value,
        shown=condition.span.excerpt,
        by=by,
        low=low,
        high=high,
        corrected=corrected,
        random=random,
    )


def _can_tell(
    reading: FigureContext, condition: Syntax, figured: TypedFigure, operator: Comparison, value: float
) -> bool:
    """Return true unless an expectation always holds or always fails, as far as the scale of the figure is known;
    otherwise report it. An end of the scale is accepted: `accuracy >= 0` asks only for a value.
    """
    bounds = figured.scale.bounds
    if bounds is None or figured.mixed:
        return True
    never = rounded(bounds).always(operator, value) is False
    if not never and rounded(bounds).contains(value):
        return True
    word = "never" if never else "always"
    message = f"this is {word} true: `{figured.named}` runs from {format_bounds(bounds)}"
    reading.error("E0704", message, condition.span, "compare it with a number on its scale")
    return False
