"""Tools in OpenAI's form: how a request offers them, and how an answer says that they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tripos_compiler.plan import ToolCall, call_of, said_calls, write_calls

OTHER = re.compile(r"[^A-Za-z0-9_-]")
"""What no name of a tool may have that is sent; `_` stands in its place."""
LONGEST = 64


def tools_sent(tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return tools, which are described by JSON, as a request has them.

    >>> tools_sent(('{"name": "math.add", "parameters": {}}',))
    [{'type': 'function', 'function': {'name': 'math_add', 'parameters': {}}}]
    """
    told = [orjson.loads(each) for each in tools]
    return [
        {"type": "function", "function": {**each, "name": name}}
        for each, name in zip(told, names_sent(tools), strict=True)
    ]


def names_sent(tools: Sequence[str]) -> dict[str, str]:
    """Return the names of tools as they are, by those that are sent, which have no other signs than providers take.

    >>> names_sent(('{"name": "math.add"}', '{"name": "math_add"}'))
    {'math_add': 'math.add', 'math_add_2': 'math_add'}
    """
    found: dict[str, str] = {}
    for each in tools:
        own = str(orjson.loads(each)["name"])
        plain = sent = OTHER.sub("_", own)[:LONGEST]
        number = 1
        while sent in found:
            number += 1
            sent = f"{plain[: LONGEST - len(str(number)) - 1]}_{number}"
        found[sent] = own
    return found


def call_id(number: int) -> str:
    """Return the id of a call of a chat, counted from 1, in a form that all providers take.

    >>> call_id(12)
    'call00012'
    """
    return f"call{number:05d}"


def calls_sent(content: str, tools: Sequence[str], before: int) -> dict[str, Any]:
    """Return a reply with calls as a message, given how many calls came before it. Arguments that are no JSON object
    are sent as an empty one, since some providers read them; the result of the call says what they were.

    >>> told = calls_sent('{"text": "", "calls": [{"name": "a.b", "arguments": {"n": 1}}]}', ('{"name": "a.b"}',), 0)
    >>> told["content"], told["tool_calls"][0]["function"]
    (None, {'name': 'a_b', 'arguments': '{"n":1}'})
    """
    text, calls = said_calls(content)
    sent = {own: name for name, own in names_sent(tools).items()}
    told = []
    for number, call in enumerate(calls, before + 1):
        name = sent.get(call.name) or OTHER.sub("_", call.name)[:LONGEST] or "unknown"
        arguments = json.dumps(call.arguments if call.readable else {}, ensure_ascii=False, separators=(",", ":"))
        function = {"name": name, "arguments": arguments}
        told.append({"id": call_id(number), "type": "function", "function": function})
    return {"role": "assistant", "content": text or None, "tool_calls": told}


def said_with_calls(message: Mapping[str, Any], text: str, tools: Sequence[str]) -> str:
    """Return the text of a reply that says its text and the calls of a message, under the names that the tools have.

    >>> call = {"function": {"name": "math_add", "arguments": '{"a": 1}'}}
    >>> said_with_calls({"tool_calls": [call]}, "", ('{"name": "math.add"}',))
    '{"text": "", "calls": [{"name": "math.add", "arguments": {"a": 1}}]}'
    """
    own = names_sent(tools)
    calls: list[ToolCall] = []
    listed = message.get("tool_calls")
    for each in listed if isinstance(listed, list) else []:
        function = each.get("function") if isinstance(each, Mapping) else None
        function = function if isinstance(function, Mapping) else {}
        name = function.get("name")
        calls.append(call_of(own.get(name, name) if isinstance(name, str) else "", function.get("arguments")))
    return write_calls(text, calls)
