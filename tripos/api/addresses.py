"""Where models are reached, where that is another place than their provider's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from tripos.config import Config
from tripos_runtime.models.catalog.providers import PROVIDERS


def known_addresses(models: Iterable[str], config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """By model, the address that `tripos.toml` or the environment says, without a user and a password in it.

    >>> known_addresses(["openai/gpt-4o"], Config(), {"OPENAI_BASE_URL": "https://me:secret@proxy.example/v1/"})
    {'openai/gpt-4o': 'https://proxy.example/v1'}
    """
    found = {}
    for name in models:
        provider = name.partition("/")[0]
        set_here = config.endpoints.get(name) or config.endpoints.get(provider)
        variables = PROVIDERS[provider].base_urls if provider in PROVIDERS else ()
        said = set_here.base_url if set_here is not None else next(filter(None, map(environ.get, variables)), None)
        if said is not None:
            found[name] = _bare(said)
    return found


def _bare(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")
