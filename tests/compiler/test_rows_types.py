"""Types as they are written in a spec, and rows as the library prints them."""

from __future__ import annotations

import pytest

from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import IntegerType, ListType, OptionalType, Type
from tripos_compiler.resolve.program import Program
from tripos_compiler.source.inputs import NoData
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse
from tripos_compiler.typecheck.types import read_type

MAYBE = OptionalType(of=IntegerType(low=1, high=5))


@pytest.mark.parametrize(
    ("text", "type_"), [("1..5?", MAYBE), ("list<1..5?>", ListType(of=MAYBE)), ("1..5", MAYBE.of), ("5..1?", None)]
)
def test_a_range_may_be_optional(text: str, type_: Type | None) -> None:
    program = Program(Diagnostics(), NoData())
    (entry,) = parse(Source("spec.tripos", f"field {text}"), program.diagnostics).entries()
    assert read_type(program, entry.elements[1]) == type_
    assert [item.code for item in program.diagnostics.items] == ([] if type_ else ["E0302"])


def test_sets_are_printed_as_sorted_lists_at_any_depth() -> None:
    value = {"tags": frozenset({"b", "a"}), "lists": [frozenset({2, 1}), {"in": frozenset()}]}
    assert FUNCTIONS["json"].python(value) == '{"tags": ["a", "b"], "lists": [[1, 2], {"in": []}]}'
