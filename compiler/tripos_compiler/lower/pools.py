"""The texts that a retrieving step has embedded, as far as the compiler knows them: each is embedded once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Call, Data, Expr, Retrieve, Scenario
from tripos_compiler.program import Program
from tripos_compiler.semantics.evaluate import DATA, Unavailable, evaluate
from tripos_compiler.semantics.names import names_in, parts_of


@dataclass(frozen=True)
class Pool:
    """What a step looks through: how many different `texts` at the most, and which, where that is known. `queries` are
    the texts of the row at hand that they are compared with."""

    most: int
    texts: frozenset[str] | None
    queries: tuple[Expr, ...]


def pools(program: Program, scenario: Scenario) -> dict[str, Pool]:
    """The pool of every step that embeds."""
    return {
        step.name: _pool(program, step)
        for step in scenario.steps
        if isinstance(step, Retrieve) and step.using is not None
    }


def _pool(program: Program, step: Retrieve) -> Pool:
    sides = list(_sides(step))
    texts = _texts(program, step, [element for _, element in sides])
    most = len(set(_values(program, step.source))) * len(sides) if texts is None else len(texts)
    return Pool(most, texts, tuple(query for query, _ in sides))


def _sides(step: Retrieve) -> Iterator[tuple[Expr, Expr]]:
    """What is compared: a text of the row at hand and one of the element."""
    for part in parts_of(step.by):
        if isinstance(part, Call) and part.function == "similarity":
            one, other = [*part.args, *part.named.values()][:2]
            if names_in(other) == {step.alias} and step.alias not in names_in(one):
                yield one, other
            elif names_in(one) == {step.alias} and step.alias not in names_in(other):
                yield other, one


def _texts(program: Program, step: Retrieve, elements: list[Expr]) -> frozenset[str] | None:
    """The texts of all elements; None where they depend on the row at hand, or on rows that a run makes."""
    used = {part.dataset for part in parts_of(step.source) if isinstance(part, Data)}
    whole = all(name in program.rowsets and program.rowsets[name].known for name in used)
    if names_in(step.source) or not whole or any(part.op == "tree" for part in parts_of(step.source)):
        return None
    data = {name: [row.values for row in program.rowsets[name].rows] for name in used}
    found: set[str] = set()
    try:
        for element in evaluate(step.source, {DATA: data}):
            for expr in elements:
                try:
                    value = evaluate(expr, {step.alias: element})
                except Unavailable:
                    continue
                found |= {value} if isinstance(value, str) else set()
    except Unavailable:
        return None
    return frozenset(found)


def _values(program: Program, expr: Expr) -> Iterator[str]:
    match expr:
        case Data(dataset=name, field=field) if name in program.rowsets:
            loaded = program.rowsets[name]
            if not loaded.known:
                yield from (f"row {number}" for number in range(loaded.count))
            for row in loaded.rows:
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
