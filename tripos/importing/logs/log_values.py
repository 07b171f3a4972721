"""Values in logs that somebody else made: of any type in any place."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from tripos_compiler.language.library import in_bounds


def mapping(value: Any) -> dict[str, Any]:
    """Return a value that is an object, and an empty one for any other."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """Return a value that is a list, and an empty one for any other."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """Return a value that is a text, and a number as one; none for any other."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(value: Any) -> int | None:
    """Return a value that is a whole number from 0 on and that the store can keep; none for any other."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def amount(value: Any) -> float | None:
    """Return a value that is a finite number from 0 on; none for any other."""
    found = finite(value)
    return found if found is not None and found >= 0 else None


def finite(value: Any) -> float | None:
    """Return a number that figures can be made of, also of true and false; none for any other value.

    >>> finite(True), finite(float("nan")), finite("1"), finite(10**400), finite(1.7e308)
    (1.0, None, None, None, None)
    """
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if in_bounds(found) else None


def said_as_json(value: Any) -> str:
    """Return a value as JSON text; NaN is written as Python writes it."""
    try:
        return orjson.dumps(value).decode() if not _has_nan(value) else json.dumps(value, ensure_ascii=False)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, ensure_ascii=True, default=str)


def _has_nan(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(_has_nan, value.values()))
        case list():
            return any(map(_has_nan, value))
    return False
