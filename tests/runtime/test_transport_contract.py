"""The ways to a model agree: what we send and read ourselves is what litellm alone sends and reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.each import each
from tests.runtime.contract_server import Sent, Server, in_its_form, serving
from tripos_compiler.plan import Settings, ending_of
from tripos_runtime.models.base import Endpoint, Message, Reply, Request
from tripos_runtime.models.catalog import PROVIDERS, all_entries, path_of
from tripos_runtime.models.chat_completions import DirectModel
from tripos_runtime.models.families import ignored_settings_by_name, open_model
from tripos_runtime.models.litellm_models import LitellmModel, library
from tripos_runtime.models.litellm_transport import CarriedModel
from tripos_runtime.models.replies import parse_body

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? .* on TypedDict:UserWarning"
)  # litellm, as it makes an Ollama prompt

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
PLAIN = Request("m", (Message("user", "Why is the sky blue? 天空"),))
TALK = (Message("system", "be brief"), Message("user", "hi"), Message("assistant", "yes?"), Message("user", "why"))
ALL = Settings(
    temperature=0.7, max_tokens=100, stop=("END",), seed=5, top_p=0.9, presence_penalty=0.5, frequency_penalty=0.25
)
REQUESTS = {
    "plain": PLAIN,
    "system": replace(PLAIN, messages=TALK),
    "temperature": replace(PLAIN, settings=Settings(temperature=0.0)),
    "max_tokens": replace(PLAIN, settings=Settings(max_tokens=9)),
    "stop": replace(PLAIN, settings=Settings(stop=("END", "\n\n"))),
    "seed": replace(PLAIN, settings=Settings(seed=3)),
    "schema": replace(PLAIN, schema=SCHEMA),
    "all": Request("m", TALK, ALL, SCHEMA),
}
DIRECT = (
    "openai/gpt-4o", "openai/gpt-4.1-mini", "openai/a-school-model", "hosted_vllm/Qwen/Qwen3-8B",
    "mistral/mistral-small-latest", "mistral/magistral-medium-2509", "deepseek/deepseek-chat",
    "deepseek/deepseek-reasoner", "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "openrouter/meta-llama/llama-3-70b-instruct", "openrouter/anthropic/claude-3.5-sonnet",
    "xai/grok-3", "xai/grok-4",
)  # fmt: skip
CARRIED = (
    "openai/o3-mini", "openai/o1", "openai/gpt-5", "openai/gpt-5.1", "azure/gpt-4o", "azure/my-deployment", "azure/o3-mini",
    "anthropic/claude-3-5-haiku-20241022", "anthropic/claude-opus-4-1", "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.0-flash", "gemini/gemini-2.5-pro", "ollama_chat/llama3", "ollama/llama3",
)  # fmt: skip

OTHERS = tuple(
    f"{provider}/some-model"
    for provider in PROVIDERS
    if provider != "groq" and not any(name.startswith(f"{provider}/") for name in DIRECT)
)
"""A model of every provider that is newer than the list."""
GROQ = ("groq/llama-3.1-8b-instant", "groq/openai/gpt-oss-120b")


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTRACT_KEY", "contract-secret")


def both(name: str, request: Request, *, structured: bool = True) -> tuple[tuple[Sent, Reply], tuple[Sent, Reply]]:
    """Return what our way sends and reads, and what litellm does."""

    async def use(server: Server) -> list[Reply]:
        endpoints = {name: server.endpoint("CONTRACT_KEY")}
        # litellm's goes first: for Azure, litellm keeps the client that it is given
        models = [LitellmModel(name, endpoints[name]), open_model(name, endpoints)]
        assert isinstance(models[1], DirectModel | CarriedModel)
        replies = []
        for model in models:
            model.structured = structured
            replies.append(await model.ask(request))
            await model.close()
        return replies

    replies, sent = serving(in_its_form, use)
    assert len(sent) == 2
    return (sent[1], replies[1]), (sent[0], replies[0])


@each("settings", REQUESTS)
@each("name", [*DIRECT, *OTHERS])
def test_our_way_sends_and_reads_what_litellm_does(name: str, settings: str) -> None:
    compare_ways(name, settings)


@each("settings", ["plain", "all"])
@each("name", CARRIED)
def test_our_connections_carry_what_litellm_sends_over_its_own(name: str, settings: str) -> None:
    compare_ways(name, settings)


def compare_ways(name: str, settings: str) -> None:
    (sent, reply), (sent_by_litellm, read_by_litellm) = both(name, REQUESTS[settings])
    assert (sent.path, sent.body) == (sent_by_litellm.path, sent_by_litellm.body)
    assert told(sent, name) == told(sent_by_litellm, name)
    assert comparable(reply, name) == comparable(read_by_litellm, name)


def told(sent: Sent, name: str) -> dict[str, str]:
    # litellm sends Ollama its JSON as a stream of bytes, which Ollama takes for the same.
    return {at: value for at, value in sent.headers.items() if not (name.startswith("ollama") and at == "content-type")}


def comparable(reply: Reply, name: str) -> Reply:
    # litellm names the model asked for where Ollama says which one answered, and puts `azure/` before what Azure says.
    # Its words for endings are its own: they mean the same.
    reply = replace(reply, finish_reason=str(ending_of(reply.finish_reason)))
    if name.startswith("ollama"):
        return replace(reply, model_served="")
    return replace(reply, model_served=reply.model_served.removeprefix("azure/"))


@pytest.mark.parametrize("settings", ["plain", "system", "temperature", "max_tokens", "stop", "seed", "all"])
@pytest.mark.parametrize("name", GROQ)
def test_groq_is_sent_what_litellm_sends(name: str, settings: str) -> None:
    """Models without a form for schemas are never sent one, which litellm would make a tool of."""
    structured = name == "groq/openai/gpt-oss-120b"
    (sent, reply), (sent_by_litellm, read_by_litellm) = both(name, REQUESTS[settings], structured=structured)
    assert sent == sent_by_litellm
    assert reply == read_by_litellm


def test_the_table_of_providers_says_what_litellm_does_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = library()
    for name, provider in PROVIDERS.items():
        for variable in (*provider.keys, *provider.base_urls):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv(provider.keys[0], "a-key")
        _, _, key, base_url = litellm.get_llm_provider(f"{name}/some-model")
        assert base_url in {provider.base_url, None}, name
        assert key in {"a-key", None}, name


def chat_models() -> list[str]:
    """Return every model for conversations in litellm's map whose provider we reach directly or by translation."""
    names = set()
    for key, entry in all_entries().items():
        provider = str(entry.get("litellm_provider"))
        if entry.get("mode") == "chat":
            name = key if key.startswith(f"{provider}/") else f"{provider}/{key}"
            names.add(name)
    return sorted(name for name in names if path_of(name, {}) == "direct")


