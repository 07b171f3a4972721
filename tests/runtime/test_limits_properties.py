"""Whatever calls come and however they end: none is forgotten, and no limit is passed. Time is virtual."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from itertools import cycle

from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.runtime.virtual_time import Scripted, broken, busy, callers_of, down, run
from tripos_runtime.models.base import Message, ModelError, Reply, Request
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.calling import Called, snapshot
from tripos_runtime.scheduling.limits import Limits

OUTCOMES = st.one_of(
    st.builds(Reply, st.just("hi"), st.just("m"), st.just("stop"), st.integers(0, 99), st.integers(0, 99), st.none()),
    st.builds(broken),
    st.builds(down),
    st.builds(busy, st.none() | st.floats(0, 100)),
    st.builds(lambda: ModelError("R0109", "late", "", retryable=True)),
    st.builds(lambda: ModelError("R0110", "no", "")),
)


@dataclass(frozen=True)
class Wish:
    """One call: of which model, in which lane, when it is made and when, if ever, it is cancelled."""

    model: int
    lane: str
    at: float
    cancelled_after: float | None


WISHES = st.builds(Wish, st.integers(0, 2), st.sampled_from("ab"), st.floats(0, 30), st.none() | st.floats(0, 2000))


class Fateful(Scripted):
    """Its attempts take and give what was fated, over and over."""

    def fated(self, fates: list[tuple[float, Reply | ModelError]]) -> Fateful:
        self.fates = cycle(fates)
        return self

    async def ask(self, request: Request) -> Reply:
        self.latency_s, outcome = next(self.fates)
        self.script = [outcome]
        return await super().ask(request)


@given(
    st.lists(st.tuples(st.floats(0, 50), OUTCOMES), min_size=1, max_size=12),
    st.lists(WISHES, min_size=1, max_size=40),
    st.integers(1, 6),
    st.none() | st.floats(1, 600),
    st.none() | st.floats(100, 100_000),
    st.none() | st.integers(1, 4),
)
@settings(deadline=None, max_examples=sized(30, 150))
def test_every_call_ends_and_no_limit_is_passed(
    fates: list[tuple[float, Reply | ModelError]],
    wishes: list[Wish],
    connections: int,
    requests: float | None,
    tokens: float | None,
    slots: int | None,
) -> None:
    models = [
        Fateful([], name="one/a", endpoint="one").fated(fates),
        Fateful([], name="one/b", endpoint="one", slots=slots).fated(fates[::-1]),
        Fateful([], name="two/a", endpoint="two").fated(fates),
    ]
    limits = Limits(
        max_connections=connections,
        max_retries=2,
        timeout_s=200,
        patience_s=100,
        requests_per_minute={} if requests is None else {"one": requests},
        tokens_per_minute={} if tokens is None else {"*": tokens, "one/b": tokens / 2},
    )

    async def main() -> list[Called | BaseException]:
        callers = callers_of(*models, limits=limits)

        async def grant(wish: Wish) -> Called:
            await asyncio.sleep(wish.at)
            name = models[wish.model].name
            async with asyncio.timeout(wish.cancelled_after):
                return await callers[name].call(Request(name, (Message("user", "hello"),)), (wish.lane, "sums"))

        ended = await asyncio.gather(*(grant(wish) for wish in wishes), return_exceptions=True)
        for state in snapshot(callers):
            assert (state.in_flight, state.waiting) == (0, 0)
        return ended

    ended = run(main())
    assert all(isinstance(each, Called | ModelError | Stopped | TimeoutError) for each in ended), ended
    assert models[0].most_under_way + models[1].most_under_way <= 2 * connections
    for model in models:
        assert model.most_under_way <= min(connections, model.slots or connections)
    if requests is not None:
        times = sorted(models[0].asked_at + models[1].asked_at)
        for start in times:
            assert sum(start <= at < start + 60 - 1e-3 for at in times) <= math.ceil(requests)
