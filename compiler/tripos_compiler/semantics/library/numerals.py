"""Functions that read the number of an answer."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import deque
from collections.abc import Mapping

SIGNS = {"−": "-", "＋": "+", "－": "-", "．": ".", "，": ",", "％": "%", "＄": "$", "／": "/", "\u00a0": " "}
"""Signs that are read as their plain form; digits of any script are digits already."""
_SIGNS = str.maketrans(SIGNS)

_DIGITS = r"\d{1,3}(?:,\d{3})+(?!\d)|\d{1,2}(?:,\d{2}){1,6},\d{3}(?!\d)|\d+"
_CURRENCY = r"[$€£¥￥₹]"
_CASED = r"A-Za-z_µ\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
"""Letters of scripts that put space between words: beside them a digit is part of a name, beside `个` it is not."""
NUMBER_IN_TEXT = re.compile(
    rf"(?:(?<![{_CASED}\d)\]}}%])[-+]{_CURRENCY}?|{_CURRENCY}[-+]?)?"  # `10-12` and `10%-20%` have no minus
    rf"(?<![{_CASED}\d])(?<!\d\.)"  # not a part of `x2`, `H2O` or `1.2.3`
    rf"((?:{_DIGITS})(?:\.\d+)?|(?<!\.)\.\d+)"
    rf"(?:[eE][-+]?\d{{1,3}}(?![{_CASED}\d]))?"
    rf"(?!\d|(?:st|nd|rd|th)(?![{_CASED}]))"
)


def last_number(text: str) -> float | None:
    """The last number in a text; missing where there is none.

    Read are thousands separators, a currency sign, an exponent, digits of any script, and numbers that touch a unit or
    a Chinese character. Not read are digits in a name (`x2`, `H2O`) and ordinals (`2nd`). A per cent sign changes
    nothing: `50%` is 50. A fraction is two numbers; `number` reads one.

    >>> last_number("so 12 apples cost $1,234.50."), last_number("共12个"), last_number("none")
    (1234.5, 12.0, None)
    """
    found = deque(NUMBER_IN_TEXT.finditer(text.translate(_SIGNS)), maxlen=1)
    if not found:
        return None
    value = float(re.sub(rf"{_CURRENCY}|,", "", found[0][0]))
    return value if math.isfinite(value) else None


_PLAIN = rf"(?:(?:{_DIGITS})(?:\.\d*)?|\.\d+)"
_WHOLE = re.compile(
    rf"(?P<sign>[-+])? ?(?:{_CURRENCY} ?(?P<minus>-)?)?"
    rf"(?:(?P<whole>\d+) (?P<part>\d+) ?/ ?(?P<parts>\d+)"
    rf"|(?P<top>{_PLAIN}) ?/ ?(?P<bottom>{_PLAIN})"
    rf"|(?P<plain>{_PLAIN}(?:[eE][-+]?\d{{1,3}})?))"
    rf" ?%? ?{_CURRENCY}?\.?"
)
_FRACTION = re.compile(r"\\[dtc]?frac ?\{([^{}]*)\} ?\{([^{}]*)\}")
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_LATEX = str.maketrans({"⁄": "/", "\u2009": " ", "\u202f": " "})


def number(text: str) -> float | None:
    """The number that a whole text is; missing where it is anything else.

    Read are thousands separators, a currency sign, an exponent, digits of any script, fractions (`3/4`, `1 3/4`, `½`),
    and their LaTeX (`\\frac{3}{4}`, between dollar signs or not). A per cent sign changes nothing: `50%` is 50.

    >>> number("-1,234.50"), number("1 3/4"), number("about 5")
    (-1234.5, 1.75, None)
    """
    plain = text.translate(_SIGNS).translate(_LATEX)
    for latex, meant in (("\\$", ""), ("\\%", "%"), ("{,}", ","), ("\\,", ""), ("\\!", "")):
        plain = plain.replace(latex, meant)
    plain = _FRACTION.sub(r" \1/\2 ", plain).replace("- ", "-")
    plain = _VULGAR.sub(lambda sign: f" {_vulgar(sign[0])} ", plain)
    plain = " ".join(plain.removeprefix("\\(").removesuffix("\\)").strip(" $").split())
    found = _WHOLE.fullmatch(plain)
    if found is None:
        return None
    value = _value(found.groupdict())
    if value is None or not math.isfinite(value):
        return None
    return -value if (found["sign"] == "-") != (found["minus"] == "-") else value


def _vulgar(sign: str) -> str:
    """`½` as `1/2`."""
    return unicodedata.normalize("NFKC", sign).replace("⁄", "/")


def _value(parts: Mapping[str, str | None]) -> float | None:
    def amount(name: str) -> float:
        return float((parts[name] or "0").replace(",", ""))

    if parts["plain"] is not None:
        return amount("plain")
    top, bottom = ("part", "parts") if parts["whole"] is not None else ("top", "bottom")
    return amount("whole") + amount(top) / amount(bottom) if amount(bottom) else None


def same_number(a: float | None, b: float | None) -> bool:
    """Whether both numbers are there and equal to one part in a million.

    Numbers below 1 are equal where they differ by less than one millionth.

    >>> same_number(0.1 + 0.2, 0.3), same_number(None, None)
    (True, False)
    """
    if a is None or b is None:
        return False
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))
