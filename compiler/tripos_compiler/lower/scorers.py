"""Lowers scorers and their allocation tables."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Label, nearest
from tripos_compiler.expressions import Binding
from tripos_compiler.lower.templates import FilledHole, lower_texts
from tripos_compiler.plan import MetricsType, Scorer, Settings, Type
from tripos_compiler.program import Program
from tripos_compiler.resolve import scorer_name
from tripos_compiler.syntax.tree import Argument, CallExpr, Entry, Name, Number, Symbol, TableRow
from tripos_compiler.types import read_type

MARKS = {"x": True, "✓": True, ".": False, "-": False}


def lower_scorers(program: Program) -> None:
    """Every `scorer`."""
    for statement in program.of("scorer"):
        scorer = _scorer(program, statement)
        if scorer is not None:
            program.scorers.setdefault(scorer.name, scorer)


def settings_of(program: Program, statement: Statement) -> Settings:
    """The sampling settings in a block. What no model takes is reported."""
    for least, what in ((0, "temperature"), (1, "max_tokens"), (1, "samples")):
        written = statement.one_of(what)
        number = (written.find("number") or written.find("count")) if written else None
        if isinstance(number, Number) and number.value < least:
            message = f"`{what}` must be {least} or more"
            program.diagnostics.error("E0301", message, number.span, help=f"write `{what} {least}`, or leave it out")
    temperature, tokens = statement.one_of("temperature"), statement.one_of("max_tokens")
    heat = temperature.syntax("number") if temperature else None
    limit = tokens.syntax("count") if tokens else None
    return Settings(
        temperature=float(heat.value) if isinstance(heat, Number) else None,
        max_tokens=int(limit.value) if isinstance(limit, Number) else None,
        stop=tuple(stop.text("string").value for stop in statement.of("stop")),
    )


def _scorer(program: Program, statement: Statement) -> Scorer | None:
    call = statement.syntax("call")
    name = scorer_name(call)
    if not isinstance(call, CallExpr) or name is None:
        help_ = "it is written `scorer NAME(response: text) by ROLE { … }`"
        program.diagnostics.error("E0106", "a scorer needs a name and parameters", call.span, help=help_)
        return None
    params = _params(program, call.arguments)
    role_known = program.is_declared("role", statement.name("role"))
    gives, prompts = statement.one_of("gives"), statement.of("prompt")
    if gives is None or not prompts:
        what = "`gives`" if gives is None else "`prompt`"
        help_ = "write `gives allocated metrics`" if gives is None else 'write `prompt "…"`'
        lacking = statement.block.span if statement.block is not None else None
        message = f"scorer `{name.text}` has no {what}"
        program.diagnostics.error("E0206", message, statement.head, help=help_, lacking=lacking)
        return None
    type_ = _gives(program, gives)
    if params is None or not role_known:
        return None
    scope = {param: Binding((param,), of) for param, of in params.items()}
    if type_ is None:
        scope["metrics"] = Binding(("metrics",), MetricsType())
    prompt = lower_texts(program, scope, prompts, "the prompt")
    systems = statement.of("system")
    system = lower_texts(program, scope, systems, "the system message") if systems else None
    if prompt is None or type_ == "wrong" or (systems and system is None):
        return None
    if type_ is None and not _mentions_metrics(prompt.holes, system.holes if system else {}):
        help_ = "put `{{ metrics }}` where the rubric belongs"
        message = f"scorer `{name.text}` gives metrics, and no text tells the judge which"
        program.diagnostics.error("E0701", message, prompts[0].head, help=help_)
        return None
    assert not isinstance(type_, str)
    return Scorer(
        name=name.text,
        role=statement.name("role").text,
        params=params,
        system=system.texts if system else None,
        prompt=prompt.texts,
        gives=type_,
        settings=settings_of(program, statement),
    )


def _mentions_metrics(*groups: dict[str, tuple[FilledHole, ...]]) -> bool:
    languages = {language for group in groups for language in group}
    return all(
        any(hole.typed.type.kind == "metrics" for group in groups for hole in group.get(language, ()))
        for language in languages
    )


def _params(program: Program, arguments: tuple[Argument, ...]) -> dict[str, Type] | None:
    params: dict[str, Type] = {}
    good = True
    for argument in arguments:
        if argument.name is None or len(argument.elements) != 1:
            help_ = "it is written `name: type`"
            program.diagnostics.error("E0106", "a parameter needs a name and a type", argument.span, help=help_)
            good = False
            continue
        type_ = read_type(program, argument.elements[0])
        if argument.name.text in params:
            message = f"parameter `{argument.name.text}` is declared twice"
            program.diagnostics.error("E0202", message, argument.span, help="rename one")
        good = good and type_ is not None
        if type_ is not None:
            params[argument.name.text] = type_
    return params if good else None


def _gives(program: Program, statement: Statement) -> Type | str | None:
    """The type that a scorer gives; None stands for the allocated metrics, `"wrong"` for a reported mistake."""
    written = statement.syntax("type")
    if statement.has("metrics"):
        if isinstance(written, Name) and written.text == "allocated":
            return None
        message = "metrics are given as `allocated metrics`"
        program.diagnostics.error("E0106", message, written.span, help="write `gives allocated metrics`")
        return "wrong"
    type_ = read_type(program, written)
    if type_ is None:
        return "wrong"
    if type_.kind not in ("bool", "integer", "number"):
        help_ = "a score is a bool, an integer, a number or a range"
        program.diagnostics.error("E0301", "this is not a score", written.span, help=help_)
        return "wrong"
    return type_


def lower_allocation(program: Program) -> None:
    """Every `allocate` table; it must be total over the scenarios that use the scorer."""
    owners: dict[str, Statement] = {}
    used: set[str] = set()
    for statement in program.of("allocate"):
        name = statement.name("scorer")
        earlier = owners.setdefault(name.text, statement)
        if earlier is not statement:
            label = Label(earlier.head, "the first table")
            message = f"`{name.text}` is allocated twice"
            program.diagnostics.error("E0202", message, statement.head, label, help="merge the two tables")
            continue
        if program.is_declared("scorer", name):
            table = _table(program, statement)
            if table is not None:
                program.allocation[name.text] = table
                used.update(metric for metrics in table.values() for metric in metrics)
    whole = bool(owners) and set(owners) == set(program.allocation)
    for metric, declared in program.declared.get("metric", {}).items():
        if whole and metric in program.metrics and metric not in used:
            help_ = "add a column for it with an `x`, or remove the metric"
            message = f"metric `{metric}` is never allocated"
            program.diagnostics.error("E0606", message, declared.span, help=help_)


def _table(program: Program, statement: Statement) -> dict[str, tuple[str, ...]] | None:
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
    program.table_rows[statement.name("scorer").text] = meant
    columns = header.cells[1:]
    good = all([program.is_declared("metric", column) for column in columns])  # noqa: C419 - report every one
    seen: dict[str, Name] = {}
    for column in columns:
        if seen.setdefault(column.text, column) is not column:
            message = f"metric `{column.text}` has two columns"
            program.diagnostics.error("E0202", message, column.span, help="remove one")
            good = False
    table: dict[str, tuple[str, ...]] = {}
    for row in body:
        metrics = _marks(program, columns, row)
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
        table[scenario.text] = metrics or ()
    return table if good else None


def _row(program: Program, entry: Entry) -> list[TableRow]:
    rows = [element for element in entry.elements if isinstance(element, TableRow)]
    for element in entry.elements:
        if not isinstance(element, TableRow):
            shown = f"`{element.text}`" if isinstance(element, Name | Symbol) else "this"
            help_ = "every line is `| scenario | x | . |`"
            program.diagnostics.error("E0106", f"{shown} is not a table row", element.span, help=help_)
            break
    return rows


def _marks(program: Program, columns: tuple[Name, ...], row: TableRow) -> tuple[str, ...] | None:
    cells = row.cells[1:]
    if len(cells) != len(columns):
        message = f"this row has {len(cells)} cells for {len(columns)} metrics"
        program.diagnostics.error("E0602", message, row.span, help="give every metric an `x` or a `.`")
        return None
    marked: list[str] = []
    for column, cell in zip(columns, cells, strict=True):
        if cell.text not in MARKS:
            close = nearest(cell.text, MARKS)
            message = f"`{cell.text}` is not a mark" if cell.text else "this cell is empty"
            help_ = f"did you mean `{close}`?" if close else "write `x` where the metric applies, `.` where it does not"
            program.diagnostics.error("E0602", message, cell.span, help=help_)
            return None
        if MARKS[cell.text]:
            marked.append(column.text)
    return tuple(marked)
