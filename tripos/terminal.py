"""A terminal: its width, its colours, and text that nothing in it obeys.

Streams of any encoding: a character that a stream cannot write is shown in ASCII, and is not lost.

Messages on a terminal: sentences of ours in the reader's language, in lines that a terminal has room for.

Tables on standard output: text for a terminal, or a format for papers, pages and programs.

On a terminal the heading and the last line of sums are bold where there are colours.

Messages and replies with calls of tools, as people read them.
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
    from tripos_compiler.diagnostics.i18n import localized

    stream = stream or (sys.stderr if stderr else sys.stdout)
    lines = localized(text).split("\n")
    if not whole:
        lines = [hung(line[: len(line) - len(line.lstrip(" "))], line.lstrip(" "), stream) for line in lines]
    show_text("\n".join(lines), stream=stream, flush=flush)


def show_diagnostic(kind: str, code: str, message: str, hint: str | None = None, places: Iterable[str] = ()) -> None:
    """Print an error or a warning on standard error in the form of a diagnostic, in the reader's language: its message,
    then places and notes, then how to mend it."""
    from tripos_compiler.diagnostics.i18n import localized

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


def table_lines(columns: Sequence[TextColumn], *, sums: bool = False) -> Iterator[str]:
    """Yield the lines of a table for standard output; with `sums`, the last row holds sums."""
    head, body = grid_parts(columns, table_width(), rule=False)
    colored = is_colored(sys.stdout)
    for at, line in enumerate([*head, *body], 1):
        bold = colored and (at <= len(head) or (sums and bool(head) and at == len(head) + len(body)))
        yield f"\x1b[1m{line}\x1b[0m" if bold else line


def columns_of(headings: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> list[TextColumn]:
    """Return the columns of rows. Those of the headings in `left` hold texts, and the others numbers."""
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        TextColumn(
            harmless(localized(heading)), tuple(map(harmless, texts)), right=heading not in left, fold=heading in left
        )
        for heading, texts in zip(headings, cells, strict=True)
    ]


PAPER = ("md", "latex", "html")
"""Formats that people read, in which values stand with their intervals."""


def chosen_format(options: Namespace, *, text_only: Mapping[str, bool] = {}) -> str:
    """Return the format that is wanted. Raises `Failure` R0202 for an option that the format has no use for:
    `--interval`, and those in `text_only` that are given."""
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
    """Print rows as CSV, in which no text is a formula."""
    import pyarrow as pa

    show_output(encode_answer(pa.Table.from_pylist(list(rows)), "csv"))


Row = Mapping[str, Any]


def shown_message(message: Row) -> str:
    """Return a message as people read it: calls of tools a line each, and of a tool its parameters."""
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
    """Return a reply as people read it: of a step with tools its text, and a line for each call."""
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
