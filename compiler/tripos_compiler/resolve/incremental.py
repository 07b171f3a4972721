"""Results of earlier compilations of a spec, so that a keystroke costs no more than what it changes.

A statement whose text has not changed is the same object as before (`syntax/pieces.py`); a scenario is compiled again
only where its own statement changed, or anything outside scenarios that it may look at; a data file is read again only
where the reader is another.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics
from tripos_compiler.plan import CallCount, Dataset, Made
from tripos_compiler.resolve.program import Index, KnownCopies, LoadedDataset, NamedColumn, Program
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Entry
from tripos_compiler.syntax.lexer import ParseMemory


@dataclass(frozen=True)
class Lowered:
    """Additions of the lowering of one scenario, or one data set, to a program."""

    result: Any
    diagnostics: tuple[Diagnostic, ...]
    index: Index
    columns: dict[Span, NamedColumn]
    calls: tuple[CallCount, ...]
    datasets: dict[str, Dataset]
    loaded: dict[str, LoadedDataset]
    made: dict[str, Made]

    def add_to(self, program: Program) -> None:
        """Add it all, apart from the result itself."""
        program.diagnostics.items.extend(self.diagnostics)
        program.index.add(self.index)
        program.columns.update(self.columns)
        program.calls.extend(self.calls)
        program.datasets.update(self.datasets)
        program.loaded.update(self.loaded)
        program.made.update(self.made)


@dataclass
class LoweredCache:
    """The lowered statements of one kind, as long as what they look at stays the same."""

    around: tuple[Any, ...] = ()
    """All that they may look at beside themselves."""
    lowered: dict[int, tuple[Statement, Lowered]] = field(default_factory=dict)
    """By the identity of the statement, which is kept so that it stays."""

    def enter(self, around: tuple[Any, ...]) -> None:
        """Forget everything where anything around has changed."""
        same = len(around) == len(self.around) and all(
            a is b or (isinstance(a, str | frozenset | tuple) and a == b)
            for a, b in zip(around, self.around, strict=True)
        )
        if not same:
            self.lowered.clear()
            self.around = around

    def find(self, statement: Statement) -> Lowered | None:
        """Return what a statement was lowered to, None where that is not known."""
        pair = self.lowered.get(id(statement))
        return pair[1] if pair is not None else None

    def keep(self, statement: Statement, lowered: Lowered) -> None:
        """Remembers what a statement was lowered to."""
        self.lowered[id(statement)] = (statement, lowered)

    def keep_only(self, there: set[int]) -> None:
        """Forget the statements that are no longer there."""
        self.lowered = {key: pair for key, pair in self.lowered.items() if key in there}


@dataclass
class Memory:
    """For one spec, compiled again and again by one thread."""

    parses: ParseMemory = field(default_factory=ParseMemory)
    statements: dict[int, tuple[Entry, Statement]] = field(default_factory=dict)
    """Every sound statement at the top of a file, by the identity of its entry, which is kept so that it stays."""
    scenarios: LoweredCache = field(default_factory=LoweredCache)
    datasets: LoweredCache = field(default_factory=LoweredCache)
    copies: KnownCopies = field(default_factory=KnownCopies)
    """Which fields hold what a secret field says."""

    def keep_only(self, statements: list[Statement]) -> None:
        """Forget the statements that are no longer there."""
        there = {id(statement) for statement in statements}
        self.statements = {key: pair for key, pair in self.statements.items() if id(pair[1]) in there}
        self.scenarios.keep_only(there)
        self.datasets.keep_only(there)


def fork_program(program: Program) -> Program:
    """Return the same program with tables of its own for what a scenario adds, so that this can be told and kept."""
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
        datasets=dict(program.datasets),
        loaded=dict(program.loaded),
        made=dict(program.made),
    )


def program_additions(program: Program, own: Program, result: Any) -> Lowered:
    """Return what a program made by `fork_program` has beyond the one that it was made from."""
    return Lowered(
        result,
        tuple(own.diagnostics.items),
        own.index,
        own.columns,
        tuple(own.calls),
        {name: dataset for name, dataset in own.datasets.items() if name not in program.datasets},
        {name: loaded for name, loaded in own.loaded.items() if name not in program.loaded},
        {name: made for name, made in own.made.items() if name not in program.made},
    )
