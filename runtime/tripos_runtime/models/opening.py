"""The opening of a model by its name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from tripos_runtime.models.base import Endpoint, Model, ModelError, Price, check_alone
from tripos_runtime.models.reward import BatchedReward, RewardModel, is_reward


def open_model(
    name: str,
    endpoints: Mapping[str, Endpoint] = {},
    *,
    prices: Mapping[str, Price] = {},
    slots: int = 4,
    timeout_s: float = 300.0,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Model:
    """Return the model of that name, ready to be asked.

    `endpoints` says where else a model or a whole provider is reached, by name (`openai/gpt-4o`) or prefix
    (`openai`). `prices` says what models cost, by name, in place of what litellm's map has. `slots` is how many
    requests a local model answers at a time; only 1 gives exact repeats. `timeout_s` is for one call.
    Raises `ModelError` where the name is unknown or what the model needs is missing.

    >>> open_model("mock/careful").name
    'mock/careful'
    >>> open_model("mock/carefull")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: there is no model `mock/carefull`
    """
    if name != name.strip() or not name or name.endswith("/"):
        raise ModelError("R0103", f"`{name}` is not the name of a model", "write `provider/model`", fatal=True)
    if is_reward(name):
        return BatchedReward(_open_reward(name, endpoints, prices, timeout_s), sleep)
    match name.split("/", 1):
        case ["mock", character]:
            from tripos_runtime.models.mocks import open_mock

            return open_mock(character, sleep)
        case ["baseline", _]:
            from tripos_runtime.models.mocks import open_baseline

            return open_baseline(name)
        case ["human", _]:
            hint = "people hold conversations with `tripos teach SPEC --name NAME`, and grade with `tripos annotate`"
            raise ModelError("R0251", f"`{name}` is a person, and no model", hint, fatal=True)
        case ["local", which]:
            from tripos_runtime.models.local import LocalModel

            return LocalModel(which, slots=slots, timeout_s=timeout_s)
    from tripos_runtime.models.catalog import completion_name, endpoint_of, path_of, price_of

    endpoint = endpoint_of(name, endpoints)
    own_price = prices.get(name)
    asked_as = completion_name(name)
    provider, _, model = (asked_as or name).partition("/")
    price = own_price or price_of(provider, model)
    path = path_of(name, endpoints)
    if path != "direct":
        check_alone(name, endpoint)
    match path:
        case "direct":
            from tripos_runtime.models.over_http import ContinuingModel, DirectModel, ReplicatedModel

            form = DirectModel if asked_as is None else ContinuingModel
            places = [endpoint] if endpoint is None else [replace(endpoint, base_url=url) for url in urls_of(endpoint)]
            served = [
                form(name, each, price=price, own_price=own_price is not None, timeout_s=timeout_s) for each in places
            ]
            if endpoint is None or (len(served) == 1 and not endpoint.warm_up_s):
                return served[0]
            return ReplicatedModel(served, endpoint.warm_up_s, sleep=sleep)
        case "translated":
            from tripos_runtime.models.over_litellm import TranslatedModel

            return TranslatedModel(name, endpoint, price=price, own_price=own_price is not None, timeout_s=timeout_s)
        case "litellm":
            from tripos_runtime.models.over_litellm import LitellmModel

            return LitellmModel(name, endpoint, price=own_price, timeout_s=timeout_s)


def urls_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Return every address of an endpoint, each once.

    >>> urls_of(Endpoint("http://a/v1", replicas=("http://b/v1", "http://a/v1")))
    ('http://a/v1', 'http://b/v1')
    """
    return tuple(dict.fromkeys((endpoint.base_url, *endpoint.replicas)))


def _open_reward(
    name: str, endpoints: Mapping[str, Endpoint], prices: Mapping[str, Price], timeout_s: float
) -> RewardModel:
    kind, _, rest = name.partition("/")
    match kind:
        case "mock":
            from tripos_runtime.models.reward import open_mock_reward

            return open_mock_reward(name)
        case "reward":
            from tripos_runtime.models.reward import open_reward

            return open_reward(rest)
    from tripos_runtime.models.catalog import endpoint_of
    from tripos_runtime.models.reward import ServedReward

    check_alone(name, endpoint_of(name, endpoints))
    return ServedReward(name, endpoint_of(name, endpoints), price=prices.get(name), timeout_s=timeout_s)
