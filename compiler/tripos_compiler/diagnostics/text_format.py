"""Text helpers: quantities, columns of a terminal, and detection of encodings.

A text that is not UTF-8 is never decoded by a guess: read in the wrong encoding, it would be sent to models and graded.
"""

from __future__ import annotations

import codecs
import re
import shlex
import unicodedata
from math import floor, inf, log10

# Quantities


def usd(amount: float) -> str:
    """Return an amount of USD: two decimals, four below a tenth, and more if the first two significant digits need
    them. The unit is not included.

    >>> usd(0), usd(0.0000312), usd(0.00123), usd(0.25), usd(1234.5), usd(inf)
    ('0.00', '0.000031', '0.0012', '0.25', '1,234.50', 'unknown')
    """
    if amount == inf:
        return "unknown"
    if not 0 < amount < 0.1:
        return f"{amount:,.2f}"
    return f"{amount:.{max(4, 1 - floor(log10(amount)))}f}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units, or with two significant digits.

    >>> duration(0.444), duration(1.28), duration(9), duration(75), duration(3700), duration(200_000)
    ('0.44 s', '1.3 s', '9 s', '1m 15s', '1h 01m', '2d 07h')
    """
    if seconds < 10:
        return f"{round(seconds, 2):.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02}h"


def percent(share: float) -> str:
    """Return a share in per cent with one decimal. It is rounded to 0 or 100 only if it is exactly that.

    >>> percent(1), percent(1 / 6), percent(0.99999), percent(0.00001), percent(0), percent(0.5)
    ('100%', '16.7%', '99.9%', '0.1%', '0%', '50%')
    """
    return f"{share if share in (0, 1) else min(max(round(share, 3), 0.001), 0.999):.1%}".replace(".0%", "%")


def per_second(rate: float) -> str:
    """Return a rate with about three significant digits.

    >>> per_second(0.25), per_second(12.34), per_second(1234.5)
    ('0.25/s', '12.3/s', '1,234/s')
    """
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.1f}/s" if rate >= 1 else f"{rate:.2f}/s"


def abbreviated(number: float) -> str:
    """Return a large number, such as a number of tokens, in few characters.

    >>> abbreviated(0), abbreviated(940), abbreviated(12_340), abbreviated(1_234_000), abbreviated(2.5e9)
    ('0', '940', '12.3k', '1.2M', '2.5G')
    """
    if number == inf:
        return "unknown"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size * 0.9995:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def file_size(size: float) -> str:
    """Return the size of a file with its unit.

    >>> file_size(512), file_size(2048), file_size(3 * 2**20)
    ('512 bytes', '2.0 KiB', '3.0 MiB')
    """
    if size < 1024:
        return f"{size:.0f} bytes"
    for unit, step in (("KiB", 2**10), ("MiB", 2**20)):
        if size < step * 1024:
            return f"{size / step:.1f} {unit}"
    return f"{size / 2**30:,.1f} GiB"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun. Pass `plural` if it is irregular.

    >>> counted(1, "reply"), counted(1200, "score"), counted(2, "reply"), counted(2, "process")
    ('1 reply', '1,200 scores', '2 replies', '2 processes')
    """
    if number == 1:
        return f"1 {noun}"
    if plural is None:
        plural = f"{noun[:-1]}ies" if noun.endswith("ply") else f"{noun}es" if noun.endswith("ss") else f"{noun}s"
    return f"{number:,} {plural}"


# Columns of a terminal

WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
OPENING = "（「『【《〈“‘［"
CLOSING = "、。，．：；！？）」』】》〉”’］…"
WORD = re.compile(rf"\s+|[{OPENING}]*(?:(?:`[^`]*`|[^\s{WIDE}])+|[{WIDE}])[{CLOSING}]*|\S")
"""Blank, or unbreakable unit: a word, a quotation in backticks, or a Chinese character with its punctuation."""


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text in `width` columns; at least one. Text without a blank to break at may be longer.

    >>> wrap("write `from level` beside it", 12)
    ['write', '`from level`', 'beside it']
    >>> wrap("每一行都不宽", 6)
    ['每一行', '都不宽']
    """
    lines: list[str] = []
    line: list[str] = []
    used, gap = 0, ""
    for word in _words(text, width):
        if word.isspace():
            gap = " " if line else ""
            continue
        wide = display_width(word)
        if line and used + len(gap) + wide > width:
            lines.append("".join(line))
            line, used, gap = [], 0, ""
        line += (gap, word)
        used, gap = used + len(gap) + wide, ""
    return [*lines, "".join(line)] if line or not lines else lines


def _words(text: str, width: int) -> list[str]:
    """Return the words of a text; a quotation that is longer than a line is split into words."""
    words: list[str] = []
    for word in WORD.findall(text):
        words.extend(re.findall(r"\s+|\S+", word) if display_width(word) > width else [word])
    return words


def display_width(text: str) -> int:
    """Return the number of columns of a text in a terminal; a Chinese character takes two, as does an emoji of several
    characters.

    >>> display_width("ab"), display_width("难度"), display_width("👨‍👩‍👧")
    (2, 4, 2)
    """
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def printable(text: str) -> str:
    r"""Return a text without characters that control a terminal or change the direction of text; tabs stay.

    >>> printable("a\x1b[31m\tb")
    'a�[31m\tb'
    """
    return "".join("�" if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    if char == "\t":
        return False
    return unicodedata.category(char) == "Cc" or unicodedata.bidirectional(char) in TURNING


TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Bidirectional classes of the characters that change the displayed order of the text after them."""


