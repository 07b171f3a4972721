"""The two scripts of Chinese: what is written in traditional characters, in simplified ones."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_WHOLE = re.compile(r"[^\ud800-\udfff]+")
"""Halves of characters, which a reply may have, are nothing that UTF-8 could hold."""


def simplified(text: str) -> str:
    """The text with traditional Chinese characters in their simplified form; all else stays as it is.

    Whole words are looked up first, since some characters have several simplified forms. The dictionary is OpenCC's.

    >>> simplified("正確答案為乾隆"), simplified("Plain text.")
    ('正确答案为乾隆', 'Plain text.')
    """
    if text.isascii():
        return text
    convert = _converter().convert
    return _WHOLE.sub(lambda found: str(convert(found[0])), text)


@cache
def _converter() -> Any:
    import opencc

    return opencc.OpenCC("t2s")
