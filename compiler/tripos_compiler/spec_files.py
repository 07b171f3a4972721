"""The files of a spec: follows `use` and reads every file once."""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.memory import Memory
from tripos_compiler.program import Program, ReadText, beside
from tripos_compiler.source import Source
from tripos_compiler.statements import read_statements
from tripos_compiler.syntax.parse import parse


@dataclass(frozen=True)
class SpecFiles:
    """Reads files into a program's sources."""

    program: Program
    read: ReadText
    memory: Memory | None

    def load(self, source: Source) -> tuple[list[Statement], list[Statement]]:
        """The statements of a file and of those that it uses, and among them each `use release`."""
        statements: list[Statement] = []
        self._load(source, (source.path,), set(), statements)
        return statements, [each for each in statements if each.construct == "use_release"]

    def _load(self, source: Source, chain: tuple[str, ...], loaded: set[str], into: list[Statement]) -> None:
        program, memory = self.program, self.memory
        loaded.add(source.path)
        program.sources.append(source)
        block = parse(source, program.diagnostics, memory.parses if memory is not None else None)
        known = memory.statements if memory is not None else None
        statements = read_statements(block, program.diagnostics, known=known)
        into.extend(statements)
        for statement in statements:
            if statement.construct != "use":
                continue
            text = statement.text("path")
            path = beside(source.path, text.value)
            if path in chain:
                circle = " → ".join([*chain[chain.index(path) :], path])
                message = f"`use` goes in a circle: {circle}"
                program.diagnostics.error("E0203", message, text.span, help="remove one of these `use` lines")
                continue
            if path in loaded:
                continue
            try:
                used = Source(path, self.read(path))
            except (OSError, ValueError) as error:  # a name with a null character is a `ValueError`
                program.diagnostics.lost_files = True
                reason = "there is no such file" if isinstance(error, FileNotFoundError) else _reason(error)
                message = f"cannot use `{text.value}`: {reason}"
                program.diagnostics.error("E0108", message, text.span, help=f"looked for `{path}`")
                continue
            self._load(used, (*chain, path), loaded, into)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "that is no name of a file"
