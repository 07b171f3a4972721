"""Functions of texts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from functools import lru_cache

from tripos_compiler.semantics.library.order import ordered
from tripos_compiler.semantics.library.partiality import Undefined
from tripos_compiler.semantics.library.tokens import words_of


def exact(a: str, b: str) -> bool:
    """Whether two texts are equal but for case and the space around and between words.

    >>> exact(" The  Answer", "the answer")
    True
    """
    return " ".join(a.split()).casefold() == " ".join(b.split()).casefold()


def contains(text: str, part: str) -> bool:
    """Whether a text has another in it, in capitals or not.

    >>> contains("Teach DONE.", "teach done")
    True
    """
    return part.casefold() in text.casefold()


def starts_with(text: str, part: str) -> bool:
    """Whether a text begins with another, in capitals or not.

    >>> starts_with("Yes, it is.", "yes")
    True
    """
    return text.casefold().startswith(part.casefold())


def ends_with(text: str, part: str) -> bool:
    """Whether a text ends with another, in capitals or not.

    >>> ends_with("So it is TRUE", "true")
    True
    """
    return text.casefold().endswith(part.casefold())


def matches(text: str, pattern: str) -> bool:
    """Whether a regular expression is found in a text.

    The expression is one of Python's `re`. Its time is not bounded: `(a+)+b` can take for ever.

    >>> matches("step 12", "step [0-9]+")
    True
    """
    try:
        return _compiled(pattern).search(text) is not None
    except (re.error, OverflowError, RecursionError) as error:
        raise Undefined("the pattern is not a regular expression") from error


def is_no_pattern(given: Mapping[str, object]) -> str | None:
    """What is wrong with a pattern that is written out.

    >>> is_no_pattern({"pattern": "(a"})
    'this pattern is not a regular expression: missing ), unterminated subpattern'
    """
    pattern = given.get("pattern")
    if not isinstance(pattern, str):
        return None
    try:
        _compiled(pattern)
    except re.error as error:
        return f"this pattern is not a regular expression: {error.msg}"
    except (OverflowError, RecursionError) as error:
        return f"this pattern is not a regular expression: {error}"
    return None


@lru_cache(256)
def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `[[` may come to mean something else in a later Python
        return re.compile(pattern)


def words(text: str) -> int:
    """The number of words of a text.

    `it's`, `well-known` and `3.14` are one each. In scripts that put no space between words, such as Chinese, Japanese
    and Thai, each character counts as one.

    >>> words("two words"), words("两个字")
    (2, 3)
    """
    return len(words_of(text))


def lower(text: str) -> str:
    """The text in lower case.

    >>> lower("ABC")
    'abc'
    """
    return text.lower()


def upper(text: str) -> str:
    """The text in upper case.

    >>> upper("abc")
    'ABC'
    """
    return text.upper()


def trim(text: str) -> str:
    """The text without the space around it.

    >>> trim("  a ")
    'a'
    """
    return text.strip()


def replace(text: str, old: str, new: str) -> str:
    """The text with every `old` replaced by `new`.

    >>> replace("1.000.000", ".", "")
    '1000000'
    """
    if not old:
        raise Undefined("what is replaced is empty")
    return text.replace(old, new)


def split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators, as they are; one part more than there are separators.

    >>> split("a, b,", ",")
    ['a', ' b', '']
    """
    if not separator:
        raise Undefined("the separator is empty")
    return text.split(separator)


def is_empty(given: Mapping[str, object]) -> str | None:
    """What is wrong with a text that is looked for and written out.

    >>> is_empty({"text": "", "separator": ""})
    '`separator` is empty'
    """
    empty = (name for name in ("separator", "old", "marker") if given.get(name) == "")
    name = next(empty, None)
    return None if name is None else f"`{name}` is empty"


def lines(text: str) -> list[str]:
    """The lines of a text that are not blank, without the space around them.

    >>> lines("one\\n\\n  two\\n")
    ['one', 'two']
    """
    return [line.strip() for line in text.splitlines() if line.strip()]


def join(items: Collection[str], separator: str) -> str:
    """The texts of a list in a row, with a separator between them; those of a set in order.

    >>> join(["a", "b"], ", ")
    'a, b'
    """
    return separator.join(ordered(items))
