"""The two scripts of Chinese: what is written in traditional characters, in simplified ones."""

from __future__ import annotations

from functools import cache
from typing import Any


def simplified(text: str) -> str:
    """The text with traditional Chinese characters in their simplified form; all else stays as it is.

    Whole words are looked up first, since some characters have several simplified forms. The dictionary is OpenCC's.

    >>> simplified("正確答案為乾隆"), simplified("Plain text.")
    ('正确答案为乾隆', 'Plain text.')
    """
    return text if text.isascii() else str(_converter().convert(text))


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("t2s")
