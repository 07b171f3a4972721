"""Sources of generated data sets: their context, the rows or values they are made from, row counts, and the starts of
walks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import product
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Label, suggest
from tripos_compiler.language.contexts import allowed_cells, axes_in_guards, count_cells
from tripos_compiler.language.evaluation import DATA, Unavailable, evaluate
from tripos_compiler.language.references import names_in, subexpressions
from tripos_compiler.library.functions.trees import BETWEEN, ParsedTree
from tripos_compiler.library.types import element_type, type_notation
from tripos_compiler.lowering.datasets import bare_name, known_data
from tripos_compiler.lowering.declarations import branches_of
from tripos_compiler.lowering.fingerprints import StepFingerprints
from tripos_compiler.lowering.requests import Request
from tripos_compiler.plan import (
    Ask,
    Axis,
    Data,
    DataField,
    Derived,
    Expr,
    GeneratedDataset,
    Literal_,
    Type,
    Verify,
    Walk,
)
from tripos_compiler.resolve.program import (
    Binding,
    LoadedDataset,
    Program,
    Typed,
    has_skipped_values,
    record_fields,
    row_fields,
)
from tripos_compiler.resolve.python_functions import is_compile_time
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import BinaryExpr, Name, Syntax, free_names
from tripos_compiler.typecheck.expressions import check, check_condition
from tripos_compiler.typecheck.types import axis_type

# State of the lowering

GenerationStep = Ask | Walk | Derived | Verify


@dataclass
class GenerationLowering:
    """A generated data set while it is lowered.

    `scope` binds the axes and the source's rows. If `open`, the rows may have fields with unknown names because
    something is wrong.
    """

    program: Program
    statement: Statement
    name: str
    axes: list[Axis]
    scope: dict[str, Binding]
    alias: Name | None = None
    fields: list[DataField] = field(default_factory=list)
    poisoned: list[str] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    steps: list[GenerationStep] = field(default_factory=list)
    mentioned: dict[str, set[str]] = field(default_factory=dict)
    """By language, the names that its prompts print."""
    open: bool = False

    def __post_init__(self) -> None:
        self.attempt = self.program.diagnostics.attempt()
        self.prints = StepFingerprints(self.program, self.name, kind="dataset")

    @property
    def row_name(self) -> str:
        """Its name in the spec."""
        return bare_name(self.name)

    def error(
        self,
        code: str,
        message: str,
        *where: Span | Label,
        help: str,
        unknown: str | None = None,
        lacking: Span | None = None,
        fault: str | None = None,
    ) -> None:
        """Report a mistake."""
        self.program.diagnostics.error(code, message, *where, help=help, unknown=unknown, lacking=lacking, fault=fault)

    def add(
        self, kind: str, name: str, span: Span, type_: Type | None, where: Span | None = None, secret: bool = False
    ) -> None:
        """Add a field; without a type if it is unknown. Reports a name that is taken.

        `where` is the place of that report if it differs from the declaration. `kind` is the kind of declaration, empty
        for a field that is taken over from the source.
        """
        if name in self.poisoned:  # something wrong may have this name or not
            return
        if name in self.spans:
            label = Label(self.spans[name], "it comes from here")
            help_ = "rename one"
            if any(axis.name == name for axis in self.axes):
                help_ = f"rows that say their `{name}` are made where no context adds it: at the top of the file"
            self.error("E0202", f"the rows have a field `{name}` already", where or span, label, help=help_)
            return
        self.spans[name] = span
        if kind:
            owner = f"dataset {self.row_name}"
            self.program.index.define(kind, name, span, owner, type_notation(type_) if type_ is not None else "")
        if type_ is None:
            self.poisoned.append(name)
            self.program.diagnostics.follows()
        else:
            self.fields.append(DataField(name=name, type=type_, columns=(), secret=secret))

    def bindings(self, *path: str) -> dict[str, Binding]:
        """Return the bindings of the fields so far. `path` names the row."""
        by_name = {name: Binding((*path, name)) for name in self.poisoned}
        for data_field in self.fields:
            span, own = self.spans[data_field.name], (*path, data_field.name)
            by_name[data_field.name] = Binding(
                own, data_field.type, record_fields(own, data_field.type, span), span=span, secret=data_field.secret
            )
        return by_name

    def row(self) -> dict[str, Binding]:
        """Return the scope once a part of the row exists, including the fields so far."""
        fields = {} if self.open else self.bindings(self.row_name)
        return {**self.scope, self.row_name: Binding((self.row_name,), None, fields, span=self.statement.name().span)}

    def too_early(self, names: Iterable[Name]) -> bool:
        """Return true if a name is the data set itself before its rows exist, and report it."""
        own = [
            name
            for name in names
            if name.text == self.row_name and "." not in self.name and name.text not in self.scope
        ]
        for name in own:
            help_ = "its source and its axes can be named here"
            self.error("E0201", f"the rows of `{self.row_name}` are not there yet", name.span, help=help_)
        return bool(own)

    def check_author(self, role: Name) -> None:
        """Check that a role may generate rows, which must be the same for all compared models."""
        if not self.program.is_declared("role", role):
            return
        declared = self.program.roles.get(role.text)
        if declared is None:
            self.program.diagnostics.follows()
        if declared is None or declared.kind == "single":
            return
        if declared.kind == "compared":
            message = f"`{role.text}` is compared, and each of its models would have rows of its own"
        else:
            message = f"`{role.text}` is a panel, and its members would each make other rows"
        self.error("E0208", message, role.span, help="declare a role of its own: `role author`")

    def mention(self, question: Request) -> None:
        """Record the names that a request prints."""
        by_settings = {name for expression in question.lowered.expressions for name in names_in(expression)}
        for language in self.program.languages:
            self.mentioned.setdefault(language, set()).update(by_settings)
            for part in (question.system, question.prompt):
                for hole in part.holes.get(language, ()) if part is not None else ():
                    self.mentioned.setdefault(language, set()).update(names_in(hole.typed.expr))


# Context, source and number of rows

MOST_TRIED = 1_000_000
"""The most combinations of rows and cells for which a condition is evaluated; with more, all of them are counted."""


def lower_context(making: GenerationLowering) -> None:
    """Lower `context AXES` of a top-level data set. Its axes become fields."""
    program = making.program
    statement = making.statement.one_of("context")
    names = list(_product(making, statement.syntax("axes"))) if statement is not None else []
    for name in names:
        axis = program.axes.get(name.text)
        declared = program.declared.get("axis", {}).get(name.text)
        if axis is None:
            making.scope[name.text] = Binding((name.text,))
            making.add("", name.text, name.span, None)
            if declared is None:
                program.unknown("axis", name, tuple(program.axes))
        elif axis in making.axes:
            message = f"axis `{name.text}` is in this context twice"
            making.error("E0202", message, name.span, help="remove one")
        else:
            program.index.use(name.span, declared.span if declared is not None else None)
            making.axes.append(axis)
            bind_axis(making, axis, name)
    declared_axes = program.declared.get("axis", {}).keys()
    if {name.text for name in names} - program.axes.keys() - declared_axes:  # any axis may have been meant
        for other in sorted(declared_axes - making.scope.keys()):
            making.scope[other] = Binding((other,))
            making.add("", other, making.statement.head, None)
    for name in names:
        axis = program.axes.get(name.text)
        for other in sorted(axes_in_guards(axis) - set(making.scope)) if axis is not None else ():
            message = f"`{name.text}` is restricted by `{other}`, which is not in this context"
            making.error("E0607", message, name.span, help=f"add it: `context … * {other} * {name.text}`")
    if statement is not None and not making.attempt.failed and count_context(making, statement) == 0:
        program.diagnostics.follows()
        if has_skipped_values(making.program, *(axis.name for axis in making.axes)):
            return
        message = "no combination of these axes is allowed"
        making.error("E0603", message, statement.head, help="look at the `when` conditions of the groups")


def bind_axis(making: GenerationLowering, axis: Axis, name: Name) -> None:
    """Bind an axis as a name and add it as a field."""
    declared = making.program.declared.get("axis", {}).get(axis.name)
    span = declared.span if declared is not None else name.span
    making.scope[axis.name] = Binding((axis.name,), axis_type(axis), span=span)
    making.add("", axis.name, span, axis_type(axis))


def count_context(making: GenerationLowering, where: Statement | None) -> int:
    """Return the number of cells of the context."""
    try:
        return count_cells(making.axes)
    except Unavailable as error:
        if where is not None:
            message = f"a condition on these axes has no value: {error}"
            making.error("E0301", message, where.head, help="look at the `when` conditions of the groups")
        return 1


def _product(making: GenerationLowering, syntax: Syntax) -> Iterator[Name]:
    match syntax:
        case Name():
            yield syntax
        case BinaryExpr(operator="*", left=left, right=right):
            yield from _product(making, left)
            yield from _product(making, right)
        case _:
            making.open = True
            making.error("E0106", "a context is a product of axes", syntax.span, help="write `context level * subject`")


def lower_source(making: GenerationLowering) -> Expr | None:
    """Lower `from SOURCE [as ALIAS]`. The rows' fields are taken over, or the values themselves under the alias.

    Returns None without a source, or if it is wrong.
    """
    statement = making.statement
    node, alias = statement.find("source"), statement.find_name("alias")
    if node is None:
        for what in ("alias", "filter"):
            part = statement.find(what)
            if part is not None:
                message = f"this data set has no source that `{'as' if what == 'alias' else 'where'}` could speak of"
                making.error("E0106", message, part.span, help=f"write `dataset {making.row_name} from SOURCE …`")
        return None
    if isinstance(node, Name):
        loaded = _source_rows(making, node)
        if not _named(making, alias or node):
            return None
        if loaded is None:
            _unknown(making)
            return None
        _carry_rows(making, loaded)
        return Data(dataset=loaded.dataset.name)
    typed = check(making.program, node, making.scope)
    if alias is None:
        help_ = f"write `dataset {making.row_name} from … as x`"
        making.error("E0106", "the values that rows are made from need a name", node.span, help=help_)
    elif not _named(making, alias):
        return None
    if typed.is_error or alias is None:
        _unknown(making)
        return None
    if not is_compile_time(making.program, typed.expr, node.span):
        _unknown(making)
        return None
    of = element_type(typed.type)
    if of is None:
        help_ = "take a list, such as `leaves(tree)` or `distinct(rows.field)`"
        making.error("E0301", f"`{type_notation(typed.type)}` holds nothing to make rows from", node.span, help=help_)
        _unknown(making)
        return None
    _carry_values(making, alias, typed)
    return typed.expr


def _source_rows(making: GenerationLowering, written: Name) -> LoadedDataset | None:
    program = making.program
    if written.text in program.declared.get("tree", {}) and written.text not in program.declared.get("dataset", {}):
        help_ = f"take its leaves: `from leaves({written.text}) as point`"
        making.error("E0301", f"`{written.text}` is a tree, and has no rows", written.span, help=help_)
        return None
    if not program.is_declared("dataset", written):
        for name in program.declared.get("dataset", {}):  # any of them may have been meant
            making.scope.setdefault(name, Binding((name,)))
        return None
    loaded = program.top_level_datasets.get(written.text)
    if loaded is None or not loaded.sound:
        program.diagnostics.follows()
    return loaded


def _named(making: GenerationLowering, alias: Name) -> bool:
    """Bind the name of the source's rows, whose fields are not known yet. Reports a name that is taken."""
    taken = "an axis of this context" if alias.text in making.scope else ""
    if alias.text == making.row_name:
        taken = "this data set itself"
    if taken:
        making.error("E0202", f"`{alias.text}` is {taken}", alias.span, help="give the source another name: `as x`")
        making.open = True
        return False
    making.alias = alias
    making.scope[alias.text] = Binding((alias.text,), span=alias.span)
    return True


