"""Conversations: how it opens, what either side sees of it, what a long one leaves out, and what ends it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tripos_compiler.language.library import Turn, nfkc

OPENINGS = {"en": "Please begin.", "zh": "请开始。"}
"""What the side that opens is told first: many models take no dialogue that begins with their own turn."""
SILENT = "…"
"""Stands for a turn without a word: many models take no empty message."""
FIRST = 2
"""So many turns at the beginning, the first of either side, are never left out."""
EMPHASIS = re.compile(r"[*_~`\u200b-\u200d\ufeff]")


def opening_text(language: str) -> str:
    """Return what the side that opens is told first, in a language.

    >>> opening_text("zh"), opening_text("fi")
    ('请开始。', 'Please begin.')
    """
    return OPENINGS.get(language, OPENINGS["en"])


def seen_by(role: str, turns: Sequence[Turn], begun: str | None, left_out: int = 0) -> list[tuple[str, str]]:
    """Return the dialogue as one of its two sides sees it, as pairs of role and text: its own turns are the
    assistant's, the other's the user's. `begun` is what the side that opens is told first. Of `turns`, `left_out` are
    not shown: those that follow the first exchange.

    >>> talk = [{"speaker": "teacher", "text": "Why?"}, {"speaker": "pupil", "text": ""}]
    >>> seen_by("teacher", talk, "Please begin.")
    [('user', 'Please begin.'), ('assistant', 'Why?'), ('user', '…')]
    >>> seen_by("pupil", talk[:1], None)
    [('user', 'Why?')]
    """
    shown = [*turns[:FIRST], *turns[FIRST + left_out :]] if left_out else turns
    seen = [] if begun is None else [("user", begun)]
    for turn in shown:
        seen.append(("assistant" if turn["speaker"] == role else "user", turn["text"].strip() or SILENT))
    return seen


def count_left_out(count: int, left_out: int) -> int | None:
    """Return how many turns are left out of a dialogue of `count` where leaving out `left_out` was not enough: half of
    those between the first exchange and the last turn, whole exchanges; None where nothing is left to leave out.

    >>> [count_left_out(21, left_out) for left_out in (0, 10, 14, 18)], count_left_out(2, 0)
    ([10, 14, 16, None], None)
    """
    between = count - FIRST - 1 - left_out
    exchanges = between // 2
    return None if exchanges < 1 else left_out + 2 * -(-exchanges // 2)


def ends_conversation(text: str, wanted: str) -> bool:
    """Return true if a turn says what ends a conversation: in capitals or not, inside emphasis, in full-width letters,
    on a line of its own or not.

    >>> ends_conversation("Well done. **Teach\\u3000DONE**!", "teach done")
    True
    >>> ends_conversation("ＴＥＡＣＨ　ＤＯＮＥ", "teach done")
    True
    >>> ends_conversation("*TEACH* _DONE_", "teach done"), ends_conversation("Are we done teaching?", "teach done")
    (True, False)
    """
    needle = _without_emphasis(wanted)
    return needle in _without_emphasis(text) if needle else wanted in text


def _without_emphasis(text: str) -> str:
    return " ".join(EMPHASIS.sub("", nfkc(text)).casefold().split())
