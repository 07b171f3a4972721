"""How deeply values of data files may be nested: whatever goes through them, calls itself for every level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tripos_compiler.inputs import DataError

DEEPEST = 100


def check_nesting(value: Any, what: str) -> None:
    """Raise `DataError` where a value has lists or objects in each other, more than `DEEPEST` of them; `what` is what
    the value is called.

    >>> check_nesting({"a": [{"b": 1}]}, "record 1")
    """
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for inner in level for each in _inside(inner) if isinstance(each, dict | list)]
        if not level:
            return
    raise DataError(f"{what} is nested more than {DEEPEST} levels deep", "keep what is nested as text, or leave it out")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