def _unknown(making: GenerationLowering) -> None:
    """Mark the fields of the source as unknown."""
    making.open = True
    making.program.diagnostics.follows()


def _carry_rows(making: GenerationLowering, loaded: LoadedDataset) -> None:
    assert making.alias is not None
    alias = making.alias.text
    making.scope[alias] = Binding((alias,), None, row_fields(loaded, alias), span=making.alias.span)
    for name in loaded.poisoned:
        making.add("", name, loaded.spans.get(name, making.alias.span), None, where=making.alias.span)
    for data_field in loaded.dataset.fields:
        span = loaded.spans.get(data_field.name, making.alias.span)
        making.add("", data_field.name, span, data_field.type, making.alias.span)


def _carry_values(making: GenerationLowering, alias: Name, typed: Typed) -> None:
    of = element_type(typed.type)
    assert of is not None
    fields = record_fields((alias.text,), of, alias.span)
    making.scope[alias.text] = Binding((alias.text,), of, fields, span=alias.span)
    if of.kind == "record":
        for name, type_ in of.fields.items():
            making.add("", name, alias.span, type_)
    else:
        making.add("field", alias.text, alias.span, of)


def lower_filter(making: GenerationLowering) -> Typed | None:
    """Return the condition of `where FILTER`; None without one, or if it names the data set itself."""
    node = making.statement.find("filter")
    if node is None or making.statement.find("source") is None:
        return None
    if making.too_early(free_names(node)):
        return None
    typed = check_condition(making.program, node, making.scope)
    is_compile_time(making.program, typed.expr, node.span)
    return typed


