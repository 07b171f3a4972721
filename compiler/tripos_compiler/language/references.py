"""Inputs of expressions and steps: names, data sets, trees, user functions, printed labels, and the roles that a step
calls.

`examples_for(q.points, example)` reads only those rows of a generated data set that match the points of the row `q`. If
nothing else uses the data set, its other rows need not be generated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from tripos_compiler.library.calls import arguments_of, is_call
from tripos_compiler.library.functions import trees
from tripos_compiler.plan import (
    EXPRESSIONS,
    Ask,
    Branches,
    Call,
    Compare,
    Converse,
    Data,
    Dataset,
    Each,
    Expr,
    GeneratedDataset,
    Hole,
    Items,
    JudgedStep,
    Let,
    Literal_,
    Loop,
    Part,
    Passage,
    Plan,
    Ref,
    Retrieve,
    SampleList,
    Scenario,
    Step,
    Template,
    Type,
    Verdict,
    parts_of,
)
from tripos_compiler.plan.steps import FieldMark, Use, field_marks
from tripos_compiler.source.data_classes import dataclass

# External inputs of steps


def external_input_changes(before: Step, after: Step, old: Plan, new: Plan) -> list[str]:
    """Return descriptions of the external inputs that two versions of a step share and that differ between their
    plans."""
    was, now = _inputs(before, old), _inputs(after, new)
    return [name for name, content in now.items() if name in was and was[name] != content]


def _inputs(step: Step, plan: Plan) -> dict[str, object]:
    """Return the external inputs of a step by description, each with the value that determines it."""
    parts: list[Part] = [step]
    if isinstance(step, JudgedStep):
        parts += [scorer for scorer in plan.scorers if scorer.name == step.scorer]
    inner = [subexpression for part in parts for expr in expressions_of(part) for subexpression in subexpressions(expr)]
    data = {name for part in parts for name in datasets_of(part)}
    trees = {expr.tree for expr in inner if isinstance(expr, Branches)}
    called = {expr.function for expr in inner if isinstance(expr, Call)}
    axes = {name for part in parts for name in printed_axes(part)}
    inputs: dict[str, object] = {
        f"data set `{dataset.name}`": row_identity(dataset) for dataset in plan.datasets if dataset.name in data
    }
    inputs |= {f"data set `{dataset.name}`": dataset.fingerprint for dataset in plan.made if dataset.name in data}
    inputs |= {f"tree `{tree.name}`": tree.sha256 for tree in plan.trees if tree.name in trees}
    inputs |= {
        f"function `{plugin.name}`": (plugin.function, plugin.version, plugin.returns)
        for plugin in plan.plugins
        if plugin.name in called
    }
    inputs |= {
        f"the labels of `{axis.name}`, which it prints": [value.labels for value in axis.values]
        for axis in plan.axes
        if axis.name in axes
    }
    return inputs


def row_identity(dataset: Dataset) -> object:
    """Return what determines the rows of a data set read from files, as JSON values."""
    joins = [[join.column, join.other, join.columns, [file.sha256 for file in join.files]] for join in dataset.joins]
    files = [file.sha256 for file in dataset.files]
    return [files, [field.model_dump(mode="json") for field in dataset.fields], *([joins] if joins else [])]


def printed_axes(part: object) -> set[str]:
    """Return the axes whose labels a part of a plan prints or offers as choices."""
    axes = {name for hole in _holes(part) for name in axes_in(hole.type)}
    return axes | axes_in(part.returns) if isinstance(part, Ask) and part.returns is not None else axes


def axes_in(type_: Type) -> set[str]:
    """Return the axes whose values a type has."""
    match type_.kind:
        case "choice":
            return {type_.axis} if type_.axis is not None else set()
        case "list" | "set" | "optional":
            return axes_in(type_.of)
        case "record":
            return {name for of in type_.fields.values() for name in axes_in(of)}
    return set()


def _holes(part: object) -> Iterator[Hole]:
    match part:
        case Hole():
            yield part
        case Part() if not isinstance(part, EXPRESSIONS):
            for name in type(part).model_fields:
                yield from _holes(getattr(part, name))
        case dict():
            for value in part.values():
                yield from _holes(value)
        case tuple():
            for value in part:
                yield from _holes(value)


# Lookups by points of a row


@dataclass(frozen=True)
class DatasetLookup:
    """Lookup in a data set by `examples_for`: rows whose field `at` matches the `points` of the row known as
    `alias`."""

    alias: str
    points: Expr
    at: str


def find_lookups(scenario: Scenario, dataset: str) -> tuple[DatasetLookup, ...] | None:
    """Return the lookups of a scenario in a data set, or None if it also uses the data set in another way."""
    if scenario.rows is None:
        return None
    if _shows(scenario, dataset):
        return None
    lookups: list[DatasetLookup] = []
    for expr in _exprs(scenario):
        for part in (Items(values=(expr,)), *subexpressions(expr)):
            look = _lookup(part, dataset, scenario.rows.alias)
            lookups += [look] if look is not None else []
            taken = sum(isinstance(other, Data) and other.dataset == dataset for other in parts_of(part))
            if taken > (look is not None):
                return None
    return tuple(lookups)


def _exprs(scenario: Scenario) -> Iterator[Expr]:
    if scenario.rows is not None and scenario.rows.where is not None:
        yield scenario.rows.where
    for step in scenario.steps:
        yield from expressions_of(step)


def _lookup(part: Expr, dataset: str, alias: str) -> DatasetLookup | None:
    if not isinstance(part, Call) or not is_call(part, trees.examples_for):
        return None
    arguments = arguments_of(part)
    match arguments.get("points"), arguments.get("rows"), arguments.get("at"):
        case points, Data(dataset=name, field=None), Literal_(value=str(at)) if points is not None:
            return DatasetLookup(alias, points, at) if name == dataset and names_in(points) <= {alias} else None
    return None


def is_used_by_lookups_only(name: str, scenarios: Sequence[Scenario], made: Sequence[GeneratedDataset]) -> bool:
    """Return true if a generated data set is used only by lookups, so that not all of its rows need be generated."""
    if any(scenario.rows is not None and scenario.rows.dataset == name for scenario in scenarios):
        return False
    if any(_takes(dataset, name) for dataset in made if dataset.name != name):
        return False
    takers = [scenario for scenario in scenarios if _takes(scenario, name) or _shows(scenario, name)]
    return bool(takers) and all(find_lookups(scenario, name) is not None for scenario in takers)


def _shows(scenario: Scenario, dataset: str) -> bool:
    """Return true if worked examples are drawn from the data set; they may be any of its rows."""
    return any(shots.dataset == dataset for step in scenario.steps if isinstance(step, Ask) for shots in step.shots)


def _takes(part: Scenario | GeneratedDataset, dataset: str) -> bool:
    return dataset in datasets_of(part)


# Names in expressions


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its subexpressions; a shared one is yielded once.

    >>> from tripos_compiler.plan import Ref, Unary
    >>> [part.op for part in subexpressions(Unary(operator="not", value=Ref(path=("a",))))]
    ['unary', 'ref']
    """
    waiting, seen = [expr], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += reversed(parts_of(part))


