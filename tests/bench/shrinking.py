"""Makes a text that fails smaller, as long as it fails."""

from __future__ import annotations

from collections.abc import Callable


def shrunk(text: str, fails: Callable[[str], bool], tries: int) -> str:
    """Return a text without the lines, and then without the characters, that a failure does not need.

    Ever shorter stretches are left out, as long as the rest fails; at most so many texts are tried for the lines, and
    as many for the characters.
    """
    for separator in ("\n", ""):
        parts = text.split(separator) if separator else list(text)
        left, size = tries, len(parts)
        while left > 0 and size > 1:
            size = (size + 1) // 2
            start = 0
            while start < len(parts) and left > 0:
                without = parts[:start] + parts[start + size :]
                left -= 1
                if fails(separator.join(without)):
                    parts = without
                else:
                    start += size
        text = separator.join(parts)
    return text
