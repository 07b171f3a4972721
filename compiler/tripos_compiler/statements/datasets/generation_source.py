"""The source of a generated data set, and in which context: its axes, its source, and how many rows that makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.language import (
    DATA,
    TREES,
    Unavailable,
    allowed_cells,
    axes_in_guards,
    count_cells,
    evaluate,
    names_in,
    subexpressions,
)
from tripos_compiler.language.library import element_type, type_notation
from tripos_compiler.plan import Axis, Branches as TreeValue, Call, Data, Expr
from tripos_compiler.resolve import Binding, LoadedDataset, Program, Typed, has_lost_values, record_fields, row_fields
from tripos_compiler.resolve.plugins import is_known_early
from tripos_compiler.source import BinaryExpr, Name, Syntax
from tripos_compiler.statements.datasets.generation_scope import Making
from tripos_compiler.statements.declarations import branches_of
from tripos_compiler.typing import axis_type, free_variables

MOST_TRIED = 1_000_000
"""For so many rows in so many cells, multiplied, a condition is looked at; beyond them all are counted."""


def lower_context(making: Making) -> None:
    """`context AXES` of a data set at the top of a file: its axes become fields."""
    program = making.program
    written = making.statement.one_of("context")
    names = list(_product(making, written.syntax("axes"))) if written is not None else []
    for name in names:
        axis = program.axes.get(name.text)
        declared = program.declared.get("axis", {}).get(name.text)
        if axis is None:
            making.sound = False
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
    for name in names:
        axis = program.axes.get(name.text)
        for other in sorted(axes_in_guards(axis) - set(making.scope)) if axis is not None else ():
            message = f"`{name.text}` is restricted by `{other}`, which is not in this context"
            making.error("E0607", message, name.span, help=f"add it: `context … * {other} * {name.text}`")
    if written is not None and making.sound and count_context(making, written) == 0:
        making.sound = False
        if has_lost_values(making.program, *(axis.name for axis in making.axes)):
            return
        message = "no combination of these axes is allowed"
        making.error("E0603", message, written.head, help="look at the `when` conditions of the groups")


def bind_axis(making: Making, axis: Axis, name: Name) -> None:
    """An axis as a name, and as a field of the rows."""
    declared = making.program.declared.get("axis", {}).get(axis.name)
    span = declared.span if declared is not None else name.span
    making.scope[axis.name] = Binding((axis.name,), axis_type(axis), span=span)
    making.add("", axis.name, span, axis_type(axis))


def count_context(making: Making, where: Statement | None) -> int:
    """Return how many cells the context has."""
    try:
        return count_cells(making.axes)
    except Unavailable as error:
        if where is not None:
            message = f"a condition on these axes has no value: {error}"
            making.error("E0301", message, where.head, help="look at the `when` conditions of the groups")
        return 1


def _product(making: Making, syntax: Syntax) -> Iterator[Name]:
    match syntax:
        case Name():
            yield syntax
        case BinaryExpr(operator="*", left=left, right=right):
            yield from _product(making, left)
            yield from _product(making, right)
        case _:
            making.open = True
            making.error("E0106", "a context is a product of axes", syntax.span, help="write `context level * subject`")


def lower_source(making: Making) -> Expr | None:
    """`from SOURCE [as ALIAS]`: its fields are carried over, or the values themselves under the alias. None where there
    is no source, or it was reported."""
    statement = making.statement
    written, alias = statement.find("source"), statement.find_name("alias")
    if written is None:
        for what in ("alias", "filter"):
            part = statement.find(what)
            if part is not None:
                message = f"this data set has no source that `{'as' if what == 'alias' else 'where'}` could speak of"
                making.error("E0106", message, part.span, help=f"write `dataset {making.own} from SOURCE …`")
        return None
    if isinstance(written, Name):
        loaded = _source_rows(making, written)
        if not _named(making, alias or written):
            return None
        if loaded is None:
            _unknown(making)
            return None
        _carry_rows(making, loaded)
        return Data(dataset=loaded.dataset.name)
    typed = making.elaborator(dict(making.scope), written.span).infer(written)
    if alias is None:
        help_ = f"write `dataset {making.own} from … as x`"
        making.error("E0106", "the values that rows are made from need a name", written.span, help=help_)
    elif not _named(making, alias):
        return None
    if typed is None or alias is None:
        _unknown(making)
        return None
    of = element_type(typed.type)
    if of is None:
        help_ = "take a list, such as `leaves(tree)` or `distinct(rows.field)`"
        making.error(
            "E0301", f"`{type_notation(typed.type)}` holds nothing to make rows from", written.span, help=help_
        )
        _unknown(making)
        return None
    _carry_values(making, alias, typed)
    return typed.expr


def _source_rows(making: Making, written: Name) -> LoadedDataset | None:
    program = making.program
    if written.text in program.declared.get("tree", {}) and written.text not in program.declared.get("dataset", {}):
        help_ = f"take its leaves: `from leaves({written.text}) as point`"
        making.error("E0301", f"`{written.text}` is a tree, and has no rows", written.span, help=help_)
        return None
    if not program.is_declared("dataset", written):
        return None
    loaded = program.rowsets.get(written.text)
    if loaded is None:
        return None
    making.sound = making.sound and loaded.sound
    return loaded


def _named(making: Making, alias: Name) -> bool:
    """Bind the name of the source's rows, which are not known yet; reports a name that is taken."""
    taken = "an axis of this context" if alias.text in making.scope else ""
    if alias.text == making.own:
        taken = "this data set itself"
    if taken:
        making.error("E0202", f"`{alias.text}` is {taken}", alias.span, help="give the source another name: `as x`")
        making.open = True
        return False
    making.alias = alias
    making.scope[alias.text] = Binding((alias.text,), span=alias.span)
    return True


