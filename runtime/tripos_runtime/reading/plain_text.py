"""Read numbers, choices and refusals from free text. Ambiguous text is not read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tripos_compiler.replies.names import fold, read_name
from tripos_compiler.replies.number_tokens import DEFAULT, ODD, convention_of, number_text
from tripos_compiler.replies.numbers import NumberReading, odd_reason, read_listed, read_number
from tripos_compiler.replies.text import nfkc

BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
BRACKET = re.compile(r"[\[\]{}]")
JSON_BEGUN = re.compile(r"""\{\s*["'“]|\[\s*["“{\[]""")
"""The beginning of JSON, which need not be complete."""
ENCLOSED = re.compile(r"\s*[\[{]([^\[\]{}]*)[\]}]\s*")
"""A text that one pair of brackets encloses."""
QUOTED = re.compile(r"""["“]([^"“”\n]{1,80})["”]|`([^`\n]{1,80})`|\*\*([^*\n]{1,80})\*\*""")
BULLET = re.compile(r"(?<!\s)\s*+(?:[-*•·]|\(?(?<!\d)\d++[.)、:])\s+")
"""The mark or number before an element of a list."""
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
COLON = re.compile("[:：]")
MOST_COLONS = 32
"""The number of colons of a line, from its end, after which an answer is looked for."""
SEPARATOR = re.compile(r"[,;，；、]")
REFUSAL = re.compile(
    r"(?:(?:(?:i|we)(?:'m|'re| am| are))?\s*(?:really |very |so |truly )?(?:sorry|afraid)"
    r"|i (?:must )?apologi[sz]e|unfortunately)\b.{0,60}?"
    r"\b(?:can't|cannot|can not|unable|won't|will not|not able|must decline)\b"
    r"|(?:i|we) (?:can't|cannot|can not|won't|will not|am unable to|am not able to|must decline to) "
    r"(?:help|assist|answer|provide|comply|do|fulfil|continue|evaluate|rate|score|judge|engage|support|create)"
    r"|(?:非常|很|十分)?(?:抱歉|对不起|不好意思).{0,30}?(?:无法|不能|不可以|不会|没有办法)"
    r"|我(?:无法|不能|不会)(?:回答|提供|协助|帮助|评价|评分|满足|完成|对|为|继续)",
    re.I | re.DOTALL,
)
LONG_REPLY = 20_000
"""Longer replies are read in another thread, so that the event loop can continue with other calls."""
MOST_CHARACTERS = 1_000_000
"""Longer replies are a `parse_failure`: only a model that repeats itself writes so much."""


class AmbiguousNumberError(ValueError):
    """Digits that are not a number in their locale and are ambiguous; the text says which."""


def stated_number(text: str, scale: int | None = None, locale: str = DEFAULT) -> int | float | None:
    """Return the number that a text states; `None` if it states none, or several. With a `scale` of 10, `8/10` is 8.
    Integers are exact. `locale` says how numbers are written.

    Raises `AmbiguousNumberError` if the result depends on digits that another locale would read differently.

    >>> (stated_number("Score: 8/10", 10), stated_number("7 分（满分10分）", 10), stated_number("between 7 and 8"),
    ... stated_number("3/4"))
    (8, 7, None, 0.75)
    >>> stated_number("2.000 €", locale="de"), stated_number("2.000 €"), stated_number("5 (not 2,5)")
    (2000, 2, 5)
    """
    return _number_or_raise(read_number(text, locale, "stated", scale), locale)


def _number_or_raise(reading: NumberReading, locale: str) -> int | float | None:
    if (reason := odd_reason(reading, locale)) is not None:
        raise AmbiguousNumberError(reason)
    return reading.value


def differ_in_letters(names: Sequence[str]) -> bool:
    """Return true if names differ in letters and digits, not only in signs or case.

    >>> (differ_in_letters(("yes", "no")), differ_in_letters(("A>B", "A>>B")), differ_in_letters(("+", "yes")),
    ... differ_in_letters(("m", "M")))
    (True, False, False, False)
    """
    folded = {fold(name) for name in names}
    return len(folded) == len(names) and ("" not in folded or all(map(str.isidentifier, names)))


def read_symbol(text: str, names: Sequence[str]) -> str | None:
    """Return the name in a text, for names that differ in signs or case; `None` if the text has none, or several. The
    name is the whole text, or the only one in double brackets, or, without any in double brackets, the only one in the
    text. In a longer name, a shorter one that it contains does not count.

    >>> names = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
    >>> read_symbol("B is clear. Verdict: [[A>>B]]", names), read_symbol("A>B, or B>A", names), read_symbol("A > B",
    ... names)
    ('A>>B', None, 'A>B')
    """
    any_case = len({name.casefold() for name in names}) == len(names)
    plain, *texts = (_tight(each).casefold() if any_case else _tight(each) for each in (text, *names))
    known = dict(zip(texts, names, strict=True))
    if plain in known:
        return known[plain]
    any_name = "|".join(re.escape(name) for name in sorted(known, key=lambda name: (-len(name), name)))
    bracketed = re.findall(rf"\[\[({any_name})\]\]", plain)
    matches = bracketed or re.findall(rf"(?<![\w<>=+-])({any_name})(?![\w<>=+-])", plain)
    found = {known[match] for match in matches}
    return found.pop() if len(found) == 1 else None


def _tight(text: str) -> str:
    """Return a text without the space around its signs."""
    return re.sub(r"\s*([^\w\s])\s*", r"\1", nfkc(text).strip())


def has_unread_brackets(text: str) -> bool:
    """Return true if a text in which no JSON was found has brackets, other than those of a LaTeX box: it may be broken
    JSON."""
    return BRACKET.search(BOXED.sub("", text)) is not None


def places_in(text: str) -> list[str]:
    """Return the parts of a text that may be an answer without other words: whole lines, text after a colon, and text
    in quotation marks, backticks, bold or a LaTeX box. No part contains brackets, and a text with the beginning of JSON
    has no such parts.

    >>> places_in("I say {high: **low**")
    ['**low**', 'low']
    """
    if JSON_BEGUN.search(text):
        return []
    places: list[str] = []
    for line in text.splitlines():
        colons = [mark.end() for mark in COLON.finditer(line)][-MOST_COLONS:]
        narrow = line.replace("：", ":")
        places += [line, *(narrow[colon:] for colon in colons)]
    places += [next(filter(None, mark.groups())) for mark in QUOTED.finditer(text)]
    places += [mark[1] for mark in BOXED.finditer(text)]
    places = [without_outer_brackets(place).strip() for place in places]
    return [place for place in places if place and not has_unread_brackets(place)]


def without_outer_brackets(text: str) -> str:
    """Return a text without the brackets that enclose it, if any.

    >>> without_outer_brackets("[B]"), without_outer_brackets("of [B]")
    ('B', 'of [B]')
    """
    enclosed = ENCLOSED.fullmatch(text)
    return enclosed[1] if enclosed else text


def places_with_names(text: str, spellings: Iterable[str]) -> list[str]:
    """Return the parts of a text from which one of the names can be read: those of `places_in`, and the whole text
    unless it may be JSON.

    >>> places_with_names("It has {high marks", ["high", "low"]), places_with_names("B. The set {1, 2}", "AB")
    ([], ['B. The set {1, 2}'])
    """
    whole_text = [] if JSON_BEGUN.search(text) or BRACKET.match(text.strip()) else [text]
    names = {name: name for name in spellings}
    return [place for place in (*whole_text, *places_in(text)) if read_name(place, names) is not None]


def elements_in(text: str) -> list[str]:
    """Return the elements of a list written as lines, with or without bullets, or as one line with commas.

    >>> elements_in("1. red\\n2. green"), elements_in("red, green、blue")
    (['red', 'green'], ['red', 'green', 'blue'])
    """
    lines = [line for line in text.splitlines() if line.strip()]
    pieces = lines if len(lines) > 1 else SEPARATOR.split(text)
    stripped = [BULLET.sub("", piece, count=1).strip() for piece in pieces]
    return [piece for piece in stripped if piece]


def numbers_listed(text: str, locale: str) -> list[int | float | None]:
    """Return the elements of a list of numbers, `None` for elements that are not numbers. A comma belongs to a number
    if something else separates the elements, or if the locale says so.

    Raises `AmbiguousNumberError` if a comma may separate two numbers or the thousands of one.

    >>> numbers_listed("1,5, 2,5", "de"), numbers_listed("1,234, 5", "en"), numbers_listed("1,2", "en")
    ([1.5, 2.5], [1234, 5], [1, 2])
    """
    plain = number_text(text, locale)
    convention = convention_of(locale)
    if convention is not None and convention.thousands == ",":
        if THOUSANDS.fullmatch(text.strip()):
            message = f"`{text.strip()}` may be one number or several: write a space after the commas of a list"
            raise AmbiguousNumberError(message)
        plain = ODD.sub(lambda odd: odd[1].replace(",", ", "), plain)
    return [_number_or_raise(read_listed(piece, locale), locale) for piece in elements_in(plain)]


def is_refusal(text: str) -> bool:
    """Return true if a reply begins by declining to answer, in English or Chinese.

    >>> is_refusal("I’m sorry, but I can’t help with that."), is_refusal("Sorry is a word of five letters.")
    (True, False)
    """
    return REFUSAL.match(text.strip().replace("’", "'")[:300]) is not None


def too_long(text: str) -> str | None:
    """Return the error of a reply that is too long to be read; None if it is not.

    >>> too_long("a" * 1_200_000), too_long("a")
    ('the reply has 1,200,000 characters, of which at most 1,000,000 are read', None)
    """
    if len(text) <= MOST_CHARACTERS:
        return None
    return f"the reply has {len(text):,} characters, of which at most {MOST_CHARACTERS:,} are read"
