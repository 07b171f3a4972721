"""Lowers allocation tables: which metrics a scorer gives for which scenario, and what each counts."""

from __future__ import annotations

import re

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label, nearest
from tripos_compiler.language.library import in_bounds
from tripos_compiler.resolve import Program
from tripos_compiler.source import Entry, Name, SymbolExpr, TableRow

MARKS: dict[str, float | None] = {"x": 1.0, "✓": 1.0, ".": None, "-": None}
"""What a cell says: what the metric counts there, None where it does not apply."""
NUMBER = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")
MEANT_AS_NUMBER = re.compile(r"[-+]?[.,]?\d")

Weights = dict[str, float]
"""What each metric of a row counts, in the order of the columns."""


def lower_allocation(program: Program) -> None:
    """Every `allocate` table; it must be total over the scenarios that use the scorer."""
    owners: dict[str, Statement] = {}
    used: set[str] = set()
    for statement in program.of("allocate"):
        name = statement.name("scorer")
        earlier = owners.setdefault(name.text, statement)
        more = earlier is not statement and _of_another(program, earlier, statement)
        if earlier is not statement and not more:
            label = Label(earlier.head, "the first table")
            message = f"`{name.text}` is allocated twice"
            program.diagnostics.error("E0202", message, statement.head, label, help="merge the two tables")
            continue
        if program.is_declared("scorer", name) and _gives_metrics(program, name):
            table = _table(program, statement)
            if table is not None and more:
                _report_again(program, (earlier, statement), table)
            if table is not None:
                program.allocation.setdefault(name.text, {}).update({each: tuple(row) for each, row in table.items()})
                program.weights.setdefault(name.text, {}).update({each: _counts(row) for each, row in table.items()})
                used.update(metric for row in table.values() for metric in row)
    whole = bool(owners) and set(owners) == set(program.allocation)
    for metric, declared in program.declared.get("metric", {}).items():
        if whole and metric in program.metrics and metric not in used:
            help_ = "add a column for it with an `x`, or remove the metric"
            message = f"metric `{metric}` is never allocated"
            program.diagnostics.error("E0606", message, declared.span, help=help_)


def _of_another(program: Program, earlier: Statement, statement: Statement) -> bool:
    """Return true if a second table says more of a scorer that comes from a release: what it gives for further
    scenarios."""
    return program.release_of(earlier.span) is not program.release_of(statement.span)


def _report_again(program: Program, tables: tuple[Statement, Statement], table: dict[str, Weights]) -> None:
    """Report the scenarios of a second table of which the first says already what the scorer gives."""
    scorer = tables[1].name("scorer").text
    own = next((each for each in tables if program.release_of(each.span) is None), tables[1])
    for scenario in table:
        if scenario in program.allocation.get(scorer, {}):
            message = f"`{scorer}` has rows for `{scenario}` here and in a release"
            help_ = "write rows only for scenarios of your own"
            program.diagnostics.error("E0917", message, own.head, help=help_)


def _counts(row: Weights) -> tuple[float, ...]:
    """Return the weights of a row; empty where each is 1."""
    return () if set(row.values()) <= {1.0} else tuple(row.values())


def _gives_metrics(program: Program, name: Name) -> bool:
    """Return true if a scorer gives allocated metrics; reports one that does not. What was reported passes."""
    scorer = program.scorers.get(name.text)
    computed = name.text in program.formulas or name.text in program.plugins
    if not computed and (scorer is None or scorer.gives is None):
        return True
    message = f"`{name.text}` gives one value, and no metrics to allocate"
    label = Label(program.declared["scorer"][name.text].span, "the scorer")
    help_ = "remove the table, or let the scorer give `allocated metrics`"
    program.diagnostics.error("E0602", message, name.span, label, help=help_)
    return False


