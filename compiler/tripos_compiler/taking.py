"""What a spec takes of a release: all that it declares, or what is named with all that this needs."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.program import Program
from tripos_compiler.releases import FoundRelease


def take(program: Program, use: Statement, release: FoundRelease, whole: list[Statement]) -> list[Statement]:
    """The statements of a release that a `use release` brings in."""
    return whole
