"""Tools as rows of data describe them, and calls of them with the values that are right: JSON that is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JSON_TYPES: Mapping[str, str] = {
    **{name: name for name in ("string", "integer", "number", "boolean", "array", "object")},
    "float": "number",
    "dict": "object",
    "tuple": "array",
    "list": "array",
    "bool": "boolean",
    "any": "string",
}
"""The types of JSON Schema, and other words for them in data sets. A value of `any` is written as a text."""


class NoTools(ValueError):
    """A value describes no tools, or no calls."""


def read_tools(value: Any) -> list[dict[str, Any]]:
    """Return tools, each with `name`, `description` and `parameters`, from a list of them or from one. Each may stand
    in an object of `type` `function`, as providers have it. Raises `NoTools`.

    >>> found = read_tools([{"name": "ping", "parameters": {"type": "dict", "properties": {"n": {"type": "float"}}}}])
    >>> found[0]["parameters"]
    {'type': 'object', 'properties': {'n': {'type': 'float'}}, 'required': []}
    """
    listed = [value] if isinstance(value, Mapping) else value
    if not isinstance(listed, list) or not listed:
        raise NoTools
    tools = [_tool(each) for each in listed]
    if len({each["name"] for each in tools}) < len(tools):
        raise NoTools
    return tools


def _tool(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping) and isinstance(value.get("function"), Mapping):
        value = value["function"]
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str) or not value["name"].strip():
        raise NoTools
    described = value.get("description") or ""
    parameters = value.get("parameters") or {}
    if not isinstance(described, str) or not isinstance(parameters, Mapping):
        raise NoTools
    properties, required = parameters.get("properties") or {}, parameters.get("required") or []
    if not isinstance(properties, Mapping) or not all(_is_property(each) for each in properties.values()):
        raise NoTools
    if not isinstance(required, list) or not all(each in properties for each in required):
        raise NoTools
    told = {**parameters, "type": "object", "properties": dict(properties), "required": required}
    return {"name": value["name"], "description": described, "parameters": told}


def _is_property(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    type_ = value.get("type")
    return type_ is None or isinstance(type_, list) or (isinstance(type_, str) and type_ in JSON_TYPES)


def read_allowed_calls(value: Any) -> list[dict[str, Any]]:
    """Return calls with the values that each argument may have: objects of one name, of which each parameter has a
    list. The value `""` in such a list says that the parameter may be left out. Raises `NoTools`.

    >>> read_allowed_calls([{"area": {"base": [10], "unit": ["cm", ""]}}])
    [{'area': {'base': [10], 'unit': ['cm', '']}}]
    """
    listed = [value] if isinstance(value, Mapping) else value
    if not isinstance(listed, list):
        raise NoTools
    for each in listed:
        if not isinstance(each, Mapping) or len(each) != 1:
            raise NoTools
        (arguments,) = each.values()
        if not isinstance(arguments, Mapping) or not all(isinstance(allowed, list) for allowed in arguments.values()):
            raise NoTools
    return [dict(each) for each in listed]


def json_schema(described: Any) -> Any:
    """Return what describes a value, with the types of JSON Schema in place of other words for them.

    >>> json_schema({"type": "dict", "properties": {"type": {"type": "float"}}})
    {'type': 'object', 'properties': {'type': {'type': 'number'}}}
    """
    if not isinstance(described, Mapping):
        return described
    found: dict[str, Any] = {}
    for name, value in described.items():
        if name == "type" and isinstance(value, str):
            found[name] = JSON_TYPES.get(value, value)
        elif name == "properties" and isinstance(value, Mapping):
            found[name] = {each: json_schema(of) for each, of in value.items()}
        elif name in ("items", "additionalProperties"):
            found[name] = json_schema(value)
        elif name in ("anyOf", "oneOf", "allOf") and isinstance(value, list):
            found[name] = [json_schema(each) for each in value]
        else:
            found[name] = value
    return found
