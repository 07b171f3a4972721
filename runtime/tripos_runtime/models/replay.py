"""A model that answers from a recording, with exactly the recorded replies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

import orjson

from tripos_compiler.plan import MODEL_DEFAULTS, Settings, digest
from tripos_compiler.replies.text import storable
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import FREE, Model, ModelError, Reply, Request

ENDPOINT = "replay"
ASSISTANT = "assistant"
RoleAndText = tuple[str, str]
"""The role and the text of a message."""


class RecordedReplies(Protocol):
    """The recorded replies, by the key of their request."""

    def find(self, key: bytes) -> Reply | ModelError | None:
        """Return the reply to a request, or the error that it ended with; `None` if the recording has no such
        request."""
        ...


def request_key(
    model: str,
    role_contents: Iterable[RoleAndText],
    number: int = 0,
    settings: Settings = MODEL_DEFAULTS,
) -> bytes:
    """Return the 16-byte key of a request, a digest of the model, the settings, the messages and the sample number. A
    lone surrogate counts as U+FFFD, as in a store.

    The key of a repair is that of its messages up to the unreadable reply, so that recordings remain valid if the
    wording of repairs changes.

    >>> key = request_key("mock/careful", [("user", "Why?")])
    >>> len(key), key == request_key("mock/careful", [("user", "Why?")], number=1)
    (16, False)
    >>> request_key("m", [("user", "\\ud800")]) == request_key("m", [("user", "\\ufffd")])
    True
    """
    model_and_settings = [model, _settings_digest(settings)]
    texts = [list(role_content) for role_content in role_contents]
    try:
        content = orjson.dumps([number, model_and_settings, texts])
    except TypeError:
        content = orjson.dumps([number, model_and_settings, [[storable(text) for text in each] for each in texts]])
    return hashlib.blake2b(content, digest_size=16).digest()


@dataclass(frozen=True)
class ReplayModel(Model):
    """A model that returns the recorded replies of the model `name`, at no cost and without a network."""

    name: str
    lookup: RecordedReplies
    recording: str
    """The name of the recording, for messages."""
    structured = True
    endpoint = ENDPOINT
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return the recorded reply. Raises `ModelError`: R0113 for a request that was not recorded, or the provider's
        recorded error.

        >>> import asyncio
        >>> from tripos_runtime.models.base import Message
        >>> key = request_key("openai/gpt-4o", [("user", "Why?")])
        >>> class OneReply:
        ...     def find(self, request):
        ...         return Reply("Because.", "gpt-4o", "stop", 3, 2, 0.0) if request == key else None
        >>> model = ReplayModel("openai/gpt-4o", OneReply(), "run-3fa9")
        >>> asyncio.run(model.ask(Request("openai/gpt-4o", (Message("user", "Why?"),)))).text
        'Because.'
        >>> asyncio.run(model.ask(Request("openai/gpt-4o", (Message("user", "How?"),))))
        Traceback (most recent call last):
        tripos_runtime.models.base.ModelError: R0113: the recording `run-3fa9` has no such request to `openai/gpt-4o`
          help: its prompt, settings or row changed after the recording: record it again with the model itself
        """
        messages = request.message_pairs
        outcome = self.lookup.find(_key(request, messages))
        if outcome is None and len(messages) > 1 and messages[-2][0] == ASSISTANT:
            outcome = self.lookup.find(_key(request, messages[:-1]))  # a repair of an unreadable reply
        if outcome is None:
            raise ModelError(
                "R0113",
                f"the recording `{self.recording}` has no such request to `{self.name}`",
                "its prompt, settings or row changed after the recording: record it again with the model itself",
            )
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome


def _key(request: Request, messages: Iterable[RoleAndText]) -> bytes:
    return request_key(request.model, messages, request.number, request.settings)


@lru_cache(maxsize=256)
def _settings_digest(settings: Settings) -> str:
    return digest(settings.given)
