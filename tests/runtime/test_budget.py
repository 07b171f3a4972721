"""What a budget is, what a call is debited for, and what comes back. Time is virtual."""

from __future__ import annotations

import asyncio
import tomllib
from dataclasses import replace

import pytest

from tests.each import each
from tests.runtime.virtual_time import REQUEST, Scripted, broken, callers_of, now, outcomes as outcomes_of, run
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import FREE, Message, ModelError, Price, Reply, Request
from tripos_runtime.models.prices import Rates, Tariff
from tripos_runtime.scheduling.budget import Budget, BudgetError, OutOfBudget, Stopped, check_prices
from tripos_runtime.scheduling.calling import Called
from tripos_runtime.scheduling.limits import Limits

PRICE = Price(1e-6, 4e-6)
ASKED = Request("test/model", (Message("user", "x" * 984),), settings=Settings(max_tokens=500))
"""At most 1,000 tokens in and 500 out: 0.003 USD."""


def reply(tokens_in: int | None = 100, tokens_out: int | None = 50, cost_usd: float | None = None) -> Reply:
    return Reply("hi", "test/model", "stop", tokens_in, tokens_out, cost_usd)


def outcomes(budget: Budget, model: Scripted, count: int) -> list[Called | BaseException]:
    """Return what becomes of so many calls at once."""
    return outcomes_of(model, count=count, budget=budget, request=ASKED)


@each(
    "text, usd, tokens, calls",
    [
        ("5usd", 5.0, None, None),
        ("0.5 USD", 0.5, None, None),
        ("$5", 5.0, None, None),
        ("$ 2.50", 2.5, None, None),
        ("5$", 5.0, None, None),
        (".5usd", 0.5, None, None),
        ("200000tokens", None, 200_000, None),
        ("2Mtokens", None, 2_000_000, None),
        ("1.5M tokens", None, 1_500_000, None),
        ("200ktokens", None, 200_000, None),
        ("1000calls", None, None, 1000),
        (" 1 call ", None, None, 1),
    ],
)
def test_amounts_are_read(text: str, usd: float | None, tokens: int | None, calls: int | None) -> None:
    budget = Budget.parse([text])
    assert (budget.usd, budget.tokens, budget.calls) == (usd, tokens, calls)


def test_a_unit_is_given_once() -> None:
    with pytest.raises(BudgetError, match="two amounts of USD"):
        Budget.parse(["5usd", "$3"])


@each("text", ["", "5", "usd", "five usd", "-5usd", "0usd", "0calls", "5eur", "1.5calls", "0.5tokens", "$5 tokens", "5kusd",
     "1e3tokens", "1,000calls", "5usd 3usd", "infusd", "nancalls", "٥usd", "9" * 500 + "usd"])  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BudgetError) as error:
        Budget.parse([text])
    assert error.value.code == "R0401" and "5usd" in error.value.hint


def test_the_highest_cost_counts_bytes_messages_the_schema_the_longest_reply_and_samples() -> None:
    budget, schema, ten = Budget(usd=1.0), {"type": "object"}, Settings(max_tokens=10)
    request = Request("m", (Message("system", "é"), Message("user", "ab")), settings=ten, schema=schema)
    cost = budget.highest(request, Scripted([reply()], price=PRICE))
    sent = 2 + 16 + 2 + 16 + len('{"type":"object"}')
    assert (cost.tokens, cost.calls) == (sent + 10, 1)
    assert cost.pico_usd == pytest.approx((sent * 1e-6 + 10 * 4e-6) * 1e12)
    three = budget.highest(replace(request, samples=3), Scripted([reply()], price=PRICE))
    assert (three.pico_usd, three.tokens, three.calls) == (3 * cost.pico_usd, 3 * cost.tokens, 3)
    request = Request("m", (Message("user", ""),))
    cost = Budget(tokens=1000).highest(request, Scripted([reply()], price=Price(1e-6, 4e-6, most_out=200)))
    assert cost.tokens == 216


def test_the_highest_cost_is_at_the_dearest_rates_of_a_tariff() -> None:
    long = Rates(500, 2e-6, 8e-6, 2e-6, 8e-6)
    price = Tariff(1e-6, 4e-6, cached_usd=5e-6, reasoning_usd=9e-6, steps=())
    assert Budget(usd=1.0).highest(ASKED, Scripted([reply()], price=price)).pico_usd == pytest.approx(9.5e9)
    price = Tariff(1e-6, 4e-6, steps=(long,))
    assert Budget(usd=1.0).highest(ASKED, Scripted([reply()], price=price)).pico_usd == pytest.approx(6e9)


@pytest.mark.parametrize("budget", [Budget(usd=1.0), Budget(tokens=1000)])
def test_a_reply_without_a_bound_stops_the_run_before_it_is_asked_for(budget: Budget) -> None:
    model = Scripted([reply()], price=PRICE)

    async def main() -> None:
        with pytest.raises(Stopped) as stopped:
            await callers_of(model, budget=budget)[model.name].call(REQUEST)
        assert stopped.value.code == "R0403" and "max_tokens" in stopped.value.hint

    run(main())
    assert model.asked_at == []