def count_rows(making: GenerationLowering, source: Expr | None, where: Expr | None, count: int) -> int:
    """Return an upper bound of the rows: `count` for every cell and every source row for which `where` holds."""
    in_cells = count_context(making, making.statement.one_of("context"))
    if source is None:
        return in_cells * count
    rows = known_rows(making.program, source)
    if rows is None:
        return in_cells * _at_most(making.program, source) * count
    alias = making.alias.text if making.alias is not None else ""
    if where is None or any(part.op in ("data", "tree") for part in subexpressions(where)):
        return in_cells * len(rows) * count
    tied = names_in(where) & {axis.name for axis in making.axes}
    if tied and in_cells * len(rows) > MOST_TRIED:
        return in_cells * len(rows) * count
    several: Iterator[tuple[dict[str, str], Any]]
    several = product(allowed_cells(making.axes), rows) if tied else product([{}], rows)
    held = 0
    for number, (cell, row) in enumerate(several):
        try:
            held += bool(evaluate(where, {**cell, alias: row}))
        except Unavailable as error:
            span = making.statement.syntax("filter").span
            message = f"row {number % len(rows) + 1} of the source: this condition has no value: {error}"
            making.error("E0301", message, span, help="fix the row, or guard the condition")
            return 0
    return held * (1 if tied else in_cells) * count


