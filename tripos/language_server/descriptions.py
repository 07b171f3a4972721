"""What editors show about words of the language: statements, types, functions and aggregates, in Markdown."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from tripos_compiler.constructs.table import Construct
from tripos_compiler.semantics.aggregates import AGGREGATES, AggregateFunction
from tripos_compiler.semantics.library import FUNCTIONS, Function

TYPES = {
    "text": "any text",
    "integer": "a whole number; a range such as `1..5` is one between its ends",
    "number": "a number",
    "bool": "`true` or `false`",
    "dialogue": "turns, each with a speaker and a text",
    "path": "a way from the root of a tree to one of its leaves",
    "choice": "one of several names: `choice(yes, no)`",
    "list": "any number of values of one type: `list<text>`",
    "set": "different values of one type: `set<text>`",
}


def code(text: str) -> str:
    """A block of a spec."""
    return f"```tripos\n{text}\n```"


def of_construct(constructs: Iterable[Construct]) -> str:
    """The signatures of constructs that begin with one word, and what each is."""
    return "\n\n".join(f"{code(each.shape.shown)}\n{each.summary}" for each in constructs)


def of_function(function: Function) -> str:
    """The signature of a function and its documentation, with its examples."""
    return f"{code(function.shown)}\n{documentation(function)}"


def documentation(function: Function) -> str:
    """The documentation of a function, with its examples."""
    lines: list[str] = []
    inside = False
    for line in (inspect.getdoc(function.python) or "").split("\n"):
        starts = line.startswith(">>>")
        if starts and not inside:
            lines.append("```python")
        elif inside and not line:
            lines.append("```")
        inside = starts or (inside and bool(line))
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def of_aggregate(function: AggregateFunction) -> str:
    """The signature of an aggregate, what it gives, and where its formula is from."""
    source = f"\n\n{function.source}" if function.source else ""
    across = " across ROLE" if function.needs_across else ""
    return f"{code(function.shown + across)}\n{function.summary}{source}"


def of_name(name: str, *, measured: bool) -> str | None:
    """What is known of a function by its name: in a measure aggregates come first. None where there is none."""
    if measured and name in AGGREGATES:
        return of_aggregate(AGGREGATES[name])
    if name in FUNCTIONS:
        return of_function(FUNCTIONS[name])
    return of_aggregate(AGGREGATES[name]) if name in AGGREGATES else None
