"""Output to a terminal: width, colours, wrapped messages, tables, and texts that cannot control the terminal.

All output goes through `show_text`, because names of folders and texts of benchmarks may contain escape sequences. A
character that the encoding of a stream lacks is written in ASCII instead of being dropped. Messages are localized and
wrapped for a terminal, but stay on one line in a file or pipe, where they are searched.
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
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

import orjson

from tripos.errors import Failure
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.plan import said_calls
from tripos_runtime.models.base import CALLED, TOOL
from tripos_warehouse.query.results import encode_answer
from tripos_warehouse.tables.markup import WRITERS
from tripos_warehouse.tables.model import PaperTable
from tripos_warehouse.tables.text import TextColumn, grid_parts

ERRORS = "tripos.shown"
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
def write_every_character() -> None:
    """Let standard output and standard error accept every character, whatever their encoding."""
    codecs.register_error(ERRORS, _shown)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)


def spelt(char: str) -> str:
    r"""Return the escape sequence of a character in a Python literal.

    >>> print(spelt("\x1b"), spelt("学"), spelt("🎓"))
    \x1b \u5b66 \U0001f393
    """
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code <= LAST_OF_UNICODE_16 else f"\\U{code:08x}"


def escaped(char: str) -> str:
    r"""Return the escape sequence of a character in JSON.

    >>> print(escaped("学"), escaped("🎓"))
    \u5b66 \ud83c\udf93
    """
    code = ord(char)
    if code <= LAST_OF_UNICODE_16:
        return f"\\u{code:04x}"
    rest = code - LAST_OF_UNICODE_16 - 1
    return f"\\u{0xD800 + (rest >> 10):04x}\\u{0xDC00 + (rest & 0x3FF):04x}"


def json_for(text: str, stream: TextIO) -> str:
    r"""Return equal JSON in characters that the encoding of a stream has.

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
    """Return the replacement for unencodable characters, and the position after them, as `codecs.register_error`
    expects."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(SIGNS.get(char) or spelt(char) for char in wrong), error.end


# Texts that cannot control the terminal
def harmless(text: str) -> str:
    """Return a text with escaped control characters and marks of text direction. Line ends and tabs stay.

    >>> harmless("red \\x1b[31m, bell \\x07, turned \\u202e")
    'red \\\\x1b[31m, bell \\\\x07, turned \\\\u202e'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if not _is_obeyed(char) else spelt(char) for char in text)


def harmless_json(text: str) -> str:
    """Return equal JSON with such characters escaped. In JSON they occur only inside of texts.

    >>> harmless_json('"turned \u202e"')
    '"turned \\\\u202e"'
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(escaped(char) if _is_obeyed(char) else char for char in text)


def with_marks(text: str) -> str:
    """Return a text of the same length, with U+FFFD in place of such characters.

    >>> with_marks("red \\x1b[31m")
    'red �[31m'
    """
    return text if text.isascii() and text.isprintable() else "".join("\ufffd" if _is_obeyed(c) else c for c in text)


def _is_obeyed(char: str) -> bool:
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
    whole = sep.join(map(str, texts)) + end
    parts = _STYLE.split(whole) if styled else [whole]
    clean = "".join(part if place % 2 else harmless(part) for place, part in enumerate(parts))
    print(clean, file=stream, end="", flush=flush)


def show_json(text: str) -> None:
    """Print JSON on standard output."""
    print(json_for(harmless_json(text), sys.stdout).removesuffix("\n"), flush=True)


def show_output(text: str) -> None:
    """Print the input of another program, such as CSV, on standard output: unchanged and in UTF-8, except on a
    terminal."""
    terminal = sys.stdout.isatty()
    if not terminal and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    print(harmless(text) if terminal else text, end="")


def print_stderr(text: str, stream: TextIO | None = None) -> None:
    """Print a text on `stream` (default: standard error). If it is closed, discard the text and later output."""
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


def show_message(
    text: str, *, stderr: bool = False, stream: TextIO | None = None, flush: bool = False, whole: bool = False
) -> None:
    """Print a message in the reader's language. On a terminal, wrap it with a hanging indent; elsewhere keep each line
    whole, so that logs can be searched. A `whole` message, such as a command to copy, is never wrapped."""
    from tripos_compiler.diagnostics.i18n import localized

    stream = stream or (sys.stderr if stderr else sys.stdout)
    lines = localized(text).split("\n")
    if not whole:
        lines = [hung(line[: len(line) - len(line.lstrip(" "))], line.lstrip(" "), stream) for line in lines]
    show_text("\n".join(lines), stream=stream, flush=flush)


def show_diagnostic(kind: str, code: str, message: str, hint: str | None = None, places: Iterable[str] = ()) -> None:
    """Print an error or a warning on standard error as a localized diagnostic: its message, then places and notes, then
    the hint."""
    from tripos_compiler.diagnostics.i18n import localized

    colon = localized(": ")
    parts = [(f"{localized(kind)}[{code}]{colon}", message), *(("  = ", each) for each in places)]
    parts += [(f"  = {localized('help')}{colon}", hint)] if hint else []
    for begin, text in parts:
        show_text(hung(begin, harmless(localized(text)), sys.stderr), stderr=True)


def hung(begin: str, text: str, stream: TextIO) -> str:
    """Return a text with a prefix and a hanging indent. For a terminal, wrap it too.

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


