"""The entry of a model in litellm's map, read from the file beside the package without importing it."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

FILE = "model_prices_and_context_window_backup.json"
LIKE = 0.85
"""The similarity of a name to the one that it was likely meant to be."""
DATED = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}$")
"""The date of a release at the end of a name."""
TUNED = re.compile(r"^(ft:[^:]+).*$")
"""The name of a model that was tuned: what it was tuned from counts."""


@functools.cache
def every_entry() -> Mapping[str, Mapping[str, Any]]:
    """Return all entries by name; none where litellm is not installed.

    >>> every_entry()["gpt-4o"]["litellm_provider"]
    'openai'
    """
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        path = Path(folder) / FILE
        if path.is_file():
            return MappingProxyType(orjson.loads(path.read_bytes()))
    return MappingProxyType({})


def entry_of(provider: str, model: str) -> Mapping[str, Any] | None:
    """Return the entry of a provider's model, by its exact name first, then without the date or the tuning in it.

    >>> entry_of("openai", "gpt-4o")["mode"], entry_of("openai", "no-such-model")
    ('chat', None)
    """
    entries = every_entry()
    shorter = TUNED.sub(r"\1", model) if model.startswith("ft:") else DATED.sub("", model)
    for name in (f"{provider}/{model}", model, f"{provider}/{shorter}", shorter):
        entry = entries.get(name)
        if entry is not None and entry.get("litellm_provider", provider) == provider:
            return entry
    return None


def near_model(name: str) -> str | None:
    """Return what a name that the map does not have was likely meant to be, with its provider.

    >>> near_model("openai/gpt-4o-min"), near_model("gpt-4o-mini"), near_model("hosted_vllm/my-own")
    ('openai/gpt-4o-mini', 'openai/gpt-4o-mini', None)
    """
    entries = every_entry()
    provider, slash, model = name.partition("/")
    if not slash:
        own = entries.get(name, {}).get("litellm_provider")
        return f"{own}/{name}" if own else None
    known = [
        entry.removeprefix(f"{provider}/")
        for entry, told in sorted(entries.items())
        if told.get("litellm_provider") == provider
    ]
    close = difflib.get_close_matches(model, known, n=1, cutoff=LIKE)
    return f"{provider}/{close[0]}" if close and close[0] != model else None


def allows(provider: str, model: str, what: str) -> bool | None:
    """Return true if a model has a capability, such as `supports_reasoning`; `None` where the map does not say.

    >>> allows("openai", "gpt-4o", "supports_response_schema"), allows("openai", "mine", "supports_response_schema")
    (True, None)
    """
    entry = entry_of(provider, model)
    found = entry.get(what) if entry is not None else None
    if found is None and entry is not None:
        found = every_entry().get(model, {}).get(what)
    return found if isinstance(found, bool) else None
