"""Text in the columns of a terminal: how wide it is, what of it may be shown, and where its lines break."""

from __future__ import annotations

import re
import unicodedata

WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6"
OPENING = "（「『【《〈“‘［"
CLOSING = "、。，．：；！？）」』】》〉”’］…"
WORD = re.compile(rf"\s+|[{OPENING}]*(?:(?:`[^`]*`|[^\s{WIDE}])+|[{WIDE}])[{CLOSING}]*|\S")
"""A blank, or what stays on one line: a word, a quotation in backticks, a Chinese character with its punctuation."""


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text in `width` columns; at least one. What has no blank to break at may be longer.

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
    """Return the words of a text; a quotation that does not fit a line is words too."""
    found: list[str] = []
    for word in WORD.findall(text):
        found.extend(re.findall(r"\s+|\S+", word) if display_width(word) > width else [word])
    return found


def display_width(text: str) -> int:
    """Return how many columns a text takes in a terminal; a Chinese character takes two.

    >>> display_width("ab"), display_width("难度")
    (2, 4)
    """
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def printable(text: str) -> str:
    r"""Return a text without what would steer a terminal or turn the order of its letters; tabs stay.

    >>> printable("a\x1b[31m\tb")
    'a�[31m\tb'
    """
    return "".join("�" if _steers(char) else char for char in text)


def _steers(char: str) -> bool:
    if char == "\t":
        return False
    return unicodedata.category(char) == "Cc" or unicodedata.bidirectional(char) in TURNING


TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""The classes of the characters that would show what follows them in another order than it is written."""
