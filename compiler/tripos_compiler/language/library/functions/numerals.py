"""Functions that read the number of an answer."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import deque
from collections.abc import Mapping
from typing import Annotated

from tripos_compiler.language.library.partiality import Unread
from tripos_compiler.language.library.types import Implied
from tripos_compiler.language.replies.late_patterns import late_pattern
from tripos_compiler.language.replies.locales import CASED, DEFAULT, ODD, odd_number, plain_numbers

_DIGITS = r"\d{1,3}(?:,\d{3})+(?!\d)|\d+"
_CURRENCY = r"[$€£¥￥₹]"
NUMBER_IN_TEXT = late_pattern(
    rf"(?:(?<![{CASED}\d)\]}}%])[-+]{_CURRENCY}?|{_CURRENCY}[-+]?)?"  # `10-12` and `10%-20%` have no minus
    rf"(?<![{CASED}\d])(?<!\d\.)"  # not a part of `x2`, `H2O` or `1.2.3`
    rf"((?:{_DIGITS})(?:\.\d+)?|(?<!\.)\.\d+)"
    rf"(?:[eE][-+]?\d{{1,3}}(?![{CASED}\d]))?"
    rf"(?!\d|(?:st|nd|rd|th)(?![{CASED}]))"
)
Locale = Annotated[str, Implied("locale")]
"""The locale that a text writes numbers in; the compiler fills in that of the language at hand."""


def last_number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the last number in a text; missing where there is none.

    Read are thousands separators, a currency sign, an exponent, digits of any script, and numbers that touch a unit or
    a Chinese character. Not read are digits in a name (`x2`, `H2O`) and ordinals (`2nd`). A per cent sign changes
    nothing: `50%` is 50. A fraction is two numbers; `number` reads one.

    The language at hand says what separates thousands and decimals, unless `numbers` names another locale or the spec
    says `numbers in LOCALE`. A number that contradicts it and may mean two things, `2,5` in English, is a
    `parse_failure`.

    >>> last_number("so 12 apples cost $1,234.50."), last_number("共12个"), last_number("none")
    (1234.5, 12.0, None)
    >>> last_number("zusammen 2.000 €", "de"), last_number("soit 1 234,5 kg", "fr")
    (2000.0, 1234.5)
    """
    found = deque(_NUMBER_OR_ODD.finditer(plain_numbers(text, numbers)), maxlen=1)
    if not found:
        return None
    value = settled(float_of(found[0][0]), numbers)
    return value if math.isfinite(value) else None


_NUMBER_OR_ODD = late_pattern(f"{ODD.pattern}|{NUMBER_IN_TEXT.pattern}")


def float_of(numeral: str) -> float | str:
    """Return the value of what stands in a text whose numbers are plain; what is odd as it was written."""
    odd = ODD.fullmatch(numeral)
    return float(re.sub(rf"{_CURRENCY}|,", "", numeral)) if odd is None else odd[1]


def settled(number: float | str, locale: str) -> float:
    """Return the number that was found. Raises `Unread` where it is odd."""
    if isinstance(number, str):
        raise Unread(odd_number(number, locale))
    return number


_PLAIN = rf"(?:(?:{_DIGITS})(?:\.\d*)?|\.\d+)"
_WHOLE = late_pattern(
    rf"(?P<sign>[-+])? ?(?:{_CURRENCY} ?(?P<minus>-)?)?"
    rf"(?:(?P<whole>\d+) (?P<part>\d+) ?/ ?(?P<parts>\d+)"
    rf"|(?P<top>{_PLAIN}) ?/ ?(?P<bottom>{_PLAIN})"
    rf"|(?P<plain>{_PLAIN}(?:[eE][-+]?\d{{1,3}})?))"
    rf" ?%? ?{_CURRENCY}?\.?"
)
_FRACTION = late_pattern(r"\\[dtc]?frac ?\{([^{}]*)\} ?\{([^{}]*)\}")
_VULGAR = late_pattern("[¼-¾⅐-⅞]")


def number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the number that a whole text is; missing where it is anything else.

    Read are thousands separators, a currency sign, an exponent, digits of any script, fractions (`3/4`, `1 3/4`, `½`),
    and their LaTeX (`\\frac{3}{4}`, between dollar signs or not). A per cent sign changes nothing: `50%` is 50. The
    language of the item determines the separators, as in `last_number`.

    >>> number("-1,234.50"), number("1 3/4"), number("about 5")
    (-1234.5, 1.75, None)
    >>> number("1.234,50 €", "de"), number("2,5", "ru")
    (1234.5, 2.5)
    """
    plain = plain_numbers(text, numbers)
    odd = ODD.search(plain)
    if odd is None:
        return whole_number(plain)
    if whole_number(ODD.sub("1", plain)) is None:
        return None
    return settled(odd[1], numbers)


def whole_number(plain: str) -> float | None:
    """Return the number that a whole text is whose numbers are plain.

    >>> whole_number("1234.5"), whole_number("-1 3/4")
    (1234.5, -1.75)
    """
    plain = _FRACTION.sub(r" \1/\2 ", plain.replace("⁄", "/")).replace("- ", "-")
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
    """Return true if both numbers exist and are equal to one part in a million.

    Numbers below 1 are equal where they differ by less than one millionth.

    >>> same_number(0.1 + 0.2, 0.3), same_number(None, None)
    (True, False)
    """
    if a is None or b is None:
        return False
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))
