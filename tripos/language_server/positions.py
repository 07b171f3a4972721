"""Places of a text as an editor counts them: a line, and units of the encoding that was agreed upon.

The compiler counts code points from the start of a file, the protocol lines and, unless a client offers otherwise,
UTF-16 units: an emoji is two of those.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Literal

from lsprotocol.types import Position, Range

Encoding = Literal["utf-8", "utf-16", "utf-32"]

LINE_BREAK = re.compile(r"\r\n|\n|\r")
"""What ends a line in the protocol; nothing else does, whatever Unicode says of it."""


class Lines:
    """The lines of a text.

    >>> lines = Lines("a = 1\\n# 😀 b", "utf-16")
    >>> lines.position(9).character, lines.offset(Position(1, 4))
    (4, 9)
    """

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self.encoding = encoding

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, in code points."""
        return [0, *(found.end() for found in LINE_BREAK.finditer(self.text))]

    @cached_property
    def _plain(self) -> bool:
        return self.encoding == "utf-32" or self.text.isascii()

    def end(self, line: int) -> int:
        """Where a line ends, before its line break."""
        if line + 1 >= len(self.starts):
            return len(self.text)
        end = self.starts[line + 1]
        return end - 2 if self.text[end - 2 : end] == "\r\n" else end - 1

    def units(self, start: int, end: int) -> int:
        """How many units a stretch of one line takes."""
        if self._plain:
            return end - start
        text = self.text[start:end]
        if text.isascii():
            return len(text)
        if self.encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    def position(self, offset: int) -> Position:
        """The position of a code point; past the end it is the end."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.starts, offset) - 1
        return Position(line, self.units(self.starts[line], min(offset, self.end(line))))

    def range(self, start: int, end: int) -> Range:
        """The range of a stretch."""
        return Range(self.position(start), self.position(end))

    def offset(self, position: Position) -> int:
        """The code point at a position. Past the end of a line it is that end, inside of a character its start."""
        if position.line >= len(self.starts):
            return len(self.text)
        start, end = self.starts[position.line], self.end(position.line)
        if self._plain or self.text[start:end].isascii():
            return min(start + position.character, end)
        left = position.character
        for offset in range(start, end):
            left -= self._size(self.text[offset])
            if left < 0:
                return offset
        return end

    def _size(self, char: str) -> int:
        code = ord(char)
        if self.encoding == "utf-8":
            return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        return 2 if code > 0xFFFF else 1
