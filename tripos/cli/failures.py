"""Failures of commands on standard error, in the form of diagnostics."""

from __future__ import annotations

import os
import sys

from tripos.failure import Failure
from tripos.settings import key_values, without_keys
from tripos.ui import show_text

NARROWEST = 20
"""Columns that the words of a message get however narrow a terminal is."""
LONGEST = 2_000
"""Characters of a message that are shown. It may quote a name out of a file, and a name may be as long as the file."""


def show_failure(failure: Failure) -> None:
    """Print a failure on standard error, in the form of a diagnostic, without any key and with nothing in it that a
    terminal would obey."""
    from tripos.ui import harmless
    from tripos_compiler.diagnostics import localized

    secrets, colon = key_values(os.environ), localized(": ")
    error, mend = f"{localized('error')}[{failure.code}]{colon}", f"  = {localized('help')}{colon}"
    for begin, text in ((error, failure.message), (mend, failure.hint)):
        if text:
            show_text(_hung(begin, _cut(harmless(without_keys(localized(text), secrets)))), stderr=True)
    show_text(localized(f"  = more: tripos explain {failure.code}"), stderr=True)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"


def _hung(begin: str, text: str) -> str:
    """Return a text that begins with something, its further lines below its first. For a terminal its words are wrapped
    too; elsewhere a line stays whole, so that a log can be searched for what it says.

    >>> print(_hung("  = help: ", "write\\ninput = ..."))
      = help: write
              input = ...
    """
    from tripos_compiler.diagnostics import display_width, wrap

    lines, width = text.splitlines(), display_width(begin)
    if sys.stderr.isatty():
        from tripos.ui import terminal_width

        lines = [part for line in lines for part in wrap(line, max(terminal_width() - width, NARROWEST))]
    return begin + f"\n{' ' * width}".join(lines)
