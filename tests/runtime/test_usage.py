"""The usage of a call: every way in which providers report tokens and money is read as what was paid."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tests.runtime.virtual_time import Scripted, callers_of, run
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Message, ModelError, Price, Reply, Request
from tripos_runtime.models.replies import read_reply, usage_of
from tripos_runtime.scheduling.budget import Budget, Stopped
from tripos_runtime.scheduling.calling import Called
from tripos_runtime.scheduling.limits import Limits

PRICE = Price(1.0, 10.0, cached_usd=0.1)


@dataclass(frozen=True)
class Paid:
    """The tokens that a provider bills: those of a prompt, of which a part was cached, and those that it wrote, of
    which a part is hidden."""

    prompt: int
    cached: int
    shown: int
    hidden: int

    @property
    def total(self) -> int:
        return self.prompt + self.shown + self.hidden

    @property
    def cost(self) -> float:
        return PRICE.cost_usd(self.prompt, self.shown + self.hidden, self.cached, self.hidden)


@st.composite
def paid(draw: st.DrawFn) -> Paid:
    prompt = draw(st.integers(1, 10_000))
    return Paid(prompt, draw(st.integers(0, prompt)), draw(st.integers(0, 5000)), draw(st.integers(0, 50_000)))


def written(told: Paid) -> dict[str, dict[str, Any]]:
    """Return what providers say of these tokens, by the way in which they count."""
    cached = {"prompt_tokens_details": {"cached_tokens": told.cached}}
    hidden = {"completion_tokens_details": {"reasoning_tokens": told.hidden}}
    out, total = told.shown + told.hidden, {"total_tokens": told.total}
    whole, rest = {"prompt_tokens": told.prompt, **cached}, {"completion_tokens": told.shown}
    found: dict[str, dict[str, Any]] = {
        "openai": {**whole, "completion_tokens": out, **hidden, **total},
        "xai": {**whole, **rest, **hidden, **total},
        "gemini": {**whole, **rest, **total},
        "gemini, nothing said": {**whole, **rest, **total, "completion_tokens_details": {"reasoning_tokens": 0}},
        "without completion": {**whole, **total},
        "without prompt": {**cached, "completion_tokens": out, **total},
        "deepseek": {**whole, "completion_tokens": out, **total, "prompt_cache_hit_tokens": told.cached},
        "moonshot": {"prompt_tokens": told.prompt, "cached_tokens": told.cached, "completion_tokens": out, **total},
        "without a total": {**whole, "completion_tokens": out, **hidden},
        "a total that is too small": {**whole, "completion_tokens": out, "total_tokens": told.shown},
    }
    if told.hidden > told.shown:
        found["hidden apart, without a total"] = {**whole, **rest, **hidden}
    if told.cached and told.cached != told.hidden and told.cached < told.prompt:
        bare = {"prompt_tokens": told.prompt - told.cached, "cache_read_input_tokens": told.cached}
        found["cache apart"] = {**bare, "completion_tokens": out, **hidden, **total}
    return found


@given(paid())
@settings(deadline=None, max_examples=sized(100, 2000))
def test_tokens_and_cost_are_those_that_are_billed_however_a_provider_counts_them(told: Paid) -> None:
    for way, usage in written(told).items():
        found = usage_of({"usage": usage}, "openai/m", PRICE)
        assert (found.tokens_in, found.tokens_out) == (told.prompt, told.shown + told.hidden), way
        assert found.cost_usd == pytest.approx(told.cost), way
        assert found.reasoning is None or 0 <= found.reasoning <= (found.tokens_out or 0), way


COUNTS = st.none() | st.integers(-5, 3000) | st.sampled_from([True, 1.5, "7", 10**13, [1], {}])
USAGES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"), COUNTS),
        "prompt_tokens_details": st.none() | st.fixed_dictionaries({}, optional={"cached_tokens": COUNTS}),
        "completion_tokens_details": st.none() | st.fixed_dictionaries({}, optional={"reasoning_tokens": COUNTS}),
        "cost": COUNTS,
        "is_byok": st.sampled_from([True, False, None]),
        "cost_details": st.none() | st.fixed_dictionaries({}, optional={"upstream_inference_cost": COUNTS}),
    },
)


@given(USAGES | st.none() | st.integers(), st.lists(st.text(max_size=9), min_size=1, max_size=5), st.integers(1, 6))
@settings(deadline=None, max_examples=sized(200, 3000))
def test_replies_share_what_their_call_took_and_none_of_it_is_lost(usage: Any, texts: list[str], wanted: int) -> None:
    whole = usage_of({"usage": usage}, "openai/m", PRICE)
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"} for text in texts], "usage": usage}
    replies = read_reply(body, "openai/m", PRICE).samples(wanted)
    assert [each.text for each in replies] == texts[:wanted]
    assert not any(each.further_choices for each in replies)
    for column, total in (
        ("tokens_in", whole.tokens_in),
        ("tokens_out", whole.tokens_out),
        ("tokens_reasoning", whole.reasoning),
        ("cost_usd", whole.cost_usd),
    ):
        parts = [getattr(each, column) for each in replies]
        assert all(part is None for part in parts) if total is None else sum(parts) == pytest.approx(total), column
        assert all(part is None or part >= 0 or abs(part) < 1e-6 for part in parts), column


@each(
    "usage, cost",
    [
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.25}}, 0.25),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.25}}, 0.26),
        ({"cost": 0, "cost_details": {"upstream_inference_cost": 0.25}}, 0.25),
        ({"cost": 0.5, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.5}}, 0.5),
        ({"cost": 0.5, "cost_details": {"upstream_inference_cost": 0.5}}, 0.5),
        ({"cost": 0, "is_byok": False, "cost_details": {"upstream_inference_cost": 0}}, 0.0),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, 12.0),
        ({"cost": 0, "is_byok": True}, 12.0),
        ({"cost": -1}, 12.0),
        ({"cost_in_usd_ticks": 25_000_000_000}, 2.5),
    ],
)
def test_the_cost_is_that_which_is_paid_with_whichever_key(usage: dict[str, Any], cost: float) -> None:
    """Where the provider says nothing that can be taken, it is what the price makes of the tokens."""
    tokens = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    found = usage_of({"usage": {**tokens, **usage}}, "openrouter/m", PRICE)
    assert found.cost_usd == pytest.approx(cost)
    own = usage_of({"usage": {**tokens, **usage}}, "openrouter/m", PRICE, own_price=True)
    assert own.cost_usd == pytest.approx(12.0)


def test_a_cost_is_known_without_tokens() -> None:
    assert usage_of({"usage": {"cost": 0.5}}, "openrouter/m", None).cost_usd == 0.5


ASKED = Request("test/model", (Message("user", "x" * 84),), settings=Settings(max_tokens=50))


class Hiding(Scripted):
    """A model that thinks unseen: its provider says so in nothing but the total. Now and then it sends more choices
    than were asked for, or none, and is paid for them."""

    numbers = count()
    hidden: list[int]
    surplus: list[int]
    billed: list[int]

    async def ask(self, request: Request) -> Reply:
        number = next(self.numbers)
        await asyncio.sleep(self.latency_s)
        total = 20 + 30 + self.hidden[number % len(self.hidden)]
        choices = request.samples + self.surplus[number % len(self.surplus)]
        self.billed.append(total)
        usage = {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": total}
        message = {"message": {"content": "yes"}, "finish_reason": "stop"}
        return read_reply({"choices": [message] * choices, "usage": usage}, self.name, PRICE)


@given(
    st.lists(st.integers(0, 4000), min_size=1, max_size=6),
    st.lists(st.sampled_from((0, 0, 0, 2, -1)), min_size=1, max_size=4),
    st.integers(200, 40_000),
    st.booleans(),
    st.integers(1, 32),
)
@settings(deadline=None, max_examples=sized(60, 600))
def test_a_budget_counts_what_is_billed_and_is_exceeded_by_one_call_at_most(
    hidden: list[int], surplus: list[int], amount: int, in_usd: bool, connections: int
) -> None:
    """Hidden tokens are within what a budget can bear: at most 100 times the highest cost of the first call."""
    budget = Budget(usd=amount / 100) if in_usd else Budget(tokens=amount)
    model = Hiding([], price=Price(0.01, 0.01), latency_s=1)
    model.numbers, model.hidden, model.surplus, model.billed = count(), hidden, surplus, []

    async def main() -> list[Called | BaseException]:
        caller = callers_of(model, limits=Limits(max_connections=connections, max_retries=0), budget=budget)[model.name]
        return await asyncio.gather(*(caller.call(ASKED) for _ in range(40)), return_exceptions=True)

    ended = run(main())
    assert all(isinstance(each, Called | Stopped | ModelError) for each in ended)
    assert budget.spent_tokens == sum(model.billed)
    replies = [reply for each in ended if isinstance(each, Called) for reply in each.reply.samples(1)]
    lost = [each.usage for each in ended if isinstance(each, ModelError) and each.usage is not None]
    told = [(each.tokens_in or 0) + (each.tokens_out or 0) for each in (*replies, *lost)]
    # Of a call that was tried again and then not let out any more nothing is kept.
    assert sum(told) <= sum(model.billed)
    assert sum(told) == sum(model.billed) or any(isinstance(each, Stopped) for each in ended)
    if max(model.billed, default=0) <= 4 * min(model.billed, default=0):
        assert sum(model.billed) <= amount + max(model.billed)


def test_the_tokens_of_attempts_that_failed_are_those_of_the_reply_and_of_the_budget() -> None:
    empty = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 9}}
    with pytest.raises(ModelError) as caught:
        read_reply(empty, "test/model", PRICE)
    took = caught.value.usage
    assert took is not None and (took.tokens_in, took.tokens_out) == (5, 4)
    budget = Budget(tokens=100_000)
    fine = Reply("yes", "m", "stop", 5, 2, 0.5, 0)
    model = Scripted([caught.value, fine], price=PRICE)

    async def main(retries: int) -> Called:
        return await callers_of(model, limits=Limits(max_retries=retries), budget=budget)[model.name].call(ASKED)

    called = run(main(2))
    assert (called.attempts, called.reply.tokens_in, called.reply.tokens_out) == (2, 10, 6)
    assert budget.spent_tokens == 16
    again = ModelError("R0111", "no choice", "", retryable=True)
    again.usage = took
    model.script = [again]
    with pytest.raises(ModelError) as failed:
        run(main(0))
    assert failed.value.attempts == 1 and failed.value.usage is not None
    assert budget.spent_tokens == 16 + 9