def nested_loops(loops: Sequence[Loop], value: Expr) -> Expr:
    """Return an expression nested in loops, the first the outermost."""
    for loop in reversed(loops):
        value = Each(loop=loop, value=value)
    return value


def expressions_of(part: object) -> Iterator[Expr]:
    """Yield the outermost expressions in a part of a plan, at any depth."""
    if isinstance(part, EXPRESSIONS):
        yield part
        return
    match part:
        case Part():
            values: Iterable[object] = (getattr(part, name) for name in type(part).model_fields)
        case dict():
            values = part.values()
        case tuple():
            values = part
        case _:
            return
    for value in values:
        if isinstance(value, Part | dict | tuple):
            yield from expressions_of(value)


def paths_in(expr: Expr | Let) -> set[tuple[str, ...]]:
    """Return the free names of an expression with the fields below them.

    >>> loop = Loop(alias="c", of=Ref(path=("item", "facts")))
    >>> paths_in(Each(loop=loop, value=Ref(path=("c", "text"))))
    {('item', 'facts')}
    """
    return set(_paths(expr, {}))


def _paths(expr: Expr | Let, done: dict[int, frozenset[tuple[str, ...]]]) -> frozenset[tuple[str, ...]]:
    known = done.get(id(expr))
    if known is None:
        parts = parts_of(expr)
        if isinstance(expr, Ref):
            known = frozenset((expr.path,))
        elif isinstance(expr, Each):
            inner = frozenset[tuple[str, ...]]().union(*(_paths(part, done) for part in parts[1:]))
            known = _paths(expr.loop.of, done) | {path for path in inner if path[0] != expr.loop.alias}
        else:
            known = frozenset[tuple[str, ...]]().union(*(_paths(part, done) for part in parts))
        done[id(expr)] = known
    return known


