"""The one way in which a command fails: a code, what is wrong, and how to mend it.

Two things may come anywhere in a command and are no bug: an interrupt of the database, and a full disk.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

GOOD, SOME_FAILED, USAGE, SUBMITTED, NOT_HELD, INTERRUPTED = 0, 1, 2, 75, 100, 130
"""Exit codes: all well; some samples failed, or the run had to stop; a wrong spec or command; batches are under way at
their providers; an `expect` did not hold; Ctrl-C."""


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


FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_TEXTS = ("No space left on device", "Disk quota exceeded")
"""How Arrow and DuckDB say it, without a number."""


def is_interrupt(error: BaseException) -> bool:
    """Return true if an error comes of Ctrl-C: DuckDB says so in errors of its own.

    >>> is_interrupt(RuntimeError("Query interrupted")), is_interrupt(RuntimeError("no"))
    (True, False)
    """
    return any(
        isinstance(each, KeyboardInterrupt)
        or type(each).__name__ == "InterruptException"
        or (isinstance(each, RuntimeError) and str(each) == "Query interrupted")
        for each in _causes(error)
    )


@contextlib.contextmanager
def told_interrupts(what: str) -> Iterator[None]:
    """Raise `KeyboardInterrupt` with what was interrupted and what is kept, where the database was interrupted in the
    middle of a query and says so in an error of its own."""
    try:
        yield
    except BaseException as error:
        if not is_interrupt(error):
            raise
        raise KeyboardInterrupt(f"{what} was interrupted: the results are kept, and asking again makes it") from None


def disk_failure(error: BaseException) -> Failure | None:
    """Return the failure of a command that found the disk full; None where an error has another reason. A failure that
    does not name the disk is told with it, and keeps its code.

    >>> print(disk_failure(OSError(errno.ENOSPC, "No space left on device", "/tmp/x")))
    the disk is full: `/tmp/x`
    """
    hint = "free some space and run the same command again; everything that was kept so far stays"
    for each in _causes(error):
        full = isinstance(each, OSError) and each.errno in FULL
        if full or any(text in str(each) for text in FULL_TEXTS):
            if isinstance(error, Failure):
                named = "the disk is full" in error.message
                return error if named else Failure(error.code, f"the disk is full: {error}", hint, error.exit_code)
            path = getattr(each, "filename", None) or getattr(each, "filename2", None)
            where = f": `{path}`" if path else f": {' '.join(str(each).split())}"
            return Failure("S0102", f"the disk is full{where}", hint)
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Return an error and what it was raised from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
