"""Lowers scenarios: their context and rows, and the steps in order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.expressions import Binding, Elaborator, record_fields
from tripos_compiler.lower import calls
from tripos_compiler.lower.asks import lower_ask
from tripos_compiler.lower.datasets import LoadedDataset, LoadedRow, lower_scenario_dataset
from tripos_compiler.lower.grades import lower_compare, lower_grade, lower_score
from tripos_compiler.lower.measures import collect_columns
from tripos_compiler.lower.pools import pools
from tripos_compiler.lower.retrieval import lower_retrieve
from tripos_compiler.lower.steps import Steps
from tripos_compiler.lower.talks import lower_converse
from tripos_compiler.lower.treatments import template_exprs, treatments
from tripos_compiler.lower.unused import unused
from tripos_compiler.memory import Memory, apart, difference
from tripos_compiler.plan import Arm, Ask, Axis, ChoiceType, Column, Derived, Made, Rows, Scenario, Verify, Walk
from tripos_compiler.program import KINDS, Program
from tripos_compiler.scope import Way
from tripos_compiler.semantics.contexts import broken_guard, count_cells, guards_of
from tripos_compiler.semantics.contexts import cells as each_cell
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.names import names_in
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import BinaryExpr, Name, Syntax
from tripos_compiler.types import axis_type, shown

LOWERED = {
    "ask": lower_ask,
    "converse": lower_converse,
    "retrieve": lower_retrieve,
    "let": Steps.let,
    "score": lower_score,
    "grade": lambda steps, statement: lower_grade(steps, statement, None),
    "compare": lower_compare,
}
"""The steps of a scenario, by construct."""
MOST_CELLS = 100_000
"""Contexts of up to so many cells are listed, to count in which of them a condition holds."""
APART = frozenset({"scenario", "measure", "expect", "subset", "export", "use"})
"""What no other scenario looks at."""
SCORING = frozenset({"score", "grade", "compare"})


@dataclass
class Cases:
    """What a scenario runs over. Where it is not `sound`, something about it was reported; its scope still binds every
    name, those without a known type too, so that the steps are checked and nothing is reported twice."""

    axes: list[Axis]
    scope: dict[str, Binding]
    cells: int = 0
    arms: list[Arm] = field(default_factory=list)
    alias: str | None = None
    rows: Rows | None = None
    count: int = 0
    kept: list[dict[str, Any]] | None = None
    """The names of every case, where the compiler has them."""
    certain: bool = True
    """Whether there will be so many rows, and not fewer."""
    from_file: bool = False
    sound: bool = True


def lower_scenarios(program: Program, memory: Memory | None = None) -> None:
    """Every `scenario`; what a memory knows is not lowered again."""
    if not program.of("scenario") and program.of("benchmark"):
        where = program.of("benchmark")[0].head
        help_ = "write `scenario NAME { … }`"
        message = "this benchmark has no scenario"
        program.diagnostics.error("E0206", message, where, help=help_, lacking=program.lost)
    if memory is not None:
        memory.enter(_around(program))
    for statement in program.of("scenario"):
        pair = memory.scenarios.get(id(statement)) if memory is not None else None
        if pair is None:
            own = apart(program)
            pair = statement, difference(program, own, _scenario(own, statement))
        if memory is not None:
            memory.scenarios[id(statement)] = pair
        lowered = pair[1]
        lowered.add_to(program)
        if lowered.scenario is not None and lowered.scenario.name not in program.scenarios:
            program.scenarios[lowered.scenario.name] = lowered.scenario


def _around(program: Program) -> tuple[object, ...]:
    """All that a scenario may look at beside its own statement: what is declared outside scenarios, the names of the
    scenarios, the data sets that they run over, and the data."""
    outside = [statement for statement in program.statements if statement.construct not in APART]
    names = frozenset(program.declared.get("scenario", {}))
    over = frozenset(
        inner.name("dataset").text for statement in program.of("scenario") for inner in statement.of("over")
    )
    lost = frozenset(program.diagnostics.lost_names)
    return (*outside, names, over, lost, str(program.diagnostics.lost_files), program.data)


def _scenario(program: Program, statement: Statement) -> Scenario | None:
    name = statement.name().text
    title = name.replace("_", " ")
    if statement.labels():
        labels = program.labels(statement, f"scenario `{name}`")
        title = labels[program.languages[0]] if labels else title
    cases = _cases(program, statement, _arms(program, statement, _context(program, statement)))
    steps = Steps(program, name, cases.scope, cases.alias)
    for inner in statement.body:
        if inner.construct in LOWERED:
            done = LOWERED[inner.construct](steps, inner)
            steps.good = steps.good and done
    measures = statement.of("measure")
    for measure in measures:
        steps.good = collect_columns(program, steps, measure) and steps.good
    scored = any(inner.construct in SCORING for inner in statement.body)
    if not scored and not any(isinstance(step, Column) for step in steps.lowered) and steps.good:
        help_ = "add `score NAME = …` or `score SCORER(…)`"
        lacking = statement.block.span if statement.block is not None else None
        message = f"nothing scores scenario `{name}`"
        program.diagnostics.error("E0601", message, statement.head, help=help_, lacking=lacking)
        return None
    if not cases.sound or not steps.good:
        return None
    found = treatments(steps, cases.arms)
    if not steps.good:
        return None
    _mentions(program, statement, cases, steps)
    scenario = Scenario(
        name=name,
        title=title,
        axes=tuple(axis.name for axis in cases.axes),
        cells=cases.cells,
        rows=cases.rows,
        row_count=cases.count,
        arms=tuple(arm.name for arm in cases.arms),
        treatments=found,
    )
    unused(program, statement, scenario, steps)
    names = frozenset({*scenario.axes, *([cases.alias] if cases.alias else [])})
    counted = calls.Cases(cases.count, names, cases.kept, cases.certain)
    pool = pools(program, scenario)
    program.calls += calls.count_calls(scenario, counted, program.roles, program.scorers, pool)
    return scenario


def _arms(program: Program, statement: Statement, cases: Cases) -> Cases:
    """Adds the arms to a context."""
    written = statement.one_of("arms")
    for name in (_product(program, written.syntax("arms"), "arms") or []) if written is not None else []:
        if not program.is_declared("arm", name):
            cases.sound = False
            cases.scope.setdefault(name.text, Binding((name.text,)))
            continue
        arm = program.arms.get(name.text)
        if arm is None:  # it was reported
            cases.sound = False
            cases.scope.setdefault(name.text, Binding((name.text,)))
            continue
        if arm in cases.arms:
            message = f"arm `{name.text}` is in this scenario twice"
            program.diagnostics.error("E0202", message, name.span, help="remove one")
            cases.sound = False
            continue
        cases.arms.append(arm)
        type_ = ChoiceType(values=tuple(value.name for value in arm.values), axis=arm.name)
        span = program.declared["arm"][arm.name].span
        cases.scope[arm.name] = Binding((arm.name,), type_, span=span)
    return cases


def _context(program: Program, statement: Statement) -> Cases:
    """The axes of a scenario in order; a benchmark of one language has it in every context."""
    written = statement.one_of("context")
    names = _product(program, written.syntax("axes")) if written is not None else []
    cases = Cases([], {}, sound=names is not None)
    unknown = False
    for name in names or ():
        axis = program.axes.get(name.text)
        declared = program.declared.get("axis", {}).get(name.text)
        program.index.use(name.span, declared.span if declared is not None else None)
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
    spans = {name: declared.span for name, declared in program.declared.get("axis", {}).items()}
    cases.scope |= {axis.name: Binding((axis.name,), axis_type(axis), span=spans.get(axis.name)) for axis in cases.axes}
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


def _product(program: Program, syntax: Syntax, what: str = "axes") -> list[Name] | None:
    match syntax:
        case Name():
            return [syntax]
        case BinaryExpr(operator="*", left=left, right=right):
            first, second = _product(program, left, what), _product(program, right, what)
            return None if first is None or second is None else [*first, *second]
    word, example = ("context", "language * stage * subject") if what == "axes" else ("arms", "shots * wording")
    help_ = f"write `{word} {example}`"
    program.diagnostics.error("E0106", f"this is a product of {what}", syntax.span, help=help_)
    return None


def _cases(program: Program, statement: Statement, cases: Cases) -> Cases:
    """Adds the rows to a context."""
    over = statement.one_of("over")
    written = [inner for inner in statement.body if inner.construct in KINDS["dataset"]]
    local = {inner.name().text: inner for inner in written}
    loaded: LoadedDataset | None = None
    if over is not None:
        name = over.name("dataset")
        alias = over.find_name("alias") or name
        if name.text in local:
            loaded = _local(program, statement, local[name.text], cases)
            program.index.use(name.span, local[name.text].name().span)
        elif name.text in program.declared.get("dataset", {}):
            loaded = program.rowsets.get(name.text)
            program.index.use(name.span, program.declared["dataset"][name.text].span)
        else:
            program.unknown("dataset", name, tuple(local))
            for meant in (*local, *program.declared.get("dataset", {})):
                cases.scope.setdefault(meant, Binding((meant,)))
    elif local:
        alias = next(iter(local.values())).name()
        for extra in written[1:]:
            label = Label(alias.span, "the first")
            message = "a scenario runs over one data set, and this is its second"
            help_ = "say which: `over NAME`; move the other to the top of the file if it is shared"
            program.diagnostics.error("E0202", message, extra.name().span, label, help=help_)
            cases.sound = False
        loaded = _local(program, statement, local[alias.text], cases)
    else:
        cases.count = cases.cells
        if cases.sound and cases.cells <= MOST_CELLS:
            cases.kept = [dict(cell) for cell in each_cell(cases.axes)]
        return cases
    if alias.text in cases.scope:
        message = f"`{alias.text}` is an axis or arm of this scenario already"
        program.diagnostics.error("E0202", message, alias.span, help="give the rows another name: `as x`")
        cases.sound = False
        return cases
    cases.alias = alias.text
    cases.scope[alias.text] = Binding((alias.text,), span=alias.span)
    if loaded is None:
        cases.sound = False
        return cases
    cases.from_file = loaded.known
    fields: dict[str, Binding] = {}
    for f in loaded.dataset.fields:
        way, span, path = row_way(loaded, alias, f.name), loaded.spans.get(f.name), (alias.text, f.name)
        fields[f.name] = Binding(path, f.type, way, record_fields(path, f.type, way, span), span=span)
    fields |= {name: Binding((alias.text, name)) for name in loaded.poisoned}
    cases.scope[alias.text] = Binding((alias.text,), None, (), fields, span=alias.span)
    for axis in cases.axes:  # what a row says of an axis is as secret as the field that says it
        if axis.name in fields and fields[axis.name].secret:
            cases.scope[axis.name] = replace(cases.scope[axis.name], secret=fields[axis.name].secret)
    _keep(program, statement, cases, loaded, alias, over)
    return cases


def row_way(loaded: LoadedDataset, alias: Name, field: str) -> Way:
    """The way of a secret field, called as the rows are called here."""
    way = loaded.ways.get(field, ())
    if not way or len(way) > 1:
        return way
    return (Label(way[0].span, f"`{alias.text}.{field}` is secret"),)


def _local(program: Program, scenario: Statement, statement: Statement, cases: Cases) -> LoadedDataset | None:
    """A data set inside a scenario; a role's rows are written in every cell of its context."""
    if not cases.sound:
        axes: list[Axis] = []
    else:
        axes = cases.axes
    scope = {name: binding for name, binding in cases.scope.items() if name not in program.arms}
    return lower_scenario_dataset(program, statement, scenario.name().text, axes, scope)


