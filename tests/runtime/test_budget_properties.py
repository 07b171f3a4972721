"""Whatever happens in whatever order, a budget holds, or is exceeded by one call. Time is virtual."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from itertools import count

from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.runtime.virtual_time import Scripted, callers_of, run
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Message, ModelError, Price, Reply, Request
from tripos_runtime.scheduling.budget import CAUTIOUS, UNKNOWN, Budget, OutOfBudget, Stopped
from tripos_runtime.scheduling.calling import Called
from tripos_runtime.scheduling.limits import Limits


@dataclass(frozen=True)
class Fate:
    """What happens to one attempt: how long it takes, whether it fails, what share of its bound the reply uses and
    whether it says so."""

    latency_s: float
    fails: bool
    share: float
    tells: bool


@dataclass(frozen=True)
class Wish:
    """One call: how large, for how many samples, when it is made and when, if ever, it is cancelled."""

    size: int
    max_tokens: int
    samples: int
    at: float
    cancelled_after: float | None


FATES = st.builds(Fate, st.floats(0, 3), st.booleans(), st.floats(0, 1), st.booleans())
WISHES = st.builds(
    Wish, st.integers(0, 2000), st.integers(0, 500), st.integers(1, 3), st.floats(0, 5), st.none() | st.floats(0, 5)
)
PRICE = Price(3.1e-7, 7.7e-6)


class Fateful(Scripted):
    """A model whose attempts go as fated, and which looks at the budget whenever anything happens."""

    fates: list[Fate]
    budget: Budget

    def look(self) -> None:
        in_flight = [debit for calls in self.budget._in_flight.values() for debit in calls]
        for place, (limit, spent) in enumerate(zip(self.budget._limits, self.budget._spent, strict=True)):
            assert spent >= 0
            assert limit is None or spent + sum(debit.highest[place] for debit in in_flight) <= limit
            assert self.budget._reserved[place] == sum(debit.reserved[place] for debit in in_flight)

    async def ask(self, request: Request) -> Reply:
        fate = self.fates[next(self.numbers) % len(self.fates)]
        self.look()
        await asyncio.sleep(fate.latency_s)
        self.look()
        if fate.fails:
            raise ModelError("R0111", "status 500", "", retryable=True)
        sent = int(len(request.messages[0].content) * fate.share)
        received = int((request.settings.max_tokens or 0) * fate.share)
        usage = (sent, received) if fate.tells else (None, None)
        others = tuple(Reply("", "m", "stop", 0, received, None) for _ in range(request.samples - 1))
        return Reply("", "m", "stop", *usage, None, further_choices=others)

    numbers = count()


@given(
    st.lists(FATES, min_size=1, max_size=8),
    st.lists(WISHES, min_size=1, max_size=25),
    st.none() | st.floats(0.0001, 0.05),
    st.none() | st.integers(1, 30_000),
    st.none() | st.integers(1, 20),
    st.integers(1, 8),
)
@settings(deadline=None, max_examples=sized(30, 150))
def test_no_more_is_spent_and_debited_than_the_budget_has(
    fates: list[Fate], wishes: list[Wish], usd: float | None, tokens: int | None, calls: int | None, connections: int
) -> None:
    budget = Budget(usd, tokens, calls)
    model = Fateful([Reply("", "m", "stop", 0, 0, None)], price=PRICE)
    model.fates, model.budget, model.numbers = fates, budget, count()

    async def main() -> list[Called | BaseException]:
        caller = callers_of(model, limits=Limits(max_connections=connections, max_retries=2), budget=budget)[model.name]

        async def grant(wish: Wish) -> Called:
            await asyncio.sleep(wish.at)
            messages = (Message("user", "x" * wish.size),)
            request = Request(
                "test/model", messages, settings=Settings(max_tokens=wish.max_tokens), samples=wish.samples
            )
            async with asyncio.timeout(wish.cancelled_after):
                return await caller.call(request)

        ended = await asyncio.gather(*(grant(wish) for wish in wishes), return_exceptions=True)
        assert caller.gate.in_flight == 0
        return ended

    ended = run(main())
    model.look()
    assert budget._reserved == [0, 0, 0] and not budget._in_flight and not budget._waiting
    assert all(isinstance(each, Called | ModelError | Stopped | TimeoutError) for each in ended), ended
    assert budget.spent_calls == sum(
        wish.samples for wish, each in zip(wishes, ended, strict=True) if isinstance(each, Called)
    )


@given(st.lists(WISHES, min_size=1, max_size=25), st.integers(1, 20_000))
@settings(deadline=None, max_examples=sized(30, 100))
def test_a_call_is_refused_only_where_it_could_cost_more_than_is_left(wishes: list[Wish], tokens: int) -> None:
    budget = Budget(tokens=tokens)
    model = Fateful([Reply("", "m", "stop", 0, 0, None)], price=PRICE)
    model.fates, model.budget, model.numbers = [Fate(1.0, False, 0.3, True)], budget, count()
    left: list[tuple[int, int]] = []

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=4), budget=budget)[model.name]

        async def grant(wish: Wish) -> None:
            await asyncio.sleep(wish.at)
            request = Request(
                "test/model", (Message("user", "x" * wish.size),), settings=Settings(max_tokens=wish.max_tokens)
            )
            try:
                await caller.call(request)
            except OutOfBudget:
                left.append((tokens - budget.spent_tokens, budget.highest(request, model).tokens))

        await asyncio.gather(*(grant(wish) for wish in wishes))

    run(main())
    assert all(most > rest for rest, most in left)


class Dear(Scripted):
    """A model whose calls cost more than anybody could know: each so many times its highest cost, and as much more as
    `Budget` says that it can bear."""

    factors: list[float]
    budget: Budget
    numbers = count()
    costs: list[int]

    async def ask(self, request: Request) -> Reply:
        await asyncio.sleep(self.latency_s)
        highest = (len(request.messages[0].content) + 16) + (request.settings.max_tokens or 0)
        used = round(self.factors[next(self.numbers) % len(self.factors)] * highest)
        self.costs.append(used)
        return Reply("", "m", "stop", 0, used, None)


@given(
    st.lists(st.sampled_from((0.1, 1, 3, 30, UNKNOWN)), min_size=1, max_size=3),
    st.lists(st.sampled_from((1 / CAUTIOUS, 0.4, 0.7, 1)), min_size=1, max_size=9),
    st.floats(0.1, 50),
    st.integers(1, 64),
    st.integers(1, 60),
)
@settings(deadline=None, max_examples=sized(60, 300))
def test_a_budget_is_exceeded_by_one_call_at_most(
    worst: list[float], shares: list[float], enough_for: float, connections: int, calls: int
) -> None:
    """The calls of each model cost within `CAUTIOUS` times of each other, but up to `UNKNOWN` times what they could."""
    tokens = math.ceil(enough_for * 600 * max(worst))
    budget, costs = Budget(tokens=tokens), list[int]()
    models = []
    for number, factor in enumerate(worst):
        model = Dear([], name=f"test/{number}", endpoint=str(number), price=PRICE, latency_s=1 + number / 3)
        model.factors, model.numbers, model.costs = [share * factor for share in shares], count(), costs
        models.append(model)

    async def main() -> list[Called | BaseException]:
        callers = callers_of(*models, limits=Limits(max_connections=connections), budget=budget)
        wishes = [caller.call(WISHED) for _ in range(calls) for caller in callers.values()]
        return await asyncio.gather(*wishes, return_exceptions=True)

    ended = run(main())
    assert all(isinstance(each, Called | OutOfBudget) for each in ended)
    assert budget.spent_tokens == sum(costs) <= tokens + max(costs, default=0)
    if not any(isinstance(each, Called) for each in ended):
        assert tokens < 600


WISHED = Request("test/model", (Message("user", "x" * 84),), settings=Settings(max_tokens=500))


@given(st.floats(0.01, 50), st.integers(1, 64), st.integers(1, 200))
@settings(deadline=None, max_examples=sized(20, 100))
def test_a_budget_that_is_far_away_delays_nothing_but_the_first_call(factor: float, most: int, calls: int) -> None:
    def asked(budget: Budget | None) -> list[float]:
        model = Dear([], price=PRICE, latency_s=1)
        model.factors, model.numbers, model.costs = [factor], count(), []

        async def main() -> None:
            caller = callers_of(model, limits=Limits(max_connections=most), budget=budget)[model.name]
            await caller.call(WISHED)
            await asyncio.gather(*(caller.call(WISHED) for _ in range(calls)))

        run(main())
        return model.asked_at

    assert asked(Budget(tokens=10**9)) == asked(None)
