"""The meaning of errors that libraries and the system raise: their first line, interrupts, and full disks."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from tripos_compiler.errors import TriposError


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the name of its class if it has no message.

    >>> first_line(OSError("no room\\ntry again")), first_line(OSError())
    ('no room', 'OSError')
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL_TEXTS = ("No space left on device", "Disk quota exceeded")
"""Messages of Arrow and DuckDB about a full disk. These errors carry no `errno`."""


def is_interrupt(error: BaseException) -> bool:
    """Return true if an error was caused by Ctrl-C. DuckDB reports an interrupted query as an error of its own.

    >>> is_interrupt(RuntimeError("Query interrupted")), is_interrupt(RuntimeError("no"))
    (True, False)
    """
    return any(
        isinstance(cause, KeyboardInterrupt)
        or type(cause).__name__ == "InterruptException"
        or (isinstance(cause, RuntimeError) and str(cause) == "Query interrupted")
        for cause in _causes(error)
    )


@contextlib.contextmanager
def explain_interrupt(what: str) -> Iterator[None]:
    """Raise a `KeyboardInterrupt` if the block is interrupted, also in a query of the database. Its message says that
    `what` was interrupted, and that the results are stored."""
    try:
        yield
    except BaseException as error:
        if not is_interrupt(error):
            raise
        raise KeyboardInterrupt(f"{what} was interrupted: the results are kept, and asking again makes it") from None


def disk_failure(error: BaseException) -> TriposError | None:
    """Return the failure of a command whose disk is full, or None if the error has another cause. A `TriposError` keeps
    its code; if its message does not say that the disk is full, this is put before it.

    >>> full = disk_failure(OSError(errno.ENOSPC, "No space left on device", "/tmp/x"))
    >>> full and full.message
    'the disk is full: `/tmp/x`'
    """
    hint = "free some space and run the same command again; everything that was kept so far stays"
    for cause in _causes(error):
        full = isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRNOS
        if full or any(text in str(cause) for text in DISK_FULL_TEXTS):
            if isinstance(error, TriposError):
                named = "the disk is full" in error.message
                return (
                    error
                    if named
                    else TriposError(error.code, f"the disk is full: {error.message}", hint, error.exit_code)
                )
            path = getattr(cause, "filename", None) or getattr(cause, "filename2", None)
            where = f": `{path}`" if path else f": {' '.join(str(cause).split())}"
            return TriposError("S0102", f"the disk is full{where}", hint)
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and the errors that it was raised from, the outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
