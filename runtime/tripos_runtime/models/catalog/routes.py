"""Routes to models: the one place that chooses how a model is reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from tripos_runtime.models.base import Endpoint, ModelError
from tripos_runtime.models.catalog.catalog import entry_of, every_entry
from tripos_runtime.models.catalog.providers import FOREIGN, PARTICULAR, PROVIDERS
from tripos_runtime.models.catalog.variables import variables_of

Path = Literal["direct", "translated", "litellm"]

COMPLETION = "text-completion-"
"""The beginning of litellm's names of models that continue a text, as in `text-completion-openai/NAME`."""
OPENAI_COMPLETION = "text-completion-openai/"
"""The beginning of the names that are asked in OpenAI's form."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def path_of(name: str, endpoints: Mapping[str, Endpoint] = {}) -> Path:
    """Return how the model of that name is asked: without litellm, through its translation alone, or by litellm
    altogether.

    >>> [path_of(name) for name in ("openai/gpt-4o", "openai/o3-mini", "bedrock/anthropic.claude-v2")]
    ['direct', 'translated', 'litellm']
    """
    if (completion_name(name) or "").startswith(OPENAI_COMPLETION):
        return "direct"
    provider, _, model = name.partition("/")
    endpoint = endpoint_of(name, endpoints)
    entry = entry_of(provider, model) or (every_entry().get(model) if provider == "openai" else None)
    if entry is not None and entry.get("mode", "chat") != "chat":
        return "litellm"
    if provider in PROVIDERS:
        if provider != "openai":
            return "direct"
        if PARTICULAR.search(model):
            return "translated"
        if endpoint is None and (entry is None or entry.get("supports_reasoning")):
            return "translated"  # OpenAI's own models that are newer than the map: litellm knows the rules by name
        return "direct"
    if provider not in FOREIGN:
        return "litellm"
    if provider == "azure" and not _is_plain_azure(model, endpoint):
        return "litellm"
    return "translated"


def completion_name(name: str) -> str | None:
    """Return the name by which litellm asks a model for the continuation of a text; `None` for a model with a chat.

    >>> completion_name("openai/gpt-3.5-turbo-instruct"), completion_name("openai/gpt-4o")
    ('text-completion-openai/gpt-3.5-turbo-instruct', None)
    >>> completion_name("text-completion-openai/ours")
    'text-completion-openai/ours'
    """
    provider, _, model = name.partition("/")
    if provider.startswith(COMPLETION) or provider == "azure_text":
        return name
    entry = entry_of(provider, model) or every_entry().get(model)
    if provider == "openai" and entry is not None and entry.get("mode") == "completion":
        return OPENAI_COMPLETION + model
    return None


def endpoint_of(name: str, endpoints: Mapping[str, Endpoint]) -> Endpoint | None:
    """Return the endpoint of a model: its own, or that of its provider."""
    return endpoints.get(name) or endpoints.get(name.partition("/")[0])


def check_address(name: str, address: str) -> None:
    """Raise `ModelError` R0101 for an address whose host or port cannot be. No user or key of it is told."""
    try:
        parts = urlsplit(address)
        if parts.port is None or parts.port > 0:
            (parts.hostname or "").encode("idna")
            return
    except ValueError:  # also that of an encoding
        pass
    told = address.rpartition("@")[2].partition("?")[0]
    raise ModelError(
        "R0101", f"`{told}`, where `{name}` is to be reached, is no address", "check its host and its port", fatal=True
    )


def is_here(endpoint: Endpoint | None) -> bool:
    """Return true if an endpoint is a server on this machine.

    >>> is_here(Endpoint("http://127.0.0.1:8000/v1"))
    True
    """
    return endpoint is not None and urlsplit(endpoint.base_url).hostname in LOOPBACK


def _is_plain_azure(model: str, endpoint: Endpoint | None) -> bool:
    """Return true if a deployment is reached with a key at a resource's address: the other ways to sign in are
    litellm's."""
    told = variables_of(FOREIGN["azure"])
    base_url = endpoint.base_url if endpoint is not None else told.get("AZURE_API_BASE", "")
    keyed = endpoint is not None or "AZURE_API_KEY" in told
    return keyed and bool(base_url) and "/openai" not in base_url and "/" not in model