def names_in(expr: Expr | Let) -> set[str]:
    """Return the free names of an expression."""
    return {path[0] for path in paths_in(expr)}


def without_reveal(expr: Expr) -> Expr:
    """Return an expression without enclosing `reveal` calls, which do not change its value.

    >>> without_reveal(Call(function="reveal", args=(Data(dataset="raw", field="stem"),))).dataset
    'raw'
    """
    while isinstance(expr, Call) and expr.is_reveal:
        expr = expr.args[0] if expr.args else expr.named["value"]
    return expr


# Expressions and dependencies of steps

CALLING = (Ask, Converse, Retrieve, SampleList, Verdict)


class ExpressionUse(NamedTuple):
    """Expression of a step, with the mark of its field and the circumstances of its evaluation.

    `owner` is the step, or its shots or speaker. `node` is the hole or passage of a text, else the expression. In a
    text, `language` is set if there are several languages, and `guard` is the condition of the passage.
    """

    owner: Part
    mark: FieldMark
    expr: Expr
    node: Expr | Hole | Passage
    language: str | None = None
    guard: Expr | None = None

    @property
    def use(self) -> Use:
        """The use that the step makes of the expression."""
        return self.mark.use


def uses(part: Part) -> Iterator[ExpressionUse]:
    """Yield every expression of a step, a speaker, shots or a scorer, with the conditions of its texts and settings.

    The name of an earlier step is yielded as a reference. The arguments of a verdict in loops are one expression.
    """
    loops = part.loops if isinstance(part, Verdict) else ()
    for name, mark in field_marks(type(part)).items():
        value = getattr(part, name)
        if mark.names_step and value is not None:
            value = Ref(path=(value,))
        elif loops and mark.use == "arguments":
            value = nested_loops(loops, Items(values=tuple(value.values())))
        elif mark.use in _WITHOUT_EXPRESSIONS or not _is_composite(value) or (loops and mark.use == "loops"):
            continue
        if mark.use in ("example", "speakers"):
            yield from (use for nested in value for use in uses(nested))
        else:
            yield from (ExpressionUse(part, mark, *location) for location in _located(value))


_WITHOUT_EXPRESSIONS = ("type", "tools", "role")
"""Uses of fields whose values have no expressions."""


def _is_composite(value: object) -> bool:
    return isinstance(value, Part) or (isinstance(value, dict | tuple) and bool(value))


Located = tuple[Expr, Expr | Hole | Passage, str | None, Expr | None]


def _located(value: object, language: str | None = None, guard: Expr | None = None) -> Iterator[Located]:
    """Yield each expression in the value of a field with its node, language and guard."""
    if isinstance(value, EXPRESSIONS):
        yield value, value, language, guard
        return
    match value:
        case Hole(expr=expr):
            yield expr, value, language, guard
        case Passage(when=when, parts=parts):
            if when is not None:
                yield when, value, language, guard
            yield from _located(parts, language, when)
        case Template(parts=parts):
            yield from _located(parts, language, guard)
        case Part():
            inner = (getattr(value, name) for name in type(value).model_fields)
            yield from (
                location for inner_part in inner if _is_composite(inner_part) for location in _located(inner_part)
            )
        case dict():
            for key, inner_part in value.items():
                own = key if len(value) > 1 and isinstance(inner_part, Template) else language
                yield from _located(inner_part, own, guard)
        case tuple():
            yield from (location for inner_part in value for location in _located(inner_part, language, guard))


