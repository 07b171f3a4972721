"""Models that return vectors, the form of a vector as text in the store, and the similarity of two texts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from tripos_runtime.models.base import FREE, Model, ModelError, Price, Reply, Request

Vector = npt.NDArray[np.float32]
TEXTS_AT_ONCE = 64
"""The largest number of texts in a request."""


def to_text(vector: Sequence[float] | npt.NDArray[np.floating]) -> str:
    """Return a vector as text: base64 of 32-bit little-endian numbers.

    >>> to_text([1.0, -0.5])
    'AACAPwAAAL8='
    """
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def from_text(text: str) -> Vector:
    """Return the vector that `to_text` wrote. Raises `ValueError` if the text is not a vector, or the vector is empty
    or has a number that is not finite.

    >>> from_text("AACAPwAAAL8=").tolist()
    [1.0, -0.5]
    """
    try:
        vector = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").astype(np.float32)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("not a vector") from error
    if not len(vector) or not bool(np.isfinite(vector).all()):
        raise ValueError("not a vector of finite numbers")
    return vector


def replies_of(
    vectors: Sequence[Any], texts: Sequence[str], model_served: str, tokens_in: int | None, price: Price | None
) -> Reply:
    """Return the vectors as one reply with further choices, one for each text. Each has a share of the tokens in
    proportion to the length of its text; the shares sum to `tokens_in`."""
    sizes = np.cumsum([max(1, len(text)) for text in texts])
    replies: list[Reply] = []
    before = 0
    for vector, size in zip(vectors, sizes.tolist(), strict=True):
        share = None if tokens_in is None else int(tokens_in * size // int(sizes[-1])) - before
        before += share or 0
        cost = None if price is None or share is None else price.cost_usd(share, 0)
        cost = 0.0 if price == FREE else cost
        replies.append(Reply(to_text(vector), model_served, "stop", share, 0 if share is not None else None, cost))
    first, *further = replies
    return replace(first, further_choices=tuple(further))


class EmbeddingModel(Model):
    """A model that returns vectors of texts, and scores the similarity of two.

    A request whose first message is a system message asks for a similarity; the next message is a JSON list of the two
    texts. The reply is the cosine of their vectors, as text. Blank texts are not sent: two blank texts have similarity
    1, a blank and another text 0, as for `similarity` of letters. Other requests have a text in each message."""

    most_samples = TEXTS_AT_ONCE

    async def embed(self, texts: Sequence[str]) -> Reply:
        """Return the vectors of the texts, as `replies_of` does. Raises `ModelError`."""
        raise NotImplementedError

    async def ask(self, request: Request) -> Reply:
        """Return the vectors of the request's messages, or the similarity of a pair of texts. Raises `ModelError`."""
        if request.messages[0].role != "system":
            return await self.embed([message.content for message in request.messages])
        texts: list[str] = orjson.loads(request.messages[1].content)
        blank = sum(not text.strip() for text in texts)
        if blank:
            return Reply(repr(1.0 if blank == 2 else 0.0), self.name, "stop", 0, 0, 0.0)
        reply = await self.embed(texts)
        replies = [reply, *reply.further_choices]
        if len(replies) != 2:
            raise self._unfit(f"gave {len(replies)} vectors for two texts")
        try:
            one, other = (from_text(each.text).astype(np.float64) for each in replies)
            lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
            if len(one) != len(other) or lengths == 0:
                raise ValueError("vectors that cannot be compared")
        except ValueError as error:
            raise self._unfit(f"gave {error}") from error
        cosine = min(1.0, max(-1.0, float(one @ other) / lengths))
        usage = reply.with_usage_of(reply.further_choices)
        tokens = usage.tokens_in
        return Reply(repr(cosine), reply.model_served, "stop", tokens, None if tokens is None else 0, usage.cost_usd)

    def _unfit(self, what: str) -> ModelError:
        return ModelError("R0257", f"`{self.name}` {what}", "check that it is an embedding model")
