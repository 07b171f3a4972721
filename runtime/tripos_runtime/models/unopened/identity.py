"""The identity of a model, by which its replies are named, found without opening it or sending anything.

A served model is its name and where it is reached, since another server may hold other weights under that name. The
address of its provider adds nothing. A model file is the digest of its weights, wherever it lies and is served.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from tripos_runtime.models.base import Endpoint
from tripos_runtime.models.catalog import check_address, endpoint_of, provider_named, variables_of
from tripos_runtime.models.embeddings import embeds
from tripos_runtime.models.local import find_weights, weights_digest
from tripos_runtime.models.reward import PINNED, pinned_name

SHOWN = 16
"""The number of digits of a digest of weights that name a model."""
HERE = ("mock", "baseline", "human", "replay")
"""Providers that need no endpoint: the name says who answers."""
PATHS = ("/chat/completions", "/completions", "/v1/messages")
"""The end of a base URL that means the same without it."""
PORTS = {"http": 80, "https": 443}
SECRET = re.compile(r"key|token|secret|sig|pass|auth|credential|code", re.IGNORECASE)
"""Parameters of an address that are called so hold a secret."""


def identity_of(name: str, endpoints: Mapping[str, Endpoint] = {}, environ: Mapping[str, str] | None = None) -> str:
    """Return what the replies of a model are named by: its name, and where that does not say who answers, by whom.
    Without an `environ`, the variables of providers count that are set here.

    >>> identity_of("openai/gpt-4o", environ={})
    'openai/gpt-4o'
    >>> identity_of("openai/ours", {"openai": Endpoint("http://GPU-1:8000/v1/")}, {})
    'openai/ours @ http://gpu-1:8000/v1'
    >>> identity_of("openai/ours", {"openai": Endpoint("http://gpu-2:8000/v1", name="lab-a100")}, {})
    'openai/ours @ lab-a100'
    """
    provider_name = name.partition("/")[0]
    if provider_name in HERE or embeds(name):
        return name
    if provider_name == "reward":
        digest = pinned_name(name).rpartition("@")[2]
        return f"reward @ {digest}" if PINNED.fullmatch(digest) else name
    if provider_name == "local":
        path = find_weights(name.partition("/")[2])
        return name if path is None else f"local @ sha256:{weights_digest(path)[:SHOWN]}"
    endpoint = endpoint_of(name, endpoints)
    if endpoint is not None and endpoint.name is not None:
        return f"{name} @ {endpoint.name}"
    provider = provider_named(provider_name)
    told = map(variables_of(provider, environ).get, provider.base_urls)
    address = endpoint.base_url if endpoint is not None else next(filter(None, told), None)
    if address is None:
        return name
    check_address(name, address)
    place = public_address(address, provider.ends_with)
    own = None if provider.base_url is None else public_address(provider.base_url, provider.ends_with)
    return name if place == own else f"{name} @ {place}"


def public_address(url: str, ends_with: str = "") -> str:
    """Return an address in one form, without anything that gives access: neither user nor key. Other parameters count,
    and stand there as a digest, since nobody knows which of them is a secret.

    >>> public_address("https://ann:pass@API.example.org:443/v1/chat/completions?key=abc")
    'https://api.example.org/v1'
    >>> public_address("http://127.0.0.1:8000/v1?deployment=a") != public_address("http://127.0.0.1:8000/v1?deployment=b")
    True
    """
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, PORTS.get(scheme)) else f":{parts.port}"
    path = parts.path.rstrip("/")
    for ending in PATHS:
        path = path.removesuffix(ending)
    path = path.rstrip("/")
    path = path if path.endswith(ends_with) else path + ends_with
    open_ = sorted((key, value) for key, value in parse_qsl(parts.query) if not SECRET.search(key))
    more = f"?{hashlib.sha256(urlencode(open_).encode()).hexdigest()[:SHOWN]}" if open_ else ""
    return f"{scheme}://{host}{port}{path}{more}"
