"""A terminal: its width, its colours, and text that nothing in it obeys."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import unicodedata
from typing import TextIO


def harmless(text: str) -> str:
    """Return a text without anything that a terminal would obey: control characters are spelt out, and so are marks
    that change the direction of what follows; line ends and tabs stay.

    >>> harmless("red \\x1b[31m, bell \\x07, turned \\u202e")
    'red \\\\x1b[31m, bell \\\\x07, turned \\\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in "\n\t" or not _obeyed(char) else _spelt(char) for char in text)


def _obeyed(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\u200c\u200d"


def _spelt(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def print_stderr(text: str, stream: TextIO | None = None) -> None:
    """Print a text on `stream` (standard error), if that can still be written."""
    stream = sys.stderr if stream is None else stream
    try:
        print(text, file=stream, flush=True)
    except (OSError, ValueError):
        to_nowhere(stream)


def print_json(value: object) -> None:
    """Print a value on standard output, as indented JSON."""
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def to_nowhere(stream: TextIO) -> None:
    """Let everything that is still written to `stream` vanish. Otherwise Python tries once more at its exit, and says
    with its exit code that it could not."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def terminal_width() -> int:
    """Return the width of the terminal, or what `COLUMNS` says; 80 where there is neither."""
    return shutil.get_terminal_size((80, 24)).columns


def is_colored(stream: TextIO) -> bool:
    """Return true if to write colours: on a terminal, unless `NO_COLOR` is set, and anywhere where `FORCE_COLOR` is.

    `NO_COLOR` wins; a variable that is set to nothing does not count (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
