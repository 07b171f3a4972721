"""Calls of tools by the mock models: a function of the request alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tripos_compiler.plan import ToolCall, write_calls
from tripos_runtime.models.mocks.mock_values import draw, sentences, value_of


def calls_made(tools: Sequence[str], key: str, *, careless: bool = False, chinese: bool = False) -> str:
    """Return the reply of a mock that is offered tools: a call of one of them, which `key` draws, with an argument for
    each required parameter. A careless one calls none in four, twice, one that is not there, and with arguments that
    are no JSON, or lack one.

    >>> tool = '{"name": "ping", "parameters": {"properties": {"n": {"type": "boolean"}}, "required": ["n"]}}'
    >>> calls_made((tool,), "k")
    '{"text": "", "calls": [{"name": "ping", "arguments": {"n": true}}]}'
    """
    told = [json.loads(each) for each in tools]
    made = _call(told[draw(len(told), key, "tool")], key, chinese=chinese)
    if not careless:
        return write_calls("", [made])
    match draw(8, key, "call"):
        case 0 | 1:
            return write_calls(sentences(1, key, chinese=chinese), [])
        case 2:
            return write_calls("", [made, made])
        case 3:
            return write_calls("", [ToolCall(f"{made.name}_2", made.arguments)])
        case 4:
            return write_calls("", [ToolCall(made.name, json.dumps(made.arguments)[:-1])])
        case 5:
            return write_calls("", [ToolCall(made.name, dict(list(made.arguments.items())[1:]))])
    return write_calls("", [made])


def _call(tool: dict[str, Any], key: str, *, chinese: bool) -> ToolCall:
    parameters = tool.get("parameters") or {}
    properties, required = parameters.get("properties") or {}, parameters.get("required") or ()
    arguments = {
        name: value_of(part, f"{key}/{name}", "kind", chinese=chinese)
        for name, part in properties.items()
        if name in required
    }
    return ToolCall(str(tool["name"]), arguments)
