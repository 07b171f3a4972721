"""What nobody knows of an expression counts as told."""

from __future__ import annotations

from types import SimpleNamespace

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.plan import Ref
from tripos_compiler.resolve.program import Program
from tripos_compiler.secrecy.flows import Flows, SourcePlaces
from tripos_compiler.secrecy.labels import Secret
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
    flows = Flows({}, everything, lambda call, flow: None, SourcePlaces(program))
    assert flows.of(Ref(path=("ghost", "field"))).all == secret
