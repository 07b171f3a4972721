"""Models that go on with a text and know no chat: a request's messages are sent to them as a transcript.

Several messages must not go out as they are: litellm takes them for so many prompts, each of which gets a reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tripos_runtime.models.base import Message, Reply, Request

LABELS = {"user": "User", "assistant": "Assistant"}
MOST_TOKENS = 1024
"""The longest reply where nothing is said: most servers would end it after 16 tokens."""
MOST_STOPS = 4
"""The most texts that end a reply."""


def as_transcript(messages: Sequence[Message]) -> str:
    """Return one user's message alone as it is; of several what each side said, and then the label of who is to go on.

    >>> as_transcript([Message("user", "2 + 2 =")])
    '2 + 2 ='
    >>> print(as_transcript([Message("system", "Teach."), Message("user", "It is 5.")]))
    Teach.
    <BLANKLINE>
    User: It is 5.
    <BLANKLINE>
    Assistant:
    """
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    said = [f"{LABELS[each.role]}: {each.content}" if each.role in LABELS else each.content for each in messages]
    return "\n\n".join([*said, f"{LABELS['assistant']}:"])


def transcribed(request: Request) -> Request:
    """Return the request with one message, the transcript, which ends where the other side would speak. It has no
    schema: nothing holds a continuation to one."""
    text, stop, longest = as_transcript(request.messages), request.settings.stop, request.settings.max_tokens
    alone = len(request.messages) == 1 and text == request.messages[0].content
    ends = () if alone else tuple(each for each in (f"\n{LABELS['user']}:",) if len(stop) < MOST_STOPS)
    return replace(
        request,
        messages=(Message("user", text),),
        settings=request.settings.model_copy(
            update={"stop": (*stop, *ends), "max_tokens": MOST_TOKENS if longest is None else longest}
        ),
        schema=None,
    )


def trimmed(reply: Reply) -> Reply:
    """Return a reply without the blanks that part it from what it goes on from.

    >>> trimmed(Reply(" It is so.\\n", "m", "stop", 1, 1, None)).text
    'It is so.'
    """
    return replace(reply, text=reply.text.strip(), others=tuple(map(trimmed, reply.others)))
