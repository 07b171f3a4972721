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
Said = tuple[str, str]
"""The role and the text of a message."""


class RecordedReplies(Protocol):
    """The recorded replies by the key of the request."""

    def find(self, key: bytes) -> Reply | ModelError | None:
        """Return the reply to a request, or the error that it ended with; `None` if the recording has no such
        request."""
        ...


def request_key(
    model: str,
    role_contents: Iterable[Said],
    number: int = 0,
    settings: Settings = MODEL_DEFAULTS,
) -> bytes:
    """Return the 16-byte key of a request: the model, the settings, the messages and the sample number. A lone
    surrogate counts as U+FFFD, as in a store.

    A conversation that ends with the assistant is an unreadable reply. Its key ignores the wording of the repair, so
    that recordings survive a change of that wording.

    >>> one = request_key("mock/careful", [("user", "Why?")])
    >>> len(one), one == request_key("mock/careful", [("user", "Why?")], number=1)
    (16, False)
    >>> request_key("m", [("user", "\\ud800")]) == request_key("m", [("user", "\\ufffd")])
    True
    """
    sent = [model, _settings_digest(settings)]
    texts = [list(role_content) for role_content in role_contents]
    try:
        asked = orjson.dumps([number, sent, texts])
    except TypeError:
        asked = orjson.dumps([number, sent, [[storable(text) for text in each] for each in texts]])
    return hashlib.blake2b(asked, digest_size=16).digest()


@dataclass(frozen=True)
class ReplayModel(Model):
    """Answers as the model called `name` did when it was recorded, at no cost and without a network."""

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
        >>> class Spoken:
        ...     def find(self, asked):
        ...         return Reply("Because.", "gpt-4o", "stop", 3, 2, 0.0) if asked == key else None
        >>> model = ReplayModel("openai/gpt-4o", Spoken(), "run-3fa9")
        >>> asyncio.run(model.ask(Request("openai/gpt-4o", (Message("user", "Why?"),)))).text
        'Because.'
        >>> asyncio.run(model.ask(Request("openai/gpt-4o", (Message("user", "How?"),))))
        Traceback (most recent call last):
        tripos_runtime.models.base.ModelError: R0113: the recording `run-3fa9` has no such request to `openai/gpt-4o`
          help: its prompt, settings or row changed after the recording: record it again with the model itself
        """
        said = request.message_pairs
        found = self.lookup.find(_key(request, said))
        if found is None and len(said) > 1 and said[-2][0] == ASSISTANT:
            found = self.lookup.find(_key(request, said[:-1]))  # a repair of an unreadable reply
        if found is None:
            raise ModelError(
                "R0113",
                f"the recording `{self.recording}` has no such request to `{self.name}`",
                "its prompt, settings or row changed after the recording: record it again with the model itself",
            )
        if isinstance(found, ModelError):
            raise found
        return found


def _key(request: Request, said: Iterable[Said]) -> bytes:
    return request_key(request.model, said, request.number, request.settings)


@lru_cache(maxsize=256)
def _settings_digest(settings: Settings) -> str:
    return digest(settings.given)
