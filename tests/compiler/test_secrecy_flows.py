"""An unknown part of an expression counts as told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given, strategies as st

from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import Call, Ref
from tripos_compiler.resolve.program import Program
from tripos_compiler.secrecy.flows import Flows, SourceMap
from tripos_compiler.secrecy.labels import NONE, Flow, Secret, Secrets
from tripos_compiler.secrecy.proof import Proof
from tripos_compiler.source.inputs import NoData


def test_a_function_that_nobody_declares_is_not_taken_for_pure() -> None:
    proof = Proof(Program(Diagnostics(), NoData()), {})
    assert not proof.tables.pure("look_up")


def test_a_name_that_nobody_has_told_of_tells_everything() -> None:
    program = Program(Diagnostics(), NoData())
    tables = Proof(program, {}).tables
    secret = {Secret("item", "answer"): ()}
    everything = SimpleNamespace(everything=secret, rows=tables.rows, impure=tables.impure)
    flows = Flows({}, everything, lambda call, flow: None, SourceMap(program))
    assert flows.of(Ref(path=("ghost", "field"))).all == secret


def told_by_length(value: Flow) -> Secrets:
    """Return what the length of a value tells."""
    program = Program(Diagnostics(), NoData())
    flows = Flows({"it": value}, Proof(program, {}).tables, lambda call, flow: None, SourceMap(program))
    return flows.of(Call(function="length", args=(Ref(path=("it",)),))).all


def test_the_length_of_a_value_tells_how_many_there_are_and_of_a_text_what_it_says() -> None:
    secret, other = {Secret("item", "answer"): ()}, {Secret("item", "topic"): ()}
    assert told_by_length(Flow(secret)) == secret, "a text"
    assert told_by_length(Flow(elements=Flow(secret))) == NONE, "a list whose elements are secret"
    assert told_by_length(Flow(other, elements=Flow(secret))) == other, "a list that is as long as a secret has it"
    assert told_by_length(Flow(fields={"answer": Flow(secret)})) == secret, "a record, of which nothing is known"


def test_rows_that_a_key_picks_tell_the_keys_of_all_of_them_and_the_key() -> None:
    column, key = {Secret("item", "answer"): ()}, {Secret("item", "topic"): ()}
    names = {"items": Flow(), "keys": Flow(elements=Flow(column)), "key": Flow(key)}
    program = Program(Diagnostics(), NoData())
    flows = Flows(names, Proof(program, {}).tables, lambda call, flow: None, SourceMap(program))
    call = Call(function="picked", args=tuple(Ref(path=(name,)) for name in names))
    assert flows.of(call).all.keys() >= {*column, *key}


NUMBERS = st.sampled_from([0, 1, 1.0, 2, 2.0, 2.5, -1, 0.1, 1e16, 2**53, float(2**53)])
OTHERS = {"list": [1, 2.0], "set": [1, 2.0], "integer": 2, "text": "seed"}
"""An argument for each kind of parameter after the first."""


@given(items=st.lists(NUMBERS, min_size=1).flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_a_function_that_is_said_to_look_at_no_order_gives_the_same_in_any(items: tuple[list[Any], list[Any]]) -> None:
    for name in {name for name, each in FUNCTIONS.items() if each.ignores_order} - {"any", "all"}:
        others = [each for each in FUNCTIONS[name].parameters[1:] if each.required]
        rest = [OTHERS["list" if each.type is None else each.type.kind] for each in others]
        one, other = (FUNCTIONS[name](each, *rest) for each in items)
        assert repr(one) == repr(other), name