def is_counted(program: Program, source: Expr | None, where: Expr) -> bool:
    """Return true if the rows for which a condition holds are known before a run."""
    rows = known_rows(program, source) if source is not None else None
    return rows is not None and not any(part.op in ("data", "tree") for part in subexpressions(where))


def known_rows(program: Program, source: Expr) -> list[Any] | None:
    """Return the rows or values of a source; None if they are not known before a run."""
    data = known_data(program, source)
    if data is None:
        return None
    if isinstance(source, Data) and source.field is None:
        return list(data[DATA][source.dataset])
    try:
        return list(evaluate(source, data))
    except Unavailable:
        return None


def _at_most(program: Program, source: Expr) -> int:
    """Return an upper bound of the rows of a source that is known only during a run."""
    if isinstance(source, Data):
        loaded = program.top_level_datasets.get(source.dataset)
        return loaded.count if loaded is not None else 0
    return sum(
        program.top_level_datasets[part.dataset].count for part in subexpressions(source) if isinstance(part, Data)
    )


# Starts and calls of walks

SHOWN = 3


def lower_start(making: GenerationLowering, statement: Statement, tree: Name) -> tuple[Expr, dict[str, str]] | None:
    """Return the expression of `below START`, and for the values of a choice the top branches they mean, by name or
    label.

    Returns None without one, or if it is wrong.
    """
    node = statement.find("start")
    if node is None:
        return None
    typed = check(making.program, node, making.row())
    if typed.is_error:
        return None
    type_ = typed.type
    if type_.kind not in ("text", "path", "choice"):
        help_ = "take a text that is a path of the tree, or a choice of its branches"
        making.error("E0301", f"`{type_notation(type_)}` is no place in a tree", node.span, help=help_)
        return None
    branches = branches_of(making.program, tree.text)
    if branches is None:  # the tree was reported
        return typed.expr, {}
    if isinstance(typed.expr, Literal_):
        return _written(making, node.span, tree, typed.expr, branches)
    if type_.kind != "choice":
        return typed.expr, {}
    starts = _meant(making, type_, branches)
    missing = [value for value in type_.values if value not in starts]
    if missing:
        named = ", ".join(f"`{branch}`" for branch in missing[:SHOWN])
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        tops = ", ".join(f"`{branch}`" for branch in [*branches][:SHOWN])
        help_ = f"at its top there is {tops}{' …' if len(branches) > SHOWN else ''}: call them alike"
        making.error("E0398", f"`{tree.text}` has no branch for {named}{more}", node.span, help=help_)
        return None
    return typed.expr, starts


