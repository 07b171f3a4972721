"""A model call of a program: its name, and who makes it."""

from __future__ import annotations

from typing import NamedTuple

from tripos_compiler.plan import Ask, Converse, Judging


class Call(NamedTuple):
    """One model call of a unit or of a pair: the table that keeps it, its name there, and who makes it. A turn is
    `part_of` a conversation."""

    table: str
    name: str
    role: str
    model: str
    step: Ask | Converse | Judging
    part_of: str = ""
