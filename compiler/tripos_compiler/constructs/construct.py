"""A construct: a kind of statement, where it may stand, and how it is written."""

from __future__ import annotations

from functools import cached_property

from tripos_compiler.constructs.signature import Signature
from tripos_compiler.source import dataclass

FILE = "file"
"""The body of a file."""


@dataclass(frozen=True)
class Construct:
    """A kind of statement. `keyword` is empty for the free entries of a body: fields, values of an axis.

    `body` names the table its own block is read with; None where the block is data for the construct itself. `once`
    says that a second one in the same block is a mistake.
    """

    name: str
    inside: tuple[str, ...]
    signature: str
    summary: str
    body: str | None = None
    keyword: str | None = None
    once: bool = False
    for_each_condition: bool = False
    """Whether further ones may stand in a block that have a condition."""

    @property
    def starts_with(self) -> str:
        """The word a statement of this kind begins with; empty for a free entry."""
        return self.name if self.keyword is None else self.keyword

    @cached_property
    def shape(self) -> Signature:
        """The parsed signature."""
        return Signature(self.signature)
