"""Time that passes only where nothing else is left to do: an hour of waiting takes no time, and always goes the same."""

from __future__ import annotations

import asyncio
import heapq
import random
import selectors
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from tripos_runtime.models.base import FREE, Message, Model, ModelError, Price, Reply, Request
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.calling import Called, Caller, open_callers
from tripos_runtime.scheduling.limits import Limits

T = TypeVar("T")
REPLY = Reply("hi", "test/model", "stop", 10, 5, 0.0)
REQUEST = Request("test/model", (Message("user", "hello"),))
USUAL = Limits()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__(selectors.SelectSelector())
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]
        if not self._ready and timers:  # type: ignore[attr-defined]
            self._now = max(self._now, timers[0]._when)
        assert self._ready or timers, "everything waits, and nothing will ever happen"  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, in no time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """Return seconds since the start of the test."""
    return asyncio.get_running_loop().time()


@dataclass
class Scripted(Model):
    """A model that does what it is told, call by call, each after `latency_s`; the last thing told for ever. It notes
    when each request came, and how many were under way at a time."""

    script: list[Reply | ModelError]
    name: str = "test/model"
    endpoint: str = "test"
    latency_s: float = 0.0
    slots: int | None = None
    price: Price | None = FREE
    structured: bool = False
    most_samples: int = 1
    asked_at: list[float] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0

    async def ask(self, request: Request) -> Reply:
        self.asked_at.append(now())
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.latency_s)
        finally:
            self.under_way -= 1
        if isinstance(step, ModelError):
            raise step
        return step

    async def close(self) -> None:
        pass


def busy(retry_after_s: float | None = None) -> ModelError:
    return ModelError("R0104", "rate limited", "wait", retryable=True, retry_after_s=retry_after_s)


def down() -> ModelError:
    return ModelError("R0101", "unreachable", "check", retryable=True)


def broken() -> ModelError:
    return ModelError("R0111", "status 503", "wait", retryable=True)


def callers_of(
    *models: Model, limits: Limits = USUAL, budget: Budget | None = None, notes: list[str] | None = None
) -> Mapping[str, Caller]:
    """Callers in virtual time: to be made where the loop runs."""
    said: list[str] = [] if notes is None else notes
    return open_callers(
        {model.name: model for model in models},
        limits,
        budget,
        said.append,
        clock=now,
        rng=random.Random(7),
        now=lambda: datetime(2026, 11, 21, 9, 30),
    )


def outcomes(
    *models: Model,
    count: int = 1,
    limits: Limits = USUAL,
    budget: Budget | None = None,
    notes: list[str] | None = None,
    request: Request = REQUEST,
) -> list[Called | BaseException]:
    """Return what becomes of so many calls of each model at once, model by model."""

    async def main() -> list[Called | BaseException]:
        callers = callers_of(*models, limits=limits, budget=budget, notes=notes)
        calls = [caller.call(request) for caller in callers.values() for _ in range(count)]
        return await asyncio.gather(*calls, return_exceptions=True)

    return run(main())
