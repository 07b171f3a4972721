"""How many calls at a time an endpoint gets. Time is virtual."""

from __future__ import annotations

import asyncio

import pytest

from tests.runtime.virtual_time import REPLY, REQUEST, Scripted, broken, busy, callers_of, now, run
from tripos_runtime.models.base import ModelError, Reply, Request
from tripos_runtime.scheduling.calling import snapshot
from tripos_runtime.scheduling.endpoint import Window
from tripos_runtime.scheduling.limits import Limits


def under_load(model: Scripted, calls: int, limits: Limits) -> float:
    """Return how long it takes until all of so many calls have ended that are made as soon as one may be."""

    async def main() -> float:
        caller = callers_of(model, limits=limits)[model.name]
        await asyncio.gather(*(caller.call(REQUEST) for _ in range(calls)), return_exceptions=True)
        return now()

    return run(main())


def test_no_more_calls_than_connections_are_under_way() -> None:
    model = Scripted([REPLY], latency_s=1)
    under_load(model, 40, Limits(max_connections=3))
    assert model.most_under_way == 3


def test_no_more_calls_than_a_model_has_slots_are_under_way() -> None:
    model = Scripted([REPLY], latency_s=1, slots=2)
    under_load(model, 20, Limits(max_connections=16))
    assert model.most_under_way == 2


def test_slots_of_a_model_hold_back_no_other_model_of_the_endpoint() -> None:
    narrow, wide = Scripted([REPLY], name="test/narrow", latency_s=1, slots=1), Scripted([REPLY], latency_s=1)

    async def main() -> None:
        callers = callers_of(narrow, wide, limits=Limits(max_connections=8))
        await asyncio.gather(*(callers[name].call(REQUEST) for name in ["test/narrow"] * 9 + ["test/model"] * 14))

    run(main())
    assert (narrow.most_under_way, wide.most_under_way) == (1, 7)
    assert max(wide.asked_at) == 1.0


def test_connections_can_be_set_by_provider_and_by_model() -> None:
    few = Scripted([REPLY], name="few/a", endpoint="few", latency_s=1)
    many = Scripted([REPLY], name="many/a", endpoint="many", latency_s=1)
    one = Scripted([REPLY], name="many/b", endpoint="many", latency_s=1)

    async def main() -> None:
        limits = Limits(max_connections=4, connections={"few": 2, "many": 8, "many/b": 1})
        callers = callers_of(few, many, one, limits=limits)
        await asyncio.gather(*(caller.call(REQUEST) for caller in callers.values() for _ in range(20)))

    run(main())
    assert (few.most_under_way, many.most_under_way, one.most_under_way) == (2, 8, 1)


def test_connections_of_a_provider_are_counted_over_all_its_endpoints() -> None:
    models = [Scripted([REPLY], name=f"test/{each}", endpoint=each, latency_s=1) for each in "ab"]

    async def main() -> float:
        callers = callers_of(*models, limits=Limits(connections={"test": 1}))
        await asyncio.gather(*(caller.call(REQUEST) for caller in callers.values() for _ in range(3)))
        return now()

    assert run(main()) == 6


def test_the_window_triples_every_round_trip_while_nothing_fails() -> None:
    model = Scripted([REPLY], latency_s=1)
    under_load(model, 2000, Limits(max_connections=512))
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
def test_an_objection_halves_the_window_once_for_all_calls_under_way(error: ModelError) -> None:
    window = Window(most=64)
    model = Scripted([error] * 16 + [REPLY], latency_s=1)
    seen: list[int] = []

    async def main() -> None:
        callers = callers_of(model, limits=Limits(max_connections=64))
        calls = asyncio.gather(*(callers[model.name].call(REQUEST) for _ in range(16)))
        await asyncio.sleep(1.0001)
        seen.append(snapshot(callers)[0].limit)
        await calls

    run(main())
    assert window.allowed == 16 and seen == [8]


def test_after_an_objection_the_window_grows_by_one_a_round_trip() -> None:
    window = Window(most=64)
    window.shrink(window.epoch)
    sizes = []
    for _ in range(4):
        for _ in range(window.allowed):
            window.grow(in_flight=window.allowed)
        sizes.append(window.allowed)
    assert sizes == [8, 9, 10, 11]


def test_the_window_never_closes() -> None:
    window = Window(most=4)
    for _ in range(10):
        window.shrink(window.epoch)
    assert window.allowed == 1


def test_a_few_server_errors_among_many_replies_leave_the_window_alone() -> None:
    model = Scripted(([REPLY] * 49 + [broken()]) * 40 + [REPLY], latency_s=1)

    async def main() -> int:
        callers = callers_of(model, limits=Limits(max_connections=64))
        await asyncio.gather(*(callers[model.name].call(REQUEST) for _ in range(1900)))
        return snapshot(callers)[0].limit

    assert run(main()) == 64


def test_many_server_errors_are_taken_for_overload() -> None:
    model = Scripted([REPLY] * 16 + [broken()] * 8 + [REPLY], latency_s=1)

    async def main() -> int:
        callers = callers_of(model, limits=Limits(max_connections=32))
        await asyncio.gather(*(callers[model.name].call(REQUEST) for _ in range(48)))
        return snapshot(callers)[0].limit

    assert run(main()) < 32


def test_an_endpoint_that_bears_so_many_calls_is_kept_near_that() -> None:
    """A server that refuses what is above 20 at a time: few calls are refused, and most of its capacity is used."""

    class Narrow(Scripted):
        async def ask(self, request: Request) -> Reply:
            if self.under_way >= 20:
                self.refused += 1
                raise busy()
            return await super().ask(request)

        refused = 0

    model = Narrow([REPLY], latency_s=1)
    took_s = under_load(model, 2000, Limits(max_connections=512, max_retries=99))
    assert len(model.asked_at) == 2000
    assert model.refused < 150
    assert took_s < 1.6 * 2000 / 20
