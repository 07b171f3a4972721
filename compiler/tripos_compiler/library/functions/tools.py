"""Tool calls: reading of tool descriptions and expected calls, and comparison of calls with them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tripos_compiler.library.signature import LARGEST, Undefined
from tripos_compiler.library.types import Calls, ReadCall, Tools

# Descriptions of tools and expected calls

JSON_TYPES: Mapping[str, str] = {
    **{name: name for name in ("string", "integer", "number", "boolean", "array", "object")},
    "float": "number",
    "dict": "object",
    "tuple": "array",
    "list": "array",
    "bool": "boolean",
    "any": "string",
}
"""JSON Schema types by the words for them in data sets; a value of type `any` is written as a text."""


class NoTools(ValueError):
    """A value does not describe tools, or calls."""


def read_tools(value: Any) -> list[dict[str, Any]]:
    """Return tools, each with `name`, `description` and `parameters`, from a list or a single tool. A tool may be
    wrapped in an object of `type` `function`, as providers do. Raises `NoTools`.

    >>> found = read_tools([{"name": "ping", "parameters": {"type": "dict", "properties": {"n": {"type": "float"}}}}])
    >>> found[0]["parameters"]
    {'type': 'object', 'properties': {'n': {'type': 'float'}}, 'required': []}
    """
    listed = [value] if isinstance(value, Mapping) else value
    if not isinstance(listed, list) or not listed:
        raise NoTools
    tools = [_tool(each) for each in listed]
    if len({tool["name"] for tool in tools}) < len(tools):
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
    if not isinstance(properties, Mapping) or not all(_is_property(property_) for property_ in properties.values()):
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
    """Return calls with the accepted values of each argument: objects with one key, whose parameters have lists. The
    value `""` in a list means that the parameter may be omitted. Raises `NoTools`.

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
    """Return a description of a value with other words for types replaced by those of JSON Schema.

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


# Comparison of calls

KINDS: Mapping[str, type] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip
LEFT_OUT = ""
"""Accepted value that means that the argument may be omitted."""
IGNORED = re.compile(r"[ ,./\-_*^]")
"""Characters that are ignored in the comparison of text arguments."""


def calls_match(calls: Sequence[ReadCall], tools: Tools, allowed: Calls) -> bool:
    """Return true if calls are the allowed ones, in any order, by the rules of the Berkeley Function Calling
    Leaderboard.

    There must be as many calls as are allowed, and each must match a different one: the tool, all required parameters
    and no further ones, and for each argument the type of its parameter and one of its values. A whole number counts as
    a number. Texts may differ in case, blanks and `,./-_*^`. An argument may be omitted if `""` is among its values. An
    unreadable call matches nothing.

    >>> tools = [{"name": "area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}]
    >>> call = {"name": "area", "arguments": {"base": 10}, "readable": True}
    >>> calls_match([call], tools, [{"area": {"base": [10, 12]}}])
    True
    >>> calls_match([call, call], tools, [{"area": {"base": [10, 12]}}])
    False
    """
    wanted: Any = allowed
    described: Any = tools
    known = {tool["name"]: tool["parameters"] for tool in described}
    if any(name not in known for each in wanted for name in each):
        raise Undefined("a call of an unknown tool is allowed")
    if len(calls) != len(wanted) or not all(map(_is_readable, calls)):
        return False
    left = list(calls)
    for each in wanted:
        ((name, values),) = each.items()
        place = next((at for at, call in enumerate(left) if _is_call(call, name, known[name], values)), None)
        if place is None:
            return False
        del left[place]
    return True


def calls_fit(calls: Sequence[ReadCall], tools: Tools) -> bool:
    """Return true if every call names one of the tools, and its arguments fit the parameters.

    A call must have all required parameters and no unknown ones, and every argument must have the type of its
    parameter and be in its `enum`, if there is one. Without calls it is true.

    >>> tools = [{"name": "area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}]
    >>> calls_fit([{"name": "area", "arguments": {"base": 10}, "readable": True}], tools)
    True
    >>> calls_fit([{"name": "area", "arguments": {"base": "10"}, "readable": True}], tools)
    False
    """
    described: Any = tools
    known = {tool["name"]: tool["parameters"] for tool in described}
    return all(_is_readable(call) and call["name"] in known and _fits(call, known[call["name"]]) for call in calls)


def _is_readable(call: ReadCall) -> bool:
    return call["readable"] and isinstance(call["arguments"], Mapping)


def _fits(call: ReadCall, parameters: Mapping[str, Any]) -> bool:
    arguments: Any = call["arguments"]
    properties = parameters["properties"]
    if any(name not in arguments for name in parameters["required"]) or arguments.keys() - properties.keys():
        return False
    return all(_is_of(value, properties[name]) for name, value in arguments.items())


def _is_of(value: Any, described: Any) -> bool:
    """Return true if a value fits a JSON Schema, as far as types, `enum`, items and properties are concerned."""
    if not isinstance(described, Mapping):
        return True
    if isinstance(described.get("enum"), list) and value not in described["enum"]:
        return False
    kind = _kind(described)
    if kind is None:
        return True
    if not _has_kind(value, kind):
        return False
    if kind is list and isinstance(described.get("items"), Mapping):
        return all(_is_of(each, described["items"]) for each in value)
    if kind is dict and isinstance(described.get("properties"), Mapping):
        properties = described["properties"]
        required = described.get("required")
        lacking = any(name not in value for name in required) if isinstance(required, list) else False
        return not lacking and all(_is_of(each, properties[name]) for name, each in value.items() if name in properties)
    return True


def _kind(described: Any) -> type | None:
    """Return the Python class of the values of a parameter; None if it has no single type."""
    type_ = described.get("type") if isinstance(described, Mapping) else None
    return KINDS.get(JSON_TYPES.get(type_, "")) if isinstance(type_, str) else None


def _has_kind(value: Any, kind: type) -> bool:
    return type(value) is kind or (kind is float and type(value) is int)


def _is_call(call: ReadCall, name: str, parameters: Mapping[str, Any], allowed: Mapping[str, list[Any]]) -> bool:
    """Return true if a call of a tool is the allowed one."""
    arguments: Any = call["arguments"]
    if call["name"] != name or any(each not in arguments for each in parameters["required"]):
        return False
    properties = parameters["properties"]
    for each, value in arguments.items():
        if each not in properties or each not in allowed or not _is_allowed(value, properties[each], allowed[each]):
            return False
    return all(each in arguments or LEFT_OUT in values for each, values in allowed.items())


def _is_allowed(value: Any, described: Mapping[str, Any], allowed: list[Any]) -> bool:
    """Return true if an argument has the type of its parameter and one of its accepted values. If the first accepted
    value has another type, it is the name of a variable, and the argument must equal an accepted value."""
    kind = _kind(described)
    if kind is float and type(value) is int:
        value = float(value) if -LARGEST <= value <= LARGEST else math.inf
    meant = next((type(each) for each in allowed if each != LEFT_OUT), None)
    named = meant is not None and kind is not None and meant is not kind
    if kind is not None and type(value) is kind:
        if isinstance(value, list) and not _items_fit(value, _kind(described.get("items")), allowed):
            return False
    elif kind is not None and type(value) is meant:
        named = True
    elif kind is not None:
        return False
    if named or kind is None:
        return value in allowed
    if kind is dict:
        return any(_is_allowed_record(value, each) for each in allowed if each != LEFT_OUT)
    if kind is list and _kind(described.get("items")) is dict:
        return any(_are_allowed_records(value, each) for each in allowed)
    if kind is list:
        lists = [[_simple(part) for part in each] for each in allowed if isinstance(each, list | str)]
        return [_simple(each) for each in value] in lists
    return _simple(value) in [_simple(each) for each in allowed if kind is not str or isinstance(each, str)]


def _items_fit(value: list[Any], kind: type | None, allowed: list[Any]) -> bool:
    """Return true if the elements of a list have the declared element type, or that of one of the allowed lists."""
    if kind is None:
        return True
    for each in allowed:
        if not isinstance(each, list):
            return True
        meant = next((type(part) for part in each if part != LEFT_OUT), None)
        if all(type(item) is kind or type(item) is meant for item in value):
            return True
    return False


def _is_allowed_record(value: Mapping[str, Any], allowed: Any) -> bool:
    """Return true if every member of a record has an accepted value and no required member is missing. A member without
    a list of values has one accepted value."""
    if not isinstance(allowed, Mapping):
        return False
    listed = {name: values if isinstance(values, list) else [values] for name, values in allowed.items()}
    for name, each in value.items():
        if name not in listed or _simple(each) not in [_simple(part) for part in listed[name]]:
            return False
    return all(name in value or LEFT_OUT in values for name, values in listed.items())


def _are_allowed_records(value: list[Any], allowed: Any) -> bool:
    if not isinstance(allowed, list | str) or len(value) != len(allowed):
        return False
    pairs = zip(value, allowed, strict=True)
    return all(isinstance(each, Mapping) and _is_allowed_record(each, other) for each, other in pairs)


def _simple(value: Any) -> Any:
    """Return a text in lower case without ignored characters; any other value unchanged."""
    return IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
