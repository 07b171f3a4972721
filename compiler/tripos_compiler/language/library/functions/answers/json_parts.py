"""Parts of a value of JSON, each read as a type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from tripos_compiler.language.library.types import Json, T, WrittenOut, WrittenType, notated_type
from tripos_compiler.plan import Type, value_fitting

BETWEEN = "."
POSITION = re.compile(r"0|[1-9][0-9]*")


def json_part(
    value: Json,
    path: Annotated[str | Sequence[str], WrittenOut("a name that is not known before stands in a list: `(name,)`")],
    type: Annotated[str, WrittenType("T")],
) -> T | None:
    """Return a part of a value of JSON, read as a type; missing where there is none, or one of another type.

    The path has the names on the way, with dots between them: `json_part(call.arguments, "trip.city", text)`. In a list
    a name is a position, counted from 0: `"cities.0"`. A list of names has each as it is, with its dots:
    `("triangle.area", "base")`. The type is `text`, `integer`, `number`, `bool`, a range, `json`, or a `list<…>` of one
    of these or of records, `list<{ name text, stars 1..5, note text? }>`, whose objects may have more in them. Nothing
    is converted: `"3"` is no number, a list with one text in it no `list<number>`, and an object that lacks a field no
    record. A `null` is missing.

    >>> trip = {"city": "Rome", "nights": 3, "hotels": [{"stars": 4}]}
    >>> json_part(trip, "city", "text"), json_part(trip, "hotels.0.stars", "1..5"), json_part(trip, "nights", "text")
    ('Rome', 4, None)
    """
    part: Any = value
    for name in path.split(BETWEEN) if isinstance(path, str) else path:
        match part:
            case Mapping() if name in part:
                part = part[name]
            case list() if POSITION.fullmatch(name) and int(name) < len(part):
                part = part[int(name)]
            case _:
                return None
    found: T | None = value_fitting(_type(type), part)
    return found


@cache
def _type(notation: str) -> Type:
    found = notated_type(notation)
    assert found is not None, f"a part of JSON cannot be read as {notation}"
    return found


def is_no_path(given: Mapping[str, object]) -> str | None:
    """Return the error of a literal path.

    >>> is_no_path({"path": "a..b"}), is_no_path({"path": "a.b"})
    ('a name of the path is empty', None)
    """
    path = given.get("path")
    return "a name of the path is empty" if isinstance(path, str) and "" in path.split(BETWEEN) else None
