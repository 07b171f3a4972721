"""A terminal: its width, its colors, and text that cannot control it.

A character that the encoding of a stream cannot express is written in ASCII instead of being lost. Messages are in the
reader's language and wrapped to the width of the terminal.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable
from typing import TextIO

from tripos_compiler.diagnostics.i18n import localized

ERRORS = "tripos.shown"
"""The name under which Python's codecs know what is written instead of such a character."""
SIGNS = {
    "─": "-",
    "━": "=",
    "—": "-",
    "–": "-",
    "−": "-",
    "…": "...",
    "±": "+-",
    "·": "-",
    "×": "x",
    "→": "->",
    "≤": "<=",
    "²": "^2",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
}
"""Signs of tables and sentences, which ASCII has under another form. Every other character is shown by its number."""
LAST_OF_UNICODE_16 = 0xFFFF


def write_every_character() -> None:
    """Let standard output and standard error take every character, whatever their encoding is."""
    codecs.register_error(ERRORS, _shown)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def spelt(char: str) -> str:
    r"""Return the number of a character, as Python writes it.

    >>> print(spelt("\x1b"), spelt("学"), spelt("🎓"))
    \x1b \u5b66 \U0001f393
    """
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code <= LAST_OF_UNICODE_16 else f"\\U{code:08x}"


def escaped(char: str) -> str:
    r"""Return a character as JSON escapes it.

    >>> print(escaped("学"), escaped("🎓"))
    \u5b66 \ud83c\udf93
    """
    code = ord(char)
    if code <= LAST_OF_UNICODE_16:
        return f"\\u{code:04x}"
    rest = code - LAST_OF_UNICODE_16 - 1
    return f"\\u{0xD800 + (rest >> 10):04x}\\u{0xDC00 + (rest & 0x3FF):04x}"


def json_for(text: str, stream: TextIO) -> str:
    r"""Return JSON that says the same in the characters that a stream can write.

    >>> print(json_for('"é学"', io.TextIOWrapper(io.BytesIO(), "cp1252")))
    "é\u5b66"
    """
    encoding = getattr(stream, "encoding", None)
    if text.isascii() or not encoding or _takes(text, encoding):
        return text
    return "".join(char if _takes(char, encoding) else escaped(char) for char in text)


def _takes(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _shown(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(SIGNS.get(char) or spelt(char) for char in wrong), error.end


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
    from tripos_warehouse.tables.text import UNBOUNDED

    bounded = os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()
    return terminal_width() if bounded else UNBOUNDED


def is_colored(stream: TextIO) -> bool:
    """Return true if to write colours: on a terminal, unless `NO_COLOR` is set, and anywhere where `FORCE_COLOR` is.

    `NO_COLOR` wins; a variable that is set to nothing does not count (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


NARROWEST = 20
"""Columns that the words of a message get however narrow a terminal is."""


def show_message(
    text: str, *, stderr: bool = False, stream: TextIO | None = None, flush: bool = False, whole: bool = False
) -> None:
    """Print a message in the reader's language. On a terminal its words are wrapped, and its further lines stand below
    its first; elsewhere a line stays whole, so that a log can be searched for what it says. So does on a terminal what
    is `whole`, such as a command to copy."""

    stream = stream or (sys.stderr if stderr else sys.stdout)
    lines = localized(text).split("\n")
    if not whole:
        lines = [hung(line[: len(line) - len(line.lstrip(" "))], line.lstrip(" "), stream) for line in lines]
    show_text("\n".join(lines), stream=stream, flush=flush)


def show_diagnostic(kind: str, code: str, message: str, hint: str | None = None, places: Iterable[str] = ()) -> None:
    """Print an error or a warning on standard error in the form of a diagnostic, in the reader's language: its message,
    then places and notes, then how to mend it."""

    colon = localized(": ")
    parts = [(f"{localized(kind)}[{code}]{colon}", message), *(("  = ", each) for each in places)]
    parts += [(f"  = {localized('help')}{colon}", hint)] if hint else []
    for begin, text in parts:
        show_text(hung(begin, harmless(localized(text)), sys.stderr), stderr=True)


def hung(begin: str, text: str, stream: TextIO) -> str:
    """Return a text that begins with something, its further lines below its first. For a terminal its words are wrapped
    too.

    >>> import io
    >>> print(hung("  = help: ", "write\\ninput = ...", io.StringIO()))
      = help: write
              input = ...
    """
    from tripos_compiler.diagnostics.text_format import display_width, wrap

    lines, width = text.splitlines(), display_width(begin)
    if stream.isatty():
        room = max(terminal_width() - width, NARROWEST)
        lines = [part for line in lines for part in ([line] if display_width(line) <= room else wrap(line, room))]
    return begin + f"\n{' ' * width}".join(lines)
