"""Which models see images, hear recordings and read files, told by their names before any is asked."""

from __future__ import annotations

from collections.abc import Mapping

from tripos_compiler.language.library import MediumKind
from tripos_runtime.models.base import Endpoint
from tripos_runtime.models.catalog import completion_name, endpoint_of, entry_of

ABILITIES: Mapping[MediumKind, str] = {
    "image": "supports_vision",
    "audio": "supports_audio_input",
    "file": "supports_pdf_input",
}
"""The word of litellm's map for what a model takes beside texts."""
TAKING_ALL = ("mock/", "human/", "replay/", "baseline/constant", "baseline/majority")
"""Models that take everything; of baselines those that look at nothing, while an echo repeats a text."""
TAKING_TEXT = ("local/", "reward/", "baseline/")


def takes_medium(name: str, kind: MediumKind, endpoints: Mapping[str, Endpoint] = {}) -> bool | None:
    """Return true if a model of that name takes a kind of medium; None where nobody knows. What its endpoint in
    tripos.toml declares counts before litellm's map.

    >>> [takes_medium(name, "image") for name in ("openai/gpt-4o", "openai/gpt-3.5-turbo", "openai/ours", "mock/fair")]
    [True, False, None, True]
    >>> [takes_medium(name, "image") for name in ("baseline/constant:B", "baseline/echo:last-line")]
    [True, False]
    """
    if name.startswith(TAKING_ALL):
        return True
    endpoint = endpoint_of(name, endpoints)
    if endpoint is not None and endpoint.media is not None:
        return kind in endpoint.media
    if name.startswith(TAKING_TEXT) or completion_name(name) is not None:
        return False
    provider, _, model = name.partition("/")
    entry = entry_of(provider, model)
    return None if entry is None else bool(entry.get(ABILITIES[kind]))
