"""Forms of a verdict that the prompt of a judge states, such as `[[{}]]` or `Rating: [[{}]]`.

A form is a text with one `{}` in place of the verdict. Its other characters match a reply regardless of emphasis,
spaces, case and width. The caller reads the text in place of `{}`, since it knows the type of the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tripos_compiler.replies.frames import plain
from tripos_compiler.replies.names import is_found_worse
from tripos_compiler.replies.number_tokens import COMPARATIVES
from tripos_compiler.replies.numbers import POINTS_TAKEN
from tripos_compiler.replies.text import nfkc

HOLE = "{}"
"""Place of the verdict in a form."""
LONGEST = 80
"""Largest number of characters of a verdict."""
_MARKS = "*_`"
"""Emphasis of Markdown, which may occur anywhere in a form."""
_QUOTES = "\"'"
_PARTS = re.compile(r"\w+|\s+|[^\w\s]")
_FLAT = str.maketrans(
    {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("‘’‛ʼ", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("−﹣‐‑", "-")
    | dict.fromkeys("\u00a0\u2007\u2009\u202f\u3000", " ")
)
"""ASCII forms of characters, one for each, so that positions do not change."""
_ALONE = r"(?=\s*(?:\Z|[;?()\[\]{}|。、\"—–]|[.,:](?!\d)|!(?!=)|['*_`](?!\w)|-\s))"
"""Text after a verdict: neither `A tie` nor `A's answer` is the verdict A, nor is `1.5` the verdict 1."""
_MARK = r"[*_`\"']"
_BESIDE = rf"(?:{_MARK}{{0,9}}\s*(?:[,、/|&+–—和或]|\b(?:and|or|vs\.?|versus)\b|(?={_MARK}))\s*{_MARK}{{0,9}})"
"""Text between two names of which neither is the verdict, as in `A, B are equally good`."""
_NUMBER = r"[-+]?\d(?:[\d.,]*\d)?"
_LEADING_NUMBER = re.compile(
    rf"{_NUMBER}(?:{_MARK}{{0,9}}"
    rf"(?:\s*(?:[/,、~&|+*×÷=→–—-]|->|to|or|and|vs\.?|out of|of|至|到|或|和)\s*|\s+|(?={_MARK}))"
    rf"{_MARK}{{0,9}}{_NUMBER})?\s?%?(?![A-Za-z\d¼-¾⅐-⅞⁄]|[.,]\d"
    rf"|\s(?:points? )?or (?:{COMPARATIVES})\b)",
    re.IGNORECASE,
)


def form_with_verdict(form: str, verdict: str) -> str:
    """Return a form with a verdict in it.

    >>> form_with_verdict("Rating: [[{}]]", "5")
    'Rating: [[5]]'
    """
    return form.replace(HOLE, verdict)


def is_open(form: str) -> bool:
    """Return true if a form ends with its verdict, so that nothing marks the end of the verdict."""
    return not form.partition(HOLE)[2].strip()


def mistake_in(form: str) -> str | None:
    """Return the error of a form, or None.

    >>> mistake_in("Score: {}"), mistake_in("Score:"), mistake_in("{} points")
    (None, 'this form has no `{}`', 'this form has nothing before `{}`')
    """
    if HOLE not in form:
        return f"this form has no `{HOLE}`"
    if form.count(HOLE) > 1:
        return f"this form has `{HOLE}` more than once"
    return None if form.partition(HOLE)[0].strip() else f"this form has nothing before `{HOLE}`"


class StatedVerdict(NamedTuple):
    """Occurrence of a form at `start:end` of a text, and the text in place of `{}` with its start."""

    start: int
    end: int
    verdict: str
    verdict_start: int


def stated_verdicts(form: str, text: str) -> list[StatedVerdict]:
    """Return the occurrences of a form in a text, in order. A verdict has at most `LONGEST` characters of one line; if
    the form ends with it, it is the rest of the line.

    >>> reply = "I say **Rating:** [[5]], no, RATING: [[ 6 ]]."
    >>> [found.verdict for found in stated_verdicts("Rating: [[{}]]", reply)]
    ['5', '6']
    >>> [found.verdict for found in stated_verdicts("评分：{}", "最终评分: **4**。")]
    ['4**。']
    """
    flat = text.translate(_FLAT)
    return [
        StatedVerdict(match.start(), match.end(), match["verdict"].strip(), match.start("verdict"))
        for match in _pattern(form).finditer(flat)
    ]


@lru_cache(maxsize=256)
def _pattern(form: str) -> re.Pattern[str]:
    before, _, after = form.translate(_FLAT).partition(HOLE)
    opening, closing = _literal(before.strip()), _literal(after.strip())
    around = rf"[{_blanks(bool(closing) or before[-1:].isspace())}{_MARKS}{_QUOTES}]{{0,9}}"
    begins = r"(?<![A-Za-z0-9])" if before.lstrip()[:1].isascii() and before.lstrip()[:1].isalnum() else ""
    if not closing:
        verdict = rf"(?:(?!{opening})[^\n]){{1,{LONGEST}}}"
        return re.compile(rf"{begins}{opening}{around}(?P<verdict>{verdict})", re.IGNORECASE)
    ends = r"(?![A-Za-z0-9])" if after.rstrip()[-1:].isascii() and after.rstrip()[-1:].isalnum() else ""
    verdict = rf"(?:(?!{opening}|{closing})[^\n]){{1,{LONGEST}}}?"
    return re.compile(
        rf"{begins}{opening}{around}(?P<verdict>{verdict})[\s{_MARKS}{_QUOTES}]{{0,9}}{closing}{ends}", re.IGNORECASE
    )


def _blanks(spaced: bool) -> str:
    """Return the blanks between two parts of a form, as characters of a class: a line break only if the form has a
    space there."""
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


def verdict_name(verdict: str, names: Sequence[str], *, alone: bool) -> str | None:
    """Return the name that a verdict states, or None: the whole verdict, or if not `alone`, its beginning up to
    punctuation, unless another name follows. Case counts only if it distinguishes names.

    >>> verdict_name("b", ["A", "B"], alone=True), verdict_name("A tie.", ["A", "tie"], alone=False)
    ('B', None)
    >>> verdict_name("B, since it is short", ["A", "B"], alone=False), verdict_name("A > B", ["A>B", "A"], alone=True)
    ('B', 'A>B')
    >>> verdict_name("A, B are equal", ["A", "B"], alone=False), verdict_name("A's is shorter", ["A", "B"], alone=False)
    (None, None)
    >>> verdict_name("B, A lacks depth", ["A", "B"], alone=False), verdict_name("B, A wins", ["A", "B"], alone=False)
    ('B', None)
    """
    any_case = len({name.casefold() for name in names}) == len(names)
    flags = re.IGNORECASE if any_case else 0
    others = "|".join(re.escape(_tight(name)) for name in sorted(names, key=len, reverse=True))
    ends = r"\Z" if alone else rf"{_ALONE}(?!{_BESIDE}(?-i:{others})(?!\w))"
    for text in (nfkc(verdict), _tight(verdict)):
        for name in sorted(names, key=len, reverse=True):
            pattern = re.escape(_tight(name)) + ends
            if re.match(pattern, text.strip(f" \t{_MARKS}{_QUOTES}") if alone else text, flags):
                return name
    return None if alone else _name_before_worse(plain(verdict), names, others, flags)


def _name_before_worse(verdict: str, names: Sequence[str], others: str, flags: int) -> str | None:
    """Return the name at the beginning of a verdict that goes on about a worse one, as in `B, A lacks depth`."""
    for name in sorted(names, key=len, reverse=True):
        beside = re.match(rf"{re.escape(_tight(name))}\s*[,、]\s*(?P<other>{others})(?!\w)", verdict, flags)
        if beside is not None and is_found_worse(verdict, *beside.span("other")):
            return name
    return None


def _tight(text: str) -> str:
    """Return a text without the space around its signs."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", nfkc(text).translate(_FLAT).strip())


def leading_number(verdict: str) -> str | None:
    """Return the number at the beginning of a verdict, with a directly following number, such as its scale or the
    other end of a range; None if it does not begin with a number.

    >>> leading_number("4, 1 point lost"), leading_number("4, 1"), leading_number("4 or higher")
    ('4', '4, 1', None)
    >>> leading_number("4/5. Good."), leading_number("4 and 5"), leading_number("4.5, since"), leading_number("four")
    ('4/5', '4 and 5', '4.5', None)
    """
    found = _LEADING_NUMBER.match(verdict)
    if found is None:
        return None
    first = re.match(_NUMBER, found[0])
    behind = "" if first is None else found[0][first.end() :].lstrip(f" {_MARKS}{_QUOTES}")
    if first is not None and behind.startswith(",") and POINTS_TAKEN.match(verdict, found.end()):
        return first[0]
    return found[0].strip()
