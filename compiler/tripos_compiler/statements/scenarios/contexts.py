"""Lowers what a scenario covers: its axes and their allowed combinations, and its arms."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.language import Unavailable, axes_in_guards, count_cells
from tripos_compiler.plan import Arm, Axis, ChoiceType, Rows
from tripos_compiler.resolve import Binding, LoadedDataset, Program, has_lost_part, has_lost_values, product_of
from tripos_compiler.source import dataclass
from tripos_compiler.typing import axis_type


@dataclass
class ScenarioCases:
    """The cases of a scenario. Where it is not `sound`, something about it was reported; its scope still binds every
    name, those without a known type too, so that the steps are checked and nothing is reported twice."""

    axes: list[Axis]
    scope: dict[str, Binding]
    cells: int = 0
    arms: list[Arm] = field(default_factory=list)
    alias: str | None = None
    loaded: LoadedDataset | None = None
    """The data set that is run over."""
    rows: Rows | None = None
    count: int = 0
    kept: list[dict[str, Any]] | None = None
    """The names of every case, where the compiler has them."""
    certain: bool = True
    """Whether there will be so many rows, and not fewer."""
    from_file: bool = False
    sound: bool = True


def lower_context(program: Program, statement: Statement) -> ScenarioCases:
    """Return the axes of a scenario in order; a benchmark of one language has it in every context."""
    written = statement.one_of("context")
    names = product_of(program, written.syntax("axes")) if written is not None else []
    if written is None and has_lost_part(program, statement):
        names = None  # it may have said any
    cases = ScenarioCases([], {}, sound=names is not None)
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
        for other in (
            sorted(axes_in_guards(program.axes[name.text]) - set(cases.scope)) if name.text in program.axes else ()
        ):
            message = f"`{name.text}` is restricted by `{other}`, which is not in this context"
            help_ = f"add it: `context … * {other} * {name.text}`"
            program.diagnostics.error("E0607", message, name.span, help=help_)
            cases.sound = False
    _count(program, statement, cases)
    return cases


def _count(program: Program, statement: Statement, cases: ScenarioCases) -> None:
    """Count the cells that the guards allow; there must be one."""
    written = statement.one_of("context")
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
        tied = [(axis.name, " and ".join(f"`{name}`" for name in sorted(axes_in_guards(axis)))) for axis in cases.axes]
        note = ", ".join(f"`{name}` by {others}" for name, others in tied if others)
        message, notes = "no combination of these axes is allowed", [f"restricted are {note}"]
        if not has_lost_values(program, *(axis.name for axis in cases.axes)):
            program.diagnostics.error("E0603", message, written.head, help=help_, notes=notes)
        cases.sound = False


def lower_arms_of(program: Program, statement: Statement, cases: ScenarioCases) -> ScenarioCases:
    """Add the arms to a context."""
    written = statement.one_of("arms")
    for name in (product_of(program, written.syntax("arms"), "arms") or []) if written is not None else []:
        if not program.is_declared("arm", name):
            cases.sound = False
            for meant in (name.text, *program.declared.get("arm", {})):
                cases.scope.setdefault(meant, Binding((meant,)))
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
