"""What a call costs: as litellm reckons it, the user's prices first, and unknown where nobody knows."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.lengths import spread
from tests.runtime.contract_server import Server, answering, completion, serving
from tripos_runtime.models.base import FREE, Endpoint, Message, Model, Price, Reply, Request
from tripos_runtime.models.catalog import all_entries
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import library
from tripos_runtime.models.prices import price_of

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")  # litellm's, once a process

PROVIDERS = (
    "openai", "azure", "anthropic", "gemini", "mistral", "deepseek", "groq", "together_ai", "openrouter", "xai",
    "dashscope", "perplexity", "fireworks_ai",
)  # fmt: skip
OTHERWISE = re.compile(
    r"audio|image|video|search|deep-research|sonar|pplx|tts|live|omni|container|realtime|^together-ai-"
)
"""Models that are paid by more than the tokens of a text, and entries that stand for models of a size."""


def usage(tokens_in: int, tokens_out: int, cached: int = 0, reasoning: int = 0) -> Any:
    library()  # first, so that it stays off the network
    from litellm.types.utils import Usage

    return Usage(
        prompt_tokens=tokens_in,
        completion_tokens=tokens_out,
        total_tokens=tokens_in + tokens_out,
        prompt_tokens_details={"cached_tokens": cached},
        completion_tokens_details={"reasoning_tokens": reasoning},
    )


def by_litellm(name: str, used: Any) -> float:
    litellm = library()
    from litellm.types.utils import ModelResponse

    return float(litellm.completion_cost(completion_response=ModelResponse(model=name, usage=used), model=name))


def priced() -> list[tuple[str, str]]:
    found = []
    for key, entry in all_entries().items():
        provider, model = str(entry.get("litellm_provider")), key
        if entry.get("mode") != "chat" or provider not in PROVIDERS or OTHERWISE.search(key):
            continue
        if entry.get("off_peak_pricing"):
            continue  # what litellm reckons depends on the hour; we take the usual rate
        found.append((provider, model.removeprefix(f"{provider}/")))
    return sorted(set(found))


@pytest.mark.parametrize(
    ("tokens_in", "tokens_out", "cached", "reasoning"),
    spread(
        [
            (1000, 100, 0, 0),
            (1000, 100, 400, 60),
            (128_001, 100, 0, 0),
            (200_000, 10, 1, 1),
            (300_000, 1000, 2000, 500),
            (1_200_000, 5, 0, 0),
        ],
        3,
    ),
)
def test_a_cost_is_what_litellm_reckons_for_every_model(
    tokens_in: int, tokens_out: int, cached: int, reasoning: int
) -> None:
    used = usage(tokens_in, tokens_out, cached, reasoning)
    models = priced()
    wrong = {}
    unknown = set()
    for provider, model in models:
        price = price_of(provider, model)
        if price is None:
            continue
        try:
            expected = by_litellm(f"{provider}/{model}", used)
        except Exception:
            unknown.add(f"{provider}/{model}")  # litellm takes some names for those of another provider
            continue
        ours = price.cost_usd(tokens_in, tokens_out, cached, reasoning)
        if ours != pytest.approx(expected, rel=1e-9):
            wrong[f"{provider}/{model}"] = (ours, expected)
    assert not wrong
    assert len(unknown) < 10
    assert len(models) > 500


def test_the_longest_reply_of_a_model_is_known() -> None:
    price = price_of("openai", "gpt-4o")
    assert price is not None and price.most_out == 16_384


def test_rates_of_an_hour_are_the_usual_ones() -> None:
    models = [
        name for name, entry in all_entries().items() if entry.get("off_peak_pricing") and entry.get("mode") == "chat"
    ]
    assert models
    for name in models:
        entry = all_entries()[name]
        provider = str(entry["litellm_provider"])
        price = price_of(provider, name.removeprefix(f"{provider}/"))
        assert price is not None and price.cost_usd(1000, 0) == pytest.approx(1000 * entry["input_cost_per_token"])


def asked(name: str, body: Any, prices: dict[str, Price] | None = None) -> tuple[Model, Reply]:
    async def use(server: Server) -> tuple[Model, Reply]:
        model = open_model(name, {name: server.endpoint()}, prices=prices or {})
        reply = await model.ask(Request(name, (Message("user", "hi"),)))
        await model.close()
        return model, reply

    return serving(answering(body), use)[0]


def test_a_model_of_an_own_endpoint_that_nobody_prices_has_no_cost() -> None:
    model, reply = asked("openai/a-school-model", completion())
    assert (model.price, reply.cost_usd, reply.tokens_in) == (None, None, 1000)


def test_a_price_of_the_users_counts_first() -> None:
    price = Price(1.0, 10.0, cached_usd=0.5)
    for name in ("openai/a-school-model", "openai/gpt-4o", "openai/gpt-5"):
        model, reply = asked(name, completion(), {name: price})
        assert model.price == price
        assert reply.cost_usd == pytest.approx(900 * 1.0 + 100 * 0.5 + 60 * 10.0)


def test_the_cached_part_of_a_prompt_has_its_own_price() -> None:
    _, reply = asked("openai/gpt-4o", completion())
    assert reply.cost_usd == pytest.approx(900 * 2.5e-6 + 100 * 1.25e-6 + 60 * 1e-5)


def test_without_usage_a_cost_is_unknown() -> None:
    _, reply = asked("openai/gpt-4o", completion(usage=None))
    assert (reply.tokens_in, reply.tokens_out, reply.cost_usd, reply.tokens_reasoning) == (None, None, None, None)


@pytest.mark.parametrize(
    ("told", "cost"), [({"cost": 0.25}, 0.25), ({"cost": 0}, 0.0), ({"cost": None}, None), ({"cost": "1"}, None)]
)
def test_what_openrouter_says_a_call_cost_is_what_it_cost(told: dict[str, Any], cost: float | None) -> None:
    body = completion(usage={"prompt_tokens": 10, "completion_tokens": 5, **told})
    assert asked("openrouter/nobody/knows-this", body)[1].cost_usd == cost
    own = {"openrouter/nobody/knows-this": Price(1.0, 1.0)}
    assert asked("openrouter/nobody/knows-this", body, own)[1].cost_usd == 15.0


def test_tokens_that_xai_counts_apart_are_tokens_of_the_reply() -> None:
    body = completion(
        usage={
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 35,
            "completion_tokens_details": {"reasoning_tokens": 20},
            "cost_in_usd_ticks": 5_000_000_000,
        }
    )
    _, reply = asked("xai/grok-4", body)
    assert (reply.tokens_out, reply.tokens_reasoning, reply.cost_usd) == (25, 20, 0.5)


def test_mocks_are_free() -> None:
    assert open_model("mock/careful").price == FREE


def test_a_price_is_known_before_a_call_on_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = Endpoint("http://127.0.0.1:1/v1")
    for name in ("openai/gpt-4o", "openai/o3", "anthropic/claude-sonnet-4-5", "cohere_chat/command-r-plus-08-2024"):
        monkeypatch.setenv("COHERE_API_KEY", "not-a-key")
        price = open_model(name, {name: endpoint}).price
        assert price is not None and price.output_usd > price.input_usd > 0
