"""The settings in the form of the runtime: endpoints, prices and limits as it takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tripos.settings.config import Config
from tripos.ui import Failure
from tripos_runtime.models import Endpoint, Model, ModelError, Price
from tripos_runtime.models.reward import BatchedReward
from tripos_runtime.models.unopened import identity_of
from tripos_runtime.roles import RoleBinding
from tripos_runtime.scheduling import Limits

TOKENS = 1_000_000
"""Prices are written in USD for so many tokens."""
LOCAL_PREFIXES = ("mock/", "local/", "reward/", "baseline/")
"""Models that begin so have no provider whose rates could be kept to."""


def endpoints_of(config: Config) -> dict[str, Endpoint]:
    """Return where models are reached, by name of a model or a provider."""
    return {
        name: Endpoint(each.base_url, each.api_key_env, each.name, each.replicas, each.warm_up_s, each.media)
        for name, each in config.endpoints.items()
    }


def with_identities(binding: RoleBinding, config: Config) -> RoleBinding:
    """Return the binding with who answers under the name of each model, where the name does not say it. Raises
    `Failure` R0101 for a model whose address cannot be."""
    endpoints = endpoints_of(config)
    try:
        found = {name: identity_of(name, endpoints) for name in binding.every}
    except ModelError as error:
        raise Failure(error.code, error.message, error.hint) from error
    return replace(binding, identities={name: by for name, by in found.items() if by != name})


def prices_of(config: Config) -> dict[str, Price]:
    """Return the prices that were set, by name of a model, in USD a token.

    >>> config = Config.model_validate({"prices": {"openai/x": {"input": 2, "output": 8}}})
    >>> prices_of(config)["openai/x"].cost_usd(500, 0)
    0.001
    """
    return {
        name: Price(
            each.input / TOKENS,
            each.output / TOKENS,
            None if each.cached_input is None else each.cached_input / TOKENS,
            each.max_output,
        )
        for name, each in config.prices.items()
    }


def limits_of(config: Config, models: Mapping[str, Model]) -> Limits:
    """Return how calls to these models are let out. A rate under `[limits]` holds for each endpoint by itself, unless
    the model or its provider has one under `[endpoints]`.

    >>> from tripos_runtime.models import open_model
    >>> limits = limits_of(Config(max_connections=3), {"mock/careful": open_model("mock/careful")})
    >>> limits.max_connections, dict(limits.requests_per_minute)
    (3, {})
    """
    own = config.endpoints.items()
    limits = Limits(
        max_connections=config.limits.max_connections,
        max_retries=config.limits.max_retries,
        timeout_s=config.limits.timeout_s,
        patience_s=config.limits.patience_s,
        reply_memory_mb=config.limits.reply_memory_mb,
        requests_per_minute={n: e.requests_per_minute for n, e in own if e.requests_per_minute is not None},
        tokens_per_minute={n: e.tokens_per_minute for n, e in own if e.tokens_per_minute is not None},
        connections=_connections(config, models),
    )
    far = {model.endpoint for name, model in models.items() if not name.startswith(LOCAL_PREFIXES)}
    if (rate := config.limits.requests_per_minute) is not None:
        limits = replace(limits, requests_per_minute={**dict.fromkeys(far, rate), **limits.requests_per_minute})
    if (rate := config.limits.tokens_per_minute) is not None:
        limits = replace(limits, tokens_per_minute={**dict.fromkeys(far, rate), **limits.tokens_per_minute})
    return limits


def _connections(config: Config, models: Mapping[str, Model]) -> dict[str, int]:
    """Return how many calls at a time were set for an endpoint, and what reward models bear where nothing was."""
    found = {name: each.max_connections for name, each in config.endpoints.items() if each.max_connections is not None}
    for name, model in models.items():
        if isinstance(model, BatchedReward) and not {name, name.partition("/")[0]} & found.keys():
            found[name] = model.at_once
    return found