def _keep(
    program: Program, scenario: Statement, cases: Cases, loaded: LoadedDataset, alias: Name, over: Statement | None
) -> None:
    """Counts the rows that are run, and checks that each lies in an allowed cell."""
    condition = over.find("filter") if over is not None else None
    if condition is not None:
        program.index.scopes.append((condition.span, dict(cases.scope)))
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
        local = loaded.made is not None and loaded.made.scenario is not None
        if axis.name not in names and not local and not (axis.name == "language" and len(axis.values) == 1):
            help_ = f"add `{axis.name}` to its fields, with `from` where the column has another name"
            message = f"the rows do not say their `{axis.name}`"
            written = scenario.one_of("context")
            where_ = (written or scenario).head
            program.diagnostics.error("E0308", message, where_, help=help_, unknown=axis.name)
            cases.sound = False
    if not cases.sound:
        return
    cases.rows = Rows(dataset=loaded.dataset.name, alias=alias.text, where=where.expr if where else None)
    if not loaded.known:
        cases.count = loaded.count
        made = loaded.made
        cases.certain = made is not None and where is None and not _selective(made)
        return
    cases.kept = []
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
        cases.kept.append({**cell, alias.text: row.values})
        broken = broken_guard(cell, cases.axes)
        if broken is not None and cases.sound:
            _outside(program, loaded, row, broken, cell)
            cases.sound = False
    if cases.count == 0:
        span = (over or scenario).head
        help_ = "look at `where`" if where is not None else "the file is empty"
        program.diagnostics.error("E0603", "this scenario runs over no row", span, help=help_)
        cases.sound = False


