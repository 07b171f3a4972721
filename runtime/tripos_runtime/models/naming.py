"""Whether a model can be reached by its name, found without opening it: no key is needed, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tripos_runtime.models.base import Endpoint, ModelError
from tripos_runtime.models.catalog import entry_of
from tripos_runtime.models.embeddings import embeds


def check_name(name: str, endpoints: Mapping[str, Endpoint] = {}) -> None:
    """Raises `ModelError` R0103 where `open_model` would because of the name: no mock has it, or nobody knows the
    provider. litellm is imported only for a provider that no table of ours and no price tells of.

    >>> check_name("openai/gpt-4o")
    >>> check_name("mock/carefull")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: there is no model `mock/carefull`
    """
    provider, _, model = name.partition("/")
    if name != name.strip() or not name or name.endswith("/"):
        raise ModelError("R0103", f"`{name}` is not the name of a model", "write `provider/model`", fatal=True)
    if embeds(name):
        return
    if provider == "mock" and model:
        from tripos_runtime.models.mock import open_mock

        open_mock(model, asyncio.sleep)
    elif provider not in ("local", "human") or not model:
        from tripos_runtime.models.routes import endpoint_of, path_of

        if path_of(name, endpoints) == "litellm" and not entry_of(provider, model) and not endpoint_of(name, endpoints):
            from tripos_runtime.models.litellm_client import provider_of

            provider_of(name)
