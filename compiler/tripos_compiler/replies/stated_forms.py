"""Forms of a verdict in free text that an author states, such as `[[{}]]` or `Rating: [[{}]]`.

A form is a text with one `{}`, where the verdict stands. The rest is found in a reply however it is emphasized, spaced
or capitalized, in full-width characters too. What stands in place of `{}` is read by whoever knows its type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tripos_compiler.replies.text import nfkc

HOLE = "{}"
"""Place of the verdict in a form."""
LONGEST = 80
"""Largest number of characters of a verdict."""
_MARKS = "*_`"
"""Emphasis of Markdown, which may stand anywhere in a form."""
_QUOTES = "\"'"
_PARTS = re.compile(r"\w+|\s+|[^\w\s]")
_FLAT = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("‘’‛ʼ", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("−﹣‐‑", "-")
    | dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ")
)
"""One character for each, so that positions stay."""
_ALONE = r"(?=\s*(?:\Z|[;?()\[\]{}|。、\"—–]|[.,:](?!\d)|!(?!=)|['*_`](?!\w)|-\s))"
"""What follows a name that is alone: neither `A tie` nor `A's answer` names A, and `1.5` does not name 1."""
_MARK = r"[*_`\"']"
_BESIDE = rf"(?:{_MARK}{{0,9}}\s*(?:[,、/|&+–—和或]|\b(?:and|or|vs\.?|versus)\b|(?={_MARK}))\s*{_MARK}{{0,9}})"
"""What stands between two names of which neither is the verdict, as in `A, B are equally good`."""
_NUMBER = r"[-+]?\d(?:[\d.,]*\d)?"
_LEADING_NUMBER = re.compile(
    rf"{_NUMBER}(?:{_MARK}{{0,9}}"
    rf"(?:\s*(?:[/,、~&|+*×÷=→–—-]|->|to|or|and|vs\.?|out of|of|至|到|或|和)\s*|\s+|(?={_MARK}))"
    rf"{_MARK}{{0,9}}{_NUMBER})?\s?%?(?![A-Za-z\d¼-¾⅐-⅞⁄]|[.,]\d)",
    re.IGNORECASE,
)


def filled(form: str, verdict: str) -> str:
    """Return a form with a verdict in it.

    >>> filled("Rating: [[{}]]", "5")
    'Rating: [[5]]'
    """
    return form.replace(HOLE, verdict)


def is_open(form: str) -> bool:
    """Return true if the verdict ends a form, so that only its own words say where it ends."""
    return not form.partition(HOLE)[2].strip()


def mistake_in(form: str) -> str | None:
    """Return what is wrong with a form; None if nothing is.

    >>> mistake_in("Score: {}"), mistake_in("Score:"), mistake_in("{} points")
    (None, 'this form has no `{}`', 'this form has nothing before `{}`')
    """
    if HOLE not in form:
        return f"this form has no `{HOLE}`"
    if form.count(HOLE) > 1:
        return f"this form has `{HOLE}` more than once"
    return None if form.partition(HOLE)[0].strip() else f"this form has nothing before `{HOLE}`"


class StatedVerdict(NamedTuple):
    """Occurrence of a form in a text: where it begins and ends, and the text in place of `{}` with its start."""

    start: int
    end: int
    said: str
    at: int


def stated_verdicts(form: str, text: str) -> list[StatedVerdict]:
    """Return the occurrences of a form in a text, in order. A verdict is at most a line of `LONGEST` characters; of a
    form that ends with it, the rest of the line.

    >>> said = "I say **Rating:** [[5]], no, RATING: [[ 6 ]]."
    >>> [found.said for found in stated_verdicts("Rating: [[{}]]", said)]
    ['5', '6']
    >>> [found.said for found in stated_verdicts("评分：{}", "最终评分: **4**。")]
    ['4**。']
    """
    flat = text.translate(_FLAT)
    return [
        StatedVerdict(match.start(), match.end(), match["said"].strip(), match.start("said"))
        for match in _pattern(form).finditer(flat)
    ]


@lru_cache(maxsize=256)
def _pattern(form: str) -> re.Pattern[str]:
    before, _, after = form.translate(_FLAT).partition(HOLE)
    opening, closing = _literal(before.strip()), _literal(after.strip())
    around = rf"[{_blanks(bool(closing) or before[-1:].isspace())}{_MARKS}{_QUOTES}]{{0,9}}"
    begins = r"(?<![A-Za-z0-9])" if before.lstrip()[:1].isascii() and before.lstrip()[:1].isalnum() else ""
    if not closing:
        said = rf"(?:(?!{opening})[^\n]){{1,{LONGEST}}}"
        return re.compile(rf"{begins}{opening}{around}(?P<said>{said})", re.IGNORECASE)
    ends = r"(?![A-Za-z0-9])" if after.rstrip()[-1:].isascii() and after.rstrip()[-1:].isalnum() else ""
    said = rf"(?:(?!{opening}|{closing})[^\n]){{1,{LONGEST}}}?"
    return re.compile(
        rf"{begins}{opening}{around}(?P<said>{said})[\s{_MARKS}{_QUOTES}]{{0,9}}{closing}{ends}", re.IGNORECASE
    )


def _blanks(spaced: bool) -> str:
    """Return the characters of a class for the blanks between two parts of a form: a line may end only where the form
    has a space."""
    return r"\s" if spaced else r" \t"


def _literal(text: str) -> str:
    """Return the pattern of the text on one side of a verdict."""
    pieces: list[str] = []
    spaced, previous = False, ""
    for part in _PARTS.findall(text):
        if part.isspace():
            spaced = True
            continue
        if previous:
            least = 1 if spaced and previous[-1].isalnum() and part[0].isalnum() else 0
            pieces.append(rf"[{_blanks(spaced)}{_MARKS}]{{{least},9}}")
        pieces.append(re.escape(part) if part[0].isalnum() else rf"\\?{re.escape(part)}")
        spaced, previous = False, part
    return "".join(pieces)


def said_name(said: str, names: Sequence[str], *, alone: bool) -> str | None:
    """Return the name that a verdict is: all of it, or if not `alone`, its beginning up to punctuation, unless another
    name stands beside it. Case counts only if it distinguishes names.

    >>> said_name("b", ["A", "B"], alone=True), said_name("A tie.", ["A", "tie"], alone=False)
    ('B', None)
    >>> said_name("B, since it is short", ["A", "B"], alone=False), said_name("A > B", ["A>B", "A"], alone=True)
    ('B', 'A>B')
    >>> said_name("A, B are equal", ["A", "B"], alone=False), said_name("A's is shorter", ["A", "B"], alone=False)
    (None, None)
    """
    any_case = len({name.casefold() for name in names}) == len(names)
    flags = re.IGNORECASE if any_case else 0
    others = "|".join(re.escape(_tight(name)) for name in sorted(names, key=len, reverse=True))
    ends = r"\Z" if alone else rf"{_ALONE}(?!{_BESIDE}(?-i:{others})(?!\w))"
    for text in (nfkc(said), _tight(said)):
        for name in sorted(names, key=len, reverse=True):
            pattern = re.escape(_tight(name)) + ends
            if re.match(pattern, text.strip(f" \t{_MARKS}{_QUOTES}") if alone else text, flags):
                return name
    return None


def _tight(text: str) -> str:
    """Return a text without the space around its signs."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", nfkc(text).translate(_FLAT).strip())


def leading_number(said: str) -> str | None:
    """Return the number with which a verdict begins, with another number beside it, such as its scale or the other end
    of a range; None if it begins with none.

    >>> leading_number("4/5. Good."), leading_number("4 and 5"), leading_number("4.5, since"), leading_number("four")
    ('4/5', '4 and 5', '4.5', None)
    """
    found = _LEADING_NUMBER.match(said)
    return None if found is None else found[0].strip()
