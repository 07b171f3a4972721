"""The required form of a reply: a JSON Schema for a type or for metrics, and the note in words for the prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tripos_compiler.library.types import without_optional
from tripos_compiler.plan import (
    AudioType,
    BoolType,
    ChoiceType,
    DialogueType,
    FileType,
    ImageType,
    IntegerType,
    JsonType,
    ListType,
    Metric,
    MetricsType,
    NumberType,
    OptionalType,
    PathType,
    RecordType,
    SetType,
    TextType,
    Tool,
    TreeType,
    Type,
)

# The texts of `format_note` by language: before a shape, for a reply of any JSON, and the words inside of a shape.
NOTES = {
    "en": "Answer with JSON only, with no text before or after it, in exactly this shape:",
    "zh": "只输出 JSON，前后不要有任何其他文字，格式必须如下：",
}
ANY_NOTES = {
    "en": "Answer with JSON only, with no text before or after it.",
    "zh": "只输出 JSON，前后不要有任何其他文字。",
}
WORDS = {
    "en": {
        "text": "<text>",
        "integer": "<whole number>",
        "range": "<whole number from {low} to {high}>",
        "number": "<number>",
        "json": "<any JSON>",
        "or": " or ",
    },
    "zh": {
        "text": "<文字>",
        "integer": "<整数>",
        "range": "<{low} 到 {high} 的整数>",
        "number": "<数字>",
        "json": "<任意 JSON>",
        "or": " 或 ",
    },
}


def schema_of(type: Type) -> dict[str, Any]:
    """Return the JSON Schema of a reply of that type. Unless the reply may be any JSON, it is an object: a value that
    is not a record is under `value`. Every key is required, and an optional value may be null, as providers require for
    strict structured output. A reply of any JSON has the empty schema.

    >>> schema_of(IntegerType(low=1, high=5))["properties"]
    {'value': {'type': 'integer', 'minimum': 1, 'maximum': 5}}
    """
    if without_optional(type).kind == "json":
        return {}
    return _schema(type) if isinstance(type, RecordType) else _object({"value": _schema(type)})


def described_tool(tool: Tool, language: str) -> dict[str, Any]:
    """Return a tool as JSON in a language: its name, its description, and the JSON Schema of its parameters. Parameters
    of an optional type are not required.

    >>> from tripos_compiler.plan import ToolParameter
    >>> optional = ToolParameter(name="n", type=OptionalType(of=TextType()))
    >>> tool = Tool(name="ping", about={"en": "Call"}, parameters=(optional,))
    >>> described_tool(tool, "en")["parameters"]
    {'type': 'object', 'properties': {'n': {'type': 'string'}}, 'required': []}
    """
    properties: dict[str, Any] = {}
    for parameter in tool.parameters:
        about = {"description": parameter.about[language]} if language in parameter.about else {}
        properties[parameter.name] = _schema(without_optional(parameter.type)) | about
    required = [
        tool_parameter.name for tool_parameter in tool.parameters if not isinstance(tool_parameter.type, OptionalType)
    ]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"name": tool.name, "description": tool.about[language], "parameters": parameters}


def metrics_schema(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return the JSON Schema of a judgement: for each metric a reason, which comes first so that it is written before
    the score, and a score within the metric's scale."""
    return _object({metric.name: _judgement(metric) for metric in metrics})


def format_note(schema: dict[str, Any], language: str) -> str:
    """Return the text that asks for a reply which fits the schema, in Chinese for `zh…`, else in English.

    >>> print(format_note(schema_of(BoolType()), "en"))
    Answer with JSON only, with no text before or after it, in exactly this shape:
    {
      "value": true or false
    }
    """
    known = "zh" if language.lower().startswith("zh") else "en"
    if not schema:
        return ANY_NOTES[known]
    return f"{NOTES[known]}\n{_shape(schema, WORDS[known], 0)}"


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _judgement(metric: Metric) -> dict[str, Any]:
    score = {"type": "integer", "minimum": metric.low, "maximum": metric.high}
    return _object({"reason": {"type": "string"}, "score": score})


def _schema(type: Type) -> dict[str, Any]:
    match type:
        case TextType() | PathType():
            return {"type": "string"}
        case IntegerType(low=low, high=high):
            bounds = {"minimum": low, "maximum": high}
            return {"type": "integer"} | {name: bound for name, bound in bounds.items() if bound is not None}
        case NumberType():
            return {"type": "number"}
        case BoolType():
            return {"type": "boolean"}
        case ChoiceType(values=values):
            return {"type": "string", "enum": list(values)}
        case ListType(of=of) | SetType(of=of):
            return {"type": "array", "items": _schema(of)}
        case RecordType(fields=fields):
            return _object({name: _schema(field) for name, field in fields.items()})
        case DialogueType():
            return {"type": "array", "items": _object({"speaker": {"type": "string"}, "text": {"type": "string"}})}
        case OptionalType(of=of):
            return {"anyOf": [_schema(of), {"type": "null"}]}
        case JsonType():
            return {}
        case MetricsType() | TreeType() | ImageType() | AudioType() | FileType():
            raise ValueError("metrics, trees and images are printed in prompts and never replied")


def _shape(schema: dict[str, Any], words: dict[str, str], depth: int) -> str:
    """Return a schema as JSON with words for its values, below `depth` levels."""
    if not schema:
        return words["json"]
    if "enum" in schema:
        return words["or"].join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    match schema:
        case {"anyOf": options}:
            return words["or"].join(_shape(option, words, depth) for option in options)
        case {"type": "object", "properties": properties}:
            indent = "  " * (depth + 1)
            lines = [
                f"{indent}{json.dumps(name, ensure_ascii=False)}: {_shape(part, words, depth + 1)}"
                for name, part in properties.items()
            ]
            return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"
        case {"type": "array", "items": items}:
            return f"[{_shape(items, words, depth)}, …]"
        case {"type": "integer", "minimum": low, "maximum": high}:
            return words["range"].format(low=low, high=high)
        case {"type": "integer"}:
            return words["integer"]
        case {"type": "number"}:
            return words["number"]
        case {"type": "boolean"}:
            return f"true{words['or']}false"
        case {"type": "null"}:
            return "null"
        case _:
            return json.dumps(words["text"], ensure_ascii=False)
