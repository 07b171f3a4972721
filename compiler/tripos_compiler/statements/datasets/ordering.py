"""Lowers every data set, those that others are made from first."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import Axis
from tripos_compiler.resolve import (
    KINDS,
    LoadedDataset,
    LoweredCache,
    Memory,
    Program,
    Scope,
    fork_program,
    program_additions,
)
from tripos_compiler.source import Name
from tripos_compiler.statements.datasets.files import lower_file, lower_like
from tripos_compiler.statements.datasets.generated import lower_made
from tripos_compiler.typing import free_variables, free_variables_of


def lower_datasets(program: Program, memory: Memory | None = None) -> None:
    """Every data set at the top of a file: into `program.rowsets`, and into `program.datasets` or `program.made`. Files
    that a memory knows are not read again."""
    kept = memory.datasets if memory is not None else LoweredCache()
    around = program.of("benchmark", "axis", *KINDS["scorer"])  # a key may be a formula
    kept.enter((*around, frozenset(program.diagnostics.lost_names), program.data))
    _Order(program, kept).run()


def lower_scenario_dataset(
    program: Program, statement: Statement, scenario: str, axes: list[Axis], scope: Scope
) -> LoadedDataset | None:
    """Return a data set inside a scenario, which the plan knows as `scenario.name`; `axes` and `scope` are those of the
    scenario's context, in which a made one is made. None where its fields cannot be told, which was reported."""
    name = f"{scenario}.{statement.name().text}"
    program.index.define("dataset", statement.name().text, statement.name().span, f"scenario {scenario}")
    loaded = _lowered(program, statement, name, scenario, axes, scope)
    _keep(program, name, loaded)
    return loaded


def _lowered(
    program: Program,
    statement: Statement,
    name: str,
    scenario: str | None = None,
    axes: list[Axis] | None = None,
    scope: Scope | None = None,
) -> LoadedDataset | None:
    match statement.construct:
        case "dataset":
            return lower_file(program, statement, name)
        case "like":
            return lower_like(program, statement, name)
    return lower_made(program, statement, name, scenario, axes, scope)


def _keep(program: Program, name: str, loaded: LoadedDataset | None) -> None:
    """Put a data set into the plan."""
    if loaded is None:
        return
    if loaded.made is not None:
        program.made[name] = loaded.made
    elif loaded.known:
        program.datasets[name] = loaded.dataset
        program.loaded[name] = loaded


class _Order:
    """Lowers a data set once all that it is made from are, and reports those that are made from each other."""

    def __init__(self, program: Program, kept: LoweredCache) -> None:
        self.program = program
        self.kept = kept
        self.statements = program.of(*KINDS["dataset"])
        self.by_name = {each.name().text: each for each in reversed(self.statements)}
        self.done: set[str] = set()
        self.circular: set[str] = set()

    def run(self) -> None:
        for statement in self.statements:
            name = statement.name().text
            if self.by_name[name] is statement:
                self._visit(name, ())
            else:  # it was reported as declared twice; what stands in it is checked
                _lowered(self.program, statement, name)

    def _visit(self, name: str, path: tuple[str, ...]) -> None:
        if name in path:
            self._circle(path[path.index(name) :])
        if name in self.done or name in path:
            return
        statement = self.by_name[name]
        for needed in sorted(_needed(statement) & set(self.by_name)):
            self._visit(needed, (*path, name))
        self.done.add(name)
        if name in self.circular:
            return
        loaded = self._file(statement, name)
        if loaded is not None:
            self.program.rowsets[name] = loaded
        _keep(self.program, name, loaded)

    def _file(self, statement: Statement, name: str) -> LoadedDataset | None:
        """Return the data set of a statement; one that reads a file and looks at no other is remembered."""
        if statement.construct != "dataset":
            return _lowered(self.program, statement, name)
        lowered = self.kept.find(statement)
        if lowered is None:
            own = fork_program(self.program)
            lowered = program_additions(self.program, own, _lowered(own, statement, name))
            self.kept.keep(statement, lowered)
        lowered.add_to(self.program)
        loaded: LoadedDataset | None = lowered.result
        return loaded

    def _circle(self, circle: tuple[str, ...]) -> None:
        first = min(circle, key=lambda name: self.statements.index(self.by_name[name]))
        start = circle.index(first)
        shown = " → ".join([*circle[start:], *circle[:start], first])
        message = f"these data sets are made from each other in a circle: {shown}"
        if len(circle) == 1:
            message = f"data set `{first}` is made from itself"
        span = self.by_name[first].name().span
        self.program.diagnostics.error("E0203", message, span, help="make one of them from something else")
        self.circular.update(circle)


def _needed(statement: Statement) -> set[str]:
    """Return the names in a statement that mean data sets."""
    if statement.construct == "like":
        return {statement.name("dataset").text}
    if statement.construct != "made":
        return set()
    source, alias = statement.find("source"), statement.find_name("alias")
    context = statement.one_of("context")
    own = {statement.name().text}
    if alias is not None:
        own.add(alias.text)
    elif isinstance(source, Name):
        own.add(source.text)
    own |= {name.text for name in free_variables(context.syntax("axes"))} if context is not None else set()
    inside = {name.text for name in free_variables_of(statement)} | {
        name for each in statement.body for name in _inside(each)
    }
    return {name.text for name in free_variables(source)} | (inside - own)


def _inside(statement: Statement) -> set[str]:
    """Return the names in a statement of its block that mean something outside it."""
    found = {name.text for name in free_variables_of(statement)}
    if statement.construct not in ("walk", "verify"):
        return found
    own = {field.name().text for returns in statement.of("returns") for field in returns.body} | {"branches"}
    return (found | {name for inner in statement.body for name in _inside(inner)}) - own
