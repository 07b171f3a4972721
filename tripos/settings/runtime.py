"""Settings in the form of the runtime: endpoints, prices, limits and budgets, also divided among processes.

The parts of divided limits add up to the limits of one process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tripos.settings.config import Config
from tripos.settings.options import (
    BUDGET,
    MAX_CONNECTIONS,
    MAX_RETRIES,
    PATIENCE,
    REPLY_MEMORY_MB,
    REQUESTS_PER_MINUTE,
    TIMEOUT,
    TOKENS_PER_MINUTE,
)
from tripos_compiler.errors import TriposError
from tripos_runtime.models.base import Endpoint, Model, Price
from tripos_runtime.models.families import identity_of
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.models.rewards import BatchedReward
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.limits import Limits

TOKENS = 1_000_000
"""The number of tokens that a price in USD refers to."""


def endpoints_of(config: Config) -> dict[str, Endpoint]:
    """Return the endpoints of models, by name of a model or a provider."""
    return {
        name: Endpoint(
            endpoint.base_url,
            endpoint.api_key_env,
            endpoint.name,
            endpoint.replicas,
            endpoint.warm_up_s,
            endpoint.media,
        )
        for name, endpoint in config.endpoints.items()
    }


def with_identities(binding: RoleBinding, config: Config, known: Mapping[str, str] = {}) -> RoleBinding:
    """Return the binding with the identity behind each model's name, if the name alone does not determine it. `known`
    are identities of models that are open. Raises `TriposError` R0101 for an invalid address."""
    endpoints = endpoints_of(config)
    found = {name: known.get(name) or identity_of(name, endpoints) for name in binding.all_models}
    return replace(binding, identities={name: by for name, by in found.items() if by != name})


def prices_of(config: Config) -> dict[str, Price]:
    """Return the configured prices by name of a model, in USD per token.

    >>> config = Config.model_validate({"prices": {"openai/x": {"input": 2, "output": 8}}})
    >>> prices_of(config)["openai/x"].cost_usd(500, 0)
    0.001
    """
    return {
        name: Price(
            price.input / TOKENS,
            price.output / TOKENS,
            None if price.cached_input is None else price.cached_input / TOKENS,
            price.max_output,
        )
        for name, price in config.prices.items()
    }


def limits_of(config: Config, models: Mapping[str, Model]) -> Limits:
    """Return the limits of calls to these models. A rate of `[limits]` applies to each endpoint separately, unless its
    model or provider has one in `[endpoints]`.

    >>> from tripos_runtime.models.families import open_model
    >>> limits = limits_of(Config(max_connections=3), {"mock/careful": open_model("mock/careful")})
    >>> limits.max_connections, dict(limits.requests_per_minute)
    (3, {})
    """
    own = config.endpoints.items()
    limits = Limits(
        max_connections=MAX_CONNECTIONS.setting_in(config),
        max_retries=MAX_RETRIES.setting_in(config),
        timeout_s=TIMEOUT.setting_in(config),
        patience_s=PATIENCE.setting_in(config),
        reply_memory_mb=REPLY_MEMORY_MB.setting_in(config),
        requests_per_minute={n: e.requests_per_minute for n, e in own if e.requests_per_minute is not None},
        tokens_per_minute={n: e.tokens_per_minute for n, e in own if e.tokens_per_minute is not None},
        connections=_connections(config, models),
    )
    far = {model.endpoint for name, model in models.items() if kind_of(name).limited}
    if (rate := REQUESTS_PER_MINUTE.setting_in(config)) is not None:
        limits = replace(limits, requests_per_minute={**dict.fromkeys(far, rate), **limits.requests_per_minute})
    if (rate := TOKENS_PER_MINUTE.setting_in(config)) is not None:
        limits = replace(limits, tokens_per_minute={**dict.fromkeys(far, rate), **limits.tokens_per_minute})
    return limits


def _connections(config: Config, models: Mapping[str, Model]) -> dict[str, int]:
    """Return the configured number of concurrent calls by endpoint; by default, for a reward model, the number it
    supports."""
    found = {
        name: endpoint.max_connections
        for name, endpoint in config.endpoints.items()
        if endpoint.max_connections is not None
    }
    for name, model in models.items():
        if isinstance(model, BatchedReward) and not {name, name.partition("/")[0]} & found.keys():
            found[name] = model.at_once
    return found


# Division among processes
def check_divisible(limits: Limits, parts: int, by: str = "workers") -> None:
    """Raise `TriposError` R0202 if a limit of concurrent calls would leave some worker or shard without any."""
    least, where = min(
        [
            (limits.max_connections, f"`{MAX_CONNECTIONS}`"),
            *((n, f"`{name}`") for name, n in limits.connections.items()),
        ]
    )
    if least < parts:
        message = f"{parts} {by} cannot divide {least} connection{'' if least == 1 else 's'} of {where}"
        raise TriposError("R0202", message, f"give --{by} {least}, or more connections")


def limits_share(limits: Limits, number: int, parts: int) -> Limits:
    """Return the limits of one part, counted from 0: its share of the connections, the rates and the memory.

    >>> [limits_share(Limits(max_connections=16), number, 3).max_connections for number in range(3)]
    [6, 5, 5]
    """

    def rates(whole: Mapping[str, float]) -> dict[str, float]:
        return {name: rate / parts for name, rate in whole.items()}

    return replace(
        limits,
        max_connections=_part(limits.max_connections, number, parts),
        connections={name: _part(most, number, parts) for name, most in limits.connections.items()},
        requests_per_minute=rates(limits.requests_per_minute),
        tokens_per_minute=rates(limits.tokens_per_minute),
        reply_memory_mb=max(1, limits.reply_memory_mb // parts),
    )


def budget_share(texts: Sequence[str], number: int, parts: int) -> Budget | None:
    """Return the budget of one part, counted from 0, or None without a budget. Raises `BudgetError` R0401 for an
    invalid amount, and `TriposError` R0202 if some part would have nothing.

    >>> [budget_share(["1usd", "10calls"], number, 4).calls for number in range(4)]
    [3, 3, 2, 2]
    """
    if not texts:
        return None
    budget = Budget.parse(texts)
    for amount, unit in ((budget.tokens, "tokens"), (budget.calls, "calls")):
        if amount is not None and amount < parts:
            raise TriposError(
                "R0202", f"{parts} shards cannot divide a budget of {amount} {unit}", f"give a larger {BUDGET}"
            )
    return Budget(
        usd=None if budget.usd is None else budget.usd / parts,
        tokens=None if budget.tokens is None else _part(budget.tokens, number, parts),
        calls=None if budget.calls is None else _part(budget.calls, number, parts),
    )


def _part(whole: int, number: int, parts: int) -> int:
    return whole // parts + (number < whole % parts)
