"""How languages write numbers: the decimal sign, and what stands between thousands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.source import dataclass

DEFAULT = "en"
"""The locale of a reading that names none."""

SIGNS = {"−": "-", "＋": "+", "－": "-", "．": ".", "％": "%", "＄": "$", "／": "/"}
"""Signs that are read as their plain form; digits of any script are digits already."""
_SIGNS = str.maketrans(SIGNS)

CASED = r"A-Za-z_µ\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
"""Letters of scripts that put space between words: beside them a digit is part of a name, beside `个` it is not."""


@dataclass(frozen=True)
class Convention:
    """The decimal sign and the sign between thousands; `spaced`: a plain space may stand between thousands."""

    decimal: str
    thousands: str
    spaced: bool = False


_POINT = Convention(".", ",")
_COMMA = Convention(",", ".")
_SPACED = Convention(",", "", spaced=True)
_EITHER = Convention(",", ".", spaced=True)

_LANGUAGES: Mapping[Convention, str] = {
    _POINT: "en zh yue ja ko th he hi bn gu mr ta te kn ml pa ur ne si my ms sw zu cy ga gd mt fil tl ha yo ig so am ti"
    " mn ug bo ar fa",
    _COMMA: "de it nl id jv da tr el ro hr sl sr bs mk vi ca gl eu is az fo lo fy lb km",
    _SPACED: "fr ru uk be bg cs sk pl hu fi sv no nb nn lt lv et kk ky uz tk tt hy ka sq eo",
    _EITHER: "es pt",
}
_REGIONS: Mapping[Convention, str] = {
    _POINT: "de-ch de-li it-ch es-mx es-us es-pr es-do es-gt es-hn es-sv es-ni es-pa es-pe es-cu es-419",
}
"""Regions that differ from their language, as the CLDR has them. An apostrophe between thousands is read anywhere."""

_CONVENTIONS = {
    name: convention
    for table in (_LANGUAGES, _REGIONS)
    for convention, names in table.items()
    for name in names.split()
}


def convention_of(locale: str) -> Convention | None:
    """Return how a locale writes numbers: the language of a tag of BCP 47, and its region where that differs; None
    where it is not known.

    >>> convention_of("de").decimal, convention_of("de_CH").decimal, convention_of("x")
    (',', '.', None)
    """
    parts = locale.casefold().replace("_", "-").split("-")
    return next(
        (_CONVENTIONS[name] for part in parts[:0:-1] if (name := f"{parts[0]}-{part}") in _CONVENTIONS), None
    ) or (_CONVENTIONS.get(parts[0]))


def is_no_locale(arguments: Mapping[str, object]) -> str | None:
    """Return the error of a literal locale."""
    locale = arguments.get("numbers")
    if not isinstance(locale, str) or convention_of(locale) is not None:
        return None
    return f'how "{locale}" writes numbers is not known'


ODD = late_pattern("\ue000([^\ue001]*)\ue001")
"""Digits that are no number of their locale, in a text that `plain_numbers` gives."""

_APART = "\u00a0\u2009\u202f'’"
_RUN = late_pattern(rf"(?<![{CASED}\d])(?<!\d[.,])\d++(?:(?:[.,{_APART}\u066b\u066c]|\ (?=\d{{3}}(?!\d)))\d++)+")
_SPACES = late_pattern(rf"([1-9]\d{{0,2}})([ {_APART}])(\d{{3}}(?:\2\d{{3}})*)(?:[.,](\d+))?")
_ARABIC = late_pattern("(\\d{1,3}(?:\u066c\\d{3})+|\\d+)(?:\u066b(\\d+))?")
_MIXED = late_pattern(r"[1-9]\d{0,2}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+)")
_OTHER_DIGIT = late_pattern(r"(?![0-9])\d")
"""A digit of another script, or a wide one."""
_WIDE_COMMA = late_pattern(r"(?<=\d)，(?=\d{3}(?!\d))")


_OPENS = late_pattern(r"(?:[(（\[【]|\\\{)\s{0,3}[-−﹣+]?\s{0,3}\Z")
_CLOSES = late_pattern(r"\s{0,3}(?:\\right\s{0,3})?(?:[)）\]】]|\\\})")
_NEAR = 12
_SHOWN = 40
_LATEX = (("\\$", "$"), ("\\%", "%"), ("{,}", ","), ("\\,", "\u2009"), ("\\!", ""))
"""What LaTeX puts between the digits of a number and around them."""
_NARROW = str.maketrans(dict.fromkeys("\u00a0\u2009\u202f", " "))


def plain_numbers(text: str, locale: str) -> str:
    """Return a text whose numbers have a decimal point and nothing between thousands, as `en` or another locale writes
    them. What contradicts the locale and may mean two things stands between two signs, which `ODD` finds.

    >>> plain_numbers("1.234,50 €", "de"), plain_numbers("1 234", "fr"), plain_numbers("1,234.5", "en")
    ('1234.50 €', '1234', '1234.5')
    """
    convention = convention_of(locale)

    def plain(run: re.Match[str]) -> str:
        before = text[max(0, run.start() - _NEAR) : run.start()]
        in_brackets = _OPENS.search(before) is not None and _CLOSES.match(text, run.end()) is not None
        return _one_number(run[0], convention, in_brackets, listed=before[-1:] == " " and before[-2:-1].isdigit())

    text = text.replace("\ue000", "").replace("\ue001", "")
    for latex, meant in _LATEX:
        text = text.replace(latex, meant)
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    text = _WIDE_COMMA.sub(",", text).replace("，", ", ").translate(_SIGNS)
    return _RUN.sub(plain, text).translate(_NARROW)


def odd_number(odd: str, locale: str) -> str:
    """Return why digits are no number, in words.

    >>> odd_number("2,5", "en")
    '`2,5` is no number as `en` writes it; another locale would read it: write `numbers in LOCALE`'
    """
    odd = odd if len(odd) <= _SHOWN else f"…{odd[-_SHOWN:]}"
    if not locale:
        return f"`{odd}` may be two numbers, and no language is at hand: write `numbers in LOCALE`"
    if convention_of(locale) is None:
        return f"`{odd}` may be two numbers, and how `{locale}` writes numbers is not known: write `numbers in LOCALE`"
    return f"`{odd}` is no number as `{locale}` writes it; another locale would read it: write `numbers in LOCALE`"


def _one_number(run: str, convention: Convention | None, in_brackets: bool = False, listed: bool = False) -> str:
    """Digits with signs between them as one number with a point, as several numbers, or as odd ones. `in_brackets`: as
    a point or an interval is; `listed`: behind another number."""
    spaces = _SPACES.fullmatch(run)
    if spaces is not None:
        groups = re.sub(rf"[ {_APART}]", " ", spaces[3]).split()
        if spaces[2] != " " or any(group[0] == "0" for group in groups) or (convention and convention.spaced):
            return spaces[1] + "".join(groups) + (f".{spaces[4]}" if spaces[4] else "")
        if not listed:
            return _odd(run)
    apart = re.search(rf"[ {_APART}]", run)
    if apart is not None:
        return "".join(
            part if part[0] in f" {_APART}" else _one_number(part, convention)
            for part in re.split(rf"([ {_APART}])", run)
        )
    arabic = _ARABIC.fullmatch(run)
    if arabic is not None:
        return arabic[1].replace("\u066c", "") + (f".{arabic[2]}" if arabic[2] else "")
    if convention is None:
        readings = {_of(run, each) for each in (_POINT, _COMMA)} - {None}
        if len(readings) == 1:
            return readings.pop() or ""
        return _odd(run) if readings else _other(run, _POINT, in_brackets)
    return _of(run, convention) or _other(run, convention, in_brackets)


def _of(run: str, convention: Convention) -> str | None:
    """Return a number as a convention writes it; None where it is none."""
    decimal, thousands = re.escape(convention.decimal), re.escape(convention.thousands)
    forms = [r"\d+"]
    if thousands:
        forms.append(rf"[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+")
    if convention.thousands == ",":
        forms.append(r"[1-9]\d?(?:,\d{2})+,\d{3}")  # lakh and crore
    found = re.fullmatch(rf"({'|'.join(forms)})(?:{decimal}(\d+))?", run)
    if found is None:
        return None
    return re.sub(r"[.,]", "", found[1]) + (f".{found[2]}" if found[2] else "")


def _other(run: str, convention: Convention, in_brackets: bool) -> str:
    """Return what a convention does not write so: a number where nothing else can be meant, a list, or what is odd."""
    if _MIXED.fullmatch(run):
        decimal = max(run.rfind("."), run.rfind(","))
        return re.sub(r"[.,]", "", run[:decimal]) + "." + run[decimal + 1 :]
    if convention.decimal == ",":
        one_point = run.count(".") == 1 and "," not in run
        return run if one_point and not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", run) else _odd(run)
    parts = run.split(",")
    listed = len(parts) > 2 or (len(parts) == 2 and ("." in run or in_brackets))
    return ", ".join(parts) if listed and all(part.count(".") < 2 for part in parts) else _odd(run)


def _odd(run: str) -> str:
    return f"\ue000{run}\ue001"