def _table(program: Program, statement: Statement) -> dict[str, Weights] | None:
    assert statement.block is not None
    rows: list[TableRow] = []
    whole = True
    for entry in statement.block.entries():
        found = _row(program, entry)
        rows.extend(found)
        whole = whole and bool(found)
    if not rows and whole:
        help_ = "write `| | METRIC |` and a row a scenario"
        program.diagnostics.error("E0602", "this table has no rows", statement.head, help=help_)
        return None
    if not rows or not whole or any(entry.broken for line in statement.block.lines for entry in line.entries):
        return None
    header, *body = rows
    scenarios = program.declared["scenario"]
    meant = {row.cells[0].text for row in body}
    meant |= {nearest(name, scenarios) or name for name in meant - set(scenarios)}
    program.table_rows.setdefault(statement.name("scorer").text, set()).update(meant)
    columns = header.cells[1:]
    good = all([program.is_declared("metric", column) for column in columns])  # noqa: C419 - report every one
    seen: dict[str, Name] = {}
    for column in columns:
        if seen.setdefault(column.text, column) is not column:
            message = f"metric `{column.text}` has two columns"
            program.diagnostics.error("E0202", message, column.span, help="remove one")
            good = False
    table: dict[str, Weights] = {}
    for row in body:
        metrics = _weights(program, columns, row)
        scenario = row.cells[0]
        if scenario.text in table:
            message = f"scenario `{scenario.text}` has two rows"
            program.diagnostics.error("E0202", message, scenario.span, help="remove one")
            good = False
        if not program.is_declared("scenario", scenario) or metrics is None:
            good = False
        elif not metrics:
            help_ = "mark a metric with `x`, or remove the row and the scorer from the scenario"
            message = f"scenario `{scenario.text}` is given no metric"
            program.diagnostics.error("E0602", message, scenario.span, help=help_)
            good = False
        table[scenario.text] = metrics or {}
    return table if good else None


def _row(program: Program, entry: Entry) -> list[TableRow]:
    rows = [element for element in entry.elements if isinstance(element, TableRow)]
    for element in entry.elements:
        if not isinstance(element, TableRow):
            shown = f"`{element.text}`" if isinstance(element, Name | SymbolExpr) else "this"
            help_ = "every line is `| scenario | x | . |`"
            program.diagnostics.error("E0106", f"{shown} is not a table row", element.span, help=help_)
            break
    return rows


def _weights(program: Program, columns: tuple[Name, ...], row: TableRow) -> Weights | None:
    cells = row.cells[1:]
    if len(cells) != len(columns):
        message = f"this row has {len(cells)} cells for {len(columns)} metrics"
        program.diagnostics.error("E0602", message, row.span, help="give every metric an `x` or a `.`")
        return None
    found = [_cell(program, cell) for cell in cells]
    if False in found:
        return None
    return {column.text: weight for column, weight in zip(columns, found, strict=True) if weight}


def _cell(program: Program, cell: Name) -> float | bool | None:
    """Return what a metric counts; None where it does not apply, False where the cell says neither, which is
    reported."""
    if cell.text in MARKS:
        return MARKS[cell.text]
    if NUMBER.fullmatch(cell.text):
        weight = float(cell.text)
        if weight > 0 and in_bounds(weight):
            return weight
        help_ = "write `.` where the metric does not apply" if weight == 0 else "write a smaller number"
        program.diagnostics.error("E0708", f"a metric cannot count {cell.text}", cell.span, help=help_)
        return False
    if MEANT_AS_NUMBER.match(cell.text):
        help_ = "write what the metric counts as a number above 0, such as `2` or `0.5`"
        program.diagnostics.error("E0708", f"`{cell.text}` is no weight", cell.span, help=help_)
        return False
    close = nearest(cell.text, MARKS)
    message = f"`{cell.text}` is not a mark" if cell.text else "this cell is empty"
    help_ = "write `x` or a weight where the metric applies, `.` where it does not"
    program.diagnostics.error("E0602", message, cell.span, help=f"did you mean `{close}`?" if close else help_)
    return False
