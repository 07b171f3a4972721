"""`tripos teach`: a person teaches where a model would, turn by turn, in the terminal."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from dataclasses import dataclass
from typing import TextIO

from tripos.cli.runs import run
from tripos.ui import Failure, harmless, terminal_width
from tripos_compiler.diagnostics import localized
from tripos_runtime.drivers import HumanModel
from tripos_runtime.models import Message
from tripos_warehouse.formats import fold

PATIENCE_S = 30 * 86_400.0
"""A person may think for as long as they like."""
HELP = "end a turn with an empty line; Ctrl-D leaves, and the same command goes on from there"
INDENT = "  "


def main(options: Namespace) -> int:
    """Run a benchmark with a person in the compared role; exit codes are those of `tripos run`."""
    name = f"human/{options.name}"
    if not options.name or "," in options.name or "/" in options.name or options.name != options.name.strip():
        raise Failure("R0202", f"`--name {options.name}` is no name of a person", "write one such as --name anna")
    if options.model:
        raise Failure("R0202", "`--model` fills the role that you take yourself", "leave it out, or use `tripos run`")
    if options.dry_run or options.json:
        raise Failure("R0202", "nothing is taught with `--dry-run` or `--json`", "use `tripos run` for these")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a byte that is no text must not end a lesson
    options.model = [name]
    options.timeout = options.patience = PATIENCE_S
    return run.main(options, {name: HumanModel(name, Terminal(sys.stdin, sys.stdout))})


@dataclass
class Terminal:
    """A person at a terminal, or at the two ends of a pipe."""

    heard: TextIO
    shown: TextIO
    _first: bool = True

    def begin(self, messages: tuple[Message, ...]) -> None:
        """Show what the person is told, and all turns so far."""
        lines = ["", "─" * min(terminal_width(), 80)]
        if self._first:
            lines += [*fold(localized(HELP), terminal_width()), ""]
        self._first = False
        self._write(lines)
        self.hear(messages)

    def hear(self, messages: tuple[Message, ...]) -> None:
        """Show turns, those of the person too where a conversation is gone on with."""
        heads = {"system": "you are told", "user": "to you", "assistant": "you said"}
        for message in messages:
            self._write([localized(heads[message.role]), *_indented(message.content), ""])

    def say(self) -> str | None:
        """Return the lines up to an empty one, of which there must be any; None at the end of all input."""
        lines: list[str] = []
        self._prompt()
        while line := self.heard.readline():
            if line.strip():
                lines.append(line.rstrip("\r\n"))
            elif lines:
                return "\n".join(lines)
            self._prompt()
        return "\n".join(lines) or None

    def _prompt(self) -> None:
        self.shown.write("> ")
        self.shown.flush()

    def _write(self, lines: list[str]) -> None:
        self.shown.write("".join(f"{line}\n" for line in lines))
        self.shown.flush()


def _indented(text: str) -> list[str]:
    room = terminal_width() - len(INDENT)
    return [f"{INDENT}{part}" for line in harmless(text).splitlines() for part in fold(line, room)]
