"""The messages of a request: text that is valid JSON, in the roles that a model takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import orjson

from tripos_runtime.models.base import DialogueTurn, Message, Request
from tripos_runtime.models.over_http.replies import whole

Part = TypeVar("Part")
MOST_PARTS = 256
"""Parts of requests that are kept for one model."""


class RequestCache(Generic[Part]):
    """The part of a request that depends on its settings, number of samples and schema alone, made once for each."""

    def __init__(self, make: Callable[[Request], Part], *, structured: bool, most_samples: int) -> None:
        self._make = make
        self._structured = structured
        self._most_samples = most_samples
        self._parts: dict[tuple[object, ...], Part] = {}

    def part(self, request: Request) -> Part:
        """Return the part for a request."""
        schema = None if request.schema is None or not self._structured else orjson.dumps(request.schema)
        key = (request.settings, min(request.samples, self._most_samples), schema)
        found = self._parts.get(key)
        if found is None:
            if len(self._parts) >= MOST_PARTS:
                self._parts.clear()
            found = self._parts[key] = self._make(request)
        return found


def as_json(messages: tuple[Message, ...]) -> bytes:
    """Return the messages as a JSON array of objects with `role` and `content`.

    >>> as_json((Message("user", "hi"),))
    b'[{"role":"user","content":"hi"}]'
    """
    try:
        if not messages or not isinstance(messages[-1], DialogueTurn):
            return orjson.dumps(messages)
        return orjson.dumps([{"role": message.role, "content": message.content} for message in messages])
    except TypeError:  # half a surrogate pair is no text that JSON can hold
        return orjson.dumps([{"role": message.role, "content": whole(message.content)} for message in messages])


def without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages for a model without a system role: what it says stands in front of the first user's message.

    >>> without_system((Message("system", "be brief"), Message("user", "hi")))
    (Message(role='user', content='be brief\\n\\nhi'),)
    """
    told = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not told:
        return messages
    for at, message in enumerate(rest):
        if message.role == "user":
            rest[at] = Message("user", "\n\n".join((*told, message.content)))
            return tuple(rest)
    return (Message("user", "\n\n".join(told)), *rest)
