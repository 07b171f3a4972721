"""Retries, delays, Retry-After, time limits, and when a run is stopped. Time is virtual."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from tests.runtime.virtual_time import (
    REPLY,
    REQUEST,
    USUAL,
    Scripted,
    broken,
    busy,
    callers_of,
    down,
    now,
    outcomes,
    run,
)
from tripos_runtime.models.base import ModelError, Reply
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.calling import Called, snapshot
from tripos_runtime.scheduling.limits import Limits


def call(model: Scripted, limits: Limits = USUAL) -> Called:
    """Return one call, alone."""
    (ended,) = outcomes(model, limits=limits)
    if isinstance(ended, BaseException):
        raise ended
    return ended


def gaps(model: Scripted) -> list[float]:
    """Return how long it was from each request to the next, in seconds."""
    return [after - before for before, after in pairwise(model.asked_at)]


def test_a_reply_says_how_many_attempts_and_how_long_the_last_one_took() -> None:
    model = Scripted([busy(), REPLY], latency_s=0.25)
    called = call(model)
    assert (called.reply, called.attempts, called.latency_s) == (REPLY, 2, pytest.approx(0.25))


def test_a_passing_failure_is_tried_again_after_random_delays_with_growing_bounds() -> None:
    model = Scripted([broken()] * 5 + [REPLY])
    assert call(model).attempts == 6
    waits = gaps(model)
    assert all(0 <= wait <= bound for wait, bound in zip(waits, (0.5, 1, 2, 4, 8), strict=True))
    assert max(waits) > 1.0 and len(set(waits)) == 5


def test_a_delay_may_be_anything_from_nothing_to_its_bound() -> None:
    model = Scripted([broken()] * 200 + [REPLY])
    limits = Limits(max_retries=1)

    async def main() -> None:
        caller = callers_of(model, limits=limits)[model.name]
        for _ in range(100):  # each alone, two attempts
            with pytest.raises(ModelError):
                await caller.call(REQUEST)
            caller.gate.circuit.answered(now())  # not what this is about

    run(main())
    firsts = gaps(model)[::2]
    assert min(firsts) < 0.05 and max(firsts) > 0.45
    assert sum(firsts) / len(firsts) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("wait_s", [7.0, 130.0])
def test_a_call_is_made_again_when_the_endpoint_says(wait_s: float) -> None:
    model = Scripted([busy(wait_s), REPLY])
    assert call(model).attempts == 2
    assert gaps(model) == [pytest.approx(wait_s)]


@pytest.mark.parametrize(("endpoint", "at"), [("test", 30.01), ("elsewhere", 1.0)])
def test_retry_after_holds_back_every_call_to_the_endpoint_and_to_no_other(endpoint: str, at: float) -> None:
    model = Scripted([busy(30.0), REPLY], latency_s=0.01)
    other = Scripted([REPLY], name="test/other", endpoint=endpoint)

    async def main() -> None:
        callers = callers_of(model, other)
        first = asyncio.create_task(callers["test/model"].call(REQUEST))
        await asyncio.sleep(1)
        await asyncio.gather(first, callers["test/other"].call(REQUEST), callers["test/model"].call(REQUEST))

    run(main())
    assert other.asked_at == [pytest.approx(at)] and min(model.asked_at[1:]) == pytest.approx(30.01)


@pytest.mark.parametrize(
    ("error", "limits", "raised", "asked"),
    [
        (busy(1.0), Limits(max_retries=2), "rate limited", 3),
        (ModelError("R0107", "context exceeded", "shorten"), USUAL, "context exceeded", 1),
        (down(), Limits(max_retries=9), "unreachable", 3),  # an address that never answered
    ],
    ids=["retries", "what cannot pass", "an address"],
)
def test_it_gives_up(error: ModelError, limits: Limits, raised: str, asked: int) -> None:
    model = Scripted([error])
    with pytest.raises((ModelError, Stopped), match=raised) as caught:
        call(model, limits)
    assert (caught.value.code, len(model.asked_at)) == (error.code, asked)
    assert isinstance(caught.value, Stopped) == (raised == "unreachable")


def test_a_refused_key_stops_the_run_at_once_and_is_not_tried_by_calls_that_wait() -> None:
    model = Scripted([ModelError("R0102", "key refused", "set it", fatal=True)], latency_s=1)
    for ended in outcomes(model, count=3, limits=Limits(max_connections=1)):
        assert isinstance(ended, Stopped) and (ended.code, ended.hint) == ("R0102", "set it")
    assert len(model.asked_at) == 1


@pytest.mark.parametrize(
    ("script", "latency_s", "limits", "code", "asked", "least_s"),
    [
        ([broken()], 0, Limits(timeout_s=1.2, max_retries=8), "R0111", None, 0),  # the pause would be longer
        ([REPLY], 10_000, Limits(timeout_s=60), "R0109", 1, 60),
        ([broken()], 25, Limits(timeout_s=60, max_retries=99), None, (2, 3), 50),
    ],
    ids=["a pause", "a call that hangs", "all attempts"],
)
def test_a_call_with_all_its_attempts_takes_no_longer_than_its_time(
    script: list[Reply | ModelError], latency_s: float, limits: Limits, code: str | None, asked: Any, least_s: float
) -> None:
    model = Scripted(script, latency_s=latency_s)

    async def main() -> float:
        with pytest.raises(ModelError) as error:
            await callers_of(model, limits=limits)[model.name].call(REQUEST)
        assert code in (None, error.value.code)
        return now()

    assert least_s <= run(main()) <= limits.timeout_s + 1e-6
    assert asked is None or len(model.asked_at) in (asked if isinstance(asked, tuple) else (asked,))


def test_waiting_for_a_turn_does_not_count_as_time_of_the_call() -> None:
    ended = outcomes(Scripted([REPLY], latency_s=50), count=5, limits=Limits(max_connections=1, timeout_s=60))
    assert [getattr(each, "latency_s", None) for each in ended] == [50.0] * 5


def test_retry_after_is_waited_for_no_longer_than_the_run_is_patient() -> None:
    model = Scripted([busy(86_000.0), REPLY])
    call(model, Limits(patience_s=100))
    assert gaps(model) == [pytest.approx(100)]


def test_many_calls_at_once_to_an_address_that_never_answered_stop_as_soon() -> None:
    model, notes = Scripted([down()]), list[str]()

    async def main() -> float:
        caller = callers_of(model, notes=notes)[model.name]
        ended = await asyncio.gather(*(caller.call(REQUEST) for _ in range(40)), return_exceptions=True)
        assert all(isinstance(each, Stopped) and each.code == "R0101" for each in ended)
        return now()

    assert run(main()) <= 1.5 * 40 / 16 and notes == []


def test_an_address_that_answered_with_a_server_error_was_reached() -> None:
    model = Scripted([broken(), *[down()] * 4, REPLY])
    assert call(model).attempts == 6


def test_a_call_cancelled_in_the_moment_of_its_turn_passes_it_on() -> None:
    model = Scripted([REPLY], latency_s=1)

    async def main() -> float:
        caller = callers_of(model, limits=Limits(max_connections=1))[model.name]
        second, third = (asyncio.create_task(caller.call(REQUEST)) for _ in range(2))
        await caller.call(REQUEST)  # the place is the second's by now, and it has not moved yet
        assert caller.gate.in_flight == 1 and not second.done()
        second.cancel()
        await third
        return now()

    assert run(main()) == pytest.approx(2)
    assert len(model.asked_at) == 2


def test_a_bug_in_a_model_frees_its_place_too() -> None:
    class Buggy(Scripted):
        async def ask(self, request: object) -> Reply:
            raise ZeroDivisionError

    async def main() -> int:
        callers = callers_of(Buggy([REPLY]), limits=Limits(max_connections=1))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await callers["test/model"].call(REQUEST)
        return snapshot(callers)[0].in_flight

    assert run(main()) == 0


def test_a_snapshot_says_how_things_stand() -> None:
    model, other = Scripted([broken(), REPLY], latency_s=5), Scripted([REPLY], name="test/other", latency_s=5)

    async def main() -> None:
        callers = callers_of(model, other, limits=Limits(max_connections=2))
        calls = [asyncio.create_task(callers[name].call(REQUEST)) for name in ("test/model", "test/other") * 2]
        await asyncio.sleep(1)
        (state,) = snapshot(callers)
        assert (state.endpoint, state.models) == ("test", ("test/model", "test/other"))
        assert (state.in_flight, state.limit, state.waiting, state.retries, state.state) == (2, 2, 2, 0, "ready")
        await asyncio.gather(*calls)
        assert snapshot(callers)[0].retries == 1

    run(main())
