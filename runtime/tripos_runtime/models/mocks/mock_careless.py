"""The replies of `mock/careless`: meant to fit a schema, and spoilt in the ways that real models spoil theirs."""

from __future__ import annotations

import json
from typing import Any

from tripos_runtime.models.mocks.mock_values import ANY_JSON, draw, value_of

INVENTED = "overall impression"


def careless_text(schema: dict[str, Any], key: str, *, chinese: bool) -> str:
    """Return a careless reply: fenced now and then, keys renamed, scores as text, a value null, missing or invented.

    >>> careless_text({"type": "object", "properties": {"Depth": {"type": "integer"}}}, "k", chinese=False)
    '{"Depth": "7 分"}'
    """
    schema = schema or ANY_JSON
    value = _spoil(value_of(schema, key, "mixed", chinese=chinese), schema, key)
    text = json.dumps(value, ensure_ascii=False)
    match draw(4, key, "frame"):
        case 0:
            return f"```json\n{text}\n```"
        case 1:
            return f"{'评价如下：' if chinese else 'Here is my assessment:'}\n{text}"
        case _:
            return text


def _spoil(value: Any, schema: dict[str, Any], key: str) -> Any:
    if not isinstance(value, dict):
        return value
    properties: dict[str, Any] = schema.get("properties", {})
    spoilt: dict[str, Any] = {}
    for name, part in value.items():
        at = f"{key}/{name}"
        match draw(12, at, "loss"):
            case 0:
                spoilt[_renamed(name, at)] = None
            case 1:
                continue
            case _:
                spoilt[_renamed(name, at)] = _loosened(part, properties[name], at)
    if draw(4, key, "invent") == 0 and spoilt:
        spoilt[INVENTED] = next(iter(spoilt.values()))
    return spoilt


def _renamed(name: str, key: str) -> str:
    return (name, name.lower(), name.replace("_", " "))[draw(3, key, "name")]


def _loosened(value: Any, schema: dict[str, Any], key: str) -> Any:
    """Numbers become text, within a record of their own too."""
    match value:
        case bool():
            return value
        case int():
            high = schema.get("maximum", value)
            return (value, value, f"{value}/{high}", f"{value} 分")[draw(4, key, "number")]
        case dict():
            parts: dict[str, Any] = schema.get("properties", {})
            return {name: _loosened(part, parts.get(name, {}), key) for name, part in value.items()}
        case _:
            return value
