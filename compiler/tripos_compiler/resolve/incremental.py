"""Cache of an earlier compilation, for the language server: a keystroke costs only what it changes.

A statement with unchanged text is the same object as before. A scenario is lowered again only if its own statement
changed, or anything outside scenarios that it can refer to. A data file is read again only if the reader changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import Any

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Diagnostics
from tripos_compiler.plan import CallCount, Dataset, GeneratedDataset
from tripos_compiler.resolve.program import Index, KnownCopies, LoadedDataset, NamedColumn, Program
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import Span
from tripos_compiler.source.tree import Entry
from tripos_compiler.syntax.lexer import ParseMemory


@dataclass(frozen=True)
class Lowered:
    """Everything that lowering one scenario or data set added to a program."""

    result: Any
    diagnostics: tuple[Diagnostic, ...]
    index: Index
    columns: dict[Span, NamedColumn]
    calls: tuple[CallCount, ...]
    datasets: dict[str, Dataset]
    loaded: dict[str, LoadedDataset]
    generated: dict[str, GeneratedDataset]
    failures: int

    def add_to(self, program: Program) -> None:
        """Add everything except the result itself to a program."""
        program.diagnostics.extend(self.diagnostics, self.failures)
        program.index.add(self.index)
        program.columns.update(self.columns)
        program.calls.extend(self.calls)
        program.datasets.update(self.datasets)
        program.loaded.update(self.loaded)
        program.generated.update(self.generated)


@dataclass
class LoweredCache:
    """Lowered statements of one kind, valid while the surroundings they depend on are unchanged."""

    surroundings: tuple[Any, ...] = ()
    """Everything outside a statement that its lowering can depend on."""
    lowered: dict[int, tuple[Statement, Lowered]] = field(default_factory=dict)
    """By the identity of the statement. The statement is stored too, so that its identity is not reused."""

    def enter(self, surroundings: tuple[Any, ...]) -> None:
        """Clear the cache if the surroundings changed."""
        same = len(surroundings) == len(self.surroundings) and all(
            a is b or (isinstance(a, str | frozenset | tuple) and a == b)
            for a, b in zip(surroundings, self.surroundings, strict=True)
        )
        if not same:
            self.lowered.clear()
            self.surroundings = surroundings

    def find(self, statement: Statement) -> Lowered | None:
        """Return the lowering of a statement, or None."""
        pair = self.lowered.get(id(statement))
        return pair[1] if pair is not None else None

    def keep(self, statement: Statement, lowered: Lowered) -> None:
        """Store the lowering of a statement."""
        self.lowered[id(statement)] = (statement, lowered)

    def keep_only(self, identities: set[int]) -> None:
        """Drop the statements that no longer exist. `identities` are those of the statements that do."""
        self.lowered = {key: pair for key, pair in self.lowered.items() if key in identities}


@dataclass(frozen=True)
class Expansion:
    """Statements that are written out, and those that they are made of, which keep their identity meanwhile."""

    sources: tuple[Statement, ...]
    result: tuple[Statement, ...]


@dataclass
class Memory:
    """Cache for one spec that is compiled repeatedly by one thread."""

    parses: ParseMemory = field(default_factory=ParseMemory)
    statements: dict[int, tuple[Entry, Statement]] = field(default_factory=dict)
    """Every valid top-level statement, by the identity of its entry. The entry is stored too, so that its identity is
    not reused.
    """
    scenarios: LoweredCache = field(default_factory=LoweredCache)
    datasets: LoweredCache = field(default_factory=LoweredCache)
    copies: KnownCopies = field(default_factory=KnownCopies)
    """The fields found to copy secret fields."""
    expansions: dict[tuple[int, ...], Expansion] = field(default_factory=dict)
    """Statements that were written out, by the identity of those that they are made of."""
    used: dict[tuple[int, ...], Expansion] = field(default_factory=dict)
    """The expansions of the current compilation."""

    def keep_only(self, statements: list[Statement]) -> None:
        """Drop the statements that no longer exist."""
        self.expansions, self.used = self.used, {}
        sources = (source for expansion in self.expansions.values() for source in expansion.sources)
        identities = {id(statement) for statement in (*statements, *sources)}
        self.statements = {key: pair for key, pair in self.statements.items() if id(pair[1]) in identities}
        self.scenarios.keep_only(identities)
        self.datasets.keep_only(identities)


def expanded_once(
    memory: Memory | None, program: Program, sources: tuple[Statement, ...], expand: Callable[[], Iterable[Statement]]
) -> tuple[Statement, ...]:
    """Return what `expand` makes of some statements; from the memory, if it made it before without a message."""
    key = tuple(map(id, sources))
    known = memory.used.get(key) or memory.expansions.get(key) if memory is not None else None
    if known is None:
        before = program.diagnostics.size
        known = Expansion(sources, tuple(expand()))
        if before != program.diagnostics.size:
            return known.result
    if memory is not None:
        memory.used[key] = known
    return known.result


def fork_program(program: Program) -> Program:
    """Return a copy of the program with separate tables for the additions of one scenario, so that they can be
    stored.
    """
    diagnostics = Diagnostics(
        skipped_names=program.diagnostics.skipped_names,
        skipped_blocks=program.diagnostics.skipped_blocks,
        skipped_files=program.diagnostics.skipped_files,
    )
    return replace(
        program,
        diagnostics=diagnostics,
        index=Index(),
        columns={},
        calls=[],
        datasets=dict(program.datasets),
        loaded=dict(program.loaded),
        generated=dict(program.generated),
    )


def program_additions(program: Program, own: Program, result: Any) -> Lowered:
    """Return what a program made by `fork_program` has in addition to the original."""
    return Lowered(
        result,
        tuple(own.diagnostics.items),
        own.index,
        own.columns,
        tuple(own.calls),
        {name: dataset for name, dataset in own.datasets.items() if name not in program.datasets},
        {name: loaded for name, loaded in own.loaded.items() if name not in program.loaded},
        {name: dataset for name, dataset in own.generated.items() if name not in program.generated},
        own.diagnostics.failures,
    )