# Encodings

MARKS = ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))
READ = 1 << 16
"""Number of bytes used to detect an encoding."""
ENOUGH = 0.9
"""Share of byte pairs that must be characters of GB 2312 for a text to be likely GBK."""


def encoding_of(raw: bytes) -> str | None:
    """Return the likely encoding of a text that is not UTF-8, or None if there is no evidence.

    >>> [encoding_of("谁写了红楼梦？".encode(name)) for name in ("gbk", "utf-16")]
    ['GBK', 'UTF-16']
    >>> [encoding_of("Größe, déjà vu".encode(name)) for name in ("cp1252", "cp437")]
    ['Windows-1252', None]
    """
    raw = raw[:READ]
    for mark, name in MARKS:
        if raw.startswith(mark):
            return name
    # UTF-16 text without a byte order mark has line ends and digits, in which half of the bytes are zero.
    zeros = raw.count(0)
    if zeros and zeros >= len(raw) // 20:
        return "UTF-16LE" if raw[1::2].count(0) > raw[0::2].count(0) else "UTF-16BE"
    pairs = good = place = 0
    while place + 1 < len(raw):
        if raw[place] < 0x80:
            place += 1
            continue
        pairs += 1
        good += 0xA1 <= raw[place] <= 0xF7 and raw[place + 1] >= 0xA1
        place += 2
    if _is_western(raw):
        return WESTERN
    return "GBK" if pairs and good >= ENOUGH * pairs else None


WESTERN = "Windows-1252"
"""The encoding of Western Europe that spreadsheets call ANSI."""
HIGH_RUN = re.compile(r"[^\x00-\x7f]+")
IN_A_WORD = re.compile(r"[^\W\d_][€‚‘„“”…«»°§][^\W\d_]")
"""A sign inside of a word, which the bytes of another encoding may come to."""


def _is_western(raw: bytes) -> bool:
    """Return true if the bytes above 127 are letters and punctuation of Windows-1252, and most of them stand beside
    letters of ASCII. Two of them, as in `Größe`, may also be a character of GBK; of Chinese words that is rare."""
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return False
    runs = list(HIGH_RUN.finditer(text))
    if (
        not runs
        or IN_A_WORD.search(text)
        or not all(char.isalpha() or char in "€‚‘’„“”–—…«»°§" for run in runs for char in run[0])
    ):
        return False
    beside = sum(
        _is_letter(text[run.start() - 1 : run.start()]) or _is_letter(text[run.end() : run.end() + 1]) for run in runs
    )
    return 2 * beside > len(runs)


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def not_utf8(raw: bytes, name: str) -> tuple[str, str]:
    """Return the message and the help for a file that is not UTF-8.

    >>> not_utf8("梦".encode("gbk"), "a b.txt")[0]
    'it is not UTF-8 text, but likely GBK'
    >>> not_utf8("梦".encode("gbk"), "a b.txt")[1]
    "save it as UTF-8, or convert it: `iconv -f GB18030 -t UTF-8 'a b.txt' > new`"
    """
    likely = encoding_of(raw)
    if likely is None:
        return "it is not UTF-8 text", "save it as UTF-8: editors and spreadsheets offer that as an encoding"
    says = "but" if likely in ("UTF-16", "UTF-32") else "but likely"
    return f"it is not UTF-8 text, {says} {likely}", f"save it as UTF-8, or convert it: `{to_utf8(likely, name)}`"


def to_utf8(encoding: str, name: str) -> str:
    """Return the command that converts a file. GB 18030 includes all of GBK."""
    return f"iconv -f {'GB18030' if encoding == 'GBK' else encoding} -t UTF-8 {shlex.quote(name)} > new"


def shorten(text: str, most: int = 40) -> str:
    """Return a text on one line, cut to at most `most` characters.

    >>> shorten("one\\n two"), shorten("abcdef", 4)
    ('one two', 'abc…')
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
