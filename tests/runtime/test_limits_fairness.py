"""The order of waiting calls. Time is virtual."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given, strategies as st

from tests.runtime.virtual_time import REPLY, Scripted, broken, callers_of, run
from tripos_runtime.models.base import Message, Request
from tripos_runtime.scheduling.endpoint import Lanes
from tripos_runtime.scheduling.limits import Limits


def said(text: str) -> Request:
    return Request("test/model", (Message("user", text),))


def order(model: Scripted) -> list[str]:
    return [request.messages[0].content for request in model.requests]


def test_judges_do_not_starve_candidates() -> None:
    model = Scripted([REPLY], latency_s=1)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=2))[model.name]
        judges = [caller.call(said("judge"), lane=("judge", "sums")) for _ in range(100)]
        candidates = [caller.call(said("candidate"), lane=("candidate", "sums")) for _ in range(10)]
        await asyncio.gather(*judges, *candidates)

    run(main())
    assert Counter(order(model)[:22])["candidate"] == 10


def test_scenarios_of_one_role_take_turns() -> None:
    model = Scripted([REPLY], latency_s=1)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=1))[model.name]
        await asyncio.gather(*(caller.call(said(name), lane=("ask", name)) for name in "aaaabbc"))

    run(main())
    assert order(model) == ["a", "a", "b", "c", "a", "b", "a"]  # the first found nobody waiting


def test_models_of_an_endpoint_share_its_lanes() -> None:
    one, two = Scripted([REPLY], latency_s=1), Scripted([REPLY], name="test/two", latency_s=1)

    async def main() -> None:
        callers = callers_of(one, two, limits=Limits(max_connections=1))
        calls = [callers["test/model"].call(said("ask"), lane=("ask", "sums")) for _ in range(6)]
        calls += [callers["test/two"].call(said("judge"), lane=("judge", "sums")) for _ in range(3)]
        await asyncio.gather(*calls)

    run(main())
    assert two.asked_at == [2.0, 4.0, 6.0]


def test_a_call_that_is_made_again_keeps_its_place() -> None:
    model = Scripted([broken(), REPLY], latency_s=10)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=1))[model.name]
        await asyncio.gather(*(caller.call(said(str(number))) for number in range(4)))

    run(main())
    assert order(model) == ["0", "1", "0", "2", "3"]  # 1 had the place while 0 paused


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), max_size=30))
def test_within_a_lane_and_group_whoever_came_first_goes_first(comers: list[tuple[str, str]]) -> None:
    lanes: Lanes[str, int] = Lanes()
    for ticket, (lane, group) in enumerate(comers):
        lanes.add(lane, group, ticket, ticket)
    taken = [lanes.take(lambda group: True) for _ in comers]
    assert sorted(each for each in taken if each is not None) == list(range(len(comers)))
    for lane in "abc":
        mine = [each for each in taken if each is not None and comers[each][0] == lane]
        assert mine == sorted(mine)
    assert lanes.take(lambda group: True) is None and len(lanes) == 0


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30))
def test_no_lane_is_served_twice_while_another_waits_that_was_served_less_lately(comers: list[str]) -> None:
    lanes: Lanes[str, str] = Lanes()
    for ticket, lane in enumerate(comers):
        lanes.add(lane, "any", ticket, lane)
    left, served = Counter(comers), []
    while (lane := lanes.take(lambda group: True)) is not None:
        waiting = {name for name, count in left.items() if count}
        since = {name: len(served) - served[::-1].index(name) if name in served else 0 for name in waiting}
        assert since[lane] == min(since.values())
        left[lane] -= 1
        served.append(lane)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=30), st.data())
def test_one_who_waits_no_longer_is_not_taken(comers: list[tuple[str, str]], data: st.DataObject) -> None:
    lanes: Lanes[str, int] = Lanes()
    for ticket, (lane, group) in enumerate(comers):
        lanes.add(lane, group, ticket, ticket)
    gone = data.draw(st.integers(0, len(comers) - 1))
    for _ in range(2):  # the second time nothing is there
        lanes.remove(*comers[gone], gone)
    assert len(lanes) == len(comers) - 1
    assert gone not in [lanes.take(lambda group: True) for _ in comers]


def test_groups_that_may_not_go_are_passed() -> None:
    lanes: Lanes[str, int] = Lanes()
    for ticket, group in enumerate("xxyx"):
        lanes.add("lane", group, ticket, ticket)
    assert lanes.take(lambda group: group == "y") == 2
    assert lanes.take(lambda group: group == "y") is None
    assert len(lanes) == 3
