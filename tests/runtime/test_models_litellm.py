"""Models of `openai/` against a server on the loopback: what is sent, what comes back, and what each failure means."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.each import each
from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Endpoint, Message, ModelError, Reply, Request
from tripos_runtime.models.catalog import KEYED, NATIVE_PROVIDERS, PROVIDERS, set_file_variables
from tripos_runtime.models.errors import scrub
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import file_arguments, library, settings_of

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def completion(**changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "hello"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [choice],
        "usage": USAGE,
    } | changes


def failure(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "t"} | more}


Answer = Callable[[dict[str, Any]], Awaitable[web.StreamResponse]]


def answering(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    async def answer(_: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return answer


async def hanging(_: dict[str, Any]) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


def ask(
    answer: Answer, name: str = "openai/mock-model", request: Request | None = None, key_env: str | None = None
) -> tuple[Reply, list[dict[str, Any]]]:
    """Ask a model whose endpoint is a server that answers so; also what the server was sent."""
    asked: list[dict[str, Any]] = []

    async def handle(incoming: web.Request) -> web.StreamResponse:
        asked.append(await incoming.json() | {"authorization": incoming.headers.get("Authorization")})
        return await answer(asked[-1])

    async def go() -> Reply:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        model = open_model(name, {"openai": Endpoint(f"http://{host}:{port}/v1", key_env)}, timeout_s=0.3)
        try:
            return await model.ask(request or Request(name, (Message("user", "hi"),)))
        finally:
            await model.close()
            await runner.cleanup()

    return asyncio.run(go()), asked


def failing(answer: Answer) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(answer)
    return caught.value


def test_a_reply_keeps_what_was_served_and_what_it_took() -> None:
    reply, _ = ask(answering(completion()))
    assert reply == Reply("hello", "served", "stop", 1000, 100, None)


def test_a_known_price_gives_a_cost() -> None:
    reply, _ = ask(answering(completion()), "openai/gpt-4o")
    assert reply.cost_usd == pytest.approx(0.0035)


def test_what_the_server_does_not_tell_is_unknown_and_never_zero() -> None:
    body = completion()
    del body["usage"]
    reply, _ = ask(answering(body), "openai/gpt-4o")
    assert (reply.tokens_in, reply.tokens_out, reply.cost_usd) == (None, None, None)


def test_a_request_is_sent_as_it_is() -> None:
    messages = (Message("system", "be brief"), Message("user", "hi"))
    request = Request("m", messages, Settings(temperature=0.0, max_tokens=9, stop=("END",), seed=3), SCHEMA)
    _, asked = ask(answering(completion()), request=request)
    assert asked == [
        {
            "model": "mock-model",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
            "temperature": 0.0,
            "max_tokens": 9,
            "stop": ["END"],
            "seed": 3,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
            },
            "authorization": "Bearer none",
        }
    ]


@each("part", [{}, {"type": "array", "items": {}}, {"anyOf": [{}, {"type": "null"}]}])
def test_a_reply_with_any_json_in_it_is_held_to_no_schema(part: dict[str, Any]) -> None:
    """Strict output knows no part of any form, and a mode without a schema would make an object of a list."""
    for schema in (part, SCHEMA | {"properties": {"a": {"type": "integer"}, "b": part}}):
        request = Request("m", (Message("user", "hi"),), schema=schema)
        _, asked = ask(answering(completion()), request=request)
        assert sorted(asked[0]) == ["authorization", "messages", "model"]
        assert "response_format" not in settings_of(request, structured=True)


def test_settings_that_are_left_open_are_not_sent() -> None:
    _, asked = ask(answering(completion()))
    assert sorted(asked[0]) == ["authorization", "messages", "model"]


def test_an_endpoint_gets_the_key_that_its_variable_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHOOL_KEY", "school-secret")
    _, asked = ask(answering(completion()), key_env="SCHOOL_KEY")
    assert asked[0]["authorization"] == "Bearer school-secret"


def test_a_declined_structured_reply_is_read_as_its_refusal() -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot."}
    reply, _ = ask(answering(completion(choices=[{"index": 0, "finish_reason": "stop", "message": message}])))
    assert (reply.text, reply.finish_reason) == ("I cannot.", "refusal")


@each("answer, code, kind", [
        (answering(failure("no"), 401), "R0102", "fatal"),
        (answering(failure("no"), 403), "R0102", "fatal"),
        (answering(failure("The model does not exist"), 404), "R0103", "fatal"),
        (answering(failure("slow down"), 429), "R0104", "retryable"),
        (answering(failure("none left", code="insufficient_quota"), 402), "R0104", "fatal"),
        (answering(failure("You exceeded your insufficient_quota"), 429), "R0104", "fatal"),
        (answering(failure("request (9000 tokens) exceeds the available context size (8192 tokens)"), 400), "R0107", ""),
        (answering(failure("filtered by the content management policy"), 400), "R0108", "refused"),
        (answering(completion(choices=[{"index": 0, "finish_reason": "error", "message": {"role": "assistant", "content": "The"}}])), "R0111", "retryable"),
        (hanging, "R0109", "retryable"),
        (answering(failure("unknown field"), 400), "R0110", ""),
        (answering(failure("unknown field"), 422), "R0110", ""),
        (answering(failure("oops"), 500), "R0111", "retryable"),
        (answering(failure("overloaded"), 529), "R0111", "retryable"),
        (answering(completion(choices=[])), "R0111", "retryable"),
        (answering("no completion at all"), "R0111", "retryable"),
    ])  # fmt: skip
def test_a_failure_is_named(answer: Answer, code: str, kind: str) -> None:
    error = failing(answer)
    kinds = [name for name, true in (("fatal", error.fatal), ("retryable", error.retryable), ("refused", error.status == "refused")) if true]  # fmt: skip
    assert (error.code, kinds) == (code, [kind] if kind else [])
    assert "\n" not in error.message and error.message[0] in "`abcdefghijklmnopqrstuvwxyz"


def test_retry_after_is_honoured() -> None:
    error = failing(answering(failure("slow down"), 429, {"Retry-After": "7"}))
    assert error.retry_after_s == 7.0


def test_an_endpoint_that_is_down_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def go() -> None:
        model = open_model("openai/x", {"openai/x": Endpoint(f"http://127.0.0.1:{port}/v1")})
        try:
            await model.ask(Request("openai/x", (Message("user", "hi"),)))
        finally:
            await model.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(go())
    assert (caught.value.code, caught.value.retryable) == ("R0101", True)
    assert caught.value.message == f"`openai/x` cannot be reached at http://127.0.0.1:{port}/v1"


def test_a_key_never_reaches_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHOOL_API_KEY", "hunter22")
    error = failing(answering(failure("key hunter22 and sk-proj-abc123 and sk-ab***yz are wrong"), 400))
    assert error.message == "`openai/mock-model` rejected the request: key [key] and [key] and [key] are wrong"


def test_scrubbing_leaves_short_values_and_other_variables() -> None:
    environ = {"A_TOKEN": "abc", "B_SECRET": "secret-value", "HOME": "/home/ada"}
    assert scrub("abc secret-value /home/ada ?key=AB12&x=1", environ) == "abc [key] /home/ada ?key=[key]&x=1"


@pytest.mark.parametrize("name", ["WATSONX_APIKEY", "SNOWFLAKE_JWT", "AZURE_PASSWORD", "AWS_BEARER_TOKEN_BEDROCK"])
def test_scrubbing_removes_the_keys_of_every_provider(name: str) -> None:
    assert scrub("refused: secret-value", {name: "secret-value"}) == "refused: [key]"
    assert scrub("no file /home/ada/key", {"OCI_KEY_FILE": "/home/ada/key"}) == "no file /home/ada/key"


@pytest.mark.parametrize("name", ["nonsense", "no-such-provider/x"])
def test_an_unknown_provider_is_refused_on_opening(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(name)
    assert (caught.value.code, caught.value.fatal) == ("R0103", True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai/gpt-4o", "did you mean `openai/gpt-4o`?"),
        ("house/llm", "a server of your own: `hosted_vllm/NAME`, with its address under [endpoints] in tripos.toml"),
        ("gpt-of-nobody", "write `provider/model`, such as `openai/gpt-4o`"),
    ],
)
def test_a_provider_that_is_not_known_has_a_hint_that_fits(name: str, hint: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(name)
    assert (caught.value.code, caught.value.hint) == ("R0103", hint)


def test_a_missing_key_is_told_on_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(ModelError) as caught:
        open_model("deepseek/deepseek-chat")
    assert (caught.value.code, caught.value.hint) == ("R0102", "set DEEPSEEK_API_KEY")
    with pytest.raises(ModelError) as caught:
        open_model("openai/x", {"openai": Endpoint("http://127.0.0.1:1/v1", "NO_SUCH_KEY")})
    assert (caught.value.code, caught.value.hint) == ("R0102", "set NO_SUCH_KEY")


def test_structured_output_is_known_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    far = {"openai/far": Endpoint("https://example.org/v1")}
    assert [open_model(name, far).structured for name in ("openai/gpt-4o", "openai/far")] == [True, False]


def test_litellm_is_told_not_to_fetch_its_map_of_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP", raising=False)
    library.__wrapped__()
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


def test_closing_one_model_leaves_the_others_open() -> None:
    async def handle(_: web.Request) -> web.StreamResponse:
        return web.json_response(completion())

    async def go() -> list[str]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", handle)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        endpoints = {"openai": Endpoint(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")}
        texts = []
        first, second = open_model("openai/a", endpoints), open_model("openai/b", endpoints)
        for model in (first, second, open_model("openai/c", endpoints)):
            texts.append((await model.ask(Request("m", (Message("user", "hi"),)))).text)
            await model.close()
            await model.close()
        await runner.cleanup()
        return texts

    assert asyncio.run(go()) == ["hello", "hello", "hello"]


def test_the_keys_of_providers_are_called_as_litellm_calls_them() -> None:
    folder = Path(library().__file__).parent
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".json") and "proxy" not in path.parts]
    texts = "\n".join(path.read_text("utf-8") for path in files if path.stat().st_size < 2**21)
    names = {name for names in KEYED.values() for name in names}
    assert {name for name in names if not re.search(rf"[\"']{name}[\"']", texts)} == set()
    assert not KEYED.keys() & {*PROVIDERS, *NATIVE_PROVIDERS}


@pytest.mark.parametrize("provider", KEYED)
def test_a_key_that_a_file_gives_is_told_to_litellm_and_stays_out_of_the_environment(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYED[provider]:
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    set_file_variables([{KEYED[provider][0]: "sk-of-the-file"}])
    try:
        assert file_arguments(provider) == {"api_key": "sk-of-the-file"}
        monkeypatch.setenv(KEYED[provider][-1], "sk-of-the-environment")
        assert file_arguments(provider) == {}
    finally:
        set_file_variables([])
    monkeypatch.delenv(KEYED[provider][-1])
    assert dict(os.environ) == before
