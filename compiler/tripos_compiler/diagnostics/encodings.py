"""Encodings of texts that are not UTF-8: the likely name, and how to convert the file.

Nothing is decoded by a guess: a text that was read in the wrong encoding would be sent to models and graded.
"""

from __future__ import annotations

import codecs
import shlex

MARKS = ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))
READ = 1 << 16
"""The bytes of a text that tell its encoding."""
ENOUGH = 0.9
"""The share of pairs of bytes that are characters of GB 2312 in a text that is likely in GBK."""


def encoding_of(raw: bytes) -> str | None:
    """Return the likely encoding of a text that is not UTF-8; None where nothing tells it.

    >>> [encoding_of("谁写了红楼梦？".encode(name)) for name in ("gbk", "utf-16")]
    ['GBK', 'UTF-16']
    >>> encoding_of("déjà vu".encode("latin-1"))
    """
    raw = raw[:READ]
    for mark, name in MARKS:
        if raw.startswith(mark):
            return name
    # A text in UTF-16 without its mark has line ends and digits, half of whose bytes are zero.
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
    return "GBK" if pairs and good >= ENOUGH * pairs else None


def not_utf8(raw: bytes, name: str) -> tuple[str, str]:
    """Return what is wrong with the text of a file that is not UTF-8, and how to mend it.

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
    """Return the command that converts a file. GB 18030 holds all of GBK."""
    return f"iconv -f {'GB18030' if encoding == 'GBK' else encoding} -t UTF-8 {shlex.quote(name)} > new"