def test_a_free_model_needs_no_bound_under_a_budget_in_usd_and_none_does_under_one_in_calls() -> None:
    for budget, price in ((Budget(usd=1.0), FREE), (Budget(calls=1), None)):
        model = Scripted([reply()], price=price)

        async def main(model: Scripted = model, budget: Budget = budget) -> None:
            await callers_of(model, budget=budget)[model.name].call(REQUEST)

        run(main())
        assert len(model.asked_at) == 1


@pytest.mark.parametrize(
    ("given", "usd", "tokens"),
    [
        (reply(), 100 * 1e-6 + 50 * 4e-6, 150),
        (reply(cost_usd=0.0007), 0.0007, 150),
        (reply(None, 50), 0.003, 1500),
        (reply(100, None), 0.003, 1500),
        (reply(None, None), 0.003, 1500),
        (replace(reply(), further_choices=(reply(0, 30), reply(0, 20))), 100 * 1e-6 + 100 * 4e-6, 200),
    ],
    ids=["tokens", "a cost", "no tokens in", "no tokens out", "no tokens", "further choices"],
)
def test_what_a_reply_used_stands_in_place_of_the_debit_if_it_says_so(given: Reply, usd: float, tokens: int) -> None:
    budget = Budget(usd=1.0)
    outcomes(budget, Scripted([given], price=PRICE), 3)
    assert (budget.spent_usd, budget.spent_tokens) == (pytest.approx(3 * usd), 3 * tokens)
    assert budget.spent_calls == 3


def test_a_provider_that_counts_more_than_was_sent_is_debited_for_more_from_then_on() -> None:
    """Its template adds 5,000 tokens to each prompt, and reasoning of 1,000 tokens to each reply."""
    budget = Budget(tokens=100_000)
    model = Scripted([reply(6000, 1500)], price=PRICE, latency_s=1)
    before = budget.highest(ASKED, model).tokens
    outcomes(budget, model, 1)
    assert budget.highest(ASKED, model).tokens == before + 5000 + 1000
    ended = outcomes(budget, model, 50)
    assert any(isinstance(each, OutOfBudget) for each in ended)
    assert 90_000 < budget.spent_tokens <= 100_000


@each("usd, script, least, most", [
    # Sixteen calls at once, of which each has 2,400 tokens of reasoning that nobody asked for.
    (0.01, [reply(100, 2500)], 0.0100, 0.0102),
    # Each is within the tokens that it may have; the provider says another cost, six times the first.
    (0.03, [reply(cost_usd=0.002), reply(cost_usd=0.012)], 0.03 - 0.012, 0.03 + 0.012),
])  # fmt: skip
def test_calls_that_cost_more_than_expected_exceed_the_budget_by_one_call_at_most(
    usd: float, script: list[Reply], least: float, most: float
) -> None:
    budget = Budget(usd=usd)
    ended = outcomes(budget, Scripted([*script], price=PRICE, latency_s=1), 16)
    assert least < budget.spent_usd <= most
    assert len(script) > 1 or sum(isinstance(each, OutOfBudget) for each in ended) == 15


def test_the_first_call_of_a_model_goes_alone_and_the_others_together() -> None:
    model = Scripted([reply()], price=PRICE, latency_s=1)
    assert all(isinstance(each, Called) for each in outcomes(Budget(usd=5.0), model, 10))
    assert model.asked_at == [0.0] + [1.0] * 9


