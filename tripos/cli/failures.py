"""Failures of commands on standard error, in the form of diagnostics."""

from __future__ import annotations

import os
import sys

from tripos.failure import Failure
from tripos.settings import key_values, without_keys
from tripos.ui import hung, show_text

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
            show_text(hung(begin, _cut(harmless(without_keys(localized(text), secrets))), sys.stderr), stderr=True)
    show_text(localized(f"  = more: tripos explain {failure.code}"), stderr=True)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST:,} more characters)"
