"""Messages on a terminal: sentences of ours in the reader's language, in lines that a terminal has room for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO

from tripos.ui.terminal import harmless, show_text, terminal_width

NARROWEST = 20
"""Columns that the words of a message get however narrow a terminal is."""


def show_message(
    text: str, *, stderr: bool = False, stream: TextIO | None = None, flush: bool = False, whole: bool = False
) -> None:
    """Print a message in the reader's language. On a terminal its words are wrapped, and its further lines stand below
    its first; elsewhere a line stays whole, so that a log can be searched for what it says. So does on a terminal what
    is `whole`, such as a command to copy."""
    from tripos_compiler.diagnostics import localized

    stream = stream or (sys.stderr if stderr else sys.stdout)
    lines = localized(text).split("\n")
    if not whole:
        lines = [hung(line[: len(line) - len(line.lstrip(" "))], line.lstrip(" "), stream) for line in lines]
    show_text("\n".join(lines), stream=stream, flush=flush)


def show_diagnostic(kind: str, code: str, message: str, hint: str | None = None, places: Iterable[str] = ()) -> None:
    """Print an error or a warning on standard error in the form of a diagnostic, in the reader's language: its message,
    then places and notes, then how to mend it."""
    from tripos_compiler.diagnostics import localized

    colon = localized(": ")
    parts = [(f"{localized(kind)}[{code}]{colon}", message), *(("  = ", each) for each in places)]
    parts += [(f"  = {localized('help')}{colon}", hint)] if hint else []
    for begin, text in parts:
        show_text(hung(begin, harmless(localized(text)), sys.stderr), stderr=True)


def hung(begin: str, text: str, stream: TextIO) -> str:
    """Return a text that begins with something, its further lines below its first. For a terminal its words are wrapped
    too.

    >>> import io
    >>> print(hung("  = help: ", "write\\ninput = ...", io.StringIO()))
      = help: write
              input = ...
    """
    from tripos_compiler.diagnostics import display_width, wrap

    lines, width = text.splitlines(), display_width(begin)
    if stream.isatty():
        room = max(terminal_width() - width, NARROWEST)
        lines = [part for line in lines for part in ([line] if display_width(line) <= room else wrap(line, room))]
    return begin + f"\n{' ' * width}".join(lines)
