"""Columns: how a value that a measure looks at is kept, so that equal values are kept alike."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from typing import Any

import orjson


def kept_value(value: Any) -> tuple[float | None, str | None]:
    """Return a number, and JSON text for what is none. True and false are 1 and 0; a set is a list in order; what is
    not there is neither.

    >>> kept_value(True), kept_value("B"), kept_value({"b", "a"}), kept_value(None)
    ((1.0, None), (None, '"B"'), (None, '["a","b"]'), (None, None))
    """
    if value is None:
        return None, None
    if isinstance(value, bool | int | float):
        number = float(value)
        return (number, None) if math.isfinite(number) else (None, None)
    return None, orjson.dumps(_plain(value), default=str).decode()


def _plain(value: Any) -> Any:
    match value:
        case str():
            return str(value)
        case AbstractSet():
            return sorted((_plain(each) for each in value), key=repr)
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
