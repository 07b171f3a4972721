"""Texts of models and data files on a terminal: nothing in them is obeyed, and long lines are folded."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, chop_cells


def harmless(text: str) -> str:
    """A text without anything that a terminal would obey: control characters are spelt out, and so are marks that
    change the direction of what follows; line ends and tabs stay.

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


def fold(line: str, room: int) -> list[str]:
    """A line cut into lines of at most `room` columns, between words where there are any.

    >>> fold("the sum is forty-two", 10), fold("四十二就是答案", 6), fold("", 6)
    (['the sum is', 'forty-two'], ['四十二', '就是答', '案'], [''])
    """
    lines: list[str] = []
    while cell_len(line) > room:
        head = chop_cells(line[: room + 1], room)[0]
        space = head.rfind(" ") if line[len(head) : len(head) + 1] != " " else len(head)
        cut = space if space > 0 else len(head)
        lines.append(line[:cut].rstrip())
        line = line[cut:].lstrip(" ")
    return [*lines, line]