def step_expressions(step: Step) -> Iterator[Expr]:
    """Yield every expression of a step, including those of its texts."""
    return (use.expr for use in uses(step))


def transitive_dependencies(steps: Sequence[Step], names: Collection[str], whole: bool = True) -> set[str]:
    """Return the given steps and all steps on which they depend. Asks of one name in different arms count together.

    Without `whole`, the dependencies of lists of samples are omitted: they are the same for every sample.
    """
    by_name: dict[str, list[Step]] = {}
    for step in steps:
        if isinstance(step, CALLING):
            by_name.setdefault(step.name, []).append(step)
    needed: set[str] = set()
    waiting = [name for name in names if name in by_name]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        for step in by_name[name]:
            waiting += direct_dependencies(step) & by_name.keys() if whole or not isinstance(step, SampleList) else ()
    return needed


def direct_dependencies(step: Step) -> set[str]:
    """Return the names that a step uses directly, including a conversation that it continues."""
    names = {name for expr in step_expressions(step) for name in names_in(expr)}
    if isinstance(step, Compare):
        names |= {path[1] for expr in step_expressions(step) for path in paths_in(expr) if is_of_side(path)}
    return names


def is_of_side(path: tuple[str, ...]) -> bool:
    """Return true if a path in a comparison leads to a step of one side."""
    return path[0] in ("first", "second") and len(path) > 1


def judge_input_names(step: JudgedStep) -> set[str]:
    """Return the names used by the arguments of a judge. Conditions on the call and on its elements are not part of the
    request."""
    request: dict[str, object] = {"when": None, "earlier": None}
    if isinstance(step, Verdict):
        request["loops"] = tuple(loop.model_copy(update={"where": None}) for loop in step.loops)
    return direct_dependencies(step.model_copy(update=request))


def template_expressions(template: Template) -> Iterator[Expr]:
    """Yield every expression of a template, including the conditions of its passages."""
    for part in template.parts:
        if isinstance(part, Passage):
            if part.when is not None:
                yield part.when
            yield from (inner.expr for inner in part.parts if isinstance(inner, Hole))
        elif isinstance(part, Hole):
            yield part.expr


def required_inputs(step: Step) -> Iterator[ExpressionUse]:
    """Yield the expressions that a step requires, without its condition.

    Elements without a value for `by` or `where` of a retrieval are only left out, and rows without one for `where` of
    shots. So of these only the parts on the current row, or on earlier steps, are yielded.
    """
    for use in uses(step):
        match use.use:
            case "condition" | "result" | "value":
                continue
            case "query" | "ranking" if isinstance(step, Retrieve):
                parts = (part for part in subexpressions(use.expr) if step.alias not in names_in(part))
                yield from (use._replace(expr=part) for part in parts)
            case "filter":
                yield from (use._replace(expr=part) for part in subexpressions(use.expr) if isinstance(part, Ref))
            case _:
                yield use


def datasets_of(part: object) -> set[str]:
    """Return the data sets from which a part of a plan, or a tuple of parts, reads values, and a step its shots."""
    datasets = {
        data.dataset for expr in expressions_of(part) for data in subexpressions(expr) if isinstance(data, Data)
    }
    return datasets | ({shots.dataset for shots in part.shots} if isinstance(part, Ask) else set())


def roles_called(step: Step) -> tuple[str, ...]:
    """Return the roles whose models a step calls, without those of scorers."""
    if isinstance(step, Ask):
        return (step.role,)
    if step.step == "converse":
        return tuple(speaker.role for speaker in step.speakers)
    return ()
