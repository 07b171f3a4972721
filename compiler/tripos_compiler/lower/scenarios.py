"""Lowers scenarios: their context and rows, and the steps in order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.expressions import Binding, Elaborator
from tripos_compiler.lower.datasets import LoadedDataset, LoadedRow, lower_dataset
from tripos_compiler.lower.steps import Steps
from tripos_compiler.plan import Axis, Rows, Scenario
from tripos_compiler.program import Program
from tripos_compiler.semantics.contexts import broken_guard, count_cells, guards_of
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import BinaryExpr, Name, Syntax
from tripos_compiler.types import axis_type, shown

"""What evaluating a well-typed expression may raise: it divides by zero, or a pattern from the data is none."""


@dataclass
class Cases:
    """What a scenario runs over. Where it is not `sound`, something about it was reported; its scope still binds every
    name, those without a known type too, so that the steps are checked and nothing is reported twice."""

    axes: list[Axis]
    scope: dict[str, Binding]
    cells: int = 0
    rows: Rows | None = None
    count: int = 0
    from_file: bool = False
    sound: bool = True


def lower_scenarios(program: Program, datasets: dict[str, LoadedDataset]) -> None:
    """Every `scenario`."""
    if not program.of("scenario") and program.of("benchmark"):
        where = program.of("benchmark")[0].head
        help_ = "write `scenario NAME { … }`"
        message = "this benchmark has no scenario"
        program.diagnostics.error("E0206", message, where, help=help_, lacking=program.lost)
    for statement in program.of("scenario"):
        scenario = _scenario(program, statement, datasets)
        if scenario is not None and scenario.name not in program.scenarios:
            program.scenarios[scenario.name] = scenario


def _scenario(program: Program, statement: Statement, datasets: dict[str, LoadedDataset]) -> Scenario | None:
    name = statement.name().text
    title = name.replace("_", " ")
    if statement.labels():
        labels = program.labels(statement, f"scenario `{name}`")
        title = labels[program.languages[0]] if labels else title
    cases = _cases(program, statement, _context(program, statement), datasets)
    steps = Steps(program, name, cases.scope)
    for inner in statement.body:
        steps.add(inner)
    if not any(inner.construct in ("score", "grade") for inner in statement.body):
        help_ = "add `score NAME = …` or `score SCORER(…)`"
        lacking = statement.block.span if statement.block is not None else None
        message = f"nothing scores scenario `{name}`"
        program.diagnostics.error("E0601", message, statement.head, help=help_, lacking=lacking)
        return None
    if not cases.sound or not steps.good:
        return None
    _mentions(program, statement, cases, steps)
    return Scenario(
        name=name,
        title=title,
        axes=tuple(axis.name for axis in cases.axes),
        cells=cases.cells,
        rows=cases.rows,
        row_count=cases.count,
        steps=tuple(steps.lowered),
    )


def _context(program: Program, statement: Statement) -> Cases:
    """The axes of a scenario in order; a benchmark of one language has it in every context."""
    written = statement.one_of("context")
    names = _product(program, written.syntax("axes")) if written is not None else []
    cases = Cases([], {}, sound=names is not None)
    unknown = False
    for name in names or ():
        axis = program.axes.get(name.text)
        if axis is None:
            cases.sound = False
            cases.scope[name.text] = Binding((name.text,))
            if name.text not in program.declared.get("axis", {}):
                unknown = True
                program.unknown("axis", name, tuple(program.axes))
        elif axis in cases.axes:
            message = f"axis `{name.text}` is in this context twice"
            program.diagnostics.error("E0202", message, name.span, help="remove one")
            cases.sound = False
        else:
            cases.axes.append(axis)
    language = program.axes["language"]
    if language not in cases.axes and names is not None:
        if len(program.languages) > 1 and not unknown:
            where = written.head if written is not None else statement.head
            help_ = "write `context language * …`"
            message = "the benchmark has several languages, and this context does not say which"
            program.diagnostics.error("E0401", message, where, help=help_)
            cases.sound = False
        cases.axes.insert(0, language)
    cases.scope |= {axis.name: Binding((axis.name,), axis_type(axis)) for axis in cases.axes}
    if unknown or names is None:  # any axis may have been meant
        cases.scope = {name: Binding((name,)) for name in program.declared.get("axis", {})} | cases.scope
    for name in names or ():
        for other in sorted(guards_of(program.axes[name.text]) - set(cases.scope)) if name.text in program.axes else ():
            message = f"`{name.text}` is restricted by `{other}`, which is not in this context"
            help_ = f"add it: `context … * {other} * {name.text}`"
            program.diagnostics.error("E0607", message, name.span, help=help_)
            cases.sound = False
    try:
        cases.cells = count_cells(cases.axes) if cases.sound else 0
    except Unavailable as error:
        where = (written or statement).head
        help_ = "look at the `when` conditions of the groups"
        message = f"a condition on these axes has no value: {error}"
        program.diagnostics.error("E0301", message, where, help=help_)
        cases.sound = False
    if cases.sound and cases.cells == 0 and written is not None:
        help_ = "look at the `when` conditions of the groups"
        tied = [(axis.name, " and ".join(f"`{name}`" for name in sorted(guards_of(axis)))) for axis in cases.axes]
        note = ", ".join(f"`{name}` by {others}" for name, others in tied if others)
        message = "no combination of these axes is allowed"
        program.diagnostics.error("E0603", message, written.head, help=help_, notes=[f"restricted are {note}"])
        cases.sound = False
    return cases


def _product(program: Program, syntax: Syntax) -> list[Name] | None:
    match syntax:
        case Name():
            return [syntax]
        case BinaryExpr(operator="*", left=left, right=right):
            first, second = _product(program, left), _product(program, right)
            return None if first is None or second is None else [*first, *second]
    help_ = "write `context language * stage * subject`"
    program.diagnostics.error("E0106", "a context is a product of axes", syntax.span, help=help_)
    return None


def _cases(program: Program, statement: Statement, cases: Cases, datasets: dict[str, LoadedDataset]) -> Cases:
    """Adds the rows to a context."""
    over = statement.one_of("over")
    local = {inner.name().text: inner for inner in statement.of("dataset")}
    loaded: LoadedDataset | None = None
    if over is not None:
        name = over.name("dataset")
        alias = over.find_name("alias") or name
        if name.text in local:
            loaded = _local(program, statement, local[name.text])
        elif name.text in program.declared.get("dataset", {}):
            loaded = datasets.get(name.text)
        else:
            program.unknown("dataset", name, tuple(local))
            for meant in (*local, *program.declared.get("dataset", {})):
                cases.scope.setdefault(meant, Binding((meant,)))
    elif local:
        alias = next(iter(local.values())).name()
        for extra in statement.of("dataset")[1:]:
            label = Label(alias.span, "the first")
            message = "a scenario runs over one data set, and this is its second"
            help_ = "say which: `over NAME`; move the other to the top of the file if it is shared"
            program.diagnostics.error("E0202", message, extra.name().span, label, help=help_)
            cases.sound = False
        loaded = _local(program, statement, local[alias.text])
    else:
        cases.count = cases.cells
        return cases
    if alias.text in cases.scope:
        message = f"`{alias.text}` is an axis of this context already"
        program.diagnostics.error("E0202", message, alias.span, help="give the rows another name: `as x`")
        cases.sound = False
        return cases
    cases.scope[alias.text] = Binding((alias.text,))
    if loaded is None:
        cases.sound = False
        return cases
    cases.from_file = True
    fields = {
        f.name: Binding((alias.text, f.name), f.type, (f"{alias.text}.{f.name}",) if f.secret else ())
        for f in loaded.dataset.fields
    }
    fields |= {name: Binding((alias.text, name)) for name in loaded.poisoned}
    cases.scope[alias.text] = Binding((alias.text,), None, (), fields)
    for axis in cases.axes:  # what a row says of an axis is as secret as the field that says it
        if axis.name in fields and fields[axis.name].secret:
            cases.scope[axis.name] = replace(cases.scope[axis.name], secret=fields[axis.name].secret)
    _keep(program, statement, cases, loaded, alias, over)
    return cases


def _local(program: Program, scenario: Statement, statement: Statement) -> LoadedDataset:
    name = f"{scenario.name().text}.{statement.name().text}"
    loaded = lower_dataset(program, statement, name)
    program.datasets[name] = loaded.dataset
    return loaded


def _keep(
    program: Program, scenario: Statement, cases: Cases, loaded: LoadedDataset, alias: Name, over: Statement | None
) -> None:
    """Counts the rows that are run, and checks that each lies in an allowed cell."""
    condition = over.find("cond") if over is not None else None
    where = Elaborator(program, cases.scope).condition(condition) if condition is not None else None
    cases.sound = cases.sound and loaded.sound and (where is not None or condition is None)
    types = {f.name: f.type for f in loaded.dataset.fields}
    names = set(types) | set(loaded.poisoned)
    for axis in cases.axes:
        said = types.get(axis.name)
        if said is not None and not (said.kind == "choice" and said.axis == axis.name):
            message = f"field `{axis.name}` is `{shown(said)}`, and the context needs the axis of that name"
            help_ = f"write `{axis.name}` alone, with `from` where the column has another name"
            program.diagnostics.error("E0301", message, loaded.spans[axis.name], help=help_)
            cases.sound = False
        if axis.name not in names and not (axis.name == "language" and len(axis.values) == 1):
            help_ = f"add `{axis.name}` to its fields, with `from` where the column has another name"
            message = f"the rows do not say their `{axis.name}`"
            written = scenario.one_of("context")
            where_ = (written or scenario).head
            program.diagnostics.error("E0308", message, where_, help=help_, unknown=axis.name)
            cases.sound = False
    if not cases.sound:
        return
    for row in loaded.rows:
        cell = {axis.name: row.values.get(axis.name, axis.values[0].name) for axis in cases.axes}
        try:
            if where is not None and not evaluate(where.expr, {**cell, alias.text: row.values}):
                continue
        except Unavailable as error:
            message = f"row {row.number} of {row.path}: this condition has no value: {error}"
            span = (condition or scenario).span
            program.diagnostics.error("E0301", message, span, help="mend the row, or guard the condition")
            cases.sound = False
            return
        cases.count += 1
        broken = broken_guard(cell, cases.axes)
        if broken is not None and cases.sound:
            _outside(program, loaded, row, broken, cell)
            cases.sound = False
    if cases.count == 0:
        span = (over or scenario).head
        help_ = "look at `where`" if where is not None else "the file is empty"
        program.diagnostics.error("E0603", "this scenario runs over no row", span, help=help_)
        cases.sound = False
    cases.rows = Rows(dataset=loaded.dataset.name, alias=alias.text, where=where.expr if where else None)


def _outside(program: Program, loaded: LoadedDataset, row: LoadedRow, axis: Axis, cell: dict[str, str]) -> None:
    span: Span = loaded.spans[axis.name]
    others = ", ".join(f"{name} {cell[name]}" for name in sorted(guards_of(axis)))
    message = f"row {row.number} of {row.path}: {axis.name} {cell[axis.name]} is not allowed with {others}"
    program.diagnostics.error("E0605", message, span, help="mend the row, or the `when` of the axis's group")


def _mentions(program: Program, statement: Statement, cases: Cases, steps: Steps) -> None:
    """Every axis of the context should be said to somebody; rows of a file may say it in their own words."""
    written = statement.one_of("context")
    if written is None:
        return
    for axis in cases.axes:
        if axis.name == "language":
            continue
        silent = [language for language in program.languages if axis.name not in steps.mentioned.get(language, set())]
        if not silent:
            continue
        where = "" if len(silent) == len(program.languages) else f" in {' and '.join(silent)}"
        message = f"no prompt mentions `{axis.name}`{where}"
        help_ = f"put `{{{{ {axis.name} }}}}` in a prompt, or take it out of the context"
        report = program.diagnostics.warning if cases.from_file else program.diagnostics.error
        report("E0401", message, written.head, help=help_)
