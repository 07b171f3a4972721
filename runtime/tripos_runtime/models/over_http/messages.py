"""What is sent of a request's messages: text that is valid JSON, in the roles that a model takes."""

from __future__ import annotations

import orjson

from tripos_runtime.models.base import Message, Turn
from tripos_runtime.models.over_http.replies import whole


def as_json(messages: tuple[Message, ...]) -> bytes:
    """The messages as a JSON array of objects with `role` and `content`.

    >>> as_json((Message("user", "hi"),))
    b'[{"role":"user","content":"hi"}]'
    """
    try:
        if not messages or not isinstance(messages[-1], Turn):
            return orjson.dumps(messages)
        return orjson.dumps([{"role": message.role, "content": message.content} for message in messages])
    except TypeError:  # half a surrogate pair is no text that JSON can hold
        return orjson.dumps([{"role": message.role, "content": whole(message.content)} for message in messages])


def without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages for a model without a system role: what it says stands in front of the first user's message.

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
