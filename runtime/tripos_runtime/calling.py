"""Calls a model: how many at a time, when to try again, and when to give up on an endpoint."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tripos_runtime.models.base import Model, ModelError, Reply, Request

Sleep = Callable[[float], Awaitable[None]]

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 60.0
FIRST_CONTACT_RETRIES = 2
UNREACHABLE = "R0101"
DEAD_AFTER = 10
"""So many failed units in a row, and an endpoint that has answered before counts as dead."""


class Stopped(Exception):
    """The run cannot go on: a model cannot be had at all. What was answered is kept."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Called:
    """A reply and what it took to get it."""

    reply: Reply
    attempts: int
    latency_s: float


@dataclass
class Caller:
    """Calls one model. At most `connections` calls are under way at once; a call that fails in a way that may pass is
    tried again up to `retries` times, after 0.5 s, 1 s, 2 s … with jitter, or when the endpoint says (Retry-After)."""

    model: Model
    connections: asyncio.Semaphore
    retries: int
    sleep: Sleep = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    answered: int = 0
    failures_in_a_row: int = 0

    async def call(self, request: Request) -> Called:
        """The reply, how many attempts it took, and how long the last of them.

        Raises `ModelError` where this call failed for good and `Stopped` where every other would too.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self.connections:
                    started = self.clock()
                    reply = await self.model.ask(request)
                    latency_s = self.clock() - started
            except ModelError as error:
                if error.fatal:
                    raise Stopped(error.code, error.message, error.hint) from error
                if error.retryable and attempt <= self._retries(error):
                    await self.sleep(self._delay(attempt, error.retry_after_s))
                    continue
                self._count_failure(error)
                raise
            self.answered += 1
            self.failures_in_a_row = 0
            return Called(reply, attempt, latency_s)

    def _retries(self, error: ModelError) -> int:
        """An address that has never answered is more likely wrong than busy."""
        return (
            min(self.retries, FIRST_CONTACT_RETRIES)
            if error.code == UNREACHABLE and not self.answered
            else self.retries
        )

    def _delay(self, attempt: int, retry_after_s: float | None) -> float:
        if retry_after_s is not None:
            return min(retry_after_s, LONGEST_DELAY_S)
        return float(min(FIRST_DELAY_S * 2 ** (attempt - 1), LONGEST_DELAY_S) * self.rng.uniform(0.5, 1.0))

    def _count_failure(self, error: ModelError) -> None:
        if not error.retryable:
            return
        self.failures_in_a_row += 1
        unreachable = error.code == UNREACHABLE and not self.answered
        if unreachable or self.failures_in_a_row >= DEAD_AFTER:
            raise Stopped(error.code, error.message, error.hint) from error
