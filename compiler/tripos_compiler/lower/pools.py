"""How many texts of its source a retrieving step looks through: each is embedded once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tripos_compiler.plan import Call, Data, Expr, Retrieve, Scenario
from tripos_compiler.program import Program


def pools(program: Program, scenario: Scenario) -> dict[str, int]:
    """For every step that embeds, how many different texts its source has, where the compiler has read them."""
    return {
        step.name: len(set(_values(program, step.source)))
        for step in scenario.steps
        if isinstance(step, Retrieve) and step.using is not None
    }


def _values(program: Program, expr: Expr) -> Iterator[str]:
    match expr:
        case Data(dataset=name, field=field) if name in program.rowsets:
            for row in program.rowsets[name].rows:
                yield from _flat(row.values if field is None else row.values[field])
        case Call(function="picked", args=(items, *_)):
            yield from _values(program, items)  # for all keys together
        case Call(args=args):
            for each in args:
                yield from _values(program, each)


def _flat(value: Any) -> Iterator[str]:
    if isinstance(value, list | set | frozenset | tuple):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield str(value)
