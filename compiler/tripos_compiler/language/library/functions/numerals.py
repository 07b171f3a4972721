"""Functions that read the number of an answer."""

from __future__ import annotations

from typing import Annotated

from tripos_compiler.language.library.partiality import Unread
from tripos_compiler.language.library.types import Implied
from tripos_compiler.language.replies.locales import DEFAULT
from tripos_compiler.language.replies.numbers import Policy, odd_reason, read_number

Locale = Annotated[str, Implied("locale")]
"""The locale that a text writes numbers in; the compiler fills in that of the language at hand."""


def read_as(policy: Policy, text: str, locale: str) -> float | None:
    """Return the number that a policy reads in a text, missing if there is none. Raises `Unread` for digits that may
    mean two things."""
    found = read_number(text, locale, policy)
    if (reason := odd_reason(found, locale)) is not None:
        raise Unread(reason)
    try:
        return None if found.value is None else float(found.value)
    except OverflowError:
        return None


def last_number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the last number in a text; missing where there is none.

    Every notation of [numbers](numbers.md) is read: thousands separators, fractions (`3/4`, `1 1/2`, `½`), powers
    (`10⁵`), `3.5 million`, `2千3百`, currency and units on either side. Not read are digits in a name (`x2`, `H2O`),
    ordinals (`2nd`), dates and times; and a text whose last quantity has no value that is written out (`2π`, `√16`)
    has none. A per cent sign changes nothing: `50%` is 50.

    The language at hand says what separates thousands and decimals, unless `numbers` names another locale or the spec
    says `numbers in LOCALE`. A number that contradicts it and may mean two things, `2,5` in English, is a
    `parse_failure`.

    >>> last_number("so 12 apples cost $1,234.50."), last_number("共12个"), last_number("none")
    (1234.5, 12.0, None)
    >>> last_number("zusammen 2.000 €", "de"), last_number("soit 1 234,5 kg", "fr")
    (2000.0, 1234.5)
    """
    return read_as("last", text, numbers)


def number(text: str, numbers: Locale = DEFAULT) -> float | None:
    """Return the number that a whole text is; missing where it is anything else.

    Every notation of [numbers](numbers.md) is read, with a currency or a per cent sign, between the signs of LaTeX or
    in a box or not; other words around it are anything else. A per cent sign changes nothing: `50%` is 50. The
    language of the item determines the separators, as in `last_number`.

    >>> number("-1,234.50"), number("1 3/4"), number("about 5"), number("3.5 million")
    (-1234.5, 1.75, None, 3500000.0)
    >>> number("1.234,50 €", "de"), number("2,5", "ru")
    (1234.5, 2.5)
    """
    return read_as("whole", text, numbers)


def same_number(a: float | None, b: float | None) -> bool:
    """Return true if both numbers exist and are equal to one part in a million.

    Numbers below 1 are equal where they differ by less than one millionth.

    >>> same_number(0.1 + 0.2, 0.3), same_number(None, None)
    (True, False)
    """
    if a is None or b is None:
        return False
    return abs(a - b) <= 1e-6 * max(1.0, abs(a), abs(b))
