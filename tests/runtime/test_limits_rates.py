"""Requests and tokens a minute. Time is virtual."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given, settings, strategies as st

from tests.each import each
from tests.runtime.virtual_time import REPLY, REQUEST, Scripted, busy, callers_of, now, outcomes, run
from tripos_runtime.models.base import Message, ModelError, Reply, Request
from tripos_runtime.scheduling.calling import snapshot
from tripos_runtime.scheduling.limits import Limits, RequestsPerMinute, TokensPerMinute

MINUTE_S = 60 - 1e-3
"""Less by what sums of floats and the tolerance of a limit make out."""


def most_in_a_minute(times: list[float], amounts: list[float] | None = None) -> float:
    """Return the largest sum within any minute."""
    sums = [1.0] * len(times) if amounts is None else amounts
    return max(
        sum(amount for at, amount in zip(times, sums, strict=True) if start <= at < start + MINUTE_S) for start in times
    )


@each("limits, asked_at", [
    ({"test": 30}, {"test/a at test": [0, 2, 4]}),
    ({"test": 60}, {"test/a at one": [0, 2, 4], "test/b at two": [1, 3, 5]}),  # shared, wherever they are
    ({"test": 60, "test/deep": 30, "test/other": 1}, {"test/deep/a at test": [0, 2, 4]}),  # the longest name that fits
    ({"*": 60, "own": 30}, {"one/a at one": [0, 1, 2], "two/a at two": [0, 1, 2], "own/a at own": [0, 2, 4]}),
])  # fmt: skip
def test_calls_go_out_evenly_at_so_many_a_minute(limits: dict[str, float], asked_at: dict[str, list[float]]) -> None:
    models = [Scripted([REPLY], name=each.split()[0], endpoint=each.split()[-1]) for each in asked_at]
    outcomes(*models, count=3, limits=Limits(requests_per_minute=limits))
    every = sorted(at for times in asked_at.values() for at in times)
    assert sorted(at for model in models for at in model.asked_at) == pytest.approx(every)
    if "test" not in limits or len(models) == 1:
        assert [model.asked_at for model in models] == [pytest.approx(times) for times in asked_at.values()]


def test_an_attempt_that_failed_counts_as_a_request() -> None:
    model = Scripted([busy(), REPLY])
    outcomes(model, limits=Limits(requests_per_minute={"test": 1}))
    assert model.asked_at == pytest.approx([0, 60])


def test_a_limit_is_used_to_the_full() -> None:
    model = Scripted([REPLY], latency_s=0.1)
    outcomes(model, count=2000, limits=Limits(max_connections=64, requests_per_minute={"test": 2000}))
    assert model.asked_at[-1] == pytest.approx(60, rel=0.01)


def test_a_call_with_more_tokens_than_a_minute_has_goes_out_all_the_same() -> None:
    model, long = Scripted([REPLY]), Request("test/model", (Message("user", "x" * 100_000),))
    outcomes(model, limits=Limits(tokens_per_minute={"test": 1000}), request=long)
    assert model.asked_at == [0.0]


@given(st.floats(0.5, 100_000), st.lists(st.floats(0, 40), min_size=1, max_size=150))
@settings(deadline=None)
def test_no_minute_has_more_calls_than_the_limit(per_minute: float, pauses: list[float]) -> None:
    rate, at, times = RequestsPerMinute(per_minute), 0.0, []
    for pause in pauses:
        at += pause
        at += rate.wait_s(at)
        rate.enter(at, 0)
        times.append(at)
    assert most_in_a_minute(times) <= math.ceil(per_minute)


@given(
    st.integers(60, 1_000_000), st.lists(st.tuples(st.floats(0, 20), st.integers(1, 20_000)), min_size=1, max_size=100)
)
@settings(deadline=None)
def test_no_minute_has_more_tokens_than_the_limit_and_a_call(per_minute: int, calls: list[tuple[float, int]]) -> None:
    rate, at, times = TokensPerMinute(per_minute), 0.0, []
    for pause, tokens in calls:
        at += pause
        at += rate.wait_s(at)
        rate.enter(at, tokens)
        times.append(at)
    amounts = [float(tokens) for _, tokens in calls]
    assert most_in_a_minute(times, amounts) <= per_minute * (1 + 1 / 600) + max(amounts) + 1


def test_the_calls_that_may_leave_together_are_part_of_the_limit() -> None:
    rate, at, times = RequestsPerMinute(6000), 0.0, []
    for _ in range(7000):
        at += rate.wait_s(at)
        rate.enter(at, 0)
        times.append(at)
    assert times[5] == 0.0 and sum(at < MINUTE_S for at in times) <= 6000


def test_tokens_taken_by_estimate_are_put_right_by_usage() -> None:
    """Each call is thought to take 300 tokens at first and takes 6,000: one a minute is what the limit bears."""
    reply = Reply("hi", "test/model", "stop", 5000, 1000, 0.0)
    model = Scripted([reply], latency_s=0.5)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=1, tokens_per_minute={"test/model": 6000}))[model.name]
        for _ in range(10):
            await caller.call(REQUEST)

    run(main())
    assert model.asked_at[-1] == pytest.approx(9 * 60, rel=0.05)


def test_an_estimate_learns_what_replies_take() -> None:
    reply = Reply("hi", "test/model", "stop", 2, 8, 0.0)
    model = Scripted([reply], latency_s=0.001)

    async def main() -> float:
        caller = callers_of(model, limits=Limits(tokens_per_minute={"test": 6000}))[model.name]
        for _ in range(1200):
            await caller.call(REQUEST)
        return now()

    assert run(main()) == pytest.approx(1200 * 10 / 100, rel=0.1)


def test_a_limit_of_one_model_holds_back_no_other_of_the_same_endpoint_and_lane() -> None:
    slow, quick = Scripted([REPLY], name="test/slow"), Scripted([REPLY], name="test/quick")

    async def main() -> None:
        callers = callers_of(slow, quick, limits=Limits(requests_per_minute={"test/slow": 1}))
        names = ["test/slow"] * 3 + ["test/quick"] * 30
        await asyncio.gather(*(callers[name].call(REQUEST, lane=("judge", "sums")) for name in names))

    run(main())
    assert max(quick.asked_at) == 0.0
    assert slow.asked_at == pytest.approx([0, 60, 120])


def test_a_snapshot_says_that_calls_are_held_back() -> None:
    model = Scripted([busy(30.0), REPLY])

    async def main() -> None:
        callers = callers_of(model)
        call = asyncio.create_task(callers[model.name].call(REQUEST))
        await asyncio.sleep(10)
        [state] = snapshot(callers)
        assert (state.state, state.waiting, state.wait_s) == ("held back", 1, pytest.approx(20))
        await call
        assert snapshot(callers)[0].state == "ready"

    run(main())


def test_a_call_that_waits_for_its_minute_can_be_cancelled() -> None:
    model = Scripted([REPLY])

    async def main() -> None:
        caller = callers_of(model, limits=Limits(requests_per_minute={"test": 1}))[model.name]
        await caller.call(REQUEST)
        waits, next_one = (asyncio.create_task(caller.call(REQUEST)) for _ in range(2))
        await asyncio.sleep(1)
        waits.cancel()
        await next_one
        with pytest.raises(asyncio.CancelledError):
            await waits

    run(main())
    assert model.asked_at == pytest.approx([0, 60])


def test_errors_leave_an_estimate_as_it_is() -> None:
    model = Scripted([ModelError("R0110", "no", "fix it"), REPLY])

    async def main() -> None:
        caller = callers_of(model, limits=Limits(tokens_per_minute={"test": 60_000}))[model.name]
        with pytest.raises(ModelError):
            await caller.call(REQUEST)
        await caller.call(REQUEST)

    run(main())
    assert model.asked_at[1] == pytest.approx(0.2, abs=0.05)  # about 300 tokens, less those that may leave together
