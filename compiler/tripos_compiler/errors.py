"""The error of Tripos that a user can act on, and the exit codes of its commands."""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """How a command ended."""

    SUCCESS = 0
    SOME_FAILED = 1
    """Some samples failed, or the run had to stop."""
    USAGE = 2
    """A wrong spec or command."""
    INTERNAL = 70
    """A bug in Tripos."""
    SUBMITTED = 75
    """Batches are still running at their providers."""
    EXPECTATION_FAILED = 100
    """An `expect` failed, or a comparison with `--fail-on`."""
    INTERRUPTED = 130
    """Ctrl-C."""


class TriposError(Exception):
    """A failure that the user can act on. `hint` says how, or is empty; `tripos explain CODE` describes the code. A
    command that raises it ends with `exit_code`.

    >>> print(TriposError("R0201", "no model fills the role `judge`", "give one"))
    R0201: no model fills the role `judge`
      help: give one
    """

    def __init__(self, code: str, message: str, hint: str | None = None, exit_code: ExitCode = ExitCode.USAGE) -> None:
        self.code = code
        self.message = message
        self.hint = hint or ""
        self.exit_code = exit_code

    def __str__(self) -> str:
        text = f"{self.code}: {self.message}"
        return f"{text}\n  help: {self.hint}" if self.hint else text

    def with_exit_code(self, exit_code: ExitCode) -> Self:
        """Set the exit code, and return the error itself."""
        self.exit_code = exit_code
        return self