def _written(
    making: GenerationLowering, span: Span, tree: Name, path: Literal_, branches: Mapping[str, Any]
) -> tuple[Expr, dict[str, str]] | None:
    """Return a path written in the spec. Reports one that does not exist and returns None."""
    try:
        ParsedTree(branches).below(str(path.value))
    except KeyError:
        help_ = suggest(str(path.value), _paths(branches), "write the names from the top, with ` / ` between them")
        making.error("E0398", f"`{tree.text}` has no branch `{path.value}`", span, help=help_)
        return None
    return path, {str(path.value): str(path.value)}


def _paths(branches: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, below in branches.items():
        yield above + name
        yield from _paths(below, f"{above}{name}{BETWEEN}")


def _meant(making: GenerationLowering, type_: Type, branches: Mapping[str, Any]) -> dict[str, str]:
    """Return the top branches that the values of a choice mean."""
    assert type_.kind == "choice"
    axis = making.program.axes.get(type_.axis) if type_.axis is not None else None
    meanings: dict[str, str] = {}
    for value in type_.values:
        for text in (value, *_labels(axis, value)):
            if text in branches:
                meanings[value] = text
                break
    return meanings


def _labels(axis: Axis | None, value: str) -> tuple[str, ...]:
    if axis is None:
        return ()
    return next((tuple(axis_value.labels.values()) for axis_value in axis.values if axis_value.name == value), ())


@dataclass(frozen=True)
class WalkCalls:
    """The calls of a walk for all rows, each at its first attempt, and the fewest and most for one row.

    At least, nothing is chosen at the start; the expected number chooses one branch on every level; at most, all are
    chosen.
    """

    least: int
    calls: int
    most: int
    fewest: int
    widest: int


def walk_calls(program: Program, made: GeneratedDataset, step: Walk) -> WalkCalls:
    """Return the number of calls of a walk, one for every inner node it visits.

    If the start of a row is not known before a run, it counts as the costliest possible start.
    """
    tree, rows = program.trees[step.tree], made.rows
    if step.below is None:
        return WalkCalls(rows, rows * tree.depth, rows * tree.inner, 1, tree.inner)
    branches = branches_of(program, step.tree)
    if branches is None:
        return WalkCalls(0, rows * tree.depth, rows * tree.inner, 0, tree.inner)
    starts = _starts(program, made, step)
    if starts is None:
        tops = [_below(branches, path) for path in sorted(set(step.starts.values()))] or [ParsedTree(branches)]
        fewest = min(map(_fewest, tops)) if step.starts else 0
        depth, widest = max(top.depth for top in tops), max(map(_inner, tops))
        return WalkCalls(rows * fewest, rows * depth, rows * widest, fewest, widest)
    weight = rows // starts.total()
    nodes = [(_below(branches, path), count * weight) for path, count in starts.items()]
    return WalkCalls(
        sum(_fewest(node) * count for node, count in nodes),
        sum(node.depth * count for node, count in nodes),
        sum(_inner(node) * count for node, count in nodes),
        min(_fewest(node) for node, _ in nodes),
        max(_inner(node) for node, _ in nodes),
    )


def _starts(program: Program, made: GeneratedDataset, step: Walk) -> Counter[str] | None:
    """Return how many rows start at each node; None if this is not known for every row before a run."""
    rows = known_rows(program, made.source) if made.source is not None else None
    conditions = [expr for expr in (step.below, made.where) if expr is not None]
    if not rows or any(part.op in ("data", "tree") for expr in conditions for part in subexpressions(expr)):
        return None
    counts: Counter[str] = Counter()
    own = made.name.rpartition(".")[2]
    assert step.below is not None
    try:
        for row in rows:
            names = {own: row, **({made.alias: row} if made.alias is not None else {})}
            if made.where is None or evaluate(made.where, names):
                value = evaluate(step.below, names)
                counts[step.starts.get(value, value)] += 1
    except (Unavailable, KeyError):  # such as a field that exists only once the row is generated
        return None
    return counts if counts and made.rows % counts.total() == 0 else None


def _below(branches: Mapping[str, Any], path: str) -> ParsedTree:
    """Return the part of a tree below a node; an empty tree if there is no such node."""
    tree = ParsedTree(branches)
    try:
        return tree.below(path)
    except KeyError:
        return ParsedTree({})


def _fewest(tree: ParsedTree) -> int:
    return 1 if tree.branches else 0


def _inner(tree: ParsedTree) -> int:
    return tree.inner if tree.branches else 0
