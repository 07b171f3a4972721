"""Functions that read an answer out of what a model says."""

from __future__ import annotations

import re
from collections.abc import Collection

from tripos_compiler.language.library.functions.layout import ALPHABET, PRONOUN, are_options
from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.replies.late_patterns import late_pattern

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


_BOXED = late_pattern(r"\\boxed\s{0,9}\{|\\fbox\s{0,9}\{|\\.|[{}]", re.DOTALL)


def boxed(text: str) -> str | None:
    """Return the content of the last `\\boxed{…}` of a text, without the space around it; missing if there is none.

    >>> boxed("so $x = \\\\boxed{\\\\frac{1}{2}}$."), boxed("no box")
    ('\\\\frac{1}{2}', None)
    """
    open_: list[tuple[int, bool]] = []
    last: tuple[int, int] | None = None
    for sign in _BOXED.finditer(text):
        if sign[0].endswith("{") and sign[0] != "\\{":
            open_.append((sign.end(), sign[0] != "{"))
        elif sign[0] == "}" and open_:
            start, is_box = open_.pop()
            if is_box and (last is None or start > last[0]):
                last = start, sign.start()
    return None if last is None else text[last[0] : last[1]].strip()


def after(text: str, marker: str) -> str | None:
    """Return the text after the last marker, without the space around it; missing if there is no marker.

    >>> after("6 * 7 = 42\\n#### 42", "####"), after("42", "####")
    ('42', None)
    """
    if not marker:
        raise Undefined("the marker is empty")
    _, found, rest = text.rpartition(marker)
    return rest.strip() if found else None


_YES = r"yes|yeah|yep|true|correct|right|是的?|对的?|正确的?|没错|属实|真"
_NO = (
    r"not (?:correct|true|right)|no(?! idea)|nope|not(?! (?:sure|certain|enough|clear|known))|false|incorrect|wrong"
    r"|不是的?|不对|不正确|否|错误?的?|没有|假"
)
_WORD = rf"(?:(?P<no>{_NO})|(?P<yes>{_YES}))"
_LABEL = (
    r"(?:(?:the )?(?:final |correct )?(?:answer|verdict|conclusion|judge?ment)(?: is)?|最终)?"
    r" ?(?:答案|回答|结论|判断)?[是为]? ?[:：]? ?"
)
_AROUND = "*_`\"'“”‘’()[]{}.。!！,， "
_OPENS = late_pattern(rf"\W*{_LABEL}\W*{_WORD}(?![^\W_])")
_CLOSES = late_pattern(rf"(?:(?<![^\W_])|(?<=[是为])){_WORD}\W*\Z")
_BOTH = late_pattern(
    rf"\W*{_LABEL}\W*(?:yes ?(?:/|or|and) ?no|no ?(?:/|or|and) ?yes|true ?(?:/|or) ?false|是[/或]否|对[/或]错)\b"
)
"""Both at once, as a question has them that is said again."""
_NEAR = 80


def is_yes(text: str) -> bool | None:
    """Return true if a text says yes and false if it says no; missing if it says neither.

    The word that it opens with counts, after a label such as `Answer:`; where that says neither, the one that it ends
    with. English and Chinese are read.

    >>> is_yes("**Yes**, because it rains."), is_yes("答案：不正确。"), is_yes("Perhaps.")
    (True, False, None)
    """
    plain = " ".join(text.casefold().split()).strip(_AROUND)
    if _BOTH.match(plain[:_NEAR]):
        return None
    found = _OPENS.match(plain[:_NEAR]) or _CLOSES.search(plain[-_NEAR:])
    return None if found is None else found["no"] is None
