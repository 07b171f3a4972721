"""The rows of a block: what becomes one line, or the lines of one statement that spreads over several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tripos_compiler.diagnostics.wrap import cells
from tripos_compiler.syntax.tree import Name, Syntax

FITS = 100
"""The widest line that is not broken after a comma, and whose block stays in it."""
WIDEST = 120
"""The width beyond which nothing is pushed for the sake of columns."""


@dataclass(frozen=True)
class Part:
    """An element of a head: as it is written, and what it is."""

    text: str
    node: Syntax


@dataclass
class Row:
    """One row of a block. Only the first line of `text` lacks its indentation.

    `parts` are the elements of the one statement in the row, where it has no block; `tail` is what follows them: a
    comma, and names in a list.
    """

    indent: int
    text: str
    kind: Literal["entry", "remark", "table"] = "entry"
    parts: tuple[Part, ...] = ()
    tail: str = ""
    comment: str = ""
    blank: bool = False
    """Whether a blank line stands before it."""

    @property
    def single(self) -> bool:
        """Whether it is one line."""
        return "\n" not in self.text

    @property
    def word(self) -> str:
        """The word that it begins with; empty where it begins with something else."""
        first = self.parts[0].node if self.parts else None
        return first.text if isinstance(first, Name) else ""

    @property
    def width(self) -> int:
        """The columns that its last line takes, without its comment."""
        last = self.text.rpartition("\n")[2]
        return cells(last) + (self.indent if self.single else 0)

    def lines(self, gap: int = 2) -> list[str]:
        """Its lines, with `gap` spaces before its comment."""
        text = " " * self.indent + self.text
        if self.comment:
            text += " " * gap + self.comment
        return ([""] if self.blank else []) + text.split("\n")


def lines_of(rows: list[Row]) -> list[str]:
    """The lines of rows. The comments that follow rows of one line each, next to each other, stand in a column."""
    lines: list[str] = []
    run: list[Row] = []
    for row in rows:
        if not (row.comment and row.single) or row.blank:
            lines += _commented(run)
            run = []
        if row.comment and row.single:
            run.append(row)
        else:
            lines += row.lines()
    return lines + _commented(run)


def _commented(run: list[Row]) -> list[str]:
    column = max((row.width for row in run), default=0) + 2
    pushed = any(column + cells(row.comment) > WIDEST and row.width + 2 + cells(row.comment) <= WIDEST for row in run)
    return [line for row in run for line in row.lines(2 if pushed else column - row.width)]
