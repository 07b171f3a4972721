"""From the name of a reward model to one that can be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from tripos_runtime.models.base import Endpoint, Model, Price
from tripos_runtime.models.reward.rewards import BatchedReward, RewardModel


def open_reward_model(
    name: str,
    endpoints: Mapping[str, Endpoint],
    *,
    prices: Mapping[str, Price],
    timeout_s: float,
    sleep: Callable[[float], Awaitable[None]],
) -> Model:
    """Return the reward model of that name, as `open_model` gives it. Raises `ModelError`."""
    return BatchedReward(_open(name, endpoints, prices, timeout_s), sleep)


def _open(name: str, endpoints: Mapping[str, Endpoint], prices: Mapping[str, Price], timeout_s: float) -> RewardModel:
    kind, _, rest = name.partition("/")
    match kind:
        case "mock":
            from tripos_runtime.models.reward.mock_reward import open_mock_reward

            return open_mock_reward(name)
        case "reward":
            from tripos_runtime.models.reward.reward_artefact import open_reward

            return open_reward(rest)
    from tripos_runtime.models.catalog import endpoint_of
    from tripos_runtime.models.reward.served_reward import ServedReward

    return ServedReward(name, endpoint_of(name, endpoints), price=prices.get(name), timeout_s=timeout_s)
