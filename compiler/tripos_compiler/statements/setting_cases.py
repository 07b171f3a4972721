"""The lines of one setting, of which the first counts that holds: those that never do, and what none is for.

A condition is tried with all values of the axes, choices and truth values that it looks at. Anything else that it
compares may hold or not, whatever else does: so a line is refused only where nothing can make it count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import Unavailable, evaluate, paths_in, subexpressions
from tripos_compiler.plan import Binary, Expr, Type, Unary, canonical
from tripos_compiler.resolve import Binding, Program, Scope
from tripos_compiler.source import dataclass
from tripos_compiler.statements.analysis import is_evaluable

MOST_TRIED = 4096
"""Combinations that are tried; of more nothing is said."""
ADDED = "stop"
"""The setting of which all lines count that hold."""
SHOWN = 5
"""Values that a message names."""

Path = tuple[str, ...]
Try = Mapping[Path | bytes, Any]
"""A value for each name, and for each comparison of anything else whether it holds, by how it is written."""


@dataclass(frozen=True)
class ConditionalLine:
    """A line of a setting. `when` is its condition; None where it has none, or a wrong one."""

    statement: Statement
    when: Expr | None


@dataclass(frozen=True)
class RowsAsked:
    """The rows that are asked about: what they are known as, and the condition that chooses them."""

    alias: str | None = None
    where: Expr | None = None


ANY_ROWS = RowsAsked()


def check_lines(program: Program, scope: Scope, name: str, lines: Sequence[ConditionalLine], rows: RowsAsked) -> None:
    """Report lines of a setting that never count, and warn of values that several lines leave out."""
    last = next((place for place, each in enumerate(lines) if each.statement.find("cond") is None), None)
    if name != ADDED and last is not None:
        above = Label(lines[last].statement.head, "this counts for all that is left")
        for each in lines[last + 1 :]:
            help_ = "put it above the line without `when`"
            message = f"this `{name}` never counts: the line above it has no condition"
            program.diagnostics.error("E0608", message, each.statement.head, above, help=help_)
        lines = lines[: last + 1]
    cases = [each for each in lines if each.statement.find("cond") is not None]
    if not cases or any(each.when is None for each in cases):
        return
    conditions = [each.when for each in cases if each.when is not None]
    tried = _tried(scope, conditions, rows) or _tried(scope, conditions, RowsAsked(rows.alias))
    if tried:
        _check_tried(program, name, lines, cases, tried)


def _check_tried(
    program: Program,
    name: str,
    lines: Sequence[ConditionalLine],
    cases: Sequence[ConditionalLine],
    tried: Sequence[tuple[Try, Sequence[bool]]],
) -> None:
    ever = [any(held[place] for _, held in tried) for place in range(len(cases))]
    first = {next((place for place, holds in enumerate(held) if holds), None) for _, held in tried}
    counts = ever if name == ADDED else [place in first for place in range(len(cases))]
    for place, each in enumerate(cases):
        if not ever[place]:
            message, help_ = f"this `{name}` never counts: its condition cannot hold", "mend the condition"
            program.diagnostics.error("E0608", message, each.statement.head, help=help_)
        elif not counts[place]:
            message = f"this `{name}` never counts: a line above it holds wherever it does"
            above = Label(cases[0].statement.head, "the first line that holds counts")
            help_ = "put it above the others, or remove it"
            program.diagnostics.error("E0608", message, each.statement.head, above, help=help_)
    if name == ADDED or not all(counts):
        return
    if len(lines) > len(cases) and None not in first:
        message = f"this `{name}` never counts: the lines above it are for every value"
        help_ = "remove it, or one of the conditions"
        program.diagnostics.error("E0608", message, lines[-1].statement.head, help=help_)
    elif len(lines) == len(cases) > 1 and None in first:
        left = _left_out(tried)
        if left:
            message = f"no `{name}` is for {left}: it is left to the model there"
            help_ = f"name the values, or write a last `{name}` without `when`"
            program.diagnostics.warning("W0613", message, cases[-1].statement.head, help=help_)


def _left_out(tried: Sequence[tuple[Try, Sequence[bool]]]) -> str | None:
    """Return the values of one name that no line is for; None where more than one name decides."""
    paths = {path for given, _ in tried for path in given}
    if len(paths) != 1 or not isinstance(path := next(iter(paths)), tuple):
        return None
    values = list(dict.fromkeys(given[path] for given, held in tried if not any(held)))
    told = ", ".join(f"`{str(each).lower() if isinstance(each, bool) else each}`" for each in values[:SHOWN])
    return f"{told} and {len(values) - SHOWN} more" if len(values) > SHOWN else told


def _tried(scope: Scope, conditions: Sequence[Expr], rows: RowsAsked) -> list[tuple[Try, Sequence[bool]]] | None:
    """Return what each condition comes to for all rows that may be asked about, by what the conditions look at; None
    where that is too much, or cannot be told."""
    types = dict(_types(scope.values()))
    axes = {path: path[1:] for path, type_ in types.items() if _says_its_axis(path, type_, rows) and path[1:] in types}
    own = _looked_at(conditions, types, axes)
    values = {**own, **_looked_at(() if rows.where is None else (rows.where,), types, axes)}
    if math.prod(map(len, values.values())) > MOST_TRIED:
        return None
    tried: list[tuple[Try, Sequence[bool]]] = []
    try:
        for chosen in product(*values.values()):
            given = dict(zip(values, chosen, strict=True))
            names = _names({**given, **{path: given[axis] for path, axis in axes.items() if axis in given}})
            if rows.where is None or _holds(rows.where, given, names):
                held = [_holds(each, given, names) for each in conditions]
                tried.append(({each: given[each] for each in own}, held))
    except Unavailable:
        return None
    return tried


def _looked_at(
    conditions: Sequence[Expr], types: Mapping[Path, Type], axes: Mapping[Path, Path]
) -> dict[Path | bytes, Sequence[Any]]:
    """Return the names that conditions look at, each with all values that it may have; a comparison of anything else
    may hold or not."""
    values: dict[Path | bytes, Sequence[Any]] = {}
    for part in (part for each in conditions for part in _comparisons(each)):
        known = {path: _values(types.get(path)) for path in paths_in(part)}
        if None in known.values() or not all(map(is_evaluable, subexpressions(part))):
            values[_key(part)] = (False, True)
        else:
            values.update({axes.get(path, path): found for path, found in known.items() if found is not None})
    return values


def _says_its_axis(path: Path, type_: Type, rows: RowsAsked) -> bool:
    """Return true for the field of a row that says where it lies on an axis: it has the value that the axis has."""
    return len(path) == 2 and path[0] == rows.alias and type_.kind == "choice" and type_.axis == path[1]


def _comparisons(expr: Expr) -> Iterator[Expr]:
    """Yield what `and`, `or` and `not` put together."""
    match expr:
        case Unary(operator="not", value=value):
            yield from _comparisons(value)
        case Binary(operator="and" | "or", left=left, right=right):
            yield from _comparisons(left)
            yield from _comparisons(right)
        case _:
            yield expr


def _holds(expr: Expr, given: Try, names: Mapping[str, Any]) -> bool:
    match expr:
        case Unary(operator="not", value=value):
            return not _holds(value, given, names)
        case Binary(operator="and", left=left, right=right):
            return _holds(left, given, names) and _holds(right, given, names)
        case Binary(operator="or", left=left, right=right):
            return _holds(left, given, names) or _holds(right, given, names)
    found = given.get(_key(expr))
    return bool(evaluate(expr, names)) if found is None else bool(found)


def _key(expr: Expr) -> bytes:
    return canonical(expr.model_dump(mode="json"))


def _names(given: Try) -> dict[str, Any]:
    """Return values by name, those behind a dot in records."""
    names: dict[str, Any] = {}
    for path, value in given.items():
        at = names
        if isinstance(path, tuple):
            for part in path[:-1]:
                at = at.setdefault(part, {})
            at[path[-1]] = value
    return names


def _types(bindings: Iterator[Binding] | Any) -> Iterator[tuple[Path, Type]]:
    for each in bindings:
        if each.type is not None and each.value is None:
            yield each.path, each.type
        yield from _types(each.fields.values())


def _values(type_: Type | None) -> Sequence[Any] | None:
    """Return all values of a type that has few; None of any other."""
    if type_ is None:
        return None
    return type_.values if type_.kind == "choice" else (False, True) if type_.kind == "bool" else None
