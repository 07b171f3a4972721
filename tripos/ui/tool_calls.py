"""Messages and replies with calls of tools, as people read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tripos_compiler.plan import said_calls
from tripos_runtime.models import CALLED, TOOL

Row = Mapping[str, Any]


def shown_message(message: Row) -> str:
    """Return a message as people read it: calls of tools a line each, and of a tool its parameters."""
    role, content = message.get("role"), str(message["content"])
    if role == CALLED:
        return _with_calls(content)
    if role != TOOL:
        return content
    try:
        tool = orjson.loads(content)
        told = tool["parameters"]
        needed = told.get("required", ())
        names = [name if name in needed else f"{name}?" for name in told["properties"]]
        return f"{tool['name']}({', '.join(names)}): {tool['description']}"
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return content


def shown_reply(reply: str, messages: Sequence[Row]) -> str:
    """Return a reply as people read it: of a step with tools its text, and a line for each call."""
    return _with_calls(reply) if any(each.get("role") == TOOL for each in messages) else reply


def _with_calls(content: str) -> str:
    text, calls = said_calls(content)
    lines = [text] if text or not calls else []
    for call in calls:
        if call.readable:
            given = ", ".join(
                f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
            )
            lines.append(f"→ {call.name}({given})")
        else:
            lines.append(f"→ {call.name or '?'}, {json.dumps(call.arguments, ensure_ascii=False)}")
    return "\n".join(lines)
