"""Trivial baselines: models that know nothing, so that a figure can be held against what it takes to get it for free.

`baseline/constant:TEXT` always says the same, `baseline/echo` says back what it was asked. `baseline/majority` is no
model of its own: a run puts constants in its place (`majority.py`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tripos_runtime.models.base import FREE, ModelError, Price, Reply, Request

PREFIX = "baseline/"
CONSTANT = "baseline/constant:"
ECHO = "baseline/echo"
MAJORITY = "baseline/majority"
TRUE, FALSE = ("true", "yes"), ("false", "no")


class _Unfit(Exception):
    """A text is no value of a type; never leaves this module."""


@dataclass(frozen=True)
class BaselineModel:
    """A baseline. `text` is what it always says; `None`: what it was asked."""

    name: str
    text: str | None
    structured: bool = True
    slots: int | None = None
    price: Price | None = FREE
    most_samples: int = 1

    @property
    def endpoint(self) -> str:
        """A place of its own."""
        return self.name

    async def ask(self, request: Request) -> Reply:
        """Return the reply, in the form that is asked for where the text can be had in it."""
        said = self.text if self.text is not None else request.messages[-1].content
        return Reply(fitted(said, request.schema), self.name, "stop", 0, 0, 0.0)

    async def close(self) -> None:
        """Nothing to let go of."""


def open_baseline(name: str) -> BaselineModel:
    """Return the baseline of that name. Raises `ModelError` R0103 for any other.

    >>> open_baseline("baseline/constant:yes").text
    'yes'
    """
    if name == ECHO:
        return BaselineModel(name, None)
    if name.startswith(CONSTANT) and len(name) > len(CONSTANT):
        return BaselineModel(name, name.removeprefix(CONSTANT))
    hint = f"the baselines are `{CONSTANT}TEXT`, `{ECHO}` and `{MAJORITY}`"
    raise ModelError("R0103", f"there is no baseline `{name}`", hint, fatal=True)


def is_baseline(name: str) -> bool:
    """Return true if a model is one of the baselines.

    >>> is_baseline("baseline/echo"), is_baseline("mock/careful")
    (True, False)
    """
    return name.startswith(PREFIX)


def fitted(text: str, schema: dict[str, Any] | None) -> str:
    """Return a text as a reply that fits a JSON Schema, each of its fields saying the text; as it is where that cannot
    be.

    >>> fitted("yes", {"type": "object", "properties": {"value": {"type": "boolean"}}})
    '{"value": true}'
    >>> fitted("maybe", {"type": "object", "properties": {"value": {"type": "boolean"}}})
    'maybe'
    """
    if schema is None:
        return text
    try:
        return json.dumps(_value(text, schema), ensure_ascii=False)
    except (_Unfit, ValueError):
        return text


def _value(text: str, schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        found = next((each for each in schema["enum"] if each.casefold() == text.strip().casefold()), None)
        if found is None:
            raise _Unfit
        return found
    match schema:
        case {"anyOf": [first, *_]}:
            return _value(text, first)
        case {"type": "object", "properties": properties}:
            return {name: _value(text, part) for name, part in properties.items()}
        case {"type": "array", "items": items}:
            return [_value(text, items)]
        case {"type": "boolean"}:
            if text.strip().casefold() not in TRUE + FALSE:
                raise _Unfit
            return text.strip().casefold() in TRUE
        case {"type": "integer"}:
            return int(text)
        case {"type": "number"}:
            return float(text)
    return text
