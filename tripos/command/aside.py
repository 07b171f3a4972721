"""What is said on the side, to people who may have gone: that nobody reads it must not end what is being done."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


def aside(text: str, stream: TextIO | None = None) -> None:
    """Prints a text on `stream` (standard error), if that can still be written."""
    stream = sys.stderr if stream is None else stream
    try:
        print(text, file=stream, flush=True)
    except (OSError, ValueError):
        to_nowhere(stream)


def to_nowhere(stream: TextIO) -> None:
    """Lets everything that is still written to `stream` vanish. Otherwise Python tries once more at its exit, and says
    with its exit code that it could not."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
