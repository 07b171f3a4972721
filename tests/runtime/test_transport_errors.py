"""An error means the same whichever way a model is reached, and no key is told."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

from tests.each import each
from tests.runtime.contract_server import Sent, Server, answering, completion, hanging, serving
from tripos_runtime.models.base import Endpoint, Message, Model, ModelError, Request
from tripos_runtime.models.errors import CallTarget, answer_error, scrub
from tripos_runtime.models.families import open_model
from tripos_runtime.models.litellm_models import LitellmModel

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")  # litellm's, once a process

REQUEST = Request("m", (Message("user", "hi"),))
WAYS = (
    "openai/gpt-4o", "mistral/mistral-small-latest", "openai/gpt-5", "anthropic/claude-sonnet-4-5", "azure/gpt-4o",
    "gemini/gemini-2.5-pro",
)  # fmt: skip
Answering = Callable[[Sent], Awaitable[web.StreamResponse]]


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "t", **more}}


FAILURES: dict[str, tuple[Answering, str, str]] = {
    "401": (answering(said("bad key"), 401), "R0102", "fatal"),
    "403": (answering(said("not yours"), 403), "R0102", "fatal"),
    "404": (answering(said("The model `m` does not exist"), 404), "R0103", "fatal"),
    "429": (answering(said("slow down"), 429, {"Retry-After": "7"}), "R0104", "retryable"),
    "none left": (answering(said("none left", code="insufficient_quota"), 402), "R0104", "fatal"),
    "no credit": (answering(said("insufficient_quota: none left"), 429), "R0104", "fatal"),
    "too long": (answering(said("This model's maximum context length is 8192 tokens", code="context_length_exceeded"), 400), "R0107", ""),
    "filtered": (answering(said("The response was filtered: content management policy", code="content_filter"), 400), "R0108", "refused"),
    "400": (answering(said("unknown field"), 400), "R0110", ""),
    "422": (answering(said("unknown field"), 422), "R0110", ""),
    "500": (answering(said("oops"), 500), "R0111", "retryable"),
    "503": (answering(said("overloaded"), 503), "R0111", "retryable"),
    "529": (answering(said("overloaded"), 529), "R0111", "retryable"),
    "no completion": (answering("no completion at all"), "R0111", "retryable"),
    "broken": (answering(b'{"choices": ['), "R0111", "retryable"),
    "hanging": (hanging, "R0109", "retryable"),
}  # fmt: skip


def failing(answer: Answering, opened: Callable[[Server], Model]) -> ModelError:
    async def use(server: Server) -> ModelError:
        model = opened(server)
        try:
            with pytest.raises(ModelError) as caught:
                await model.ask(REQUEST)
            return caught.value
        finally:
            await model.close()

    return serving(answer, use)[0]


def kinds(error: ModelError) -> str:
    told = (("fatal", error.fatal), ("retryable", error.retryable), ("refused", error.status == "refused"))
    return " ".join(name for name, true in told if true)


@each("failure", FAILURES)
@each("name", WAYS)
def test_a_failure_means_the_same_whichever_way(name: str, failure: str) -> None:
    answer, code, kind = FAILURES[failure]
    error = failing(answer, lambda server: open_model(name, {name: server.endpoint()}, timeout_s=0.3))
    assert (error.code, kinds(error)) == (code, kind)
    assert error.retry_after_s == (7.0 if failure == "429" else None)
    assert "\n" not in error.message and name in error.message
    assert error.message[0] in "`abcdefghijklmnopqrstuvwxyz"


@each("failure", [name for name in FAILURES if name != "hanging"])
def test_litellm_altogether_gives_the_same_codes(failure: str) -> None:
    answer, code, kind = FAILURES[failure]
    error = failing(answer, lambda server: LitellmModel("openai/gpt-4o", server.endpoint()))
    assert (error.code, kinds(error)) == (code, kind)


@pytest.mark.parametrize("name", WAYS)
def test_a_server_that_is_down_is_told_with_its_address(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    async def go() -> None:
        model = open_model(name, {name: Endpoint(address)})
        try:
            await model.ask(REQUEST)
        finally:
            await model.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(go())
    assert (caught.value.code, caught.value.retryable) == ("R0101", True)
    assert caught.value.message == f"`{name}` cannot be reached at {address}"


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", b"SSH-2.0-server\r\n\r\n"])
def test_a_reply_that_breaks_off_or_is_no_http_is_tried_again(sent: bytes) -> None:
    async def go() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(sent)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        model = open_model(
            "openai/m", {"openai": Endpoint(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")}
        )
        try:
            await model.ask(REQUEST)
        finally:
            await model.close()
            server.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(go())
    assert (caught.value.code, caught.value.retryable) == ("R0101", True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (said("no provider is left", code=502), "R0111"),
        (said("rate limited upstream", code=429), "R0104"),
        ({"error": "out of memory"}, "R0111"),
        ({"detail": "what?"}, "R0111"),
        ([], "R0111"),
        (completion(choices=[]), "R0111"),
        (completion(choices=None), "R0111"),
        (completion(choices=["text"]), "R0111"),
        (completion(choices=[{"index": 0, "finish_reason": "error", "message": {"content": "The"}}]), "R0111"),
    ],
)
def test_a_good_status_with_no_reply_is_a_failure_that_may_pass(body: Any, code: str) -> None:
    error = failing(answering(body), lambda server: open_model("openrouter/a/b", {"openrouter": server.endpoint()}))
    assert (error.code, error.retryable) == (code, True)


@pytest.mark.parametrize(("name", "words"), [("openai/m", "hunter22"), ("anthropic/claude-sonnet-4-5", "hunter22")])
def test_a_key_that_a_provider_echoes_is_not_told(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The name of the variable says nothing of a key: the model itself knows what must not be told.
    monkeypatch.setenv("SCHOOL_PASS", words)
    error = failing(
        answering(said(f"you sent {words} and Bearer {words}"), 400),
        lambda server: open_model(name, {name: server.endpoint("SCHOOL_PASS")}),
    )
    assert words not in error.message + error.hint
    assert "[key]" in error.message


@each("environ, text, told", [
    ({"A_TOKEN": "abc", "B_SECRET": "secret-value", "HOME": "/home/ada"},
     "abc secret-value /home/ada ?key=AB12&x=1", "abc [key] /home/ada ?key=[key]&x=1"),
    ({"SCHOOL_API_KEY": "hunter22"}, "key hunter22 and sk-proj-abc123 and sk-ab***yz", "key [key] and [key] and [key]"),
    *(({name: "secret-value"}, "refused: secret-value", "refused: [key]")
      for name in ("WATSONX_APIKEY", "SNOWFLAKE_JWT", "AZURE_PASSWORD", "AWS_BEARER_TOKEN_BEDROCK")),
    ({"OCI_KEY_FILE": "/home/ada/key"}, "no file /home/ada/key", "no file /home/ada/key"),
])  # fmt: skip
def test_keys_are_scrubbed_from_a_text_and_other_values_stay(environ: dict[str, str], text: str, told: str) -> None:
    assert scrub(text, environ) == told


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_too_large_to_be_one_is_refused(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos_runtime.models.http.LARGEST_BYTES", 1 << 20)
    large = b'{"choices": "' + b"a" * (2 << 20)
    headers = {"Content-Encoding": "gzip"} if packed else {}

    async def answer(_: Sent) -> web.StreamResponse:
        return web.Response(body=gzip.compress(large) if packed else large, headers=headers)

    error = failing(answer, lambda server: open_model("openai/m", {"openai": server.endpoint()}))
    assert (error.code, error.retryable) == ("R0111", False)
    assert "larger than 1 MB" in error.message


def test_a_redirect_is_not_followed_with_the_key() -> None:
    async def answer(_: Sent) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/v1/chat/completions"})

    error = failing(answer, lambda server: open_model("openai/m", {"openai": server.endpoint()}))
    assert error.code == "R0110"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
        (400, "prompt is too long: 218849 tokens > 200000 maximum"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
        (413, "Please reduce the length of the messages or completion."),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
        (400, "the request exceeds the available context size (8192 tokens), try increasing it"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens"),
    ],
)
def test_a_prompt_that_is_too_long_is_known_by_every_providers_words(status: int, words: str) -> None:
    body = orjson.dumps(said(words))
    assert answer_error(status, body, {}, CallTarget("openai/m", "https://example.org")).code == "R0107"


@pytest.mark.parametrize(
    ("headers", "words", "wait_s"),
    [
        ({"retry-after": "7"}, "slow down", 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, "slow down", 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "slow down", 0.0),
        ({"retry-after": "-1"}, "slow down", None),
        ({}, "Rate limit reached for requests. Please try again in 1.25s. Visit", 1.25),
        ({}, "slow down", None),
    ],
)
def test_how_long_to_wait_is_read_where_a_provider_says_it(
    headers: dict[str, str], words: str, wait_s: float | None
) -> None:
    error = answer_error(429, orjson.dumps(said(words)), headers, CallTarget("openai/m", "https://example.org"))
    assert error.retry_after_s == wait_s


def test_gemini_says_how_long_to_wait_in_its_details() -> None:
    body = {"error": {"code": 429, "message": "quota", "details": [{"@type": "RetryInfo", "retryDelay": "34s"}]}}
    error = answer_error(429, orjson.dumps(body), {}, CallTarget("gemini/m", "https://example.org"))
    assert (error.code, error.retry_after_s) == ("R0104", 34.0)


@pytest.mark.parametrize("address", ["localhost:8000/v1", "ftp://localhost/v1", "/v1"])
def test_an_address_that_is_none_is_told_on_opening(address: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model("openai/m", {"openai": Endpoint(address)})
    assert (caught.value.code, caught.value.fatal) == ("R0101", True)
