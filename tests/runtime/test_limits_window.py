"""How many calls at a time an endpoint gets. Time is virtual."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tests.runtime.refusing_servers import AtRandom, Bursts, MostAtOnce, Rule, TokenBucket
from tests.runtime.virtual_time import REPLY, REQUEST, Scripted, broken, busy, callers_of, now, outcomes, run
from tripos_runtime.models.base import ModelError, Reply, Request
from tripos_runtime.scheduling.calling import snapshot
from tripos_runtime.scheduling.limits import Limits
from tripos_runtime.scheduling.window import Window


@each("limits, most", [
    (Limits(max_connections=3), {"test/a at test": 3}),
    (Limits(max_connections=16), {"test/a at test with 2": 2}),  # slots
    (Limits(max_connections=4, connections={"few": 2, "many": 8, "many/b": 1}),
     {"few/a at few": 2, "many/a at many": 8, "many/b at many": 1}),
])  # fmt: skip
def test_as_many_calls_are_under_way_as_connections_and_slots_allow(limits: Limits, most: dict[str, int]) -> None:
    models = []
    for name, _, endpoint, *slots in map(str.split, most):
        given = int(slots[1]) if slots else None
        models.append(Scripted([REPLY], name=name, endpoint=endpoint, latency_s=1, slots=given))
    outcomes(*models, count=20, limits=limits)
    assert [model.most_under_way for model in models] == [*most.values()]


def test_connections_of_a_provider_are_counted_over_all_its_endpoints() -> None:
    models = [Scripted([REPLY], name=f"test/{each}", endpoint=each, latency_s=1) for each in "ab"]
    outcomes(*models, count=3, limits=Limits(connections={"test": 1}))
    assert sorted(at for model in models for at in model.asked_at) == [0, 1, 2, 3, 4, 5]


def test_slots_of_a_model_hold_back_no_other_model_of_the_endpoint() -> None:
    narrow, wide = Scripted([REPLY], name="test/narrow", latency_s=1, slots=1), Scripted([REPLY], latency_s=1)

    async def main() -> None:
        callers = callers_of(narrow, wide, limits=Limits(max_connections=8))
        await asyncio.gather(*(callers[name].call(REQUEST) for name in ["test/narrow"] * 9 + ["test/model"] * 14))

    run(main())
    assert (narrow.most_under_way, wide.most_under_way) == (1, 7)
    assert max(wide.asked_at) == 1.0


def test_the_window_triples_every_round_trip_while_nothing_fails() -> None:
    model = Scripted([REPLY], latency_s=1)
    outcomes(model, count=2000, limits=Limits(max_connections=512))
    at_a_time = [sum(1 for each in model.asked_at if second <= each < second + 1) for second in range(5)]
    assert at_a_time == [16, 48, 144, 432, 512]


def test_workers_that_come_back_only_a_moment_later_fill_a_growing_window_as_well() -> None:
    model = Scripted([REPLY], latency_s=1)

    async def main() -> int:
        callers = callers_of(model, limits=Limits(max_connections=512))
        todo = iter(range(4000))

        async def work() -> None:
            for _ in todo:
                await callers[model.name].call(REQUEST)
                await asyncio.sleep(0.01)

        await asyncio.gather(*(work() for _ in range(512)))
        return snapshot(callers)[0].limit

    assert run(main()) == 512
    assert sum(1 for each in model.asked_at if 4 <= each < 5.04) >= 480


def test_a_window_that_is_not_filled_does_not_grow() -> None:
    model = Scripted([REPLY], latency_s=1)

    async def main() -> int:
        callers = callers_of(model, limits=Limits(max_connections=512))
        for _ in range(100):
            await callers[model.name].call(REQUEST)
        return snapshot(callers)[0].limit

    assert run(main()) == 16


@pytest.mark.parametrize("error", [busy(), ModelError("R0109", "late", "wait", retryable=True)])
def test_a_cut_counts_once_for_all_calls_under_way(error: ModelError) -> None:
    model = Scripted([error] * 16 + [REPLY], latency_s=1)
    seen: list[int] = []

    async def main() -> None:
        callers = callers_of(model, limits=Limits(max_connections=64))
        calls = asyncio.gather(*(callers[model.name].call(REQUEST) for _ in range(16)))
        await asyncio.sleep(1.0001)
        seen.append(snapshot(callers)[0].limit)
        await calls

    run(main())
    assert seen == [4]


def test_after_a_cut_that_helped_the_window_grows_by_one_a_round() -> None:
    window = Window(most=64)

    def results(count: int, refused: int = 0) -> None:
        for number in range(count):
            if number < refused:
                window.refused(window.epoch, window.allowed)
            else:
                window.accepted(window.epoch, window.allowed, took_s=1.0)

    results(16, refused=6)
    sizes = [window.allowed]
    while window.allowed < 12:
        results(window.allowed)
        sizes.append(window.allowed)
    assert sorted(set(sizes)) == [9, 10, 11, 12]


def test_the_window_never_closes() -> None:
    window = Window(most=4)
    for _ in range(50):
        window.pause_s(window.epoch, 0.1, refused=True)
        window.refused(window.epoch, window.allowed)
    assert window.allowed == 1
    assert 20 < window.pause_s(window.epoch, 0.1, refused=True) <= 60


@pytest.mark.parametrize(
    ("script", "connections", "is_cut"),
    [(([REPLY] * 49 + [broken()]) * 40 + [REPLY], 64, False), ([REPLY] * 16 + [broken()] * 8 + [REPLY], 32, True)],
    ids=["a few among many replies", "many at once"],
)
def test_many_server_errors_are_taken_for_overload(
    script: list[Reply | ModelError], connections: int, is_cut: bool
) -> None:
    model = Scripted(script, latency_s=1)

    async def main() -> int:
        callers = callers_of(model, limits=Limits(max_connections=connections))
        await asyncio.gather(*(callers[model.name].call(REQUEST) for _ in range(48 if is_cut else 1900)))
        return snapshot(callers)[0].limit

    assert (run(main()) < connections) == is_cut


class Strict(Scripted):
    """Answers after some time, and refuses at once what a rule refuses."""

    rule: Rule
    spread: float = 0.0
    rng: random.Random
    replies: int = 0
    refused: int = 0
    refused_until: float = 0.0
    early: int = 0

    async def ask(self, request: Request) -> Reply:
        self.early += now() < self.refused_until
        if self.rule.refuses(now(), self.under_way):
            self.refused += 1
            wait_s = self.rule.retry_after_s(now())
            await asyncio.sleep(0.005)
            self.refused_until = max(self.refused_until, now() + (wait_s or 0.0) - 1e-6)
            raise busy(wait_s)
        self.under_way += 1
        try:
            await asyncio.sleep(self.latency_s * self.rng.lognormvariate(-(self.spread**2) / 2, self.spread))
        finally:
            self.under_way -= 1
        self.replies += 1
        return REPLY


def served(rule: Rule, connections: int, latency_s: float, spread: float, seconds: float, seed: int) -> Strict:
    """Return an endpoint after so many seconds with more calls than it takes."""
    model = Strict([REPLY], latency_s=latency_s)
    model.rule, model.spread, model.rng = rule, spread, random.Random(seed)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=connections))[model.name]

        async def work() -> None:
            while True:
                with contextlib.suppress(ModelError):
                    await caller.call(REQUEST)

        work_of_all = [asyncio.create_task(work()) for _ in range(2 * connections)]
        await asyncio.sleep(seconds)
        for task in work_of_all:
            task.cancel()
        await asyncio.gather(*work_of_all, return_exceptions=True)

    run(main())
    return model


@dataclass(frozen=True)
class Served:
    """An endpoint, and what it is to reach: the part of the ideal, and the refusals per reply."""

    rule: Rule
    connections: int
    latency_s: float
    part: float
    refusals: float


def at_random(share: float, connections: int, seed: int) -> Served:
    return Served(AtRandom(share, random.Random(seed)), connections, 1.0, 0.6, 1.35 * share / (1 - share) + 0.1)


def most_at_once(most: int, connections: int) -> Served:
    return Served(MostAtOnce(most), connections, 1.0, 0.8, 0.7 if most < 8 else 0.3)


def token_bucket(per_s: float, burst_s: float, connections: int, says_when: bool) -> Served:
    burst = max(2.0, per_s * burst_s)
    return Served(TokenBucket(per_s, burst, says_when), connections, 1.0, 0.7, 5.0 if per_s < 4 else 1.0)


SERVED = st.one_of(
    st.builds(at_random, st.sampled_from([0.05, 0.2, 0.35, 0.5]), st.integers(2, 16), st.integers(0, 999)),
    st.builds(most_at_once, st.integers(1, 12), st.integers(2, 24)),
    st.builds(token_bucket, st.floats(0.1, 8), st.floats(0.5, 10), st.integers(4, 16), st.booleans()),
    st.builds(
        lambda refused_s, connections: Served(Bursts(60, refused_s), connections, 1.0, 0.8, 0.6),
        st.floats(2, 30),
        st.integers(2, 16),
    ),
)


@given(SERVED, st.sampled_from([0.0, 0.2, 0.5]), st.integers(0, 999))
@settings(deadline=None, max_examples=sized(5, 200))
def test_an_endpoint_that_refuses_calls_gives_nearly_what_it_can(served_: Served, spread: float, seed: int) -> None:
    rule, latency_s = served_.rule, served_.latency_s
    ideal = rule.ideal(served_.connections, latency_s)
    seconds = max(200.0, 60 / ideal)
    model = served(rule, served_.connections, latency_s, spread, seconds, seed)
    assert model.replies >= served_.part * ideal * seconds - 2 * served_.connections
    assert model.refused <= served_.refusals * model.replies + 6 * served_.connections
    assert model.early == 0


@pytest.mark.parametrize("rule", [AtRandom(0.2), TokenBucket(2.0, 4.0), MostAtOnce(3)])
def test_calls_to_an_endpoint_that_refuses_many_all_end_with_a_reply(rule: Rule) -> None:
    model = Strict([REPLY], latency_s=1.0)
    model.rule, model.rng = rule, random.Random(7)
    outcomes(model, count=200, limits=Limits(max_connections=32, max_retries=8))
    assert model.replies == 200
