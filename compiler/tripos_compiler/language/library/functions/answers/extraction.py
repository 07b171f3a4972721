"""Functions that read an answer out of what a model says."""

from __future__ import annotations

import re
from collections.abc import Collection

from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.language.replies.letters import ALPHABET, PRONOUN, are_options
from tripos_compiler.language.replies.truth import read_truth

_FULL_WIDTH = str.maketrans({0xFF21 + i: 0x41 + i for i in range(ALPHABET)})
_PRONOUN = late_pattern(PRONOUN)


def choice_letters(text: str | Collection[str]) -> set[str]:
    """Return the option letters A to Z that stand alone in a text, or together as in `BD`.

    Of a list, those of all its texts. Full-width letters are read too. Letters after H that stand together count where
    they are in order, as in `IJ`, and `I` where it is no pronoun. An `A` that is an article counts as well, so ask for
    the letters alone.

    >>> sorted(choice_letters("答案是 B、D")), sorted(choice_letters("I think that I and J are right"))
    (['B', 'D'], ['I', 'J'])
    """
    whole = text if isinstance(text, str) else "\n".join(text)
    runs = re.findall(r"(?<![A-Za-z])[A-Z]{1,26}(?![A-Za-z])", _PRONOUN.sub("", whole.translate(_FULL_WIDTH)))
    return {letter for run in runs if are_options(run) for letter in run}


def after(text: str, marker: str) -> str | None:
    """Return the text after the last marker, without the space around it; missing if there is no marker.

    >>> after("6 * 7 = 42\\n#### 42", "####"), after("42", "####")
    ('42', None)
    """
    if not marker:
        raise Undefined("the marker is empty")
    _, found, rest = text.rpartition(marker)
    return rest.strip() if found else None


def is_yes(text: str) -> bool | None:
    """Return true if a text says yes and false if it says no; missing if it says neither.

    A label counts first (`the answer is no`), then the word that the text opens with, then the one that it ends with,
    and then the only `true` or `false` of a short text. A truth that is plainly denied is its opposite; one that is
    hedged, asked or supposed is none ([answers in replies](answers.md)).

    >>> is_yes("**Yes**, because it rains."), is_yes("答案：不正确。"), is_yes("Perhaps.")
    (True, False, None)
    """
    return read_truth(text)
