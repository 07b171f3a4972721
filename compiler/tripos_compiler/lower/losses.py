"""What was reported and left out, and so is not missed a second time."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.program import Program


def lost_part(program: Program, statement: Statement) -> bool:
    """Whether a part of a statement's block was reported and left out: it may be whatever is missing."""
    lost = program.diagnostics
    return lost.lost_files or (statement.block is not None and statement.block.span in lost.lost_blocks)


def forget(program: Program, mark: int, *codes: str) -> None:
    """Takes back what was reported with these codes since there were `mark` diagnostics."""
    items = program.diagnostics.items
    items[mark:] = [item for item in items[mark:] if item.code not in codes]
