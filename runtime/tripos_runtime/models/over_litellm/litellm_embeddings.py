"""Embedding models of litellm's, asked by its `aembedding`."""

from __future__ import annotations

import os
from typing import Any

from tripos_runtime.models.base import FREE, Endpoint, ModelError, Price, Reply, Request
from tripos_runtime.models.catalog import is_here, model_error, require_ready
from tripos_runtime.models.over_litellm.litellm_client import (
    endpoint_key,
    given_place,
    known_price,
    library,
    provider_of,
)
from tripos_runtime.models.vectors import TEXTS_AT_ONCE, replies_of

CODE = "R0257"
"""The answer has no vector for each text."""


class LitellmEmbedding:
    """An embedding model at its provider, or at an endpoint that speaks OpenAI's form.

    Opening raises `ModelError` R0103 if litellm knows no such provider, R0105 if a Python package that it needs for the
    provider is not installed, and R0102 if the key is not set.
    """

    structured = False
    slots: int | None = None
    most_samples = TEXTS_AT_ONCE

    def __init__(
        self, name: str, endpoint: Endpoint | None = None, *, price: Price | None = None, timeout_s: float = 300.0
    ) -> None:
        self.name = name
        self._timeout_s = timeout_s
        provider, address = provider_of(name)
        self._where: dict[str, Any] = {}
        self._key = ""
        if endpoint is None:
            self._address = address or f"the address of {provider}"
            self._key_variables = require_ready(name, provider)
            self._where = given_place(provider)
            self._key = self._where.get("api_key", "")
        else:
            self._address = endpoint.base_url
            self._key_variables = endpoint.api_key_env or ""
            self._key = endpoint_key(name, endpoint)
            self._where = {"api_base": endpoint.base_url, "api_key": self._key}
        self.endpoint = f"{self._address} {self._key_variables}".strip()
        self.price = price or (FREE if is_here(endpoint) else known_price(name, provider))

    async def ask(self, request: Request) -> Reply:
        """Return the vectors of the request's messages. Raises `ModelError`."""
        texts = [message.content for message in request.messages]
        key = self._key or os.environ.get(self._key_variables, "")
        try:
            response = await library().aembedding(
                model=self.name,
                input=texts,
                timeout=self._timeout_s,
                num_retries=0,
                max_retries=0,
                encoding_format="float",
                **self._where,
            )
        except Exception as error:
            # litellm lets its own slips through as any exception, an `AttributeError` for a reply it cannot read.
            raise model_error(error, self.name, self._address, self._key_variables, (key,)) from error
        vectors = vectors_of(self.name, response.data or [], len(texts))
        usage = getattr(response, "usage", None)
        tokens = getattr(usage, "prompt_tokens", None) or None
        return replies_of(vectors, texts, str(response.model or self.name), tokens, self.price)

    async def close(self) -> None:
        """Nothing to let go of: litellm keeps its own pool."""


def vectors_of(name: str, data: list[Any], count: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of the texts. Raises `ModelError` R0257 where it has not one for
    each.

    >>> vectors_of("m", [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [1, 2]}], 2)
    [[1.0, 2.0], [0.5]]
    """
    try:
        ordered = sorted(data, key=lambda entry: int(entry["index"]))
        found = [[float(value) for value in entry["embedding"]] for entry in ordered]
    except (TypeError, ValueError, KeyError) as error:
        message = f"`{name}` answered without a vector for each text"
        raise ModelError(CODE, message, "check that it is an embedding model") from error
    if len(found) != count or not all(found):
        message = f"`{name}` gave {len(found)} vectors for {count} texts"
        raise ModelError(CODE, message, "check that it is an embedding model")
    return found
