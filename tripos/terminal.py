"""Output to a terminal: width, colours, wrapped messages, and texts that cannot control the terminal.

All output goes through `show_text`, because names of folders and texts of benchmarks may contain escape sequences. A
character that the encoding of a stream lacks is written in ASCII instead of being dropped. Messages are localized and
wrapped for a terminal, but stay on one line in a file or pipe, where they are searched.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable
from typing import TextIO

from tripos_compiler.diagnostics.i18n import localized

ERROR_HANDLER = "tripos.shown"
"""The name of our error handler in Python's registry of codecs."""
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
"""ASCII equivalents of signs in tables and sentences. Other characters are written by their code point."""
LAST_OF_UNICODE_16 = 0xFFFF


# Encodings of streams
def replace_unencodable() -> None:
    """Let standard output and standard error accept every character, whatever their encoding."""
    codecs.register_error(ERROR_HANDLER, _replacement)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERROR_HANDLER)


def escape_repr(char: str) -> str:
    r"""Return the escape sequence of a character in a Python literal.

    >>> print(escape_repr("\x1b"), escape_repr("学"), escape_repr("🎓"))
    \x1b \u5b66 \U0001f393
    """
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code <= LAST_OF_UNICODE_16 else f"\\U{code:08x}"


def escape_json(char: str) -> str:
    r"""Return the escape sequence of a character in JSON.

    >>> print(escape_json("学"), escape_json("🎓"))
    \u5b66 \ud83c\udf93
    """
    code = ord(char)
    if code <= LAST_OF_UNICODE_16:
        return f"\\u{code:04x}"
    rest = code - LAST_OF_UNICODE_16 - 1
    return f"\\u{0xD800 + (rest >> 10):04x}\\u{0xDC00 + (rest & 0x3FF):04x}"