# Tables
def table_lines(columns: Sequence[TextColumn], *, sums: bool = False) -> Iterator[str]:
    """Yield the lines of a table for standard output. With `sums`, the last row holds totals. The heading and the
    totals are bold if colours are on."""
    head, body = grid_parts(columns, table_width(), rule=False)
    colored = is_colored(sys.stdout)
    for at, line in enumerate([*head, *body], 1):
        bold = colored and (at <= len(head) or (sums and bool(head) and at == len(head) + len(body)))
        yield f"\x1b[1m{line}\x1b[0m" if bold else line


def columns_of(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> list[TextColumn]:
    """Return the columns of a table of rows. Columns whose headings are in `left` hold texts; the others hold
    numbers."""
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        TextColumn(
            harmless(localized(heading)), tuple(map(harmless, texts)), right=heading not in left, fold=heading in left
        )
        for heading, texts in zip(headings, cells, strict=True)
    ]


PAPER = ("md", "latex", "html")
"""Formats for people, in which a value is followed by its interval."""


def chosen_format(options: Namespace, *, text_only: Mapping[str, bool] = {}) -> str:
    """Return the output format. Raises `Failure` R0202 if an option does not apply to it: `--interval`, or one that is
    set in `text_only`."""
    form = "json" if getattr(options, "json", False) else str(options.format)
    if getattr(options, "json", False) and options.format not in ("text", "json"):
        raise Failure("R0202", f"`--json` and `--format {options.format}` exclude each other", "give one of them")
    if getattr(options, "interval", None) is not None and form not in PAPER:
        message = f"`--interval` has no use with `--format {form}`"
        raise Failure("R0202", message, f"it is for {', '.join(PAPER)}; csv and json have both ends of an interval")
    for name, given in text_only.items():
        if given and form not in ("text", "json"):
            raise Failure("R0202", f"`{name}` has no use with `--format {form}`", "leave one of them out")
    return form


def show_tables(tables: Sequence[PaperTable], form: str, options: Namespace) -> None:
    """Print tables in one of the formats of `PAPER`."""
    show_text(WRITERS[form](tables, getattr(options, "interval", None) or "ci"), end="")


def show_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV, in which no text can be a spreadsheet formula."""
    import pyarrow as pa

    show_output(encode_answer(pa.Table.from_pylist(list(rows)), "csv"))


Row = Mapping[str, Any]


# Messages with tool calls
def shown_message(message: Row) -> str:
    """Return a message as people read it: one line for each tool call, and the parameters of a tool that is offered."""
    role, content = message.get("role"), str(message["content"])
    if role == CALLED:
        return _with_calls(content)
    if role != TOOL:
        return content
    try:
        tool = orjson.loads(content)
        told = tool["parameters"]
        needed = told.get("required", ())
        names = [name if name in needed else f"{name}?" for name in told["properties"]]
        return f"{tool['name']}({', '.join(names)}): {tool['description']}"
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return content


def shown_reply(reply: str, messages: Sequence[Row]) -> str:
    """Return a reply as people read it: for a step with tools, its text and one line for each call."""
    return _with_calls(reply) if any(each.get("role") == TOOL for each in messages) else reply


def _with_calls(content: str) -> str:
    text, calls = said_calls(content)
    lines = [text] if text or not calls else []
    for call in calls:
        if call.readable:
            given = ", ".join(
                f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
            )
            lines.append(f"→ {call.name}({given})")
        else:
            lines.append(f"→ {call.name or '?'}, {json.dumps(call.arguments, ensure_ascii=False)}")
    return "\n".join(lines)
