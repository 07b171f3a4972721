"""What earlier compilations of a spec came to, so that a keystroke costs no more than what it changes.

A statement whose text has not changed is the same object as before (`syntax/memory.py`); a scenario is compiled again
only where its own statement changed, or anything outside scenarios that it may look at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import Diagnostic, Diagnostics
from tripos_compiler.index import Index
from tripos_compiler.plan import CallCount, Dataset, Made, Reveal, Scenario
from tripos_compiler.program import NamedColumn, Program
from tripos_compiler.source import Span
from tripos_compiler.syntax.memory import ParseMemory
from tripos_compiler.syntax.tree import Entry


@dataclass(frozen=True)
class Lowered:
    """What the lowering of one scenario adds to a program."""

    scenario: Scenario | None
    diagnostics: tuple[Diagnostic, ...]
    index: Index
    columns: dict[Span, NamedColumn]
    calls: tuple[CallCount, ...]
    reveals: tuple[Reveal, ...]
    datasets: dict[str, Dataset]
    made: dict[str, Made]

    def add_to(self, program: Program) -> None:
        """Adds it all, apart from the scenario itself."""
        program.diagnostics.items.extend(self.diagnostics)
        program.index.add(self.index)
        program.columns.update(self.columns)
        program.calls.extend(self.calls)
        program.reveals.extend(each for each in self.reveals if each not in program.reveals)
        program.datasets.update(self.datasets)
        program.made.update(self.made)


@dataclass
class Memory:
    """For one spec, compiled again and again by one thread."""

    parses: ParseMemory = field(default_factory=ParseMemory)
    statements: dict[int, tuple[Entry, Statement]] = field(default_factory=dict)
    """Every sound statement at the top of a file, by the identity of its entry, which is kept so that it stays."""
    scenarios: dict[int, tuple[Statement, Lowered]] = field(default_factory=dict)
    around: tuple[Any, ...] = ()
    """What the kept scenarios were compiled in."""

    def keep_only(self, statements: list[Statement]) -> None:
        """Forgets the statements that are no longer there."""
        there = {id(statement) for statement in statements}
        self.statements = {key: pair for key, pair in self.statements.items() if id(pair[1]) in there}
        self.scenarios = {key: pair for key, pair in self.scenarios.items() if key in there}

    def enter(self, around: tuple[Any, ...]) -> None:
        """Forgets the scenarios where anything that they may look at has changed."""
        same = len(around) == len(self.around) and all(
            a is b or (isinstance(a, str | frozenset) and a == b) for a, b in zip(around, self.around, strict=True)
        )
        if not same:
            self.scenarios.clear()
            self.around = around


def apart(program: Program) -> Program:
    """The same program with tables of its own for what a scenario adds, so that this can be told and kept."""
    diagnostics = Diagnostics(
        lost_names=program.diagnostics.lost_names,
        lost_blocks=program.diagnostics.lost_blocks,
        lost_files=program.diagnostics.lost_files,
    )
    return replace(
        program,
        diagnostics=diagnostics,
        index=Index(),
        columns={},
        calls=[],
        reveals=[],
        datasets=dict(program.datasets),
        made=dict(program.made),
    )


def difference(program: Program, own: Program, scenario: Scenario | None) -> Lowered:
    """What a program made by `apart` has beyond the one that it was made from."""
    return Lowered(
        scenario,
        tuple(own.diagnostics.items),
        own.index,
        own.columns,
        tuple(own.calls),
        tuple(own.reveals),
        {name: dataset for name, dataset in own.datasets.items() if name not in program.datasets},
        {name: made for name, made in own.made.items() if name not in program.made},
    )
