"""Values that fit a JSON Schema, drawn from a hash: what the mock models answer with."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Literal

Mood = Literal["kind", "mixed"]
"""`kind` takes integers from the upper two fifths of their range, `mixed` from all of it."""

ENGLISH = (
    "The main idea is stated clearly and then worked through step by step.",
    "Each step follows from the one before it, so the argument is easy to check.",
    "A short example shows how the rule is used in practice.",
    "The wording suits the level of the learner.",
    "One detail could be explained more fully, though nothing is wrong.",
    "It helps to compare the result with an estimate made beforehand.",
    "The closing sentence sums up what was shown.",
    "A common mistake is named, and the way round it is given.",
)
CHINESE = (
    "主要观点表述清楚，并且逐步展开。",
    "每一步都由前一步得出，便于检查。",
    "一个简短的例子说明了规则的用法。",
    "用词适合学习者的水平。",
    "有一个细节可以讲得更充分，但没有错误。",
    "把结果与事先的估计相比较会有帮助。",
    "最后一句总结了全文。",
    "指出了一个常见错误，并给出了避免的办法。",
)

ANY_JSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "number": {"type": "integer"},
        "sure": {"type": "boolean"},
        "parts": {"type": "array", "items": {"type": "string"}},
    },
}
"""The form in which mocks answer where any JSON will do."""


def draw(size: int, *parts: str) -> int:
    """Return a number from 0 to `size - 1` that depends on the parts alone.

    >>> draw(10, "a", "b") == draw(10, "a", "b") and 0 <= draw(10, "a", "b") < 10
    True
    """
    name = json.dumps(parts).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) % size


def sentences(count: int, key: str, *, chinese: bool) -> str:
    """Return that many different sentences (8 at most), in Chinese or English."""
    pool = list(CHINESE if chinese else ENGLISH)
    chosen = [pool.pop(draw(len(pool), key, str(index))) for index in range(min(count, len(pool)))]
    return ("" if chinese else " ").join(chosen)


def value_of(schema: dict[str, Any], key: str, mood: Mood, *, chinese: bool = False) -> Any:
    """Return a value that fits the schema; the same key gives the same value. Where any JSON fits it is an object.

    >>> score = value_of({"type": "integer", "minimum": 1, "maximum": 10}, "k", "kind")
    >>> 7 <= score <= 10
    True
    >>> value_of({"type": "object", "properties": {"a": {"type": "null"}}}, "k", "kind")
    {'a': None}
    """
    schema = schema or ANY_JSON
    if "enum" in schema:
        return schema["enum"][draw(len(schema["enum"]), key)]
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        return value_of(options[0], key, mood, chinese=chinese) if options else None
    match schema.get("type"):
        case "object":
            properties: dict[str, Any] = schema.get("properties", {})
            return {name: value_of(part, f"{key}/{name}", mood, chinese=chinese) for name, part in properties.items()}
        case "array":
            count = max(int(schema.get("minItems", 1)), min(int(schema.get("maxItems", 3)), 1 + draw(3, key)))
            items = [
                value_of(schema.get("items", {}), f"{key}/{index}", mood, chinese=chinese) for index in range(count)
            ]
            return _distinct(items) if schema.get("uniqueItems") else items
        case "integer":
            return _integer(schema, key, mood)
        case "number":
            low, high = float(schema.get("minimum", 0)), float(schema.get("maximum", schema.get("minimum", 0) + 1))
            return round(low + (high - low) * draw(1001, key) / 1000, 3)
        case "boolean":
            return draw(2, key) == 1
        case "null":
            return None
        case _:
            return sentences(1, key, chinese=chinese)[: schema.get("maxLength")]


def _integer(schema: dict[str, Any], key: str, mood: Mood) -> int:
    low = int(schema.get("minimum", min(0, schema.get("maximum", 0))))
    high = int(schema.get("maximum", low + 10))
    span = high - low + 1
    return high - draw(span if mood == "mixed" else math.ceil(span * 0.4), key)


def _distinct(items: list[Any]) -> list[Any]:
    return [item for index, item in enumerate(items) if item not in items[:index]]