def _selective(made: Made) -> bool:
    """Whether rows may be refused."""
    return bool(made.require or made.unique or any(isinstance(step, Verify | Walk) for step in made.steps))


def _outside(program: Program, loaded: LoadedDataset, row: LoadedRow, axis: Axis, cell: dict[str, str]) -> None:
    span: Span = loaded.spans[axis.name]
    others = ", ".join(f"{name} {cell[name]}" for name in sorted(guards_of(axis)))
    message = f"row {row.number} of {row.path}: {axis.name} {cell[axis.name]} is not allowed with {others}"
    program.diagnostics.error("E0605", message, span, help="mend the row, or the `when` of the axis's group")


def said_in(made: Made) -> dict[str, set[str]]:
    """For every language the names that are printed where the rows of a data set are written."""
    asks = [step if isinstance(step, Ask) else step.ask for step in made.steps if not isinstance(step, Derived)]
    found: dict[str, set[str]] = {}
    for ask in asks:
        for language, template in [*(ask.system or {}).items(), *(ask.prompt or {}).items()]:
            found.setdefault(language, set()).update(
                name for expr in template_exprs(template) for name in names_in(expr)
            )
    return found


def _mentions(program: Program, statement: Statement, cases: Cases, steps: Steps) -> None:
    """Every axis of the context should be said to somebody; rows of a file may say it in their own words."""
    written = statement.one_of("context")
    if written is None:
        return
    made = program.made.get(cases.rows.dataset) if cases.rows is not None else None
    for language, names in (said_in(made) if made is not None else {}).items():
        steps.mentioned.setdefault(language, set()).update(names)
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