def test_the_first_calls_of_two_models_go_together_and_a_first_call_that_fails_is_followed_by_one() -> None:
    budget = Budget(usd=5.0)
    one, two = (
        Scripted([broken(), reply()], name=f"test/{name}", endpoint=name, price=PRICE, latency_s=1) for name in "ab"
    )

    async def main() -> None:
        callers = callers_of(one, two, limits=Limits(max_retries=0), budget=budget)
        await asyncio.gather(
            *(caller.call(ASKED) for caller in callers.values() for _ in range(4)), return_exceptions=True
        )

    run(main())
    assert one.asked_at == two.asked_at == [0.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize(("budget", "price"), [(Budget(usd=1.0), FREE), (Budget(calls=99), PRICE), (Budget(), PRICE)])
def test_nobody_waits_for_a_first_call_where_costs_are_certain(budget: Budget, price: Price) -> None:
    model = Scripted([reply()], price=price, latency_s=1)
    outcomes(budget, model, 10)
    assert model.asked_at == [0.0] * 10


def test_a_failed_call_and_a_cancelled_one_give_their_debit_back() -> None:
    budget = Budget(usd=0.003)
    model = Scripted([ModelError("R0110", "no", "fix it"), reply(cost_usd=0.0)], price=PRICE, latency_s=1)

    async def main() -> None:
        caller = callers_of(model, budget=budget)[model.name]
        with pytest.raises(ModelError):
            await caller.call(ASKED)
        under_way = asyncio.create_task(caller.call(ASKED))
        await asyncio.sleep(0.5)
        under_way.cancel()
        await asyncio.gather(under_way, return_exceptions=True)
        await caller.call(ASKED)

    run(main())
    assert budget.spent_usd == 0


def test_each_attempt_is_debited() -> None:
    budget = Budget(usd=0.003)
    model = Scripted([broken(), broken(), reply()], price=PRICE)
    (called,) = outcomes(budget, model, 1)
    assert isinstance(called, Called) and called.attempts == 3


def test_a_call_that_does_not_fit_waits_for_those_under_way_to_give_back() -> None:
    budget = Budget(usd=0.004)
    model = Scripted([reply(cost_usd=0.0001)], price=PRICE, latency_s=1)
    assert all(isinstance(each, Called) for each in outcomes(budget, model, 5))
    assert model.asked_at == [0, 1, 2, 3, 4]


def test_what_can_never_fit_is_refused_and_the_message_says_how_things_stand() -> None:
    budget = Budget(usd=0.004)
    model = Scripted([reply(cost_usd=0.0015)], price=PRICE, latency_s=1)
    ended = outcomes(budget, model, 3)
    assert len(model.asked_at) == 1
    error = ended[1]
    assert isinstance(error, OutOfBudget) and isinstance(error, Stopped)
    assert (error.code, "--budget" in error.hint) == ("R0402", True)
    assert "0.0040 USD allowed, 0.0015 USD spent" in error.message and "may take 0.0030 USD" in error.message


def test_a_call_that_fits_is_made_after_one_that_does_not_was_refused() -> None:
    budget = Budget(tokens=2000)
    model = Scripted([reply()], price=PRICE)
    large = Request("test/model", (Message("user", "x" * 5000),), settings=Settings(max_tokens=1))

    async def main() -> None:
        caller = callers_of(model, budget=budget)[model.name]
        with pytest.raises(OutOfBudget):
            await caller.call(large)
        await caller.call(ASKED)

    run(main())
    assert budget.spent_calls == 1


def test_calls_are_bounded_too() -> None:
    ended = outcomes(Budget(calls=3), Scripted([reply()], price=None), 10)
    assert sum(isinstance(each, Called) for each in ended) == 3
    assert sum(isinstance(each, OutOfBudget) for each in ended) == 7


def test_a_call_that_waits_for_the_budget_can_be_cancelled() -> None:
    budget = Budget(usd=0.004)
    model = Scripted([reply(cost_usd=0.0001)], price=PRICE, latency_s=1)

    async def main() -> float:
        caller = callers_of(model, budget=budget)[model.name]
        calls = [asyncio.create_task(caller.call(ASKED)) for _ in range(3)]
        await asyncio.sleep(0.5)
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert caller.gate.in_flight == 0
        return now()

    assert run(main()) == 2
    assert budget.spent_calls == 2


def test_a_large_call_that_waits_is_not_passed_by_a_small_one_that_would_fit() -> None:
    budget, small, large = (
        Budget(tokens=3000),
        *(
            Request("test/model", (Message("user", "x" * size),), settings=Settings(max_tokens=0))
            for size in (84, 2484)
        ),
    )
    model = Scripted([reply(0, 0)], price=PRICE, latency_s=1)

    async def main() -> None:
        caller = callers_of(model, budget=budget)[model.name]
        await asyncio.gather(*(caller.call(request) for request in (ASKED, large, small)))

    run(main())
    assert model.requests == [ASKED, large, small]


def test_a_call_cancelled_in_the_moment_that_the_budget_lets_it_go_gives_its_debit_back() -> None:
    budget = Budget(usd=0.004)
    cost = budget.highest(ASKED, Scripted([reply()], price=PRICE))

    async def main() -> None:
        first = await budget.debit(cost, "a")
        second, third = (asyncio.create_task(budget.debit(cost, "b")) for _ in range(2))
        await asyncio.sleep(0)
        budget.give_back(first)  # the second may go by now, and has not moved yet
        second.cancel()
        budget.give_back(await third)

    run(main())
    assert budget._reserved == [0, 0, 0] and not budget._in_flight


def test_prices_are_asked_for_before_anything_else_is_in_lines_that_can_be_pasted() -> None:
    models = [Scripted([reply()], name="openai/mine", price=None), Scripted([reply()], price=PRICE)]
    with pytest.raises(BudgetError) as error:
        check_prices(models, Budget(usd=5.0))
    assert error.value.code == "R0404" and "`openai/mine`" in error.value.message
    lines = error.value.hint.split("\n", 1)[1].replace("...", "0.5")
    assert tomllib.loads(lines) == {"prices": {"openai/mine": {"input": 0.5, "output": 0.5}}}
    for other in (None, Budget(tokens=5), Budget(calls=5)):
        check_prices(models, other)
    (ended,) = outcomes(Budget(usd=5.0), models[0], 1)
    assert isinstance(ended, Stopped) and ended.code == "R0404"
