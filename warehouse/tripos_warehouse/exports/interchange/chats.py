"""Chats as they were kept: messages, the calls of tools in them with their results, and the tools that were offered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tripos_compiler.plan import ToolCall, said_calls
from tripos_compiler.source import dataclass

TOOL, CALLED, RESULT = "tool", "calls", "result"
"""The roles of the description of a tool, of a reply with calls, and of what came of each of these."""


@dataclass(frozen=True)
class ChatCall:
    """A call of a chat, with the id by which its result names it."""

    id: str
    call: ToolCall

    @property
    def arguments(self) -> dict[str, Any]:
        """Return its arguments; none where the model wrote no JSON object."""
        return dict(self.call.arguments) if self.call.readable else {}

    @property
    def fault(self) -> str | None:
        """Return what is wrong with its arguments."""
        return None if self.call.readable else f"the arguments are no JSON object: {self.call.arguments}"


@dataclass(frozen=True)
class KeptMessage:
    """A message of a chat. `answers` is the call that it is the result of."""

    role: str
    content: str
    calls: tuple[ChatCall, ...] = ()
    answers: ChatCall | None = None


@dataclass(frozen=True)
class KeptChat:
    """What was sent to a model, and what it replied to it; `tools` are the descriptions of those that it might call."""

    messages: tuple[KeptMessage, ...]
    tools: tuple[Mapping[str, Any], ...]
    reply: KeptMessage | None


def chat_of(reply: Mapping[str, Any]) -> KeptChat:
    """Return the chat of a row of samples, with `messages` and `reply`.

    >>> sent = [{"role": "user", "content": "Cold?"}, {"role": "tool", "content": '{"name": "ping"}'}]
    >>> said = '{"text": "", "calls": [{"name": "ping", "arguments": {}}]}'
    >>> chat = chat_of({"messages": json.dumps(sent), "reply": said})
    >>> chat.reply.calls[0].id, chat.reply.calls[0].call.name, [each.role for each in chat.messages]
    ('call00001', 'ping', ['user'])
    """
    sent = json.loads(reply["messages"])
    tools = tuple(json.loads(each["content"]) for each in sent if each["role"] == TOOL)
    found: list[KeptMessage] = []
    waiting: list[ChatCall] = []
    made = 0
    for each in sent:
        if each["role"] == TOOL:
            continue
        if each["role"] == CALLED:
            text, calls = _said(each["content"], made)
            made, waiting = made + len(calls), list(calls)
            found.append(KeptMessage("assistant", text, calls))
        elif each["role"] == RESULT and waiting:
            found.append(KeptMessage(TOOL, each["content"], answers=waiting.pop(0)))
        else:
            found.append(KeptMessage(each["role"], each["content"]))
    if reply["reply"] is None:
        return KeptChat(tuple(found), tools, None)
    text, calls = _said(reply["reply"], made) if tools else (reply["reply"], ())
    return KeptChat(tuple(found), tools, KeptMessage("assistant", text, calls))


def _said(content: str, before: int) -> tuple[str, tuple[ChatCall, ...]]:
    text, calls = said_calls(content)
    return text, tuple(ChatCall(f"call{number:05d}", call) for number, call in enumerate(calls, before + 1))


def as_openai(messages: Sequence[KeptMessage]) -> list[dict[str, Any]]:
    """Return messages as OpenAI's form of a chat has them. Arguments that are no JSON object are those that the model
    wrote."""
    found: list[dict[str, Any]] = []
    for each in messages:
        told: dict[str, Any] = {"role": each.role, "content": each.content}
        if each.calls:
            told["tool_calls"] = [
                {"id": made.id, "type": "function", "function": {"name": made.call.name, "arguments": _written(made)}}
                for made in each.calls
            ]
        if each.answers is not None:
            told["tool_call_id"] = each.answers.id
        found.append(told)
    return found


def _written(made: ChatCall) -> str:
    if not made.call.readable and isinstance(made.call.arguments, str):
        return made.call.arguments
    return json.dumps(made.call.arguments, ensure_ascii=False)