def encodable_json(text: str, stream: TextIO) -> str:
    r"""Return equal JSON in characters that the encoding of a stream has.

    >>> print(encodable_json('"é学"', io.TextIOWrapper(io.BytesIO(), "cp1252")))
    "é\u5b66"
    """
    encoding = getattr(stream, "encoding", None)
    if text.isascii() or not encoding or _can_encode(text, encoding):
        return text
    return "".join(char if _can_encode(char, encoding) else escape_json(char) for char in text)


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _replacement(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement for unencodable characters, and the position after them, as `codecs.register_error`
    expects."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(SIGNS.get(char) or escape_repr(char) for char in wrong), error.end


# Texts that cannot control the terminal
def escape_controls(text: str) -> str:
    """Return a text with escaped control characters and marks of text direction. Line ends and tabs stay.

    >>> escape_controls("red \\x1b[31m, bell \\x07, turned \\u202e")
    'red \\\\x1b[31m, bell \\\\x07, turned \\\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if not _is_control(char) else escape_repr(char) for char in text)


def escape_controls_json(text: str) -> str:
    """Return equal JSON with such characters escaped. In JSON they occur only inside of texts.

    >>> escape_controls_json('"turned \u202e"')
    '"turned \\\\u202e"'
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(escape_json(char) if _is_control(char) else char for char in text)


def replace_controls(text: str) -> str:
    """Return a text of the same length, with U+FFFD in place of such characters.

    >>> replace_controls("red \\x1b[31m")
    'red �[31m'
    """
    return text if text.isascii() and text.isprintable() else "".join("\ufffd" if _is_control(c) else c for c in text)


def _is_control(char: str) -> bool:
    """Return true if a terminal may interpret a character. Line ends, tabs, and the joiners that scripts need may
    stay."""
    return (
        char not in "\n\t"
        and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and char not in "\u200c\u200d"
    )


_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")
"""Escape sequences for colours and weights, which change only how a text looks."""


def show_text(
    *texts: object,
    sep: str = " ",
    end: str = "\n",
    stderr: bool = False,
    stream: TextIO | None = None,
    flush: bool = False,
    styled: bool = False,
) -> None:
    """Print texts as `print` does, with control characters escaped. All output to a terminal goes through this
    function. A `styled` text keeps its colours."""
    stream = stream or (sys.stderr if stderr else sys.stdout)
    text = sep.join(map(str, texts)) + end
    parts = _STYLE.split(text) if styled else [text]
    clean = "".join(part if place % 2 else escape_controls(part) for place, part in enumerate(parts))
    print(clean, file=stream, end="", flush=flush)


def show_json(text: str) -> None:
    """Print JSON on standard output."""
    print(encodable_json(escape_controls_json(text), sys.stdout).removesuffix("\n"), flush=True)


def show_output(text: str) -> None:
    """Print a text for another program, such as CSV, on standard output: unchanged and in UTF-8, except on a
    terminal, where control characters are escaped."""
    terminal = sys.stdout.isatty()
    if not terminal and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(escape_controls(text) if terminal else text, end="")


def print_stderr(text: str, stream: TextIO | None = None) -> None:
    """Print a text on `stream` (default: standard error). If it is closed, discard the text and later output."""
    stream = sys.stderr if stream is None else stream
    try:
        show_text(text, stream=stream, flush=True)
    except (OSError, ValueError):
        discard_output(stream)


def discard_output(stream: TextIO) -> None:
    """Discard all further output to `stream`. Otherwise Python flushes it again at exit, and reports the failure in its
    exit code."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


# Width and colours
def terminal_width() -> int:
    """Return the width of the terminal in columns, `COLUMNS` if that is set, or 80 if neither is known."""
    return shutil.get_terminal_size((80, 24)).columns


def table_width() -> int:
    """Return the maximum width of a table on standard output, in cells. It is unbounded in a pipe or a file unless
    `COLUMNS` is set, since readers there need whole rows."""
    from tripos_warehouse.tables.text import UNBOUNDED

    bounded = os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()
    return terminal_width() if bounded else UNBOUNDED


def is_colored(stream: TextIO) -> bool:
    """Return true if colours are to be written: on a terminal unless `NO_COLOR` is set, and always if `FORCE_COLOR` is
    set.

    `NO_COLOR` takes precedence; an empty variable does not count (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


NARROWEST = 20
"""The minimum width in columns for the words of a message."""
MAX_MESSAGE = 2_000
"""The maximum number of characters of a message. It may quote a name from a file that is as long as the file."""


def show_message(text: str, *, stderr: bool = False, stream: TextIO | None = None, flush: bool = False) -> None:
    """Print a message, as `message` lays it out."""
    stream = stream or (sys.stderr if stderr else sys.stdout)
    show_text(message(text, stream), stream=stream, flush=flush)


def message(text: str, stream: TextIO | None = None) -> str:
    """Return a message in the reader's language. For a terminal (default: standard output), wrap it with a hanging
    indent; otherwise keep each line whole, so that logs can be searched."""
    lines = localized(text).split("\n")
    return "\n".join(
        hanging_indent(line[: len(line) - len(line.lstrip(" "))], line.lstrip(" "), stream or sys.stdout)
        for line in lines
    )


def show_diagnostic(kind: str, code: str, message: str, hint: str | None = None, places: Iterable[str] = ()) -> None:
    """Print an error or a warning on standard error as a localized diagnostic: its message, then places and notes, then
    the hint."""

    colon = localized(": ")
    parts = [(f"{localized(kind)}[{code}]{colon}", message), *(("  = ", place) for place in places)]
    parts += [(f"  = {localized('help')}{colon}", hint)] if hint else []
    for begin, text in parts:
        show_text(hanging_indent(begin, _cut(escape_controls(localized(text))), sys.stderr), stderr=True)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} … ({len(text) - MAX_MESSAGE:,} more characters)"


def hanging_indent(begin: str, text: str, stream: TextIO) -> str:
    """Return a text with a prefix and a hanging indent. For a terminal, wrap it too.

    >>> import io
    >>> print(hanging_indent("  = help: ", "write\\ninput = ...", io.StringIO()))
      = help: write
              input = ...
    """
    from tripos_compiler.diagnostics.text_format import display_width, wrap

    lines, width = text.splitlines(), display_width(begin)
    if stream.isatty():
        room = max(terminal_width() - width, NARROWEST)
        lines = [part for line in lines for part in ([line] if display_width(line) <= room else wrap(line, room))]
    return begin + f"\n{' ' * width}".join(lines)
