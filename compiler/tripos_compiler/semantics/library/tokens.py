"""Text to words: what `words` counts, and what `rouge` and `bm25` compare."""

from __future__ import annotations

from functools import cache
from typing import Any

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""The scripts that put no space between words."""
WORD = rf"[[\p{{L}}\p{{N}}\p{{M}}]--[{UNSPACED}]]+"
INSIDE = r"(?:['’_-]|(?<=\p{Nd})[.,](?=\p{Nd}))"
"""What may join two runs of letters and digits: `don't`, `well-known`, `3.14`."""
PATTERN = rf"(?V1)[{UNSPACED}]\p{{M}}*|{WORD}(?:{INSIDE}{WORD})*"


def words_of(text: str) -> list[str]:
    """The words of a text as they stand in it. In a script that puts no space between words, each character is one.

    >>> words_of("It's 3.5 well-known words: 两个字。")
    ["It's", '3.5', 'well-known', 'words', '两', '个', '字']
    """
    found: list[str] = _compiled().findall(text)
    return found


def tokens_of(text: str) -> list[str]:
    """The words of a text, all in the same case.

    >>> tokens_of("Ein GROSSER Fuß")
    ['ein', 'grosser', 'fuss']
    """
    return words_of(text.casefold())


@cache
def _compiled() -> Any:
    import regex

    return regex.compile(PATTERN)
