"""Streams of any encoding: a character that a stream cannot write is shown in ASCII, and is not lost."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TextIO

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
