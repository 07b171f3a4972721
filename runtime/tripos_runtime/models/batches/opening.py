"""The models that are asked in batches, and those that are asked live beside them."""

from __future__ import annotations

from collections.abc import Mapping

from tripos_runtime.models.base import Model, ModelError
from tripos_runtime.models.batches.anthropic_batches import AnthropicBatches
from tripos_runtime.models.batches.base import NO_BATCHES, BatchedModel
from tripos_runtime.models.batches.openai_batches import OpenaiBatches
from tripos_runtime.models.embeddings import embeds
from tripos_runtime.models.over_http import ContinuingModel, DirectModel
from tripos_runtime.models.over_litellm import TranslatedModel
from tripos_runtime.models.reward import is_reward

SERVICES: Mapping[str, type[OpenaiBatches] | type[AnthropicBatches]] = {
    "openai": OpenaiBatches,
    "hosted_vllm": OpenaiBatches,
    "groq": OpenaiBatches,
    "anthropic": AnthropicBatches,
}
"""The form of batches of each provider that has them."""
AT_HOME = ("mock/", "local/", "baseline/", "human/")
"""Models that begin so answer on this machine."""


def takes_batches(name: str) -> bool:
    """Return true if the provider of a model is known to take batches.

    >>> [takes_batches(name) for name in ("openai/gpt-4o", "anthropic/claude-haiku-4-5", "mistral/mistral-large")]
    [True, True, False]
    """
    return name.partition("/")[0] in SERVICES


def batch_limits(name: str) -> tuple[int, int] | None:
    """Return the most requests and the most bytes of a batch of a model; `None` where it is asked call by call.

    >>> batch_limits("openai/gpt-4o"), batch_limits("mock/careful")
    ((50000, 190000000), None)
    """
    service = None if asked_live(name) else SERVICES.get(name.partition("/")[0])
    return None if service is None else (service.most_lines, service.most_bytes)


def asked_live(name: str) -> bool:
    """Return true if a model is asked call by call beside batches: what answers on this machine, grades or embeds.

    >>> asked_live("mock/careful"), asked_live("mistral/mistral-large")
    (True, False)
    """
    return name.startswith(AT_HOME) or is_reward(name) or embeds(name)


def open_batches(model: Model, timeout_s: float) -> BatchedModel:
    """Return a model as it is asked in batches. Raises `ModelError` R0121 where its provider has none."""
    provider = model.name.partition("/")[0]
    service = SERVICES.get(provider)
    if service is None or not isinstance(model, DirectModel | TranslatedModel) or isinstance(model, ContinuingModel):
        known = ", ".join(f"`{name}/…`" for name in SERVICES)
        message = f"`{model.name}` cannot be asked in batches"
        hint = f"leave out --batch, or give its role a chat model of {known}"
        raise ModelError(NO_BATCHES, message, hint, fatal=True)
    return BatchedModel(model, service(model, timeout_s))