def _unknown(making: Making) -> None:
    """Treat carried-over values as unknown."""
    making.open = True
    making.sound = False


def _carry_rows(making: Making, loaded: LoadedDataset) -> None:
    assert making.alias is not None
    alias = making.alias.text
    making.scope[alias] = Binding((alias,), None, row_fields(loaded, alias), span=making.alias.span)
    for name in loaded.poisoned:
        making.add("", name, loaded.spans.get(name, making.alias.span), None, where=making.alias.span)
    for each in loaded.dataset.fields:
        span = loaded.spans.get(each.name, making.alias.span)
        making.add("", each.name, span, each.type, making.alias.span)


def _carry_values(making: Making, alias: Name, typed: Typed) -> None:
    of = element_type(typed.type)
    assert of is not None
    fields = record_fields((alias.text,), of, alias.span)
    making.scope[alias.text] = Binding((alias.text,), of, fields, span=alias.span)
    if of.kind == "record":
        for name, type_ in of.fields.items():
            making.add("", name, alias.span, type_)
    else:
        making.add("field", alias.text, alias.span, of)


def lower_filter(making: Making) -> Typed | bool | None:
    """`where FILTER`; None where there is none, False where it is wrong."""
    written = making.statement.find("filter")
    if written is None or making.statement.find("source") is None:
        return None
    if making.too_early(free_variables(written)):
        return False
    typed = making.elaborator(dict(making.scope), written.span).condition(written)
    return typed if typed is not None and is_known_early(making.program, typed.expr, written.span) else False


def count_rows(making: Making, source: Expr | None, where: Expr | None, count: int) -> int:
    """Return how many rows are made at most: of every row of the source that `where` holds for, in every cell,
    `count`."""
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
            making.error("E0301", message, span, help="mend the row, or guard the condition")
            return 0
    return held * (1 if tied else in_cells) * count


def is_counted(program: Program, source: Expr | None, where: Expr) -> bool:
    """Return true if the rows for which a condition holds are known before a run, and so counted."""
    rows = known_rows(program, source) if source is not None else None
    return rows is not None and not any(part.op in ("data", "tree") for part in subexpressions(where))


def known_rows(program: Program, source: Expr) -> list[Any] | None:
    """Return the rows or values of a source, where they are known before a run."""
    data: dict[str, Any] = {}
    trees: dict[str, Mapping[str, Any]] = {}
    for part in subexpressions(source):
        if isinstance(part, Data):
            loaded = program.rowsets.get(part.dataset)
            if loaded is None or not loaded.known or not loaded.sound:
                return None
            data[part.dataset] = [row.values for row in loaded.rows]
        elif isinstance(part, TreeValue):
            found = branches_of(program, part.tree)
            if found is None:
                return None
            trees[part.tree] = found
        elif isinstance(part, Call) and part.function in program.plugins:
            return None
    if isinstance(source, Data) and source.field is None:
        return list(data[source.dataset])
    try:
        return list(evaluate(source, {DATA: data, TREES: trees}))
    except Unavailable:
        return None


def _at_most(program: Program, source: Expr) -> int:
    """Return a bound for rows that only a run will know: those of the made data sets that they are taken from."""
    if isinstance(source, Data):
        loaded = program.rowsets.get(source.dataset)
        return loaded.count if loaded is not None else 0
    return sum(program.rowsets[part.dataset].count for part in subexpressions(source) if isinstance(part, Data))
