"""Panics of the client of object stores, as errors: a panic of Rust is no `Exception`, and prints itself.

The client panics over some settings and credentials, such as a token with a line break, where it should raise.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from obstore.exceptions import BaseError

_NAME = "PanicException"
"""The class of all panics, which no module has."""
_STDERR = 2
_hushing = threading.Lock()


class ClientPanicError(BaseError):
    """The client of an object store could not go on. To try again is in vain."""


@contextmanager
def panics_as_errors(*, hushed: bool = False) -> Iterator[None]:
    """Raise `ClientPanicError` for a panic of the client. What the panic prints on standard error is dropped if it is
    `hushed`: then all that is written there meanwhile waits until the end."""
    with ExitStack() as stack:
        if hushed:
            stack.enter_context(_hushed())
        try:
            yield
        except BaseException as error:
            if type(error).__name__ != _NAME:
                raise
            said = (str(error).splitlines() or ["it gave no reason"])[0]
            raise ClientPanicError(f"its client failed over a setting or a credential: {said}") from error


@contextmanager
def _hushed() -> Iterator[None]:
    with _hushing, tempfile.TemporaryFile() as kept:
        try:
            before = os.dup(_STDERR)
        except OSError:  # there is no standard error
            yield
            return
        os.dup2(kept.fileno(), _STDERR)
        panicked = False
        try:
            yield
        except ClientPanicError:
            panicked = True
            raise
        finally:
            os.dup2(before, _STDERR)
            os.close(before)
            if not panicked:
                kept.seek(0)
                while part := kept.read(2**16):
                    os.write(_STDERR, part)
