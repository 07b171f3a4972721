"""Lines that fit a terminal, with words of any script."""

from __future__ import annotations

from rich.cells import cell_len


def wrapped(text: str, width: int) -> str:
    """`text` broken at spaces into lines of at most `width` cells; a longer word has a line of its own.

    >>> wrapped("one two three", 7)
    'one two\\nthree'
    """
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)
