"""Notes for editors what `item.kind` means outside of scenarios: the rows of one, or of several that share them."""

from __future__ import annotations

from collections.abc import Collection

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.program import KINDS, Program
from tripos_compiler.source import Span
from tripos_compiler.syntax.tree import Name


def note_rows(program: Program, alias: Name, field: Name, scenarios: Collection[str]) -> None:
    """Notes the uses of a name of rows and of a field of theirs, each where it means one thing in all the scenarios."""
    rows: set[Span | None] = set()
    fields: set[Span | None] = set()
    for statement in program.of("scenario"):
        if statement.name().text in scenarios:
            rows.add(_rows(program, statement))
            fields.add(_field(program, statement, field.text))
    for name, spans in ((alias, rows), (field, fields)):
        if len(spans) == 1:
            program.index.use(name.span, next(iter(spans)))


def _rows(program: Program, scenario: Statement) -> Span | None:
    """Where the name of a scenario's rows is declared."""
    over = scenario.one_of("over")
    alias = over.find_name("alias") if over is not None else None
    if alias is not None:
        return alias.span
    local = _local(scenario)
    if local is not None:
        return local.name().span
    declared = program.declared["dataset"].get(over.name("dataset").text) if over is not None else None
    return declared.span if declared is not None else None


def _field(program: Program, scenario: Statement, field: str) -> Span | None:
    """Where a field of a scenario's rows is declared."""
    local, over = _local(scenario), scenario.one_of("over")
    if local is not None:
        return next((each.name().span for each in local.of("field") if each.name().text == field), None)
    loaded = program.rowsets.get(over.name("dataset").text) if over is not None else None
    return loaded.spans.get(field) if loaded is not None else None


def _local(scenario: Statement) -> Statement | None:
    """The data set of its own that a scenario runs over."""
    over = scenario.one_of("over")
    own = [each for each in scenario.body if each.construct in KINDS["dataset"]]
    return next((each for each in own if over is None or each.name().text == over.name("dataset").text), None)
