"""A terminal: its width, its colours, and text that nothing in it obeys."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import unicodedata
from typing import TextIO

from tripos.ui.encodings import escaped, json_for, spelt


def harmless(text: str) -> str:
    """Return a text without anything that a terminal would obey: control characters are spelt out, and so are marks
    that change the direction of what follows; line ends and tabs stay.

    >>> harmless("red \\x1b[31m, bell \\x07, turned \\u202e")
    'red \\\\x1b[31m, bell \\\\x07, turned \\\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if not _is_obeyed(char) else spelt(char) for char in text)


def harmless_json(text: str) -> str:
    """Return JSON that says the same. What a terminal would obey stands in its texts alone, and is escaped there.

    >>> harmless_json('"turned \u202e"')
    '"turned \\\\u202e"'
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(escaped(char) if _is_obeyed(char) else char for char in text)


def with_marks(text: str) -> str:
    """Return a text of the same length, with U+FFFD for everything that a terminal would obey.

    >>> with_marks("red \\x1b[31m")
    'red �[31m'
    """
    return text if text.isascii() and text.isprintable() else "".join("\ufffd" if _is_obeyed(c) else c for c in text)


def _is_obeyed(char: str) -> bool:
    return (
        char not in "\n\t"
        and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and char not in "\u200c\u200d"
    )


_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")
"""Colours and weights, which change how a text looks and nothing else."""


def show_text(
    *texts: object,
    sep: str = " ",
    end: str = "\n",
    stderr: bool = False,
    stream: TextIO | None = None,
    flush: bool = False,
    styled: bool = False,
) -> None:
    """Print texts as `print` does, with nothing in them that a terminal would obey. This is the one way to a terminal:
    a name of a folder or a text of a benchmark may hold anything. A `styled` text keeps its colours."""
    stream = stream or (sys.stderr if stderr else sys.stdout)
    whole = sep.join(map(str, texts)) + end
    parts = _STYLE.split(whole) if styled else [whole]
    clean = "".join(part if place % 2 else harmless(part) for place, part in enumerate(parts))
    print(clean, file=stream, end="", flush=flush)


def show_json(text: str) -> None:
    """Print JSON on standard output."""
    print(json_for(harmless_json(text), sys.stdout).removesuffix("\n"), flush=True)


def show_output(text: str) -> None:
    """Print what a program reads, such as CSV, on standard output: as it is and in UTF-8, as in a file, except on a
    terminal."""
    terminal = sys.stdout.isatty()
    if not terminal and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(harmless(text) if terminal else text, end="")


def print_stderr(text: str, stream: TextIO | None = None) -> None:
    """Print a text on `stream` (standard error), if that can still be written."""
    stream = sys.stderr if stream is None else stream
    try:
        show_text(text, stream=stream, flush=True)
    except (OSError, ValueError):
        to_nowhere(stream)


def print_json(value: object) -> None:
    """Print a value on standard output, as indented JSON."""
    import json

    show_json(json.dumps(value, ensure_ascii=False, indent=2))


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


def table_width() -> int:
    """Return the cells that a table on standard output may take: as many as it needs where that is no terminal, since
    who reads it from a pipe or a file wants it whole. `COLUMNS` sets them anywhere."""
    from tripos_warehouse.formats import UNBOUNDED

    bounded = os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()
    return terminal_width() if bounded else UNBOUNDED


def is_colored(stream: TextIO) -> bool:
    """Return true if to write colours: on a terminal, unless `NO_COLOR` is set, and anywhere where `FORCE_COLOR` is.

    `NO_COLOR` wins; a variable that is set to nothing does not count (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
