"""The providers whose chat completions have OpenAI's form: where they are and what is particular to them.

What stands here is held to litellm by tests/runtime/test_transport_contract.py, so that a model answers the same
whichever way it is reached.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tripos_compiler.source import dataclass
from tripos_runtime.models.catalog.litellm_providers import LITELLM

SAMPLES = 16
"""The most replies that one request asks for: a request that is lost loses all of them."""


@dataclass(frozen=True)
class Provider:
    """`base_url` is where it is reached; `None`: it has no place of its own. `keys` are the environment variables that
    may hold its key, the first set one counts, and `base_urls` those that say another place."""

    base_url: str | None
    keys: tuple[str, ...]
    base_urls: tuple[str, ...] = ()
    key_unset: str | None = None
    """The key that is sent where none is set; `None`: a key is needed."""
    ends_with: str = ""
    """The end of its address, which is added where it is missing."""
    seed: str = "seed"
    """The name of the setting."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """The further fields of every request."""
    headers: tuple[tuple[str, str, str | None], ...] = ()
    """Further headers: the name, the environment variable of the value, and the value where that is not set."""
    lacks: frozenset[str] = frozenset()
    """The settings that it takes for none of its models; a server of one's own with its form may."""
    without: tuple[re.Pattern[str], frozenset[str]] | None = None
    """The models, by a part of their names, that take these settings nowhere."""
    structured: bool = False
    """True if every model of it holds its replies to a schema; else litellm's map says which do."""
    samples: int = 1
    """How many replies one request may ask for where the prompt is paid once."""
    more: tuple[str, ...] = ()
    """Further variables."""

    @property
    def beside_key(self) -> tuple[str, ...]:
        """The variables of a provider besides its keys: where its key goes, and what is sent beside it."""
        return (*self.base_urls, *(variable for _, variable, _ in self.headers), *self.more)


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        headers=(
            ("OpenAI-Organization", "OPENAI_ORGANIZATION", None),
            ("OpenAI-Organization", "OPENAI_ORG_ID", None),
            ("OpenAI-Project", "OPENAI_PROJECT_ID", None),
        ),
        lacks=frozenset({"top_k"}),
        samples=SAMPLES,
    ),
    "hosted_vllm": Provider(
        None,
        ("HOSTED_VLLM_API_KEY",),
        ("HOSTED_VLLM_API_BASE",),
        key_unset="fake-api-key",
        structured=True,
        samples=SAMPLES,
    ),
    "mistral": Provider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY", "MISTRAL_AZURE_API_KEY"),
        ("MISTRAL_AZURE_API_BASE",),
        ends_with="/v1",
        seed="random_seed",
        lacks=frozenset({"top_k", "top_logprobs"}),
        without=(re.compile(""), frozenset({"presence_penalty", "frequency_penalty"})),
    ),
    "deepseek": Provider(
        "https://api.deepseek.com/beta",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_API_BASE",),
        lacks=frozenset({"top_k"}),
    ),
    "groq": Provider(
        "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), ("GROQ_API_BASE",), lacks=frozenset({"top_k"})
    ),
    "together_ai": Provider(
        "https://api.together.ai/v1",
        ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
        ("TOGETHER_AI_API_BASE",),
    ),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        ("OPENROUTER_API_BASE",),
        body={"usage": {"include": True}},
        headers=(("HTTP-Referer", "OR_SITE_URL", "https://litellm.ai"), ("X-Title", "OR_APP_NAME", "liteLLM")),
    ),
    "xai": Provider(
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        ("XAI_API_BASE",),
        without=(re.compile(r"grok-3-mini|grok-4|grok-code-fast"), frozenset({"stop", "frequency_penalty"})),
        lacks=frozenset({"top_k"}),
    ),
}

FOREIGN: Mapping[str, Provider] = {
    "anthropic": Provider(
        "https://api.anthropic.com/v1/messages", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
    ),
    "azure": Provider(
        None,
        ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
        ("AZURE_API_BASE",),
        samples=SAMPLES,
        more=("AZURE_API_VERSION",),
    ),
    "gemini": Provider("https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "ollama": Provider("http://localhost:11434", ("OLLAMA_API_KEY",), ("OLLAMA_API_BASE",), key_unset=""),
    "ollama_chat": Provider("http://localhost:11434", ("OLLAMA_API_KEY",), ("OLLAMA_API_BASE",), key_unset=""),
}
"""Providers with a form of their own, which litellm translates to and we send."""

EXPORTED_ADDRESS = frozenset({"azure"})
"""Providers whose address litellm takes from the environment alone: it may sign in there with more than the key."""
KEYED: Mapping[str, tuple[str, ...]] = {
    name: needs.plain_keys for name, needs in LITELLM.items() if needs.plain_keys and name not in FOREIGN
}
"""The keys that a file `.env` may give, of providers that litellm alone reaches."""


def provider_named(name: str) -> Provider:
    """Return what is known of a provider. Of one that litellm alone reaches that is what its variables are called.

    >>> provider_named("deepinfra").keys, provider_named("deepinfra").base_urls
    (('DEEPINFRA_API_KEY',), ('DEEPINFRA_API_BASE', 'DEEPINFRA_BASE_URL'))
    """
    upper = name.upper()
    unlisted = Provider(None, KEYED.get(name, ()), (f"{upper}_API_BASE", f"{upper}_BASE_URL"))
    return PROVIDERS.get(name) or FOREIGN.get(name) or unlisted


def key_names() -> frozenset[str]:
    """Return the names of the keys of all providers."""
    return frozenset(key for name in (*PROVIDERS, *FOREIGN, *KEYED) for key in provider_named(name).keys)


PARTICULAR = re.compile(
    r"^(ft:)?o\d|gpt-([5-9]|\d\d)|audio|search|realtime|deep-research|computer-use|codex|(^|/)responses/"
)
"""Names of models of `openai/` that take other settings than the rest, wherever they are reached."""
