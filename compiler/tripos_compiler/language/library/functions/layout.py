"""Functions that lay a value out for a prompt, and the letters and scripts that options are written in."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Collection, Mapping, Set as AbstractSet
from itertools import count, islice, product
from typing import Any

from tripos_compiler.language.library.partiality import Undefined
from tripos_compiler.language.library.types import ordered, sorted_items
from tripos_compiler.language.replies.letters import letters_at


def bullets(items: Collection[str]) -> str:
    """Return a line for each item, with a dash; those of a set in order.

    >>> print(bullets(["a", "b"]))
    - a
    - b
    """
    return "\n".join(f"- {item}" for item in ordered(items))


SIGN = "{}"
"""Stands in a mark where the letter or the number does."""
MARK = f"{SIGN}. "


def numbered(items: Collection[str], mark: str = MARK) -> str:
    """Return a line for each item, numbered from 1; those of a set in order.

    `mark` is what stands before an item, all of it, with `{}` in place of the number: `"({}) "`, `"Step {}: "`.

    >>> print(numbered(["a", "b"]))
    1. a
    2. b
    >>> print(numbered(["a", "b"], "({}) "))
    (1) a
    (2) b
    """
    return _marked([str(number) for number in range(1, len(items) + 1)], items, mark)


def lettered(items: Collection[str], letters: str = "", mark: str = MARK) -> str:
    """Return a line for each item, lettered from A, after Z from AA; those of a set in order.

    `letters` names others, in order: each character of it, or each word. `mark` is what stands before an item, all of
    it, with `{}` in place of the letter: `"({}) "`, `"{}) "`, `"{}: "`, `"[{}] "`.

    >>> print(lettered(["a", "b"]))
    A. a
    B. b
    >>> print(lettered(["3", "5"], "I II III IV"))
    I. 3
    II. 5
    >>> print(lettered(["3", "5"], "", "({}) "))
    (A) 3
    (B) 5
    """
    return _marked(letters_for(items, letters), items, mark)


def _marked(signs: Collection[str], items: Collection[str], mark: str) -> str:
    if mark.count(SIGN) != 1:
        raise Undefined(NO_SIGN)
    before, after = mark.split(SIGN)
    return "\n".join(f"{before}{sign}{after}{item}" for sign, item in zip(signs, ordered(items), strict=True))


NO_SIGN = f"the mark must have `{SIGN}` once, where the letter or the number stands"


def has_no_sign(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal mark.

    >>> has_no_sign({"mark": "A) "}), has_no_sign({"mark": "{}) "})
    ('the mark must have `{}` once, where the letter or the number stands', None)
    """
    mark = given.get("mark")
    return NO_SIGN if isinstance(mark, str) and mark.count(SIGN) != 1 else None


def letters_for(items: Collection[str], letters: str = "") -> list[str]:
    """Return the letter of each item, as `lettered` shows it.

    After the last letter come pairs, as AA after Z.

    >>> letters_for(["3", "5"]), letters_for(["3", "5"], "I II III IV")
    (['A', 'B'], ['I', 'II'])
    """
    named = letters.split() if len(letters.split()) > 1 else list(letters.strip())
    if not named:
        return [letters_at(number) for number in range(len(items))]
    longer = ("".join(each) for size in count(1) for each in product(named, repeat=size))
    return list(islice(longer, len(items)))


def json(value: Any) -> str:
    """Return the value as JSON on one line; a set is a list in order.

    >>> json({"a": [1, "é"], "b": {3, 2}})
    '{"a": [1, "é"], "b": [2, 3]}'
    """
    return jsonlib.dumps(value, ensure_ascii=False, default=_json_default)


def _json_default(value: Any) -> Any:
    if isinstance(value, AbstractSet):
        return sorted_items(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")
