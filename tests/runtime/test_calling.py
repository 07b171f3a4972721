"""Retries, Retry-After, and when a run is stopped. Nothing here sleeps."""

from __future__ import annotations

import asyncio
import random

import pytest

from tripos_runtime.calling import DEAD_AFTER, Caller, Stopped
from tripos_runtime.models.base import Message, ModelError, Reply, Request

REQUEST = Request("test/model", (Message("user", "hello"),))
REPLY = Reply("hi", "test/model", "stop", 1, 1, None)


class Scripted:
    """A model that does what it is told, call by call."""

    name = "test/model"
    structured = False
    slots = None

    def __init__(self, *script: Reply | ModelError) -> None:
        self.script = list(script)
        self.most_at_once = 0
        self.under_way = 0

    async def ask(self, request: Request) -> Reply:
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, ModelError):
            raise step
        return step

    async def close(self) -> None:
        pass


def busy(retry_after_s: float | None = None) -> ModelError:
    return ModelError("R0104", "rate limited", "wait", retryable=True, retry_after_s=retry_after_s)


def down() -> ModelError:
    return ModelError("R0101", "unreachable", "check", retryable=True)


class Setup:
    def __init__(self, *script: Reply | ModelError, retries: int = 5, connections: int = 4) -> None:
        self.slept: list[float] = []
        self.model = Scripted(*script)

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        self.caller = Caller(self.model, asyncio.Semaphore(connections), retries, sleep, rng=random.Random(7))

    def call(self) -> tuple[Reply, int]:
        called = asyncio.run(self.caller.call(REQUEST))
        return called.reply, called.attempts


def test_a_passing_failure_is_tried_again_after_growing_delays() -> None:
    setup = Setup(busy(), busy(), busy(), REPLY)
    assert setup.call() == (REPLY, 4)
    assert len(setup.slept) == 3
    assert all(bound / 2 <= delay <= bound for delay, bound in zip(setup.slept, (0.5, 1, 2), strict=True))


def test_retry_after_is_honoured_up_to_a_minute() -> None:
    setup = Setup(busy(7), busy(3600), REPLY)
    setup.call()
    assert setup.slept == [7, 60]


def test_it_gives_up_after_so_many_retries() -> None:
    setup = Setup(REPLY, busy(), retries=2)
    setup.call()
    with pytest.raises(ModelError, match="rate limited"):
        setup.call()
    assert len(setup.slept) == 2


def test_what_cannot_pass_is_not_tried_again() -> None:
    setup = Setup(ModelError("R0107", "context exceeded", "shorten"))
    with pytest.raises(ModelError, match="context exceeded"):
        setup.call()
    assert setup.slept == []


def test_a_refused_key_stops_the_run_at_once() -> None:
    setup = Setup(ModelError("R0102", "key refused", "set it", fatal=True))
    with pytest.raises(Stopped) as stopped:
        setup.call()
    assert (stopped.value.code, stopped.value.hint, setup.slept) == ("R0102", "set it", [])


def test_an_address_that_never_answered_stops_the_run_after_two_more_tries() -> None:
    setup = Setup(down(), retries=9)
    with pytest.raises(Stopped, match="unreachable"):
        setup.call()
    assert len(setup.slept) == 2


def test_an_address_that_answered_before_is_dead_after_ten_units_in_a_row() -> None:
    setup = Setup(REPLY, down(), retries=0)
    setup.call()
    for _ in range(DEAD_AFTER - 1):
        with pytest.raises(ModelError):
            setup.call()
    with pytest.raises(Stopped):
        setup.call()


def test_no_more_calls_than_connections_are_under_way() -> None:
    setup = Setup(REPLY, connections=3)

    async def many() -> None:
        await asyncio.gather(*(setup.caller.call(REQUEST) for _ in range(20)))

    asyncio.run(many())
    assert setup.model.most_at_once == 3
