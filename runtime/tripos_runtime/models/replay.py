"""A model that answers from a recording: what a run was answered before, it is answered again, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

import orjson

from tripos_compiler.plan import LEFT, Settings, digest
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import FREE, ModelError, Price, Reply, Request

ENDPOINT = "replay"
ASSISTANT = "assistant"
Said = tuple[str, str]
"""The role and the text of a message."""


class RecordedReplies(Protocol):
    """The recorded replies, by the key of the request."""

    def find(self, key: bytes) -> Reply | ModelError | None:
        """Return the reply to a request, or the error that it ended with; `None` where the recording has no such
        request."""
        ...


def request_key(
    model: str,
    said: Iterable[Said],
    number: int = 0,
    settings: Settings = LEFT,
) -> bytes:
    """Return the 16 bytes that a request is looked up by: whom it is sent to, with what settings, what is said, and
    which of several samples it asks for. A lone surrogate counts as U+FFFD, since that is what a store makes of it.

    A conversation that ends with the assistant is a reply that could not be used: its key stands for whatever was said
    next, so that a recording outlives a change of how Tripos words that.

    >>> one = request_key("mock/careful", [("user", "Why?")])
    >>> len(one), one == request_key("mock/careful", [("user", "Why?")], number=1)
    (16, False)
    >>> request_key("m", [("user", "\\ud800")]) == request_key("m", [("user", "\\ufffd")])
    True
    """
    sent = [model, _settings_digest(settings)]
    texts = [list(each) for each in said]
    try:
        asked = orjson.dumps([number, sent, texts])
    except TypeError:
        asked = orjson.dumps([number, sent, [[_whole(text) for text in each] for each in texts]])
    return hashlib.blake2b(asked, digest_size=16).digest()


@dataclass(frozen=True)
class ReplayModel:
    """Answers as the model called `name` did when it was recorded. It costs nothing and reaches nothing."""

    name: str
    lookup: RecordedReplies
    recording: str
    """The name of the recording, for messages."""
    structured: bool = True
    slots: int | None = None
    endpoint: str = ENDPOINT
    price: Price | None = FREE
    most_samples: int = 1

    async def ask(self, request: Request) -> Reply:
        """Return the recorded reply. Raises `ModelError`: R0113 for a request that was not recorded, and what the
        provider gave instead of a reply where it refused one.

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
        tripos_runtime.models.base.ModelError: the recording `run-3fa9` has no such request to `openai/gpt-4o`
        """
        said = request.said
        found = self.lookup.find(_key(request, said))
        if found is None and len(said) > 1 and said[-2][0] == ASSISTANT:
            found = self.lookup.find(_key(request, said[:-1]))  # asked once more, after a reply that could not be read
        if found is None:
            raise ModelError(
                "R0113",
                f"the recording `{self.recording}` has no such request to `{self.name}`",
                "its prompt, settings or row changed after the recording: record it again with the model itself",
            )
        if isinstance(found, ModelError):
            raise found
        return found

    async def close(self) -> None:
        """Nothing to let go of: the recording belongs to whoever opened it."""


def _key(request: Request, said: Iterable[Said]) -> bytes:
    return request_key(request.model, said, request.number, request.settings)


@lru_cache(maxsize=256)
def _settings_digest(settings: Settings) -> str:
    return digest(settings.given)


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
