"""Lowering of a scenario's cases: its axes with their allowed combinations, its arms, and its rows.

Every row must lie in an allowed cell of the context.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Attempt, Label
from tripos_compiler.language.contexts import allowed_cells as each_cell, axes_in_guards, broken_guard, count_cells
from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import names_in, subexpressions
from tripos_compiler.library.types import type_notation
from tripos_compiler.lowering.datasets import known_data
from tripos_compiler.lowering.generated_datasets import lower_scenario_dataset, may_have_fewer_rows
from tripos_compiler.plan import Arm, Axis, ChoiceType, Expr, Literal_, Rows
from tripos_compiler.resolve.program import (
    KINDS,
    Binding,
    LoadedDataset,
    LoadedRow,
    Program,
    Typed,
    expr_of,
    has_skipped_part,
    has_skipped_values,
    no_rows_of,
    product_of,
    row_binding,
)
from tripos_compiler.resolve.python_functions import is_compile_time
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Name, Syntax
from tripos_compiler.typecheck.expressions import check_condition
from tripos_compiler.typecheck.types import axis_type

# Context and arms


@dataclass
class ScenarioCases:
    """The cases of a scenario, filled in by `lower_context`, `lower_arms_of` and `lower_rows`.

    If a part is wrong, `scope` still binds every name that may have been meant, if necessary without a type. So the
    steps can be checked, and the mistake is not reported again.
    """

    attempt: Attempt
    """The attempt to lower them. If it failed, the counts are meaningless."""
    axes: list[Axis]
    scope: dict[str, Binding]
    cells: int = 0
    """The number of allowed cells of the context."""
    arms: list[Arm] = field(default_factory=list)
    alias: str | None = None
    """The name of a row in expressions."""
    loaded: LoadedDataset | None = None
    """The data set of the rows; None if the cases are the cells."""
    rows: Rows | None = None
    count: int = 0
    """The number of cases without regard to arms: of rows, or of cells if there are no rows."""
    known_rows: list[dict[str, Any]] | None = None
    """For every case, the values of its axes and of its row, if they are known at compile time."""
    certain: bool = True
    """True if `count` is exact, false if it is an upper bound."""
    from_file: bool = False
    """True if the rows are read from files, and not generated."""


def lower_context(program: Program, statement: Statement) -> ScenarioCases:
    """Return the cases of a scenario with its axes, in the order of its context. The language is always one of them."""
    attempt, context = program.diagnostics.attempt(), statement.one_of("context")
    names = product_of(program, context.syntax("axes")) if context is not None else []
    if context is None and has_skipped_part(program, statement):
        names = None  # the skipped part may be a context with any axes
        program.diagnostics.follows()
    cases = ScenarioCases(attempt, [], {})
    unknown = False
    for name in names or ():
        axis = program.axes.get(name.text)
        declared = program.declared.get("axis", {}).get(name.text)
        program.index.use(name.span, declared.span if declared is not None else None)
        if axis is None:
            program.diagnostics.follows()
            cases.scope[name.text] = Binding((name.text,))
            if name.text not in program.declared.get("axis", {}):
                unknown = True
                program.unknown("axis", name, tuple(program.axes))
        elif axis in cases.axes:
            message = f"axis `{name.text}` is in this context twice"
            program.diagnostics.error("E0202", message, name.span, help="remove one")
        else:
            cases.axes.append(axis)
    language = program.axes["language"]
    if language not in cases.axes and names is not None:
        if len(program.languages) > 1 and not unknown:
            span = context.head if context is not None else statement.head
            help_ = "write `context language * …`"
            message = "the benchmark has several languages, and this context does not say which"
            program.diagnostics.error("E0401", message, span, help=help_)
        cases.axes.insert(0, language)
    spans = {name: declared.span for name, declared in program.declared.get("axis", {}).items()}
    cases.scope |= {axis.name: Binding((axis.name,), axis_type(axis), span=spans.get(axis.name)) for axis in cases.axes}
    if unknown or names is None:  # any declared axis may have been meant
        cases.scope = {name: Binding((name,)) for name in program.declared.get("axis", {})} | cases.scope
    for name in names or ():
        axis = program.axes.get(name.text)
        for other in sorted(axes_in_guards(axis) - set(cases.scope)) if axis is not None else ():
            message = f"`{name.text}` is restricted by `{other}`, which is not in this context"
            help_ = f"add it: `context … * {other} * {name.text}`"
            program.diagnostics.error("E0607", message, name.span, help=help_)
    _count_cells(program, statement, cases)
    return cases


def _count_cells(program: Program, statement: Statement, cases: ScenarioCases) -> None:
    """Count the cells that the guards of the axes allow, and report a context without any."""
    context = statement.one_of("context")
    try:
        cases.cells = 0 if cases.attempt.failed else count_cells(cases.axes)
    except Unavailable as error:
        span = (context or statement).head
        help_ = "look at the `when` conditions of the groups"
        message = f"a condition on these axes has no value: {error}"
        program.diagnostics.error("E0301", message, span, help=help_)
    if not cases.attempt.failed and cases.cells == 0 and context is not None:
        help_ = "look at the `when` conditions of the groups"
        restrictions = [
            (axis.name, " and ".join(f"`{name}`" for name in sorted(axes_in_guards(axis)))) for axis in cases.axes
        ]
        note = ", ".join(f"`{name}` by {others}" for name, others in restrictions if others)
        message, notes = "no combination of these axes is allowed", [f"restricted are {note}"]
        program.diagnostics.follows()
        if not has_skipped_values(program, *(axis.name for axis in cases.axes)):
            program.diagnostics.error("E0603", message, context.head, help=help_, notes=notes)


def lower_arms_of(program: Program, statement: Statement, cases: ScenarioCases) -> ScenarioCases:
    """Add the arms of a scenario to its cases."""
    arms = statement.one_of("arms")
    for name in (product_of(program, arms.syntax("arms"), "arms") or []) if arms is not None else []:
        if not program.is_declared("arm", name):
            for text in (name.text, *program.declared.get("arm", {})):
                cases.scope.setdefault(text, Binding((text,)))
            continue
        arm = program.arms.get(name.text)
        if arm is None:
            program.diagnostics.follows()
            cases.scope.setdefault(name.text, Binding((name.text,)))
            continue
        if arm in cases.arms:
            message = f"arm `{name.text}` is in this scenario twice"
            program.diagnostics.error("E0202", message, name.span, help="remove one")
            continue
        cases.arms.append(arm)
        type_ = ChoiceType(values=tuple(value.name for value in arm.values), axis=arm.name)
        span = program.declared["arm"][arm.name].span
        cases.scope[arm.name] = Binding((arm.name,), type_, span=span)
    return cases


# Rows

MOST_CELLS = 100_000
"""Largest number of cells of a context, or of rows generated for them, whose values are listed at compile time."""


def lower_rows(program: Program, statement: Statement, cases: ScenarioCases) -> ScenarioCases:
    """Add the rows of a scenario to its cases: those of the data set that `over` names, or of the only data set inside
    the scenario. Without rows, the cases are the cells."""
    over = statement.one_of("over")
    statements = [inner for inner in statement.body if inner.construct in KINDS["dataset"]]
    local = {inner.name().text: inner for inner in statements}
    loaded: LoadedDataset | None = None
    if over is not None:
        name = over.name("dataset")
        alias = over.find_name("alias") or name
        if name.text in local:
            loaded = _scenario_dataset(program, statement, local[name.text], cases)
            program.index.use(name.span, local[name.text].name().span)
        elif name.text in program.declared.get("dataset", {}):
            loaded = program.top_level_datasets.get(name.text)
            program.index.use(name.span, program.declared["dataset"][name.text].span)
        else:
            program.unknown("dataset", name, tuple(local))
            for text in (*local, *program.declared.get("dataset", {})):
                cases.scope.setdefault(text, Binding((text,)))
    elif local:
        alias = next(iter(local.values())).name()
        loaded = _scenario_dataset(program, statement, local[alias.text], cases)
    else:
        cases.count = cases.cells
        if not cases.attempt.failed and cases.cells <= MOST_CELLS:
            cases.known_rows = [dict(cell) for cell in each_cell(cases.axes)]
        return cases
    used = alias if over is None else over.name("dataset")
    declared = used.text in local or used.text in program.declared.get("dataset", {})
    for extra in statements if declared else ():
        if extra.name().text != used.text:
            label = Label(used.span, "it runs over this")
            message = "a scenario runs over one data set, and this is another"
            help_ = "say which: `over NAME`; move the other to the top of the file if it is used elsewhere"
            program.diagnostics.error("E0202", message, extra.name().span, label, help=help_)
    if alias.text in cases.scope:
        message = f"`{alias.text}` is an axis or arm of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give the rows another name: `as x`")
        return cases
    cases.alias = alias.text
    cases.scope[alias.text] = Binding((alias.text,), span=alias.span)
    if loaded is None or not loaded.sound:
        program.diagnostics.follows()
    if loaded is None:
        return cases
    cases.loaded = loaded
    cases.from_file = loaded.rows_known
    cases.scope[alias.text] = row_binding(loaded, alias.text, alias.span)
    _count_rows(program, statement, cases, loaded, alias, over)
    return cases


def _scenario_dataset(
    program: Program, scenario: Statement, statement: Statement, cases: ScenarioCases
) -> LoadedDataset | None:
    """Return a data set that is declared inside a scenario. If a role writes its rows, it does so for every cell of the
    context."""
    scope = {name: binding for name, binding in cases.scope.items() if name not in program.arms}
    axes = [] if cases.attempt.failed else cases.axes
    return lower_scenario_dataset(program, statement, scenario.name().text, axes, scope)


def _count_rows(
    program: Program,
    scenario: Statement,
    cases: ScenarioCases,
    loaded: LoadedDataset,
    alias: Name,
    over: Statement | None,
) -> None:
    """Count the rows for which the condition of `over` holds, and check that each of them lies in an allowed cell."""
    condition = over.find("filter") if over is not None else None
    scope = {name: binding for name, binding in cases.scope.items() if name not in {arm.name for arm in cases.arms}}
    where = None if condition is None else check_condition(program, condition, scope)
    if where is not None and condition is not None:
        is_compile_time(program, where.expr, condition.span)
        where = None if where.expr == Literal_(value=True) else where  # as a row of `for each` says that all count
    _check_axis_fields(program, scenario, cases, loaded)
    if cases.attempt.failed:
        return
    cases.rows = Rows(dataset=loaded.dataset.name, alias=alias.text, where=expr_of(where))
    if not loaded.rows_known:
        _count_generated_rows(program, cases, loaded, expr_of(where))
    elif not _count_file_rows(program, scenario, cases, loaded, alias, where, condition):
        return
    if cases.count == 0:
        span = (over or scenario).head
        help_ = "look at `where`" if where is not None and loaded.rows else "its data has no row"
        fault = no_rows_of([loaded])
        program.diagnostics.error("E0603", "this scenario runs over no row", span, help=help_, fault=fault)


def _condition_data(program: Program, where: Expr, condition: Syntax) -> dict[str, Any] | None:
    """Return the data sets and trees that a condition reads, as names for `evaluate`.

    If a data set has rows that are known only during a run, report it and return None.
    """

    def report(name: str) -> None:
        message = f"this is decided before a run, and the rows of `{name}` are only known in one"
        help_ = "choose the rows where they are made: `dataset kept from … where …`, and run over those"
        program.diagnostics.error("E0314", message, condition.span, help=help_)

    return known_data(program, where, report)


def _count_file_rows(
    program: Program,
    scenario: Statement,
    cases: ScenarioCases,
    loaded: LoadedDataset,
    alias: Name,
    where: Typed | None,
    condition: Syntax | None,
) -> bool:
    """Count the rows of a data set that is read from files. Return false if the condition has no value for one of them,
    which is reported."""
    cases.known_rows = []
    data = _condition_data(program, where.expr, condition) if where is not None and condition is not None else {}
    if data is None:
        return False
    for row in loaded.rows:
        cell = {axis.name: row.values.get(axis.name, axis.values[0].name) for axis in cases.axes}
        try:
            if where is not None and not evaluate(where.expr, {**data, **cell, alias.text: row.values}):
                continue
        except Unavailable as error:
            message = f"row {row.shown} of {row.path}: this condition has no value: {error}"
            span = (condition or scenario).span
            program.diagnostics.error("E0301", message, span, help="fix the row, or guard the condition")
            return False
        cases.count += 1
        cases.known_rows.append({**cell, alias.text: row.values})
        restricted_axis = broken_guard(cell, cases.axes)
        if restricted_axis is not None and not cases.attempt.failed:  # only the first such row is reported
            _report_disallowed_cell(program, loaded, row, restricted_axis, cell)
    return True


def _check_axis_fields(program: Program, scenario: Statement, cases: ScenarioCases, loaded: LoadedDataset) -> None:
    """Check that the rows have a field for each axis of the context, of the type of the axis.

    Rows that are generated for a cell of the context need none, and the language needs none if there is only one.
    """
    types = {data_field.name: data_field.type for data_field in loaded.dataset.fields}
    names = set(types) | set(loaded.poisoned)
    for axis in cases.axes:
        type_ = types.get(axis.name)
        if type_ is not None and not (type_.kind == "choice" and type_.axis == axis.name):
            message = f"field `{axis.name}` is `{type_notation(type_)}`, and the context needs the axis of that name"
            help_ = f"write `{axis.name}` alone, with `from` where the column has another name"
            program.diagnostics.error("E0301", message, loaded.spans[axis.name], help=help_)
        is_generated_here = loaded.generated is not None and loaded.generated.scenario is not None
        if axis.name not in names and not is_generated_here and not (axis.name == "language" and len(axis.values) == 1):
            help_ = f"add `{axis.name}` to its fields, with `from` where the column has another name"
            message = f"the rows do not say their `{axis.name}`"
            statement = scenario.one_of("context")
            span = (statement or scenario).head
            program.diagnostics.error("E0308", message, span, help=help_, unknown=axis.name)


def _count_generated_rows(program: Program, cases: ScenarioCases, loaded: LoadedDataset, where: Expr | None) -> None:
    """Count the rows of a generated data set.

    If they are generated for each cell of the context, their cells are known, and so is the value of a condition that
    reads only axes. Under any other condition, the count is an upper bound.
    """
    dataset = loaded.generated
    assert dataset is not None, "a sound data set whose rows are unknown is generated"
    axes = {axis.name for axis in cases.axes}
    cases.count = loaded.count
    cases.certain = where is None and not may_have_fewer_rows(program, dataset)
    is_by_cell = dataset.scenario is not None and dataset.source is None
    if not is_by_cell or dataset.rows > MOST_CELLS or (where is not None and not names_in(where) <= axes):
        return
    if where is not None and any(part.op in ("data", "tree") for part in subexpressions(where)):
        return
    cells = [dict(cell) for cell in each_cell(cases.axes) for _ in range(dataset.count)]
    try:
        cases.known_rows = [cell for cell in cells if where is None or evaluate(where, cell)]
    except Unavailable:
        return
    cases.count = len(cases.known_rows)
    cases.certain = not may_have_fewer_rows(program, dataset)


def _report_disallowed_cell(
    program: Program, loaded: LoadedDataset, row: LoadedRow, axis: Axis, cell: dict[str, str]
) -> None:
    span: Span = loaded.spans[axis.name]
    others = ", ".join(f"{name} {cell[name]}" for name in sorted(axes_in_guards(axis)))
    message = f"row {row.shown} of {row.path}: {axis.name} {cell[axis.name]} is not allowed with {others}"
    program.diagnostics.error("E0605", message, span, help="fix the row, or the `when` of the axis's group")
