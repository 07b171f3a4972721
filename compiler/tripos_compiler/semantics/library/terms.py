"""What a text is looked up by: its words, and where a script puts no space between them, pairs of characters too."""

from __future__ import annotations

from functools import cache
from typing import Any

from tripos_compiler.semantics.library.tokens import UNSPACED, tokens_of

VERSION = "1"
"""Changes with what terms are, so that an index that was kept is not taken for one of other terms."""


def terms_of(text: str) -> list[str]:
    """The terms of a text for BM25, as often as they occur.

    >>> terms_of("The cat sat")
    ['the', 'cat', 'sat']
    >>> terms_of("一次函数 y=kx")
    ['一', '次', '函', '数', 'y', 'kx', '一次', '次函', '函数']
    """
    pairs = [run[i : i + 2] for run in _runs().findall(text) for i in range(len(run) - 1)]
    return tokens_of(text) + pairs


@cache
def _runs() -> Any:
    import regex

    return regex.compile(rf"(?V1)[{UNSPACED}]{{2,}}")