def test_every_model_that_is_asked_directly_takes_the_settings_that_litellm_sends() -> None:
    """What litellm would send of the settings, without a server: some hundred models."""
    library()  # first, so that it stays off the network
    from litellm.utils import get_optional_params

    wrong: dict[str, Any] = {}
    models = chat_models()
    for name in models:
        provider, _, model = name.partition("/")
        opened = _opened(name)
        expected = get_optional_params(
            model=model,
            custom_llm_provider=provider,
            drop_params=True,
            **{name: value for name, value in ALL.given.items() if name not in opened.ignored_settings(ALL)},
        )
        expected |= expected.pop("extra_body", None) or {}
        expected = {at: value for at, value in expected.items() if at not in {"max_retries", "stream"}}
        request = Request(name, (), ALL)
        sent = parse_body(b"{" + opened._tail(request)[1:])
        sent.pop("usage", None)  # OpenRouter's, added when litellm makes the body
        if sent != expected:
            wrong[name] = (sent, expected)
        assert ignored_settings_by_name(name)(ALL) == opened.ignored_settings(ALL), name
    assert not wrong
    assert len(models) > 200


@pytest.mark.parametrize(
    "name",
    [
        "openai/o3-mini", "openai/gpt-5", "anthropic/claude-3-5-haiku-latest", "gemini/gemini-2.5-flash",
        "ollama/llama3", "ollama_chat/llama3", "bedrock/anthropic.claude-v2", "mistral/mistral-large-latest",
    ],
)  # fmt: skip
def test_what_a_model_refuses_is_known_without_a_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.setenv(variable, "sk-test")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    opened = open_model(name)
    told = opened.ignored_settings(ALL)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(variable)
    assert ignored_settings_by_name(name)(ALL) == told


def test_what_models_can_do_is_what_litellm_says() -> None:
    litellm = library()
    models = chat_models()
    wrong = {name for name in models if _opened(name).structured != bool(litellm.supports_response_schema(name))}
    assert not wrong


def _opened(name: str) -> DirectModel:
    return DirectModel(name, Endpoint("https://example.org/v1"))
