"""A reward model that needs no weights: a number that is a function of the text, for tests and first runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tripos_runtime.models.base import FREE, ModelError, Price
from tripos_runtime.models.reward.rewards import Chat, as_text

SPREAD = 8.0
"""Rewards lie from minus half of this to half of it."""


@dataclass(frozen=True)
class MockReward:
    """Gives every text a reward that says nothing about it. `mock/reward:b` gives others than `mock/reward`."""

    name: str = "mock/reward"
    price: Price | None = FREE
    most: int = 64
    batches: int = 1

    @property
    def endpoint(self) -> str:
        """A place of its own."""
        return self.name

    async def score(self, chats: Sequence[Chat]) -> Sequence[float]:
        """Return the rewards, computed in a thread as those of a real model are."""
        return await asyncio.to_thread(lambda: [mock_reward(self.name, as_text(chat)) for chat in chats])

    async def close(self) -> None:
        """Nothing to let go of."""


def open_mock_reward(name: str) -> MockReward:
    """Return the mock of that name. Raises `ModelError` for any other.

    >>> open_mock_reward("mock/rewards")
    Traceback (most recent call last):
    tripos_runtime.models.base.ModelError: there is no model `mock/rewards`
    """
    if name != "mock/reward" and not name.startswith("mock/reward:"):
        hint = "did you mean `mock/reward`?"
        raise ModelError("R0103", f"there is no model `{name}`", hint, fatal=True)
    return MockReward(name)


def mock_reward(name: str, text: str) -> float:
    """Return the reward of a text: evenly spread, and the same in every process.

    >>> mock_reward("mock/reward", "What do you know?") == mock_reward("mock/reward", "What do you know?")
    True
    """
    drawn = hashlib.blake2b(f"{name}\0{text}".encode("utf-8", "replace"), digest_size=6).digest()
    return round((int.from_bytes(drawn) / 2**48 - 0.5) * SPREAD, 6)
