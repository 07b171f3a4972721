"""The one way in which a command fails: a code, what is wrong, and how to mend it."""

from __future__ import annotations

GOOD, SOME_FAILED, USAGE, NOT_HELD, INTERRUPTED = 0, 1, 2, 100, 130
"""Exit codes: all well; some samples failed, or the run had to stop; a wrong spec or command; an `expect` did not hold;
Ctrl-C."""


class Failure(Exception):
    """Ends a command with a message and an exit code; never with a traceback."""

    def __init__(self, code: str, message: str, hint: str | None = None, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


def first_line(error: Exception) -> str:
    """Return the first line of the message of an error, or its class where it has none.

    >>> first_line(OSError("no room\\ntry again")), first_line(OSError())
    ('no room', 'OSError')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
