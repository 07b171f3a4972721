"""Functions that lay a value out for a prompt."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Collection, Set as AbstractSet
from typing import Any

from tripos_compiler.language.library.functions.letters import letters_at
from tripos_compiler.language.library.types import in_order, ordered


def bullets(items: Collection[str]) -> str:
    """A line for each item, with a dash; those of a set in order.

    >>> print(bullets(["a", "b"]))
    - a
    - b
    """
    return "\n".join(f"- {item}" for item in ordered(items))


def numbered(items: Collection[str]) -> str:
    """A line for each item, numbered from 1; those of a set in order.

    >>> print(numbered(["a", "b"]))
    1. a
    2. b
    """
    return "\n".join(f"{number}. {item}" for number, item in enumerate(ordered(items), 1))


def lettered(items: Collection[str]) -> str:
    """A line for each item, lettered from A, after Z from AA; those of a set in order.

    >>> print(lettered(["a", "b"]))
    A. a
    B. b
    """
    return "\n".join(f"{letters_at(number)}. {item}" for number, item in enumerate(ordered(items)))


def json(value: Any) -> str:
    """The value as JSON on one line; a set is a list in order.

    >>> json({"a": [1, "é"], "b": {3, 2}})
    '{"a": [1, "é"], "b": [2, 3]}'
    """
    return jsonlib.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, AbstractSet):
        return in_order(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")
