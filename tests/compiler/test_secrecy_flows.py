"""What nobody knows of an expression counts as told."""

from __future__ import annotations

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.inputs import NoData
from tripos_compiler.resolve.program import Program
from tripos_compiler.secrecy.proof import Proof


def test_a_function_that_nobody_declares_is_not_taken_for_pure() -> None:
    proof = Proof(Program(Diagnostics(), NoData()), {})
    assert not proof.tables.pure("look_up")
