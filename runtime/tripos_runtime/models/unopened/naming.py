"""The check that a model can be reached by its name, found without opening it: no key is needed, and nothing is
sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tripos_runtime.models.base import Endpoint, ModelError
from tripos_runtime.models.catalog import entry_of
from tripos_runtime.models.embeddings import embeds
from tripos_runtime.models.reward import is_reward


def check_name(name: str, endpoints: Mapping[str, Endpoint] = {}) -> None:
    """Raise `ModelError` R0103 where `open_model` would because of the name: no mock or baseline has it, or nobody
    knows the provider; and R0234 for a folder without a reward model. litellm is imported only for a provider that no
    table of ours and no price tells of.

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
    if is_reward(name):
        _check_reward(name)
    elif provider == "baseline":
        from tripos_runtime.models.mocks import open_baseline

        open_baseline(name)
    elif provider == "mock" and model:
        from tripos_runtime.models.mocks import open_mock

        open_mock(model, asyncio.sleep)
    elif provider not in ("local", "human") or not model:
        from tripos_runtime.models.catalog import endpoint_of, path_of

        if path_of(name, endpoints) == "litellm" and not entry_of(provider, model) and not endpoint_of(name, endpoints):
            from tripos_runtime.models.over_litellm import provider_of

            provider_of(name)


def _check_reward(name: str) -> None:
    """Raise `ModelError` where no mock of a reward model has this name, or its folder holds none."""
    if name.startswith("mock/"):
        from tripos_runtime.models.reward import open_mock_reward

        open_mock_reward(name)
    elif name.startswith("reward/"):
        from tripos_runtime.models.reward import check_reward

        check_reward(name.removeprefix("reward/"))
