"""The settings that a request to a model would go without, found unopened: no key is needed, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Endpoint, ModelError
from tripos_runtime.models.embeddings import embeds
from tripos_runtime.models.reward import is_reward

Refuses = Callable[[Settings], tuple[str, ...]]
"""The names of the settings that a model is known not to take, of those that are given."""


def nothing(_: Settings) -> tuple[str, ...]:
    """Take all settings, as far as is known."""
    return ()


def refusing(name: str, endpoints: Mapping[str, Endpoint] = {}) -> Refuses:
    """Return what a model of that name refuses, as the model itself says once it is opened. Of one whose address nobody
    knows nothing is known.

    >>> from tripos_compiler.plan import Settings
    >>> refusing("openai/gpt-4o")(Settings(temperature=0.5, top_k=5)), refusing("mock/careful")(Settings(top_k=5))
    (('top_k',), ())
    """
    if embeds(name) or is_reward(name):
        return nothing
    match name.partition("/")[0]:
        case "mock" | "baseline" | "human":
            return nothing
        case "local":
            from tripos_runtime.models.local import untaken_here

            return untaken_here
    try:
        return _of_provider(name, endpoints)
    except ModelError:
        return nothing


def _of_provider(name: str, endpoints: Mapping[str, Endpoint]) -> Refuses:
    from tripos_runtime.models.catalog import (
        FOREIGN,
        OPENAI_COMPLETION,
        PROVIDERS,
        completion_name,
        endpoint_of,
        path_of,
        require_sign_in,
    )
    from tripos_runtime.models.over_http import base_url_of, lacking

    endpoint, completes = endpoint_of(name, endpoints), completion_name(name)
    path = path_of(name, endpoints)
    if path == "litellm":
        require_sign_in(name, name.partition("/")[0])
        from tripos_runtime.models.over_litellm import dropped

        return lambda settings: dropped(completes or name, settings)
    provider_name, _, model = name.partition("/")
    if completes is not None:
        provider, model = PROVIDERS["openai"], completes.removeprefix(OPENAI_COMPLETION)
    else:
        provider = FOREIGN.get(provider_name) or PROVIDERS[provider_name]
    base_url = base_url_of(name, provider, endpoint)
    unknown = lacking(provider_name, provider, model, base_url)
    if path == "direct":
        return lambda settings: tuple(each for each in settings.given if each in unknown)
    from tripos_runtime.models.catalog import CallPlace
    from tripos_runtime.models.over_litellm import FORMS, dropped_by

    form = FORMS[provider_name](provider_name, model, "none", CallPlace(name, base_url, "", ()))
    return lambda settings: dropped_by(form, unknown, settings)
